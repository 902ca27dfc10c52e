"""The merge of several change requests in order. Each is checked again before its merge, and the first problem stops it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Changes
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef
from octavo.data.live import Live
from octavo.data.writes.change_request_writes import merge
from octavo.tui.review.merge_checks import MERGED_BY_WORDS, Checks, check, forecast
from octavo.tui.review.merge_dialog import became, blocked, why_typed
from octavo.tui.review.merge_effects import some
from octavo.tui.terminal.textual_internals import is_whole
from octavo.tui.widgets import wording
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.confirm import ConfirmDialog
from octavo.tui.widgets.text_widgets import Fact, Mark

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


@dataclass(frozen=True)
class QueuedMerge:
    """A change request that waits for its merge."""

    at: ChangeRequestRef
    about: ChangeRequest
    space: str
    """Title of its space: a number is unique within a space only."""

    @property
    def name(self) -> str:
        return f"#{self.about.number} in {self.space}"

    def fact(self, mark: Mark, said: str) -> Fact:
        """Return its line in the dialog, which ends with what is `said`."""
        return Fact(mark, f"#{self.about.number}", f"{self.space} · {self.about.title} · {said}")


@dataclass(frozen=True)
class MergeReadiness:
    """The result of the checks of one change request."""

    one: QueuedMerge
    fact: Fact
    why: str = ""
    """Reason that it is not merged among others: it cannot be merged, or a person has to check it. Empty if it is."""
    checks: Checks | None = None


_ALONE = "merge this change request by itself"


def why_not_mergeable(checks: Checks) -> str:
    """Return why it is not merged among others, and the next step. Empty if it is."""
    if why := blocked(checks):
        return _inside(why)
    if why := why_typed(checks):
        names = f": {some(checks.conflicts)}" if checks.conflicts else ""
        return f"{_inside(why)}{names} ({_ALONE})"
    if any(fact.label == MERGED_BY_WORDS for fact in checks.facts):
        return (
            "main and this change request changed the same paragraph, so the two versions would be merged word by word "
            f"({_ALONE} and check the text)"
        )
    bad = [fact for fact in checks.facts if fact.mark == "bad"]
    if rules := [fact for fact in bad if fact.label in ("merge rules", "")]:
        lacking = [str(fact.text) for fact in rules if not fact.label] or [str(rules[0].text)]
        return f"the merge rules are not met ({', '.join(lacking)})"
    return next((f"{fact.text} ({_ALONE})" for fact in bad), "")


def _inside(sentence: str) -> str:
    """Return a sentence as a part of another sentence."""
    return f"{sentence[:1].lower()}{sentence[1:]}".rstrip(".")


async def look(live: Live, one: QueuedMerge, before: Sequence[tuple[QueuedMerge, Checks]] = ()) -> MergeReadiness:
    """Return the result of the checks now, and as it would be after the merges `before` it."""
    try:
        checks = await check(live, one.at)
        why = why_not_mergeable(checks) or await _against(live, one, checks, before)
    except ApiError as error:
        fact, why = one.fact("bad", f"not checked: {error}"), f"the checks could not be loaded ({_inside(str(error))})"
        return MergeReadiness(one, fact, why)
    if why:
        return MergeReadiness(one, one.fact("bad", why), why, checks)
    care = ["draft"] if checks.change_request.status == "draft" else []
    care += [f"warnings: {', '.join(labels)}"] if (labels := _care(checks)) else []
    mark: Mark = "care" if care else "ok"
    pages = len({change.page.id for change in checks.changes if change.page is not None})
    return MergeReadiness(one, one.fact(mark, " · ".join([wording.plural(pages, "page"), *care])), checks=checks)


def _care(checks: Checks) -> list[str]:
    return [fact.label for fact in checks.facts if fact.mark == "care" and fact.label]


async def _against(live: Live, one: QueuedMerge, checks: Checks, before: Sequence[tuple[QueuedMerge, Checks]]) -> str:
    """Return why it is not merged after the merges `before` it. Empty if it is. Raises ApiError."""
    mine = _touched(checks)
    for other, theirs in before:
        if other.at.space_id != one.at.space_id:
            continue
        if checks.must_be_current:
            return (
                f"this change request will be outdated after {other.name} is merged, and a merge rule blocks outdated change "
                f"requests (after {other.name} is merged, press U to update this change request from main)"
            )
        if not mine & _touched(theirs):
            continue
        behind = checks.change_request.model_copy(update={"outdated": True})
        changed = Changes(changes=checks.changes)
        foreseen = await forecast(live, one.at, behind, changed, main=theirs.change_request.revision)
        if foreseen.conflicts:
            return f"this change request may conflict with {other.name}, which will be merged first (conflicts: {some(foreseen.names)})"
        if foreseen.is_on_main:
            return (
                f"all changes in this change request are also in {other.name}, which will be merged first "
                f"(after {other.name} is merged, press L to archive this change request)"
            )
        if foreseen.suggestions:
            return (
                f"this change request changes the same paragraph as {other.name}, which will be merged first "
                f"(after {other.name} is merged, merge this change request by itself and check the text)"
            )
    return ""


def _touched(checks: Checks) -> set[str]:
    """Return the ids of the pages and files it changes."""
    return {each.id for change in checks.changes for each in (change.page, change.file) if each is not None}


@dataclass(frozen=True)
class MergeTotals:
    """The result of several merges."""

    merged: tuple[str, ...]
    why: str = ""
    """Reason that the next change request was not merged. Empty if all were merged."""


async def merge_in_order(
    live: Live,
    several: Sequence[QueuedMerge],
    seen: Sequence[Checks | None],
    told: Callable[[int, Fact], None],
    wanted: Callable[[], bool],
) -> MergeTotals:
    """Merge the change requests in order while the merge is `wanted`, and stop at the first problem.

    `seen` holds the checks that were shown. Each is checked again, as the merges before it can cause conflicts.
    """
    merged: list[str] = []
    for number, (one, before) in enumerate(zip(several, seen, strict=True)):
        if not wanted():
            return MergeTotals(tuple(merged), f"Stopped before {one.name} because you canceled the merge")
        told(number, one.fact("asking", "checking again…"))
        stand = await look(live, one)
        now = stand.checks
        told(number, stand.fact)
        if now is None or stand.why:
            return MergeTotals(tuple(merged), f"Stopped at {one.name}: {stand.why}")
        if before is None or now.change_request.revision != before.change_request.revision:
            told(number, one.fact("bad", _EDITED))
            return MergeTotals(tuple(merged), f"Stopped at {one.name}: {_EDITED}")
        if not wanted():
            return MergeTotals(tuple(merged), f"Stopped before {one.name} because you canceled the merge")
        told(number, one.fact("asking", "merging…"))
        sent = await merge(live, one.at, now.basis)
        clean = sent.kind == "done" and (sent.result is None or sent.result.result != "conflicts")
        said: tuple[Literal["ok", "bad"], str] = (
            ("ok", "merged") if clean else ("bad", became(sent, f"#{one.about.number}"))
        )
        told(number, one.fact(*said))
        if sent.kind == "done":
            merged.append(one.name)
        if not clean:
            return MergeTotals(tuple(merged), f"Stopped at {one.name}: {_inside(said[1])}")
    return MergeTotals(tuple(merged))


_OVER = "Octavo is no longer merging. Press esc to close this dialog."
_ASKING = "The checks are still running."
_EDITED = "this change request was edited after the checks ran"
_INTRO = (
    "Octavo will merge the change requests in this order. Before each merge, Octavo will repeat the checks. "
    "Octavo will stop at the first problem."
)


def _first(number: int) -> str:
    return "the first" if number == 1 else f"the first {number}"


def _left(number: int) -> str:
    return f"{wording.plural(number, 'change request')} will not be merged"


TURNS: Commands[MergeSeveralDialog] = Commands(
    "several",
    (
        Command("later", "J", "Move down", "Move this change request down in the merge order",
                run=lambda _, dialog: dialog.turn(1), why_not=lambda _, dialog: dialog.why_not_turned(1)),
        Command("earlier", "K", "Move up", "Move this change request up in the merge order",
                run=lambda _, dialog: dialog.turn(-1), why_not=lambda _, dialog: dialog.why_not_turned(-1)),
    ),
    find=lambda dialog: dialog,
)  # fmt: skip


class MergeSeveralDialog(ConfirmDialog):
    """A dialog that checks several change requests, merges them in order and shows the progress. Esc stops it."""

    CONTEXT = "merging several change requests"
    HELP = (
        "This dialog lists the change requests in the order in which they will be merged. Press j or k to select a change "
        "request, J or K to move the selected change request, or y to merge. "
        "While Octavo is merging, press esc to stop after the current merge."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (TURNS,)

    def __init__(self, app: Shell, several: Sequence[QueuedMerge]) -> None:
        spaces = tuple(dict.fromkeys(one.space for one in several))
        of = f"in {spaces[0]}" if len(spaces) == 1 else f"in {len(spaces)} spaces"
        super().__init__(
            f"Merge {wording.plural(len(several), 'change request')} {of}?",
            verb=f"Merge {len(several)}",
            intro=_INTRO,
            blocked=_ASKING,
            check_again=self._look,
        )
        self._octavo = app
        self._stand = [MergeReadiness(one, one.fact("asking", "loading the checks…")) for one in several]
        """Results of the checks, in the order of the merges."""
        self._here = 0
        """Index of the selected change request."""
        self._fine = 0
        """Number of change requests before the first problem."""
        self._is_known = False
        self._is_merging = self._is_over = False
        self._wanted = True

    def on_mount(self) -> None:
        self._draw()
        self._look()

    def _look(self) -> None:
        if not self._is_merging:
            self._is_known = False
            self.run_worker(self._ask(), exclusive=True, group="checks")

    async def _ask(self) -> None:
        self.update(blocked=_ASKING)
        before: list[tuple[QueuedMerge, Checks]] = []
        stops = False
        for number, one in enumerate([each.one for each in self._stand]):
            stand = self._stand[number] = await look(self._octavo.session.live, one, before)
            stops = stops or bool(stand.why)
            if stand.checks is not None and not stops:  # what comes after a stop is not merged, and in nobody's way
                before.append((one, stand.checks))
            self._draw()
        self._is_known = True
        self.require_reading()
        self._judge()

    def _judge(self) -> None:
        """Show how many can be merged, and what stops the rest."""
        all_of_them = len(self._stand)
        self._fine = next((number for number, stand in enumerate(self._stand) if stand.why), all_of_them)
        after = why = ""
        if self._fine < all_of_them:
            stop = f"{self._stand[self._fine].one.name}: {self._stand[self._fine].why}"
            if self._fine:
                left = all_of_them - self._fine
                after = f"Octavo will stop before {stop}. {_left(left)}. Press J or K to change the order."
            else:
                why = (
                    f"The first change request is blocking the merge. {stop}. "
                    "Select this change request and press J to move it down."
                )
        self.update(blocked=why, after=after, verb=self._verb_now, foot="J/K change order · r check again")

    @property
    def _verb_now(self) -> str:
        if self._fine in (0, len(self._stand)):
            return f"Merge {len(self._stand)}"
        return f"Merge {_first(self._fine)}"

    def _draw(self) -> None:
        sign = ">" if self._octavo.settings.ascii else "›"
        marked = [
            replace(
                each.fact, label=f"{sign if number == self._here and not self._is_merging else ' '} {each.fact.label}"
            )
            for number, each in enumerate(self._stand)
        ]
        self.update(facts=marked)

    def why_not_turned(self, step: int) -> str | None:
        """Return why the selected change request cannot be moved. None if it can."""
        if self._is_merging or self._is_over:
            return "You cannot change the order while Octavo is merging." if self._is_merging else _OVER
        if not self._is_known:
            return _ASKING
        if not 0 <= self._here + step < len(self._stand):
            return (
                f"{self._stand[self._here].one.name} is already {'last' if self._here else 'first'} in the merge order."
            )
        return None

    def scroll_body(self, pages: int) -> None:
        if self._is_merging or self._is_over:
            super().scroll_body(pages)
            return
        self._here = max(0, min(len(self._stand) - 1, self._here + pages))
        self._draw()

    def turn(self, step: int) -> None:
        """Move the selected change request down, or up with -1."""
        here, there = self._here, self._here + step
        self._stand.insert(there, self._stand.pop(here))
        self._here = there
        self._draw()
        self._look()  # what comes before decides how one stands

    @property
    def is_open(self) -> bool:
        return not self._is_merging and not self._is_over

    def confirm(self) -> None:
        if self._is_answered or self._is_merging or self._is_over:
            return
        self._is_merging = True
        self._draw()
        self.update(
            foot="esc stop after the current merge",
            after="",
            blocked="Merging the change requests. Press esc to stop after the current merge.",
        )
        self._octavo.background(self._merge())

    def cancel(self) -> None:
        self._wanted = False
        self.workers.cancel_group(self, "checks")
        super().cancel()

    async def _merge(self) -> None:
        app, fine = self._octavo, self._fine
        several, seen = [each.one for each in self._stand[:fine]], [each.checks for each in self._stand[:fine]]
        ended = await merge_in_order(app.session.live, several, seen, self._tell, lambda: self._wanted)
        if ended.merged:
            app.writes.forbid_undo(
                "You cannot undo a merge by pressing u. To revert a merge, select the merged change request and press Z."
            )
        done = f"Merged {', '.join(ended.merged)}" if ended.merged else "Nothing was merged"
        why = ended.why
        if not why and fine < len(self._stand):
            why = f"Stopped before {self._stand[fine].one.name}: {self._stand[fine].why}"
        said = f"{done}. {why}." if why else f"{done}."
        app.say(said, tone="care" if why else "done", seconds=15)
        self._is_merging, self._is_over = False, True
        self.update(foot="esc close", after=said, blocked=_OVER)

    def _tell(self, number: int, fact: Fact) -> None:
        if is_whole(self):
            self._stand[number] = replace(self._stand[number], fact=fact)
            self._draw()
