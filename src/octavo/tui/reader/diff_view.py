"""`DiffView` shows the changes of a page, with threads between the lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from textual import on
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from octavo.documents.blocks import Block, Document
from octavo.tui.core.view import View
from octavo.tui.reader.block_cursor import HINT_COMMANDS, PAN_COMMANDS
from octavo.tui.reader.diff_contents import DiffContents, DiffLayout, PageSection
from octavo.tui.reader.diff_navigation import (
    CHANGE_COMMANDS,
    DIFF_THREAD_COMMANDS,
    LAYOUT_COMMANDS,
    NON_BLOCK_KINDS,
    ORDER_AND_FILTER_COMMANDS,
    DiffNavigation,
)
from octavo.tui.reader.find_bar import FIND_COMMANDS
from octavo.tui.reader.multi_page_diff import MultiPageContents, MultiPageNavigation
from octavo.tui.reader.reading_pane import (
    BLOCK_COMMANDS,
    MOTION_COMMANDS,
    READ_ON_COMMANDS,
    BlockCommands,
    LoadingState,
    Reader,
    disabled_while_empty,
)
from octavo.tui.reader.viewport import PaneMoved
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.diff_chunks import PageHeading
from octavo.tui.render.layout import LinkFollowed
from octavo.tui.render.styled_lines import ClickableSpan
from octavo.tui.widgets.commands import Commands
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.tui.reader.reading_position import ReadingPosition
    from octavo.tui.render.threads import ThreadSummary

CLEAR_DELAY = 0.3
"""Seconds for which the previous page stays visible while the next page is loading."""
_LAYOUT_NAMES: dict[DiffLayout, str] = {"changes": "", "sides": "split", "new": "new version", "old": "old version"}
_MERGE_PREVIEW_KEYS = ("diff.next_change", "diff.unfold")
"""IDs of the commands that come first in the key bar of a merge preview."""


def _why_empty(view: DiffView) -> str:
    return view.state.why_empty("No changes to show.")


_disabled_while_empty = partial(disabled_while_empty, name="diff", no_target=_why_empty)


_BLOCK_COMMANDS = (
    BLOCK_COMMANDS.with_changed(
        "comment",
        help="Comment on the block, or reply to its thread",
        title_now=lambda _, block: "Reply" if block.is_thread_selected else None,
        is_available=lambda _, block: not block.pane.contents.is_merge_preview,
    )
    .with_changed("open", help="Open the thread or link, or expand hidden lines")
    .with_changed("yank", help="Copy the block")
)


class DiffBlockCommands(BlockCommands):
    """Commands for the selected block of a diff. The block may be in the old version."""

    pane: DiffView

    @property
    def side(self) -> Literal["old", "new"]:
        """Version that the selected block is in: `old` or `new`. `new` for unchanged blocks."""
        selected = self.pane.cursor.current()
        return "old" if selected is not None and self.pane.contents.is_old(selected.block) else "new"

    @property
    def is_outside_page(self) -> bool:
        """True if the selected row is a note, a page heading, collapsed blocks or a change of a source diff."""
        selected = self.pane.cursor.current()
        return selected is not None and selected.block.kind in NON_BLOCK_KINDS - {"thread"}

    @property
    def is_thread_selected(self) -> bool:
        """True if a thread, draft or finding is selected."""
        selected = self.pane.cursor.current()
        return selected is not None and selected.block.kind == "thread"

    @property
    def nearest_block(self) -> Block | None:
        """The selected block, if it is a block of the page. For other rows, a block that the row is about. In a source
        diff, a block that has only the line number of the change. None if there is no such block."""
        selected = self.pane.cursor.current()
        if selected is None:
            return None
        chunk, block = self.pane.contents.shown_diff.chunks[selected.chunk_index], selected.block
        if chunk.lines:
            line_number = next((line for line in chunk.lines if line.op != "equal"), chunk.lines[0]).new_number
            return Block("change", lines=(line_number, line_number + 1))
        if block.kind not in NON_BLOCK_KINDS:
            return block
        return next((each for each in (*chunk.hidden_blocks, *chunk.blocks) if each.kind not in NON_BLOCK_KINDS), None)

    @property
    def why_no_comment(self) -> str | None:
        if self.is_outside_page:
            return "Press ( or ) to select a block, then press c to comment."
        return super().why_no_comment


class DiffLoadingState(LoadingState):
    """Message while a diff is loading. The previous page stays visible for `CLEAR_DELAY` seconds."""

    def __init__(self, pane: DiffView) -> None:
        super().__init__(pane)
        self.pane = pane
        self._loading_title = ""
        """Title of the page that is loading."""
        self._clear_delay = Delay(pane)

    def show_loading(self, subject: str) -> None:
        super().show_loading(subject)
        self._loading_title = subject
        if self.pane.contents.has_content:
            self._clear_delay.start_once(CLEAR_DELAY, self._clear_and_wait)

    def _clear_and_wait(self) -> None:
        self.pane.clear()
        super().show_loading(self._loading_title)

    def fail(self, subject: str, cause: str) -> None:
        """Remove the page shown so far, and show that the page `subject` could not be loaded."""
        if self.pane.contents.has_content:
            self.pane.clear()
        super().fail(subject, cause)

    def clear(self) -> None:
        super().clear()
        self._clear_delay.stop()


class DiffView(Reader):
    """View of the changes of a page. Call `show` to show other changes."""

    HELP_NAME: ClassVar[str] = "diff"
    HELP: ClassVar[str] = (
        "This view shows the changes to the page. Press n to go to the next change, c to comment on the selected block, "
        "= to show more unchanged lines, or | to switch between the split and unified views. Press esc to go back."
    )
    FIRST_KEY_BAR_COMMANDS: ClassVar[tuple[str, ...]] = (
        "diff.next_change",
        "diff.next_thread",
        "diff.comment",
        "diff.layout",
        "diff.unfold",
    )
    SEARCH_KEY_BAR_COMMANDS: ClassVar[tuple[str, ...]] = ("diff.next_change", "diff.prev_change")
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        _disabled_while_empty(CHANGE_COMMANDS),
        DIFF_THREAD_COMMANDS,
        _disabled_while_empty(_BLOCK_COMMANDS.only("comment", "open")),
        _disabled_while_empty(ORDER_AND_FILTER_COMMANDS),
        _disabled_while_empty(LAYOUT_COMMANDS),
        FIND_COMMANDS.only("filter")
        .with_changed("filter", help="Find text in the diff", shown=False)
        .for_target(
            lambda view: view.find_bar if len(view.viewport.virtual_lines) or view.is_waiting_for_lines else None,
            name="diff",
            no_target=_why_empty,
        ),
        _disabled_while_empty(
            HINT_COMMANDS.with_changed(
                "link_hints", help="Show letters that open a link or expand lines when you type them", shown=False
            )
        ),
        _disabled_while_empty(READ_ON_COMMANDS),
        _disabled_while_empty(MOTION_COMMANDS),
        _disabled_while_empty(PAN_COMMANDS),
        _disabled_while_empty(_BLOCK_COMMANDS.only("yank")),
    )
    DELAYED_COMMANDS: ClassVar[frozenset[str]] = Reader.DELAYED_COMMANDS | {"next_change", "prev_change"}
    contents: DiffContents

    @dataclass
    class RepliesRequested(Message):
        """Request to load the replies of visible threads. `keys` has the IDs of the threads."""

        keys: tuple[str, ...]

    def __init__(
        self,
        *,
        ascii: bool = False,
        is_merge_preview: bool = False,
        has_several_pages: bool = False,
        id: str | None = None,
    ) -> None:
        """With `is_merge_preview`, comments are disabled. With `has_several_pages`, the view shows several pages one
        below the other (`MultiPageNavigation`)."""
        super().__init__(ascii=ascii, id=id)
        self.navigation: DiffNavigation
        if has_several_pages:
            self.contents = self.viewport.contents = contents = MultiPageContents(self)
            self.navigation = MultiPageNavigation(self, contents)
        else:
            self.contents = self.viewport.contents = DiffContents(self)
            self.navigation = DiffNavigation(self, self.contents)
        self.contents.is_merge_preview = is_merge_preview
        self.block_commands: DiffBlockCommands = DiffBlockCommands(self)
        self.state: DiffLoadingState = DiffLoadingState(self)
        self._was_outside_page = False
        self._requested_replies: set[str] = set()
        """IDs of the threads for which `RepliesRequested` was posted."""

    @property
    def document(self) -> Document | None:
        return self.contents.page.compared.new if self.contents.page.compared is not None else None

    @property
    def status_text(self) -> str:
        """Text for the status line, such as `change 2 of 7 · 2 threads`."""
        parts = [text] if (text := self.navigation.position_text) else []
        if self.contents.only_meaning and not self.contents.shows_source:
            parts.append(f"only meaning, {self.contents.page_diff.hidden_counts.total()} hidden")
        if threads := self.contents.page_diff.thread_count:
            parts.append(plural(threads, "thread"))
        if self.contents.shows_source:
            parts.append("source")
        if name := _LAYOUT_NAMES[self.contents.current_layout]:
            parts.append(name)
        if self.find_bar.needle:
            parts.append(f"“{self.find_bar.needle}” {self.find_bar.search_status}")
        return " · ".join(parts)

    def show(
        self,
        compared: PageComparison,
        *,
        title: str = "",
        key: str = "",
        threads: Mapping[str, Sequence[ThreadSummary]] | None = None,
    ) -> None:
        """Show a comparison. If `key` is the same as before, the position, the expanded blocks and (if `threads` is
        None) the threads stay. With another key, the last position under that key is restored."""
        contents, page = self.contents, self.contents.page
        earlier_comparison = page.compared if key == page.position_key else None
        is_same_page = earlier_comparison is not None
        was_loading_shown = self.state.shows_loading
        if not is_same_page and not was_loading_shown:
            self.waiting_commands = ()  # The waiting commands are for another page.
        self.state.clear()
        if (
            earlier_comparison is not None
            and compared.has_same_texts(earlier_comparison)
            and title == page.heading.title
        ):
            if threads is not None:
                self.set_threads(threads)
            return
        if not is_same_page:
            self.navigation.store_position()
            for cache in contents.deferred:
                cache.clear_requests()
            page = PageSection(key)
            contents.set_page(page)
            contents.shows_source = contents.is_source_chosen = False
        page.compared, page.heading = compared, PageHeading(key, title)
        if not is_same_page:
            contents.choose_layout()
            self.cursor.selected, self._requested_replies = None, set()
            self.find_bar.page_changed(was_loading_shown=was_loading_shown)
            self.navigation.builder.drop_chunks()
            self.navigation.open_page()
        if threads is not None:
            page.threads = threads
        if is_same_page and (contents.shows_source or contents.is_source_chosen):
            self.navigation.update_source()
        else:
            self.navigation.builder.build()

    def set_threads(self, threads: Mapping[str, Sequence[ThreadSummary]]) -> None:
        """Show threads below their blocks. `threads` is by block key. Threads under the key "" are shown at the top."""
        if threads != self.contents.page.threads:
            self.contents.page.threads = threads
            self.navigation.builder.build()

    def clear(self) -> None:
        self.state.clear()
        self.waiting_commands = ()
        self.navigation.store_position()
        self.contents.set_page(PageSection(""))
        self.find_bar.page_changed()
        self.navigation.builder.drop_chunks()
        self.reset_lines()

    @property
    def KEYBAR(self) -> tuple[str, ...]:
        return _MERGE_PREVIEW_KEYS if self.contents.is_merge_preview and not self.find_bar.needle else super().KEYBAR

    @property
    def is_waiting_for_lines(self) -> bool:
        return super().is_waiting_for_lines or (self.contents.is_building and not len(self.viewport.virtual_lines))

    def reset_lines(self, *, position: ReadingPosition | None = None) -> None:
        """Replace all lines. But if the terminal became too narrow for the layout, or wide enough for the preferred
        layout, build the diff again."""
        if self.contents.built_layout != self.contents.current_layout and not self.contents.is_building:
            self.navigation.build_all()  # The new width of the terminal needs another layout.
            return
        is_unmoved = self.navigation.is_unmoved_since_opening
        super().reset_lines(position=position)
        if is_unmoved:
            self.navigation.open_page()

    def before_painting(self) -> None:
        super().before_painting()
        visible_blocks = (row.line.block for row in self.viewport.visible_rows)
        visible_keys = {block.key for block in visible_blocks if block is not None and block.kind == "thread"}
        incomplete_keys = {
            thread.key for thread in self.contents.all_threads if thread.reply_count > len(thread.shown_replies)
        }
        # Threads without missing replies are not marked as requested, because a reply may arrive later.
        if ids_to_request := (visible_keys & incomplete_keys) - self._requested_replies:
            self._requested_replies |= ids_to_request
            self.post_message(self.RepliesRequested(tuple(ids_to_request)))

    def open_clickable(self, clickable: ClickableSpan, in_browser: bool) -> None:
        rows = self.viewport.visible_rows
        if clickable.line < len(rows) and self.navigation.toggle_heading(
            rows[clickable.line].chunk_index, clickable.target
        ):
            return
        if clickable.kind == "fold" and clickable.target.startswith("fold "):
            self.navigation.expand_collapsed(clickable.target)
        elif clickable.kind in ("fold", "tab") and (compared := self.contents.page.compared) is not None:
            block, chunk = compared.find(clickable.target), rows[clickable.line].chunk_index
            if block is not None and clickable.kind == "tab" and clickable.clickable.index < len(block.children):
                self.viewport.choose_tab(block.children[clickable.clickable.index], chunk)
            elif block is not None:
                self.viewport.view_state.toggle(block, is_whole=clickable.clickable.index > 0)
                self.viewport.lay_out_again(chunk)
            self.find_bar.content_changed()
        elif clickable.kind in ("link", "image", "file"):
            text = self.clickables.link_text(clickable)
            self.post_message(LinkFollowed(clickable.target, in_browser, clickable.kind, text))

    def on_pane_moved(self) -> None:
        self.navigation.store_position()
        if self.block_commands.is_outside_page != self._was_outside_page:
            self._was_outside_page = self.block_commands.is_outside_page
            self.refresh_bindings()  # Comments are disabled on rows outside the page.

    def on_unmount(self) -> None:
        self.navigation.builder.cancel()


class DiffPreviewScreen(View):
    """Preview of how a page would change. A banner says what is compared and which key to press."""

    MODE = "changes"
    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = PurePath(__file__).with_name("diff_preview.tcss")

    def __init__(self, page_title: str, location: str) -> None:
        """`location` is the text at the left of the status line."""
        super().__init__()
        self.page_title: str = page_title
        self._location = location

    def body(self) -> Iterable[Widget]:
        yield Static("", id="banner")
        self.view = DiffView(is_merge_preview=True, ascii=self.shell.settings.ascii, id="outcome")
        yield self.view

    def on_mount(self) -> None:
        self.view.focus()
        self.view.state.show_loading(self.page_title)
        self.show_position()

    def show_banner(self, note: str, next_step: str, why_not: str | None) -> None:
        """Show a banner with `note` and `next_step`, or with `note` and `why_not` if the next step is impossible."""
        step = Content.styled(next_step, "$success") if why_not is None else Content.styled(why_not, "$warning")
        banner = Content.assemble((" PREVIEW ", "bold $primary"), f" {note} · ", step)
        self.query_one("#banner", Static).update(banner)
        self.refresh_bindings()

    @on(PaneMoved)
    def show_position(self) -> None:
        """Update the status line, for example after a move to another change."""
        self.show_location(self._location, self.view.status_text)
        self.refresh_bindings()
