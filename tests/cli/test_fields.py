"""The fields of JSON that programs rely on: a field is never renamed or removed within a major version."""

from __future__ import annotations

from pathlib import Path

from octavo.cli.commands import COMMANDS, load_command

TABLE = Path(__file__).with_name("fields.tsv")


def test_fields_of_all_commands_are_those_of_the_table() -> None:
    declared = [
        f"{name}\t{each.name}\t{each.type}\t{'extra' if each.is_extra else 'default'}"
        for name in COMMANDS
        for each in load_command(name).fields
    ]
    assert TABLE.read_text(encoding="utf-8").splitlines() == ["command\tfield\ttype\tprinted", *declared]


def test_commands_are_in_alphabetical_order() -> None:
    assert list(COMMANDS) == sorted(COMMANDS)


def test_every_command_has_help_with_examples() -> None:
    for name in COMMANDS:
        command = load_command(name)
        assert len(command.examples) >= 2, name
        assert all(each.startswith("octavo ") for each in command.examples), name
