"""Which parts of a text there are after a merge, and where each of them stands.

Each part is known on all sides (see `matching`), whatever became of it. As pages are in `arrange`, parts are where the side
that moved them has them, and what one side deleted is gone unless the other edited it.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias

from octavo.documents.alignment import text_similarity
from octavo.documents.merging.lines import in_order
from octavo.documents.merging.matching import Matching
from octavo.documents.merging.segments import Segment, segments

_KNOWN_ANYWHERE = 10
"""Letters of what both sides added that is the same wherever they put it."""
_MOST_WEIGHED = 400
_HEADING = 200
_SIDE_BY_SIDE = ("item", "row")
"""What forms one list or table with others of its kind beside it."""
_ALIKE = 0.75
"""How alike rows or items are that exclude one another."""


@dataclass(eq=False)
class ThreeWayPart:
    """One part of the text as each side has it."""

    base: Segment | None
    main: Segment | None
    proposed: Segment | None
    home: ThreeWayPart | None = None
    """What it stands in. None for the whole text, and for what is gone or stands within what is taken whole."""
    is_here: bool = False
    is_contested: bool = False
    """Whether one side deleted it and the other edited it."""
    second_home: ThreeWayPart | None = None
    """What the change request moved it to, where the primary content moved it elsewhere."""
    number: int = 0

    @property
    def any(self) -> Segment:
        found = self.main or self.proposed or self.base
        assert found is not None
        return found

    @property
    def kind(self) -> str:
        return self.any.kind

    @property
    def is_new_in_main(self) -> bool:
        return self.base is None and self.proposed is None

    @property
    def is_new_in_proposed(self) -> bool:
        return self.base is None and self.main is None


Entry: TypeAlias = tuple[ThreeWayPart, bool]
"""A part, and whether this is the second place of what both sides moved."""


class Placement:
    """The parts of a text on all sides, which of them there are after a merge, and where each stands."""

    def __init__(self, base: str | None, main: str, proposed: str) -> None:
        self.is_strict = base is None
        texts = segments(base or ""), segments(main), segments(proposed)
        self._behinds: dict[Segment, ThreeWayPart | None] = {}
        self.trios: dict[Segment, ThreeWayPart] = {}
        """What each part of a side is on all of them."""
        self.above: dict[Segment, Segment] = {
            child: each for text in texts for each in text.walk() for child in each.children or ()
        }
        self._places = {
            child: place for text in texts for each in text.walk() for place, child in enumerate(each.children or ())
        }
        here, there = Matching(texts[0], texts[1]), Matching(texts[0], texts[2])
        for each in texts[0].walk():
            self._add(each, here.new.get(each), there.new.get(each))
        added = [[each for each in text.walk() if each not in self.trios] for text in texts[1:]]
        both = self._added_by_both(Matching(texts[1], texts[2]), added[0]) if all(added) else {}
        for each in added[0]:
            self._add(None, each, both.get(each))
        for each in added[1]:
            if each not in self.trios:
                self._add(None, None, each)
        self.root = self.trios[texts[0]]
        self._every = list(dict.fromkeys(self.trios.values()))
        for number, trio in enumerate(self._every):
            trio.number = number
        self._settle_presence()
        self._settle_homes()
        self._inside: defaultdict[ThreeWayPart, list[ThreeWayPart]] = defaultdict(list)
        for trio in self._every:
            if trio.home is not None:
                self._inside[trio.home].append(trio)
        self.twice: set[ThreeWayPart] = set()
        """What both sides moved, to different places, as far as orders were asked for."""
        self._orders: dict[ThreeWayPart, list[Entry]] = {}

    def _add(self, base: Segment | None, main: Segment | None, proposed: Segment | None) -> None:
        trio = ThreeWayPart(base, main, proposed)
        for each in (base, main, proposed):
            if each is not None:
                self.trios[each] = trio

    def _added_by_both(self, matching: Matching, added: list[Segment]) -> dict[Segment, Segment]:
        """What both sides put there: the same anywhere, or something alike in the same place."""
        found: dict[Segment, Segment] = {}
        homes: dict[Segment, object] = dict(self.trios)
        for each in added:
            other = matching.new.get(each)
            if other is None or other in self.trios:
                continue
            above, there = (homes.get(self.above[one], one) for one in (each, other))
            is_known = each.size >= _KNOWN_ANYWHERE or (each.kind != "line" and above is there)
            is_beside = above is there and self._behind(each) is self._behind(other) and each.role == other.role
            if self.is_strict or (is_known and each.key == other.key) or (is_beside and _are_one(each, other)):
                found[each] = other
                homes[each] = homes[other] = each
        return found

    def _behind(self, added: Segment) -> ThreeWayPart | None:
        """What was there before of what stands before something that was added."""
        if added not in self._behinds:
            last: ThreeWayPart | None = None
            for child in self.above[added].children or ():
                if child in self.trios:
                    last = self.trios[child]
                else:
                    self._behinds[child] = last
        return self._behinds[added]

    # Which parts there are, and where

    def _settle_presence(self) -> None:
        for trio in self._every:
            if trio.base is None or (trio.main is not None and trio.proposed is not None):
                trio.is_here = True
            elif trio.main is not None or trio.proposed is not None:
                trio.is_here = trio.is_contested = self._is_changed(trio.main or trio.proposed)

    def _is_changed(self, side: Segment | None) -> bool:
        """Whether a side did something to what the other deleted: not counting what the other has elsewhere."""
        if side is None:
            return False
        trio = self.trios[side]
        if trio.base is None:
            return True
        if side.children is None:
            return side.key != trio.base.key
        for child in side.children:
            each = self.trios[child]
            if each.main is not None and each.proposed is not None:
                continue
            if each.base is not None and self.above[each.base] is not trio.base and each.kind not in ("edge", "cell"):
                return True
            if self._is_changed(child):
                return True
        return False

    def _settle_homes(self) -> None:
        for trio in self._every:
            if trio is self.root or not trio.is_here:
                continue
            above = [self.trios[self.above[each]] if each else None for each in (trio.base, trio.main, trio.proposed)]
            before, ours, theirs = above
            if ours is None or theirs is None:
                trio.home = self._nearest(ours or theirs, trio)
            elif ours is theirs or before is None or theirs is before:
                trio.home = self._nearest(ours, trio)
            elif ours is before:
                trio.home = theirs if self._is_host(theirs) else self._nearest(ours, trio)
            else:
                trio.home = self._nearest(ours, trio)
                trio.second_home = theirs if self._is_host(theirs) else None
        for trio in self._every:
            self._break_circle(trio)

    @staticmethod
    def _is_host(trio: ThreeWayPart) -> bool:
        return trio.is_here and not trio.is_contested

    def _nearest(self, trio: ThreeWayPart | None, of: ThreeWayPart) -> ThreeWayPart | None:
        """The nearest that stays and is not taken whole. None for a part of what is taken whole: it stays in that."""
        if trio is not None and trio.is_contested and (of.main is None or of.proposed is None):
            return None
        while trio is not None and not self._is_host(trio):
            side = trio.main or trio.proposed or trio.base
            above = self.above.get(side) if side is not None else None
            trio = self.trios[above] if above is not None else None
        return trio or self.root

    def _break_circle(self, trio: ThreeWayPart) -> None:
        """Put back where the primary content has it what would stand within itself."""
        seen = {trio}
        at = trio.home
        while at is not None and at not in seen:
            seen.add(at)
            at = at.home
        if at is trio and trio.main is not None:
            trio.home = self._nearest(self.trios[self.above[trio.main]], trio)

    def follows(self, side: Segment, following: Segment | None, trio: ThreeWayPart) -> bool:
        """Whether `following` (None: nothing) comes right behind `side` within a part."""
        above = self.above.get(side)
        if above is None or self.trios[above] is not trio:
            return False
        place = self._places[side] + 1
        siblings = above.children or ()
        return siblings[place] is following if place < len(siblings) else following is None

    # In which order

    def order(self, parent: ThreeWayPart) -> list[Entry]:
        """What stands in a part, and whether it is there a second time because both sides moved it elsewhere."""
        if parent in self._orders:
            return self._orders[parent]
        old, ours, theirs = (
            [self.trios[child] for child in side.children or () if not child.role or child.kind == "cell"]
            if side is not None
            else []
            for side in (parent.base, parent.main, parent.proposed)
        )
        mine = [each for each in ours if each.home is parent]
        proposed = [each for each in theirs if each.home is parent or each.second_home is parent]
        everywhere = set(old) & set(mine) & {each for each in proposed if each.home is parent}
        before, here, there = ([each for each in side if each in everywhere] for side in (old, mine, proposed))
        moved: set[ThreeWayPart] = set()
        twice: set[ThreeWayPart] = {each for each in proposed if each.second_home is parent}
        moved_here: set[ThreeWayPart] = set()
        if here != there:
            moved_here = everywhere - _stayed(before, here)
            moved_there = everywhere - _stayed(before, there)
            moved = moved_there - moved_here
            both = moved_there & moved_here
            ours_before, theirs_before = _before(here, both), _before(there, both)
            twice |= {each for each in both if ours_before[each] is not theirs_before[each]}
        self.twice |= twice
        result = self._placed(mine, proposed, moved, moved_here, twice)
        placed = {each for each, _ in result}
        result += [(each, False) for each in self._inside[parent] if each not in placed and not each.any.role]
        self._orders[parent] = result
        return result

    def _placed(
        self,
        mine: list[ThreeWayPart],
        proposed: list[ThreeWayPart],
        moved: set[ThreeWayPart],
        moved_here: set[ThreeWayPart],
        twice: set[ThreeWayPart],
    ) -> list[Entry]:
        standing: list[ThreeWayPart] = []
        followers: defaultdict[ThreeWayPart, list[ThreeWayPart]] = defaultdict(list)
        last: ThreeWayPart | None = None
        for each in mine:
            if each.is_new_in_main and last is not None and last in moved and each.kind != "heading":
                followers[last].append(each)  # what was put below what the other side moved goes with it
                continue
            last = each
            if each not in moved:
                standing.append(each)
        fixed = set(standing)
        behind: defaultdict[ThreeWayPart | None, list[Entry]] = defaultdict(list)
        below: ThreeWayPart | None = None
        unmoved: ThreeWayPart | None = None
        place = {each: number for number, each in enumerate(standing)}
        for each, following in zip_longest(proposed, proposed[1:]):
            is_second = each in twice
            if each in fixed and not is_second:
                below = each
                unmoved = unmoved if each in moved_here else each
                continue
            if each.kind == "heading" and each.is_new_in_proposed:
                below = unmoved  # a new section does not go with the one before it
            is_of_list = following in fixed and following.kind == each.kind in _SIDE_BY_SIDE
            if is_of_list and (below is None or below.kind != each.kind):
                at = place[following]  # it goes with its list, not with what stood above that
                below = standing[at - 1] if at else None
            behind[below] += [(each, is_second), *((one, False) for one in followers[each])]
        return _arranged(standing, behind, moved_here)


def _arranged(
    standing: list[ThreeWayPart], behind: dict[ThreeWayPart | None, list[Entry]], moved_here: set[ThreeWayPart]
) -> list[Entry]:
    """What stands, with what the other side put behind each, but after what the primary content put there. Nothing else
    comes between the items of a list."""
    result: list[Entry] = []
    waiting = list(behind.get(None, ()))
    for each in standing:
        last = result[-1][0].kind if result else ""
        if last in _SIDE_BY_SIDE and each.kind != last:
            while waiting and waiting[0][0].kind == last:
                result.append(waiting.pop(0))
        goes_on = (
            each.is_contested and each.kind == last in _SIDE_BY_SIDE and all(one.kind != last for one, _ in waiting)
        )
        if not (each.is_new_in_main or each in moved_here or goes_on):
            result += waiting
            waiting = []
        result.append((each, False))
        waiting += behind.get(each, ())
    return result + waiting


def _are_one(one: Segment, other: Segment) -> bool:
    """Whether two parts that were put at the same place can only be one: rows and items can stand side by side."""
    if one.kind not in _SIDE_BY_SIDE or one.key == other.key:
        return True
    names = [next((leaf.key for leaf in each.leaves() if leaf.kind in ("cell", "text")), "") for each in (one, other)]
    return names[0] == names[1] != "" or text_similarity(one.words, other.words) >= _ALIKE


def _stayed(before: list[ThreeWayPart], after: list[ThreeWayPart]) -> set[ThreeWayPart]:
    """Which parts need not have moved to get from one order to the other: as much text as possible, headings first."""
    if len(before) > _MOST_WEIGHED:
        return in_order(before, after)
    place = {each: number for number, each in enumerate(before)}
    best: list[tuple[int, ThreeWayPart | None]] = []
    for at, each in enumerate(after):
        weight = 1 + each.any.size + (_HEADING if each.kind == "heading" else 0)
        most, last = 0, None
        for earlier in range(at):
            if place[after[earlier]] < place[each] and best[earlier][0] > most:
                most, last = best[earlier][0], after[earlier]
        best.append((most + weight, last))
    found: set[ThreeWayPart] = set()
    back = {each: last for each, (_, last) in zip(after, best, strict=True)}
    one = after[max(range(len(after)), key=lambda at: best[at][0])] if after else None
    while one is not None:
        found.add(one)
        one = back[one]
    return found


def _before(order: list[ThreeWayPart], moved: set[ThreeWayPart]) -> dict[ThreeWayPart, ThreeWayPart | None]:
    """What stands before each part of what nobody moved."""
    found: dict[ThreeWayPart, ThreeWayPart | None] = {}
    last: ThreeWayPart | None = None
    for each in order:
        found[each] = last
        if each not in moved:
            last = each
    return found
