"""A page with conflicts: what is decided is folded away, and each conflict shown with both its sides."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from octavo.documents.blocks import Block
from octavo.documents.merging.resolution import Choice
from octavo.tui.reader.cursor_pane import Stop
from octavo.tui.reader.pane_state import Stateful
from octavo.tui.reader.reading_pane import motions
from octavo.tui.render.conflict_lines import ConflictDecision, rule_with, set_around, set_conflict
from octavo.tui.render.conflict_page import Passage, Shown
from octavo.tui.render.diff_lines import guess
from octavo.tui.render.diff_units import DiffUnit
from octavo.tui.render.failed_block import guarded, unset
from octavo.tui.render.layout import set_block
from octavo.tui.render.layout_context import Folds, LayoutContext
from octavo.tui.render.styled_lines import HotSpot, Line, Piece
from octavo.tui.render.text_search import Finder
from octavo.tui.render.virtual_lines import VirtualLines
from octavo.tui.widgets.empty_states import nothing

WIDEST = 160
_FEW = 3
"""Changes between two conflicts: so many are shown, more are folded."""


@dataclass(frozen=True)
class _Unit:
    """What is set at once: a fold, a part of the page around the conflicts, or a conflict."""

    kind: str
    block: Block | None = None
    diff: DiffUnit | None = None
    words: str = ""
    shown: Shown | None = None
    number: int = 0


class ThreeWay(Stateful):
    """The conflicts of a page: `show` them, `choose` for them."""

    CONTEXT: ClassVar[str] = "conflicts of a page"
    HELP: ClassVar[str] = (
        "What main says and what this change request says, with the words that are new against what both come from "
        "underlined, and below them what becomes of it: the words that will be sent, with what is not as in main marked. "
        "n and N go through the conflicts."
    )
    FIRST_KEYS: ClassVar[tuple[str, ...]] = ("three.next",)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "conflict(1)", "Next conflict", tooltip="Go to the next conflict, at the end to the next page", id="three.next"),
        Binding("N", "conflict(-1)", "Conflict before", show=False, tooltip="Go to the conflict before", id="three.previous"),
        Binding("equals_sign,enter", "unfold", "Context", show=False, tooltip="Show the page around the conflicts, or fold it again", id="three.unfold"),
        Binding("slash", "find", "Find", show=False, key_display="/", tooltip="Find words in what is shown", id="three.find"),
        Binding("space", "read_on", "Read on", show=False, tooltip="Scroll one page, at the end go to what comes next", id="three.read_on"),
        *(each for each in motions("three") if isinstance(each, Binding) and each.key != "b"),
        Binding("right", "pan(1)", "Pan right", show=False, tooltip="Move wide code or a wide table to the left", id="three.pan_right"),
        Binding("left", "pan(-1)", "Pan left", show=False, tooltip="Move wide code or a wide table back", id="three.pan_left"),
    ]  # fmt: skip

    def __init__(self, *, ascii: bool = False, id: str | None = None) -> None:
        super().__init__(ascii=ascii, id=id)
        self.key = ""
        self.sides = ("main", "this")
        self.choices: Mapping[str, Choice] = {}
        self.folds = Folds()
        self._pieces: tuple[Shown | Passage, ...] | None = None
        self._blocks: dict[str, Block] = {}
        self._is_unfolded = False

    # What callers ask and do

    @property
    def conflicts(self) -> list[Shown]:
        """The conflicts on show."""
        return [each for each in self._pieces or () if isinstance(each, Shown)]

    @property
    def conflict(self) -> Shown | None:
        """The one under the cursor."""
        here = self.cursor_stop() if self._pieces else None
        unit = self.galley.units[here[0]] if here is not None else None
        found = unit.shown if isinstance(unit, _Unit) else None
        return found or next(iter(self.conflicts), None)

    @property
    def facts(self) -> str:
        """Which conflict one is at, for the status line."""
        every, here = self.conflicts, self.conflict
        return f"conflict {self._number(here)} of {self.count}" if here in every and here is not None else ""

    @property
    def count(self) -> int:
        """How many conflicts there are: what both sides moved is one."""
        return len({each.name for each in self.conflicts})

    def _number(self, shown: Shown) -> int:
        return list(dict.fromkeys(each.name for each in self.conflicts)).index(shown.name) + 1

    def show(
        self,
        pieces: tuple[Shown | Passage, ...],
        choices: Mapping[str, Choice],
        *,
        key: str,
        sides: tuple[str, str],
    ) -> None:
        """Show a page; `sides` is what the two are called. While `key` is the same, the place is kept."""
        self.settled()
        same, self.key, self.sides = key == self.key, key, sides
        self._pieces, self.choices = pieces, dict(choices)
        self._blocks = {each.key: Block("conflict", key=each.key) for each in self.conflicts}
        if not same:
            self.cursor, self._is_unfolded = None, False
            self.galley = VirtualLines((), lambda unit: 0, lambda unit: [])
            self.scroll_to(y=0, animate=False, immediate=True, force=True)
        self.reset()
        if not same:
            self._go_to_first()
        self.content_changed()
        self.refresh_bindings()
        self.tell()

    def choose(self, choices: Mapping[str, Choice]) -> None:
        """Show other choices."""
        before, self.choices = self.choices, dict(choices)
        for number, unit in enumerate(self.galley.units):
            if unit.shown is not None and before.get(unit.shown.name) != self.choices.get(unit.shown.name):
                self.change(number)
        if (here := self.cursor_stop()) is not None:
            self.put_cursor(here)  # what becomes of it may be more than there was

    def clear(self) -> None:
        """Show nothing."""
        self.settled()
        self._pieces, self.key = None, ""
        self.reset()

    def _go_to_first(self) -> None:
        every = self.conflicts
        target = next((each for each in every if each.name not in self.choices), next(iter(every), None))
        if target is not None and len(self.galley):
            self._go_to(target)

    def _go_to(self, shown: Shown) -> None:
        for number, unit in enumerate(self.galley.units):
            if unit.shown is shown and (stop := next(iter(self.stops_of(number)), None)) is not None:
                self.put_cursor(stop, bring="top")
                return

    # Laying out

    def make_galley(self, width: int) -> VirtualLines[_Unit]:
        self.margin = 2
        inner = min(WIDEST, max(24, width - 4))
        setting = LayoutContext(self.look, self.folds, set_block, room=inner)
        return VirtualLines(self._units(), _guess, lambda unit: self._guarded(setting, unit, inner))

    def _units(self) -> list[_Unit]:
        units: list[_Unit] = []
        for piece in self._pieces or ():
            if isinstance(piece, Shown):
                units.append(_Unit("conflict", self._blocks[piece.key], shown=piece, number=self._number(piece)))
            elif self._is_unfolded:
                units += [_Unit("around", each.block, each) for each in piece.units]
            else:
                units += self._folded(piece)
        return units

    def _folded(self, passage: Passage) -> list[_Unit]:
        """What is between two conflicts: what main does not say, and how much there is besides."""
        merged = [each for each in passage.units if each.kind not in ("block", "label", "title")]
        count = len({each.change for each in merged if each.change >= 0})
        from_this = f"merged from {self.sides[1]}, as nobody else changed it"
        if count > _FEW:
            return [_Unit("fold", words=f"{count} changes {from_this.replace('it', 'them')}")]
        units: list[_Unit] = []
        same = 0
        for each in (*passage.units, None):
            if each is not None and each.kind == "block":
                same += 1
            elif each is None or each in merged:
                if same:
                    blocks = "1 block" if same == 1 else f"{same} blocks"
                    units.append(_Unit("fold", words=f"{blocks} without a conflict"))
                same = 0
                if each is not None:
                    if not units or units[-1].diff is None:
                        units.append(_Unit("label", words=from_this))
                    units.append(_Unit("around", each.block, each))
        return units

    def _guarded(self, setting: LayoutContext, unit: _Unit, width: int) -> list[Line]:
        block = unit.block or Block(unit.kind)
        return guarded(partial(self._set, setting, unit, width), partial(unset, block, self.written, self.look, width))

    def _set(self, setting: LayoutContext, unit: _Unit, width: int) -> list[Line]:
        look = self.look
        if unit.kind in ("fold", "label"):
            right = [Piece("= show", look.muted)] if unit.kind == "fold" else []
            return [Line([]), rule_with(look, [Piece(unit.words, look.muted)], right, width)]
        if unit.shown is None:
            return set_around(setting, unit.diff, width) if unit.diff is not None else []
        decided = ConflictDecision(self.choices.get(unit.shown.name), self.sides)
        lines = [Line([]), *set_conflict(setting, unit.shown, decided, (unit.number, self.count), width)]
        for line in lines[1:]:
            line.block = unit.block
        return lines

    # What a reader asks

    @property
    def has_content(self) -> bool:
        return self._pieces is not None

    def empty_lines(self) -> list[Content]:
        return nothing("Nothing is in conflict on this page.", "J goes to the next page")

    def unit_of(self, near: int, key: str) -> int:
        units = self.galley.units
        return next((at for at, each in enumerate(units) if each.block is not None and each.block.key == key), near)

    def make_finder(self) -> Finder:
        def shown(unit: int) -> Block:
            rows = [
                "".join(each.text for each in line.pieces if not each.furniture) for line in self.galley.lines(unit)
            ]
            return Block("paragraph", text="\n".join(rows))

        return Finder(((unit, shown(unit)) for unit in range(len(self.galley))), letters=1)  # to set one takes long

    def wide_at(self, stop: Stop) -> Iterable[Block]:
        unit = self.galley.units[stop[0]]
        if unit.shown is None:
            return (block for each in (unit.diff.blocks if unit.diff is not None else ()) for block in each.walk())
        shown = unit.shown
        sides = (shown.main.new, shown.mine.new, shown.base, *(each.new for each in shown.outcomes.values()))
        return (block for side in sides if side is not None for block in side.walk())

    def open_spot(self, hot: HotSpot, *, outside: bool) -> None:
        """Links lead away from what is being decided: they are not followed here."""

    # Actions

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if not self.conflicts:
            return "There is no conflict here."
        return super().why_not(action, parameters)

    def action_conflict(self, step: int) -> None:
        if self.needle:
            self.step_find(step)
            return
        every, here = self.conflicts, self.conflict
        at = every.index(here) + step if here in every and here is not None else 0
        if 0 <= at < len(every):
            self._go_to(every[at])
        elif at > 0:
            self.post_message(self.ReadOn())

    def action_unfold(self) -> None:
        here = self.conflict
        self._is_unfolded = not self._is_unfolded
        self.reset()
        if here is not None:
            self._go_to(here)
        self.content_changed()


def _guess(unit: _Unit) -> int:
    """About how many lines a unit takes, without setting it."""
    if unit.diff is not None:
        return guess(unit.diff)
    return 2 if unit.shown is None else 12
