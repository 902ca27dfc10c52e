"""The steps that turn the page tree of a change request into the tree of a folder."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from octavo.documents.merging.revision_merge import PageOrder
from octavo.documents.page_trees import Pages, parents
from octavo.documents.sequences import unmoved_items


@dataclass(frozen=True)
class TreeStep:
    """A page that is inserted or moved: below a page, or at the root, at an index."""

    id: str
    parent: str | None
    at: int
    is_new: bool = False


def tree_steps(pages: Pages, order: PageOrder, new: Collection[str]) -> Iterator[TreeStep]:
    """Yield the steps from a page tree to an order of its pages, each after the steps for its parent. Pages that the
    order does not have stay."""
    children: dict[str | None, list[str]] = {None: []}
    above = parents(pages)
    for name, parent in above.items():
        children.setdefault(name, [])
        children.setdefault(parent, []).append(name)
    waiting: list[str | None] = [None]
    while waiting:
        parent = waiting.pop(0)
        wanted = order.children.get(parent, [])
        siblings = children.setdefault(parent, [])
        present = set(wanted)
        stays = unmoved_items([each for each in siblings if each in present], wanted)
        before: str | None = None
        for name in wanted:
            if name not in stays:
                if name in above:
                    children[above[name]].remove(name)
                at = siblings.index(before) + 1 if before is not None else 0
                siblings.insert(at, name)
                above[name] = parent
                yield TreeStep(name, parent, at, name in new)
            before = name
        waiting += wanted


def deleted_pages(pages: Pages, order: PageOrder, kept: Collection[str]) -> list[str]:
    """Return the pages of a tree that are neither in `order` nor in `kept`. Pages below another deleted page are left
    out."""
    above = parents(pages)
    wanted = {name for names in order.children.values() for name in names} | set(kept)
    gone = [name for name in above if name not in wanted]
    return [name for name in gone if above[name] not in gone]
