"""A view of a list with what its cursor is on beside it: that can be hidden, put below the list, or have all the room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from octavo.data.live import Snapshot
from octavo.tui.shell.shell import Shell
from octavo.tui.shell.view import View
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import STILL_LOADING
from octavo.tui.widgets.row_list import RowList
from octavo.tui.widgets.section_tabs import Section, SectionTabs
from octavo.tui.widgets.wording import as_clause

T = TypeVar("T")


class Narrows(Protocol):
    """By what a list can be narrowed. Of a kind, one at a time holds."""

    @property
    def kind(self) -> str: ...

    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Narrows)


class Narrowing(Generic[N]):
    """By what a list is narrowed: of each kind of filter one at most."""

    def __init__(self, view: View, changed: Callable[[], None]) -> None:
        self._view, self._changed = view, changed
        self.by: tuple[N, ...] = ()

    @property
    def names(self) -> list[str]:
        """What all that is shown has to be."""
        return [each.name for each in self.by]

    def set(self, *by: N) -> None:
        """Narrow the list by these instead."""
        self.by = by
        self._changed()

    def choose(self, title: str, more: Iterable[tuple[N, str]], save: Callable[[], None] | None = None) -> None:
        """Let the user add or remove a filter. `more` are the filters to add, each with the number of items that it leaves.
        `save` keeps the current filters."""
        from octavo.tui.widgets.chooser import Choice
        from octavo.tui.widgets.picker import Picker

        now = self.by
        choices: list[Choice[N | Callable[[], None]]] = [
            Choice(each, each.name, right="press enter to remove", group="CURRENT FILTER") for each in now
        ]
        choices += [Choice(each, each.name, right=left, group=each.kind.upper()) for each, left in more]

        if save is not None:
            choices.append(Choice(save, "Save this filter as a tab", group="SAVE"))

        def chosen(one: N | Callable[[], None] | None) -> None:
            if callable(one):
                one()
            elif one is not None:
                kept = (each for each in now if each.kind != one.kind)
                self.set(*kept, *(() if one in now else (one,)))

        self._view.app.push_screen(Picker(title, choices, empty="You cannot filter this list."), chosen)


class Preview:
    """What is beside a list: it can be hidden, put below the list, or have all the room."""

    def __init__(self, view: View, rows: Widget, beside: Sequence[Widget]) -> None:
        self.view, self._rows, self._beside = view, rows, beside

    @property
    def has_focus(self) -> bool:
        """Whether something in it has the focus."""
        return any(each.has_focus_within for each in self._beside)

    def hide(self) -> None:
        """Hide it, or show it again."""
        self.view.remove_class("-only-preview")
        self.view.toggle_class("-no-preview")
        if self.has_focus:
            self._rows.focus()

    def move(self) -> None:
        """Put it below the list, or beside it again."""
        self.view.remove_class("-only-preview", "-no-preview")
        self.view.toggle_class("-below")

    def zoom(self) -> None:
        """Show only the pane with the keys, or both."""
        if self.view.has_class("-no-preview") or self.view.has_class("-only-preview"):
            self.view.remove_class("-no-preview", "-only-preview")
        else:
            self.view.add_class("-only-preview" if self.has_focus else "-no-preview")


class ListView(View, Generic[T]):
    """A list of `T`, under its sections where it has any, and what its cursor is on. A view of one lays it out in its `body`,
    names the groups of keys it wants (`SECTIONS`, `PANES`) and has its own."""

    ORDERS: ClassVar[Mapping[str, str]] = {}
    """The ways to order the list, and what each is called. The first holds until somebody chooses another."""
    KEPT_ORDER: ClassVar[str] = ""
    """Under which name that choice is kept."""

    rows: RowList[T]
    sections: SectionTabs
    preview: Preview

    def list_beside(
        self, rows: RowList[T], *beside: Widget, sections: tuple[Section, ...] = (), begin: str = ""
    ) -> Iterable[Widget]:
        """The widgets: the list with what is beside it, under `sections` with one of them, or the first, to begin with."""
        self.rows, self.preview = rows, Preview(self, rows, beside)
        self.sections = SectionTabs(sections, begin or (sections[0].key if sections else ""))
        if sections:
            yield self.sections
        with Horizontal():
            with Vertical(classes="hairline", id="left"):
                yield rows
            yield from beside

    @property
    def ticked(self) -> list[T]:
        """Those that are ticked, in the order of the list."""
        return self.rows.selection.items

    def why_not(self, id: str) -> str | None:
        """Return why a command cannot run now. While the list is loading, it is because of that."""
        reason = super().why_not(id)
        is_loading = reason is not None and self.rows.state.is_waiting and not self.rows.keys
        return STILL_LOADING if is_loading else reason

    def draw_list(self) -> None:
        """Show what is in the list as it is now."""
        self.rows.redraw()

    def says(self, answer: Snapshot[Any], what: str, waits_for: str) -> None:
        """Say in the list that it waits for its answer, or why there is none."""
        if answer.value is None:
            self.rows.show(())
            self.rows.state.wait_for(waits_for)
        if answer.error is not None:
            self.rows.state.fail(f"Could not load {as_clause(what)}", str(answer.error))

    # In what order

    @cached_property
    def order(self) -> str:
        """One of `ORDERS`."""
        kept = self.shell.session.state.get_fact(self.KEPT_ORDER)
        return kept if isinstance(kept, str) and kept in self.ORDERS else next(iter(self.ORDERS))

    def choose_order(self, title: str) -> None:
        """Ask in what order things are to be listed."""
        from octavo.tui.widgets.chooser import Choice
        from octavo.tui.widgets.picker import Picker

        def chosen(key: str | None) -> None:
            if key is not None:
                self.order = key
                self.shell.session.state.set_fact(self.KEPT_ORDER, key)
                self.draw_list()

        choices = [Choice(key, name, right="now" if key == self.order else "") for key, name in self.ORDERS.items()]
        self.app.push_screen(Picker(title, choices, initial=self.order), chosen)

    def go_up(self) -> bool:
        """From beside the list to the list."""
        if not self.preview.has_focus:
            return False
        self.remove_class("-only-preview")
        self.rows.focus()
        return True


def _no_room(app: Shell, preview: Preview) -> str | None:
    if preview.view.has_class("-tiny") or preview.view.has_class("-narrow"):
        return "The terminal is too narrow for a preview beside the list."
    return None


SECTIONS: Commands[ListView[Any]] = Commands(
    "list",
    (
        Command("previous_section", "left_square_bracket", "Previous tab", "Go to the previous tab", key_display="[", shown=False,
                run=lambda _, view: view.sections.switch(-1)),
        Command("next_section", "right_square_bracket", "Next tab", "Go to the next tab", key_display="]", run=lambda _, view: view.sections.switch(1)),
    ),
    find=lambda view: view,
)  # fmt: skip
"""How one goes through the sections of a list."""
PANES: Commands[Preview] = Commands(
    "pane",
    (
        Command("preview", "p", "Preview", "Show or hide the preview", run=lambda _, preview: preview.hide(), shown=False),
        Command("side", "P", "Move preview", "Move the preview below or beside the list", run=lambda _, preview: preview.move(),
                why_not=_no_room, shown=False),
        Command("zoom", "z", "Zoom", "Show only the focused pane, or both panes", run=lambda _, preview: preview.zoom(), shown=False),
    ),
    context="list and preview",
    find=lambda view: view.preview,
)  # fmt: skip
"""Where what is beside a list is shown."""
