"""Runs the hooks of the settings, and shows desktop notifications, when something new is in the inbox. Start at `EventHooks`."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from octavo.api.change_requests import ChangeRequest
from octavo.api.safety import safe_line
from octavo.data.inbox_events import InboxEvent, InboxEventDetector, event_of_merge, event_of_row
from octavo.tui.terminal.limited_programs import (
    ProgramFailed,
    run_in_thread,
    run_on_item,
    start_failure,
)
from octavo.tui.terminal.textual_internals import write_to_terminal

if TYPE_CHECKING:
    from octavo.settings.programs import Hook
    from octavo.tui.core.shell import Shell


LONGEST_NOTIFICATION = 80
"""Maximum number of characters of a notification."""
_BY_PROGRAM = {"iTerm.app": "osc9", "WezTerm": "osc9", "ghostty": "osc9", "rio": "osc9"}
_SEQUENCES = {
    "osc9": "\x1b]9;{text}\x1b\\",
    "osc777": "\x1b]777;notify;Octavo;{text}\x1b\\",
    "osc99": "\x1b]99;;{text}\x1b\\",
}
HOOK_SECONDS = 10.0
"""Time limit of a hook."""
MOST_AN_HOUR = 30
"""Maximum number of hooks in an hour, and maximum number of notifications in an hour."""
_HOUR = timedelta(hours=1)


class EventHooks:
    """Runs hooks one at a time, and shows notifications while the terminal has no focus."""

    def __init__(self, app: Shell) -> None:
        self._app = app
        self._detector = InboxEventDetector()
        self._turn = asyncio.Lock()
        self._runs: deque[datetime] = deque(maxlen=MOST_AN_HOUR)
        """Times of the last hooks."""
        self._notified: deque[datetime] = deque(maxlen=MOST_AN_HOUR)
        self._reported: set[str] = set()

    def follow(self) -> None:
        """Start over for a new session. The rows of its first complete inbox are not events."""
        self._detector = InboxEventDetector()

    def on_inbox_changed(self, _: object) -> None:
        """Handle the rows that are new in the inbox."""
        feed = self._app.workspace.inbox
        if feed.rows is None:
            return
        rows = self._detector.new_rows(feed.rows.active, is_complete=feed.is_complete)
        self._handle(event_of_row(each, feed.change_request(each), self._titles) for each in rows)

    def on_merges(self, merged: Iterable[ChangeRequest]) -> None:
        """Handle change requests that were merged."""
        self._handle(event_of_merge(each, self._titles) for each in self._detector.newly_merged(merged))

    @property
    def _titles(self) -> Mapping[str, str]:
        return self._app.workspace.space_titles

    def _handle(self, events: Iterable[InboxEvent]) -> None:
        for event in events:
            self._notify(event)
            for hook in self._app.settings.hooks:
                if hook.event in event.names and self._count_if_allowed(self._runs):
                    self._app.background(self._run(hook, event))

    def _notify(self, event: InboxEvent) -> None:
        if self._app.app_focus:
            return
        sequence = notification(event.text, self._app.settings.notify, os.environ)
        if sequence and self._count_if_allowed(self._notified):
            write_to_terminal(self._app, sequence)

    def _count_if_allowed(self, times: deque[datetime]) -> bool:
        """Return True and count one more run. Return False if there were too many in the last hour."""
        now = self._app.session.state.now()
        if len(times) == times.maxlen and now - times[0] < _HOUR:
            return False
        times.append(now)
        return True

    async def _run(self, hook: Hook, event: InboxEvent) -> None:
        """Run a hook. Each failure is shown once."""
        async with self._turn:
            try:
                await run_in_thread(partial(_run_hook, hook, event))
            except ProgramFailed as error:
                cause = str(error)
                if cause not in self._reported and not self._app.is_ending:
                    self._reported.add(cause)
                    self._app.say(cause, tone="failed")


def _run_hook(hook: Hook, event: InboxEvent, cancelled: threading.Event) -> None:
    """Run a hook and wait for its end. Raises ProgramFailed."""
    program, facts = hook.command[0], event.facts(hook.event)
    values = {"ref": event.ref, "url": event.url, "kind": event.kind, "space": event.space}
    variables = {"OCTAVO_EVENT": hook.event, **{f"OCTAVO_{name.upper()}": value for name, value in values.items()}}
    try:
        run_on_item(program, hook.command, facts, values, variables, seconds=HOOK_SECONDS, cancelled=cancelled)
    except OSError as error:
        raise start_failure(program, "it", error, "Correct the [[hook]] in the settings") from None


def notification(text: str, setting: str, environment: Mapping[str, str]) -> str:
    """Return the escape sequence that shows a notification. Empty if notifications are off or the terminal has none."""
    sequence = _SEQUENCES.get(_sequence_name(environment) if setting == "auto" else setting, "")
    if not sequence:
        return ""
    # `;` separates the fields of OSC 777.
    cleaned = safe_line(text).replace(";", ",")
    shown = sequence.format(
        text=cleaned if len(cleaned) <= LONGEST_NOTIFICATION else f"{cleaned[: LONGEST_NOTIFICATION - 1]}…"
    )
    return f"\x1bPtmux;{shown.replace(chr(27), chr(27) * 2)}\x1b\\" if environment.get("TMUX") else shown


def _sequence_name(environment: Mapping[str, str]) -> str:
    """Return the name of the sequence that the terminal is known to support, such as `osc9`. Empty if none is known."""
    if environment.get("KITTY_WINDOW_ID"):
        return "osc99"
    if environment.get("TERM", "").startswith(("foot", "rxvt")):
        return "osc777"
    return _BY_PROGRAM.get(environment.get("TERM_PROGRAM", ""), "")
