"""`ThreeWayView` shows the merge conflicts of a page, each with its result, both sides and the base."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

from textual.content import Content

from octavo.documents.blocks import Block
from octavo.documents.merging.merged_page import MergeChoice
from octavo.tui.reader.block_cursor import PAN_COMMANDS
from octavo.tui.reader.find_bar import FIND_COMMANDS
from octavo.tui.reader.reading_pane import MOTION_COMMANDS, READ_ON_COMMANDS, Reader
from octavo.tui.reader.reading_position import BlockSpan
from octavo.tui.reader.viewport import Contents, Viewport, explain
from octavo.tui.render.block_slices import render_failed_block, run_guarded
from octavo.tui.render.conflict_lines import (
    ConflictDecision,
    ConflictView,
    PageConflict,
    UnconflictedText,
    labeled_rule,
    render_conflict,
    render_page_conflict,
    render_unconflicted,
)
from octavo.tui.render.diff_chunks import DiffChunk
from octavo.tui.render.diff_lines import estimate_height
from octavo.tui.render.layout import render_block
from octavo.tui.render.layout_context import LayoutContext, ViewState
from octavo.tui.render.styled_lines import Line, StyledText
from octavo.tui.render.virtual_lines import ChunkLayout
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.short_texts import plural
from octavo.tui.widgets.text_widgets import empty_lines

MAX_WIDTH = 160
_MAX_SHOWN_CHANGES = 3
"""Maximum number of changes between two conflicts that are shown. If there are more, all are collapsed."""


class _Chunk(NamedTuple):
    """A part of the page that is rendered in one step: a conflict, or a block of the text between conflicts."""

    kind: str
    block: Block | None = None
    diff: DiffChunk | None = None
    text: str = ""
    conflict: ConflictView | PageConflict | None = None
    number: int = 0


class ConflictContents(Contents):
    """The conflicts of a page, and the text between them."""

    def __init__(self, viewport: Viewport) -> None:
        self.viewport = viewport
        self.side_names = ("main", "this change request")
        """Names of main and of the change request, as used in a sentence."""
        self.choices: Mapping[str, MergeChoice] = {}
        self.conflicts_and_texts: tuple[ConflictView | PageConflict | UnconflictedText, ...] | None = None
        self.is_expanded = False
        """True if the unchanged text between conflicts is shown."""
        self.conflicts: Sequence[ConflictView | PageConflict] = ()
        self._numbers: dict[str, int] = {}
        """Number of each conflict, by its name. A conflict about moved text is shown several times with one number."""
        self._blocks: dict[str, Block] = {}

    @property
    def has_content(self) -> bool:
        return self.conflicts_and_texts is not None

    def set_conflicts(
        self,
        conflicts_and_texts: tuple[ConflictView | PageConflict | UnconflictedText, ...],
        side_names: tuple[str, str],
    ) -> None:
        """Set the conflicts and the text between them. `side_names` has the names of main and of the change request."""
        self.conflicts_and_texts, self.side_names = conflicts_and_texts, side_names
        self.conflicts = [each for each in conflicts_and_texts if not isinstance(each, UnconflictedText)]
        self._numbers = {
            name: index for index, name in enumerate(dict.fromkeys(each.name for each in self.conflicts), 1)
        }
        self._blocks = {each.key: Block("conflict", key=each.key) for each in self.conflicts}

    def clear(self) -> None:
        self.set_conflicts((), self.side_names)
        self.conflicts_and_texts = None

    @property
    def count(self) -> int:
        """Number of conflicts. A conflict about moved text is shown several times, but counts once."""
        return len(self._numbers)

    def number_of(self, conflict: ConflictView | PageConflict) -> int:
        """Return the number of a conflict, counted from 1."""
        return self._numbers[conflict.name]

    def index_of(self, conflict: ConflictView | PageConflict | None) -> int:
        """Return the index of a conflict in `conflicts`. -1 if it is not a conflict of this page."""
        return next((index for index, each in enumerate(self.conflicts) if each is conflict), -1)

    def layout_for(self, width: int, view_state: ViewState) -> ChunkLayout:
        inner_width, styles = min(MAX_WIDTH, max(24, width - 4)), self.viewport.text_styles

        def make_renderer() -> Callable[[_Chunk], list[Line]]:
            context = LayoutContext(styles, view_state, render_block, available_width=inner_width)
            return lambda chunk: self._render_guarded(context, chunk, inner_width)

        return ChunkLayout(_estimate_height, make_renderer, margin=2, line_width=0)

    def chunks(self) -> Sequence[_Chunk]:
        chunks: list[_Chunk] = []
        for piece in self.conflicts_and_texts or ():
            if not isinstance(piece, UnconflictedText):
                chunks.append(_Chunk("conflict", self._blocks[piece.key], conflict=piece, number=self.number_of(piece)))
            elif self.is_expanded or piece.label:
                chunks += [_Chunk("label", text=piece.label)] if piece.label else []
                chunks += [_Chunk("around", each.block, each) for each in piece.chunks]
            else:
                chunks += self._chunks_between(piece)
        return chunks

    def _chunks_between(self, passage: UnconflictedText) -> list[_Chunk]:
        """Return the chunks of text before, between or after conflicts. Unchanged blocks are collapsed. With more than
        `_MAX_SHOWN_CHANGES` changes, the whole text is collapsed to one line."""
        merged_chunks = [each for each in passage.chunks if each.kind not in ("block", "label", "title")]
        count = len({each.change_number for each in merged_chunks if each.change_number >= 0})
        merged_text = f"merged from {self.side_names[1]} without conflicts"
        if count > _MAX_SHOWN_CHANGES:
            return [_Chunk("collapsed", text=f"{count} changes {merged_text}")]
        chunks: list[_Chunk] = []
        unchanged_count = 0
        for each in (*passage.chunks, None):
            if each is not None and each.kind == "block":
                unchanged_count += each.slice_number < 2
            elif each is None or each in merged_chunks:
                if unchanged_count:
                    chunks.append(_Chunk("collapsed", text=f"{plural(unchanged_count, 'block')} without conflicts"))
                unchanged_count = 0
                if each is not None:
                    if not chunks or chunks[-1].diff is None:
                        chunks.append(_Chunk("label", text=merged_text))
                    chunks.append(_Chunk("around", each.block, each))
        return chunks

    def _render_guarded(self, context: LayoutContext, chunk: _Chunk, width: int) -> list[Line]:
        block = chunk.block or Block(chunk.kind)
        return run_guarded(
            partial(self._render, context, chunk, width),
            partial(render_failed_block, block, self.block_markdown, self.viewport.text_styles, width),
        )

    def _render(self, context: LayoutContext, chunk: _Chunk, width: int) -> list[Line]:
        styles = self.viewport.text_styles
        if chunk.kind in ("collapsed", "label"):
            hint = "press = to expand" if width >= 50 else "= expand"
            right = [StyledText(hint, styles.muted)] if chunk.kind == "collapsed" else []
            return [Line([]), labeled_rule(styles, [StyledText(chunk.text, styles.muted)], right, width)]
        if chunk.conflict is None:
            return render_unconflicted(context, chunk.diff, width) if chunk.diff is not None else []
        conflict, numbering = chunk.conflict, (chunk.number, self.count)
        decision = ConflictDecision(self.choices.get(conflict.name), self.side_names)
        if isinstance(conflict, PageConflict):
            lines = [Line([]), *render_page_conflict(context, conflict, decision, numbering, width)]
        else:
            lines = [Line([]), *render_conflict(context, conflict, decision, numbering, width)]
        for line in lines[1:]:
            line.block = chunk.block
        return lines

    def empty_page_lines(self) -> list[Content]:
        return empty_lines("No conflicts on this page.", "Press J for the next page")

    def has_spans(self, chunk_index: int) -> bool:
        return self.viewport.virtual_lines.chunks[chunk_index].conflict is not None  # Other chunks are not selectable.

    def find_chunk_index(self, expected_index: int, key: str) -> int:
        chunks = self.viewport.virtual_lines.chunks
        return next(
            (index for index, each in enumerate(chunks) if each.block is not None and each.block.key == key),
            expected_index,
        )

    def wide_blocks(self, span: BlockSpan) -> Iterable[Block]:
        chunk = self.viewport.virtual_lines.chunks[span.chunk_index]
        if not isinstance(chunk.conflict, ConflictView):
            return (block for each in (chunk.diff.blocks if chunk.diff is not None else ()) for block in each.walk())
        conflict = chunk.conflict
        versions = (
            conflict.main.new,
            conflict.request.new,
            conflict.base,
            *(each.new for each in conflict.outcomes.values()),
        )
        return (block for version in versions if version is not None for block in version.walk())


def _estimate_height(chunk: _Chunk) -> int:
    if chunk.diff is not None:
        return estimate_height(chunk.diff)
    return 2 if chunk.conflict is None else 12


def _only_with_conflicts(group: Commands[Any]) -> Commands[Any]:
    find_target: Callable[[Any], Any] = group.find_target
    return group.for_target(
        lambda view: find_target(view) if view.contents.conflicts else None,
        name="three",
        no_target=lambda view: view.state.why_empty("There are no conflicts on this page."),
    )


THREE_WAY_COMMANDS: Commands[ThreeWayView] = Commands(
    "three",
    (
        Command("next", "n", "Next conflict", "Go to the next conflict", run=lambda _, view: view.go_to_conflict(1)),
        Command("previous", "N", "Previous conflict", "Go to the previous conflict", run=lambda _, view: view.go_to_conflict(-1), shown=False),
        Command("unfold", "equals_sign,enter", "Context", "Show or hide unchanged text", run=lambda _, view: view.toggle_context(), shown=False),
    ),
)  # fmt: skip


class ThreeWayView(Reader):
    """View of the merge conflicts of a page, and of the result of each choice."""

    HELP_NAME: ClassVar[str] = "conflicts on a page"
    HELP: ClassVar[str] = (
        "This view shows the conflicts on the page. Each conflict shows the result, main, this change request, and the base. "
        "Press n or N to go to the next or previous conflict, or j or k to scroll. Press esc to go back to the list."
    )
    FIRST_KEY_BAR_COMMANDS: ClassVar[tuple[str, ...]] = ("three.next",)
    DELAYED_COMMANDS: ClassVar[frozenset[str]] = Reader.DELAYED_COMMANDS | {"next", "previous", "unfold"}
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        _only_with_conflicts(THREE_WAY_COMMANDS),
        _only_with_conflicts(
            FIND_COMMANDS.only("filter").with_changed(
                "filter", id="three.find", help="Find text in the conflicts", shown=False
            )
        ),
        _only_with_conflicts(READ_ON_COMMANDS),
        _only_with_conflicts(MOTION_COMMANDS.without("read_back")),
        _only_with_conflicts(PAN_COMMANDS),
    )
    contents: ConflictContents

    def __init__(self, *, ascii: bool = False, id: str | None = None) -> None:
        super().__init__(ascii=ascii, id=id)
        self.contents = self.viewport.contents = ConflictContents(self.viewport)
        self.key = ""
        self._loading_key = ""
        """Key of the loading page. Empty if no page is loading, or if the loading page is already shown."""

    @property
    def is_waiting_for_lines(self) -> bool:
        return bool(self._loading_key)

    @property
    def target_key(self) -> str:
        """Key of the page that is loading, else of the page that is shown. Empty if there is neither."""
        return self._loading_key or self.key

    @property
    def selected_conflict(self) -> ConflictView | PageConflict | None:
        """The selected conflict. If none is selected, the first conflict. None if the page has no conflicts."""
        selected = self.cursor.current() if self.contents.conflicts_and_texts else None
        chunk = self.viewport.virtual_lines.chunks[selected.chunk_index] if selected is not None else None
        conflicts = self.contents.conflicts
        conflict = chunk.conflict if isinstance(chunk, _Chunk) else None
        return conflicts[max(0, self.contents.index_of(conflict))] if conflicts else None

    @property
    def status_text(self) -> str:
        """Text for the status line, such as `conflict 2 of 5`. Empty if the page has no conflicts."""
        selected = self.selected_conflict
        return f"conflict {self.contents.number_of(selected)} of {self.contents.count}" if selected is not None else ""

    def show_loading(self, title: str, *, key: str) -> None:
        """Show that the page `key` is loading. The previous page stays visible, but commands wait for the new page."""
        if key != self.target_key:
            self.waiting_commands = ()  # The waiting commands are for another page.
        self._loading_key = key if key != self.key else ""
        self.state.show_loading(title)

    def show(
        self,
        conflicts_and_texts: tuple[ConflictView | PageConflict | UnconflictedText, ...],
        choices: Mapping[str, MergeChoice],
        *,
        key: str,
        side_names: tuple[str, str],
    ) -> None:
        """Show the conflicts of the page `key`, and the text between them. If this page is shown already, the position
        stays, else go to an unresolved conflict. `side_names` has the names of main and of the change request."""
        self.state.clear()
        is_same_page, self.key, self._loading_key = key == self.key, key, ""
        self.contents.set_conflicts(conflicts_and_texts, side_names)
        self.contents.choices = dict(choices)
        if not is_same_page:
            self.cursor.selected, self.contents.is_expanded = None, False
            self.viewport.remove_lines()
        self.reset_lines()
        if not is_same_page:
            self.go_to_unresolved()
        self.find_bar.content_changed()
        self.run_waiting_commands()
        self.refresh_bindings()
        self.viewport.notify_moved()

    def set_choices(self, choices: Mapping[str, MergeChoice]) -> None:
        """Set what the user chose in each conflict, and show the new results."""
        earlier_choices, self.contents.choices = self.contents.choices, dict(choices)
        for number, chunk in enumerate(self.viewport.virtual_lines.chunks):
            conflict = chunk.conflict
            if conflict is not None and earlier_choices.get(conflict.name) != self.contents.choices.get(conflict.name):
                self.viewport.lay_out_again(number)
        if earlier_choices != self.contents.choices:
            self.find_bar.content_changed()
        if (selected := self.cursor.current()) is not None:
            self.cursor.select(selected)  # The result may have become longer, so scroll to show it.

    def clear(self) -> None:
        self.state.clear()
        self.contents.clear()
        self.key, self._loading_key, self.waiting_commands = "", "", ()
        self.reset_lines()
        self.find_bar.content_changed()

    def go_to_unresolved(self) -> bool:
        """Go to the next conflict that has neither a choice nor a suggestion, starting with the selected conflict.
        Return whether there is such a conflict. If there is none and no block is selected, go to the first conflict."""
        conflicts = self.contents.conflicts
        start_index = self.contents.index_of(self.selected_conflict) if self.cursor.selected is not None else 0
        unresolved = [
            each for each in conflicts if each.name not in self.contents.choices and not each.is_merged_by_default
        ]
        target = next(
            (each for each in (*conflicts[start_index:], *conflicts[:start_index]) if each in unresolved), None
        )
        if target is not None or (self.cursor.selected is None and conflicts):
            self._go_to(target or conflicts[0])
        return target is not None

    def _go_to(self, conflict: ConflictView | PageConflict) -> None:
        for number, chunk in enumerate(self.viewport.virtual_lines.chunks):
            if chunk.conflict is conflict and (span := next(iter(self.cursor.spans_of(number)), None)) is not None:
                self.cursor.select(span, scroll_to="top")
                return

    def go_to_conflict(self, step: int) -> None:
        """Go to the next conflict (1) or to the previous one (-1). After the last conflict, post `NextPageRequested`.
        Before the first, tell the user that there is none. During a search, go to a match instead."""
        if self.find_bar.needle:
            self.find_bar.step(step)
            return
        conflicts = self.contents.conflicts
        index = self.contents.index_of(self.selected_conflict) + step
        if 0 <= index < len(conflicts):
            self._go_to(conflicts[index])
        elif index > 0:
            self.post_message(self.NextPageRequested())
        elif conflicts:
            explain(self, "This is the first conflict on this page.")

    def toggle_context(self) -> None:
        """Show or hide the unchanged text between the conflicts."""
        selected = self.selected_conflict
        self.contents.is_expanded = not self.contents.is_expanded
        self.reset_lines()
        if selected is not None:
            self._go_to(selected)
        self.find_bar.content_changed()
