"""Conflicts of a change request besides texts: pages that were deleted, moved or renamed, files, variables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from octavo.api.content import ContentEdit, DeletePage, Page, PageTree, UpdatePage
from octavo.documents.diff_model import AttributeChange
from octavo.documents.merging import conflict_prediction
from octavo.documents.merging.merged_page import Choice
from octavo.documents.page_trees import DuplicatePage, find_duplicates
from octavo.tui.render.conflict_page import PageConflict
from octavo.tui.widgets.wording import plural

Fields: TypeAlias = Mapping[str, tuple[Any, Any]]
"""The values of main and of the change request, by the name of a field."""
_FIELDS = ("title", "description", "icon", "emoji", "slug", "hidden", "no_index", "no_robots_index")
"""The fields of a page that an edit can change."""


@dataclass(frozen=True)
class TreeConflict:
    """A conflict besides a text. The change request has the page as the server left it."""

    kind: str
    id: str
    title: str
    said: str
    """What both sides did."""
    answers: tuple[str, str] = ("", "")
    """What taking main means, and what taking this change request means. Empty if there is nothing to choose."""
    edits: tuple[ContentEdit | None, ContentEdit | None] = (None, None)
    """The edits that make the page as in main, and as in this change request. None if the page is so already."""
    settings: tuple[tuple[AttributeChange, ...], tuple[AttributeChange, ...]] = ((), ())
    """What becomes of the title, the place and the like if main is taken, and if this change request is taken."""
    main: str | None = field(default=None, repr=False)
    """The text of the page in main. None if it is not known."""
    text: str = field(default="", repr=False)
    """The text of the page in this change request. Empty if it has none."""
    below: frozenset[str] = frozenset()
    """The ids of the pages below the page, if an answer deletes the page."""
    place: tuple[str | None, int] = (None, 0)
    """The page above the page, and its position there, if an answer deletes the page."""
    since: str = ""
    """The primary revision that brought it: what is decided now is not what a later one brings."""

    @property
    def name(self) -> str:
        """What a choice for it is kept as."""
        return f"{self.kind} {self.id} {self.since}".rstrip()

    @property
    def can_choose(self) -> bool:
        return all(self.answers)

    @property
    def question(self) -> PageConflict:
        """The conflict as it is shown."""
        return PageConflict(self.name, self.title, self.said, self.answers)

    def unresolved(self, choices: Collection[str]) -> list[str]:
        """Return its name if it has to be resolved and is not."""
        return [self.name] if self.can_choose and self.name not in choices else []

    def edit(self, choice: Choice | None) -> ContentEdit | None:
        """Return the edit for a choice. None if nothing is chosen, or if the page is so already."""
        return None if choice is None else self.edits[choice.kind == "request"]

    def outcome(self, choice: Choice | None) -> tuple[str, tuple[AttributeChange, ...]]:
        """Return the text of the page after a choice, and its title, place and the like, compared with main."""
        if choice is None:
            return self.text, not_resolved(self.settings[0])
        is_deleted = isinstance(self.edit(choice), DeletePage)
        return "" if is_deleted else self.text, self.settings[choice.kind == "request"]


def tree_edits(conflicts: Sequence[TreeConflict], choices: Mapping[str, Choice]) -> list[ContentEdit]:
    """Return the edits for the choices. A page whose own question is not answered with “delete” is not deleted with a page above
    it: it moves to the place of that page."""
    chosen = [each for each in conflicts if each.edit(choices.get(each.name)) is not None]
    deleted = [each for each in chosen if isinstance(each.edit(choices[each.name]), DeletePage)]
    deleted.sort(key=lambda each: len(each.below))
    moves: list[ContentEdit] = []
    for each in reversed(conflicts):  # each page is put before the pages that were put in the same place
        above = [page for page in deleted if each.id in page.below]
        if each.kind == "deleted" and each not in deleted and above:
            into, at = above[-1].place
            moves.append(UpdatePage(page=each.id, into=into, at=at))
    others = [each for each in chosen if each not in deleted]
    edits = (each.edit(choices[each.name]) for each in [*others, *deleted])  # pages below before the pages above them
    return [*moves, *(edit for edit in edits if edit is not None)]


def shapes(three: conflict_prediction.RevisionTriple, now: PageTree) -> tuple[list[TreeConflict], dict[str, Fields]]:
    """Return the conflicts besides texts in a change request that has the pages `now`; and by page, the values of main and of the
    change request where they conflict."""
    unsettled = conflict_prediction.pages_to_read(three, None)
    # The texts are not read: conflicts in them are between marks.
    foreseen = conflict_prediction.predict_merge(three, dict.fromkeys(unsettled, ("", "", ""))).conflicts
    asked = {each.id for each in foreseen if each.kind == "deleted"}
    fields: dict[str, Fields] = {}
    found = []
    for each in foreseen:
        if each.kind == "field" and (given := _fields(each.id, three)):
            fields[each.id] = given
        if each.kind != "text" or not any(side.find(each.id) for side in three):
            found.append(_shape(each.kind, each.id, each.name, three, now, fields.get(each.id, {}), asked))
    shown = [shape for shape in found if shape is not None]
    return [*shown, *(_same_name(each) for each in find_duplicates(three[1].pages, now.pages))], fields


def _same_name(page: DuplicatePage) -> TreeConflict:
    first, second = page.titles
    called = f"Two pages are called “{first}”" if first == second else f"“{first}” and “{second}” have the same path"
    whose = "page in main" if page.is_other_in_main else "other page in this change request"
    said = f"{called}: the {whose} is at {page.paths[0]}, and this page is at {page.paths[1]}. Both pages will be kept."
    return TreeConflict(
        "name", page.id, second, f"{said} To give this page another title, rename it in the table of contents."
    )


def _fields(page_id: str, trees: Sequence[PageTree]) -> Fields:
    pages = [tree.find(page_id) for tree in trees]
    if pages[1] is None or pages[2] is None:
        return {}
    said = {name: [getattr(page, name, None) for page in pages] for name in _FIELDS}
    return {
        name: (main, mine)
        for name, (before, main, mine) in said.items()
        if mine not in (main, before) and main != before
    }


def settings_of(fields: Fields, *, is_main: bool) -> tuple[AttributeChange, ...]:
    """Return fields as they are in main, and as they are after a choice."""
    return tuple(
        AttributeChange(name.replace("_", " "), _said(main), _said(main if is_main else mine))
        for name, (main, mine) in fields.items()
    )


def not_resolved(settings: tuple[AttributeChange, ...]) -> tuple[AttributeChange, ...]:
    """Return settings as they are before a choice."""
    return tuple(replace(each, new="not resolved") for each in settings)


def _said(value: Any) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value is not None else None


def _shape(
    kind: str,
    name: str,
    title: str,
    trees: Sequence[PageTree],
    now: PageTree,
    fields: Fields,
    asked: Collection[str],
) -> TreeConflict | None:
    here = now.find(name)
    if not any(tree.find(name) for tree in trees):
        return TreeConflict(kind, name, title, f"{_NO_PAGE.get(kind, 'Both sides changed this item.')} {_BROWSER}")
    if here is None:
        return None
    if kind == "deleted":
        return replace(_deleted(here, title, trees, now, asked), below=_ids_below(here, ()), place=_where(now, here.id))
    if kind in ("moved", "order") and trees[2].find(name) is not None:
        return _moved(kind, here, title, trees[2], now)
    if kind == "field" and fields:
        return _changed(here, title, fields)
    return TreeConflict(kind, name, title, f"Both sides changed this page. {_BROWSER}")


def _deleted(here: Page, title: str, trees: Sequence[PageTree], now: PageTree, asked: Collection[str]) -> TreeConflict:
    """Return the question whether a page that one side deleted and the other changed is kept or deleted. About the pages that are
    `asked` about there is a question of their own."""
    is_in_base, is_in_main, is_in_mine = (tree.find(here.id) is not None for tree in trees)
    if not is_in_base or is_in_main == is_in_mine:
        said = "The parent of this page was deleted. This page was kept and moved to the position of its parent."
        return TreeConflict("deleted", here.id, title, said)
    who, other = ("this change request", "main") if is_in_main else ("main", "this change request")
    below = len(_ids_below(here, asked))
    delete = "Delete the page" + (f" and its {plural(below, 'subpage')}." if below else ".")
    side = trees[1] if is_in_main else trees[2]
    lost = sum(now.find(each) is None for each in _ids_below(side.find(here.id) or here, ()))
    keep = f"Keep the page as it is in {other}."
    if lost:
        keep += f" Its {plural(lost, 'subpage')} will stay deleted."
    kept, deleted = (
        AttributeChange("page", "in main" if is_in_main else "deleted", each) for each in ("kept", "deleted")
    )
    edit = DeletePage(page=here.id)
    said = f"This page was deleted in {who} and changed in {other}."
    if is_in_main:
        return TreeConflict("deleted", here.id, title, said, (keep, delete), (None, edit), ((kept,), (deleted,)))
    return TreeConflict("deleted", here.id, title, said, (delete, keep), (edit, None), ((deleted,), (kept,)))


def _ids_below(page: Page, but: Collection[str]) -> frozenset[str]:
    """Return the ids of the pages below a page, without some pages and the pages below those."""
    pages = [each for each in page.pages if each.id not in but]
    return frozenset({each.id for each in pages}.union(*(_ids_below(each, but) for each in pages)))


def _moved(kind: str, here: Page, title: str, mine: PageTree, now: PageTree) -> TreeConflict | None:
    """Return the question where a page is that both sides moved. None if it is where the change request has it."""
    above, place = _place(mine, here.id)
    if (above.id if above is not None else None, place) == _where(now, here.id):
        return None
    both = (
        "Both sides moved this page to different places."
        if kind == "moved"
        else "Both sides changed the order of these pages."
    )
    inside = {each.id for each in here.walk()}
    if above is not None and (above.id in inside or now.find(above.id) is None):
        return TreeConflict(kind, here.id, title, f"{both} The page keeps its position in main.")
    in_main, in_mine = _described(*_place(now, here.id)), _described(above, place)
    answers = (f"Keep the page {in_main}, as in main.", f"Move the page {in_mine}, as in this change request.")
    move = UpdatePage(page=here.id, into=above.id if above is not None else None, at=place)
    settings = ((AttributeChange("place", in_main, in_main),), (AttributeChange("place", in_main, in_mine),))
    return TreeConflict(kind, here.id, title, both, answers, (None, move), settings)


def _changed(here: Page, title: str, fields: Fields) -> TreeConflict | None:
    """Return the question which title and the like a page has. None if it has those of the change request."""
    mine = {name: value for name, (_, value) in fields.items()}
    if all(getattr(here, name) == value for name, value in mine.items()):
        return None
    names = ", ".join(name.replace("_", " ") for name in fields)
    said = f"Both sides changed these details of this page: {names}."
    settings = (settings_of(fields, is_main=True), settings_of(fields, is_main=False))
    answers = (_values(settings[0]), _values(settings[1]))
    return TreeConflict("field", here.id, title, said, answers, (None, UpdatePage(page=here.id, **mine)), settings)


def _values(settings: tuple[AttributeChange, ...]) -> str:
    return "\n".join(f"{each.name}: {each.new or 'none'}" for each in settings)


_BROWSER = "Octavo cannot resolve this conflict. Press o to open the change request in the browser."
_NO_PAGE = {
    "variable": "Both sides changed this variable. The value in main was kept.",
    "deleted": "This item was deleted on one side and changed on the other. The item was kept.",
    "field": "Both sides changed this item. The version in main was kept.",
    "text": "Both sides changed this reusable content. Both versions are in the text, between conflict markers.",
}


def _place(tree: PageTree, page_id: str) -> tuple[Page | None, int]:
    """Return the page above, and the position among the pages there."""
    above, siblings = tree.parent_of(page_id), tree.siblings(page_id)
    return above, next(index for index, page in enumerate(siblings) if page.id == page_id)


def _where(tree: PageTree, page_id: str) -> tuple[str | None, int]:
    above, place = _place(tree, page_id)
    return above.id if above is not None else None, place


def _described(above: Page | None, place: int) -> str:
    where = f"under “{above.title or 'Untitled'}”" if above is not None else "at the top level"
    return f"{where}, in position {place + 1}"
