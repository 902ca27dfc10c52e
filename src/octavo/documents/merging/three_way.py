"""The three-way merge of a text: what its parts say, where `placement` has them, and what of it is left to a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest

from octavo.documents.merging.conflict import Conflict, Leaf, Part, Undecided
from octavo.documents.merging.line_ends import CRLF, line_end, with_crlf
from octavo.documents.merging.lines import regions
from octavo.documents.merging.placement import Entry, Placement, ThreeWayPart
from octavo.documents.merging.segments import Segment, continues


def parts(base: str | None, main: str, proposed: str) -> tuple[Part, ...]:
    """What becomes of `base`, in order. Where it is not known, all that the sides do not share is in conflict."""
    if base is not None and (main in (base, proposed) or proposed == base):
        return (proposed if main == base else main,)
    if main == proposed:
        return (main,)
    ends = [line_end(each) for each in (base, main, proposed)]
    if CRLF in ends and None not in ends:
        bare_base = None if base is None else base.replace(CRLF, "\n")
        found = parts(bare_base, main.replace(CRLF, "\n"), proposed.replace(CRLF, "\n"))
        return tuple(with_crlf(part) for part in found) if _chosen(*ends) == CRLF else found
    return tuple(_joined(_Wording(base, main, proposed).parts()))


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


def _chosen(base: str | None, main: str | None, proposed: str | None) -> str:
    """What becomes of what says nothing by itself: what one side changed, in doubt what the primary content has."""
    if main is None or proposed is None:
        return main if main is not None else proposed or ""
    return proposed if main == base else main


class _Wording:
    """What the parts of one text say."""

    def __init__(self, base: str | None, main: str, proposed: str) -> None:
        self._placement = Placement(base, main, proposed)
        self._most_ends = max(len(each) - len(each.rstrip("\n")) for each in (main, proposed))
        self._afters: dict[ThreeWayPart, str] = {}
        """What is behind a part, where that is what one of the sides has there."""
        self._befores: dict[ThreeWayPart, tuple[str, ...]] = {}
        """The blank lines that come with what one side deleted, if that is decided for the primary content or not."""

    def parts(self) -> list[Part]:
        """The whole text. It ends as one of the sides does, also where something else is last now."""
        found = [part for part in self._blocks(self._placement.root) if part != ""]
        if found:
            found[-1] = _ended(found[-1], self._most_ends)
        return found

    def _blocks(self, trio: ThreeWayPart) -> list[Part]:
        """What is in a part that is divided into blocks, each of them decided or not."""
        children = self._children(trio)
        after = self._after(trio)
        if trio is not self._placement.root and any(
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

    def _is_divided(self, trio: ThreeWayPart) -> bool:
        return trio.kind == "container" and not trio.is_contested

    def _flat(self, trio: ThreeWayPart) -> list[Leaf]:
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

    def _children(self, trio: ThreeWayPart) -> list[tuple[ThreeWayPart | None, list[Leaf]]]:
        """What stands in a part, each with what it says. That of containers is left to who asks."""
        heads = self._roles(trio, ("head", "columns", "delimiter"))
        tails = self._roles(trio, ("tail",))
        order = self._placement.order(trio)
        self._settle_blanks(trio, [*heads, *(each for each, _ in order), *tails])
        found: list[tuple[ThreeWayPart | None, list[Leaf]]] = [(each, self._flat(each)) for each in heads]
        frame = self._frame(trio, found)
        for run in self._runs(order):
            found.append(self._said(run, frame))
        found += [(each, self._flat(each)) for each in tails]
        # The rows of an HTML table may all be on one line.
        return found if trio.kind == "html_table" else self._kept_apart(found)

    def _roles(self, trio: ThreeWayPart, roles: Sequence[str]) -> list[ThreeWayPart]:
        found: dict[ThreeWayPart, str] = {}
        for side in (trio.main, trio.proposed):
            for child in side.children or () if side is not None else ():
                if child.role in roles and child.kind != "cell" and self._placement.trios[child].is_here:
                    found.setdefault(self._placement.trios[child], child.role)
        ranked = sorted(found, key=lambda each: roles.index(found[each]))
        return list({found[each]: each for each in reversed(ranked)}.values())[::-1]

    def _runs(self, order: list[Entry]) -> Iterator[list[Entry]]:
        """What is decided at once: each by itself, but what both sides put at the same place together. What goes on with a
        list stands there by itself, whatever the other side put below the list."""
        run: list[Entry] = []
        last = ""
        for entry in order:
            each = entry[0]
            if run and (
                self._ends_list(run, each)
                or not (each.is_new_in_proposed or (each.is_new_in_main and run[-1][0].is_new_in_main))
            ):
                yield from self._split(run)
                run = []
            goes_on = not run and not self._placement.is_strict and each.kind == last and last in ("item", "row")
            last = each.kind
            if not goes_on and (
                each.is_new_in_main or (each.is_new_in_proposed and (run or self._placement.is_strict))
            ):
                run.append(entry)
                continue
            yield from self._split(run)
            run = []
            yield [entry]
        yield from self._split(run)

    def _ends_list(self, run: list[Entry], following: ThreeWayPart) -> bool:
        """Whether both sides put items into one list, and what follows is none of it."""
        kinds = {each.kind for each, _ in run}
        are_both = len({each.is_new_in_main for each, _ in run}) > 1
        return (
            are_both and not self._placement.is_strict and kinds in ({"item"}, {"row"}) and following.kind not in kinds
        )

    def _split(self, run: list[Entry]) -> Iterator[list[Entry]]:
        """A run as one where its parts exclude one another."""
        trios = [each for each, _ in run]
        are_both = any(each.is_new_in_main for each in trios) and any(each.is_new_in_proposed for each in trios)
        side_by_side = {each.kind for each in trios} in ({"item"}, {"row"})
        if (
            run
            and (self._placement.is_strict or (are_both and not side_by_side))
            and not any(map(self._holds_others, trios))
        ):
            yield run
        else:
            yield from ([entry] for entry in run)

    def _holds_others(self, trio: ThreeWayPart) -> bool:
        """Whether something that was there before, or is elsewhere too, stands in it."""
        return any(
            each is not trio and not (each.is_new_in_main or each.is_new_in_proposed)
            for each in map(self._placement.trios.__getitem__, trio.any.walk())
        )

    def _said(self, run: list[Entry], frame: tuple[str, str]) -> tuple[ThreeWayPart | None, list[Leaf]]:
        (first, is_second) = run[0]
        if len(run) > 1 or (self._placement.is_strict and (first.is_new_in_main or first.is_new_in_proposed)):
            ours = "".join(each.any.source for each, _ in run if each.is_new_in_main)
            theirs = "".join(each.any.source for each, _ in run if each.is_new_in_proposed)
            if ours == theirs:
                return first, [ours]
            base = None if self._placement.is_strict else ""
            return first, [Conflict(base, ours, theirs, first.kind, frame)]
        is_moved = is_second or first.second_home is not None or first in self._placement.twice
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

    def _frame(self, trio: ThreeWayPart, heads: list[tuple[ThreeWayPart | None, list[Leaf]]]) -> tuple[str, str]:
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

    def _settle_blanks(self, trio: ThreeWayPart, order: list[ThreeWayPart]) -> None:
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
                if side is not None and self._placement.follows(side, following_side, trio)
            ]
            if following is not None and following.is_contested and each.main and each.proposed:
                in_main = following.main is not None
                stays, goes = (each.main, each.proposed) if in_main else (each.proposed, each.main)
                self._afters[each] = goes.after
                if self._placement.follows(stays, following.main or following.proposed, trio):
                    afters = each.main.after, each.proposed.after
                    self._afters[each] = min(afters, key=_blanks)
                    least = _blanks(self._afters[each])
                    self._befores[following] = tuple("\n" * (_blanks(after) - least) for after in afters)
            elif len(sides) == 1:
                self._afters[each] = sides[0].after

    def _after(self, trio: ThreeWayPart) -> str:
        if trio in self._afters:
            return self._afters[trio]
        return _chosen(*(each.after if each is not None else None for each in (trio.base, trio.main, trio.proposed)))

    def _deleted(self, trio: ThreeWayPart) -> Conflict:
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
            trio = self._placement.trios[child]
            if trio.main is None or trio.proposed is None:
                kept.append(self._without_others(child))
        return "".join(kept) + side.after

    def _leaf(self, trio: ThreeWayPart) -> list[Leaf]:
        sides = (trio.base, trio.main, trio.proposed)
        base, main, proposed = sides
        lead = _chosen(*(each.lead if each is not None else None for each in sides))
        after = self._after(trio)
        if main is None or proposed is None:
            return [lead + trio.any.text + after]
        if main.key == proposed.key or (base is not None and base.key in (main.key, proposed.key)):
            is_as_it_was = base is not None and (main.text == base.text or (main.key == base.key != proposed.key))
            return [lead + (proposed if is_as_it_was else main).text + after]
        before = base.text if base is not None else "" if not self._placement.is_strict else None
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

    def _row(self, trio: ThreeWayPart) -> list[Leaf]:
        """A row: where cells of it are in conflict, the whole of it is, with what else was changed in it."""
        pieces = [piece for _, said in self._children(trio) for piece in said]
        after = self._after(trio)
        if not any(isinstance(piece, Conflict) for piece in pieces):
            return ["".join([*(piece for piece in pieces if isinstance(piece, str)), after])]
        base, main, proposed = (
            "".join(piece if isinstance(piece, str) else getattr(piece, side) or "" for piece in pieces) + after
            for side in ("base", "main", "proposed")
        )
        before = base if trio.base is not None else None if self._placement.is_strict else ""
        return [Conflict(before, main, proposed, "row")]

    # How they stand beside one another

    def _kept_apart(
        self, found: list[tuple[ThreeWayPart | None, list[Leaf]]]
    ) -> list[tuple[ThreeWayPart | None, list[Leaf]]]:
        """What came to stand beside something else does not run into it."""
        for (one, pieces), (other, following) in pairwise(found):
            if one is None or other is None or one.kind in ("edge", "cell"):
                continue
            if not pieces:
                continue
            firsts = _beginnings(following) or [other.any.source]
            is_line = {one.kind, other.kind} <= {"row", "line", "tag"} or _is_tag(one, "head") or _is_tag(other, "tail")
            is_new = not self._stood_so(one, other)
            if is_new or any(side.source.endswith("\n") for side in (one.main, one.proposed) if side is not None):
                pieces[-1] = _spaced(pieces[-1], firsts, is_block=is_new and not is_line)
        return found

    def _stood_so(self, one: ThreeWayPart, other: ThreeWayPart) -> bool:
        """Whether they stand beside each other on a side whose blank lines are taken."""
        after = self._after(one)
        return any(
            mine is not None
            and theirs is not None
            and mine.after == after
            and self._placement.follows(mine, theirs, self._placement.trios[self._placement.above[mine]])
            for mine, theirs in ((one.main, other.main), (one.proposed, other.proposed))
        )


def _is_tag(trio: ThreeWayPart, role: str) -> bool:
    """Whether it is the tag of the platform that opens or closes a container: nothing runs into that."""
    return trio.any.role == role and trio.any.text.startswith("{%")


def _framed(piece: Leaf, frame: tuple[str, str]) -> Leaf:
    if isinstance(piece, str) or frame == ("", "") or piece.frame != ("", ""):
        return piece
    return replace(piece, frame=frame)


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
