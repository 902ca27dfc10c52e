"""The screen that resolves the conflicts between main and a change request."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, Literal

from textual import on
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from octavo.api.content import Edit
from octavo.api.errors import ApiError
from octavo.documents.merging.merged_page import NEVER_BOTH, SIDES, ChoiceKind, Conflict
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.three_way_view import ThreeWay
from octavo.tui.render.conflict_page import (
    FIELDS,
    ConflictView,
    PageConflict,
    UnconflictedText,
    prepare_conflicts,
    prepare_page_conflict,
)
from octavo.tui.review import conflict_choices
from octavo.tui.review.conflict_choices import Choices
from octavo.tui.review.conflict_finder import ConflictedPage, OpenConflicts
from octavo.tui.review.conflict_rows import row_of
from octavo.tui.review.conflict_source import ConflictSource
from octavo.tui.review.tree_conflicts import TreeConflict
from octavo.tui.shell.external_links import confirm_link
from octavo.tui.shell.permissions import why_not_in_space
from octavo.tui.shell.routes import ToPage
from octavo.tui.shell.shell import Shell
from octavo.tui.shell.view import View
from octavo.tui.terminal.textual_internals import is_whole
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Heading, RowList
from octavo.tui.widgets.text_widgets import ChangingText
from octavo.tui.widgets.wording import plural

_OTHERS = Heading("OTHER CONFLICTS", "")
_PAGES = Heading("PAGES", "")


def _taking(name: str, keys: str, title: str, help: str, kind: ChoiceKind) -> Command[ConflictsScreen]:
    return Command(
        name,
        keys,
        title,
        help,
        run=lambda _, view: view.take(kind),
        why_not=lambda _, view: view.why_not_take(kind),
    )


def _open_outside(app: Shell, view: ConflictsScreen) -> None:
    confirm_link(app, view.source.change_request.urls.app or "", text=view.source.change_request.title)


def _why_not_outside(_: Shell, view: ConflictsScreen) -> str | None:
    return None if view.source.change_request.urls.app else "The server did not return a link to this change request."


CONFLICT: Commands[ConflictsScreen] = Commands(
    "conflict",
    (
        _taking("main", "m", "Use main", "Use the version in main, or clear this choice", "main"),
        _taking("this", "t", "Use change request", "Use the version in this change request, or clear this choice", "request"),
        _taking("both", "b", "Use both", "Use both versions (main first), or clear this choice", "both"),
        _taking("words", "w", "Use suggestion", "Use the word-by-word merge, or clear this choice", "words"),
        Command("edit", "e", "Edit", "Resolve the conflict in your editor",
                run=lambda _, view: view.edit(), why_not=lambda _, view: view.why_not_take("edit")),
        Command("preview", "p", "Preview", "Preview the merged page",
                run=lambda _, view: view.preview(), why_not=lambda _, view: view.why_no_preview()),
        Command("send", "ctrl+s", "Save", "Save the resolved conflicts",
                writes=True, run=lambda _, view: view.send_decided(), why_not=lambda _, view: view.why_not_send()),
        Command("follow", "f", "Moved text", "Open the page that the text was moved to", run=lambda _, view: view.follow_text(),
                why_not=lambda _, view: view.why_not_follow(), shown=False),
        Command("next_page", "J", "Next page", "Go to the next page with conflicts", run=lambda _, view: view.rows.move(1), shown=False),
        Command("previous_page", "K", "Previous page", "Go to the previous page with conflicts", run=lambda _, view: view.rows.move(-1), shown=False),
        Command("browser", "o", "Open in browser", "Open the change request in the browser", run=_open_outside, why_not=_why_not_outside, shown=False),
        Command("up", "escape", "Back", "Go back and keep your choices", run=lambda _, view: view.go_up_or_back(), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip


class ConflictsScreen(View):
    """A list of pages with conflicts, and beside it the selected page with both sides of each conflict."""

    MODE = "changes"
    CONTEXT = "conflicts"
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
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (CONFLICT,)

    def __init__(self, source: ConflictSource) -> None:
        super().__init__()
        self.source = source
        self._unsettled: OpenConflicts | None = None
        self._is_sending = False

    def body(self) -> Iterable[Widget]:
        rows: RowList[ConflictedPage | TreeConflict] = RowList(
            lambda item: row_of(item, self._choices.all),
            key=_key_of,
            groups=lambda each: (_PAGES,) if isinstance(each, ConflictedPage) else (_OTHERS,),
            search=lambda each: each.title,
            empty="No conflicts.",
            hint="Press esc to go back.",
            id="conflicts",
        )
        yield ChangingText("", id="head")
        with Horizontal():
            with Vertical(id="left", classes="hairline"):
                yield rows
                yield ChangingText("", id="foot")
            yield ThreeWay(ascii=self.shell.settings.ascii, id="three-way")

    @property
    def rows(self) -> RowList[ConflictedPage | TreeConflict]:
        return self.query_one("#conflicts", RowList)

    @property
    def view(self) -> ThreeWay:
        return self.query_one(ThreeWay)

    @property
    def key_fallback(self) -> Widget:
        return self.view

    def on_mount(self) -> None:
        self._choices = Choices(self.shell, self.source.name)
        self.rows.state.wait_for("conflicts")
        self.rows.focus()
        self._draw_head()
        self.refresh_data()

    def refresh_data(self) -> None:
        self.run_worker(self._look(), exclusive=True, group="look")

    async def _look(self) -> None:
        try:
            found = await self.source.found()
        except ApiError as error:
            self.rows.state.fail("Could not load the conflicts", str(error))
            self._draw_head()
            return
        shapes = tuple(shape for shape in found.shapes if shape.name not in self._choices.done)
        self._unsettled = replace(found, shapes=shapes)
        self.rows.show((*found.pages, *shapes))
        self._draw_head()
        self._show(again=True)

    # What is shown

    @property
    def _item(self) -> ConflictedPage | TreeConflict | None:
        return self.rows.item if is_whole(self) else None

    @on(LineList.Highlighted, "#conflicts")
    def _other_item(self) -> None:
        self._show()

    @on(LineList.Opened, "#conflicts")
    def _chosen(self) -> None:
        self.view.focus()

    def _show(self, *, again: bool = False) -> None:
        item = self._item
        if item is None:
            self.view.clear()
        elif again or self.view.key != _key_of(item):
            self.view.state.wait_for(item.title)
            self.run_worker(self._prepare(item), exclusive=True, group="page")
        self.refresh_bindings()
        self._say_where()

    async def _prepare(self, item: ConflictedPage | TreeConflict) -> None:
        choices = self._choices.all
        pieces: tuple[ConflictView | PageConflict | UnconflictedText, ...]
        if isinstance(item, TreeConflict):
            pieces = await asyncio.to_thread(prepare_page_conflict, item.question, item.text)
        else:
            pieces = await asyncio.to_thread(
                prepare_conflicts, item.merged, item.main, choices, named=item.named, titles=item.page_titles
            )
        if self._item is item:
            self.view.show(pieces, self._choices.all, key=_key_of(item), sides=self.source.sides)
            self._say_where()

    def _draw_head(self) -> None:
        about, found = self.source.change_request, self._unsettled
        space = self.shell.workspace.space(self.source.space.space_id)
        said, foot = Content(" "), ""
        if found is not None and (total := len(found.names)):
            left, is_ready = found.left(self._choices.all), found.is_ready(self._choices.all)
            said = Content.styled(f" {total - left} of {total} resolved  ", "$success" if not left else "$warning")
            if not left:
                foot = "All conflicts are resolved. Press ctrl+s to save."
                if not is_ready:
                    foot = "Every conflict has a suggestion. Review each suggestion, then press w to accept it."
                said += Content.styled("press ctrl+s to save  " if is_ready else "review the suggestions  ", "$success")
            else:
                foot = (
                    "Press ctrl+s to save the resolved pages."
                    if is_ready
                    else "To save a page, resolve all its conflicts."
                )
        elif found is not None:
            said = Content.styled(" No conflicts  ", "$success")
            if about.outdated:
                foot = "This change request is outdated. Press esc, then U to update it from main."
            if not found.shapes and self.source.was_answered:
                foot = "The server reports conflicts but does not say where they are. Press o to open the change request in the browser."
        if found is not None and found.unread:
            foot += f"\n{plural(found.unread, 'more changed page was', 'more changed pages were')} not checked."
        if self._is_sending:
            foot = "Saving…"
        title = Content.styled(f"#{about.number} {about.title}", "bold")
        if space is not None:
            title += Content.styled(f"  {space.title}", "$octavo-muted")
        self.query_one("#head", Static).update(said + title)
        self.query_one("#foot", Static).update(Content(foot))
        self._say_where()

    def _say_where(self) -> None:
        about, space = self.source.change_request, self.shell.workspace.space(self.source.space.space_id)
        where = f"{space.title} › " if space is not None else ""
        self.show_location(f"Changes › {where}#{about.number} {about.title} › Conflicts", self.view.facts)

    @on(ThreeWay.Moved)
    def _moved(self) -> None:
        self.refresh_bindings()
        self._say_where()

    @on(Reader.ReadOn)
    def _read_on(self) -> None:
        self.rows.move(1)

    # Choosing

    @property
    def _selected(self) -> ConflictView | PageConflict | None:
        """The conflict that a key resolves now."""
        item = self._item
        return self.view.conflict if item is not None and self.view.key == _key_of(item) else None

    @property
    def _conflict(self) -> Conflict | None:
        """The selected conflict if it is about a text."""
        item, shown = self._item, self._selected
        return dict(item.conflicts).get(shown.name) if isinstance(item, ConflictedPage) and shown is not None else None

    def _why_not_decided(self) -> str | None:
        if self._unsettled is None:
            return "The conflicts are still loading."
        if self._is_sending:
            return "Your choices are being saved."
        return self.live.unavailable(Edit) or why_not_in_space(self.shell, self.source.space.space_id, "edit")

    def why_not_send(self) -> str | None:
        """Return why the choices cannot be saved, in a sentence. None if they can."""
        if (why := self._why_not_decided()) is not None or (found := self._unsettled) is None:
            return why
        if not found.names:
            return "There are no conflicts to resolve."
        if not found.is_ready(self._choices.all):
            if not found.left(self._choices.all):
                return "Nothing to save: this change request already contains the suggested text."
            return "Resolve all conflicts on at least one page first. To resolve a conflict, press m, t, b, or e."
        return None

    def why_not_take(self, how: ChoiceKind | Literal["edit"]) -> str | None:
        """Return why a conflict cannot be resolved so, in a sentence. None if it can."""
        if (why := self._why_not_decided()) is not None:
            return why
        shown = self._selected
        if self.has_class("-tiny") and self.rows.has_focus:
            return "Press enter to open the conflict first."
        if shown is None:
            return "No conflict is selected."
        if isinstance(shown, PageConflict) and not all(shown.effects):
            return "This conflict has no versions to choose from."
        if (isinstance(shown, PageConflict) or shown.kind == FIELDS) and how not in SIDES:
            return "You can keep only one version here. Press m or t to choose a version."
        if shown.kind == "moved" and how == "both":
            return "The text can be in only one place. Press m or t to choose the place."
        if shown.kind in NEVER_BOTH and how == "both":
            return (
                "You can keep only one version here. Press m or t to choose a version, or e to write another version."
            )
        if how == "words" and isinstance(shown, ConflictView) and "words" not in shown.outcomes:
            return "Both sides changed the same words, so Octavo has no suggestion."
        return None

    def take(self, kind: ChoiceKind) -> None:
        """Resolve the selected conflict, and go to the next that is not resolved. If it is resolved so, clear the choice."""
        if (shown := self._selected) is None:
            return
        before = self._choices.all.get(shown.name)
        is_cleared = before is not None and before.kind == kind
        self._choices.choose(shown.name, None if is_cleared else kind)
        self._chose(goes_on=not is_cleared)

    def _chose(self, *, goes_on: bool) -> None:
        self.view.choose(self._choices.all)
        self.rows.redraw()
        self._draw_head()
        self.refresh_bindings()
        if goes_on and not self.view.go_to_unresolved():
            self._go_to_unresolved_row()

    def _go_to_unresolved_row(self) -> None:
        """Go to the next row with a conflict that is not resolved, if there is one."""
        items = list(self.rows.items)
        at = next((at for at, each in enumerate(items) if each is self._item), 0)
        if left := [each for each in (*items[at:], *items[:at]) if each.unresolved(self._choices.all)]:
            self.rows.go_to(_key_of(left[0]))

    def edit(self) -> None:
        """Resolve the selected conflict in the editor."""
        shown, conflict = self._selected, self._conflict
        if shown is None or conflict is None:
            return
        if conflict_choices.write(self.shell, self._choices, shown.name, conflict):
            self._show(again=True)
            self._chose(goes_on=True)

    def why_not_follow(self) -> str | None:
        """Return why no page with the moved text can be opened, in a sentence. None if it can."""
        conflict = self._conflict
        if conflict is None or conflict.base_text_page is None:
            return "This text was not moved to another page in main."
        return None

    def follow_text(self) -> None:
        """Open the page of main that has the text now."""
        if (conflict := self._conflict) is not None and conflict.base_text_page is not None:
            self.shell.go(ToPage(self.source.space.space_id, conflict.base_text_page))

    def why_no_preview(self) -> str | None:
        """Return why no page can be previewed, in a sentence. None if it can."""
        if self._unsettled is None:
            return "The conflicts are still loading."
        item = self._item
        if isinstance(item, TreeConflict) and not item.can_choose:
            return "This conflict has no versions to choose from, so there is no preview."
        return None if item is not None else "No conflict is selected."

    def preview(self) -> None:
        """Show the page as it will be."""
        from octavo.tui.review.merge_outcome import Outcome, OutcomeScreen  # lazy: the preview, rarely opened

        if (item := self._item) is None:
            return

        def why_not_send() -> str | None:
            if item.unresolved(self._choices.all):
                return "Resolve all conflicts on this page first. Press esc to go back to the conflicts."
            return self.why_not_send()

        about, choices = self.source.change_request, self._choices.all
        if isinstance(item, TreeConflict):
            (text, settings), main = item.outcome(choices.get(item.name)), item.main
        else:
            (text, settings), main = item.outcome(choices, self.source.mine), item.main
        title = next((each.new or "" for each in settings if each.name == "title"), item.title)
        where = f"Changes › #{about.number} {about.title} › Conflicts › Preview of {item.title}"
        self.app.push_screen(
            OutcomeScreen(
                Outcome(title, text, main, settings),
                where,
                against=self.source.against,
                send=self.send_decided,
                why_not_send=why_not_send,
            )
        )

    # Sending

    def send_decided(self) -> None:
        """Save the choices."""
        found = self._unsettled
        if found is not None and not self._is_sending:
            self._is_sending = True
            self._draw_head()
            self.refresh_bindings()
            self.shell.background(self._send(found))

    async def _send(self, found: OpenConflicts) -> None:
        try:
            await self.source.send(found, self._choices, self._close)
        finally:
            self._is_sending = False
        if is_whole(self) and self in self.app.screen_stack:
            self.refresh_data()

    def _close(self, pages: tuple[str, ...]) -> bool:
        """Close this screen if no conflict is left once these pages are written. Return whether it did."""
        found, done = self._unsettled, self._choices.done
        if found is None or not is_whole(self) or self.app.screen is not self:
            return False
        shapes_left = any(shape.can_choose and shape.name not in done for shape in found.shapes)
        if shapes_left or any(page.page not in pages and page.unresolved(()) for page in found.pages):
            return False
        self.app.pop_screen()
        return True

    def go_up(self) -> bool:
        return self.focus_if(self.rows, condition=self.view.has_focus)


def _key_of(item: ConflictedPage | TreeConflict) -> str:
    return item.page if isinstance(item, ConflictedPage) else item.name
