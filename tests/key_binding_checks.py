"""Faults in the key bindings of widgets, and the keys as Markdown for the help."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen

from octavo.tui.widgets.commands import ActiveCommand, active_commands, help_heading_of, key_name, own_bindings


def binding_faults(classes: Iterable[type[DOMNode]]) -> list[str]:
    """Return a sentence for each fault in the key bindings of `classes`. Empty if there is none."""
    problems: list[str] = []
    for owner in classes:
        bindings_by_key: dict[str, Binding] = {}
        for binding in own_bindings(owner):
            where = f"{owner.__name__}: {binding.key}"
            problems += [
                f"{where} has no {part}"
                for part, value in (
                    ("id", binding.id),
                    ("description", binding.description),
                    ("tooltip", binding.tooltip),
                )
                if not value
            ]
            if (other := bindings_by_key.setdefault(binding.key, binding)) is not binding:
                problems.append(f"{where} runs both {other.action} and {binding.action}")
    return problems


def key_clashes(screen: Screen[Any]) -> list[str]:
    """Return a sentence for each key that is assigned to two commands for the current focus."""
    commands_by_key: dict[tuple[str, str], ActiveCommand] = {}
    problems: list[str] = []
    for command in active_commands(screen):
        for key in command.keys:
            if (other := commands_by_key.setdefault((command.context, key), command)) is not command:
                problems.append(f"{command.context}: {key} is assigned to both {other.id} and {command.id}")
    return problems


def keys_as_markdown(classes: Iterable[type[DOMNode]]) -> str:
    """Return the keys of `classes` as Markdown: a table for each context, in the order of the classes."""
    rows: dict[str, dict[str, tuple[list[str], Binding]]] = {}
    for owner in classes:
        for binding in own_bindings(owner):
            context = rows.setdefault(help_heading_of(owner, binding.id), {})
            entry = context.setdefault(binding.id or binding.action, ([], binding))
            name = key_name(binding.key)
            if name not in entry[0]:
                entry[0].append(name)
    tables: list[str] = []
    for title, commands in rows.items():
        lines = [f"### {title[:1].upper()}{title[1:]}", "", "| Keys | Action | Id |", "| --- | --- | --- |"]
        for keys, binding in commands.values():
            key_list = " ".join(f"`{key}`" if key != "|" else "`\\|`" for key in keys)
            lines.append(f"| {key_list} | {binding.tooltip or binding.description} | {binding.id or ''} |")
        tables.append("\n".join(lines))
    return "\n\n".join(tables)
