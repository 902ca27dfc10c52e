"""README, help topics and gallery: commands, keys, settings, pictures and links in them exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from textual.dom import DOMNode

from octavo import settings
from octavo.api.operation import load
from octavo.cli.api import METHODS
from octavo.cli.arguments import build_parser, command_parsers
from octavo.help import TOPICS, file_of, text_of
from octavo.settings.file import FILE
from octavo.settings.table import INBOX_REASONS, THEME
from octavo.tui.app.keymap_contexts import KEYMAP_CONTEXTS
from octavo.tui.app.octavo import Octavo
from octavo.tui.widgets.commands import key_name, own_bindings
from octavo.tui.widgets.themes import palettes
from tests.help_tables import TABLES, with_tables

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
GALLERY = (ROOT / "screenshots" / "README.md").read_text(encoding="utf-8")
TEXTS = {"README": README, **{name: text_of(name) for name in TOPICS}}
PARSER = build_parser()
LARGEST = 8_192
"""Size limit of the README in bytes."""


def blocks(text: str, language: str) -> Iterator[str]:
    """Yield the code blocks of a language."""
    return (found[1] for found in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def shell_lines(text: str) -> list[str]:
    return [line for block in blocks(text, "sh") for line in block.splitlines()]


def octavo_commands(text: str) -> list[str]:
    """Return every command that begins with octavo, in code blocks and in sentences."""
    inline = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)
    typed = [
        re.sub(r"^source <\((.*)\)$", r"\1", line.rpartition("&&")[2].strip()) for line in [*shell_lines(text), *inline]
    ]
    typed = [re.sub(r'^(OCTAVO_\w+="[^"]*"|NO_COLOR=1) ', "", each).removeprefix(".venv/bin/") for each in typed]
    return [each for each in typed if each == "octavo" or each.startswith("octavo ")]


COMMANDS = dict.fromkeys(command for text in TEXTS.values() for command in octavo_commands(text))


def test_readme_is_short() -> None:
    assert len(README.encode()) <= LARGEST


def test_readme_has_one_line_for_the_demo_and_one_for_the_tests() -> None:
    making = [line for line in shell_lines(README) if "venv " in line]
    assert all(line.startswith("python3 -m venv ") for line in making)
    (opening,) = [line for line in making if line.endswith("octavo demo")]
    (testing,) = [line for line in making if "pytest" in line]
    assert len(making) == 2
    assert "pip install ." in opening
    assert "pip install '.[test]'" in testing
    assert "-n auto" in testing


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_in_documentation_exist(command: str) -> None:
    words = shlex.split(
        re.sub(r" ([<>|] \S+|\| \S+ .*)$", "", command.replace("COMMAND --help", "demo")), comments=True
    )
    if words[1:] == ["--version"] or (len(words) == 2 and words[1] in command_parsers(PARSER)):
        return  # the name of a command in a sentence, without its arguments
    options = PARSER.parse_args(words[1:])
    assert find_spec(f"octavo.cli.{options.module}")
    if options.command == "help":
        assert options.topic in {"", "TOPIC", *TOPICS}


def test_documentation_has_commands() -> None:
    found = octavo_commands(README)
    assert {"octavo", "octavo demo", "octavo demo --reset", "octavo serve", "octavo auth login"} <= set(found)
    assert len(COMMANDS) > 30


def test_operations_in_documentation_exist() -> None:
    names = {spec.name for spec in load().values()}
    named = {command.split()[2] for command in COMMANDS if command.startswith("octavo api ")}
    assert named <= {*names, *METHODS, "NAME"}


@pytest.mark.parametrize("topic", TOPICS)
def test_topic_has_a_title(topic: str) -> None:
    assert re.match(r"# \S.*\n\n", text_of(topic))


def test_each_help_file_is_a_topic() -> None:
    assert {path.stem for path in file_of("keys").parent.glob("*.md")} == set(TOPICS)


def test_readme_names_the_main_topics() -> None:
    named = {command.split()[2] for command in octavo_commands(README) if command.startswith("octavo help ")}
    assert {"start", "keys", "settings", "accounts", "security", "commands"} <= named


@pytest.mark.parametrize("topic", TABLES)
def test_tables_of_help_topics_match_the_code(topic: str) -> None:
    assert with_tables(topic) == text_of(topic), "Run: python -m tests.help_tables"


def test_keys_in_the_readme_are_bound() -> None:
    places: list[type[DOMNode]] = [Octavo, *KEYMAP_CONTEXTS]
    bound = {key_name(each.key) for place in places for each in own_bindings(place)}
    (table,) = re.findall(r"^\| Key \| Action \|\n\| --- \| --- \|\n((?:\|.*\n)+)", README, re.MULTILINE)
    named = [key for row in table.splitlines() for key in re.findall(r"`([^`]+)`", row.split(" | ")[0])]
    assert table.count("\n") == 15
    assert [key for key in named if key not in bound] == []


def test_sample_settings_are_read_without_problems(tmp_path: Path) -> None:
    for text, keys in ((README, {"change.merge": "ctrl+g"}), (text_of("settings"), {"comment.resolve": "d"})):
        found_keys: dict[str, str] = {}
        for sample in blocks(text, "toml"):
            (tmp_path / FILE).write_text(sample, encoding="utf-8")
            found = settings.read({"OCTAVO_CONFIG_DIR": str(tmp_path), "OCTAVO_CA_FILE": __file__})
            assert found.problems == ()
            found_keys |= found.keys
        assert found_keys == keys


def test_sample_filter_lists_all_reasons() -> None:
    sample = " ".join(text_of("settings").replace("\n# ", " ").split())
    assert [reason for reason in INBOX_REASONS if f"{reason}," not in sample and reason != "unsent draft"] == []


def test_setting_theme_names_all_themes() -> None:
    assert set(palettes()) <= set(re.findall(r"[\w-]+", THEME.about))


def test_pictures_and_linked_files_exist() -> None:
    named = {
        (folder / name).resolve()
        for folder, text in ((ROOT, README), (ROOT / "screenshots", GALLERY))
        for name in re.findall(r'(?:src|srcset)="([^"]+)"', text) + re.findall(r"\]\(([^)#:]+)\)", text)
    }
    assert [path for path in named if not path.exists()] == []
    assert {path for path in named if path.suffix == ".svg"} == set((ROOT / "screenshots").glob("*.svg"))


def test_code_of_topics_fits_a_help_dialog_in_80_columns() -> None:
    lines = [
        line
        for name in TOPICS
        for code in re.findall(r"^```.*?^```$", text_of(name), re.M | re.S)
        for line in code.splitlines()
    ]
    assert [line for line in lines if len(line) > 63] == []


def test_topics_have_no_links_to_files() -> None:
    assert [name for name in TOPICS if re.search(r"\]\((?!https:)", text_of(name))] == []


@pytest.mark.parametrize("name", TEXTS)
def test_documentation_names_no_machine_paths(name: str) -> None:
    assert not re.search(r"/(work|tmp|home|root|Users)/\w", TEXTS[name])


GUIDES = (ROOT / "CONTRIBUTING.md", ROOT / "src" / "octavo" / "README.md", ROOT / "tests" / "README.md")
PACKAGE = ROOT / "src" / "octavo"


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: str(guide.relative_to(ROOT)))
def test_files_named_in_a_guide_exist(guide: Path) -> None:
    text = guide.read_text("utf-8")
    named = {each for each in re.findall(r"`([\w/.*]+(?:\.py|\.md|\.tsv|\.txt|/))`", text) if "AREA" not in each}
    folders = (ROOT, PACKAGE, PACKAGE / "tui", guide.parent, *(PACKAGE / name for name in package_names(text)))
    assert {each for each in named if not any(list(folder.glob(each)) for folder in folders)} == set()


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: str(guide.relative_to(ROOT)))
def test_classes_and_constants_named_in_a_guide_exist(guide: Path) -> None:
    named = set(re.findall(r"`(_?[A-Z]\w{3,})`", guide.read_text("utf-8")))
    for folder in (PACKAGE, ROOT / "tests"):
        for path in folder.rglob("*.py"):
            named.difference_update(re.findall(r"\b_?[A-Z]\w{3,}", path.read_text("utf-8")))
    assert named == set()


def package_names(guide: str) -> list[str]:
    """Return the packages in the tables of a guide: files in the same row are named from there."""
    names = re.findall(r"^\| `(\w+)/` \|", guide, re.MULTILINE)
    return [*names, *(f"tui/{name}" for name in names)]


def test_contributing_guide_is_short() -> None:
    assert len((ROOT / "CONTRIBUTING.md").read_bytes()) <= 8_000
