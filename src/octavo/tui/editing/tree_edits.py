"""Adds, renames, moves and deletes pages in a change request, and edits their details, as methods of `TreeEdit`."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from octavo.api import change_requests, content, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import ContentEdit, DeletePage, DocumentBody, InsertPage, Page, PageTree, UpdatePage
from octavo.api.errors import ApiError
from octavo.api.operation import ContentRef, SpaceRef
from octavo.data.writes.content_writes import NO_CONTENT_EDITS, edit
from octavo.data.writes.direct import SendResult
from octavo.tui.core.dialog_draft import DRAFT_SAVED, DialogDraft
from octavo.tui.core.shell import Shell, opening
from octavo.tui.core.write_queue import show_progress
from octavo.tui.editing import page_form, target_change_request
from octavo.tui.editing.page_form import PageForm
from octavo.tui.editing.target_change_request import TargetChangeRequest
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed, DialogField
from octavo.tui.widgets.short_texts import plural

MenuAction = Callable[[], Coroutine[Any, Any, None]]
_PERMANENT_DELETION_NOTE = "The page is only in this change request, so you cannot undo its deletion."


@dataclass(frozen=True)
class PagePosition:
    """Position of a page in the table of contents. None stands for the top level (`parent_id`) or the end (`index`)."""

    parent_id: str | None = None
    index: int | None = None


@dataclass(frozen=True)
class LoadedTree:
    """The table of contents to edit: of a change request, or of main if the change request does not exist yet."""

    target: TargetChangeRequest
    tree: PageTree
    revision_id: str | None = None
    """ID of the loaded revision. If the change request does not exist yet, this is the revision of main."""
    main: PageTree | None = None
    """The table of contents of main. None if the change request does not exist yet."""


@dataclass(frozen=True)
class TreeEdit:
    """Edits the table of contents of a space, at the selected page if there is one."""

    app: Shell
    space: SpaceRef
    page_id: str = ""
    """ID of the selected page. Empty if none is selected."""
    title: str = ""
    change_request: ChangeRequest | None = None
    """Change request to which the edit is saved. None if the user must choose one first."""
    on_saved: Callable[[ChangeRequest, str], None] | None = None
    """Called after the edit was saved, with the change request and the ID of the page (empty if unknown)."""

    def show_menu(self) -> None:
        """Open a menu to rename, move, describe or delete the selected page, or to add a page."""
        load = self._load_tree_of_target
        choices: list[Choice[MenuAction]] = [
            Choice(partial(load, f"Rename {self.title}", self._rename), "Rename", "change the title"),
            Choice(partial(load, f"Move {self.title}", self._move), "Move", "change the position or the parent page"),
            Choice(
                partial(load, f"Edit the details of {self.title}", self._open_details_form),
                "Details",
                "change the slug, description, icon, or visibility",
            ),
            Choice(self.insert, "New page", "add a page under or after this page"),
            Choice(self.delete, "Delete", "delete the page and all its subpages"),
        ]

        self.app.ask(Picker(self.title, choices), lambda act: self.app.background(act()))

    async def delete(self) -> None:
        """Ask the user to confirm, then delete the page and all its subpages."""
        await self._load_tree_of_target(f"Delete {self.title}", self._delete)

    async def insert(self) -> None:
        """Ask for a position and a title, then add a page."""
        await self._load_tree_of_target("Add a page", self._insert)

    async def _load_tree_of_target(self, subject: str, on_loaded: Callable[[LoadedTree], None]) -> None:
        if self.change_request is not None:
            await self._load_tree(on_loaded, TargetChangeRequest(self.space, change_request=self.change_request))
        else:
            await target_change_request.choose_target(
                self.app, self.space, subject, partial(self._load_tree, on_loaded)
            )

    async def _load_tree(self, on_loaded: Callable[[LoadedTree], None], target: TargetChangeRequest) -> None:
        live = self.app.session.live
        at: ContentRef = target.ref or self.space
        with opening(self.app, "Loading the pages…", f"Could not load the pages of {target.title}"):
            main: PageTree | None = None
            if target.ref is not None:
                head = (await live.fetch(change_requests.Get(at=target.ref))).revision
                main = await live.cached_or_fetch(content.ListPages(at=self.space))
            else:
                head = (await live.fetch(spaces.Get(at=self.space))).revision
            tree = await live.fetch(content.ListPages(at=at))
        if self.page_id and tree.find(self.page_id) is None:
            self.app.say(f"{target.title} does not contain the page {self.title}.", tone="care")
            return
        on_loaded(LoadedTree(target, tree, head, main))

    def _rename(self, loaded: LoadedTree) -> None:
        page = loaded.tree.find(self.page_id)
        old_title = page.title if page is not None else self.title
        draft = DialogDraft(self.app, f"title {self.space.space_id} {self.page_id}", old_title)

        def on_renamed(title: str) -> None:
            if title == old_title:
                self.app.say("The page already has this title.")
                draft.delete()
            else:
                change = UpdatePage(page=self.page_id, title=title)
                self.app.background(
                    self._write(loaded, change, f"rename {old_title}", f"Renamed {old_title} to {title}", draft)
                )

        self._ask_title(f"New title for {old_title}", "Rename", draft, on_renamed)

    def _open_details_form(self, loaded: LoadedTree, errors: Mapping[str, str] = MappingProxyType({})) -> None:
        """Open the form for the page details if the page is in `loaded`. `errors` has error messages by field name."""
        page = loaded.tree.find(self.page_id)
        if page is None:
            return
        current = page_form.current_values(page)
        draft = DialogDraft(self.app, f"details {self.space.space_id} {self.page_id}", json.dumps(current))
        change_notes = page_form.change_notes(page, draft.text, draft.earlier_base or "")
        form = PageForm(
            f"Details of {page.title or 'Untitled'}",
            page_form.from_draft(page, draft.text),
            intro="Readers will see the new details after the change request is merged. "
            "To revert the change, open the change request, select the page, and press Q.",
            validate=partial(page_form.value_errors, page, loaded.tree),
            save=lambda values: draft.autosave(page_form.to_draft(page, values)),
            save_now=lambda values: draft.autosave_now(page_form.to_draft(page, values)),
            refused={**change_notes, **errors},
        )

        def on_decided(result: Confirmed) -> None:
            change = page_form.page_update(page, form.confirmed_values)
            if change is None:
                self.app.say("You made no changes, so nothing was sent.")
                draft.delete()
                return
            field_names = page_form.field_names(page)
            message = f"Changed the details of {page.title or 'Untitled'}"
            screen = self.app.screen

            def show_refusal(sentence: str, change_request: ChangeRequest) -> bool:
                if self.app.screen is not screen:  # The user has opened another screen, so do not open the form again.
                    return False
                # The first attempt may have created the change request.
                reloaded = replace(
                    loaded,
                    target=TargetChangeRequest(self.space, change_request=change_request),
                    revision_id=loaded.revision_id if loaded.target.change_request else change_request.revision,
                )
                self._open_details_form(reloaded, page_form.server_errors(sentence, field_names) or {"": sentence})
                return True

            self.app.background(
                self._write(loaded, change, "change the page details", message, draft, show_refusal=show_refusal)
            )

        self.app.ask(form, on_decided)

    def _insert(self, loaded: LoadedTree) -> None:
        draft = DialogDraft(self.app, f"title {self.space.space_id}")

        def on_title(position: PagePosition, title: str) -> None:
            arguments = (
                {"into": position.parent_id}
                if position.index is None
                else {"into": position.parent_id, "at": position.index}
            )
            target = (
                loaded.target
                if loaded.target.change_request is not None
                else target_change_request.new_request_target(self.space, f"Add {title}")
            )
            change = InsertPage(title=title, document=DocumentBody(markdown=""), **arguments)
            self.app.background(
                self._write(replace(loaded, target=target), change, f"add {title}", f"Added the page {title}", draft)
            )

        positions = new_page_positions(loaded.tree, self.page_id)
        self.app.ask(
            Picker("Position of the new page", positions),
            lambda position: self._ask_title("Title of the new page", "Add", draft, partial(on_title, position)),
        )

    def _move(self, loaded: LoadedTree) -> None:
        def on_parent_chosen(parent_id: str) -> None:
            choices = position_choices(loaded.tree, self.page_id, parent_id)
            if len(choices) == 1:
                on_position(choices[0].value)
            else:
                self.app.ask(Picker(f"Position of {self.title}", choices), on_position)

        def on_position(position: PagePosition) -> None:
            change = UpdatePage(page=self.page_id, into=position.parent_id, at=position.index)
            self.app.background(self._write(loaded, change, f"move {self.title}", f"Moved {self.title}"))

        page = loaded.tree.find(self.page_id)
        if page is not None and page.type == "group":
            on_parent_chosen("")  # Groups exist only at the top level.
        else:
            path = loaded.tree.path_to(self.page_id)
            current_parent = path[-2].id if len(path) > 1 else ""
            self.app.ask(
                Picker(f"Move {self.title} under…", parent_choices(loaded.tree, self.page_id), initial=current_parent),
                on_parent_chosen,
            )

    def _delete(self, loaded: LoadedTree) -> None:
        page = loaded.tree.find(self.page_id)
        deleted_pages = list(page.walk()) if page is not None else []
        subpage_count = max(0, len(deleted_pages) - 1)
        new_count = sum(loaded.main is not None and loaded.main.find(each.id) is None for each in deleted_pages)
        is_new = loaded.main is not None and loaded.main.find(self.page_id) is None

        def on_decided(result: Confirmed) -> None:
            deletion, title = DeletePage(page=self.page_id), self.title
            undo_reason = _PERMANENT_DELETION_NOTE if is_new else target_change_request.REVERT_HINT
            self.app.background(
                self._write(loaded, deletion, f"delete {title}", f"Deleted {title}", undo_reason=undo_reason)
            )

        intro = (
            "Readers will still see the page until the change request is merged. "
            "To revert the deletion, open the change request, select the page, and press Q."
        )
        if is_new:
            intro = _PERMANENT_DELETION_NOTE
        subpages_note = f"Its {plural(subpage_count, 'subpage')} will also be deleted."
        if new_count and not is_new:
            subpages_note += f" You cannot restore {new_count} of them, because main does not have them."
        self.app.ask(
            ConfirmDialog(
                f"Delete {self.title}?",
                verb="Delete",
                intro=intro,
                after=subpages_note if subpage_count else "",
                word=str(subpage_count) if subpage_count else "",
                word_reason=f"{subpages_note} Type {subpage_count} to confirm." if subpage_count else "",
            ),
            on_decided,
        )

    def _ask_title(self, title: str, verb: str, draft: DialogDraft, on_title: Callable[[str], None]) -> None:
        field = DialogField(
            "Title",
            draft.text,
            required_error="Enter a title.",
            max_length=300,
            save_draft=draft.autosave,
            save_draft_now=draft.autosave_now,
        )

        dialog = ConfirmDialog(title, verb=verb, intro=draft.change_note("title"), field=field)
        self.app.ask(dialog, lambda result: on_title(result.text))

    async def _write(
        self,
        loaded: LoadedTree,
        change: ContentEdit,
        action: str,
        message: str,
        draft: DialogDraft | None = None,
        show_refusal: Callable[[str, ChangeRequest], bool] | None = None,
        undo_reason: str = target_change_request.REVERT_HINT,
    ) -> None:
        """Send an edit to an existing or new change request. Show `message`, or that Octavo could not `action`. If the
        server refuses the edit, call `show_refusal` with the reason and the change request. If it returns True, show
        nothing else. After success, delete `draft`, and let the key `u` show `undo_reason`: why there is no undo."""
        delete_draft = draft.deletion() if draft is not None else lambda: None
        with show_progress(self.app, f"Saving to {loaded.target.title}…"):
            change_request = await target_change_request.find_or_create(self.app, loaded.target)
            if change_request is None:
                return
            is_new = loaded.target.change_request is None
            if is_new and len({change_request.base, loaded.revision_id} - {None}) > 1:
                outcome = SendResult[None]("changed", "main has changed since you opened the dialog. Try again.")
            else:
                head = change_request.revision if is_new else loaded.revision_id or change_request.revision
                outcome = await edit(self.app.session.live, change_request.ref(self.space), head, (change,))
            page_id, hint = self.page_id, ""
            if outcome.kind == "done" and isinstance(change, InsertPage):
                page_id = await self._find_new_page(change_request, loaded.tree)
                hint = " Press e to write the text of the page." if page_id else ""
        title = f"#{change_request.number} {change_request.title}"
        can_retry = outcome.kind == "refused" and outcome.message != NO_CONTENT_EDITS
        if can_retry and show_refusal is not None and show_refusal(outcome.message, change_request):
            return
        if outcome.kind != "done":
            draft_note = f" {DRAFT_SAVED}" if draft is not None else ""
            self.app.say(f"Could not {action} in {title}: {outcome.message}{draft_note}", tone="failed")
            return
        delete_draft()
        target_change_request.record_edit(self.app, self.space, change_request, undo_reason)
        self.app.say(f"{message} in {title}.{hint}")
        if self.on_saved is not None:
            self.on_saved(change_request, page_id)

    async def _find_new_page(self, change_request: ChangeRequest, tree_before: PageTree) -> str:
        try:
            tree = await self.app.session.live.fetch(content.ListPages(at=change_request.ref(self.space)))
        except ApiError:
            return ""  # The page was added, only its ID is unknown.
        known_ids = {page.id for page in tree_before.walk()}
        added_ids = [page.id for page in tree.walk() if page.id not in known_ids]
        return added_ids[0] if len(added_ids) == 1 else ""


def parent_choices(tree: PageTree, moved_id: str) -> list[Choice[str]]:
    """Return the choices of a parent for the page `moved_id`: first "" for the top level, then page IDs."""
    is_at_top = any(page.id == moved_id for page in tree.pages)
    choices = [Choice("", "No parent (top level)", right="current" if is_at_top else "")]
    for page, depth in _parents(tree.pages, moved_id, 0):
        title = f"{'  ' * depth}{page.title or 'Untitled'}"
        is_parent = any(each.id == moved_id for each in page.pages)
        choices.append(Choice(page.id, title, right="current" if is_parent else ""))
    return choices


def position_choices(tree: PageTree, moved_id: str, parent_key: str) -> list[Choice[PagePosition]]:
    """Return the choices of a position under `parent_key` ("" for the top level), the last position first."""
    parent_page = tree.find(parent_key) if parent_key else None
    siblings = [page for page in (parent_page.pages if parent_page is not None else tree.pages) if page.id != moved_id]
    parent_id = parent_key or None
    choices = [Choice(PagePosition(parent_id, len(siblings)), "Last")]
    if siblings:
        choices.append(Choice(PagePosition(parent_id, 0), "First"))
    choices += [
        Choice(PagePosition(parent_id, number), f"After {page.title or 'Untitled'}")
        for number, page in enumerate(siblings[:-1], 1)
    ]
    return choices


def new_page_positions(tree: PageTree, page_id: str) -> list[Choice[PagePosition]]:
    """Return the choices of a position for a new page: under or after the selected page, or at the end of the space.
    For a group or a page with subpages, “under” comes first, otherwise “after”. Without `page_id`, only the end."""
    choices: list[Choice[PagePosition]] = []
    path = tree.path_to(page_id) if page_id else ()
    if path:
        page = path[-1]
        under = Choice(PagePosition(page.id), f"Under {page.title or 'Untitled'}", "as the last subpage")
        number = next(number for number, each in enumerate(tree.siblings(page_id), 1) if each.id == page_id)
        parent_id = path[-2].id if len(path) > 1 else None
        after = Choice(PagePosition(parent_id, number), f"After {page.title or 'Untitled'}", "at the same level")
        choices = [under, after] if page.type == "group" or page.pages else [after, under]
        choices = choices if page.type in ("document", "group") else [after]
    return [*choices, Choice(PagePosition(), "At the end", "of the space")]


def _parents(pages: tuple[Page, ...], moved_id: str, depth: int) -> list[tuple[Page, int]]:
    parents: list[tuple[Page, int]] = []
    for page in pages:
        if page.id != moved_id and page.type in ("document", "group"):
            parents += [(page, depth), *_parents(page.pages, moved_id, depth + 1)]
    return parents
