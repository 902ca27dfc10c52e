"""Pages and blocks of the demo library, found by what a writer knows of them: a file, a few words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from octavo.api.places import ContentRef
from octavo.documents import page_trees
from octavo.documents.blocks import Document
from octavo.documents.parse import parse
from octavo.server.behaviour import revisions
from octavo.server.store import Json
from octavo.server.world import World


def page_at(world: World, at: ContentRef, file: str) -> Json:
    """The page that was written in `file`, or whose slug that is if it came later. Raises LookupError for none."""
    found = [page for page in page_trees.walk(revisions.at(world, at)["pages"]) if _file_of(page) == file]
    if not found:
        raise LookupError(f"No page of {at} was written in {file}.")
    return found[0]


def block_at(world: World, page: Json, words: str) -> str:
    """The key of the smallest block of a page that has these words; in a table, the row. Raises LookupError for none."""
    found = [
        (len(says), place, block.key)
        for place, block in enumerate(_read(world.store.text(page["text"])).walk())
        if block.kind != "cell" and words in " ".join((says := block.plain()).split())
    ]
    if not found:
        raise LookupError(f"“{words}” is not on the page “{page['title']}”.")
    return min(found)[2]


def pages_below(world: World, at: ContentRef, folder: str) -> Iterator[Json]:
    """The pages that were written in a folder, in the order of the tree."""
    return (page for page in page_trees.walk(revisions.at(world, at)["pages"]) if _file_of(page).startswith(folder))


def place_after(world: World, at: ContentRef, file: str) -> int:
    """The place right after a page, among those it stands with."""
    tree = revisions.at(world, at)["pages"]
    return page_trees.position_of(tree, page_at(world, at, file)["id"])[1] + 1


def replaced(text: str, words: str, others: str) -> str:
    """`text` with `others` in place of `words`. Raises LookupError unless they are there exactly once."""
    if text.count(words) != 1:
        raise LookupError(f"“{words[:60]}” is there {text.count(words)} times, not once.")
    return text.replace(words, others)


@lru_cache(maxsize=64)
def _read(text: str) -> Document:
    return parse(text)


def _file_of(page: Json) -> str:
    """The file a page was written in, or the slug of one that a change request made."""
    return str(page.get("git", {}).get("path") or page.get("slug", ""))
