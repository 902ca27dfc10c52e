"""The tables of the help topics `check`, `commands`, `keys` and `settings`, written from the code.

`.venv/bin/python -m tests.help_tables` writes the tables between the markers in the topics, and `cli/fields.tsv`. `tests/test_readme.py` compares.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from octavo.api.operation import load
from octavo.api.wire import routes
from octavo.cli.arguments import GLOBAL_OPTIONS_TITLE, build_parser, command_parsers
from octavo.cli.commands import COMMANDS, fields_by_kind, load_command
from octavo.documents.checks.findings import RULES
from octavo.help import file_of, text_of
from octavo.settings.table import TABLE
from octavo.tui.app.keymap_contexts import KEYMAP_CONTEXTS
from octavo.tui.app.octavo import Octavo
from tests.key_binding_checks import keys_as_markdown

FIELDS = Path(__file__).with_name("cli") / "fields.tsv"
"""The JSON fields of each command, on which programs rely."""
API = Path(__file__).with_name("operations.tsv")
"""All operations of the API."""


def commands() -> str:
    """Return a table of arguments for each command and subcommand of the command line."""
    return "\n\n".join(_command_tables("octavo", build_parser()))


def keys() -> str:
    """Return the tables of all key bindings."""
    return keys_as_markdown((Octavo, *KEYMAP_CONTEXTS))


def operations() -> str:
    """Return a table of the number of operations in Octavo and in the API, by area."""
    declared = {(route.spec.method, route.path) for spec in load().values() for route in routes(spec)}
    areas: dict[str, list[bool]] = {}
    for row in csv.DictReader(API.read_text("utf-8").splitlines(), delimiter="\t"):
        areas.setdefault(_title(row["area"]), []).append((row["method"], row["path"]) in declared)
    areas = {area: areas[area] for area in sorted(areas)} | {
        "**All**": [each for area in areas.values() for each in area]
    }
    rows = [(area, sum(found), len(found)) for area, found in areas.items()]
    return _table("| Area | Operations in Octavo | Operations of the API |", "| --- | ---: | ---: |", rows)


def settings() -> str:
    """Return the table of settings."""
    rows = [(f"`{each.name}`", each.kind, each.default, each.about) for each in TABLE]
    return _table("| Setting | Type | Default | Meaning |", "| --- | --- | --- | --- |", rows)


def rules() -> str:
    """Return the table of the rules of `octavo check`."""
    rows = [
        (f"`{name}`", each.severity, "on" if each.is_default else "off", each.problem) for name, each in RULES.items()
    ]
    return _table("| Rule | Severity | Default | Finds |", "| --- | --- | --- | --- |", rows)


TABLES = {"commands": (commands, operations), "check": (rules,), "keys": (keys,), "settings": (settings,)}
"""The functions that write tables, by help topic."""


def with_tables(topic: str) -> str:
    """Return the text of a help topic with its tables replaced. Raises ValueError if a marker is missing."""
    text = text_of(topic)
    for table in TABLES[topic]:
        name = table.__name__
        before, begin, rest = text.partition(f"<!-- {name}: written by tests/help_tables.py -->")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        if not (begin and end):
            raise ValueError(f"The topic “{topic}” has no markers for the table “{name}”.")
        text = f"{before}{begin}\n\n{table()}\n\n{end}{after}"
    return text


def _table(head: str, line: str, rows: Iterable[Sequence[object]]) -> str:
    return "\n".join([head, line, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def _command_tables(name: str, command: argparse.ArgumentParser) -> Iterator[str]:
    """Yield a section for a command and for each of its subcommands."""
    yield f"### {name}"
    yield (command.description or "").replace("\n", " ")
    shared = _global_options(command) if name != "octavo" else []
    shown = [each for each in command._actions if each.help and each.dest != "help" and each not in shared]
    if rows := [(f"`{_usage(each)}`", each.help) for each in shown]:
        yield _table("| Argument | Meaning |", "| --- | --- |", rows)
    for subcommand, subparser in command_parsers(command).items():
        yield from _command_tables(f"{name} {subcommand}", subparser)


def _global_options(command: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the options that every command takes. They are listed once."""
    return [
        each for group in command._action_groups if group.title == GLOBAL_OPTIONS_TITLE for each in group._group_actions
    ]


def _usage(argument: argparse.Action) -> str:
    """Return an argument as the user types it, with the pipes escaped for a table."""
    value = argument.metavar or ("|".join(argument.choices) if argument.choices else "")
    return " ".join(filter(None, [", ".join(argument.option_strings), str(value)])).replace("|", "\\|")


def _title(area: str) -> str:
    """Return the title of an area of the API: “Change requests” for `change-requests`."""
    words = area.replace("-", " ")
    for name, title in (("openapi", "OpenAPI"), ("sso", "SSO"), ("mcp", "MCP"), ("urls", "URLs")):
        words = words.replace(name, title)
    return words[:1].upper() + words[1:]


def json_fields() -> str:
    """Return a table of the JSON fields of each command, with tabs between its columns."""
    rows = [
        (f"{name} {kind}".strip(), each.name, each.type, "extra" if each.is_extra else "default")
        for name in COMMANDS
        for kind, fields in fields_by_kind(load_command(name)).items()
        for each in fields
    ]
    return "".join("\t".join(row) + "\n" for row in [("command", "field", "type", "printed"), *rows])


if __name__ == "__main__":
    FIELDS.write_text(json_fields(), encoding="utf-8")
    for each in TABLES:
        file_of(each).write_text(with_tables(each), encoding="utf-8")
