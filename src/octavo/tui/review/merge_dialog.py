"""Merging: the dialog that shows live checks and what goes live, and what becomes of it (D16)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from octavo.api.change_requests import ChangeRequest, MergeResult
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef
from octavo.data.deciding import merge
from octavo.data.send_once import Sent
from octavo.tui.review.merge_checks import Checks, check, goes_out
from octavo.tui.widgets import wording
from octavo.tui.widgets.confirm import Confirm, Confirmed
from octavo.tui.widgets.fact_list import Fact
from octavo.tui.widgets.notices import Tone

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

FRESH_SECONDS = 5.0
"""Checks older than this are made again before anything is sent."""
READ_SECONDS = 0.5
"""A yes that comes sooner after the checks was meant for what stood there before them."""


class MergeDialog(Confirm):
    """Asks the server, says what would go live, names conflicts, and is confirmed by `y`: another key than opened it."""

    def __init__(self, app: Shell, at: ChangeRequestRef, change_request: ChangeRequest) -> None:
        space = app.workspace.space(at.space_id)
        self._space_title = space.title if space else "this space"
        super().__init__(
            f"Merge #{change_request.number} into {self._space_title}?",
            verb="Merge",
            intro=change_request.title,
            facts=(Fact("asking", "checks", "asking the server"),),
            blocked="The checks are not done yet.",
            check_again=self._look,
        )
        self._octavo = app
        self._at = at
        self._number = change_request.number
        self._checks: Checks | None = None
        self._landed: datetime | None = None
        """When the checks came in."""

    def on_mount(self) -> None:
        self._look()
        self.set_interval(1.0, self._say_age)

    def _look(self) -> None:
        self.run_worker(self._ask(), exclusive=True, group="checks")

    async def _ask(self) -> None:
        try:
            self._checks = await check(self._octavo.session.live, self._at)
        except ApiError as error:
            self._checks = None
            self.update(
                facts=(Fact("bad", "checks", str(error)),),
                blocked="Nothing can be merged without knowing how it stands. r asks again.",
                foot="not checked · r check again",
            )
            return
        checks, self._landed = self._checks, wording.clock()
        after = [
            f"What goes out   {goes_out(checks.changes) or 'nothing is changed'}",
            f"If it goes wrong   Undo merge (Z, or in the palette) starts a change request that puts {_these(checks)} back",
        ]
        if checks.change_request.outdated and checks.space.permissions.edit:
            after.append("Main has moved ahead   close this and press U to update first")
        why = why_typed(checks)
        typed = str(self._number) if why else ""
        self.update(
            facts=checks.facts,
            intro=f"{checks.change_request.title}\n\n{checks.live}",
            after="\n".join(after),
            blocked=blocked(checks),
            typed=typed,
            why_typed=f"{why}, so y is off: type {typed} and press enter to merge anyway." if why else "",
        )
        self._say_age()

    def _say_age(self) -> None:
        if self._checks is not None:
            seconds = int((wording.clock() - self._checks.checked_at).total_seconds())
            self.update(foot=f"checked {seconds} s ago · r check again")

    def action_yes(self) -> None:
        if self._answered or self._checks is None:
            return
        if not self._typed and self._just_landed():
            self._octavo.explain("The checks came in just now. Read them, then press y again.")
            return
        if (wording.clock() - self._checks.checked_at).total_seconds() > FRESH_SECONDS:
            # What was shown may not hold any more: look again, and go on only if it is still the same.
            self.run_worker(self._confirm_fresh(), exclusive=True, group="checks")
            return
        self._go()

    def _just_landed(self) -> bool:
        return self._landed is not None and 0 <= (wording.clock() - self._landed).total_seconds() < READ_SECONDS

    def action_no(self) -> None:
        self.workers.cancel_group(self, "checks")
        super().action_no()

    async def _confirm_fresh(self) -> None:
        before = self._checks
        await self._ask()
        after = self._checks
        if before is None or after is None or blocked(after):
            return
        same = (before.change_request.revision, before.conflicts, before.facts) == (
            after.change_request.revision,
            after.conflicts,
            after.facts,
        )
        if same:
            self._go()
        else:
            self._octavo.say("Something changed since you looked. Read the checks again, then merge.", tone="care")

    def _go(self) -> None:
        assert self._checks is not None
        if self._answered or self not in self.app.screen_stack:
            return  # it was closed while the checks were made again
        self._answered = True
        self._octavo.background(send(self._octavo, self._at, self._checks.change_request))
        self.dismiss(Confirmed())


def blocked(checks: Checks) -> str:
    """Why it cannot be merged, if it cannot."""
    if not checks.can_merge:
        against = (fact.text for fact in checks.facts if fact.mark == "bad" and fact.label in ("state", "permission"))
        return str(next(against, "The server does not let this be merged."))
    if not checks.changes:
        return "There is nothing to merge: it changes no page."
    return ""


def _these(checks: Checks) -> str:
    pages = len({each.page.id for each in checks.changes if each.page is not None})
    return "this page" if pages == 1 else f"these {pages} pages"


def why_typed(checks: Checks) -> str:
    """Why a single key is not enough to merge it, if it is not."""
    if checks.conflicts:
        return "Pages may conflict"
    if checks.marked:
        return "Both sides of a conflict would go live as they are marked"
    if checks.deleted:
        return f"It deletes {wording.plural(len(checks.deleted), 'page')}"
    return ""


async def send(app: Shell, at: ChangeRequestRef, change_request: ChangeRequest) -> None:
    """Merge what was seen, once, and say what became of it."""
    number = app.notices.say(f"Merging #{change_request.number}…", seconds=90)
    sent = await merge(app.session.live, at, change_request.revision)
    app.notices.close(number)
    if sent.kind in ("done", "unknown"):
        app.writes.is_final(
            f"To merge #{change_request.number} cannot be taken back with u. Undo merge (Z) starts a change request that puts"
            " its pages back."
        )
    app.say(f"#{change_request.number}: {became(sent)}", tone=_tone(sent))


def became(sent: Sent[MergeResult]) -> str:
    """What became of a merge: a sentence."""
    if sent.kind != "done" or sent.sentence:
        return sent.sentence
    if sent.answer is not None and sent.answer.result == "conflicts":
        return (
            "Merged with conflicts: both sides of each are in the text. R on it resolves them in a new change request."
        )
    if sent.answer is not None and not sent.answer.result:
        return "Merged. The answer was lost, and with it whether anything conflicted: R on it looks for that."
    return "Merged."


def _tone(sent: Sent[MergeResult]) -> Tone:
    if sent.kind != "done":
        return "failed"
    return "care" if sent.answer is not None and sent.answer.result == "conflicts" else "done"
