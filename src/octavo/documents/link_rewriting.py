"""Finds and changes the links in Markdown by its text alone, so that everything else stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_LINK = re.compile(
    r"""\]\(\s{0,9}(?:<([^<>\n]{1,1000})>|([^\s()]{1,1000}(?:\([^\s()]{0,99}\)[^\s()]{0,99}){0,9}))"""
    r"""|(?:src|href|srcset|url)=["']([^"'\n]{1,1000})["']"""
)
"""Markdown or HTML link. URLs of more than 1000 characters are not matched, because they cannot be paths."""
FENCED = re.compile(r"^[ \t>]{0,20}(```+|~~~+)[^\n]*\n.*?(?:^[ \t>]{0,20}\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
"""Fenced code."""


def link_urls(markdown: str) -> Iterator[str]:
    """Yield the URLs of links and images in a page, as written."""
    for match in _LINK.finditer(markdown):
        yield match[1] or match[2] or match[3]


def rewrite_links(markdown: str, new_url: Callable[[str], str | None]) -> str:
    """Return `markdown` with each link URL replaced by `new_url(URL)`, or unchanged if that is None."""

    def replace(match: re.Match[str]) -> str:
        address = match[1] or match[2] or match[3]
        target = new_url(address)
        return match[0] if target is None else match[0].replace(address, target)

    return _LINK.sub(replace, markdown)


def change_outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return `text` with `change` applied to everything outside fenced code."""
    out, position = [], 0
    for fence in FENCED.finditer(text):
        out += [change(text[position : fence.start()]), fence[0]]
        position = fence.end()
    return "".join([*out, change(text[position:])])
