"""The view that resolves the conflicts of a change request. `DraftConflictsScreen` resolves conflicts between your
draft of a page and a version that others saved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

from textual import on
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from octavo.api.content import Edit
from octavo.api.errors import ApiError
from octavo.api.operation import SpaceRef
from octavo.api.text import Raw
from octavo.data.state_db import NotSaved
from octavo.data.writes.content_writes import OWN_LABEL, page_source
from octavo.documents.merging.merged_page import (
    NEVER_BOTH,
    SIDES,
    ChoiceKind,
    Conflict,
    MergeChoice,
    MergedPage,
    read_marked_page,
)
from octavo.documents.merging.page_merge import merge
from octavo.tui.core.dialog_draft import DialogDraft
from octavo.tui.core.external_links import confirm_link
from octavo.tui.core.permissions import why_not_in_space
from octavo.tui.core.routes import ToPage
from octavo.tui.core.shell import Shell
from octavo.tui.core.view import View, focus_if
from octavo.tui.editing.page_drafts import ToConflicts, conflict_base
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.three_way_view import ThreeWayView
from octavo.tui.reader.viewport import PaneMoved
from octavo.tui.render.conflict_lines import (
    ConflictView,
    PageConflict,
    UnconflictedText,
    prepare_conflicts,
    prepare_page_conflict,
)
from octavo.tui.review import conflict_choices
from octavo.tui.review.conflict_choices import Choices, MergedPreview, MergedPreviewScreen, RequestConflicts
from octavo.tui.review.conflict_finder import ConflictedPage, OpenConflicts
from octavo.tui.review.tree_conflicts import TreeConflict
from octavo.tui.terminal.textual_internals import is_fully_mounted
from octavo.tui.widgets.commands import Command, Commands, StillLoading
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Row, RowHeading, RowList
from octavo.tui.widgets.short_texts import plural, safe
from octavo.tui.widgets.text_widgets import ChangingText

_OTHER_CONFLICTS_HEADING = RowHeading("OTHER CONFLICTS", "")
_PAGES_HEADING = RowHeading("PAGES", "")


def _has_rows(_: object, view: ConflictsScreen) -> bool:
    return bool(view.rows.items)


def _choice_command(name: str, keys: str, title: str, help: str, kind: ChoiceKind) -> Command[ConflictsScreen]:
    return Command(
        name,
        keys,
        title,
        help,
        run=lambda _, view: view.choose(kind),
        why_not=lambda _, view: view.why_not_choose(kind),
        applies=_has_rows,
    )


_NO_REQUEST_LINK = "The server did not return a link to this change request."


CONFLICT_COMMANDS: Commands[ConflictsScreen] = Commands(
    "conflict",
    (
        _choice_command("main", "m", "Use main", "Use the version in main, or clear this choice", "main"),
        _choice_command("this", "t", "Use change request", "Use the version in this change request, or clear this choice", "request"),
        _choice_command("both", "b", "Use both", "Use both versions (main first), or clear this choice", "both"),
        _choice_command("words", "w", "Use suggestion", "Use the word-by-word merge, or clear this choice", "words"),
        Command("edit", "e", "Edit", "Resolve the conflict in your editor",
                run=lambda _, view: view.edit(), why_not=lambda _, view: view.why_not_choose("edit"), applies=_has_rows),
        Command("preview", "p", "Preview", "Preview the merged page",
                run=lambda _, view: view.preview(), why_not=lambda _, view: view.why_no_preview(), applies=_has_rows),
        Command("send", "ctrl+s", "Save", "Save the resolved conflicts",
                writes=True, run=lambda _, view: view.send_choices(), why_not=lambda _, view: view.why_not_send(), applies=_has_rows),
        Command("follow", "f", "Moved text", "Open the page that the text was moved to", run=lambda _, view: view.open_moved_text(),
                why_not=lambda _, view: view.why_no_moved_text(), shown=False),
        Command("next_page", "J", "Next page", "Go to the next page with conflicts", run=lambda _, view: view.move_row(1), shown=False),
        Command("previous_page", "K", "Previous page", "Go to the previous page with conflicts", run=lambda _, view: view.move_row(-1), shown=False),
        Command("browser", "o", "Open in browser", "Open the change request in the browser", shown=False,
                run=lambda app, view: confirm_link(app, view.request_conflicts.change_request.urls.app or "", text=view.request_conflicts.change_request.title),
                why_not=lambda _, view: None if view.request_conflicts.change_request.urls.app else _NO_REQUEST_LINK),
        Command("up", "escape", "Back", "Go back and keep your choices", run=lambda _, view: view.go_up_or_back(), shown=False),
    ),
)  # fmt: skip
_WAITS_FOR_PAGE = frozenset(f"conflict.{name}" for name in ("main", "this", "both", "words", "edit", "follow"))
"""IDs of the commands that run only after the page of the selected conflict has loaded."""
_NEVER_WAITS = frozenset(("conflict.browser", "conflict.up"))


class ConflictsScreen(View):
    """List of the pages with conflicts, beside both versions of each conflict on the selected page."""

    MODE = "changes"
    HELP_NAME = "conflicts"
    HELP = (
        "This view shows the conflicts between main and this change request. Press m to use the version in main, "
        "t to use the version in this change request, b to use both versions, or e to open your editor. "
        "Press the same key again to clear the choice. Press p to preview the page, or ctrl+s to save. "
        "Press esc to go back and keep your choices."
    )
    CSS_PATH = "conflicts.tcss"
    KEYBAR: ClassVar[tuple[str, ...]] = (
        "conflict.main",
        "conflict.this",
        "conflict.both",
        "conflict.words",
        "conflict.edit",
        "conflict.preview",
        "conflict.send",
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (CONFLICT_COMMANDS,)

    def __init__(self, request_conflicts: RequestConflicts) -> None:
        super().__init__()
        self.request_conflicts: RequestConflicts = request_conflicts
        self._open_conflicts: OpenConflicts | None = None
        self._is_sending = False

    def body(self) -> Iterable[Widget]:
        self.rows: RowList[ConflictedPage | TreeConflict] = RowList(
            lambda item: conflict_row(item, self._choices.by_name),
            key=_key_of,
            groups=lambda each: (_PAGES_HEADING,) if isinstance(each, ConflictedPage) else (_OTHER_CONFLICTS_HEADING,),
            search=lambda each: each.title,
            empty="No conflicts.",
            hint="Press esc to go back.",
            id="conflicts",
        )
        yield ChangingText("", id="head")
        with Horizontal():
            with Vertical(id="left", classes="hairline"):
                yield self.rows
                yield ChangingText("", id="foot")
            self.view = ThreeWayView(ascii=self.shell.settings.ascii, id="three-way")
            yield self.view

    @property
    def main_pane(self) -> Widget:
        return self.view

    def on_mount(self) -> None:
        self._choices = Choices(self.shell, self.request_conflicts.key)
        self.rows.state.show_loading("conflicts")
        self.rows.focus()
        self._draw_head()
        self.refresh_data()

    def refresh_data(self) -> None:
        self.run_worker(self._load(), exclusive=True, group="look")

    async def _load(self) -> None:
        try:
            open_conflicts = await self.request_conflicts.load()
        except ApiError as error:
            self.rows.state.fail("Could not load the conflicts", str(error))
            self._draw_head()
            return
        tree_conflicts = tuple(
            tree_conflict
            for tree_conflict in open_conflicts.tree_conflicts
            if tree_conflict.name not in self._choices.saved_conflicts
        )
        self._open_conflicts = replace(open_conflicts, tree_conflicts=tree_conflicts)
        self.rows.show((*open_conflicts.pages, *tree_conflicts))
        self._draw_head()
        self._show(force_update=True)

    def action_command(self, id: str) -> object:
        if self._why_page_loading() is not None and self._why_not_editable() is None:
            view = self.view
            if id in _WAITS_FOR_PAGE or (view.waiting_commands and id not in _NEVER_WAITS):
                self._show()  # Loads the page of a row that was selected a moment ago.
                view.waiting_commands += (partial(self.action_command, id),)
                return None
        return super().action_command(id)

    @property
    def _item(self) -> ConflictedPage | TreeConflict | None:
        return self.rows.item if is_fully_mounted(self) else None

    @on(LineList.Highlighted, "#conflicts")
    def _on_conflict_selected(self) -> None:
        self._show()

    @on(LineList.Opened, "#conflicts")
    def _on_conflict_opened(self) -> None:
        self.view.focus()

    def _show(self, *, force_update: bool = False) -> None:
        item = self._item
        if item is None:
            self.view.clear()
        elif force_update or self.view.target_key != _key_of(item):
            self.view.show_loading(item.title, key=_key_of(item))
            self.run_worker(self._prepare(item), exclusive=True, group="page")
        self.refresh_bindings()
        self._draw_location()

    async def _prepare(self, item: ConflictedPage | TreeConflict) -> None:
        choices = self._choices.by_name
        sections: tuple[ConflictView | PageConflict | UnconflictedText, ...]
        if isinstance(item, TreeConflict):
            sections = await asyncio.to_thread(prepare_page_conflict, item.page_conflict, item.text)
        else:
            sections = await asyncio.to_thread(
                prepare_conflicts,
                item.merged,
                item.main,
                choices,
                stored_name=item.choice_name,
                titles=item.move_target_titles,
            )
        if self._item is item:
            self.view.show(
                sections, self._choices.by_name, key=_key_of(item), side_names=self.request_conflicts.side_names
            )
            self._draw_location()

    def _draw_head(self) -> None:
        change_request, conflicts = self.request_conflicts.change_request, self._open_conflicts
        progress, notes = self._progress(conflicts) if conflicts is not None else (Content(" "), [])
        if self._is_sending:
            notes = ["Saving…"]
        title = Content.styled(f"#{change_request.number} {change_request.title}", "bold")
        if space_title := self.shell.workspace.space_title(self.request_conflicts.space.space_id):
            title += Content.styled(f"  {space_title}", "$octavo-muted")
        self.query_one("#head", Static).update(progress + title)
        self.query_one("#foot", Static).update(Content("\n".join(notes)))
        self._draw_location()

    def _progress(self, conflicts: OpenConflicts) -> tuple[Content, list[str]]:
        """Return the start of the header, such as `2 of 4 resolved`, and the sentences below the list."""
        notes: list[str] = []
        without_choice_count = sum(not each.can_choose for each in conflicts.tree_conflicts)
        if total := len(conflicts.names):
            choices = self._choices.by_name
            count, can_save = conflicts.count_unresolved(choices), conflicts.can_save(choices)
            progress = Content.styled(f" {total - count} of {total} resolved  ", "$warning" if count else "$success")
            if count and can_save:
                notes.append("Press ctrl+s to save the resolved pages.")
            elif count:
                notes.append("To save a page, resolve all its conflicts.")
            elif can_save:
                progress += Content.styled("press ctrl+s to save  ", "$success")
                other = "other " if without_choice_count else ""
                notes.append(f"All {other}conflicts are resolved. Press ctrl+s to save.")
            else:
                progress += Content.styled("review the suggestions  ", "$success")
                notes.append("Every conflict has a suggestion. Review each suggestion, then press w to accept it.")
        else:
            progress = Content.styled(" No conflicts  ", "$success")
            if conflicts.tree_conflicts:
                progress = Content.styled(" Nothing to choose  ", "$warning")
            elif self.request_conflicts.has_server_conflicts:
                notes.append(
                    "The server reports conflicts but does not say where they are. "
                    "Press o to open the change request in the browser."
                )
            if not notes and self.request_conflicts.change_request.outdated:
                notes.append("Main has changed. Conflicts with main appear after an update: press esc, then U.")
        if without_choice_count:
            verb = "have" if without_choice_count > 1 else "has"
            notes.append(f"{plural(without_choice_count, 'conflict')} {verb} no versions to choose from.")
        if unchecked_count := conflicts.unchecked_count:
            notes.append(f"{plural(unchecked_count, 'more changed page was', 'more changed pages were')} not checked.")
        return progress, notes

    def _draw_location(self) -> None:
        change_request = self.request_conflicts.change_request
        space_title = self.shell.workspace.space_title(self.request_conflicts.space.space_id)
        prefix = f"{space_title} › " if space_title else ""
        self.show_location(
            f"Changes › {prefix}#{change_request.number} {change_request.title} › Conflicts", self.view.status_text
        )

    @on(PaneMoved)
    def _on_moved(self) -> None:
        self.refresh_bindings()
        self._draw_location()

    @on(Reader.NextPageRequested)
    def _on_end_reached(self) -> None:
        if self._why_page_loading() is None:
            self.move_row(1)

    def move_row(self, step: int) -> None:
        """Select the next row (the previous one if `step` is -1) and show its page. Tell the user if there is none."""
        old_row = self.rows.cursor
        self.rows.move(step)
        if self.rows.cursor == old_row:
            self.shell.explain(f"This is the {'last' if step > 0 else 'first'} page with conflicts.")
        self._show()

    def _why_page_loading(self) -> str | None:
        item = self._item
        if item is None or self.view.key == _key_of(item):
            return None
        return StillLoading(f"{item.title or 'This page'} is still loading.")

    @property
    def _selected_conflict(self) -> ConflictView | PageConflict | None:
        """Selected conflict. None without a selected row, and while the page of this row is loading."""
        item = self._item
        return self.view.selected_conflict if item is not None and self.view.key == _key_of(item) else None

    @property
    def _text_conflict(self) -> Conflict | None:
        """Selected conflict in the text of a page. None if no such conflict is selected, or if the page is loading."""
        item, selected = self._item, self._selected_conflict
        if not isinstance(item, ConflictedPage) or selected is None:
            return None
        return dict(item.conflicts).get(selected.name)

    def _why_not_editable(self) -> str | None:
        if self._open_conflicts is None:
            return StillLoading("The conflicts are still loading.")
        if self._is_sending:
            return "Your choices are being saved."
        return self.live.availability.why_unavailable(Edit) or why_not_in_space(
            self.shell, self.request_conflicts.space.space_id, "edit"
        )

    def why_not_send(self, page_id: str = "") -> str | None:
        """Return why the choices for `page_id`, or for all pages if empty, cannot be saved. None if they can."""
        if (why := self._why_not_editable()) is not None or self._open_conflicts is None:
            return why
        page_conflicts = self._open_conflicts.of_page(page_id)
        if not page_conflicts.names:
            return "There are no conflicts to resolve."
        if not page_conflicts.can_save(self._choices.by_name):
            if not page_conflicts.count_unresolved(self._choices.by_name):
                return "Nothing to save: this change request already contains the suggested text."
            return "Resolve all conflicts on at least one page first. To resolve a conflict, press m, t, b, or e."
        return None

    def why_not_choose(self, kind: ChoiceKind | Literal["edit"]) -> str | None:
        """Return the reason why the selected conflict cannot be resolved with `kind`. None if it can be resolved."""
        if (why := self._why_not_editable()) is not None:
            return why
        conflict = self._selected_conflict
        if self.has_class("-tiny") and self.rows.has_focus:
            return "Press enter to open the conflict first."
        if conflict is None:
            return self._why_page_loading() or "No conflict is selected."
        if isinstance(conflict, PageConflict) and not all(conflict.effects):
            return "This conflict has no versions to choose from."
        if (isinstance(conflict, PageConflict) or conflict.is_limited_to_sides) and kind not in SIDES:
            return "You can keep only one version here. Press m or t to choose a version."
        if conflict.kind == "moved" and kind == "both":
            return "The text can be in only one place. Press m or t to choose the place."
        if conflict.kind in NEVER_BOTH and kind == "both":
            return (
                "You can keep only one version here. Press m or t to choose a version, or e to write another version."
            )
        if kind == "words" and isinstance(conflict, ConflictView) and "words" not in conflict.outcomes:
            return "Both sides changed the same words, so Octavo has no suggestion."
        return None

    def choose(self, kind: ChoiceKind) -> None:
        """Choose `kind` for the selected conflict, and go to the next open one. If already chosen, clear the choice."""
        if (selected := self._selected_conflict) is None:
            return
        earlier_choice = self._choices.by_name.get(selected.name)
        is_cleared = earlier_choice is not None and earlier_choice.kind == kind
        self._choices.choose(selected.name, None if is_cleared else kind)
        self._redraw_choices(goes_to_next=not is_cleared)

    def _redraw_choices(self, *, goes_to_next: bool) -> None:
        self.view.set_choices(self._choices.by_name)
        self.rows.redraw()
        self._draw_head()
        self.refresh_bindings()
        if goes_to_next and not self.view.go_to_unresolved():
            self._go_to_unresolved_row()

    def _go_to_unresolved_row(self) -> None:
        items = list(self.rows.items)
        index = next((index for index, each in enumerate(items) if each is self._item), 0)
        if unresolved := [each for each in (*items[index:], *items[:index]) if each.unresolved(self._choices.by_name)]:
            self.rows.go_to(_key_of(unresolved[0]))
            self._show()

    def edit(self) -> None:
        """Resolve the selected conflict in the external editor."""
        selected, conflict = self._selected_conflict, self._text_conflict
        if selected is None or conflict is None:
            return
        if conflict_choices.edit_resolution(self.shell, self._choices, selected.name, conflict):
            self._show(force_update=True)
            self._redraw_choices(goes_to_next=True)

    def why_no_moved_text(self) -> str | None:
        """Return the reason why you cannot open the page with the moved text. None if you can."""
        conflict = self._text_conflict
        if conflict is None or conflict.base_text_page_id is None:
            return self._why_page_loading() or "This text was not moved to another page in main."
        return None

    def open_moved_text(self) -> None:
        """Open the page in main to which the text of the selected conflict was moved."""
        if (conflict := self._text_conflict) is not None and conflict.base_text_page_id is not None:
            self.shell.go(ToPage(self.request_conflicts.space.space_id, conflict.base_text_page_id))

    def why_no_preview(self) -> str | None:
        """Return the reason why the page cannot be previewed. None if it can be previewed."""
        if self._open_conflicts is None:
            return StillLoading("The conflicts are still loading.")
        item = self._item
        if isinstance(item, TreeConflict) and not item.can_choose:
            return "This conflict has no versions to choose from, so there is no preview."
        return None if item is not None else "No conflict is selected."

    def preview(self) -> None:
        """Open a preview of the selected page with the choices applied."""
        if (item := self._item) is None:
            return

        def why_not_send() -> str | None:
            if item.unresolved(self._choices.by_name):
                return "Resolve all conflicts on this page first. Press esc to go back to the conflicts."
            return self.why_not_send(page)

        page = item.page_id if isinstance(item, ConflictedPage) else ""
        change_request, choices = self.request_conflicts.change_request, self._choices.by_name
        if isinstance(item, TreeConflict):
            (text, settings), main = item.outcome(choices.get(item.name)), item.main
        else:
            (text, settings), main = item.outcome(choices, self.request_conflicts.label), item.main
        title = next((each.new or "" for each in settings if each.name == "title"), item.title)
        location = f"Changes › #{change_request.number} {change_request.title} › Conflicts › Preview of {item.title}"
        self.app.push_screen(
            MergedPreviewScreen(
                MergedPreview(title, text, main, settings),
                location,
                base_name=self.request_conflicts.preview_base_name,
                send=partial(self.send_choices, page),
                why_not_send=why_not_send,
            )
        )

    def send_choices(self, page_id: str = "") -> None:
        """Save the choices for the text of `page_id` in the background. If `page_id` is empty, save all choices."""
        if self._open_conflicts is not None and not self._is_sending:
            self._is_sending = True
            self._draw_head()
            self.refresh_bindings()
            self.shell.background(self._send(self._open_conflicts.of_page(page_id)))

    async def _send(self, open_conflicts: OpenConflicts) -> None:
        try:
            await self.request_conflicts.send(open_conflicts, self._choices, self._close_if_resolved)
        finally:
            self._is_sending = False
        if is_fully_mounted(self) and self in self.app.screen_stack:
            self.refresh_data()

    def _close_if_resolved(self, saved_pages: tuple[str, ...]) -> bool:
        open_conflicts, saved_names = self._open_conflicts, self._choices.saved_conflicts
        if open_conflicts is None or not is_fully_mounted(self) or self.app.screen is not self:
            return False
        if any(each.can_choose and each.name not in saved_names for each in open_conflicts.tree_conflicts) or any(
            page.page_id not in saved_pages and page.unresolved(()) for page in open_conflicts.pages
        ):
            return False
        self.app.pop_screen()
        return True

    def go_up(self) -> bool:
        return focus_if(self.rows, condition=self.view.has_focus)


def _key_of(item: ConflictedPage | TreeConflict) -> str:
    return item.page_id if isinstance(item, ConflictedPage) else item.name


_SIGNS = {"deleted": "−", "moved": "→", "order": "→"}


def conflict_row(item: ConflictedPage | TreeConflict, choices: Mapping[str, MergeChoice]) -> Row:
    """Return the row that the list shows for a page with conflicts or for a tree conflict."""
    is_resolved = not item.unresolved(choices) and (isinstance(item, ConflictedPage) or item.can_choose)
    if isinstance(item, TreeConflict):
        text = Content.assemble((_SIGNS.get(item.kind, "~"), "$warning"), " ", safe(item.title))
        right = Content.styled(item.kind, "$octavo-muted")
    else:
        text = safe(item.title or "Untitled")
        total = len(item.conflicts)
        right = Content.styled(
            f"{total - len(item.unresolved(choices))}/{total}", "$success" if is_resolved else "$warning"
        )
        if is_resolved and any(each.is_merged_by_default and name not in choices for name, each in item.conflicts):
            right = Content.styled("suggested", "$primary")
    sign = Content.styled("✓", "$success") if is_resolved else Content.styled("!", "bold $warning")
    return Row(text=text, sign=sign, right=right, dim=is_resolved)


class DraftConflicts(RequestConflicts):
    """Conflicts between your draft of a page and the version that another user saved."""

    side_names = ("theirs", "yours")
    label = OWN_LABEL
    preview_base_name = "the version that others saved"
    has_server_conflicts = False

    def __init__(self, app: Shell, route: ToConflicts) -> None:
        super().__init__(app, route.change_request, SpaceRef(space_id=route.key.space_id))
        self._route, self._draft = route, route.key

    @property
    def key(self) -> str:
        return self._draft.stored_key

    async def load(self) -> OpenConflicts:
        """Return the conflicts marked in the draft. If loading fails, their base and the text of main are unknown."""
        source = DialogDraft(self.app, self.key).text
        base = conflict_base(self.app, self._draft)
        live = self.app.session.live
        try:
            base_source, theirs = [
                await page_source(live, ref, self._draft.page_id) if ref is not None else None
                for ref in (base, self._draft.base_ref)
            ]
        except ApiError:
            base_source = theirs = None
        merged_page = await asyncio.to_thread(_read_draft, source, base_source, theirs)
        page = ConflictedPage(
            self._draft.page_id, self._route.title, merged_page, main=theirs.text if theirs is not None else None
        )
        return OpenConflicts(self._draft.revision_id, (page,) if page.conflicts else ())

    async def send(self, conflicts: OpenConflicts, choices: Choices, close: Callable[[tuple[str, ...]], bool]) -> None:
        """Save the draft with `choices` applied. If saved, forget them, pass the page to `close`, and send the text."""
        (page,) = conflicts.pages
        choices_by_name = choices.by_name
        text = page.text(choices_by_name, self.label)
        try:
            await DialogDraft(self.app, self.key).save(text)
        except NotSaved as error:
            self.app.say(f"Could not save the page: {error}", tone="failed")
            return
        choices.clear_saved(conflicts, choices_by_name)
        close((page.page_id,))
        self._route.send(Raw(text))


class DraftConflictsScreen(ConflictsScreen):
    """View of the conflicts between your draft of a page and the version that others saved."""

    HELP = (
        "Someone else changed the same text while you were editing. Press m to use their version, t to use your version, "
        "b to use both versions, or e to open your editor. Press the same key again to clear the choice. "
        "Press ctrl+s to save the page. Press esc to go back and keep your choices."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        CONFLICT_COMMANDS.only("main", "this", "both")
        .with_changed("main", title="Use theirs", help="Use the version that others saved, or clear this choice")
        .with_changed("this", title="Use yours", help="Use your version, or clear this choice")
        .with_changed("both", help="Use both versions (theirs first), or clear this choice"),
    )

    def __init__(self, app: Shell, route: ToConflicts) -> None:
        super().__init__(DraftConflicts(app, route))


def _read_draft(source: str, base: Raw | None, theirs: Raw | None) -> MergedPage:
    marked_page = read_marked_page(source)
    if base is None or theirs is None:
        return marked_page
    return read_marked_page(source, merge(base.text, theirs.text, marked_page.text_with_choice("request")))
