"""The sections of a page, as search keeps them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from octavo.server.store import Section
from octavo.server.trees import plain, slug_of

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


def sections(markdown: str, title: str, description: str) -> Iterator[Section]:
    """Anchor, heading and words of each section. The first has no anchor, and the title of the page."""
    anchor, heading, lines, fence = "", title, [description] if description else [], ""
    for line in markdown.splitlines():
        if found := _FENCE.match(line):
            fence = "" if fence and found[1].startswith(fence) else fence or found[1]
        elif not fence and (found := _HEADING.fullmatch(line)):
            words = plain(found[2])
            if found[1] == "#" and not anchor and words == title:
                continue
            yield anchor, heading, "\n".join(lines)
            anchor, heading, lines = slug_of(words), words, []
            continue
        if line.strip():
            lines.append(line if fence else plain(line))
    yield anchor, heading, "\n".join(lines)
