"""The three-way merge of a text: which parts there are, where they stand, and what they say.

Each part is known on all sides (see `matching`), whatever became of it. Where it stands is decided apart from what it says,
so what one side moved and the other edited is the edited text in its new place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

from octavo.documents.alignment import text_similarity
from octavo.documents.merging.conflict import Conflict, Leaf, Part, Undecided
from octavo.documents.merging.lines import in_order, regions
from octavo.documents.merging.matching import Matching
from octavo.documents.merging.segments import Segment, continues, segments


def parts(base: str | None, main: str, proposed: str) -> tuple[Part, ...]:
    """What becomes of `base`, in order. Where it is not known, all that the sides do not share is in conflict."""
    if base is not None and (main in (base, proposed) or proposed == base):
        return (proposed if main == base else main,)
    if main == proposed:
        return (main,)
    return tuple(_joined(_Merging(base, main, proposed).parts()))


def _joined(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts, decided text in one piece."""
    decided = ""
    for part in parts:
        if isinstance(part, str):
            decided += part
            continue
        if decided:
            yield decided
        decided = ""
        yield part
    if decided:
        yield decided


@dataclass(eq=False)
class _Trio:
    """One part of the text as each side has it."""

    base: Segment | None
    main: Segment | None
    proposed: Segment | None
    home: _Trio | None = None
    """What it stands in. None for the whole text, and for what is gone or stands within what is taken whole."""
    is_here: bool = False
    is_contested: bool = False
    """Whether one side deleted it and the other edited it."""
    second_home: _Trio | None = None
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


def _chosen(base: str | None, main: str | None, proposed: str | None) -> str:
    """What becomes of what says nothing by itself: what one side changed, in doubt what the primary content has."""
    if main is None or proposed is None:
        return main if main is not None else proposed or ""
    return proposed if main == base else main


