"""Which attributes of a block, or lines of a page's front matter, are others now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from octavo.documents.changes import Setting
from octavo.documents.nodes import Node, settings


def changed_settings(old: Node, new: Node) -> tuple[Setting, ...]:
    """The attributes that differ between two blocks."""
    before, after = settings(old.block), settings(new.block)
    if old.kind != new.kind:
        before.pop("level", None)
        after.pop("level", None)
    return _differences(before, after)


def changed_metadata(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Setting, ...]:
    """What differs between two front matters."""
    return _differences(_flat(old), _flat(new))


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Setting, ...]:
    names = [*before, *(name for name in after if name not in before)]
    found = []
    for name in names:
        old, new = before.get(name), after.get(name)
        if old != new:
            # What can be yes or no is no where it is not said.
            switch = isinstance(old, bool) or isinstance(new, bool)
            found.append(Setting(name, _said(old or False if switch else old), _said(new or False if switch else new)))
    return tuple(found)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def _said(value: Any) -> str | None:
    """An attribute as a reader may see it."""
    if value is None or value == {}:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(filter(None, map(_said, value)))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_said(each)}" for name, each in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)
