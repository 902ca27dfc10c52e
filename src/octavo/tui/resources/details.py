"""The details of the selected row. Details that need requests are loaded after the cursor stays on the row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from pydantic import ValidationError
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.timer import Timer
from textual.widgets import Static
from textual.worker import Worker

from octavo.api.errors import ApiError
from octavo.api.labels import field_label
from octavo.data.live import Live
from octavo.tui.core.item_info import field_details
from octavo.tui.core.view import View
from octavo.tui.resources.resource import NO_VALID_ID, Arguments, DetailFacts, NameOf, Resource
from octavo.tui.widgets.text_widgets import ChangingText, Fact, FactList

LOAD_DELAY = 0.3
"""Seconds on a row before its details are loaded, which can take a dozen requests."""
LOADING: DetailFacts = (("", "Loading…"),)


class DetailLoader:
    """Loads the details of one row at a time."""

    def __init__(self, view: View, get_live: Callable[[], Live], on_loaded: Callable[[], None]) -> None:
        """`on_loaded` is called when details are loaded."""
        self._view, self._live, self._on_loaded = view, get_live, on_loaded
        self._facts: dict[tuple[str, str], DetailFacts] = {}
        self._key: tuple[str, str] | None = None
        self._timer: Timer | None = None
        self._worker: Worker[None] | None = None

    def forget(self) -> None:
        """Forget the loaded details, which may be outdated."""
        self._facts.clear()
        self._stop()

    def details_of(self, resource: Resource[Any], arguments: Arguments, item: Any | None) -> DetailFacts:
        """Return the details of an item. If they are not loaded, load them once the cursor stays on the row."""
        if resource.load_details is None or item is None:
            self._stop()
            return ()
        key = (resource.plural, resource.key(item))
        if key in self._facts:
            return self._facts[key]
        if key != self._key:
            self._stop()
            self._key = key
            self._timer = self._view.set_timer(LOAD_DELAY, lambda: self._start(resource, arguments, item, key))
        return LOADING

    def _stop(self) -> None:
        self._key = None
        if self._timer is not None:
            self._timer.stop()
        if self._worker is not None:
            self._worker.cancel()

    def _start(self, resource: Resource[Any], arguments: Arguments, item: Any, key: tuple[str, str]) -> None:
        # Not a coroutine, because that of a worker canceled before its start would never be awaited.
        load = partial(self._load, resource, arguments, item, key)
        self._worker = self._view.run_worker(load, exclusive=True, group="telling")

    async def _load(self, resource: Resource[Any], arguments: Arguments, item: Any, key: tuple[str, str]) -> None:
        assert resource.load_details is not None, "checked above"
        try:
            self._facts[key] = await resource.load_details(self._live(), arguments, item)
        except ApiError as error:
            self._facts[key] = (("error", f"Could not load more details: {error}"),)
        except ValidationError:
            self._facts[key] = (("error", NO_VALID_ID),)
        self._on_loaded()


TWO_COLUMNS = 84
"""Width in cells from which the facts can use two columns."""
HIDDEN_VALUE = "hidden"
LITERAL_FACTS = frozenset({"ID", "path", "slug", "URL name", "host name", "subdomain", "title"})
"""Facts that are never replaced by the name of another item, even if their value equals an ID."""


class Details(VerticalScroll, can_focus=False):
    """Facts about one item. The table keeps the focus, and its keys scroll the details with `read_on`."""

    DEFAULT_CSS: ClassVar[str] = """
    Details {
        background: $background; color: $foreground; padding: 0 1; scrollbar-size-vertical: 1;
        & > Horizontal { height: auto; }
        & FactList { padding: 0 1 0 0; }
    }
    """

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self._facts: Sequence[Fact] = ()

    def compose(self) -> ComposeResult:
        yield ChangingText("", classes="details--title")
        with Horizontal():
            yield FactList(classes="details--left")
            yield FactList(classes="details--right")

    def show(self, resource: Resource[Any], item: Any | None, name_of: NameOf, loaded_facts: DetailFacts = ()) -> None:
        """Show the facts about an item, with the facts `loaded_facts` at the top. None clears the details."""
        title = Content.styled(resource.title(item), "bold") if item is not None else Content("")
        self.query_one(".details--title", Static).update(title)
        labels = {label for label, _ in loaded_facts}
        others = [each for each in facts_of(resource, item, name_of) if each[0] not in labels]
        self._facts = [Fact("note", label, value) for label, value in (*loaded_facts, *others)]
        self.scroll_home(animate=False)
        self._lay_out()

    def on_resize(self, event: Resize) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        left, right = self.query_one(".details--left", FactList), self.query_one(".details--right", FactList)
        fits = len(self._facts) < self.size.height or self.size.width < TWO_COLUMNS
        left.min_height = self.size.height - self.query_one(".details--title", Static).size.height
        half = len(self._facts) if fits else (len(self._facts) + 1) // 2
        for facts, shown in ((left, self._facts[:half]), (right, self._facts[half:])):
            if tuple(shown) != facts.facts:
                facts.facts = shown

    def read_on(self, pages: int) -> bool:
        """Scroll by a number of pages. Return False if the end was reached before."""
        previous = self.scroll_offset.y
        self.scroll_relative(y=pages * max(1, self.size.height - 1), animate=False, immediate=True)
        return self.scroll_offset.y != previous


def facts_of(resource: Resource[Any], item: Any | None, name_of: NameOf) -> list[tuple[str, Any]]:
    """Return the facts about an item: those that its resource declares, then all fields with a value."""
    if item is None:
        return []
    declared = [(label, value) for label, value in resource.details(item) if value]
    labels, title = {label for label, _ in declared}, resource.title(item)
    field_names = {each.value: each.name for each in resource.columns if isinstance(each.value, str)}
    fields = [
        each
        for each in field_details(item, resource.secret_fields, field_names)
        if each[0] not in labels and each[1] != title
    ]
    renderers = {each.name: each.render for each in resource.columns if each.render is not None}
    others = [
        (label, renderers[label](value) if label in renderers else value if label in LITERAL_FACTS else name_of(value))
        for label, value in fields
    ]
    hidden = [(field_label(name), HIDDEN_VALUE) for name in sorted(resource.secret_fields) if getattr(item, name, None)]
    return [*declared, *others, *hidden]
