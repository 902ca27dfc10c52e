"""`ThreeWay` shows a page with conflicts: each conflict with its result and its sides, and unchanged text collapsed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

from textual.content import Content

from octavo.documents.blocks import Block
from octavo.documents.merging.merged_page import Choice
from octavo.tui.reader.block_cursor import PANNING
from octavo.tui.reader.contents import Contents, Stop, drop_lines
from octavo.tui.reader.find_bar import FIND
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
from octavo.tui.widgets.empty_states import nothing

WIDEST = 160
_FEW = 3
"""Most changes between two conflicts that are shown. More changes are collapsed."""


class _Unit(NamedTuple):
    """A part of the page that is laid out at a time: a conflict, collapsed text, or text between conflicts."""

    kind: str
    block: Block | None = None
    diff: DiffUnit | None = None
    words: str = ""
    shown: ConflictView | PageConflict | None = None
    number: int = 0


class ConflictContents(Contents):
    """Conflicts of a page, and the text between them."""

    def __init__(self, pane: Reader) -> None:
        super().__init__(pane)
        self.sides = ("main", "this change request")
        """Names of the two sides."""
        self.choices: Mapping[str, Choice] = {}
        self.pieces: tuple[ConflictView | PageConflict | UnconflictedText, ...] | None = None
        self.is_unfolded = False
        """True if the text between the conflicts is expanded."""
        self.conflicts: Sequence[ConflictView | PageConflict] = ()
        """The conflicts that are shown."""
        self._numbers: dict[str, int] = {}
        """Number of each conflict by its name. Text that both sides moved is shown at two places with one number."""
        self._blocks: dict[str, Block] = {}

    @property
    def has_any(self) -> bool:
        return self.pieces is not None

    def take(self, pieces: tuple[ConflictView | PageConflict | UnconflictedText, ...], sides: tuple[str, str]) -> None:
        """Show other pieces of a page."""
        self.pieces, self.sides = pieces, sides
        self.conflicts = [each for each in pieces if not isinstance(each, UnconflictedText)]
        self._numbers = {name: at for at, name in enumerate(dict.fromkeys(each.name for each in self.conflicts), 1)}
        self._blocks = {each.key: Block("conflict", key=each.key) for each in self.conflicts}

    def drop(self) -> None:
        """Show nothing."""
        self.take((), self.sides)
        self.pieces = None

    @property
    def count(self) -> int:
        """Number of conflicts. Text that both sides moved counts once."""
        return len(self._numbers)

    def number(self, shown: ConflictView | PageConflict) -> int:
        """Return the number of a conflict, counted from 1."""
        return self._numbers[shown.name]

    def place(self, shown: ConflictView | PageConflict | None) -> int:
        """Return the index of a conflict among those shown. -1 if it is not shown."""
        return next((at for at, each in enumerate(self.conflicts) if each is shown), -1)

    # Units

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
        """Return units for the text between two conflicts: its changes, and collapsed unchanged text."""
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
        return nothing("No conflicts on this page.", "Press J for the next page")

    def has_stops(self, unit: int) -> bool:
        return self.pane.galley.units[unit].shown is not None  # Only conflicts are selectable.

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
    """Return the estimated number of lines of a unit."""
    if unit.diff is not None:
        return estimate_height(unit.diff)
    return 2 if unit.shown is None else 12


def _about(group: Commands[Any]) -> Commands[Any]:
    """Return commands that are disabled while the page has no conflicts."""
    find: Callable[[Any], Any] = group.find
    nothing = "There are no conflicts on this page."
    return group.about(lambda view: find(view) if view.contents.conflicts else None, name="three", nothing=nothing)


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
    """Shows the conflicts of a page and their resolutions."""

    CONTEXT: ClassVar[str] = "conflicts on a page"
    HELP: ClassVar[str] = (
        "This view shows the conflicts on the page. Each conflict shows the result, main, this change request, and the base. "
        "Press n or N to go to the next or previous conflict, or j or k to scroll. Press esc to go back to the list."
    )
    FIRST_KEYS: ClassVar[tuple[str, ...]] = ("three.next",)
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (
        _about(CONFLICTS),
        _about(FIND.only("filter").changed("filter", id="three.find", help="Find text in the conflicts", shown=False)),
        _about(READ_ON),
        _about(MOTIONS.without("read_back")),
        _about(PANNING),
    )
    contents: ConflictContents

    def __init__(self, *, ascii: bool = False, id: str | None = None) -> None:
        super().__init__(ascii=ascii, id=id)
        self.contents = ConflictContents(self)
        self.key = ""

    # For callers

    @property
    def conflict(self) -> ConflictView | PageConflict | None:
        """The selected conflict."""
        here = self.cursor.stop() if self.contents.pieces else None
        unit = self.galley.units[here[0]] if here is not None else None
        every = self.contents.conflicts
        return every[max(0, self.contents.place(unit.shown if isinstance(unit, _Unit) else None))] if every else None

    @property
    def facts(self) -> str:
        """Number of the selected conflict, for the status line."""
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
        """Show the conflicts of a page. `sides` has the names of the two sides. If `key` is unchanged, the position is
        kept."""
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
        """Show other resolutions."""
        before, self.contents.choices = self.contents.choices, dict(choices)
        for number, unit in enumerate(self.galley.units):
            if unit.shown is not None and before.get(unit.shown.name) != self.contents.choices.get(unit.shown.name):
                self.change(number)
        if (here := self.cursor.stop()) is not None:
            self.cursor.put(here)  # The result may have more lines now.

    def clear(self) -> None:
        """Show an empty view."""
        self.state.settled()
        self.contents.drop()
        self.key = ""
        self.reset()

    def go_to_unresolved(self) -> bool:
        """Go to the next conflict without a resolution or a suggestion, or after opening a page to its first conflict.
        Return False if every conflict has one."""
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
        """Go to the next or previous conflict. After the last conflict, request the next page."""
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
        """Expand or collapse the text between the conflicts."""
        here = self.conflict
        self.contents.is_unfolded = not self.contents.is_unfolded
        self.reset()
        if here is not None:
            self._go_to(here)
        self.finder.content_changed()