class _Merging:
    """The merge of one text."""

    def __init__(self, base: str | None, main: str, proposed: str) -> None:
        self._is_strict = base is None
        texts = segments(base or ""), segments(main), segments(proposed)
        self._most_ends = max(len(each) - len(each.rstrip("\n")) for each in (main, proposed))
        self._trios: dict[Segment, _Trio] = {}
        self._above: dict[Segment, Segment] = {
            child: each for text in texts for each in text.walk() for child in each.children or ()
        }
        self._places = {
            child: place for text in texts for each in text.walk() for place, child in enumerate(each.children or ())
        }
        self._afters: dict[_Trio, str] = {}
        """What is behind a part, where that is what one of the sides has there."""
        self._befores: dict[_Trio, tuple[str, ...]] = {}
        """The blank lines that come with what one side deleted, if that is decided for the primary content or not."""
        here, there = Matching(texts[0], texts[1]), Matching(texts[0], texts[2])
        for each in texts[0].walk():
            self._add(each, here.new.get(each), there.new.get(each))
        added = [[each for each in text.walk() if each not in self._trios] for text in texts[1:]]
        both = self._added_by_both(Matching(texts[1], texts[2]), added[0]) if all(added) else {}
        for each in added[0]:
            self._add(None, each, both.get(each))
        for each in added[1]:
            if each not in self._trios:
                self._add(None, None, each)
        self._root = self._trios[texts[0]]
        self._every = list(dict.fromkeys(self._trios.values()))
        for number, trio in enumerate(self._every):
            trio.number = number
        self._settle_presence()
        self._settle_homes()
        self._orders: dict[_Trio, list[tuple[_Trio, bool]]] = {}

    def _add(self, base: Segment | None, main: Segment | None, proposed: Segment | None) -> None:
        trio = _Trio(base, main, proposed)
        for each in (base, main, proposed):
            if each is not None:
                self._trios[each] = trio

    def _added_by_both(self, matching: Matching, added: list[Segment]) -> dict[Segment, Segment]:
        """What both sides put there: the same anywhere, or something alike in the same place."""
        found: dict[Segment, Segment] = {}
        for each in added:
            other = matching.new.get(each)
            if other is None or other in self._trios:
                continue
            here, there = self._place(each, found), self._place(other, found)
            is_known = each.size >= _KNOWN_ANYWHERE or (each.kind != "line" and here[0] == there[0])
            is_same = is_known and each.key == other.key
            is_beside = here == there and _are_one(each, other)
            if self._is_strict or is_same or is_beside:
                found[each] = other
        return found

    def _place(self, each: Segment, both: dict[Segment, Segment]) -> tuple[object, ...]:
        """Where something was put: what it is in, and what stands before it."""
        above = self._above[each]
        names: dict[Segment, object] = {one: number for number, one in enumerate(both)}
        names.update((other, names[one]) for one, other in both.items())
        before: object = None
        for child in above.children or ():
            if child is each:
                break
            if child in self._trios:
                before = self._trios[child]
            elif child in names:
                before = names[child]
        return (self._trios.get(above) or names.get(above, above), before, each.role)

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
        trio = self._trios[side]
        if trio.base is None:
            return True
        if side.children is None:
            return side.key != trio.base.key
        for child in side.children:
            each = self._trios[child]
            if each.main is not None and each.proposed is not None:
                continue
            if each.base is not None and self._above[each.base] is not trio.base and each.kind not in ("edge", "cell"):
                return True
            if self._is_changed(child):
                return True
        return False

    def _settle_homes(self) -> None:
        for trio in self._every:
            if trio is self._root or not trio.is_here:
                continue
            above = [self._trios[self._above[each]] if each else None for each in (trio.base, trio.main, trio.proposed)]
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
    def _is_host(trio: _Trio) -> bool:
        return trio.is_here and not trio.is_contested

    def _nearest(self, trio: _Trio | None, of: _Trio) -> _Trio | None:
        """The nearest that stays and is not taken whole. None for a part of what is taken whole: it stays in that."""
        if trio is not None and trio.is_contested and (of.main is None or of.proposed is None):
            return None
        while trio is not None and not self._is_host(trio):
            side = trio.main or trio.proposed or trio.base
            above = self._above.get(side) if side is not None else None
            trio = self._trios[above] if above is not None else None
        return trio or self._root

    def _break_circle(self, trio: _Trio) -> None:
        """Put back where the primary content has it what would stand within itself."""
        seen = {trio}
        at = trio.home
        while at is not None and at not in seen:
            seen.add(at)
            at = at.home
        if at is trio and trio.main is not None:
            trio.home = self._nearest(self._trios[self._above[trio.main]], trio)

    # In which order

    def _order(self, parent: _Trio) -> list[tuple[_Trio, bool]]:
        """What stands in a part, and whether it is there a second time because both sides moved it elsewhere."""
        if parent in self._orders:
            return self._orders[parent]
        old, ours, theirs = (
            [self._trios[child] for child in side.children or () if not child.role or child.kind == "cell"]
            if side is not None
            else []
            for side in (parent.base, parent.main, parent.proposed)
        )
        mine = [each for each in ours if each.home is parent]
        proposed = [each for each in theirs if each.home is parent or each.second_home is parent]
        everywhere = set(old) & set(mine) & {each for each in proposed if each.home is parent}
        before, here, there = ([each for each in side if each in everywhere] for side in (old, mine, proposed))
        moved: set[_Trio] = set()
        twice: set[_Trio] = {each for each in proposed if each.second_home is parent}
        moved_here: set[_Trio] = set()
        if here != there:
            moved_here = everywhere - _stayed(before, here)
            moved_there = everywhere - _stayed(before, there)
            moved = moved_there - moved_here
            both = moved_there & moved_here
            twice |= {each for each in both if _before(each, here, both) is not _before(each, there, both)}
        result = self._placed(mine, proposed, moved, moved_here, twice)
        placed = {each for each, _ in result}
        lost = [each for each in self._every if each.home is parent and each not in placed and not each.any.role]
        result += [(each, False) for each in lost]
        self._orders[parent] = result
        return result

    def _placed(
        self, mine: list[_Trio], proposed: list[_Trio], moved: set[_Trio], moved_here: set[_Trio], twice: set[_Trio]
    ) -> list[tuple[_Trio, bool]]:
        result: list[tuple[_Trio, bool]] = []
        followers: defaultdict[_Trio, list[_Trio]] = defaultdict(list)
        last: _Trio | None = None
        for each in mine:
            if each.is_new_in_main and last is not None and last in moved and each.kind != "heading":
                followers[last].append(each)  # what was put below what the other side moved goes with it
                continue
            last = each
            if each not in moved:
                result.append((each, False))
        standing = {each for each, _ in result}
        below: tuple[_Trio, bool] | None = None
        for each in proposed:
            entry = (each, each in twice)
            if each not in standing or entry[1]:
                anchor = below
                if each.kind == "heading" and each.is_new_in_proposed and below is not None and below[0] in moved_here:
                    anchor = self._last_unmoved(each, proposed, moved_here, result)
                place = result.index(anchor) + 1 if anchor is not None else 0
                while place < len(result) and result[place][0].is_new_in_main:
                    place += 1
                result[place:place] = [entry, *((one, False) for one in followers[each])]
                below = entry
            if each in standing and not entry[1]:
                below = (each, False)
        return result

    @staticmethod
    def _last_unmoved(
        each: _Trio, proposed: list[_Trio], moved_here: set[_Trio], result: list[tuple[_Trio, bool]]
    ) -> tuple[_Trio, bool] | None:
        """What stands before a new section and was not moved away by the other side."""
        for one in reversed(proposed[: proposed.index(each)]):
            if one not in moved_here and (one, False) in result:
                return (one, False)
        return None

    # What they say

    def parts(self) -> list[Part]:
        """The whole text. It ends as one of the sides does, also where something else is last now."""
        found = [part for part in self._blocks(self._root) if part != ""]
        if found:
            found[-1] = _ended(found[-1], self._most_ends)
        return found

    def _blocks(self, trio: _Trio) -> list[Part]:
        """What is in a part that is divided into blocks, each of them decided or not."""
        children = self._children(trio)
        after = self._after(trio)
        if trio is not self._root and any(
            isinstance(piece, Conflict) for each, pieces in children if each and each.any.role for piece in pieces
        ):
            return [Undecided(tuple(self._flat(trio)))]
        result: list[Part] = []
        for each, pieces in children:
            if each is not None and self._is_divided(each) and not each.any.role:
                result += self._blocks(each) if not pieces else [_block(pieces)]
            else:
                result.append(_block(pieces))
        return [*result, after] if after else result

    def _is_divided(self, trio: _Trio) -> bool:
        return trio.kind == "container" and not trio.is_contested

    def _flat(self, trio: _Trio) -> list[Leaf]:
        """What a part says, in order."""
        if trio.is_contested:
            return [self._deleted(trio)]
        if trio.any.children is None:
            return self._leaf(trio)
        if trio.kind == "row":
            return self._row(trio)
        found: list[Leaf] = []
        for each, pieces in self._children(trio):
            found += pieces if pieces or each is None else self._flat(each)
        if after := self._after(trio):
            found.append(after)
        return found

    def _children(self, trio: _Trio) -> list[tuple[_Trio | None, list[Leaf]]]:
        """What stands in a part, each with what it says. That of containers is left to who asks."""
        heads = self._roles(trio, ("head", "columns", "delimiter"))
        tails = self._roles(trio, ("tail",))
        order = self._order(trio)
        self._settle_blanks(trio, [*heads, *(each for each, _ in order), *tails])
        found: list[tuple[_Trio | None, list[Leaf]]] = [(each, self._flat(each)) for each in heads]
        frame = self._frame(trio, found)
        for run in self._runs(order):
            found.append(self._said(run, frame))
        found += [(each, self._flat(each)) for each in tails]
        return self._kept_apart(found)

    def _roles(self, trio: _Trio, roles: Sequence[str]) -> list[_Trio]:
        found: dict[_Trio, str] = {}
        for side in (trio.main, trio.proposed):
            for child in side.children or () if side is not None else ():
                if child.role in roles and child.kind != "cell" and self._trios[child].is_here:
                    found.setdefault(self._trios[child], child.role)
        ranked = sorted(found, key=lambda each: roles.index(found[each]))
        return list({found[each]: each for each in reversed(ranked)}.values())[::-1]

    def _runs(self, order: list[tuple[_Trio, bool]]) -> Iterator[list[tuple[_Trio, bool]]]:
        """What is decided at once: each by itself, but what both sides put at the same place together."""
        run: list[tuple[_Trio, bool]] = []
        for entry in order:
            each = entry[0]
            if run and not (each.is_new_in_proposed or (each.is_new_in_main and run[-1][0].is_new_in_main)):
                yield from self._split(run)
                run = []
            if each.is_new_in_main or (each.is_new_in_proposed and (run or self._is_strict)):
                run.append(entry)
                continue
            yield from self._split(run)
            run = []
            yield [entry]
        yield from self._split(run)

    def _split(self, run: list[tuple[_Trio, bool]]) -> Iterator[list[tuple[_Trio, bool]]]:
        """A run as one where its parts exclude one another."""
        trios = [each for each, _ in run]
        are_both = any(each.is_new_in_main for each in trios) and any(each.is_new_in_proposed for each in trios)
        side_by_side = {each.kind for each in trios} in ({"item"}, {"row"})
        if run and (self._is_strict or (are_both and not side_by_side)) and not any(map(self._holds_others, trios)):
            yield run
        else:
            yield from ([entry] for entry in run)

    def _holds_others(self, trio: _Trio) -> bool:
        """Whether something that was there before, or is elsewhere too, stands in it."""
        return any(
            each is not trio and not (each.is_new_in_main or each.is_new_in_proposed)
            for each in map(self._trios.__getitem__, trio.any.walk())
        )

    def _said(self, run: list[tuple[_Trio, bool]], frame: tuple[str, str]) -> tuple[_Trio | None, list[Leaf]]:
        (first, is_second) = run[0]
        if len(run) > 1 or (self._is_strict and (first.is_new_in_main or first.is_new_in_proposed)):
            ours = "".join(each.any.source for each, _ in run if each.is_new_in_main)
            theirs = "".join(each.any.source for each, _ in run if each.is_new_in_proposed)
            base = None if self._is_strict else ""
            return first, [Conflict(base, ours, theirs, first.kind, frame)]
        is_moved = is_second or first.second_home is not None or self._stands_twice(first)
        if not is_moved:
            if self._is_divided(first):
                return first, []
            return first, [_framed(each, frame) for each in self._flat(first)]
        pieces = self._flat(first)
        text, other = (
            "".join(piece if isinstance(piece, str) else getattr(piece, side) for piece in pieces)
            for side in ("main", "proposed")
        )
        base = first.base.source if first.base is not None else ""
        sides = ("", other) if is_second else (text, "")
        return first, [Conflict(base, *sides, "moved", frame, moved_to=first.number, is_second=is_second)]

    def _stands_twice(self, trio: _Trio) -> bool:
        return trio.home is not None and (trio, True) in self._order(trio.home)

    def _frame(self, trio: _Trio, heads: list[tuple[_Trio | None, list[Leaf]]]) -> tuple[str, str]:
        """What makes a part of this readable alone."""
        if trio.kind not in ("code", "table", "html_table"):
            return "", ""
        head = "".join(
            piece if isinstance(piece, str) else piece.main or piece.proposed for _, pieces in heads for piece in pieces
        )
        if trio.kind == "table":
            return head, ""
        if trio.kind == "html_table":
            return head, "</tbody></table>"
        return head, head.lstrip()[:1] * (len(head.lstrip()) - len(head.lstrip().lstrip(head.lstrip()[:1])))

    def _settle_blanks(self, trio: _Trio, order: list[_Trio]) -> None:
        """Let what is behind a part be what it is on the side where the same part follows."""
        if trio.kind == "row":
            return
        for each, following in zip_longest(order, order[1:]):
            sides = [
                side
                for side, following_side in (
                    (each.main, following.main if following else None),
                    (each.proposed, following.proposed if following else None),
                )
                if side is not None and self._follows(side, following_side, trio)
            ]
            if following is not None and following.is_contested and each.main and each.proposed:
                afters = each.main.after, each.proposed.after
                self._afters[each] = min(afters, key=_blanks)
                least = _blanks(self._afters[each])
                self._befores[following] = tuple("\n" * (_blanks(after) - least) for after in afters)
            elif len(sides) == 1:
                self._afters[each] = sides[0].after

    def _follows(self, side: Segment, following: Segment | None, trio: _Trio) -> bool:
        """Whether `following` (None: nothing) comes right behind `side` within a part."""
        above = self._above.get(side)
        if above is None or self._trios[above] is not trio:
            return False
        place = self._places[side] + 1
        siblings = above.children or ()
        return siblings[place] is following if place < len(siblings) else following is None

    def _after(self, trio: _Trio) -> str:
        if trio in self._afters:
            return self._afters[trio]
        return _chosen(*(each.after if each is not None else None for each in (trio.base, trio.main, trio.proposed)))

    def _deleted(self, trio: _Trio) -> Conflict:
        """What one side edited and the other deleted."""
        side = trio.main or trio.proposed
        assert side is not None
        text = self._without_others(side).removesuffix(side.after) + self._after(trio)
        base = trio.base.source if trio.base is not None else ""
        before = self._befores.get(trio, ("", ""))
        main, proposed = (text, "") if trio.main is not None else ("", text)
        return Conflict(base, before[0] + main, before[1] + proposed, trio.kind)

    def _without_others(self, side: Segment) -> str:
        """The text of a part without what the other side has elsewhere."""
        if side.children is None:
            return side.source
        kept = []
        for child in side.children:
            trio = self._trios[child]
            if trio.main is None or trio.proposed is None:
                kept.append(self._without_others(child))
        return "".join(kept) + side.after

    def _leaf(self, trio: _Trio) -> list[Leaf]:
        sides = (trio.base, trio.main, trio.proposed)
        base, main, proposed = sides
        lead = _chosen(*(each.lead if each is not None else None for each in sides))
        after = self._after(trio)
        if main is None or proposed is None:
            return [lead + trio.any.text + after]
        if main.key == proposed.key or (base is not None and base.key in (main.key, proposed.key)):
            is_as_it_was = base is not None and (main.text == base.text or (main.key == base.key != proposed.key))
            return [lead + (proposed if is_as_it_was else main).text + after]
        before = base.text if base is not None else "" if not self._is_strict else None
        ours, theirs = main.text, proposed.text
        if trio.kind in ("paragraph", "text") and before and "\n" in before + ours + theirs:
            found = regions(*(text.split("\n") for text in (before, ours, theirs)))
            settled = [each.settled for each in found]
            was, ours, theirs = (
                "\n".join(
                    line
                    for region, lines in zip(found, settled, strict=True)
                    for line in (region[at] if lines is None else lines)
                )
                for at in range(3)
            )
            if None not in settled:
                return [lead + ours + after]
            before = was
        texts = [lead + text + after if text else "" for text in (ours, theirs)]
        old = None if before is None else lead + before + after if before else ""
        return [Conflict(old, texts[0], texts[1], trio.kind if trio.kind != "text" else "item")]

    def _row(self, trio: _Trio) -> list[Leaf]:
        """A row: where cells of it are in conflict, the whole of it is, with what else was changed in it."""
        pieces = [piece for _, said in self._children(trio) for piece in said]
        after = self._after(trio)
        if not any(isinstance(piece, Conflict) for piece in pieces):
            return ["".join([*(piece for piece in pieces if isinstance(piece, str)), after])]
        base, main, proposed = (
            "".join(piece if isinstance(piece, str) else getattr(piece, side) or "" for piece in pieces) + after
            for side in ("base", "main", "proposed")
        )
        before = base if trio.base is not None else None if self._is_strict else ""
        return [Conflict(before, main, proposed, "row")]

    # How they stand beside one another

    def _kept_apart(self, found: list[tuple[_Trio | None, list[Leaf]]]) -> list[tuple[_Trio | None, list[Leaf]]]:
        """What came to stand beside something else does not run into it."""
        for (one, pieces), (other, following) in pairwise(found):
            if one is None or other is None or one.kind in ("edge", "cell"):
                continue
            if not pieces:
                continue
            if self._stood_so(one, other):
                continue
            firsts = _beginnings(following) or [other.any.source]
            pieces[-1] = _spaced(pieces[-1], firsts, is_block=not {one.kind, other.kind} <= {"row", "line", "tag"})
        return found

    def _stood_so(self, one: _Trio, other: _Trio) -> bool:
        """Whether they stand beside each other on a side whose blank lines are taken."""
        after = self._after(one)
        return any(
            mine is not None
            and theirs is not None
            and mine.after == after
            and self._follows(mine, theirs, self._trios[self._above[mine]])
            for mine, theirs in ((one.main, other.main), (one.proposed, other.proposed))
        )


