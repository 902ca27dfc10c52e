"""The service itself."""

from __future__ import annotations

from octavo import __version__
from octavo.api import system
from octavo.server.rest import handle
from octavo.server.store import Json
from octavo.server.world import World


@handle.register
def _get(op: system.Get, world: World) -> Json:
    return {"version": "0.143.2", "build": f"octavo-{__version__}"}
