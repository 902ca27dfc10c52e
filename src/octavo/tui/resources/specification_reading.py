"""OpenAPI specifications: followed after an upload until they are processed, and the text of the last version."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from octavo.api import openapi
from octavo.api.errors import ApiError
from octavo.api.labels import label
from octavo.api.operation import Operation
from octavo.data.live import Live
from octavo.tui.resources.resource import Facts, Known
from octavo.tui.shell.write_queue import show_progress
from octavo.tui.widgets.wording import long_age, plural

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

BETWEEN, LOOKS = 1.0, 60
"""Seconds between looks whether a specification is read, and how many there are."""
MOST_SHOWN = 400_000
"""Characters of a specification that are shown."""
_READS = ("pending", "progress")
_METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})


async def of_specification(live: Live, known: Known, thing: openapi.OpenApiSpec) -> Facts:
    """What the last version that could be read is."""
    if thing.last_version is None:
        return (("latest version", "no version processed yet"),)
    found = await live.send(openapi.GetLatestVersion(at=known["at"], spec_slug=thing.slug))
    age = f", processed {long_age(found.created_at)}" if found.created_at is not None else ""
    return (
        ("latest version", f"{found.id}{age}"),
        ("text", "press enter to list the versions, select the latest version (the last in the list), and press enter"),
    )


async def follow(shell: Shell, known: Known, sent: Operation[Any], answer: Any) -> None:
    """Tell what became of a specification once the server has read it; pages that show its operations show those."""
    live, slug = (
        shell.session.live,
        getattr(answer, "slug", "") or getattr(sent, "slug", "") or known.get("spec_slug", ""),
    )
    asked = openapi.Get(at=known["at"], spec_slug=slug)
    try:
        with show_progress(shell, f"Processing {slug}…"):
            now = await live.fetch(asked)
            for _ in range(LOOKS):
                if now.processing_state not in _READS:
                    break
                await asyncio.sleep(BETWEEN)
                now = await live.fetch(asked)
        live.refresh_affected(sent)
        if now.last_process_error_code:
            code = f"{label(now.last_process_error_code)}."
            why = next((each.message for each in now.last_processed_errors if each.message), code)
            shell.say(f"Could not process {slug}: {why} The previous version is still in use.", tone="failed")
        elif now.processing_state in _READS:
            shell.say(f"The server is still processing {slug}. Press r to check again.", tone="care")
        else:
            text = await live.fetch(openapi.GetLatestContent(at=known["at"], spec_slug=slug))
            if live.peek(listed := openapi.List(at=known["at"], limit=100)).value is not None:
                await live.fetch(listed)
            live.specifications_parsed += 1
            shell.say(f"Processed {slug}: {_in_short(text)}. Pages that show its operations are up to date.")
    except ApiError as error:
        shell.say(f"Could not check whether {slug} was processed: {error}", tone="failed")


def _in_short(text: openapi.VersionContent) -> str:
    """How many operations there are."""
    files = text.filesystem if isinstance(text.filesystem, dict) else {}
    count = 0
    for file in (files, *files.values()):
        paths = file.get("paths") if isinstance(file, dict) else None
        for each in paths.values() if isinstance(paths, dict) else ():
            count += len(_METHODS & set(each)) if isinstance(each, dict) else 0
    return plural(count, "operation")


def open_version(shell: Shell, known: Known, version: openapi.Version) -> None:
    """Show the text of a version over the list, where it is the last: of others the server gives an address only."""
    shell.background(_open(shell, known, version))


async def _open(shell: Shell, known: Known, version: openapi.Version) -> None:
    from octavo.documents.blocks import Block
    from octavo.documents.parse import parse  # few read a specification
    from octavo.tui.reader.note import NoteSheet
    from octavo.tui.render.deferred_loaders import deferred_content

    asked = {"at": known["at"], "spec_slug": known["spec_slug"]}
    on_show = shell.screen
    try:
        with show_progress(shell, f"Loading {known['spec_slug']}…"):
            last = await shell.session.live.send(openapi.GetLatestVersion(**asked))
            if last.id != version.id:
                shell.say(
                    "Octavo can show only the latest version. Press Y to copy a link to this version.", tone="care"
                )
                return
            found = await shell.session.live.fetch(openapi.GetLatestContent(**asked))
    except ApiError as error:
        shell.say(f"Could not load the specification: {error}", tone="failed")
        return
    text = await asyncio.to_thread(_as_text, found.filesystem)
    left = (
        f"\n\nOnly the first {MOST_SHOWN:,} of {len(text):,} characters are shown.\n"
        if len(text) > MOST_SHOWN
        else "\n"
    )
    document = await asyncio.to_thread(parse, f"```json\n{text[:MOST_SHOWN]}\n```{left}")
    if shell.screen is on_show:
        shell.push_screen(
            NoteSheet(
                Block("note", children=document.blocks, key=version.id),
                deferred_content(diagrams=False),
                known["spec_slug"],
            )
        )


def _as_text(filesystem: Any) -> str:
    files = filesystem if isinstance(filesystem, dict) else {}
    only = next(iter(files.values())) if len(files) == 1 else files
    return json.dumps(only, ensure_ascii=False, indent=2).replace("```", "'''")