_KNOWN_ANYWHERE = 10
"""Letters of what both sides added that is the same wherever they put it."""
_MOST_WEIGHED = 400
_HEADING = 200
_ALIKE = 0.75
"""How alike rows or items are that exclude one another."""


def _are_one(one: Segment, other: Segment) -> bool:
    """Whether two parts that were put at the same place can only be one: rows and items can stand side by side."""
    if one.kind not in ("row", "item") or one.key == other.key:
        return True
    names = [next((leaf.key for leaf in each.leaves() if leaf.kind in ("cell", "text")), "") for each in (one, other)]
    return names[0] == names[1] != "" or text_similarity(one.words, other.words) >= _ALIKE


def _framed(piece: Leaf, frame: tuple[str, str]) -> Leaf:
    if isinstance(piece, str) or frame == ("", "") or piece.frame != ("", ""):
        return piece
    return replace(piece, frame=frame)


def _stayed(before: list[_Trio], after: list[_Trio]) -> set[_Trio]:
    """Which parts need not have moved to get from one order to the other: as much text as possible, headings first."""
    if len(before) > _MOST_WEIGHED:
        return in_order(before, after)
    place = {each: number for number, each in enumerate(before)}
    best: list[tuple[int, _Trio | None]] = []
    for at, each in enumerate(after):
        weight = 1 + each.any.size + (_HEADING if each.kind == "heading" else 0)
        most, last = 0, None
        for earlier in range(at):
            if place[after[earlier]] < place[each] and best[earlier][0] > most:
                most, last = best[earlier][0], after[earlier]
        best.append((most + weight, last))
    found: set[_Trio] = set()
    back = {each: last for each, (_, last) in zip(after, best, strict=True)}
    one = after[max(range(len(after)), key=lambda at: best[at][0])] if after else None
    while one is not None:
        found.add(one)
        one = back[one]
    return found


