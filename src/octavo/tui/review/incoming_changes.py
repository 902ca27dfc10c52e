"""The view that shows the changes of main before an update, page by page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Change
from octavo.api.errors import ApiError
from octavo.documents.changed_items import ChangedPage, changed_pages
from octavo.tui.core.view import View
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.review.changed_pages import SIGN_STYLES, describe_change
from octavo.tui.review.diff_cache import ComparedSides, DiffCache
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Row, RowList
from octavo.tui.widgets.safe_text import safe
from octavo.tui.widgets.wording import plural

INCOMING_COMMANDS: Commands[IncomingChanges] = Commands(
    "incoming",
    (
        Command("next_page", "J", "Next page", "Go to the next changed page", run=lambda _, view: view.rows.move(1)),
        Command("previous_page", "K", "Previous page", "Go to the previous changed page", run=lambda _, view: view.rows.move(-1), shown=False),
        Command("close", "escape,d", "Back", "Go back to the update", run=lambda _, view: view.close()),
    ),
    find=lambda view: view,
)  # fmt: skip


class IncomingChanges(View):
    """The pages that main changed on the left, the diff of the selected page on the right."""

    MODE = "changes"
    CONTEXT = "incoming changes"
    HELP = (
        "This view shows the changes made to main since this change request was created or last updated from main. "
        "Press J or K to go to the next or previous page. Press esc to go back to the update."
    )
    CSS_PATH = "incoming_changes.tcss"
    KEYBAR: ClassVar[tuple[str, ...]] = ("incoming.next_page", "incoming.close")
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (INCOMING_COMMANDS,)

    def __init__(
        self,
        change_request: ChangeRequest,
        changes: Sequence[Change],
        sides: ComparedSides,
        conflicting: Collection[str],
        on_close: Callable[[], None],
    ) -> None:
        """`conflicting` has the keys of the entries that conflict with the change request. `on_close` is called on
        close."""
        super().__init__()
        self._on_close = on_close
        self._change_request, self._sides, self._conflicting = change_request, sides, conflicting
        self._pages = changed_pages(changes)

    def body(self) -> Iterable[Widget]:
        rows: RowList[ChangedPage] = RowList(
            self._row, key=lambda page: page.key, search=lambda page: page.title, empty="No changes.", id="incoming"
        )
        yield Static(self._head(), id="head")
        with Horizontal():
            with Vertical(id="left", classes="hairline"):
                yield rows
            yield DiffView(ascii=self.shell.settings.ascii, id="diff")

    @property
    def rows(self) -> RowList[ChangedPage]:
        return self.query_one("#incoming", RowList)

    @property
    def view(self) -> DiffView:
        return self.query_one(DiffView)

    @property
    def key_fallback(self) -> Widget:
        return self.view

    def on_mount(self) -> None:
        self._diffs = DiffCache(self.live, lambda _: None)
        self._diffs.set_sides(self._sides)
        self.view.block_commands.why_no_comment_here = lambda: (
            "You cannot comment on incoming changes. To comment on the page, open the page in main."
        )
        self.rows.show(self._pages)
        self.rows.focus()
        self._show()

    def on_unmount(self) -> None:
        self._diffs.stop()

    def close(self) -> None:
        """Go back to the update."""
        self.app.pop_screen()
        self._on_close()

    def _head(self) -> Content:
        count = plural(len(self._pages), "change")
        return Content.assemble(
            " INCOMING ",
            (f" {count} to main since #{self._change_request.number} was created or last updated from main", "bold"),
        )

    def _row(self, page: ChangedPage) -> Row:
        text = Content.assemble((page.sign or " ", SIGN_STYLES.get(page.sign, "")), " ", safe(page.title or "Untitled"))
        conflicts = Content.styled("conflicts", "$warning") if page.key in self._conflicting else Content()
        return Row(text=text, right=conflicts)

    @on(LineList.Highlighted, "#incoming")
    def _show(self) -> None:
        page = self.rows.item
        facts = []
        if page is not None:
            facts.append(describe_change(page).partition("\n")[0])
            if page.key in self._conflicting:
                facts.append(f"Conflicts with #{self._change_request.number}.")
        self.show_location(
            f"Changes › #{self._change_request.number} {self._change_request.title} › Incoming changes", " ".join(facts)
        )
        if page is not None and page.page is not None:
            self.view.state.wait_for(page.title)
            self.run_worker(self._compare(page), exclusive=True, group="diff")
        elif page is not None:
            self.view.state.fail(f"{page.title} has no text to compare", describe_change(page))

    @on(LineList.Opened, "#incoming")
    def _chosen(self) -> None:
        self.view.focus()

    @on(Reader.NextPageRequested)
    def _end_reached(self) -> None:
        self.rows.move(1)

    async def _compare(self, page: ChangedPage) -> None:
        try:
            compared = await self._diffs.compare(page)
        except ApiError as error:
            self.view.state.fail(f"Could not load the diff of {page.title}", str(error))
            return
        if self.rows.item is page:
            self.view.show(compared, title=page.title, key=page.key)
