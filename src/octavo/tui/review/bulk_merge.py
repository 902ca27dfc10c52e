"""Merging several change requests, one after the other: each is checked again when its turn comes, and the first that is
not surely fine ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Changes
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef
from octavo.data.deciding import merge
from octavo.data.live import Live
from octavo.data.send_once import Sleep
from octavo.tui.review.merge_checks import MERGED_BY_WORDS, Checks, check, forecast
from octavo.tui.review.merge_dialog import became, blocked, why_typed
from octavo.tui.terminal.textual_internals import is_whole
from octavo.tui.widgets import wording
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.confirm import Confirm
from octavo.tui.widgets.fact_list import Fact, Mark

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


@dataclass(frozen=True)
class QueuedMerge:
    """A change request whose turn comes."""

    at: ChangeRequestRef
    about: ChangeRequest
    space: str
    """What its space is called: numbers are only unlike within one."""

    @property
    def name(self) -> str:
        return f"#{self.about.number} in {self.space}"

    def fact(self, mark: Mark, said: str) -> Fact:
        """How it stands, in a line."""
        return Fact(mark, f"#{self.about.number}", f"{self.space} · {self.about.title} · {said}")


@dataclass(frozen=True)
class MergeReadiness:
    """How one stands, when its turn comes."""

    one: QueuedMerge
    fact: Fact
    why: str = ""
    """Why it is not merged among others: what cannot be merged, or takes a look of its own. Empty when nothing does."""
    checks: Checks | None = None


def why_not_mergeable(checks: Checks) -> str:
    """Why one is not merged among others. Empty when nothing speaks against it. What can be done is said with it."""
    if why := blocked(checks):
        return why.rstrip(".")
    if why := why_typed(checks):
        names = f": {', '.join(checks.conflicts[:2])}" if checks.conflicts else ""
        return f"{why[:1].lower()}{why[1:]}{names}, so m merges it by itself"
    if any(fact.label == MERGED_BY_WORDS for fact in checks.facts):
        return "a paragraph is merged by words and has to be read, so m merges it by itself"
    bad = [fact for fact in checks.facts if fact.mark == "bad"]
    if rules := [fact for fact in bad if fact.label in ("merge rules", "")]:
        lacking = [str(fact.text) for fact in rules if not fact.label] or [str(rules[0].text)]
        return f"the rules to merge are not met: {'; '.join(lacking)}"
    return next((f"{fact.text}, so m merges it by itself" for fact in bad), "")


async def look(live: Live, one: QueuedMerge, before: Sequence[tuple[QueuedMerge, Checks]] = ()) -> MergeReadiness:
    """How one stands now, and would once those `before` it are merged."""
    try:
        checks = await check(live, one.at)
        why = why_not_mergeable(checks) or await _against(live, one, checks, before)
    except ApiError as error:
        fact, why = one.fact("bad", f"not checked: {error}"), f"it is not known how it stands: {error}".rstrip(".")
        return MergeReadiness(one, fact, why)
    if why:
        return MergeReadiness(one, one.fact("bad", why), why, checks)
    care = ["it is a draft"] if checks.change_request.status == "draft" else []
    care += [f"look at: {', '.join(labels)}"] if (labels := _care(checks)) else []
    mark: Mark = "care" if care else "ok"
    pages = len({change.page.id for change in checks.changes if change.page is not None})
    return MergeReadiness(one, one.fact(mark, " · ".join([wording.plural(pages, "page"), *care])), checks=checks)


def _care(checks: Checks) -> list[str]:
    return [fact.label for fact in checks.facts if fact.mark == "care" and fact.label]


async def _against(live: Live, one: QueuedMerge, checks: Checks, before: Sequence[tuple[QueuedMerge, Checks]]) -> str:
    """What speaks against it once those before it are merged. Raises ApiError."""
    mine = _touched(checks)
    for other, theirs in before:
        if other.at.space_id != one.at.space_id:
            continue
        if checks.must_be_current:
            return f"once {other.name} is merged it is behind, and a rule asks that it is up to date: U updates it then"
        if not mine & _touched(theirs):
            continue
        behind = checks.change_request.model_copy(update={"outdated": True})
        changed = Changes(changes=checks.changes)
        foreseen = await forecast(live, one.at, behind, changed, main=theirs.change_request.revision)
        if foreseen.conflicts:
            return f"it may conflict with {other.name}, which is merged before it: {', '.join(foreseen.names[:2])}"
        if foreseen.is_on_main:
            return f"all its changes are in {other.name}, which is merged before it: L archives it then"
        if foreseen.suggestions:
            return f"a paragraph is merged by words with {other.name}, which is merged before it, and has to be read"
    return ""


def _touched(checks: Checks) -> set[str]:
    """The pages and files it changes."""
    return {each.id for change in checks.changes for each in (change.page, change.file) if each is not None}


@dataclass(frozen=True)
class MergeTotals:
    """What became of several merges."""

    merged: tuple[str, ...]
    why: str = ""
    """Why the next was not merged. Empty when all are."""


async def merge_in_order(
    live: Live,
    several: Sequence[QueuedMerge],
    seen: Sequence[Checks | None],
    told: Callable[[int, Fact], None],
    wanted: Callable[[], bool],
    *,
    sleep: Sleep = asyncio.sleep,
) -> MergeTotals:
    """Merge one after the other what was `seen`, for as long as it is `wanted` and each is fine when its turn comes.

    What came before makes the next outdated, and may conflict with it: that is what it is checked for.
    """
    merged: list[str] = []
    for number, (one, before) in enumerate(zip(several, seen, strict=True)):
        if not wanted():
            return MergeTotals(tuple(merged), f"stopped before {one.name}, as you asked")
        told(number, one.fact("asking", "checking again"))
        stand = await look(live, one)
        now = stand.checks
        told(number, stand.fact)
        if now is None or stand.why:
            return MergeTotals(tuple(merged), f"stopped at {one.name}: {stand.why}")
        if before is None or now.change_request.revision != before.change_request.revision:
            told(number, one.fact("bad", "it was edited since you looked"))
            return MergeTotals(tuple(merged), f"stopped at {one.name}: it was edited since you looked")
        if not wanted():
            return MergeTotals(tuple(merged), f"stopped before {one.name}, as you asked")
        told(number, one.fact("asking", "merging"))
        sent = await merge(live, one.at, now.basis, sleep=sleep)
        clean = sent.kind == "done" and (sent.answer is None or sent.answer.result != "conflicts")
        said: tuple[Literal["ok", "bad"], str] = ("ok", "merged") if clean else ("bad", became(sent))
        told(number, one.fact(*said))
        if sent.kind == "done":
            merged.append(one.name)
        if not clean:
            return MergeTotals(tuple(merged), f"stopped at {one.name}: {said[1].rstrip('.')}")
    return MergeTotals(tuple(merged))


_ASKING = "The checks are not done yet."
_INTRO = "In this order. Each is checked again when its turn comes; the first that is not fine ends it."


def _first(number: int) -> str:
    return "the first" if number == 1 else f"the first {number}"


def _left(number: int) -> str:
    return "It is left" if number == 1 else f"{number} are left"


TURNS: Commands[MergeSeveralDialog] = Commands(
    "several",
    (
        Command("later", "J", "Later", "Merge the one under the cursor after the next",
                run=lambda _, dialog: dialog.turn(1), why_not=lambda _, dialog: dialog.why_not_turned(1)),
        Command("earlier", "K", "Earlier", "Merge the one under the cursor before the one above",
                run=lambda _, dialog: dialog.turn(-1), why_not=lambda _, dialog: dialog.why_not_turned(-1)),
    ),
    find=lambda dialog: dialog,
)  # fmt: skip


class MergeSeveralDialog(Confirm):
    """Shows how each stands, merges them in order, and shows how far it came. Esc stops it before the next."""

    CONTEXT = "merging several"
    HELP = (
        "j and k go to one, J and K change its turn. Each is checked again when its turn comes, and merged if it is fine. "
        "Esc stops before the next."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (TURNS,)

    def __init__(self, app: Shell, several: Sequence[QueuedMerge]) -> None:
        spaces = tuple(dict.fromkeys(one.space for one in several))
        of = f"of {spaces[0]}" if len(spaces) == 1 else f"of {len(spaces)} spaces"
        super().__init__(
            f"Merge {wording.plural(len(several), 'change request')} {of}, one after the other?",
            verb=f"Merge {len(several)}",
            intro=_INTRO,
            blocked=_ASKING,
            check_again=self._look,
        )
        self._octavo = app
        self._stand = [MergeReadiness(one, one.fact("asking", "asking the server")) for one in several]
        """How each stands, in this order."""
        self._here = 0
        """Which of them the cursor is on."""
        self._fine = 0
        """How many are merged before the first that is not fine."""
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
        self.read_first()
        self._judge()

    def _judge(self) -> None:
        """Say how far it comes, and why not further. No more is offered than that."""
        all_of_them = len(self._stand)
        self._fine = next((number for number, stand in enumerate(self._stand) if stand.why), all_of_them)
        after = why = ""
        if self._fine < all_of_them:
            stop = f"{self._stand[self._fine].one.name}: {self._stand[self._fine].why}"
            if self._fine:
                left = all_of_them - self._fine
                after = f"It ends before {stop}. {_left(left)}, unless J and K bring another to its place."
            else:
                why = f"None is merged, because of the first, {stop}. J merges it later, or untick it."
        self.update(blocked=why, after=after, verb=self._verb_now, foot="J and K change the order · r check again")

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
        """Why the one under the cursor cannot change its turn, in a sentence."""
        if self._is_merging or self._is_over:
            return "They are being merged in this order." if self._is_merging else "It is over. Esc closes this."
        if not self._is_known:
            return _ASKING
        if not 0 <= self._here + step < len(self._stand):
            return f"{self._stand[self._here].one.name} is the {'last' if self._here else 'first'} already."
        return None

    def scroll_body(self, pages: int) -> None:
        if self._is_merging or self._is_over:
            super().scroll_body(pages)
            return
        self._here = max(0, min(len(self._stand) - 1, self._here + pages))
        self._draw()

    def turn(self, step: int) -> None:
        """Merge the one under the cursor after the next, or with -1 before the one above."""
        here, there = self._here, self._here + step
        self._stand.insert(there, self._stand.pop(here))
        self._here = there
        self._draw()
        self._look()  # what comes before decides how one stands

    @property
    def is_open(self) -> bool:
        return not self._is_merging and not self._is_over

    def confirm(self) -> None:
        if self._answered or self._is_merging or self._is_over:
            return
        self._is_merging = True
        self._draw()
        self.update(
            foot="esc stops before the next", after="", blocked="They are being merged. Esc stops before the next."
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
            app.writes.is_final("To merge cannot be taken back with u: Undo merge (Z) on one starts a change request.")
        done = f"Merged {', '.join(ended.merged)}" if ended.merged else "Nothing was merged"
        why = ended.why
        if not why and fine < len(self._stand):
            why = f"ended before {self._stand[fine].one.name}: {self._stand[fine].why}"
        said = f"{done}; {why}." if why else f"{done}."
        app.say(said, tone="care" if why else "done", seconds=15)
        self._is_merging, self._is_over = False, True
        self.update(foot="esc close", after=said, blocked="It is over. Esc closes this.")

    def _tell(self, number: int, fact: Fact) -> None:
        if is_whole(self):
            self._stand[number] = replace(self._stand[number], fact=fact)
            self._draw()
