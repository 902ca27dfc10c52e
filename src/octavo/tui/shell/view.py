"""What every view can do: follow answers, say where we are, and say why a key is dim."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from textual import on
from textual.app import ComposeResult
from textual.events import DescendantFocus, Event
from textual.screen import Screen
from textual.widget import Widget

from octavo.api.errors import NotSent, Unreachable
from octavo.api.operation import Listing, ListPage, Model, Operation
from octavo.data.live import Live, Snapshot
from octavo.data.live_response import LiveResponse
from octavo.data.sync_queue import Rank
from octavo.tui.shell.frame import StatusBar, TopBar, TourStrip
from octavo.tui.terminal import textual_internals as internals
from octavo.tui.widgets.commands import HasCommands
from octavo.tui.widgets.key_bar import KeyBar
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.notices import Notices
from octavo.tui.widgets.section_tabs import SectionTabs
from octavo.tui.widgets.wording import long_age, offline_since, plural

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.row_list import RowList
    from octavo.tui.widgets.tree import Tree

T = TypeVar("T")
Item = TypeVar("Item")

ITEMS_READ = 2000
"""Items of a list that is read whole. Beyond them, screens say that there is more."""


def _nothing() -> None:
    """There is nothing to leave yet."""


@dataclass(eq=False)
class _Slot:
    """What is followed in a slot."""

    op: Operation[Any]
    answer: LiveResponse
    leave: Callable[[], None] = _nothing


class Subscriptions:
    """Answers a screen or widget shows, each in a slot. A slot that follows something else leaves what it followed.

    `shower` is shown nothing any more from the moment it is being taken down: what it shows things in goes before it.
    """

    def __init__(self, shower: Widget) -> None:
        self._shower = shower
        self._slots: dict[str, _Slot] = {}
        self._rests_on: tuple[LiveResponse, ...] = ()
        self._patient: set[str] = set()
        """The slots of what is one of many."""

    def follow(
        self,
        slot: str,
        op: Operation[T] | None,
        show: Callable[[Snapshot[T]], None] | None = None,
        *,
        rank: Rank = Rank.NOW,
        anew: bool = True,
        most: int = 0,
    ) -> None:
        """Show the response to `op` now and whenever it changes. Without `anew`, a response that others follow is not
        fetched again. A list is read on until it has `most` items."""
        if slot in self._slots:
            if self._slots[slot].op == op:
                return
            self._slots.pop(slot).leave()
        if op is None or show is None:
            return
        (self._patient.discard if rank is Rank.NOW else self._patient.add)(slot)
        self._octavo.workspace.following.add(self)
        # `watch` shows what is known before it returns, and showing may follow something else in this slot.
        live = self._octavo.session.live
        followed = self._slots[slot] = _Slot(op, live.watched_response(op))
        leave = live.watch(op, partial(self._shown, show), rank=rank, refetch=anew, min_items=most)
        if self._slots.get(slot) is followed:
            followed.leave = leave
        else:
            leave()

    def rest_on(self, *ops: Operation[Any]) -> None:
        """What is shown here is also made of the answers to these, which others follow: its age is theirs too."""
        self._octavo.workspace.following.add(self)
        self._rests_on = tuple(map(self._octavo.session.live.watched_response, ops))

    def _shown(self, show: Callable[[Snapshot[T]], None], snapshot: Snapshot[T]) -> None:
        if internals.is_being_removed(self._shower):
            return  # there is nothing left to show it in
        self._octavo.workspace.look_at_link()
        show(with_age(snapshot))

    @property
    def _octavo(self) -> Shell:
        return cast("Shell", self._shower.app)

    def follow_whole(
        self,
        slot: str,
        op: Listing[Item],
        show: Callable[[Snapshot[ListPage[Item]]], None],
        most: int = ITEMS_READ,
        *,
        rank: Rank = Rank.NOW,
    ) -> None:
        """Show a list as `follow` does, read on until it is whole or has `most` items."""
        self.follow(slot, op, show, rank=rank, most=most)

    def op(self, slot: str) -> Operation[Any] | None:
        """What `slot` follows now."""
        return self._slots[slot].op if slot in self._slots else None

    def ops(self) -> tuple[Operation[Any], ...]:
        """All that is followed."""
        return tuple(each.op for each in self._slots.values())

    def awaited(self) -> Iterator[LiveResponse]:
        """What of it is not one of many, and what it rests on."""
        yield from (each.answer for slot, each in self._slots.items() if slot not in self._patient)
        yield from self._rests_on

    @property
    def is_on_show(self) -> bool:
        """Whether it is on the screen one looks at, or below a dialog on that."""
        shower = self._shower
        if not internals.is_whole(shower):
            return False
        stack = self._octavo.screen_stack
        bottom = max((at for at, each in enumerate(stack) if not each.is_modal), default=0)
        return shower.screen in stack[bottom:]

    def stop(self) -> None:
        """Follow nothing any more."""
        while self._slots:
            self._slots.popitem()[1].leave()
        self._rests_on = ()


def with_age(snapshot: Snapshot[T]) -> Snapshot[T]:
    """What is shown although the server was not reached says how old it is."""
    if snapshot.fetched_at is None or not isinstance(snapshot.error, Unreachable):
        return snapshot
    error = copy(snapshot.error)
    # That nobody answers stands in the frame, and in the log.
    why = "" if isinstance(error, NotSent) else f" {error}"
    error.args = (f"Last updated {long_age(snapshot.fetched_at)}.{why}",)
    return replace(snapshot, error=error)


def report_missing_parts(rows: RowList[Any], what: str, answers: Sequence[Snapshot[Any]]) -> None:
    """Say in a list that is made of several answers that some of them are not here, did not come or are not whole."""
    failed = [each.error for each in answers if each.error is not None]
    if rows.counts.loaded and failed and all(isinstance(each, NotSent) for each in failed):
        oldest = min((each.fetched_at for each in answers if each.fetched_at is not None), default=None)
        unread = sum(each.value is None for each in answers)
        more = f" · some {what} not loaded yet" if unread else ""
        rows.state.show_age(f"{offline_since(oldest)}{more}")
    elif failed:
        more = f" (and {plural(len(failed) - 1, 'more error')})" if len(failed) > 1 else ""
        rows.state.fail(f"Could not load some {what}", f"{failed[0]}{more}")
    elif any(each.value is None for each in answers):
        rows.state.wait_for(what)
    else:
        rows.state.show_unreadable(sum(getattr(each.value, "unreadable", 0) for each in answers))


def is_covered(view: View, pane: Widget) -> bool:
    """Whether there is room for one pane only, and that is another than `pane`: then no key acts on what is in it."""
    if not view.has_class("-tiny"):
        return False
    around = [each for each in pane.ancestors_with_self if isinstance(each, Widget)]
    is_beside = view.has_class("-aside") and all(each.id != "aside" for each in around)
    return is_beside or any(each.has_class("hairline") for each in around) != view.has_class("-on-left")


def _pane_beside(view: View) -> Widget | None:
    """Nothing has the focus on a screen that has no parts yet, and keys come for it then too."""
    pane = view.keys_go_on_to if isinstance(view.focused, LineList) else None
    return None if pane is None or is_covered(view, pane) else pane


@internals.with_bindings_of(_pane_beside)
class View(HasCommands, Screen[None]):
    """A screen inside the frame: the top bar, its body, the status line and the keys."""

    HELP: ClassVar[str] = ""
    """What one does here, in a sentence or two: the start of its help."""

    VIEW: str = ""
    """The mode whose tab is lit."""

    IS_STOP: ClassVar[bool] = True
    """One can come back to it."""

    QUITS_FROM: ClassVar[frozenset[str]] = frozenset()
    """The ids of lists in which `q` quits although escape goes up from them."""

    body: Callable[[], Iterable[Widget]]
    """The widgets between the frame's lines. Each view has its own."""

    def __init__(self) -> None:
        super().__init__()
        self.subscriptions = Subscriptions(self)

    async def on_event(self, event: Event) -> None:
        if internals.prepare_screen(self, event):
            await super().on_event(event)

    def compose(self) -> ComposeResult:
        yield TopBar(self.VIEW)
        yield from self.body()
        yield TourStrip()
        yield StatusBar()
        yield KeyBar()
        yield Notices(self.shell.notices, uncovered=SectionTabs)

    @property
    def things_at_hand(self) -> Sequence[Model]:
        """What the keys are about: the thing under the cursor, then what it is in."""
        return ()

    @property
    def shell(self) -> Shell:
        return cast("Shell", self.app)

    @property
    def live(self) -> Live:
        return self.shell.session.live

    @property
    def keys_go_on_to(self) -> Widget | None:
        """The pane that gets the keys nothing else has while a list beside it has the focus."""
        return None

    def follow(
        self,
        slot: str,
        op: Operation[T] | None,
        show: Callable[[Snapshot[T]], None] | None = None,
        *,
        anew: bool = True,
    ) -> None:
        """Show the answer to `op` now and whenever it changes, instead of what `slot` followed before. Not `anew`: what is
        followed already is not asked again because of one more."""
        if op is not None and not self.shell.has_session:
            return  # a session that has ended is asked nothing, whatever was about to be
        self.subscriptions.follow(slot, op, show, anew=anew)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Remember which pane has the keys, for where there is room for one. It stays so while the terminal has not."""
        on_left = any(
            isinstance(each, Widget) and each.has_class("hairline") for each in event.widget.ancestors_with_self
        )
        # What it looks like depends on that only where there is little room.
        self.set_class(on_left, "-on-left", update=self.has_class("-tiny") or self.has_class("-narrow"))

    def on_unmount(self) -> None:
        self.subscriptions.stop()

    def go_up(self) -> bool:
        """Go up one level inside this view, such as from a page to the list it is in. False at its top."""
        return False

    def climb(self, to: Widget, when: bool) -> bool:
        """Go up to a pane, when one is below it. Whether one was."""
        if when:
            to.focus()
        return when

    def go_up_or_leave(self) -> None:
        """Go up one level; from the top to where this view was opened from."""
        if not self.go_up():
            self.shell.trail.leave_screen()

    def show_nowhere(self, rows: RowList[Any] | Tree, what: str) -> bool:
        """Say in a list why there is no organization to show anything of, or that it is asked for. False: there is one."""
        if self.shell.workspace.organization is not None:
            return False
        if rows.keys:
            rows.show(())
        if (why := self.shell.workspace.nowhere) is not None:
            rows.state.fail(*why)
        else:
            rows.state.wait_for(what)
        return True

    def ask_again(self) -> None:
        """Ask again for everything on show. What is shown stays until the answers are here."""
        for op in dict.fromkeys((*self.shell.workspace.ops, *self.subscriptions.ops())):
            self.shell.background(self.live.refresh(op))

    def status(self, crumbs: str, facts: str = "") -> None:
        """Say where we are, and what is known about it, in the status line."""
        for bar in self.query(StatusBar):
            bar.crumbs, bar.facts = crumbs, facts

    @on(Notices.UndoRequested)
    def _undo(self) -> None:
        self.shell.undo()

    @on(TopBar.ViewWanted)
    def _switch(self, message: TopBar.ViewWanted) -> None:
        self.shell.show_view(message.view)
