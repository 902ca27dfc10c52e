"""Imports of the first screen."""

from __future__ import annotations

import subprocess
import sys

ALLOWED = {"octavo.api"} | {
    f"octavo.api.{name}"
    for name in (
        *("activity", "errors", "operation", "safety", "text", "wire"),
        *("bodies", "comments", "organizations", "users"),  # The first screen needs these areas.
    )
}


def test_import_of_data_loads_only_the_api_areas_of_the_first_screen() -> None:
    code = "import sys, octavo.data.live, octavo.data.response_cache, octavo.data.state_db, octavo.data.drafts; print(*sys.modules)"
    modules = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    of_api = {name for name in modules if name.startswith("octavo.api")}
    assert of_api == ALLOWED
    assert not {
        "octavo.data.writes.optimistic_updates",
        "octavo.data.writes.comment_kinds",
        "octavo.data.writes.change_request_kinds",
    } & set(modules)
    assert not {"textual", "httpx", "starlette", "keyring"} & set(modules)
