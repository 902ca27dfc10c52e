"""The details of the selected row, below or beside the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from octavo.api.labels import field_label
from octavo.tui.resources.resource import Facts as Told
from octavo.tui.resources.resource import Names, Resource
from octavo.tui.shell.item_info import field_details
from octavo.tui.widgets.text_widgets import ChangingText, Fact, FactList

TWO_COLUMNS = 84
"""Cells from which on facts stand in two columns, where they are more than there are lines."""
HIDDEN = "hidden"
OWN_WORDS = frozenset({"ID", "path", "slug", "URL name", "host name", "subdomain", "title"})
"""Facts that are what they say, also where something else has that as its id: a part of a site at the path `handbook`."""


class Details(VerticalScroll, can_focus=False):
    """All that is known of one thing. The table has the keys: `read_on` is how it is read further."""

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

    def show(self, resource: Resource[Any], thing: Any | None, names: Names, told: Told = ()) -> None:
        """Tell of a thing, or of nothing. `told`: what was asked for to tell it first."""
        title = Content.styled(resource.title(thing), "bold") if thing is not None else Content("")
        self.query_one(".details--title", Static).update(title)
        said = {label for label, _ in told}
        rest = [each for each in facts_of(resource, thing, names) if each[0] not in said]
        self._facts = [Fact("note", label, value) for label, value in (*told, *rest)]
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
        """Scroll by so many pages. False at the end."""
        before = self.scroll_offset.y
        self.scroll_relative(y=pages * max(1, self.size.height - 1), animate=False, immediate=True)
        return self.scroll_offset.y != before


def facts_of(resource: Resource[Any], thing: Any | None, names: Names) -> list[tuple[str, Any]]:
    """What is to be told of a thing: what its kind says first, then every field that says anything."""
    if thing is None:
        return []
    first = [(label, value) for label, value in resource.details(thing) if value]
    said, title = {label for label, _ in first}, resource.title(thing)
    called = {each.value: each.name for each in resource.columns if isinstance(each.value, str)}
    fields = [
        each for each in field_details(thing, resource.secrets, called) if each[0] not in said and each[1] != title
    ]
    drawn = {each.name: each.draw for each in resource.columns if each.draw is not None}
    rest = [
        (label, drawn[label](value) if label in drawn else value if label in OWN_WORDS else names(value))
        for label, value in fields
    ]
    hidden = [(field_label(name), HIDDEN) for name in sorted(resource.secrets) if getattr(thing, name, None)]
    return [*first, *rest, *hidden]
