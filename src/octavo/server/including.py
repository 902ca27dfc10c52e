"""What a text includes, put in its place: reusable content, which several pages have in common."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from urllib.parse import unquote

from octavo.api.folding import fold
from octavo.documents import page_trees
from octavo.documents.tags import TagScanner
from octavo.server.folders import relinked
from octavo.server.store import Json, Store

DEEPEST = 4
"""How deep content that includes content is followed."""
_MOST_ADDED = 1 << 20
"""Characters that includes may bring: what is included many times grows fast."""
_COST = 256
"""Characters that each include counts for beside its own."""
_LIKE_A_FILE = ".gitbook/includes"
"""Where a repository keeps reusable content: what links are relative to in content that came from no file."""
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/#]")


def dereferenced(store: Store, text: str, page: Json, revision: Json) -> str:
    """`text` with reusable content where it is included, between the tag and an end of it, which say what is shared. What is
    not there, or includes itself, stays an include."""
    if "include" not in text or not revision["reusableContents"]:
        return text
    room = [_MOST_ADDED]
    return _expanded(store, text, posixpath.dirname(page_trees.source_path(page)), revision, (), room)


def _expanded(store: Store, text: str, folder: str, revision: Json, within: tuple[str, ...], room: list[int]) -> str:
    scanner, out, done = TagScanner(text), [], 0
    for start in _includes(text):
        tag = scanner.at(start)
        if tag is None:
            continue
        named = (*tag.words, *(tag.arguments[key] for key in ("src", "file", "url") if key in tag.arguments))
        item = reusable(revision, next(filter(None, named), ""), folder)
        body = _shared(store, item, folder, revision, within, room) if item is not None else None
        if body is None and not within:
            continue  # one within another needs its end: the next one would be taken for it
        line = text[text.rfind("\n", 0, start) + 1 : start]
        margin = re.sub(r"[^\s>]", " ", line)
        whole = "\n\n".join([text[start : tag.end], *([body] if body else []), "{% endinclude %}"])
        out += [text[done:start], "" if body == "" else whole.replace("\n", f"\n{margin}")]
        done = tag.end
    return "".join([*out, text[done:]])


def _shared(
    store: Store, item: Json, folder: str, revision: Json, within: tuple[str, ...], room: list[int]
) -> str | None:
    """What `item` says, as a text in `folder` writes it. None when it is not to be brought here."""
    if item["id"] in within or len(within) >= DEEPEST or room[0] <= 0:
        return None
    if not item.get("text"):
        return ""
    room[0] -= _COST  # what brings nothing, many times in many times, takes long too
    own = posixpath.dirname(page_trees.source_path(item) or f"{_LIKE_A_FILE}/{item['id']}")
    text = store.text(item["text"]).strip("\n")
    body = relinked(
        _expanded(store, text, own, revision, (*within, item["id"]), room), lambda each: _moved(each, own, folder)
    )
    if len(body) > room[0]:
        return None
    room[0] -= len(body)
    return body


@lru_cache(maxsize=64)
def _includes(text: str) -> tuple[int, ...]:
    """Where the includes of a text begin, but for those in code."""
    from octavo.documents.parse import parse

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


def _moved(address: str, own: str, folder: str) -> str | None:
    """An address in a text in the folder `own` as one in `folder` writes it."""
    if _ELSEWHERE.match(address):
        return None
    path = posixpath.normpath(posixpath.join(own, address))
    return posixpath.relpath(path, folder or ".")


def reusable(revision: Json, says: str, folder: str = "") -> Json | None:
    """The reusable content that an include in `folder` names: by the file it is kept in, by its id, or as it is called."""
    stem = says.rstrip("/").rpartition("/")[2].removesuffix(".md")
    items: list[Json] = revision["reusableContents"]
    path = posixpath.normpath(posixpath.join(folder, unquote(says))).lstrip("/")
    by_file = (each for each in items if (each.get("git") or {}).get("path") == path)
    by_id = (each for each in items if each["id"] in (says, stem))
    alike = (each for each in items if fold((each.get("git") or {}).get("path") or "") == fold(path))
    by_name = (each for each in items if fold(page_trees.page_slug(each["title"])) == fold(stem))
    return next(by_file, None) or next(by_id, None) or next(alike, None) or next(by_name, None)