def _before(each: _Trio, order: list[_Trio], moved: set[_Trio]) -> _Trio | None:
    """What stands before it of what nobody moved."""
    found = None
    for one in order:
        if one is each:
            break
        if one not in moved:
            found = one
    return found


def _block(pieces: list[Leaf]) -> Part:
    if any(isinstance(piece, Conflict) for piece in pieces):
        return Undecided(tuple(pieces))
    return "".join(piece for piece in pieces if isinstance(piece, str))


def _ended(part: Part, most: int) -> Part:
    """A part that ends with no more line ends than `most`."""
    if isinstance(part, str):
        return _cut(part, most)
    *pieces, last = part.pieces
    if isinstance(last, str):
        return Undecided((*pieces, _cut(last, most)))
    return Undecided((*pieces, replace(last, main=_cut(last.main, most), proposed=_cut(last.proposed, most))))


def _cut(text: str, most: int) -> str:
    bare = text.rstrip("\n")
    return bare + text[len(bare) : len(bare) + most]


def _blanks(after: str) -> int:
    return after.count("\n")


def _beginnings(pieces: list[Leaf]) -> list[str]:
    """What may stand first of these, as they are decided."""
    found = []
    for piece in pieces:
        texts = [piece] if isinstance(piece, str) else [piece.main, piece.proposed]
        found += [text for text in texts if text]
        if found and all(texts):
            break
    return found


def _spaced(piece: Leaf, firsts: list[str], *, is_block: bool) -> Leaf:
    """`piece` so that none of what may follow runs into it."""
    if isinstance(piece, str):
        return _set_apart(piece, firsts, is_block)
    main, proposed = (_set_apart(text, firsts, is_block) for text in (piece.main, piece.proposed))
    return replace(piece, main=main, proposed=proposed)


def _set_apart(text: str, firsts: list[str], is_block: bool) -> str:
    if not text:
        return text
    if not text.endswith("\n"):
        text += "\n"
    last = text[:-1].rpartition("\n")[2]
    return text + "\n" * (is_block and any(continues(last, each.partition("\n")[0]) for each in firsts))
