"""Pages, spaces and threads as trees and lists show them. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from octavo.api.collections import Collection
from octavo.api.comments import Comment
from octavo.api.content import Page, PageTree
from octavo.api.spaces import Space
from octavo.data.unsent_index import UnsentText
from octavo.documents.blocks import Block
from octavo.documents.emoji import to_emoji
from octavo.tui.shell.left_unsent import mark
from octavo.tui.widgets.tree import Node

DEEPEST = 40
"""Collections within one another."""


def space_nodes(
    collections: Sequence[Collection], spaces: Iterable[Space], kept: Mapping[str, str] = MappingProxyType({})
) -> list[Node]:
    """Collections with what lies in them, then the spaces that lie in none. Each stands once, whatever the server says:
    collections that lie in themselves, or in too many others, stand at the top. `kept` says how far keeping a space for
    offline got, by its id."""
    parents = {each.id: each.parent for each in collections}
    folders: defaultdict[str | None, list[Collection]] = defaultdict(list)
    held: defaultdict[str | None, list[Space]] = defaultdict(list)
    for collection in {each.id: each for each in collections}.values():
        stands = collection.parent in parents and _levels(collection.id, parents) <= DEEPEST
        folders[collection.parent if stands else None].append(collection)
    for space in {each.id: each for each in spaces}.values():
        held[space.parent if space.parent in parents else None].append(space)

    def within(parent: str | None) -> list[Node]:
        nodes = [Node(each.id, each.title or "Untitled", within(each.id), kind="group") for each in folders[parent]]
        return nodes + [
            Node(
                each.id,
                each.title or "Untitled",
                sign=to_emoji(each.emoji),
                count=each.comments,
                right=kept.get(each.id, ""),
                dim=each.edit_mode == "locked",
            )
            for each in held[parent]
        ]

    return within(None)


def _levels(name: str, parents: Mapping[str, str | None]) -> int:
    """How many collections one lies in, counted a little beyond the most that are nested."""
    levels, above = 0, parents[name]
    while above is not None and above in parents and levels <= DEEPEST:
        levels, above = levels + 1, parents[above]
    return levels


def page_nodes(
    pages: Sequence[Page], counts: Mapping[str, int], unsent: Mapping[str, Sequence[UnsentText]] = MappingProxyType({})
) -> list[Node]:
    """A page tree with the number of open threads on each page, and the mark of what is not sent there."""
    return [
        Node(
            page.id,
            page.title or "Untitled",
            page_nodes(page.pages, counts, unsent),
            kind="page" if page.type == "document" else page.type,
            count=counts.get(page.id, 0),
            sign=to_emoji(page.emoji),
            right=mark(unsent[page.id]) if page.id in unsent else "",
            short_right=mark(unsent[page.id], tight=True) if page.id in unsent else "",
            dim=page.hidden,
            path=page.path or "",
        )
        for page in pages
    ]


def neighbour(tree: PageTree, page: Page | None, step: int) -> Page | None:
    """The page to read after `page`, or before it: `step` is 1 or -1. None at the ends."""
    pages = [each for each in tree.walk() if each.type == "document"]
    here = next((index for index, each in enumerate(pages) if page is not None and each.id == page.id), None)
    index = here + step if here is not None else 0
    return pages[index] if 0 <= index < len(pages) else None


def open_counts(threads: Iterable[Comment]) -> Mapping[str, int]:
    """How many open threads each page has, by its id."""
    return Counter(each.target.page.id for each in threads if each.is_open_thread and each.target.page is not None)


def under(block: Block, threads: Mapping[str, Sequence[Comment]]) -> list[Comment]:
    """The threads on a block and on the blocks within it."""
    return [thread for key in dict.fromkeys(each.key for each in block.walk()) for thread in threads.get(key, ())]
