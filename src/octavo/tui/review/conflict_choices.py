"""Choices for conflicts: kept until they are saved, and saved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, get_args

from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef
from octavo.data.writes.content_writes import EditOutcome, edit, page_source
from octavo.documents.conflict_markers import find_markers
from octavo.documents.merging.merged_page import Choice, ChoiceKind, Conflict
from octavo.tui.review.conflict_finder import OpenConflicts
from octavo.tui.shell.dialog_draft import DialogDraft, why_not_saved
from octavo.tui.terminal.external_editor import FileNote, NotEdited, delete_file, edit_text, read_back
from octavo.tui.widgets.wording import plural
from octavo.tui.writing import target_request
from octavo.tui.writing.page_drafts import folder

if TYPE_CHECKING:
    from octavo.data.live import Live
    from octavo.tui.shell.shell import Shell

AT_ONCE = 50
"""Changes of content that may go in one request."""
_STORED_KINDS: dict[str, ChoiceKind] = {**{kind: kind for kind in get_args(ChoiceKind)}, "this": "request"}
"""The kinds of choices by their stored names. Earlier versions stored `request` as `this`."""


class Choices:
    """The choices for the conflicts of a change request or a draft, by the names of the conflicts. They outlive the app."""

    def __init__(self, app: Shell, of: str) -> None:
        self._app = app
        self._id = of
        self._fact = f"conflicts {of}"
        kept = app.session.state.get_fact(self._fact)
        kinds = kept.get("choices") if isinstance(kept, dict) else None
        done = kept.get("done") if isinstance(kept, dict) else None
        self._kinds: dict[str, ChoiceKind] = (
            {name: _STORED_KINDS[str(kind)] for name, kind in kinds.items() if str(kind) in _STORED_KINDS}
            if isinstance(kinds, dict)
            else {}
        )
        self._texts = {name: self.own(name).text for name, kind in self._kinds.items() if kind == "own"}
        self.done: set[str] = set(map(str, done)) if isinstance(done, list) else set()
        """Names of resolved conflicts that have no marks in a text."""

    @property
    def all(self) -> dict[str, Choice]:
        """All choices."""
        return {name: Choice(kind, self.own(name).text if kind == "own" else "") for name, kind in self._kinds.items()}

    def own(self, name: str) -> DialogDraft:
        """Return the draft of the text that was written for a conflict."""
        return DialogDraft(self._app, f"conflict {self._id} {name}")

    def choose(self, name: str, kind: ChoiceKind | None, text: str = "") -> None:
        """Choose for a conflict. `text` is the text of `own`. None clears the choice, and keeps a text that was written before."""
        self._kinds.pop(name, None)
        if kind == "own":
            self._texts[name] = text
        if kind is not None:
            self._kinds[name] = kind
        self._remember()

    def settle(self, unsettled: OpenConflicts, decided: dict[str, Choice]) -> None:
        """Forget the choices that were saved."""
        gone = {name for page in unsettled.decided(decided) for name, _ in page.conflicts}
        shapes = {shape.name for shape in unsettled.shapes if shape.name in decided}
        for name in gone:
            if self._kinds.get(name) == "own":
                self.own(name).drop()
        self._kinds = {name: kind for name, kind in self._kinds.items() if name not in gone | shapes}
        self.done |= shapes
        self._remember()

    def _remember(self) -> None:
        self._app.session.state.set_fact(self._fact, {"choices": self._kinds, "done": sorted(self.done)})


def write(app: Shell, choices: Choices, name: str, conflict: Conflict) -> bool:
    """Let the user resolve a conflict in the editor. Return whether there is a new text."""
    kept, before = choices.own(name), choices.all.get(name)
    # Blank lines around the text belong to its place, and editors add a line end.
    begin = (kept.text or conflict.text(before or Choice("words")) or "").strip("\n")

    def keep(written: str) -> str:
        mine = written.strip("\r\n")
        return why_not_saved(kept.save_now, mine) if mine != begin else ""

    about = FileNote("Conflict resolution", kept.place, app.session.state.namespace)
    result = edit_text(app, f"{begin}\n", folder(app), name="conflict", keep=keep, note=about)
    if isinstance(result, NotEdited):
        goes_on = _goes_on(result, keep)
        said = result.sentence if goes_on else result.message
        app.say(f"{said} The conflict is not resolved yet.{goes_on}", tone="care", seconds=10.0)
        return False
    mine = result.text.strip("\r\n")
    if mine == begin:
        stays = (
            "your earlier choice is kept."
            if before is not None
            else "the conflict is not resolved. Press m, t, or b to choose which version to keep."
        )
        app.say(f"You changed nothing, so {stays}")
        return False
    choices.choose(name, "own", mine)
    return True


def _goes_on(result: NotEdited, keep: Callable[[str], str]) -> str:
    """Keep what an editor that failed left in its file, as far as it can be read, and say so."""
    left = read_back(result.kept) if result.kept is not None else result
    if isinstance(left, NotEdited) or keep(left.text):
        return ""  # what there is is in the file
    if result.kept is not None:
        delete_file(result.kept)
    return " Press e to continue."


async def send(
    app: Shell,
    at: ChangeRequestRef,
    change_request: ChangeRequest,
    unsettled: OpenConflicts,
    choices: Choices,
    then: Callable[[tuple[str, ...]], None],
) -> None:
    """Save the choices on top of the revision that was seen, and read the pages back. `then` gets the pages that were written."""
    decided = choices.all
    changes = unsettled.edits(decided, f"#{change_request.number}")
    pages = tuple(page.page for page in unsettled.decided(decided))
    live, expected, over = app.session.live, unsettled.revision, False
    if not changes:
        choices.settle(unsettled, decided)
        _remember_settled(app, change_request, unsettled, decided)
        app.say("Nothing to save: this change request already has the versions you chose.")
        then(pages)
        return
    number = app.notices.say(f"Saving {plural(len(changes), 'change')} in #{change_request.number}…", seconds=90)
    sent = 0
    for start in range(0, len(changes), AT_ONCE):
        lot = changes[start : start + AT_ONCE]
        outcome: EditOutcome = await edit(live, at, expected, lot)
        if outcome.kind != "done":
            app.notices.close(number)
            so_far = f" {sent} of {len(changes)} changes were saved." if sent else ""
            why = f"{outcome.cause}{so_far} Octavo kept your choices."
            if outcome.kind == "changed":
                why = f"someone else edited the change request.{so_far} Octavo reloaded the change request. Press ctrl+s to retry."
            app.say(f"Could not save your choices in #{change_request.number}: {why}", tone="failed")
            return
        sent, expected, over = sent + len(lot), outcome.revision, over or outcome.replaced is not None
    app.notices.close(number)
    target_request.remember(app, at.space, change_request)
    app.writes.is_final(
        "You cannot undo this save by pressing u. To change the text, edit the page, or restore an earlier version from the version history."
    )
    resolved = [name for page in unsettled.decided(decided) for name, _ in page.conflicts]
    count = len(resolved) + sum(shape.name in decided for shape in unsettled.shapes)
    choices.settle(unsettled, decided)
    _remember_settled(app, change_request, unsettled, decided, expected)
    marked, other = await _read_back(live, at, unsettled, decided, change_request)
    said = f"Resolved {plural(count, 'conflict')} in #{change_request.number}."
    if over:
        said += (
            " Someone else edited the change request at the same time, and your choices may have overwritten their text. "
            "Compare the pages with the previous revision."
        )
    elif marked:
        said += f" The server still reports conflicts on {plural(marked, 'page')}. Press R to resolve the conflicts."
    elif other:
        said += f" The server changed the text of {plural(other, 'page')} while saving. Review the diff."
    app.say(said, tone="care" if over or marked or other else "done")
    then(pages)


def _remember_settled(
    app: Shell,
    change_request: ChangeRequest,
    unsettled: OpenConflicts,
    decided: dict[str, Choice],
    head: str | None = None,
) -> None:
    """Remember the resolved pages that have no marks: the server does not tell which of them are left."""
    pages = {page.page for page in unsettled.decided(decided) if page.is_unmarked}
    fact = f"update {change_request.id}"
    kept = app.session.state.get_fact(fact)
    if pages and isinstance(kept, dict):
        before = kept.get("settled")
        settled = sorted(pages.union(map(str, before) if isinstance(before, list) else ()))
        made = {"conflicts": head} if head is not None else {}
        app.session.state.set_fact(fact, {**kept, **made, "settled": settled})


async def _read_back(
    live: Live,
    at: ChangeRequestRef,
    unsettled: OpenConflicts,
    decided: dict[str, Choice],
    change_request: ChangeRequest,
) -> tuple[int, int]:
    """Return how many of the pages still have marks, and how many have another text than the one sent."""
    marked = other = 0
    pages = unsettled.decided(decided)
    try:
        now = await asyncio.gather(*(page_source(live, at, page.page) for page in pages[:AT_ONCE]))
    except ApiError:
        return 0, 0
    for page, raw in zip(pages, now, strict=False):
        wanted = page.text(decided, f"#{change_request.number}")
        said = raw.text if raw is not None else ""
        marked += bool(find_markers(said))
        other += not find_markers(said) and said != wanted
    return marked, other
