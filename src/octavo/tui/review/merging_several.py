"""Merging several change requests, one after the other: each is checked again when its turn comes, and the first that is
not surely fine ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import Binding, BindingType

from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef
from octavo.data.deciding import merge
from octavo.data.live import Live
from octavo.data.once import Sleep
from octavo.tui import ages
from octavo.tui.review.checks import Checks, check
from octavo.tui.review.merging import READ_SECONDS, became, blocked, typed_why
from octavo.tui.screens.confirm import Confirm
from octavo.tui.widgets.facts import Fact, Mark

if TYPE_CHECKING:
    from octavo.tui.app import Octavo


@dataclass(frozen=True)
class One:
    """A change request whose turn comes."""

    at: ChangeRequestRef
    about: ChangeRequest

    @property
    def label(self) -> str:
        return f"#{self.about.number}"


def hindrance(checks: Checks) -> str:
    """Why one is not merged among others: what takes a look of its own. Empty when nothing does."""
    if why := blocked(checks) or typed_why(checks):
        return why
    return next((f"{fact.label} {fact.text}".strip() for fact in checks.facts if fact.mark == "bad"), "")


async def look(live: Live, one: One) -> tuple[Checks | None, Fact]:
    """How one stands now."""
    try:
        checks = await check(live, one.at)
    except ApiError as error:
        return None, Fact("bad", one.label, f"{one.about.title} · not checked: {error}")
    if why := hindrance(checks):
        return checks, Fact("bad", one.label, f"{one.about.title} · {why.rstrip('.')}: merge it by itself, with m")
    care = [fact.label for fact in checks.facts if fact.mark == "care" and fact.label]
    said = f" · look at: {', '.join(care)}" if care else ""
    mark: Mark = "care" if care else "ok"
    pages = len({change.page.id for change in checks.changes if change.page is not None})
    return checks, Fact(mark, one.label, f"{one.about.title} · {ages.plural(pages, 'page')}{said}")


@dataclass(frozen=True)
class Ended:
    """What became of several merges."""

    merged: tuple[str, ...]
    why: str = ""
    """Why the next was not merged. Empty when all are."""


async def merge_in_order(
    live: Live,
    several: Sequence[One],
    seen: Sequence[Checks | None],
    told: Callable[[int, Fact], None],
    wanted: Callable[[], bool],
    *,
    sleep: Sleep = asyncio.sleep,
) -> Ended:
    """Merge one after the other what was `seen`, for as long as it is `wanted` and each is fine when its turn comes.

    What came before makes the next outdated, and may conflict with it: that is what it is checked for.
    """
    merged: list[str] = []
    for number, (one, before) in enumerate(zip(several, seen, strict=True)):
        if not wanted():
            return Ended(tuple(merged), f"stopped before {one.label}, as you asked")
        told(number, Fact("asking", one.label, f"{one.about.title} · checking again"))
        now, fact = await look(live, one)
        told(number, fact)
        if now is None or fact.mark == "bad":
            return Ended(tuple(merged), f"stopped at {one.label}: {fact.text}")
        if before is None or now.change_request.revision != before.change_request.revision:
            told(number, Fact("bad", one.label, f"{one.about.title} · it was edited since you looked"))
            return Ended(tuple(merged), f"stopped at {one.label}: it was edited since you looked")
        if not wanted():
            return Ended(tuple(merged), f"stopped before {one.label}, as you asked")
        told(number, Fact("asking", one.label, f"{one.about.title} · merging"))
        sent = await merge(live, one.at, now.change_request.revision, sleep=sleep)
        clean = sent.kind == "done" and (sent.answer is None or sent.answer.result != "conflicts")
        said: tuple[Literal["ok", "bad"], str] = ("ok", "merged") if clean else ("bad", became(sent))
        told(number, Fact(said[0], one.label, f"{one.about.title} · {said[1]}"))
        if sent.kind == "done":
            merged.append(one.label)
        if not clean:
            return Ended(tuple(merged), f"stopped at {one.label}: {said[1]}")
    return Ended(tuple(merged))


class MergeSeveralDialog(Confirm):
    """Shows how each stands, merges them in order, and shows how far it came. Esc stops it before the next."""

    CONTEXT = "merging several"
    HELP = (
        "j and k go to one, J and K change its turn. Each is checked again when its turn comes, and merged if it is fine. "
        "Esc stops before the next."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("J", "turn(1)", "Later", tooltip="Merge the one under the cursor after the next", id="several.later"),
        Binding("K", "turn(-1)", "Earlier", tooltip="Merge the one under the cursor before the one above", id="several.earlier"),
    ]  # fmt: skip

    def __init__(self, app: Octavo, several: Sequence[One]) -> None:
        super().__init__(
            f"Merge {ages.plural(len(several), 'change request')}, one after the other?",
            verb=f"Merge {len(several)}",
            intro="In this order. Each is checked again when its turn comes; the first that is not fine ends it.",
            blocked="The checks are not done yet.",
            check_again=self._look,
        )
        self._octavo = app
        self._several = list(several)
        self._stand = [Fact("asking", one.label, one.about.title) for one in several]
        """How each stands."""
        self._here = 0
        """Which of them the cursor is on."""
        self._seen: list[Checks | None] = []
        self._landed = ages.clock()
        self._is_merging = self._is_over = False
        self._wanted = True

    def on_mount(self) -> None:
        self._draw()
        self._look()

    def _look(self) -> None:
        if not self._is_merging:
            self._seen = []
            self.run_worker(self._ask(), exclusive=True, group="checks")

    async def _ask(self) -> None:
        self.update(blocked="The checks are not done yet.")
        looks: list[tuple[Checks | None, Fact]] = []
        for number, one in enumerate(self._several):
            looks.append(await look(self._octavo.session.live, one))
            self._tell(number, looks[-1][1])
        self._seen = [checks for checks, _ in looks]
        self._landed = ages.clock()
        self._judge()

    def _judge(self) -> None:
        """Say how far it would come."""
        fine = next((number for number, fact in enumerate(self._stand) if fact.mark == "bad"), len(self._stand))
        after = ""
        if 0 < fine < len(self._stand):
            after = f"It ends before {self._several[fine].label}, if that still stands as it does now."
        why = (
            ""
            if fine
            else f"{self._several[0].label} cannot be merged in passing, so none is. J merges it later; or untick it."
        )
        self.update(blocked=why, after=after, foot="J and K change the order · r check again")

    def _tell(self, number: int, fact: Fact) -> None:
        self._stand[number] = fact
        self._draw()

    def _draw(self) -> None:
        sign = ">" if self._octavo.settings.ascii else "›"
        marked = [
            replace(fact, label=f"{sign if number == self._here and not self._is_merging else ' '} {fact.label}")
            for number, fact in enumerate(self._stand)
        ]
        self.update(facts=marked)

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action == "turn":
            if self._is_merging or self._is_over:
                return "They are being merged in this order." if self._is_merging else "It is over. Esc closes this."
            if not self._seen:
                return "The checks are not done yet."
        return super().why_not(action, parameters)

    def action_scroll_body(self, pages: int) -> None:
        if self._is_merging or self._is_over:
            super().action_scroll_body(pages)
            return
        self._here = max(0, min(len(self._stand) - 1, self._here + pages))
        self._draw()

    def action_turn(self, step: int) -> None:
        here, there = self._here, self._here + step
        if not 0 <= there < len(self._several):
            return
        self._several.insert(there, self._several.pop(here))
        self._stand.insert(there, self._stand.pop(here))
        self._seen.insert(there, self._seen.pop(here))
        self._here = there
        self._draw()
        self._judge()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("yes", "check_again") and (self._is_merging or self._is_over):
            return False
        return super().check_action(action, parameters)

    def action_yes(self) -> None:
        if self._answered or self._is_merging or self._is_over:
            return
        if 0 <= (ages.clock() - self._landed).total_seconds() < READ_SECONDS:
            self._octavo.explain("The checks came in just now. Read them, then press y again.")
            return
        self._is_merging = True
        self._draw()
        self.update(
            foot="esc stops before the next", after="", blocked="They are being merged. Esc stops before the next."
        )
        self._octavo.background(self._merge())

    def action_no(self) -> None:
        self._wanted = False
        self.workers.cancel_group(self, "checks")
        super().action_no()

    async def _merge(self) -> None:
        app = self._octavo
        ended = await merge_in_order(
            app.session.live, self._several, self._seen, self._tell_if_there, lambda: self._wanted
        )
        if ended.merged:
            app.writes.is_final("To merge cannot be taken back with u: Undo merge (Z) on one starts a change request.")
        done = f"Merged {', '.join(ended.merged)}" if ended.merged else "Nothing was merged"
        app.say(f"{done}; {ended.why}" if ended.why else f"{done}.", tone="care" if ended.why else "done", seconds=15)
        self._is_merging, self._is_over = False, True
        if not self._answered:
            self.update(
                foot="esc close",
                after=f"{done}; {ended.why}" if ended.why else f"{done}.",
                blocked="It is over. Esc closes this.",
            )

    def _tell_if_there(self, number: int, fact: Fact) -> None:
        if not self._answered:
            self._tell(number, fact)
