"""`octavo __complete`: prints REFs from the cache, for the completion of a shell. Sends no request, and imports
little."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

from octavo.cli.platform_folders import demo_folder
from octavo.cli.standard_streams import write_out
from octavo.client import profiles
from octavo.client.profiles import Accounts
from octavo.data.space_names import cached_change_requests, cached_spaces, space_name
from octavo.settings import Settings, read

_SAFE_REF = re.compile(r"[\w-]+(/\d+)?")
"""Matches a REF that is safe to complete. Shells expand special characters in completed words."""


def run(words: Sequence[str]) -> int:
    """Print the REFs of the account, or of the demo with `--demo`, that begin with the last word."""
    prefix = words[-1] if words and not words[-1].startswith("-") else ""
    settings = read(os.environ)
    refs = (each for each in _refs(settings, _namespace(settings, os.environ, words)) if each.startswith(prefix))
    write_out("".join(f"{each}\n" for each in refs if _SAFE_REF.fullmatch(each)))
    return 0


def _namespace(settings: Settings, environ: Mapping[str, str], words: Sequence[str]) -> str:
    """Return the name under which responses are cached. Empty if the account is unknown."""
    if "--demo" in words:
        return demo_folder(settings).namespace
    try:
        saved = profiles.read(settings.config_folder / profiles.FILE)
        return Accounts(settings.state_folder).name_of(profiles.resolve(saved, environ))
    except (ValueError, OSError):
        return ""


def _refs(settings: Settings, namespace: str) -> Iterator[str]:
    titles = cached_spaces(settings.cache_folder, namespace)
    names = {space_id: space_name(space_id, titles) for space_id in titles}
    yield from sorted(names.values())
    requests = cached_change_requests(settings.cache_folder, namespace)
    yield from (f"{names[space_id]}/{number}" for space_id, number in sorted(requests) if space_id in names)
