"""Rows for the trees of spaces and pages, with counts of open threads. Pure functions."""

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
from octavo.tui.core.unsent_texts import unsent_mark
from octavo.tui.widgets.tree import TreeNode

MAX_DEPTH = 40
"""Deepest nesting of collections that is shown."""


def space_nodes(
    collections: Sequence[Collection], spaces: Iterable[Space], offline_marks: Mapping[str, str] = MappingProxyType({})
) -> list[TreeNode]:
    """Return the rows of collections with their content, then the rows of spaces without a collection. Each item
    appears once: a collection that contains itself or is nested too deep moves to the top level. `offline_marks` maps
    ids of spaces to their offline status."""
    parents = {each.id: each.parent for each in collections}
    folders: defaultdict[str | None, list[Collection]] = defaultdict(list)
    spaces_of: defaultdict[str | None, list[Space]] = defaultdict(list)
    for collection in {each.id: each for each in collections}.values():
        is_nested = collection.parent in parents and _depth_of(collection.id, parents) <= MAX_DEPTH
        folders[collection.parent if is_nested else None].append(collection)
    for space in {each.id: each for each in spaces}.values():
        spaces_of[space.parent if space.parent in parents else None].append(space)

    def children_of(parent: str | None) -> list[TreeNode]:
        nodes = [
            TreeNode(each.id, each.title or "Untitled", children_of(each.id), kind="group") for each in folders[parent]
        ]
        return nodes + [
            TreeNode(
                each.id,
                each.title or "Untitled",
                sign=to_emoji(each.emoji),
                count=each.comments,
                right=offline_marks.get(each.id, ""),
                dim=each.edit_mode == "locked",
            )
            for each in spaces_of[parent]
        ]

    return children_of(None)


def _depth_of(name: str, parents: Mapping[str, str | None]) -> int:
    """Return the nesting depth of a collection, at most `MAX_DEPTH` + 1."""
    levels, parent = 0, parents[name]
    while parent is not None and parent in parents and levels <= MAX_DEPTH:
        levels, parent = levels + 1, parents[parent]
    return levels


def page_nodes(
    pages: Sequence[Page], counts: Mapping[str, int], unsent: Mapping[str, Sequence[UnsentText]] = MappingProxyType({})
) -> list[TreeNode]:
    """Return the rows of a page tree, each with the number of open threads and the mark of unsent texts."""
    return [
        TreeNode(
            page.id,
            page.title or "Untitled",
            page_nodes(page.pages, counts, unsent),
            kind="page" if page.type == "document" else page.type,
            count=counts.get(page.id, 0),
            sign=to_emoji(page.emoji),
            right=unsent_mark(unsent[page.id]) if page.id in unsent else "",
            short_right=unsent_mark(unsent[page.id], tight=True) if page.id in unsent else "",
            dim=page.hidden,
            path=page.path or "",
        )
        for page in pages
    ]


def adjacent_page(tree: PageTree, page: Page | None, step: int) -> Page | None:
    """Return the page after `page` if `step` is 1, or the page before it if `step` is -1. None if there is none."""
    pages = [each for each in tree.walk() if each.type == "document"]
    position = next((index for index, each in enumerate(pages) if page is not None and each.id == page.id), None)
    index = position + step if position is not None else 0
    return pages[index] if 0 <= index < len(pages) else None


def open_thread_counts(threads: Iterable[Comment]) -> Mapping[str, int]:
    """Return the number of open threads on each page, by page id."""
    return Counter(each.target.page.id for each in threads if each.is_open_thread and each.target.page is not None)


def threads_in_block(block: Block, threads: Mapping[str, Sequence[Comment]]) -> list[Comment]:
    """Return the threads on a block and on its child blocks."""
    return [thread for key in dict.fromkeys(each.key for each in block.walk()) for thread in threads.get(key, ())]
