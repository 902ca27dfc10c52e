"""The order in which `n` and `N` visit the changes of a diff: the order of the page, or the most important changes
first."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.documents.change_kinds import leading_kind, risk
from octavo.tui.render.diff_units import DiffUnit, DiffUnits


def change_at(units: Sequence[DiffUnit], index: int) -> int:
    """Return the index of the unit with the change at `index`, else with the last change above it. -1 if there is
    none."""
    return next((at for at in range(min(index, len(units) - 1), -1, -1) if units[at].change_number >= 0), -1)


def change_indexes(units: Sequence[DiffUnit], *, by_risk: bool) -> list[int]:
    """Return the indexes of the units of all changes, in the order in which `n` visits them."""
    found = [at for at, unit in enumerate(units) if unit.change_number >= 0]
    return sorted(found, key=lambda at: risk(units[at].kinds)) if by_risk and _has_kinds(units, found) else found


def following_changes(units: Sequence[DiffUnit], index: int, step: int, *, by_risk: bool) -> list[int]:
    """Return the indexes of the units with the changes after the change at `index`, or before it if `step` is -1,
    nearest first. `index` is -1 before the first change, and the number of units after the last."""
    order = change_indexes(units, by_risk=by_risk)
    if not by_risk or not 0 <= index < len(units):
        return [at for at in order if at > index] if step > 0 else [at for at in reversed(order) if at < index]
    here = change_at(units, index)
    if here < 0:
        return order if step > 0 else []
    position = order.index(here)
    return order[position + 1 :] if step > 0 else order[:position][::-1]


def position_text(diff: DiffUnits, index: int, *, by_risk: bool) -> str:
    """Return the number of the change at a unit, such as `change 2 of 7`. If the order is by risk, the text also has
    the kind of the change. Without a change at the unit, it has only the number of changes. Empty if the diff has no
    changes."""
    if not diff.count:
        return ""
    here = change_at(diff.units, index)
    order = " by risk" if by_risk else ""
    if here < 0:
        return f"{diff.count} {'change' if diff.count == 1 else 'changes'}{order}"
    if not by_risk or not diff.units[here].kinds:
        return f"change {diff.units[here].change_number + 1} of {diff.count}{order}"
    number = change_indexes(diff.units, by_risk=True).index(here) + 1
    return f"change {number} of {diff.count}{order}: {leading_kind(diff.units[here].kinds)}"


def _has_kinds(units: Sequence[DiffUnit], indexes: Sequence[int]) -> bool:
    """Return True if the kinds of the changes are known. They are unknown in a source diff."""
    return all(units[at].kinds for at in indexes)
