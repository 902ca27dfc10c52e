"""OpenAPI specifications: the status while the server processes an upload, and the text of the latest version."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from octavo.api import openapi
from octavo.api.errors import ApiError
from octavo.api.labels import label
from octavo.api.operation import Operation
from octavo.data.live import Live
from octavo.documents.blocks import Block
from octavo.tui.core.write_queue import show_progress
from octavo.tui.resources.resource import Arguments, DetailFacts
from octavo.tui.widgets.wording import long_age, plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

STATUS_INTERVAL = 1.0
"""Seconds between two status requests after an upload."""
STATUS_REQUESTS = 60
"""Maximum number of status requests after an upload."""
MAX_SHOWN = 400_000
"""Maximum length in characters of the text that is shown for a specification."""
_PENDING_STATES = ("pending", "progress")
_METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace"})


async def specification_facts(live: Live, arguments: Arguments, specification: openapi.OpenApiSpec) -> DetailFacts:
    """Return facts about the latest version that the server could process."""
    if specification.last_version is None:
        return (("latest version", "no version processed yet"),)
    version = await live.send(openapi.GetLatestVersion(at=arguments["at"], spec_slug=specification.slug))
    age = f", processed {long_age(version.created_at)}" if version.created_at is not None else ""
    return (
        ("latest version", f"{version.id}{age}"),
        ("text", "press enter to list the versions, select the latest version (the last in the list), and press enter"),
    )


async def watch_processing(shell: Shell, arguments: Arguments, sent: Operation[Any], response: Any) -> None:
    """Report the result of an upload once the server has processed it, and refresh pages that show its operations."""
    live = shell.session.live
    slug = getattr(response, "slug", "") or getattr(sent, "slug", "") or arguments.get("spec_slug", "")
    request = openapi.Get(at=arguments["at"], spec_slug=slug)
    try:
        with show_progress(shell, f"Processing {slug}…"):
            current = await live.fetch(request)
            for _ in range(STATUS_REQUESTS):
                if current.processing_state not in _PENDING_STATES:
                    break
                await asyncio.sleep(STATUS_INTERVAL)
                current = await live.fetch(request)
        live.refresh_affected(sent)
        if current.last_process_error_code:
            code = f"{label(current.last_process_error_code)}."
            reason = next((each.message for each in current.last_processed_errors if each.message), code)
            shell.say(f"Could not process {slug}: {reason} The previous version is still in use.", tone="failed")
        elif current.processing_state in _PENDING_STATES:
            shell.say(f"The server is still processing {slug}. Press r to check again.", tone="care")
        else:
            text = await live.fetch(openapi.GetLatestContent(at=arguments["at"], spec_slug=slug))
            if live.peek(list_operation := openapi.List(at=arguments["at"], limit=100)).value is not None:
                await live.fetch(list_operation)
            live.specifications_parsed += 1
            shell.say(f"Processed {slug}: {_operation_count(text)}. Pages that show its operations are up to date.")
    except ApiError as error:
        shell.say(f"Could not check whether {slug} was processed: {error}", tone="failed")


def _operation_count(text: openapi.VersionContent) -> str:
    """Return the number of operations in a specification, as text."""
    files = text.filesystem if isinstance(text.filesystem, dict) else {}
    count = 0
    for file in (files, *files.values()):
        paths = file.get("paths") if isinstance(file, dict) else None
        for each in paths.values() if isinstance(paths, dict) else ():
            count += len(_METHODS & set(each)) if isinstance(each, dict) else 0
    return plural(count, "operation")


def open_version(shell: Shell, arguments: Arguments, version: openapi.Version) -> None:
    """Show the text of a version. Only the latest version can be shown: for others the server sends only a URL."""
    shell.background(_show_version(shell, arguments, version))


async def _show_version(shell: Shell, arguments: Arguments, version: openapi.Version) -> None:
    from octavo.documents.parse import parse  # lazy: the Markdown parser and the reader, rarely used here
    from octavo.tui.reader.page_dialogs import TextDialog
    from octavo.tui.render.deferred_loaders import deferred_content

    request = {"at": arguments["at"], "spec_slug": arguments["spec_slug"]}
    screen = shell.screen
    try:
        with show_progress(shell, f"Loading {arguments['spec_slug']}…"):
            latest = await shell.session.live.send(openapi.GetLatestVersion(**request))
            if latest.id != version.id:
                message = "Octavo can show only the latest version. Press Y to copy a link to this version."
                shell.say(message, tone="care")
                return
            content = await shell.session.live.fetch(openapi.GetLatestContent(**request))
    except ApiError as error:
        shell.say(f"Could not load the specification: {error}", tone="failed")
        return
    text, note = await asyncio.to_thread(_as_text, content.filesystem), "\n"
    if len(text) > MAX_SHOWN:
        note = f"\n\nOnly the first {MAX_SHOWN:,} of {len(text):,} characters are shown.\n"
    document = await asyncio.to_thread(parse, f"```json\n{text[:MAX_SHOWN]}\n```{note}")
    if shell.screen is screen:
        block = Block("note", children=document.blocks, key=version.id)
        shell.push_screen(TextDialog(block, deferred_content(diagrams=False), arguments["spec_slug"]))


def _as_text(filesystem: Any) -> str:
    files = filesystem if isinstance(filesystem, dict) else {}
    only = next(iter(files.values())) if len(files) == 1 else files
    return json.dumps(only, ensure_ascii=False, indent=2).replace("```", "'''")
