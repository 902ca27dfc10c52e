"""Which parts of one text are those of another, also where they were edited or moved."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from octavo.documents.alignment import best_pairs, text_similarity
from octavo.documents.merging.lines import in_order
from octavo.documents.merging.segments import Segment
from octavo.documents.sequences import stretches

_ALIKE = {"row": 0.5, "line": 0.5, "item": 0.4, "container": 0.3, "code": 0.3, "table": 0.3, "html_table": 0.3}
"""How alike two parts in the same place must be to be the same one, edited. 0.4 for others."""
_ALIKE_ELSEWHERE = 0.6
_LONG_ENOUGH = 10
"""Letters of what is known again in another place when it is the same."""
_LONG_ENOUGH_EDITED = 24
_MOST_PAIRS = 4000
_MOST_IN_ORDER = 250_000
_LONGEST = 4000
"""Characters that are compared."""
_MANY_WORDS = 5
_SHORT = 16
_ALIKE_SHORT, _ALIKE_BESIDE = 0.8, 0.5
"""How alike few letters must be: those of other words are half alike."""
_ALIKE_ALONE = 0.2
"""How alike the only two of a kind must be that are left and may stand in different places."""
_ENCLOSING = ("code", "table", "html_table", "container")
_STAY = frozenset({"cell", "edge", "text", "tag", "row", "line"})
"""Known again only within what they belong to."""


class Matching:
    """Pairs of parts, by the part of either side."""

    def __init__(self, old: Segment, new: Segment) -> None:
        self.new: dict[Segment, Segment] = {}
        """The part of the new text, by that of the old one."""
        self.old: dict[Segment, Segment] = {}
        self._pair(old, new)
        self._roots = (old, new)
        self._find()

    def _find(self) -> None:
        old, new = self._roots
        self._equal(old, new)
        self._moved(_equal_pairs(*self._unmatched(_LONG_ENOUGH)))
        # Who is sure of a pair goes first: what looks a little like what stands in its place now may stand elsewhere.
        self._alike(old, new, _ALIKE_ELSEWHERE)
        self._moved(_similar_pairs(*self._unmatched(_LONG_ENOUGH_EDITED)))
        self._alike(old, new, 0.0)
        self._left(old, new)
        self._alike(old, new, 0.0, short=_ALIKE_BESIDE)
        for table in list(self.new):
            if table.kind in ("table", "html_table"):
                self._cells_of(table, self.new[table])

    def _pair(self, old: Segment, new: Segment) -> None:
        self.new[old], self.old[new] = new, old

    def _same(self, old: Segment, new: Segment) -> None:
        """Pair two parts that say the same, with all that is in them."""
        for one, other in zip(old.walk(), new.walk(), strict=True):
            if one not in self.new and other not in self.old:
                self._pair(one, other)

    def _children(self, old: Segment, new: Segment) -> tuple[list[Segment], list[Segment]]:
        """What is in both that has a place of its own. What both begin and end with is paired."""
        sides: list[list[Segment]] = []
        roles: list[dict[str, Segment]] = []
        for each in (old, new):
            sides.append([child for child in each.children or () if not child.role or child.kind == "cell"])
            roles.append({child.role: child for child in each.children or () if child.role and child.kind != "cell"})
        for role, child in roles[0].items():
            other = roles[1].get(role)
            if other is not None and child not in self.new and other not in self.old:
                self._pair(child, other)
        return sides[0], sides[1]

    def _equal(self, old: Segment, new: Segment) -> None:
        """Pair what stayed in its place as it was."""
        if old.kind == "row":
            return
        ours, theirs = self._children(old, new)
        for equal, i1, i2, j1, _ in stretches(
            [each.key for each in ours], [each.key for each in theirs], landmarks=True
        ):
            for at in range(i2 - i1 if equal else 0):
                self._same(ours[i1 + at], theirs[j1 + at])
        left = [each for each in ours if each not in self.new and each.size]
        self._moved(_equal_pairs(left, [each for each in theirs if each not in self.old]))

    def _alike(self, old: Segment, new: Segment, least: float, short: float = _ALIKE_SHORT) -> None:
        """Pair what stayed in its place and was edited, and go on within it."""
        if old.kind == "row":
            return
        for ours, theirs in self._gaps(old, new):
            for was, now in _likely(ours, theirs, least, short):
                self._enter(was, now)
        ours, theirs = self._children(old, new)
        self._moved(
            _similar_pairs(
                [each for each in ours if each not in self.new and each.size],
                [each for each in theirs if each not in self.old and each.size],
            )
        )
        for one in old.children or ():
            other = self.new.get(one)
            if other is not None and one.children is not None and one.key != other.key:
                self._alike(one, other, least, short)

    def _left(self, old: Segment, new: Segment) -> None:
        """Pair what is left in the same place: what stands there now is what it became."""
        if old.kind == "row":
            return
        for ours, theirs in self._gaps(old, new):
            if len(ours) == len(theirs) and [each.kind for each in ours] == [each.kind for each in theirs]:
                for was, now in zip(ours, theirs, strict=True):
                    # Of two rows that are not alike, cells of one would stand beside cells of the other.
                    if was.kind != "row" and _opening(was) == _opening(now):
                        self._enter(was, now)
            else:
                self._only_ones(ours, theirs, 0.0)
        left, came = self._children(old, new)
        self._only_ones(
            [each for each in left if each not in self.new],
            [each for each in came if each not in self.old],
            _ALIKE_ALONE,
        )
        for one in old.children or ():
            other = self.new.get(one)
            if other is not None and one.children is not None and one.key != other.key:
                self._left(one, other)

    def _only_ones(self, old: list[Segment], new: list[Segment], least: float) -> None:
        """Pair the table, code block or pair of tags that is the only one of its kind on both sides."""
        for kind in _ENCLOSING:
            was, now = ([each for each in side if each.kind == kind] for side in (old, new))
            if not (len(was) == len(now) == 1 and _opening(was[0]) == _opening(now[0])):
                continue
            if _similarity(was[0].words, now[0].words, _ALIKE_SHORT) >= least:
                self._enter(was[0], now[0])

    def _enter(self, old: Segment, new: Segment) -> None:
        self._pair(old, new)
        if old.children is not None:
            self._equal(old, new)

    def _moved(self, pairs: Iterable[tuple[Segment, Segment]]) -> None:
        for old, new in pairs:
            if old in self.new or new in self.old:
                continue
            if old.key == new.key:
                self._same(old, new)
            else:
                self._enter(old, new)
                self._alike(old, new, _ALIKE_ELSEWHERE)

    def _cells_of(self, old: Segment, new: Segment) -> None:
        """Pair the cells of the rows that are the same: those in the same column."""
        rows = [(row, self.new[row]) for row in old.children or () if row.kind == "row" and row in self.new]
        heads = next(((_cells(one), _cells(other)) for one, other in rows if one.role == "columns"), ([], []))
        columns = _columns([cell.key for cell in heads[0]], [cell.key for cell in heads[1]])
        for one, other in rows:
            ours, theirs = _cells(one), _cells(other)
            if one.children and other.children and one.children[0] not in self.new:
                self._pair(one.children[0], other.children[0])
            as_in_head = (len(ours), len(theirs)) == (len(heads[0]), len(heads[1]))
            for i, j in columns if as_in_head else [(at, at) for at in range(min(len(ours), len(theirs)))]:
                if ours[i] not in self.new and theirs[j] not in self.old:
                    self._pair(ours[i], theirs[j])

    def _gaps(self, old: Segment, new: Segment) -> Iterator[tuple[list[Segment], list[Segment]]]:
        """What is not paired yet on both sides, between what is."""
        ours, theirs = self._children(old, new)
        inside = set(theirs)
        stayed = [each for each in ours if self.new.get(each) in inside]
        came = set(stayed)
        fixed = in_order(stayed, [self.old[each] for each in theirs if self.old.get(each) in came])
        place = {each: number for number, each in enumerate(theirs)}
        i = j = 0
        ends = [(at, place[self.new[one]]) for at, one in enumerate(ours) if one in fixed]
        for at, end in [*ends, (len(ours), len(theirs))]:
            gap = (
                [one for one in ours[i:at] if one not in self.new],
                [one for one in theirs[j:end] if one not in self.old],
            )
            if gap[0] and gap[1]:
                yield gap
            i, j = at + 1, end + 1

    def _unmatched(self, least: int) -> tuple[list[Segment], list[Segment]]:
        """What may have gone, and may have come from, elsewhere."""
        return (
            [each for each in self._roots[0].walk() if self._may_move(each, self.new, least)],
            [each for each in self._roots[1].walk() if self._may_move(each, self.old, least)],
        )

    @staticmethod
    def _may_move(each: Segment, paired: Mapping[Segment, Segment], least: int) -> bool:
        return each not in paired and each.kind not in _STAY and not each.role and each.size >= least


def _opening(part: Segment) -> list[str]:
    """What a pair of tags is: the name of it. Nothing for other parts."""
    return part.children[0].text.split()[:2] if part.kind == "container" and part.children else []


def _cells(row: Segment) -> list[Segment]:
    return [child for child in row.children or () if child.kind == "cell"]


def _columns(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    """The place each column has now: by its name, or between those that have kept theirs."""
    counts, others = Counter(old), Counter(new)
    place = {name: j for j, name in enumerate(new)}
    found = {i: place[name] for i, name in enumerate(old) if counts[name] == others[name] == 1}
    taken = set(found.values())
    left, free = ([i for i in range(len(old)) if i not in found], [j for j in range(len(new)) if j not in taken])
    if len(left) == len(free):
        found.update(zip(left, free, strict=True))
    return sorted(found.items())


def _equal_pairs(old: Sequence[Segment], new: Sequence[Segment]) -> Iterator[tuple[Segment, Segment]]:
    """What says the same: as many times on both sides."""
    places: tuple[defaultdict[str, list[Segment]], ...] = (defaultdict(list), defaultdict(list))
    for side, found in zip((old, new), places, strict=True):
        for each in side:
            found[each.key].append(each)
    for key, ours in places[0].items():
        if len(ours) == len(theirs := places[1].get(key, [])):
            yield from zip(ours, theirs, strict=True)


def _similar_pairs(old: Sequence[Segment], new: Sequence[Segment]) -> list[tuple[Segment, Segment]]:
    """What is alike, the most alike first; a part may be in several pairs."""
    if not old or not new or len(old) * len(new) > _MOST_PAIRS:
        return []
    found = [(_likeness(one, other), i, j) for i, one in enumerate(old) for j, other in enumerate(new)]
    found = sorted((each for each in found if each[0] >= _ALIKE_ELSEWHERE), key=lambda each: (-each[0], *each[1:]))
    return [(old[i], new[j]) for _, i, j in found]


def _likely(old: list[Segment], new: list[Segment], least: float, short: float) -> Iterator[tuple[Segment, Segment]]:
    """The parts that are most alike, in the order of both."""
    if len(old) * len(new) > _MOST_IN_ORDER:
        i, j = len(old) // 2, len(new) // 2
        if i and j:
            yield from _likely(old[:i], new[:j], least, short)
            yield from _likely(old[i:], new[j:], least, short)
        return
    for i, j in best_pairs(_worths(old, new, least, short), len(new)):
        yield old[i], new[j]


def _worths(old: Sequence[Segment], new: Sequence[Segment], least: float, short: float) -> list[dict[int, float]]:
    """What it is worth to take two for the same, where they are alike."""
    reach = len(new) if len(old) * len(new) <= _MOST_PAIRS else max(4, _MOST_PAIRS // (2 * len(old)))
    found: list[dict[int, float]] = []
    for i, one in enumerate(old):
        middle = i * len(new) // len(old)
        row: dict[int, float] = {}
        for j in range(max(0, middle - reach), min(len(new), middle + reach + 1)):
            if (alike := _likeness(one, new[j], short)) > least:
                row[j] = alike**2 * (1 + min(one.size + new[j].size, 400) / 800)
        found.append(row)
    return found


def _similarity(old: str, new: str, short: float) -> float:
    """How many words two texts share; for short ones and those without blanks, how many letters. Letters of two long texts
    are alike by chance."""
    # Loaded when there is something to compare: most pages are read, not compared.
    from rapidfuzz.distance import Indel

    sides = old[:_LONGEST].replace(",", " ").split(), new[:_LONGEST].replace(",", " ").split()
    if min(map(len, sides)) >= _MANY_WORDS:
        return Indel.normalized_similarity(*sides)
    alike = text_similarity(old, new, 0.1)
    if any(side and all(word in other for word in side) for side, other in (sides, sides[::-1])):
        alike = max(alike, _ALIKE_SHORT)  # words were added to it, or taken away
    return alike if max(len(old), len(new)) > _SHORT or alike >= short else 0.0


def _likeness(old: Segment, new: Segment, short: float = _ALIKE_SHORT) -> float:
    """How alike two parts of the same place are; 0 when they are not the same one, edited."""
    kinds = {old.kind, new.kind}
    if len(kinds) > 1 and kinds != {"paragraph", "heading"}:
        return 0.0
    least = _ALIKE.get(old.kind, 0.4)
    alike = _similarity(old.words, new.words, short)
    if old.kind == "row" and (cells := _cells(old)) and (others := _cells(new)):
        if cells[0].key == others[0].key and cells[0].key:
            alike = min(1.0, alike + 0.4)
    elif old.children and new.children:
        ours = {child.key for child in old.children if not child.role}
        theirs = {child.key for child in new.children if not child.role}
        if shared := len(ours & theirs):
            alike = max(alike, 0.35 + 0.6 * shared / min(len(ours), len(theirs)))
    return alike if alike >= least else 0.0
