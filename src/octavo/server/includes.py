"""Reusable content: includes in a text are expanded to the content they name."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache
from urllib.parse import unquote

from octavo.api.folding import fold
from octavo.documents import page_trees
from octavo.documents.link_rewriting import rewrite_links
from octavo.documents.source_reader import parse
from octavo.documents.tag_blocks import TagScanner
from octavo.server.store import Json, Store

DEPTH_LIMIT = 4
"""Number of nested includes that are expanded."""
_LENGTH_LIMIT = 1 << 20
"""Number of characters that includes may add to a text. Nested includes can multiply quickly."""
_COST_OF_INCLUDE = 256
"""Number of characters that each include counts for in addition to its text."""
_DEFAULT_FOLDER = ".gitbook/includes"
"""Folder of reusable content in a repository. Links in content without a file are relative to this folder."""
_ABSOLUTE_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|[/#]")


def expand_includes(store: Store, text: str, page: Json, revision: Json) -> str:
    """Return `text` with reusable content inserted between each include tag and an end tag.

    Includes of missing content, and of content that includes itself, stay unchanged.
    """
    if "include" not in text or not revision["reusableContents"]:
        return text
    budget = [_LENGTH_LIMIT]
    return _expand(store, text, posixpath.dirname(page_trees.source_path(page)), revision, (), budget)


def _expand(store: Store, text: str, folder: str, revision: Json, outer_ids: tuple[str, ...], budget: list[int]) -> str:
    scanner, out, position = TagScanner(text), [], 0
    for start in _include_positions(text):
        tag = scanner.tag_at(start)
        if tag is None:
            continue
        named = (*tag.words, *(tag.arguments[key] for key in ("src", "file", "url") if key in tag.arguments))
        item = find_reusable(revision, next(filter(None, named), ""), folder)
        body = _included_text(store, item, folder, revision, outer_ids, budget) if item is not None else None
        if body is None and not outer_ids:
            continue  # A nested include needs an end tag, otherwise the outer end tag would close it.
        line = text[text.rfind("\n", 0, start) + 1 : start]
        margin = re.sub(r"[^\s>]", " ", line)
        whole = "\n\n".join([text[start : tag.end], *([body] if body else []), "{% endinclude %}"])
        out += [text[position:start], "" if body == "" else whole.replace("\n", f"\n{margin}")]
        position = tag.end
    return "".join([*out, text[position:]])


def _included_text(
    store: Store, item: Json, folder: str, revision: Json, outer_ids: tuple[str, ...], budget: list[int]
) -> str | None:
    """Return the text of `item` with links relative to `folder`. None if it contains itself or exceeds a limit."""
    if item["id"] in outer_ids or len(outer_ids) >= DEPTH_LIMIT or budget[0] <= 0:
        return None
    if not item.get("text"):
        return ""
    budget[0] -= _COST_OF_INCLUDE  # Many nested includes take time even if they add no text.
    own_folder = posixpath.dirname(page_trees.source_path(item) or f"{_DEFAULT_FOLDER}/{item['id']}")
    text = store.text(item["text"]).strip("\n")
    body = rewrite_links(
        _expand(store, text, own_folder, revision, (*outer_ids, item["id"]), budget),
        lambda each: _relocate_url(each, own_folder, folder),
    )
    if len(body) > budget[0]:
        return None
    budget[0] -= len(body)
    return body


@lru_cache(maxsize=64)
def _include_positions(text: str) -> tuple[int, ...]:
    """Return the positions of the include tags in a text, except for those in code."""
    scanner, positions = TagScanner(text), []
    starts = [0]
    starts += [end.end() for end in re.finditer("\n", text)]
    for block in parse(text).walk():
        if block.kind != "include":
            continue
        first, last = starts[block.lines[0]], starts[block.lines[1]] if block.lines[1] < len(starts) else len(text)
        for match in re.finditer(r"\{%", text[first:last]):
            tag = scanner.tag_at(first + match.start())
            if tag is not None and tag.name == "include":
                positions.append(first + match.start())
    return tuple(sorted(dict.fromkeys(positions)))


def _relocate_url(address: str, own_folder: str, folder: str) -> str | None:
    """Return a relative link in a file of `own_folder` as a link from `folder`. None if the link is absolute."""
    if _ABSOLUTE_URL.match(address):
        return None
    path = posixpath.normpath(posixpath.join(own_folder, address))
    return posixpath.relpath(path, folder or ".")


def find_reusable(revision: Json, reference: str, folder: str = "") -> Json | None:
    """Return the reusable content that an include refers to by file, ID or title. None if there is none."""
    stem = reference.rstrip("/").rpartition("/")[2].removesuffix(".md")
    items: list[Json] = revision["reusableContents"]
    path = posixpath.normpath(posixpath.join(folder, unquote(reference))).lstrip("/")
    by_file = (item for item in items if (item.get("git") or {}).get("path") == path)
    by_id = (item for item in items if item["id"] in (reference, stem))
    alike = (item for item in items if fold((item.get("git") or {}).get("path") or "") == fold(path))
    by_name = (item for item in items if fold(page_trees.page_slug(item["title"])) == fold(stem))
    return next(by_file, None) or next(by_id, None) or next(alike, None) or next(by_name, None)
