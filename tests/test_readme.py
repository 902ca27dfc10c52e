"""The README says what is so: its commands, keys, settings, pictures and links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from octavo import settings
from octavo.cli.arguments import parser
from screenshots.coverage import with_operations
from screenshots.keys import with_keys

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> Iterator[str]:
    """What stands in code blocks of a language."""
    return (found[1] for found in re.finditer(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL))


def shell_lines() -> list[str]:
    return [line for block in blocks("sh") for line in block.splitlines()]


def octavo_commands() -> list[str]:
    """Everything the README would have us type that begins with octavo, in blocks and in sentences."""
    inline = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", README)
    said = [line.rpartition("&&")[2].strip() for line in [*shell_lines(), *inline]]
    said = [re.sub(r'^OCTAVO_\w+="[^"]*" ', "", each).removeprefix(".venv/bin/") for each in said]
    return [each for each in said if each == "octavo" or each.startswith("octavo ")]


def test_two_commands_of_one_line_make_everything() -> None:
    making = [line for line in shell_lines() if "venv " in line]
    assert all(line.startswith("python3 -m venv ") for line in making)
    (opening,) = [line for line in making if line.endswith("octavo demo")]
    (testing,) = [line for line in making if "pytest" in line]
    assert len(making) == 2
    assert "pip install ." in opening
    assert "pip install '.[test]'" in testing
    assert "-n auto" in testing


@pytest.mark.parametrize("command", dict.fromkeys(octavo_commands()))
def test_every_command_is_one_there_is(command: str) -> None:
    words = shlex.split(re.sub(r" < \S+$", "", command), comments=True)
    assert find_spec(f"octavo.cli.{parser().parse_args(words[1:]).module}")


def test_commands_are_found_at_all() -> None:
    found = octavo_commands()
    assert {"octavo", "octavo demo", "octavo demo --reset", "octavo serve", "octavo auth login"} <= set(found)
    assert any(command.startswith("octavo --base-url ") for command in found)


def test_every_operation_is_one_there_is() -> None:
    from octavo.api.operation import load

    names = {spec.name for spec in load().values()}
    said = {command.split()[2] for command in octavo_commands() if command.startswith("octavo api ")}
    assert said - {"NAME"} <= names


def test_the_keys_are_those_of_the_bindings() -> None:
    assert with_keys(README) == README, "run: python -m screenshots.keys"


def test_the_operations_are_those_that_are_declared() -> None:
    assert with_operations(README) == README, "run: python -m screenshots.coverage"


def test_the_settings_are_read_as_they_are_shown(tmp_path: Path) -> None:
    (sample,) = blocks("toml")
    (tmp_path / settings.FILE).write_text(sample, encoding="utf-8")
    found = settings.read({"OCTAVO_CONFIG_DIR": str(tmp_path), "OCTAVO_CA_FILE": __file__})
    assert found.problems == ()
    assert (found.theme, found.ascii, found.undo_seconds) == ("dark", False, 5)
    assert found.keys == {"comment.resolve": "d"}


def test_every_theme_is_one_there_is() -> None:
    from octavo.tui.widgets.themes import palettes

    (sample,) = blocks("toml")
    line = next(line for line in sample.splitlines() if line.startswith("theme"))
    assert set(palettes()) <= set(re.findall(r"[\w-]+", line))


def test_pictures_and_links_lead_somewhere() -> None:
    named = re.findall(r'(?:src|srcset)="([^"]+)"', README) + re.findall(r"\]\(([^)#:]+)\)", README)
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
    taken = {path.name for path in (ROOT / "screenshots").glob("*.svg")}
    assert {Path(name).name for name in named if name.endswith(".svg")} == taken


def test_it_names_no_machine() -> None:
    assert not re.search(r"/(work|tmp|home|root|Users)/\w", README)
