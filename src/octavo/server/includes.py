"""Reusable content: includes in a text are expanded to the content they name."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from urllib.parse import unquote

from octavo.api.folding import fold
from octavo.documents import trees
from octavo.documents.parse import parse
from octavo.documents.tags import TagScanner
from octavo.server.folder import rewrite_links
from octavo.server.store import Json, Store

DEPTH_LIMIT = 4
"""Number of nested includes that are expanded."""
_LENGTH_LIMIT = 1 << 20
"""Number of characters that includes may add to a text. Nested includes can multiply quickly."""
_COST_OF_INCLUDE = 256
"""Number of characters that each include costs in addition to its text."""
_DEFAULT_FOLDER = ".gitbook/includes"
"""Folder of reusable content in a repository. Links in content without a file are relative to this folder."""
_ABSOLUTE_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/#]")


def expand_includes(store: Store, text: str, page: Json, revision: Json) -> str:
    """Return `text` with reusable content inserted between each include tag and an end tag.

    Includes of missing content, and of content that includes itself, stay unchanged.
    """
    if "include" not in text or not revision["reusableContents"]:
        return text
    room = [_LENGTH_LIMIT]
    return _expand(store, text, posixpath.dirname(trees.place_of(page)), revision, (), room)


def _expand(store: Store, text: str, folder: str, revision: Json, within: tuple[str, ...], room: list[int]) -> str:
    scanner, out, done = TagScanner(text), [], 0
    for start in _include_positions(text):
        tag = scanner.at(start)
        if tag is None:
            continue
        named = (*tag.words, *(tag.arguments[key] for key in ("src", "file", "url") if key in tag.arguments))
        item = find_reusable(revision, next(filter(None, named), ""), folder)
        body = _included_text(store, item, folder, revision, within, room) if item is not None else None
        if body is None and not within:
            continue  # A nested include needs an end tag, otherwise the outer end tag would close it.
        line = text[text.rfind("\n", 0, start) + 1 : start]
        margin = re.sub(r"[^\s>]", " ", line)
        whole = "\n\n".join([text[start : tag.end], *([body] if body else []), "{% endinclude %}"])
        out += [text[done:start], "" if body == "" else whole.replace("\n", f"\n{margin}")]
        done = tag.end
    return "".join([*out, text[done:]])


def _included_text(
    store: Store, item: Json, folder: str, revision: Json, within: tuple[str, ...], room: list[int]
) -> str | None:
    """Return the text of `item` with links relative to `folder`. None if it may not be expanded here."""
    if item["id"] in within or len(within) >= DEPTH_LIMIT or room[0] <= 0:
        return None
    if not item.get("text"):
        return ""
    room[0] -= _COST_OF_INCLUDE  # Many nested includes take time even if they add no text.
    own = posixpath.dirname(trees.place_of(item) or f"{_DEFAULT_FOLDER}/{item['id']}")
    text = store.text(item["text"]).strip("\n")
    body = rewrite_links(
        _expand(store, text, own, revision, (*within, item["id"]), room), lambda each: _relocate_url(each, own, folder)
    )
    if len(body) > room[0]:
        return None
    room[0] -= len(body)
    return body


@lru_cache(maxsize=64)
def _include_positions(text: str) -> tuple[int, ...]:
    """Return the positions of the include tags in a text, except for those in code."""
    scanner, found = TagScanner(text), []
    starts = [0]
    starts += [end.end() for end in re.finditer("\n", text)]
    for block in parse(text).walk():
        if block.kind != "include":
            continue
        first, last = starts[block.lines[0]], starts[block.lines[1]] if block.lines[1] < len(starts) else len(text)
        for at in re.finditer(r"\{%", text[first:last]):
            tag = scanner.at(first + at.start())
            if tag is not None and tag.name == "include":
                found.append(first + at.start())
    return tuple(sorted(dict.fromkeys(found)))


def _relocate_url(address: str, own: str, folder: str) -> str | None:
    """Return a link in a text in the folder `own` as a link from `folder`. None if it is absolute."""
    if _ABSOLUTE_URL.match(address):
        return None
    path = posixpath.normpath(posixpath.join(own, address))
    return posixpath.relpath(path, folder or ".")


def find_reusable(revision: Json, says: str, folder: str = "") -> Json | None:
    """Return the reusable content that an include in `folder` refers to, by its file, ID or title. None if there is
    none.
    """
    stem = says.rstrip("/").rpartition("/")[2].removesuffix(".md")
    items: list[Json] = revision["reusableContents"]
    path = posixpath.normpath(posixpath.join(folder, unquote(says))).lstrip("/")
    by_file = (each for each in items if (each.get("git") or {}).get("path") == path)
    by_id = (each for each in items if each["id"] in (says, stem))
    alike = (each for each in items if fold((each.get("git") or {}).get("path") or "") == fold(path))
    by_name = (each for each in items if fold(trees.slug_of(each["title"])) == fold(stem))
    return next(by_file, None) or next(by_id, None) or next(alike, None) or next(by_name, None)
