"""`octavo config`: settings are listed, changed and checked without losing comments."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from octavo.settings.table import TABLE
from tests.cli.command_process import CommandLine, OctavoTerminal
from tests.cli.conftest import Octavo

TEXT = """# my settings
theme = "nord"  # at night

# my keys
[keys]
"app.quit" = "f9"
"""


@pytest.fixture
def file(octavo: Octavo, tmp_path: Path) -> Path:
    path = tmp_path / "config" / "config.toml"
    path.parent.mkdir()
    path.write_text(TEXT)
    return path


def test_set_and_unset_keep_comments(octavo: Octavo, file: Path) -> None:
    assert octavo("config", "set", "theme", "dark").code == 0
    assert octavo("config", "set", "undo_seconds", "2.50").code == 0
    assert octavo("config", "set", "quick_replies", "Fixed.", "Will do.").code == 0
    assert file.read_text() == TEXT.replace(
        '"nord"  # at night', '"dark"  # at night\nundo_seconds = 2.5\nquick_replies = ["Fixed.", "Will do."]'
    )
    for name in ("undo_seconds", "quick_replies"):
        assert octavo("config", "unset", name).code == 0
    assert file.read_text() == TEXT.replace("nord", "dark")
    assert octavo("config", "unset", "motion").code == 0, "it was not set"


def test_set_creates_the_file(octavo: Octavo, tmp_path: Path) -> None:
    assert octavo("config", "set", "ascii", "yes").code == 0
    path = tmp_path / "config" / "config.toml"
    assert path.read_text() == "ascii = true\n"
    assert octavo("config", "path").out == f"{path}\n"


def test_settings_changed_at_the_same_time_are_all_kept(octavo: Octavo, file: Path, tmp_path: Path) -> None:
    commands = CommandLine(tmp_path)
    changes = {
        "theme": "dark",
        "undo_seconds": "2",
        "motion": "false",
        "ascii": "true",
        "notify": "auto",
        "editor": "vi",
    }
    with ExitStack() as running:
        for name, value in changes.items():
            running.enter_context(commands.start("config", "set", name, value))
    text = (tmp_path / "config" / "config.toml").read_text()
    assert [name for name in changes if f"\n{name} = " not in text] == []


def test_set_keeps_a_link_to_the_file(octavo: Octavo, file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.toml"
    file.rename(real)
    file.symlink_to(real)
    assert octavo("config", "set", "theme", "dark").code == 0
    assert file.is_symlink()
    assert 'theme = "dark"  # at night' in real.read_text()


def test_get_prints_the_value_or_ends_with_an_error(
    octavo: Octavo, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert octavo("config", "get", "theme").out == "nord\n"
    assert octavo("config", "get", "keys").out == '{"app.quit": "f9"}\n'
    monkeypatch.setenv("OCTAVO_ASCII", "1")
    assert octavo("config", "get", "ascii").out == "true\n"
    ran = octavo("config", "get", "undo_seconds")
    assert (ran.code, ran.out, ran.err) == (1, "", "octavo: undo_seconds is not set. The default is: 5\n")


def test_list_has_every_setting_with_its_source(octavo: Octavo, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_UNDO_SECONDS", "7")
    rows = [line.split("\t") for line in octavo("config", "list").out.splitlines()]
    assert [row[0] for row in rows] == [each.name for each in TABLE]
    by_name = {row[0]: row[1:] for row in rows}
    assert by_name["theme"] == ["nord", f"{file}, line 2"]
    assert by_name["undo_seconds"] == ["7", "OCTAVO_UNDO_SECONDS"]
    assert by_name["thumbnails"] == ["false", "default"]
    found = {each["name"]: each for each in json.loads(octavo("config", "list", "--json").out)}
    assert (found["theme"]["value"], found["undo_seconds"]["value"]) == ("nord", 7.0)
    assert (found["motion"]["value"], found["motion"]["source"]) == (None, "default")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("get", "them"), "Unknown setting 'them'. Did you mean theme?"),
        (("set", "zzz", "1"), "Unknown setting 'zzz'. For a list, run: octavo config list"),
        (("set", "theme", "drak"), "the value is 'drak', which is not a theme. Did you mean dark?"),
        (("set", "undo_seconds", "90"), "the value must be a number of seconds from 0 to 30, not '90'."),
        (("set", "right_to_left", "termnal"), "not 'termnal'. Did you mean terminal?\n"),
        (("set", "motion", "perhaps"), "the value must be true or false, not 'perhaps'."),
        (("set", "theme", "dark", "light"), "theme takes one value. Put a value with spaces in quotes."),
        (("set", "ca_file", "/nonexistent"), "there is no such file."),
        (("set", "keys", "x"), "keys is a section of config.toml. To change it, run: octavo config edit"),
        (("unset", "inbox"), "inbox is a section of config.toml."),
        (("set", "editor", "\udcff"), "it is not valid UTF-8."),
        (("edit",), "standard input is not a terminal. Edit this file instead: "),
    ],
)
def test_wrong_arguments_end_with_two_and_change_nothing(
    octavo: Octavo, file: Path, arguments: tuple[str, ...], message: str
) -> None:
    ran = octavo("config", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert file.read_text() == TEXT


def test_broken_file_is_not_changed(octavo: Octavo, file: Path) -> None:
    file.write_text("theme = \n")
    ran = octavo("config", "set", "theme", "dark")
    assert ran.code == 2
    assert f"octavo: Could not set theme: could not read {file}: " in ran.err
    assert file.read_text() == "theme = \n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('them = "dark"', "line 1: there is no setting 'them'. Did you mean theme?"),
        ('theme = "drak"', "line 1: theme is 'drak', which is not a theme. Did you mean dark?"),
        ('[keys]\n"view.inbox" = "foo+bar"', "line 2: keys.'view.inbox' contains 'foo+bar', which is not a key."),
        ('[keys]\n"view.inbox" = ","', "line 2: keys.'view.inbox' contains an empty key. The key , is named comma."),
        ('[keys]\n"view.inbx" = "9"', "line 2: keys.'view.inbx' is not a command ID. Did you mean view.inbox?"),
        ("motion = 7", "line 1: motion must be true or false, not 7."),
        ("motion = flase", "line 1: Octavo cannot read this line (invalid value) and ignores it."),
        ('[keys]\n"app.quit" = "f1"', "line 2: keys.'app.quit' cannot use f1: app.topics already uses this key."),
        (
            '[[command]]\nname = "Lint"\nkey = "m"\nin = ["change"]\ncommand = ["lint"]',
            "line 1: command 'Lint' cannot use m: change.merge already uses this key.",
        ),
    ],
)
def test_check_reports_each_kind_of_mistake(octavo: Octavo, file: Path, text: str, message: str) -> None:
    file.write_text(text)
    ran = octavo("config", "check")
    assert ran.code == 2
    assert ran.out.startswith(f"{file}, {message}")
    assert ran.out.count("\n") == 1


def test_check_of_valid_settings_ends_with_zero(octavo: Octavo, file: Path) -> None:
    ran = octavo("config", "check")
    assert (ran.code, ran.out) == (0, "All settings are valid.\n")


def test_read_only_folder_is_reported(octavo: Octavo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("OCTAVO_CONFIG_DIR", str(tmp_path / "file" / "config"))
    ran = octavo("config", "set", "theme", "dark")
    assert ran.code == 1
    assert "Could not set theme: Could not use" in ran.err
    assert "Make the folder writable" in ran.err


@pytest.mark.parametrize(("word", "code"), [("dark", 0), ("drak", 2)])
def test_edit_opens_the_editor_and_checks_the_result(octavo: Octavo, file: Path, word: str, code: int) -> None:
    environ = {**os.environ, "EDITOR": f"sed -i s/nord/{word}/"}
    with OctavoTerminal(["config", "edit"], environ) as shown:
        assert shown.end() == code
        out = b"".join(chunk.data for chunk in shown.chunks).decode()
    assert file.read_text() == TEXT.replace("nord", word)
    assert ("Did you mean dark?" in out) == (code == 2)


def test_edit_does_not_replace_a_change_by_another_program(octavo: Octavo, file: Path) -> None:
    environ = {**os.environ, "EDITOR": f"sh -c 'echo >> {file}; sed -i s/nord/dark/ $0'"}
    with OctavoTerminal(["config", "edit"], environ) as shown:
        assert shown.end() == 1
        out = b"".join(chunk.data for chunk in shown.chunks).decode()
    assert "another program has changed the file since you opened it. Your text is in" in " ".join(out.split())
    assert file.read_text() == f"{TEXT}\n"


@pytest.mark.parametrize("editor", ["false", "no-such-editor"])
def test_edit_with_a_failing_editor_says_why(octavo: Octavo, file: Path, editor: str) -> None:
    with OctavoTerminal(["config", "edit"], {**os.environ, "EDITOR": editor}) as shown:
        assert shown.end() == 1
        out = b"".join(chunk.data for chunk in shown.chunks).decode()
    assert editor in out
    assert "Traceback" not in out


def test_edit_without_a_file_lists_every_setting_as_a_comment(octavo: Octavo, tmp_path: Path) -> None:
    environ = {**os.environ, "EDITOR": "sed -i '$a motion = false'"}
    with OctavoTerminal(["config", "edit"], environ) as shown:
        assert shown.end() == 0
    text = (tmp_path / "config" / "config.toml").read_text()
    assert text.endswith("\nmotion = false\n")
    assert all(f"# {each.about}.\n# " in text for each in TABLE)
