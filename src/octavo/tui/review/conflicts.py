"""What both sides of a change request changed, each in its way: decided here, conflict by conflict, and sent."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar, Literal

from textual import on
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from octavo.api.content import Edit
from octavo.api.errors import ApiError
from octavo.documents.merging.merged_page import Side
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.three_way_view import ThreeWay
from octavo.tui.render.conflict_page import prepare
from octavo.tui.review import conflict_choices
from octavo.tui.review.conflict_choices import Choices
from octavo.tui.review.conflict_finder import ConflictedPage, OpenConflicts
from octavo.tui.review.conflict_rows import row_of, words_of
from octavo.tui.review.conflict_source import ConflictSource
from octavo.tui.review.tree_conflicts import TreeConflict
from octavo.tui.shell.outside import open_outside
from octavo.tui.shell.shell import Shell
from octavo.tui.shell.view import View
from octavo.tui.terminal.textual_internals import is_whole
from octavo.tui.widgets.changing_text import ChangingText
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import Lines
from octavo.tui.widgets.row_list import Heading, Rows
from octavo.tui.widgets.wording import plural

_OTHERS = Heading("ALSO", "")
_PAGES = Heading("PAGES", "")


def _taking(name: str, keys: str, title: str, help: str, side: Side) -> Command[ConflictsScreen]:
    return Command(
        name,
        keys,
        title,
        help,
        run=lambda _, view: view.take(side),
        why_not=lambda _, view: view.why_not_take(side),
    )


def _open_outside(app: Shell, view: ConflictsScreen) -> None:
    open_outside(app, view.source.change_request.urls.app or "", words=view.source.change_request.title)


def _why_not_outside(_: Shell, view: ConflictsScreen) -> str | None:
    return None if view.source.change_request.urls.app else "The server gives no address for it in the browser."


CONFLICT: Commands[ConflictsScreen] = Commands(
    "conflict",
    (
        _taking("main", "m", "Main's", "Take what the primary content says; again: leave it open", "main"),
        _taking("this", "t", "This one's", "Take what this change request says; again: leave it open", "this"),
        _taking("both", "b", "Both", "Take what both say, main first; again: leave it open", "both"),
        Command("edit", "e", "Edit", "Write what becomes of it in your editor",
                run=lambda _, view: view.edit(), why_not=lambda _, view: view.why_not_take("edit")),
        Command("preview", "p", "Preview", "The whole page as it will be, against main",
                run=lambda _, view: view.preview(), why_not=lambda _, view: view.why_no_preview()),
        Command("send", "ctrl+s", "Send", "Send what is decided as content of the change request",
                writes=True, run=lambda _, view: view.send_decided(), why_not=lambda _, view: view.why_not_send()),
        Command("next_page", "J", "Next page", "Next page with conflicts", run=lambda _, view: view.rows.move(1), shown=False),
        Command("previous_page", "K", "Page before", "Page with conflicts before", run=lambda _, view: view.rows.move(-1), shown=False),
        Command("browser", "o", "In the browser", "Open the change request in the browser", run=_open_outside, why_not=_why_not_outside, shown=False),
        Command("up", "escape", "Back", "To the pages, then back; choices are kept", run=lambda _, view: view.go_up_or_leave(), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip


class ConflictsScreen(View):
    """On the left what is in conflict, on the right the page under the cursor with both sides of each conflict."""

    VIEW = "changes"
    CONTEXT = "conflicts"
    HELP = (
        "Both sides changed the same. m takes what main says, t what this change request says, b both, and e opens "
        "your editor; the same key again leaves it open. p shows the whole page as it will be. Choices are kept until "
        "ctrl+s sends them."
    )
    CSS_PATH = "conflicts.tcss"
    KEYBAR: ClassVar[tuple[str, ...]] = (
        "conflict.main",
        "conflict.this",
        "conflict.both",
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
        rows: Rows[ConflictedPage | TreeConflict] = Rows(
            lambda item: row_of(item, self._choices.all),
            key=_key_of,
            groups=lambda each: (_PAGES,) if isinstance(each, ConflictedPage) else (_OTHERS,),
            search=lambda each: each.title,
            empty="Nothing is in conflict.",
            hint="esc goes back",
            id="conflicts",
        )
        yield ChangingText("", id="head")
        with Horizontal():
            with Vertical(id="left", classes="hairline"):
                yield rows
                yield ChangingText("", id="foot")
            yield ThreeWay(ascii=self.shell.settings.ascii, id="three-way")
            with VerticalScroll(id="words"):
                yield ChangingText("", id="said")

    @property
    def rows(self) -> Rows[ConflictedPage | TreeConflict]:
        return self.query_one("#conflicts", Rows)

    @property
    def view(self) -> ThreeWay:
        return self.query_one(ThreeWay)

    @property
    def _beside(self) -> Widget:
        """What is beside the list: the page, or what is said of what is no page."""
        return self.query_one("#words") if self.has_class("-words") else self.view

    @property
    def keys_go_on_to(self) -> Widget:
        return self.view

    def on_mount(self) -> None:
        self._choices = Choices(self.shell, self.source.name)
        self.rows.state.wait_for("what is in conflict")
        self.rows.focus()
        self._draw_head()
        self.ask_again()

    def ask_again(self) -> None:
        self.run_worker(self._look(), exclusive=True, group="look")

    async def _look(self) -> None:
        try:
            found = await self.source.found()
        except ApiError as error:
            self.rows.state.fail("What is in conflict did not load", str(error))
            self._draw_head()
            return
        shapes = tuple(shape for shape in found.shapes if shape.name not in self._choices.done)
        self._unsettled = replace(found, shapes=shapes)
        self.rows.show((*found.pages, *shapes))
        self._draw_head()
        self._show(again=True)

    # What is on show

    @property
    def _item(self) -> ConflictedPage | TreeConflict | None:
        return self.rows.item if is_whole(self) else None

    @on(Lines.Highlighted, "#conflicts")
    def _other_item(self) -> None:
        self._show()

    @on(Lines.Chosen, "#conflicts")
    def _chosen(self) -> None:
        self._beside.focus()

    def _show(self, *, again: bool = False) -> None:
        item, is_beside = self._item, self._beside.has_focus
        self.set_class(isinstance(item, TreeConflict), "-words")
        if is_beside:
            self._beside.focus()
        if isinstance(item, TreeConflict):
            self._say_shape(item)
        elif item is None:
            self.view.clear()
        elif again or self.view.key != item.page:
            self.view.state.wait_for(item.title)
            self.run_worker(self._prepare(item), exclusive=True, group="page")
        self.refresh_bindings()
        self._say_where()

    async def _prepare(self, page: ConflictedPage) -> None:
        pieces = await asyncio.to_thread(prepare, page.merged, page.main, self._choices.all, named=page.named)
        if self._item is page:
            self.view.show(pieces, self._choices.all, key=page.page, sides=self.source.sides)
            self._say_where()

    def _say_shape(self, shape: TreeConflict) -> None:
        self.query_one("#said", Static).update(words_of(shape, self._choices.all.get(shape.name)))

    def _draw_head(self) -> None:
        about, found = self.source.change_request, self._unsettled
        space = self.shell.workspace.space(self.source.space.space_id)
        title = Content.assemble((f" #{about.number} ", "bold"), (about.title, "bold"))
        if space is not None:
            title = title + Content.styled(f"  {space.title}", "$octavo-muted")
        foot = ""
        if found is not None:
            total, left = len(found.names), found.left(self._choices.all)
            none = "nothing is in conflict"
            if about.outdated:
                none += " yet: main moved on, and U there brings it in"
            said = f"{total - left} of {total} decided" if total else none
            title = title + Content.styled(f"  {said}", "$success" if not left else "$warning")
            ready = found.is_ready(self._choices.all)
            if total:
                foot = "ctrl+s sends what is decided" if ready else "A page is sent when all of it is decided."
            elif not found.shapes and self.source.was_answered:
                foot = "The server says that there are conflicts, but marks none. o looks at it in the browser."
            if found.unread:
                foot += f"\n{plural(found.unread, 'more change was', 'more changes were')} not looked at."
        self.query_one("#head", Static).update(title)
        self.query_one("#foot", Static).update(Content(foot))
        self._say_where()

    def _say_where(self) -> None:
        about, space = self.source.change_request, self.shell.workspace.space(self.source.space.space_id)
        where = f"{space.title} › " if space is not None else ""
        facts = self.view.facts if not self.has_class("-words") else ""
        self.status(f"Changes › {where}#{about.number} {about.title} › Conflicts", facts)

    @on(ThreeWay.Moved)
    def _moved(self) -> None:
        self._say_where()

    @on(Reader.ReadOn)
    def _read_on(self) -> None:
        self.rows.move(1)

    # Choosing

    @property
    def _conflict(self) -> str | None:
        """What is decided by a key now."""
        item = self._item
        if isinstance(item, TreeConflict):
            return item.name if item.can_choose else None
        shown = self.view.conflict if item is not None and self.view.key == item.page else None
        return shown.name if shown is not None else None

    def _why_not_decided(self) -> str | None:
        if self._unsettled is None:
            return "What is in conflict is still loading."
        return self.live.unavailable(Edit)

    def why_not_send(self) -> str | None:
        """Why what is decided cannot be sent, in a sentence."""
        if (why := self._why_not_decided()) is not None or (found := self._unsettled) is None:
            return why
        if self._is_sending:
            return "It is being sent."
        if not found.names:
            return "There is no conflict to resolve."
        if not found.is_ready(self._choices.all):
            return "Decide all conflicts of a page first: m, t, b or e."
        return None

    def why_not_take(self, how: Side | Literal["edit"]) -> str | None:
        """Why a conflict cannot be decided so, in a sentence."""
        if (why := self._why_not_decided()) is not None:
            return why
        item, name = self._item, self._conflict
        if self.has_class("-tiny") and self.rows.has_focus:
            return "What it is about is not on show: enter goes there."
        if name is None:
            return "Nothing can be chosen here." if isinstance(item, TreeConflict) else "There is no conflict here."
        only_sides = isinstance(item, TreeConflict) or (item is not None and item.is_of_fields(name))
        if only_sides and how in ("edit", "both"):
            return "Here only one of the sides can be taken: m or t."
        if isinstance(item, ConflictedPage) and how == "both" and item.is_moved(name):
            return "It stands in one place: m leaves it where main has it, t puts it where this change request has it."
        return None

    def take(self, side: Side) -> None:
        """Take what one side says, or both; where that is taken, leave it open."""
        if (name := self._conflict) is None:
            return
        before = self._choices.all.get(name)
        self._choices.choose(name, None if before is not None and before.side == side else side)
        self._chose()

    def _chose(self) -> None:
        item = self._item
        if isinstance(item, TreeConflict):
            self._say_shape(item)
        else:
            self.view.choose(self._choices.all)
        self.rows.redraw()
        self._draw_head()
        self.refresh_bindings()

    def edit(self) -> None:
        """Write what becomes of a conflict in the editor."""
        name, item = self._conflict, self._item
        if name is None or not isinstance(item, ConflictedPage):
            return
        if conflict_choices.write(self.shell, self._choices, name, dict(item.conflicts)[name]):
            self._chose()
            self._show(again=True)

    def why_no_preview(self) -> str | None:
        """Why no page can be shown as it will be, in a sentence."""
        if self._unsettled is None:
            return "What is in conflict is still loading."
        return None if isinstance(self._item, ConflictedPage) else "There is no page here: it is said beside the list."

    def preview(self) -> None:
        """Show the page as it will be."""
        from octavo.tui.review.merge_outcome import OutcomeScreen  # few look at it

        page = self._item
        if not isinstance(page, ConflictedPage):
            return

        def why_not_send() -> str | None:
            found = self._unsettled
            if found is None or page not in found.decided(self._choices.all):
                return "Decide all conflicts of this page first: esc goes back to them."
            return self.why_not_send()

        about, text = self.source.change_request, page.text(self._choices.all, self.source.mine)
        where = f"Changes › #{about.number} {about.title} › Conflicts › {page.title} as it will be"
        self.app.push_screen(
            OutcomeScreen(
                page.title,
                text,
                page.main,
                where,
                against=self.source.against,
                send=self.send_decided,
                why_not_send=why_not_send,
            )
        )

    # Sending

    def send_decided(self) -> None:
        """Send what is decided."""
        found = self._unsettled
        if found is not None and not self._is_sending:
            self._is_sending = True
            self.refresh_bindings()
            self.shell.background(self._send(found))

    async def _send(self, found: OpenConflicts) -> None:
        try:
            await self.source.send(found, self._choices, self._close)
        finally:
            self._is_sending = False
        if is_whole(self) and self in self.app.screen_stack:
            self.ask_again()

    def _close(self, pages: tuple[str, ...]) -> bool:
        """Close this when nothing is left to decide once these pages are written. Whether it did."""
        found, done = self._unsettled, self._choices.done
        if found is None or not is_whole(self) or self.app.screen is not self:
            return False
        shapes_left = any(shape.can_choose and shape.name not in done for shape in found.shapes)
        if shapes_left or any(page.page not in pages for page in found.pages):
            return False
        self.app.pop_screen()
        return True

    def go_up(self) -> bool:
        return self.climb(self.rows, when=self._beside.has_focus)


def _key_of(item: ConflictedPage | TreeConflict) -> str:
    return item.page if isinstance(item, ConflictedPage) else item.name
