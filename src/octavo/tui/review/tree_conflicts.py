"""Conflicts outside page texts, such as two titles or positions of a page, or changes to a file or variable."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from octavo.api.content import ContentEdit, DeletePage, Page, PageTree, UpdatePage
from octavo.documents.diff_model import AttributeChange
from octavo.documents.merging.merged_page import MergeChoice
from octavo.documents.merging.revision_merge import RevisionTriple, pages_to_read, predict_merge
from octavo.documents.page_trees import DuplicatePage, find_duplicates
from octavo.tui.render.conflict_lines import PageConflict
from octavo.tui.widgets.short_texts import plural

FieldValues: TypeAlias = Mapping[str, tuple[Any, Any]]
"""Values of page fields in main and in the change request, by field name."""
_EDITABLE_FIELDS = ("title", "description", "icon", "emoji", "slug", "hidden", "no_index", "no_robots_index")
"""Fields of a page that an edit can change."""


@dataclass(frozen=True)
class TreeConflict:
    """Conflict outside the text of a page, such as two different positions of a page."""

    kind: str
    id: str
    title: str
    summary: str
    """Sentence about the changes in main and in the change request."""
    options: tuple[str, str] = ("", "")
    """What each of the two choices would do, main first. Both are empty if Octavo cannot resolve the conflict."""
    edits: tuple[ContentEdit | None, ContentEdit | None] = (None, None)
    """Edits that carry out the two choices, main first. None if a choice needs no edit."""
    settings: tuple[tuple[AttributeChange, ...], tuple[AttributeChange, ...]] = ((), ())
    """Page settings after each of the two choices, compared with main. The choice of main comes first."""
    main: str | None = field(default=None, repr=False)
    """Text of the page in main. None if it is unknown."""
    text: str = field(default="", repr=False)
    """Text of the page in this change request. Empty if there is none, or if Octavo cannot resolve the conflict."""
    subpage_ids: frozenset[str] = frozenset()
    """IDs of the subpages of a deleted page."""
    position: tuple[str | None, int] = (None, 0)
    """Position of a deleted page: the ID of its parent (None at the top level), and its index there."""
    main_revision: str = ""
    """ID of the revision of main with the conflicting change."""

    @property
    def name(self) -> str:
        """Name under which the choice for this conflict is stored."""
        return f"{self.kind} {self.id} {self.main_revision}".rstrip()

    @property
    def can_choose(self) -> bool:
        return all(self.options)

    @property
    def page_conflict(self) -> PageConflict:
        """What the view draws of this conflict: the title, the summary and the two choices."""
        return PageConflict(self.name, self.title, self.summary, self.options)

    def unresolved(self, chosen_names: Collection[str]) -> list[str]:
        """Return a list with `name` if you can choose a version and `chosen_names` lacks `name`. Empty otherwise."""
        return [self.name] if self.can_choose and self.name not in chosen_names else []

    def edit(self, choice: MergeChoice | None) -> ContentEdit | None:
        """Return the edit that carries out a choice. None without a choice, or if no edit is needed."""
        return None if choice is None else self.edits[choice.kind == "request"]

    def outcome(self, choice: MergeChoice | None) -> tuple[str, tuple[AttributeChange, ...]]:
        """Return the page text and the changed settings after `choice`. The text is empty if `choice` deletes the page.
        If `choice` is None, the new value of each setting is `not resolved`."""
        if choice is None:
            return self.text, unresolved_settings(self.settings[0])
        is_deleted = isinstance(self.edit(choice), DeletePage)
        return "" if is_deleted else self.text, self.settings[choice.kind == "request"]


def tree_edits(conflicts: Sequence[TreeConflict], choices: Mapping[str, MergeChoice]) -> list[ContentEdit]:
    """Return the edits for all choices. A kept page below a deleted page moves to the position of the deleted page."""
    resolved_conflicts = [each for each in conflicts if each.edit(choices.get(each.name)) is not None]
    deletions = [each for each in resolved_conflicts if isinstance(each.edit(choices[each.name]), DeletePage)]
    deletions.sort(key=lambda each: len(each.subpage_ids))
    moves: list[ContentEdit] = []
    # From the last to the first, because each moved page pushes the pages below it down.
    for each in reversed(conflicts):
        deleted_ancestors = [page for page in deletions if each.id in page.subpage_ids]
        if each.kind == "deleted" and each not in deletions and deleted_ancestors:
            parent_id, index = deleted_ancestors[-1].position
            moves.append(UpdatePage(page=each.id, into=parent_id, at=index))
    other_conflicts = [each for each in resolved_conflicts if each not in deletions]
    # Subpages are deleted before their parent pages.
    edits = (each.edit(choices[each.name]) for each in [*other_conflicts, *deletions])
    return [*moves, *(edit for edit in edits if edit is not None)]


def find_tree_conflicts(
    revisions: RevisionTriple, current: PageTree
) -> tuple[list[TreeConflict], dict[str, FieldValues]]:
    """Return conflicts outside page texts, and conflicting page fields by page ID. `current` is the current page tree
    of the change request."""
    page_ids = pages_to_read(revisions, None)
    # Texts are left out, because conflict markers show the conflicts in texts.
    predicted_conflicts = predict_merge(revisions, dict.fromkeys(page_ids, ("", "", ""))).conflicts
    deletions = {each.id for each in predicted_conflicts if each.kind == "deleted"}
    fields: dict[str, FieldValues] = {}
    conflicts = []
    for each in predicted_conflicts:
        if each.kind == "field" and (values := _conflicting_fields(each.id, revisions)):
            fields[each.id] = values
        if each.kind != "text" or not any(side.find(each.id) for side in revisions):
            conflicts.append(
                _tree_conflict(each.kind, each.id, each.name, revisions, current, fields.get(each.id, {}), deletions)
            )
    tree_conflicts = [conflict for conflict in conflicts if conflict is not None]
    return [
        *tree_conflicts,
        *(_same_name_conflict(each) for each in find_duplicates(revisions[1].pages, current.pages)),
    ], fields


def _same_name_conflict(page: DuplicatePage) -> TreeConflict:
    first, second = page.titles
    names = f"Two pages are called “{first}”" if first == second else f"“{first}” and “{second}” have the same path"
    other_page = "page in main" if page.is_other_in_main else "other page in this change request"
    paths_text = f"the {other_page} is at {page.paths[0]}, and this page is at {page.paths[1]}"
    summary = f"{names}: {paths_text}. Both pages will be kept."
    return TreeConflict(
        "name", page.id, second, f"{summary} To give this page another title, rename it in the table of contents."
    )


def _conflicting_fields(page_id: str, trees: Sequence[PageTree]) -> FieldValues:
    pages = [tree.find(page_id) for tree in trees]
    if pages[1] is None or pages[2] is None:
        return {}
    values = {name: [getattr(page, name, None) for page in pages] for name in _EDITABLE_FIELDS}
    return {
        name: (main, mine)
        for name, (before, main, mine) in values.items()
        if mine not in (main, before) and main != before
    }


def chosen_settings(fields: FieldValues, *, chooses_main: bool) -> tuple[AttributeChange, ...]:
    """Return page fields in conflict as changes from main to the chosen side. If `chooses_main`, nothing changes."""
    return tuple(
        AttributeChange(name.replace("_", " "), _format_value(main), _format_value(main if chooses_main else mine))
        for name, (main, mine) in fields.items()
    )


def unresolved_settings(settings: tuple[AttributeChange, ...]) -> tuple[AttributeChange, ...]:
    """Return copies of the changes of settings, with `not resolved` as the new value of each."""
    return tuple(replace(each, new="not resolved") for each in settings)


def _format_value(value: Any) -> str | None:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if value is not None else None


def _tree_conflict(
    kind: str,
    item_id: str,
    title: str,
    trees: Sequence[PageTree],
    current_tree: PageTree,
    fields: FieldValues,
    deletions: Collection[str],
) -> TreeConflict | None:
    page = current_tree.find(item_id)
    if not any(tree.find(item_id) for tree in trees):
        return TreeConflict(
            kind, item_id, title, f"{_DESCRIPTIONS.get(kind, 'Both sides changed this item.')} {_RESOLVE_IN_BROWSER}"
        )
    if page is None:
        return None
    if kind == "deleted":
        conflict = _deletion_conflict(page, title, trees, current_tree, deletions)
        return replace(conflict, subpage_ids=_subpage_ids(page, ()), position=_parent_and_index(current_tree, page.id))
    if kind in ("moved", "order") and trees[2].find(item_id) is not None:
        return _move_conflict(kind, page, title, trees[2], current_tree)
    if kind == "field" and fields:
        return _field_conflict(page, title, fields)
    return TreeConflict(kind, item_id, title, f"Both sides changed this page. {_RESOLVE_IN_BROWSER}")


def _deletion_conflict(
    page: Page, title: str, trees: Sequence[PageTree], current_tree: PageTree, deletions: Collection[str]
) -> TreeConflict:
    """Return the conflict about a page that one side deleted, or that lost its parent. `deletions` has the IDs of all
    pages with such a conflict. `trees` are the page trees of the base, main and the change request."""
    is_in_base, is_in_main, is_in_mine = (tree.find(page.id) is not None for tree in trees)
    if not is_in_base or is_in_main == is_in_mine:
        summary = "The parent of this page was deleted. This page was kept and moved to the position of its parent."
        return TreeConflict("deleted", page.id, title, summary)
    deleting_side, changing_side = ("this change request", "main") if is_in_main else ("main", "this change request")
    subpage_count = len(_subpage_ids(page, deletions))
    delete = "Delete the page" + (f" and its {plural(subpage_count, 'subpage')}." if subpage_count else ".")
    side = trees[1] if is_in_main else trees[2]
    deleted_count = sum(current_tree.find(each) is None for each in _subpage_ids(side.find(page.id) or page, ()))
    keep = f"Keep the page as it is in {changing_side}."
    if deleted_count:
        keep += f" Its {plural(deleted_count, 'subpage')} will stay deleted."
    kept, deleted = (
        AttributeChange("page", "in main" if is_in_main else "deleted", each) for each in ("kept", "deleted")
    )
    edit = DeletePage(page=page.id)
    summary = f"This page was deleted in {deleting_side} and changed in {changing_side}."
    if is_in_main:
        return TreeConflict("deleted", page.id, title, summary, (keep, delete), (None, edit), ((kept,), (deleted,)))
    return TreeConflict("deleted", page.id, title, summary, (delete, keep), (edit, None), ((deleted,), (kept,)))


def _subpage_ids(page: Page, excluded: Collection[str]) -> frozenset[str]:
    pages = [each for each in page.pages if each.id not in excluded]
    return frozenset({each.id for each in pages}.union(*(_subpage_ids(each, excluded) for each in pages)))


def _move_conflict(kind: str, page: Page, title: str, own_tree: PageTree, current: PageTree) -> TreeConflict | None:
    """Return the conflict about a page that both sides moved or reordered. `own_tree` is the page tree of the change
    request before the merge, `current` its page tree now. None if the page has the same position in both trees."""
    parent, index = _parent_page_and_index(own_tree, page.id)
    if (parent.id if parent is not None else None, index) == _parent_and_index(current, page.id):
        return None
    summary = "Both sides changed the order of these pages."
    if kind == "moved":
        summary = "Both sides moved this page to different places."
    descendant_ids = {each.id for each in page.walk()}
    if parent is not None and (parent.id in descendant_ids or current.find(parent.id) is None):
        return TreeConflict(kind, page.id, title, f"{summary} The page keeps its position in main.")
    in_main = _describe_position(*_parent_page_and_index(current, page.id))
    own_position = _describe_position(parent, index)
    options = (f"Keep the page {in_main}, as in main.", f"Move the page {own_position}, as in this change request.")
    move = UpdatePage(page=page.id, into=parent.id if parent is not None else None, at=index)
    settings = ((AttributeChange("place", in_main, in_main),), (AttributeChange("place", in_main, own_position),))
    return TreeConflict(kind, page.id, title, summary, options, (None, move), settings)


def _field_conflict(page: Page, title: str, fields: FieldValues) -> TreeConflict | None:
    own_values = {name: value for name, (_, value) in fields.items()}
    if all(getattr(page, name) == value for name, value in own_values.items()):
        return None
    names_text = ", ".join(name.replace("_", " ") for name in fields)
    summary = f"Both sides changed these details of this page: {names_text}."
    settings = (chosen_settings(fields, chooses_main=True), chosen_settings(fields, chooses_main=False))
    options = (_describe_settings(settings[0]), _describe_settings(settings[1]))
    return TreeConflict(
        "field", page.id, title, summary, options, (None, UpdatePage(page=page.id, **own_values)), settings
    )


def _describe_settings(settings: tuple[AttributeChange, ...]) -> str:
    return "\n".join(f"{each.name}: {each.new or 'none'}" for each in settings)


_RESOLVE_IN_BROWSER = "Octavo cannot resolve this conflict. Press o to open the change request in the browser."
_DESCRIPTIONS = {
    "variable": "Both sides changed this variable. The value in main was kept.",
    "deleted": "This item was deleted on one side and changed on the other. The item was kept.",
    "field": "Both sides changed this item. The version in main was kept.",
    "text": "Both sides changed this reusable content. Both versions are in the text, between conflict markers.",
}


def _parent_page_and_index(tree: PageTree, page_id: str) -> tuple[Page | None, int]:
    """Return the parent of a page, and the index of the page below the parent. The parent is None at the top level."""
    parent, siblings = tree.parent_of(page_id), tree.siblings(page_id)
    return parent, next(index for index, page in enumerate(siblings) if page.id == page_id)


def _parent_and_index(tree: PageTree, page_id: str) -> tuple[str | None, int]:
    parent, index = _parent_page_and_index(tree, page_id)
    return parent.id if parent is not None else None, index


def _describe_position(parent: Page | None, index: int) -> str:
    location = f"under “{parent.title or 'Untitled'}”" if parent is not None else "at the top level"
    return f"{location}, in position {index + 1}"
