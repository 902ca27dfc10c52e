"""What the sides of a change request disagree on besides texts: pages deleted, moved or renamed, files, variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from octavo.api.content import ContentEdit, DeletePage, Page, PageTree, UpdatePage
from octavo.documents.merging import forecast
from octavo.documents.namesakes import Namesake, namesakes_in

_FIELDS = {"title", "slug", "emoji", "icon", "description", "hidden", "no_index", "no_robots_index"}
"""What an edit can say of a page."""


@dataclass(frozen=True)
class TreeConflict:
    """Something besides a text that the sides disagree on. It stands as the server left it; where `main` or `this` has
    an edit, that edit makes it as that side wanted it."""

    kind: str
    id: str
    title: str
    said: str
    """What happened, in words."""
    main_words: str = ""
    """What taking the primary content's side means; empty where there is nothing to take."""
    this_words: str = ""
    main: ContentEdit | None = None
    this: ContentEdit | None = None
    since: str = ""
    """The primary revision that brought it: what is decided now is not what a later one brings."""

    @property
    def name(self) -> str:
        """What a choice for it is kept as."""
        return f"{self.kind} {self.id} {self.since}".rstrip()

    @property
    def can_choose(self) -> bool:
        return bool(self.main_words and self.this_words)


def shapes(three: forecast.Three, now: PageTree) -> tuple[list[TreeConflict], dict[str, dict[str, Any]]]:
    """What the sides disagree on in a change request that has the pages `now`; and by page, what it says of it where
    both differ."""
    unsettled = forecast.unsettled(three, None)
    # Their texts are not asked for: what is in conflict there is marked in them.
    foreseen = forecast.forecast(three, dict.fromkeys(unsettled, ("", "", ""))).conflicts
    fields: dict[str, dict[str, Any]] = {}
    found = []
    for each in foreseen:
        if each.kind == "field" and (given := _fields(each.id, three)):
            fields[each.id] = given
        if each.kind != "text" or not any(side.find(each.id) for side in three):
            found.append(_shape(each.kind, each.id, each.name, three, now, fields.get(each.id, {})))
    shown = [shape for shape in found if shape is not None]
    return [*shown, *(_beside(each) for each in namesakes_in(three[1].pages, now.pages))], fields


def _beside(page: Namesake) -> TreeConflict:
    first, second = page.titles
    called = f"Two pages are called “{first}”" if first == second else f"“{first}” and “{second}” have one address"
    whose = "in main" if page.is_other_in_main else "another of this change request"
    said = f"{called}: the one {whose} is at {page.paths[0]}, this one is at {page.paths[1]}. Both stay. To call it"
    return TreeConflict("name", page.id, second, f"{said} otherwise, rename it in the tree of this change request.")


def _fields(page_id: str, trees: Sequence[PageTree]) -> dict[str, Any]:
    pages = [tree.find(page_id) for tree in trees]
    if pages[1] is None or pages[2] is None:
        return {}
    said = {name: [getattr(page, name, None) for page in pages] for name in _FIELDS}
    return {name: mine for name, (before, main, mine) in said.items() if mine not in (main, before) and main != before}


def _shape(
    kind: str, name: str, title: str, trees: Sequence[PageTree], now: PageTree, fields: Mapping[str, Any]
) -> TreeConflict | None:
    base, main, mine = trees
    page, here = next((tree.find(name) for tree in (mine, main, base) if tree.find(name)), None), now.find(name)
    if page is None:
        return TreeConflict(kind, name, title, f"{_NO_PAGE.get(kind, 'Both sides changed this.')} {_BROWSER}")
    if kind == "deleted" and here is not None:
        gone_in_main, gone_here = main.find(name) is None, mine.find(name) is None
        if base.find(name) is not None and gone_in_main != gone_here:
            who, other = ("Main", "this change request") if gone_in_main else ("This change request", "main")
            below = sum(1 for _ in here.walk()) - 1
            delete = "delete it" + (f", and the {below} below it" if below else "")
            edit = DeletePage(page=name)
            return TreeConflict(
                kind,
                name,
                title,
                f"{who} deleted this page, and {other} changed it. It is still there.",
                delete if gone_in_main else "keep it, as main changed it",
                "keep it, as it is changed here" if gone_in_main else delete,
                edit if gone_in_main else None,
                None if gone_in_main else edit,
            )
        return TreeConflict(
            kind, name, title, "The page above it was deleted. It is still there, where that one stood."
        )
    if kind in ("moved", "order") and here is not None and mine.find(name) is not None:
        above, place = _place(mine, name)
        if (above.id if above is not None else None, place) == _where(now, name):
            return None  # it was put there since
        inside = {each.id for each in here.walk()}
        can_stand = above is None or (above.id not in inside and now.find(above.id) is not None)
        where = f"below {above.title or 'Untitled'}" if above is not None else "at the top"
        edit_move = UpdatePage(page=name, into=above.id if above is not None else None, at=place)
        both = "moved this page, each elsewhere" if kind == "moved" else "put these pages in another order"
        return TreeConflict(
            kind,
            name,
            title,
            f"Both sides {both}. It stands where main has it.",
            "leave it there" if can_stand else "",
            f"move it to place {place + 1} {where}, as it is here" if can_stand else "",
            None,
            edit_move if can_stand else None,
        )
    if kind == "field" and fields and here is not None:
        if all(getattr(here, each) == value for each, value in fields.items()):
            return None
        said = ", ".join(each.replace("_", " ") for each in fields)
        return TreeConflict(
            kind,
            name,
            title,
            f"Both sides changed the {said} of this. It has what main says.",
            "leave it so",
            "take what is said here: " + ", ".join(str(value) for value in fields.values()),
            None,
            UpdatePage(page=name, **fields),
        )
    return None if here is None else TreeConflict(kind, name, title, f"Both sides changed this. {_BROWSER}")


_BROWSER = "No operation of the interface changes it: o opens the change request in the browser."
_NO_PAGE = {
    "variable": "Both sides set this variable. It has the value of main.",
    "deleted": "One side deleted this, and the other changed it. It is still there.",
    "field": "Both sides changed this. It is as in main.",
    "text": "Both sides changed this reusable content. It holds both, with marks.",
}


def _place(tree: PageTree, page_id: str) -> tuple[Page | None, int]:
    """The page above, and the place among the pages there."""
    trail = tree.trail(page_id)
    above = trail[-2] if len(trail) > 1 else None
    siblings = above.pages if above is not None else tree.pages
    return above, next(index for index, page in enumerate(siblings) if page.id == page_id)


def _where(tree: PageTree, page_id: str) -> tuple[str | None, int]:
    above, place = _place(tree, page_id)
    return above.id if above is not None else None, place
