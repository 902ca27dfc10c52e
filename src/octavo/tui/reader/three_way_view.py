"""A page with conflicts: each conflict with its result and its sides, and the text without conflicts folded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

from textual.content import Content

from octavo.documents.blocks import Block
from octavo.documents.merging.merged_page import Choice
from octavo.tui.reader.block_cursor import PANNING
from octavo.tui.reader.find_line import FIND
from octavo.tui.reader.pane import Contents, Pane, Stop, drop_lines
from octavo.tui.reader.reading_pane import MOTIONS, READ_ON, Reader
from octavo.tui.render.conflict_lines import (
    ConflictDecision,
    labelled_rule,
    render_conflict,
    render_page_conflict,
    render_unconflicted,
)
from octavo.tui.render.conflict_page import ConflictView, PageConflict, UnconflictedText
from octavo.tui.render.deferred import DeferredContent
from octavo.tui.render.diff_lines import estimate_height
from octavo.tui.render.diff_units import DiffUnit
from octavo.tui.render.failed_block import render_failed_block, run_guarded
from octavo.tui.render.layout import render_block
from octavo.tui.render.layout_context import Folds, LayoutContext
from octavo.tui.render.styled_lines import Line, Piece
from octavo.tui.render.unit_layout import UnitLayout
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.empty_states import empty_lines

WIDEST = 160
_FEW = 3
"""Changes between two conflicts: so many are shown, more are folded."""


class _Unit(NamedTuple):
    """What is set at once: a fold, a part of the page around the conflicts, or a conflict."""

    kind: str
    block: Block | None = None
    diff: DiffUnit | None = None
    words: str = ""
    shown: ConflictView | PageConflict | None = None
    number: int = 0


class ConflictContents(Contents):
    """The conflicts of a page, and what is between them."""

    def __init__(self, pane: Pane) -> None:
        super().__init__(pane)
        self.sides = ("main", "this change request")
        """What the two are called."""
        self.choices: Mapping[str, Choice] = {}
        self.pieces: tuple[ConflictView | PageConflict | UnconflictedText, ...] | None = None
        self.is_unfolded = False
        """Whether the page around the conflicts is shown."""
        self.conflicts: Sequence[ConflictView | PageConflict] = ()
        """The conflicts on show."""
        self._numbers: dict[str, int] = {}
        """Which of the conflicts each is, by its name: what both sides moved is one, in two places."""
        self._blocks: dict[str, Block] = {}

    @property
    def has_any(self) -> bool:
        return self.pieces is not None

    def take(self, pieces: tuple[ConflictView | PageConflict | UnconflictedText, ...], sides: tuple[str, str]) -> None:
        """Have other pieces of a page to show."""
        self.pieces, self.sides = pieces, sides
        self.conflicts = [each for each in pieces if not isinstance(each, UnconflictedText)]
        self._numbers = {name: at for at, name in enumerate(dict.fromkeys(each.name for each in self.conflicts), 1)}
        self._blocks = {each.key: Block("conflict", key=each.key) for each in self.conflicts}

    def drop(self) -> None:
        """Have nothing to show."""
        self.take((), self.sides)
        self.pieces = None

    @property
    def count(self) -> int:
        """How many conflicts there are: what both sides moved is one."""
        return len(self._numbers)

    def number(self, shown: ConflictView | PageConflict) -> int:
        """Which of them one is, counted from 1."""
        return self._numbers[shown.name]

    def place(self, shown: ConflictView | PageConflict | None) -> int:
        """Where one is among those on show; -1 if it is not."""
        return next((at for at, each in enumerate(self.conflicts) if each is shown), -1)

    # Its units

    def layout_for(self, width: int, folds: Folds) -> UnitLayout:
        inner, look = min(WIDEST, max(24, width - 4)), self.pane.look

        def set_with(sources: DeferredContent | None) -> Callable[[_Unit], list[Line]]:
            setting = LayoutContext(look, folds, render_block, room=inner, deferred=sources)
            return lambda unit: self._guarded(setting, unit, inner)

        return UnitLayout((width, look, id(folds)), _guess, set_with, margin=2, measure=0)

    def units(self) -> Sequence[_Unit]:
        units: list[_Unit] = []
        for piece in self.pieces or ():
            if not isinstance(piece, UnconflictedText):
                units.append(_Unit("conflict", self._blocks[piece.key], shown=piece, number=self.number(piece)))
            elif self.is_unfolded or piece.label:
                units += [_Unit("label", words=piece.label)] if piece.label else []
                units += [_Unit("around", each.block, each) for each in piece.units]
            else:
                units += self._folded(piece)
        return units

    def _folded(self, passage: UnconflictedText) -> list[_Unit]:
        """Return the changes between two conflicts, and folds of the text that did not change."""
        merged = [each for each in passage.units if each.kind not in ("block", "label", "title")]
        count = len({each.change_number for each in merged if each.change_number >= 0})
        from_this = f"merged from {self.sides[1]} without conflicts"
        if count > _FEW:
            return [_Unit("fold", words=f"{count} changes {from_this}")]
        units: list[_Unit] = []
        same = 0
        for each in (*passage.units, None):
            if each is not None and each.kind == "block":
                same += 1
            elif each is None or each in merged:
                if same:
                    blocks = "1 block" if same == 1 else f"{same} blocks"
                    units.append(_Unit("fold", words=f"{blocks} without conflicts"))
                same = 0
                if each is not None:
                    if not units or units[-1].diff is None:
                        units.append(_Unit("label", words=from_this))
                    units.append(_Unit("around", each.block, each))
        return units

    def _guarded(self, setting: LayoutContext, unit: _Unit, width: int) -> list[Line]:
        block = unit.block or Block(unit.kind)
        return run_guarded(
            partial(self._set, setting, unit, width),
            partial(render_failed_block, block, self.written, self.pane.look, width),
        )

    def _set(self, setting: LayoutContext, unit: _Unit, width: int) -> list[Line]:
        look = self.pane.look
        if unit.kind in ("fold", "label"):
            hint = "press = to expand" if width >= 50 else "= expand"
            right = [Piece(hint, look.muted)] if unit.kind == "fold" else []
            return [Line([]), labelled_rule(look, [Piece(unit.words, look.muted)], right, width)]
        if unit.shown is None:
            return render_unconflicted(setting, unit.diff, width) if unit.diff is not None else []
        shown, place = unit.shown, (unit.number, self.count)
        decided = ConflictDecision(self.choices.get(shown.name), self.sides)
        if isinstance(shown, PageConflict):
            lines = [Line([]), *render_page_conflict(setting, shown, decided, place, width)]
        else:
            lines = [Line([]), *render_conflict(setting, shown, decided, place, width)]
        for line in lines[1:]:
            line.block = unit.block
        return lines

    def empty_lines(self) -> list[Content]:
        return empty_lines("No conflicts on this page.", "Press J for the next page")

    def has_stops(self, unit: int) -> bool:
        return self.pane.galley.units[unit].shown is not None  # the rest of the page cannot be resolved

    def unit_of(self, near: int, key: str) -> int:
        units = self.pane.galley.units
        return next((at for at, each in enumerate(units) if each.block is not None and each.block.key == key), near)

    def wide_at(self, stop: Stop) -> Iterable[Block]:
        unit = self.pane.galley.units[stop[0]]
        if not isinstance(unit.shown, ConflictView):
            return (block for each in (unit.diff.blocks if unit.diff is not None else ()) for block in each.walk())
        shown = unit.shown
        sides = (shown.main.new, shown.request.new, shown.base, *(each.new for each in shown.outcomes.values()))
        return (block for side in sides if side is not None for block in side.walk())


def _guess(unit: _Unit) -> int:
    """About how many lines a unit takes, without setting it."""
    if unit.diff is not None:
        return estimate_height(unit.diff)
    return 2 if unit.shown is None else 12


def _about(group: Commands[Any]) -> Commands[Any]:
    """What can be done with a page while it has conflicts."""
    find: Callable[[Any], Any] = group.find
    nothing = "There are no conflicts on this page."
    return group.for_target(
        lambda view: find(view) if view.contents.conflicts else None, name="three", no_target=nothing
    )


CONFLICTS: Commands[ThreeWay] = Commands(
    "three",
    (
        Command("next", "n", "Next conflict", "Go to the next conflict", run=lambda _, view: view.go_to_conflict(1)),
        Command("previous", "N", "Previous conflict", "Go to the previous conflict", run=lambda _, view: view.go_to_conflict(-1), shown=False),
        Command("unfold", "equals_sign,enter", "Context", "Show or hide unchanged text", run=lambda _, view: view.unfold(), shown=False),
    ),
    find=lambda view: view,
)  # fmt: skip


class ThreeWay(Reader):
    """The conflicts of a page: `show` them, `choose` for them."""

    CONTEXT: ClassVar[str] = "conflicts on a page"
    HELP: ClassVar[str] = (
        "This view shows the conflicts on the page. Each conflict shows the result, main, this change request, and the base. "
        "Press n or N to go to the next or previous conflict, or j or k to scroll. Press esc to go back to the list."
    )
    FIRST_KEYS: ClassVar[tuple[str, ...]] = ("three.next",)
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        _about(CONFLICTS),
        _about(
            FIND.only("filter").with_changed("filter", id="three.find", help="Find text in the conflicts", shown=False)
        ),
        _about(READ_ON),
        _about(MOTIONS.without("read_back")),
        _about(PANNING),
    )
    contents: ConflictContents

    def __init__(self, *, ascii: bool = False, id: str | None = None) -> None:
        super().__init__(ascii=ascii, id=id)
        self.contents = ConflictContents(self)
        self.key = ""

    # What callers ask and do

    @property
    def conflict(self) -> ConflictView | PageConflict | None:
        """The selected conflict."""
        here = self.cursor.stop() if self.contents.pieces else None
        unit = self.galley.units[here[0]] if here is not None else None
        every = self.contents.conflicts
        return every[max(0, self.contents.place(unit.shown if isinstance(unit, _Unit) else None))] if every else None

    @property
    def facts(self) -> str:
        """The number of the selected conflict, for the status line."""
        here = self.conflict
        return f"conflict {self.contents.number(here)} of {self.contents.count}" if here is not None else ""

    def show(
        self,
        pieces: tuple[ConflictView | PageConflict | UnconflictedText, ...],
        choices: Mapping[str, Choice],
        *,
        key: str,
        sides: tuple[str, str],
    ) -> None:
        """Show a page; `sides` is what the two are called. While `key` is the same, the place is kept."""
        self.state.settled()
        same, self.key = key == self.key, key
        self.contents.take(pieces, sides)
        self.contents.choices = dict(choices)
        if not same:
            self.cursor.at, self.contents.is_unfolded = None, False
            drop_lines(self)
        self.reset()
        if not same:
            self.go_to_unresolved()
        self.finder.content_changed()
        self.refresh_bindings()
        self.tell()

    def choose(self, choices: Mapping[str, Choice]) -> None:
        """Show other choices."""
        before, self.contents.choices = self.contents.choices, dict(choices)
        for number, unit in enumerate(self.galley.units):
            if unit.shown is not None and before.get(unit.shown.name) != self.contents.choices.get(unit.shown.name):
                self.change(number)
        if (here := self.cursor.stop()) is not None:
            self.cursor.put(here)  # the result may be longer than before

    def clear(self) -> None:
        """Show nothing."""
        self.state.settled()
        self.contents.drop()
        self.key = ""
        self.reset()

    def go_to_unresolved(self) -> bool:
        """Go to the next conflict without a choice or a suggestion, from the selected one on; if there is none, to the first
        conflict of a page that is shown anew. Return whether there is one."""
        every = self.contents.conflicts
        at = self.contents.place(self.conflict) if self.cursor.at is not None else 0
        left = [each for each in every if each.name not in self.contents.choices and not each.is_suggested]
        target = next((each for each in (*every[at:], *every[:at]) if each in left), None)
        if target is not None or (self.cursor.at is None and every):
            self._go_to(target or every[0])
        return target is not None

    def _go_to(self, shown: ConflictView | PageConflict) -> None:
        for number, unit in enumerate(self.galley.units):
            if unit.shown is shown and (stop := next(iter(self.cursor.stops_of(number)), None)) is not None:
                self.cursor.put(stop, bring="top")
                return

    def go_to_conflict(self, step: int) -> None:
        """Go to the next conflict, at the end to the next page, or to the previous conflict."""
        if self.finder.needle:
            self.finder.step(step)
            return
        every = self.contents.conflicts
        at = self.contents.place(self.conflict) + step
        if 0 <= at < len(every):
            self._go_to(every[at])
        elif at > 0:
            self.post_message(self.ReadOn())

    def unfold(self) -> None:
        """Show the page around the conflicts, or fold it again."""
        here = self.conflict
        self.contents.is_unfolded = not self.contents.is_unfolded
        self.reset()
        if here is not None:
            self._go_to(here)
        self.finder.content_changed()
