"""What every view can do: follow an answer, write, and say why a key is dim."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from textual import on
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget

from octavo.api.operation import Operation
from octavo.data.live import Live, Snapshot
from octavo.tui.frame import StatusBar, TopBar
from octavo.tui.widgets.keybar import KeyBar

if TYPE_CHECKING:
    from octavo.tui.app import Octavo

T = TypeVar("T")


class View(Screen[None]):
    """A screen inside the frame: the top bar, its body, the status line and the keys."""

    HELP: ClassVar[str] = ""
    """What one does here, in a sentence or two: the start of its help."""

    VIEW: ClassVar[str] = ""
    """The mode whose tab is lit."""

    def __init__(self) -> None:
        super().__init__()
        self._followed: dict[str, tuple[Operation[Any], Callable[[], None]]] = {}

    def compose(self) -> ComposeResult:
        yield TopBar(self.VIEW)
        yield from self.body()
        yield StatusBar()
        yield KeyBar()

    def body(self) -> Iterable[Widget]:
        """The widgets between the frame's lines."""
        raise NotImplementedError

    @property
    def octavo(self) -> Octavo:
        return cast("Octavo", self.app)

    @property
    def live(self) -> Live:
        return self.octavo.session.live

    def follow(self, slot: str, op: Operation[T] | None, show: Callable[[Snapshot[T]], None] | None = None) -> None:
        """Show the answer to `op` now and whenever it changes, instead of what `slot` followed before."""
        if slot in self._followed:
            if self._followed[slot][0] == op:
                return
            self._followed.pop(slot)[1]()
        if op is not None and show is not None:
            self._followed[slot] = (op, lambda: None)
            leave = self.live.watch(op, show)
            self._followed[slot] = (op, leave)

    def following(self, slot: str) -> Operation[Any] | None:
        """What `slot` follows now."""
        return self._followed[slot][0] if slot in self._followed else None

    def unfollow_all(self) -> None:
        """Follow nothing any more."""
        while self._followed:
            self._followed.popitem()[1][1]()

    def on_unmount(self) -> None:
        self.unfollow_all()

    def action_refresh(self) -> None:
        """Ask again for everything on show. What is shown stays until the answers are here."""
        for op, _ in tuple(self._followed.values()):
            self.octavo.background(self.live.refresh(op))

    def status(self, crumbs: str | None = None, facts: str | None = None) -> None:
        """Say where we are, and what is known about it, in the status line."""
        bar = self.query_one(StatusBar)
        if crumbs is not None:
            bar.crumbs = crumbs
        if facts is not None:
            bar.facts = facts

    def background(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run `work` in the app: leaving this screen must not cancel it (C7)."""
        self.octavo.background(work)

    @on(TopBar.ViewWanted)
    def _switch(self, message: TopBar.ViewWanted) -> None:
        self.octavo.action_view(message.view)
