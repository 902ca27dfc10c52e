"""The rows of the inbox as they are kept for the next start: what they are made of takes seconds to read in thousands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from typing import Any

from octavo.api.places import ChangeRequestRef, Discussion, SpaceRef
from octavo.data.inbox import REASONS, DraftRef, Row, Thing, ThreadRef, WriteRef
from octavo.untrusted_input import parse_json

MOST = 1000
"""Rows that are kept."""
_PLAIN = ("key", "reason", "also", "words", "title", "context", "space_id", "stamp")


def packed(rows: tuple[Row, ...]) -> bytes:
    """Rows as they are kept."""
    return json.dumps([_packed(row) for row in rows[:MOST]], ensure_ascii=False).encode("utf-8", "surrogatepass")


def unpacked(kept: bytes) -> tuple[Row, ...]:
    """Return the saved rows. Rows that cannot be read are left out: another version of Octavo wrote them."""
    try:
        return tuple(_unpacked(each) for each in parse_json(kept.decode("utf-8", "surrogatepass")))
    except (ValueError, TypeError, KeyError, IndexError):
        return ()


def _packed(row: Row) -> dict[str, Any]:
    about = row.about
    match about:
        case ThreadRef(at=at, comment_id=comment):
            thing = ["thread", comment, *_place(at)]
        case DraftRef(draft_key=place):
            thing = ["draft", place]
        case WriteRef(entry_id=entry):
            thing = ["write", entry]
        case _:
            thing = ["request", *_place(about)]
    moment = row.moment.isoformat() if row.moment is not None else None
    return {**{name: getattr(row, name) for name in _PLAIN}, "moment": moment, "about": thing}


def _unpacked(kept: dict[str, Any]) -> Row:
    kind, *rest = kept["about"]
    plain = {name: kept[name] for name in _PLAIN}
    plain["also"] = tuple(plain["also"])
    if not {plain["reason"], *plain["also"]} <= set(REASONS):
        raise ValueError("a reason from another version of Octavo")
    moment = datetime.fromisoformat(kept["moment"]) if kept["moment"] is not None else None
    return Row(**plain, moment=moment, about=_THINGS[kind](*rest))


def _place(at: Discussion) -> list[str]:
    return [at.space_id, at.change_request_id] if isinstance(at, ChangeRequestRef) else [at.space_id]


def _discussion(space: str, change_request: str = "") -> Discussion:
    if change_request:
        return ChangeRequestRef(space_id=space, change_request_id=change_request)
    return SpaceRef(space_id=space)


_THINGS: dict[str, Callable[..., Thing]] = {
    "thread": lambda comment, *place: ThreadRef(_discussion(*place), comment),
    "draft": DraftRef,
    "write": WriteRef,
    "request": lambda space, request: ChangeRequestRef(space_id=space, change_request_id=request),
}
assert {*_PLAIN, "moment", "about"} == {each.name for each in fields(Row)}, "every field of an item must be stored"
