"""JSON fields that programs rely on: within a major version, no field is renamed or removed."""

from __future__ import annotations

from octavo.cli.commands import COMMANDS, load_command
from tests.help_tables import FIELDS, json_fields


def test_json_fields_of_commands_match_the_table() -> None:
    assert FIELDS.read_text(encoding="utf-8") == json_fields(), (
        "run: python -m tests.help_tables; fields may be added only"
    )


def test_commands_are_in_alphabetical_order() -> None:
    assert list(COMMANDS) == sorted(COMMANDS)


def test_every_command_has_help_with_examples() -> None:
    for name in COMMANDS:
        command = load_command(name)
        assert len(command.examples) >= 2, name
        assert all(each.startswith("octavo ") for each in command.examples), name
