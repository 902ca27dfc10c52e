"""The versions that merge checks were made for, and the changes since."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from octavo.api import change_requests, content, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.operation import SPECS, read
from octavo.api.places import ChangeRequestRef, RevisionRef
from octavo.data.sending import Send
from octavo.data.writes.write_kind import Basis


@dataclass(frozen=True)
class MergeBasis:
    """A change request and the revision of main that checks were made for."""

    change_request: ChangeRequest
    main: str | None
    """None if the server does not name the revision."""

    @property
    def basis(self) -> Basis:
        """Return the facts that a merge or an update depends on."""
        about = self.change_request
        return Basis(
            revision=about.revision,
            base=about.base,
            status=about.status,
            is_outdated=about.outdated,
            main=self.main,
        )


async def read_basis(send: Send, at: ChangeRequestRef) -> MergeBasis:
    """Return the change request and the revision of main as they are now. Raises ApiError."""
    change_request, space = await asyncio.gather(send(change_requests.Get(at=at)), send(spaces.Get(at=at.space)))
    return MergeBasis(change_request, space.revision)


async def what_changed(send: Send, at: ChangeRequestRef, before: Basis, now: MergeBasis) -> str:
    """Return what changed since the checks, in sentences. Empty if nothing changed."""
    said = []
    if before.revision is not None and now.change_request.revision != before.revision:
        said.append("This change request has been edited since the checks were loaded.")
    has_moved = before.main is not None and now.main != before.main
    # Main may also have moved between the two requests that read a basis: then only `outdated` tells.
    if has_moved or (now.change_request.outdated and not before.is_outdated):
        merged = await _merged_last(send, at, now.main) if has_moved else None
        name = f": #{merged.number} {merged.subject}".rstrip() + " was merged" if merged is not None else ""
        said.append(f"Main has changed since the checks were loaded{name}.")
    return " ".join(said)


async def _merged_last(send: Send, at: ChangeRequestRef, main: str | None) -> ChangeRequest | None:
    """Return the change request whose merge made the revision `main`. None if that is not known."""
    if main is None:
        return None
    try:
        revision = await send(content.Get(at=RevisionRef(space_id=at.space_id, revision_id=main)))
    except ApiError:
        return None
    return change_request_in(revision.merged_from)


def change_request_in(merged_from: Any) -> ChangeRequest | None:
    """Return the change request that a revision names as merged. None if the value is not a change request."""
    try:
        codec = SPECS[change_requests.Get].codec
        return read(codec, to_json(merged_from)) if isinstance(merged_from, dict) else None
    except ValueError:
        return None
