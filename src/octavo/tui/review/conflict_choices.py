"""Resolving conflicts: what was chosen, kept until it is sent, and the sending."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef
from octavo.data.writing_content import EditOutcome, edit, texts
from octavo.documents.conflicts import markers
from octavo.documents.merging.merged_page import Choice, Conflict, Side
from octavo.tui.review.conflict_finder import OpenConflicts
from octavo.tui.shell.dialog_draft import DialogDraft, why_not_saved
from octavo.tui.terminal.external_editor import FileNote, NotEdited, edit_text, forget, read_back
from octavo.tui.widgets.wording import plural
from octavo.tui.writing import target_request
from octavo.tui.writing.page_drafts import folder

if TYPE_CHECKING:
    from octavo.data.live import Live
    from octavo.tui.shell.shell import Shell

AT_ONCE = 50
"""Changes of content that may go in one request."""
_SIDES: dict[str, Side] = {"main": "main", "this": "this", "both": "both", "words": "words", "own": "own"}


class Choices:
    """What was chosen for the conflicts of what is called `of`, by their names. It outlives the app."""

    def __init__(self, app: Shell, of: str) -> None:
        self._app = app
        self._id = of
        self._fact = f"conflicts {of}"
        kept = app.session.state.recall(self._fact)
        sides = kept.get("choices") if isinstance(kept, dict) else None
        done = kept.get("done") if isinstance(kept, dict) else None
        self._sides: dict[str, Side] = (
            {name: _SIDES[side] for name, side in sides.items() if side in _SIDES} if isinstance(sides, dict) else {}
        )
        self._texts = {name: self.own(name).text for name, side in self._sides.items() if side == "own"}
        self.done: set[str] = set(done) if isinstance(done, list) else set()
        """What is settled: it has no marks that would be gone then."""

    @property
    def all(self) -> dict[str, Choice]:
        """All that is chosen."""
        return {name: Choice(side, self.own(name).text if side == "own" else "") for name, side in self._sides.items()}

    def own(self, name: str) -> DialogDraft:
        """What was written for a conflict."""
        return DialogDraft(self._app, f"conflict {self._id} {name}")

    def choose(self, name: str, side: Side | None, text: str = "") -> None:
        """Choose a side, or the `text` that was written; None leaves it open again. What was written stays kept."""
        self._sides.pop(name, None)
        if side == "own":
            self._texts[name] = text
        if side is not None:
            self._sides[name] = side
        self._remember()

    def settle(self, unsettled: OpenConflicts, decided: dict[str, Choice]) -> None:
        """What was `decided` is in the change request now."""
        gone = {name for page in unsettled.decided(decided) for name, _ in page.conflicts}
        shapes = {shape.name for shape in unsettled.shapes if shape.name in decided}
        for name in gone:
            if self._sides.get(name) == "own":
                self.own(name).drop()
        self._sides = {name: side for name, side in self._sides.items() if name not in gone | shapes}
        self.done |= shapes
        self._remember()

    def _remember(self) -> None:
        self._app.session.state.remember(self._fact, {"choices": self._sides, "done": sorted(self.done)})


def write(app: Shell, choices: Choices, name: str, conflict: Conflict) -> bool:
    """Let the person write what becomes of a conflict in their editor. False when they did not: nothing is decided then."""
    kept, before = choices.own(name), choices.all.get(name)
    # The blank lines around it come with the place it stands in, and editors put a line end at the end.
    begin = (kept.text or conflict.text(before or Choice("both")) or "").strip("\n")

    def keep(written: str) -> str:
        mine = written.strip("\r\n")
        return why_not_saved(kept.save_now, mine) if mine != begin else ""

    about = FileNote("what becomes of a conflict", kept.place, app.session.state.namespace)
    result = edit_text(app, f"{begin}\n", folder(app), name="conflict", keep=keep, about=about)
    if isinstance(result, NotEdited):
        goes_on = _goes_on(result, keep)
        said = result.sentence if goes_on else result.said
        app.say(f"{said} Nothing is decided by that.{goes_on}", tone="care", seconds=10.0)
        return False
    mine = result.text.strip("\r\n")
    if mine == begin:
        stays = "it stays as it was decided" if before is not None else "nothing is decided: m, t and b take a side"
        app.say(f"Nothing was changed, so {stays}.")
        return False
    choices.choose(name, "own", mine)
    return True


def _goes_on(result: NotEdited, keep: Callable[[str], str]) -> str:
    """Keep what an editor that failed left in its file, as far as it can be read, and say so."""
    left = read_back(result.kept) if result.kept is not None else result
    if isinstance(left, NotEdited) or keep(left.text):
        return ""  # what there is is in the file
    if result.kept is not None:
        forget(result.kept)
    return " e goes on with it."


async def send(
    app: Shell,
    at: ChangeRequestRef,
    change_request: ChangeRequest,
    unsettled: OpenConflicts,
    choices: Choices,
    then: Callable[[tuple[str, ...]], None],
) -> None:
    """Send what is decided, on top of what was seen, and read it back. `then` gets the pages that were written."""
    decided = choices.all
    changes = unsettled.edits(decided, f"#{change_request.number}")
    pages = tuple(page.page for page in unsettled.decided(decided))
    live, expected, over = app.session.live, unsettled.revision, False
    if not changes:
        choices.settle(unsettled, decided)
        app.say("Nothing has to be sent: all stands as you chose.")
        then(pages)
        return
    number = app.notices.say(f"Sending {plural(len(changes), 'change')} to #{change_request.number}…", seconds=90)
    sent = 0
    for start in range(0, len(changes), AT_ONCE):
        lot = changes[start : start + AT_ONCE]
        outcome: EditOutcome = await edit(live, at, expected, lot)
        if outcome.kind != "sent":
            app.notices.close(number)
            so_far = f"{sent} of {len(changes)} were sent. " if sent else ""
            why = f"{outcome.sentence} Your choices are kept."
            if outcome.kind == "moved":
                why = "Not sent: it was edited since you looked. It is read again; ctrl+s sends your choices on top."
            app.say(f"#{change_request.number}: {so_far}{why}", tone="failed")
            return
        sent, expected, over = sent + len(lot), outcome.revision, over or outcome.over is not None
    app.notices.close(number)
    target_request.remember(app, at.space, change_request)
    app.writes.is_final("To take a resolved conflict back, edit the page, or decide again from its history.")
    count = len(unsettled.names) - unsettled.left(decided)
    choices.settle(unsettled, decided)
    _remember_settled(app, change_request, unsettled, decided, expected)
    marked, other = await _read_back(live, at, unsettled, decided, change_request)
    said = f"#{change_request.number}: {plural(count, 'conflict')} resolved."
    if over:
        said += " Somebody else wrote in the same moment: compare with the revision before, their words may be gone."
    elif marked:
        said += f" The server still shows marks on {plural(marked, 'page')}: press R again."
    elif other:
        said += f" The server wrote {plural(other, 'page')} in its own way: read the diff."
    app.say(said, tone="care" if over or marked or other else "done")
    then(pages)


def _remember_settled(
    app: Shell, change_request: ChangeRequest, unsettled: OpenConflicts, decided: dict[str, Choice], head: str | None
) -> None:
    """Where the server marks no conflicts, nothing but this tells which are left."""
    pages = {page.page for page in unsettled.decided(decided) if page.is_unmarked}
    fact = f"update {change_request.id}"
    kept = app.session.state.recall(fact)
    if pages and isinstance(kept, dict):
        before = kept.get("settled")
        settled = sorted(pages.union(map(str, before) if isinstance(before, list) else ()))
        app.session.state.remember(fact, {**kept, "conflicts": head, "settled": settled})


async def _read_back(
    live: Live,
    at: ChangeRequestRef,
    unsettled: OpenConflicts,
    decided: dict[str, Choice],
    change_request: ChangeRequest,
) -> tuple[int, int]:
    """On how many of the pages there are still marks, and how many do not say what was sent."""
    marked = other = 0
    pages = unsettled.decided(decided)
    try:
        now = await asyncio.gather(*(texts(live, at, page.page) for page in pages[:AT_ONCE]))
    except ApiError:
        return 0, 0
    for page, raw in zip(pages, now, strict=False):
        wanted = page.text(decided, f"#{change_request.number}")
        said = raw.text if raw is not None else ""
        marked += bool(markers(said))
        other += not markers(said) and said != wanted
    return marked, other
