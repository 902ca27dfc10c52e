from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from textual.app import App
from textual.dom import DOMNode
from textual.keys import Keys, _character_to_key

from octavo import settings
from octavo.settings import Settings
from octavo.settings.file import is_key
from octavo.settings.programs import CustomCommand, Hook
from octavo.settings.table import THEMES, InboxFilter, command_ids
from octavo.tui.app.keymap_contexts import KEYMAP_CONTEXTS
from octavo.tui.app.octavo import Octavo
from octavo.tui.widgets.chooser import ThemePicker
from octavo.tui.widgets.commands import own_bindings
from octavo.tui.widgets.themes import themes


def read(folder: Path, text: str = "", **environ: str) -> Settings:
    """Return the settings from a file with `text` in `folder`."""
    folders = {f"OCTAVO_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    if text:
        (folder / "config").mkdir(exist_ok=True)
        (folder / "config" / "config.toml").write_text(text, "utf-8")
    return settings.read({**folders, **environ})


def test_without_a_file_all_settings_are_defaults(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert found == Settings(tmp_path / "config", tmp_path / "data", tmp_path / "state", tmp_path / "cache")
    assert (found.undo_seconds, found.motion, found.ascii, found.editor, found.problems) == (5.0, True, False, (), ())


def test_former_command_id_assigns_keys_to_the_renamed_command(tmp_path: Path) -> None:
    found = read(tmp_path, '[keys]\n"diff.next_hit" = "d"\n"diff.prev_hit" = "D"\n"diff.prev_change" = "w"')
    assert (found.keys, found.problems) == ({"diff.next_change": "d", "diff.prev_change": "w"}, ())


def test_default_folders_follow_the_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    found = settings.read({"OCTAVO_STATE_DIR": "/elsewhere"})
    assert "octavo" in found.config_folder.parts
    assert len({found.config_folder, found.data_folder, found.cache_folder}) >= 2
    assert found.state_folder == Path("/elsewhere")


def test_settings_are_read_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    found = read(
        tmp_path,
        f"""
        theme = "nord"
        ascii = true
        motion = false
        undo_seconds = 0
        editor = "code --wait 'a b'"
        quick_replies = ["Fixed.", " Will do. ", "Fixed."]
        ca_file = "{tmp_path / "ca.pem"}"
        [inbox."Of the API"]
        reasons = ["review requested", "mentioned"]
        space = "API"
        words = "two words"
        [inbox.All]
        words = ""
        [keys]
        "comment.resolve" = "d,ctrl+d"
        """,
        EDITOR="vi",
    )
    assert found.problems == ()
    assert (found.theme, found.ascii, found.motion, found.undo_seconds) == ("nord", True, False, 0.0)
    assert found.editor == ("code", "--wait", "a b")
    assert found.quick_replies == ("Fixed.", "Will do."), "each once"
    assert found.ca_file == tmp_path / "ca.pem"
    assert found.keys == {"comment.resolve": "d,ctrl+d"}
    of_the_api = InboxFilter("Of the API", ("review requested", "mentioned"), "API", "two words")
    assert found.inbox_filters == (of_the_api, InboxFilter("All"))


def test_number_of_filters_is_limited(tmp_path: Path) -> None:
    found = read(tmp_path, "\n".join(f"[inbox.n{number}]\nwords = 'x'" for number in range(21)))
    assert [each.name for each in found.inbox_filters] == [f"n{number}" for number in range(20)]
    assert found.problems == (
        f"{tmp_path}/config/config.toml, line 41: inbox.'n20' exceeds the limit of 20 filters. "
        "Octavo ignores the filter.",
    )


def test_environment_overrides_the_file(tmp_path: Path) -> None:
    text = 'theme = "nord"\nundo_seconds = 9\nascii = false'
    found = read(tmp_path, text, OCTAVO_THEME="mono", OCTAVO_UNDO_SECONDS="2.5", OCTAVO_ASCII="1")
    assert (found.theme, found.undo_seconds, found.ascii) == ("mono", 2.5, True)


@pytest.mark.parametrize(
    ("environ", "editor"),
    [({"EDITOR": "vi"}, ("vi",)), ({"EDITOR": "vi", "VISUAL": "nvim -f"}, ("nvim", "-f")), ({"VISUAL": "'x"}, ())],
)
def test_visual_and_editor_set_the_editor(tmp_path: Path, environ: dict[str, str], editor: tuple[str, ...]) -> None:
    found = read(tmp_path, **environ)
    assert found.editor == editor
    assert len(found.problems) == (0 if editor else 1)


@pytest.mark.parametrize(
    ("environ", "ascii_only"),
    [
        ({}, False),
        ({"LANG": "C"}, True),
        ({"LANG": "en_GB.UTF-8"}, False),
        ({"LANG": "en_GB.UTF-8", "LC_ALL": "POSIX"}, True),
        ({"LANG": "C", "LC_CTYPE": "C.utf8"}, False),
        ({"LANG": "C", "OCTAVO_ASCII": "no"}, False),
    ],
)
def test_locale_without_utf8_turns_ascii_on(tmp_path: Path, environ: dict[str, str], ascii_only: bool) -> None:
    assert read(tmp_path, **environ).ascii is ascii_only


@pytest.mark.parametrize(
    ("environ", "turns"),
    [
        ({}, False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, False),
        ({"KITTY_WINDOW_ID": "1"}, True),
        ({"TERM": "foot"}, True),
        ({"KITTY_WINDOW_ID": "1", "OCTAVO_RIGHT_TO_LEFT": "terminal"}, False),
        ({"OCTAVO_RIGHT_TO_LEFT": "octavo"}, True),
    ],
)
def test_right_to_left_text_is_reordered_unless_the_terminal_does(
    tmp_path: Path, environ: dict[str, str], turns: bool
) -> None:
    pytest.importorskip("bidi")
    assert read(tmp_path, **environ).reorders_right_to_left is turns


def test_accessible_variable_turns_motion_off(tmp_path: Path) -> None:
    assert not read(tmp_path, ACCESSIBLE="1").motion
    assert read(tmp_path, ACCESSIBLE="0").motion


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("theme = 7", "theme"),
        ('theme = "\\u202e"', "theme"),
        ('ascii = "perhaps"', "ascii"),
        ("motion = []", "motion"),
        ('right_to_left = "yes"', "right_to_left"),
        ('quick_replies = "Fixed."', "quick_replies"),
        ('quick_replies = ["Fixed.", 7]', "quick_replies"),
        ('quick_replies = [" "]', "quick_replies"),
        (f'quick_replies = ["{"x" * 1001}"]', "quick_replies"),
        (f"quick_replies = {['x'] * 51}", "quick_replies"),
        ("undo_seconds = 31", "undo_seconds"),
        ("undo_seconds = -1", "undo_seconds"),
        ("undo_seconds = nan", "undo_seconds"),
        ("undo_seconds = true", "undo_seconds"),
        ('undo_seconds = "soon"', "undo_seconds"),
        ('editor = "unclosed \'"', "editor"),
        ("editor = ['vi']", "editor"),
        ("inbox = 7", "inbox"),
        ("[inbox]\nAPI = 7", "inbox.'API'"),
        ("[inbox.API]", "inbox.'API'"),
        ('[inbox.API]\nreason = "mentioned"', "inbox.'API'.'reason'"),
        ('[inbox.API]\nreasons = "mentioned"', "inbox.'API'.'reasons'"),
        ('[inbox.API]\nreasons = ["mentions"]', "inbox.'API'.'reasons'"),
        ("[inbox.API]\nreasons = [[]]", "inbox.'API'.'reasons'"),
        ("[inbox.API]\nspace = 7", "inbox.'API'.'space'"),
        ('[inbox.API]\nwords = "\\u001b[31m"', "inbox.'API'.'words'"),
        ('[inbox." "]\nwords = "x"', "inbox.' '"),
        ('[inbox."\\u202e"]\nwords = "x"', "inbox.'\\u202e'"),
        ("keys = 7", "keys"),
        ('[keys]\nquit = "q"', "keys.'quit'"),
        ('[keys]\n"app.quit" = 7', "keys.'app.quit'"),
        ('[keys]\n"app.quit" = ""', "keys.'app.quit'"),
    ],
)
def test_invalid_value_is_reported_in_a_sentence(tmp_path: Path, text: str, name: str) -> None:
    found = read(tmp_path, text)
    assert len(found.problems) == 1
    line = text.count("\n") + 1
    if text.startswith("[") and name.count("'") == 2 and not name.startswith("keys"):
        line = 1 if text != "[inbox]\nAPI = 7" else 2  # A mistake in a filter disables the whole filter.
    assert found.problems[0].startswith(f"{tmp_path}/config/config.toml, line {line}: {name} ")
    assert found.problems[0].endswith(("Octavo uses the default.", "Octavo ignores the filter."))
    assert found == Settings(
        found.config_folder, found.data_folder, found.state_folder, found.cache_folder, problems=found.problems
    )


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('theme = "drak"', "theme is 'drak', which is not a theme. Did you mean dark? The available themes are dark,"),
        (
            '[keys]\n"comment.resovle" = "d"',
            "keys.'comment.resovle' is not a command ID. Did you mean comment.resolve? To list the command IDs, run octavo",
        ),
        (
            '[keys]\n"view.inbox" = "foo+bar"',
            "keys.'view.inbox' contains 'foo+bar', which is not a key. Examples of keys are d,",
        ),
        (
            '[keys]\n"view.inbox" = "9, ctlr+d"',
            "keys.'view.inbox' contains 'ctlr+d', which is not a key. Did you mean ctrl+d?",
        ),
    ],
)
def test_unknown_theme_command_or_key_is_reported_with_a_near_miss(tmp_path: Path, text: str, meant: str) -> None:
    found = read(tmp_path, text)
    (problem,) = found.problems
    assert problem.startswith(f"{tmp_path}/config/config.toml, line {text.count(chr(10)) + 1}: {meant}")
    assert (found.theme, found.keys) == ("", {})


def test_theme_setting_and_theme_picker_list_the_same_themes() -> None:
    app: App[None] = App()
    for theme in themes():
        app.register_theme(theme)
    assert list(THEMES) == ThemePicker(app).names


def test_command_ids_match_the_app() -> None:
    places: list[type[DOMNode]] = [Octavo, *KEYMAP_CONTEXTS]
    assert set(command_ids()) == {each.id for place in places for each in own_bindings(place) if each.id}


@pytest.mark.parametrize(
    ("key", "is_one"),
    [
        *((key, True) for key in ("d", "D", "f5", "ctrl+d", "ctrl+shift+f5", "space", "question_mark", "?", "é", "+", "alt+enter", "pagedown")),
        *((key, True) for key in map(_character_to_key, map(chr, range(0x20, 0x7F)))),
        *((key, True) for key in (each.value for each in Keys) if key.isidentifier()),
        *((key, False) for key in ("ctlr+d", "retrun", "f99", "ctrl", "ctrl+", "dd", "cmd+x")),
    ],
)  # fmt: skip
def test_key_names_are_checked(key: str, is_one: bool) -> None:
    assert is_key(key) is is_one


def test_invalid_variable_is_named(tmp_path: Path) -> None:
    assert (
        read(tmp_path, OCTAVO_UNDO_SECONDS="1e9")
        .problems[0]
        .startswith("OCTAVO_UNDO_SECONDS must be a number of seconds from 0 to 30, not '1e9'.")
    )


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("theme = ", 1, "invalid value"),
        ("[[[", 1, "invalid initial character"),
        ("\x00", 1, "invalid statement"),
        ("theme = 'dark'\ntheme = 'mono'", 2, "its name occurs twice in the file"),
        ("ascii = true\nmotion = [\n", 2, ""),
        ("[keys]\n'app.quit' = 'x'\n[keys]\n'app.help' = 'y'", 3, "its name occurs twice in the file"),
        (f"theme = {'[' * 5000}", 1, ""),
    ],
)
def test_broken_line_is_reported_and_other_lines_are_used(tmp_path: Path, text: str, line: int, why: str) -> None:
    found = read(tmp_path, f"undo_seconds = 9\n{text}")
    (problem,) = found.problems
    assert problem.startswith(f"{tmp_path}/config/config.toml, line {line + 1}: Octavo cannot read this line ({why}")
    assert problem.endswith("and ignores it.")
    assert found.undo_seconds == 9.0


def test_all_mistakes_of_a_file_are_reported_with_line_numbers(tmp_path: Path) -> None:
    text = """# my settings
teme = "dark"
ascii = "perhaps"
undo_seconds = 90
right_to_left = "termnal"
quick_replies = [
    "Fixed.",
    7,
]
motion = flase
thumbnails = true
[inbox."API"]
reasons = ["review requsted", "mentioned", "sent"]
spac = "API"
[inbox.all]
words = ""
[keys
"app.help" = "h"
[keys]
"app.quit" = 7
"app.theme" = "f9"
"""
    found = read(tmp_path, text)
    where = f"{tmp_path}/config/config.toml, line "
    said = [each.removeprefix(where) for each in found.problems]
    assert sorted(int(each.partition(":")[0]) for each in said) == [2, 3, 4, 5, 6, 10, 13, 13, 14, 17, 20]
    by_line = dict(each.split(": ", 1) for each in said)
    assert by_line["2"].startswith("there is no setting 'teme'. Did you mean theme? The settings are theme, ascii, ")
    assert by_line["3"] == "ascii must be true or false, not 'perhaps'. Octavo uses the default."
    assert by_line["5"].startswith(
        "right_to_left must be auto, terminal, or octavo, not 'termnal'. Did you mean terminal?"
    )
    assert by_line["14"].startswith("inbox.'API'.'spac' is not a filter condition. Did you mean space?")
    assert any(
        "'review requsted', which is not a valid reason. Did you mean review requested? The valid reasons are not sent,"
        in each
        for each in said
    )
    assert found.thumbnails, "what is right holds"
    assert found.keys == {"app.theme": "f9"}
    assert [each.name for each in found.inbox_filters] == ["all"]


def test_location_is_the_variable_or_the_line(tmp_path: Path) -> None:
    found = read(tmp_path, '\ntheme = "x"\n[keys]\n"app.quit" = "x"', OCTAVO_ASCII="1")
    path = tmp_path / "config" / "config.toml"
    assert found.location("theme") == f"{path}, line 2: theme"
    assert found.location("keys", "app.quit") == f"{path}, line 4: keys.'app.quit'"
    assert (found.location("ascii"), found.location("motion")) == ("OCTAVO_ASCII", f"{path}: motion")


def test_misspelled_variable_is_reported(tmp_path: Path) -> None:
    found = read(tmp_path, OCTAVO_THME="dark", OCTAVO_API_KY="x", OCTAVO_OF_OTHERS="x")
    assert found.problems == (
        "Octavo ignores the variable OCTAVO_THME. Did you mean OCTAVO_THEME?",
        "Octavo ignores the variable OCTAVO_API_KY. Did you mean OCTAVO_API_KEY?",
    )


@pytest.mark.parametrize("from_the_environment", [True, False])
def test_missing_certificate_file_is_reported_and_still_required(tmp_path: Path, from_the_environment: bool) -> None:
    text = "" if from_the_environment else 'ca_file = "/nonexistent"'
    environ = {"OCTAVO_CA_FILE": "/nonexistent"} if from_the_environment else {}
    found = read(tmp_path, text, **environ)
    where = "OCTAVO_CA_FILE" if from_the_environment else f"{tmp_path}/config/config.toml, line 1: ca_file"
    assert found.problems == (
        f"{where} is '/nonexistent', but there is no such file. Correct or remove the path. "
        "Until you do, Octavo cannot connect to a server.",
    )
    assert found.ca_file == Path("/nonexistent")


@pytest.mark.parametrize("name", ["HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"])
def test_relative_system_folder_is_reported(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "here/there")
    for each in settings._XDG.values():
        if each != name:
            monkeypatch.delenv(each, raising=False)
    found = settings.read({name: "here/there"})
    assert found.problems[0].startswith(f"{name} is the relative path 'here/there', so Octavo ignores it and uses /")
    assert found.problems[0].endswith(f"Set {name} to a path that begins with /.")
    folders = (found.config_folder, found.data_folder, found.state_folder, found.cache_folder)
    assert all(each.is_absolute() for each in folders)


def test_folder_named_like_the_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "config" / "config.toml").mkdir(parents=True)
    path = tmp_path / "config" / "config.toml"
    assert read(tmp_path).problems == (f"Could not read {path}: Is a directory. Octavo is using the default settings.",)


@examples(max_examples=50, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["OCTAVO_THEME", "OCTAVO_ASCII", "OCTAVO_UNDO_SECONDS", "EDITOR", "LANG"]), st.text()
    )
)
def test_any_environment_gives_settings(environ: dict[str, str]) -> None:
    found = read(Path("/nonexistent"), **environ)
    assert 0 <= found.undo_seconds <= 30


def test_reading_settings_loads_no_heavy_modules() -> None:
    program = (
        "import sys\nfrom octavo import settings\n"
        "settings.read({f'OCTAVO_{n}_DIR': '/nonexistent' for n in ('CONFIG', 'DATA', 'STATE', 'CACHE')})\n"
        "print([name for name in ('pydantic', 'httpx', 'platformdirs', 'tomllib', 'textual') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('on = "merged"\ncommand = "x"', "command must be a list of a program and its arguments"),
        ('on = "mergd"\ncommand = ["x"]', "on must be one of inbox-row, review-requested, new-reply"),
        ('on = "merged"\ncommand = ["{ref}"]', "command must begin with a program, not with a placeholder"),
        ('on = "merged"\ncommand = ["sh", "-c", "{ref}"]', "after -c, where it would run as code"),
        ('on = "merged"\ncommand = ["perl", "-e", "{url}"]', "after -e, where it would run as code"),
        ('on = "merged"\ncommand = ["x", "a{ref}b"]', "A placeholder must be a whole argument, or the part after ="),
        ('on = "merged"\ncommand = ["x"]\nshell = true', "shell is not a field of a hook"),
    ],
)
def test_invalid_hook_is_reported_and_ignored(tmp_path: Path, text: str, why: str) -> None:
    found = read(tmp_path, f"[[hook]]\n{text}\n")
    assert len(found.problems) == 1
    assert why in found.problems[0]
    assert found.problems[0].endswith("Octavo ignores the hook.")
    assert found.hooks == ()


def test_hooks_and_notifications_are_read(tmp_path: Path) -> None:
    text = 'notify = "auto"\n[[hook]]\non = "merged"\ncommand = ["say", "--ref={ref}", "{url}"]\n'
    found = read(tmp_path, text)
    assert found.problems == ()
    assert (found.notify, found.hooks) == ("auto", (Hook("merged", ("say", "--ref={ref}", "{url}")),))
    assert "Did you mean auto?" in read(tmp_path, OCTAVO_NOTIFY="auot").problems[0]


_COMMAND = 'name = "Make a ticket"\nin = ["change"]\n'


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f'{_COMMAND}command = "x"', "command must be a list of a program and its arguments"),
        (f"{_COMMAND}command = []", "command must be a list of a program and its arguments"),
        (f'{_COMMAND}command = ["{{ref}}"]', "command must begin with a program, not with a placeholder"),
        (f'{_COMMAND}command = ["sh", "-c", "{{ref}}"]', "'{ref}' after -c, where it would run as code"),
        (f'{_COMMAND}command = ["perl", "-e", "{{path}}"]', "'{path}' after -e, where it would run as code"),
        (f'{_COMMAND}command = ["node", "--eval={{url}}"]', "'{url}' after --eval, where it would run as code"),
        (f'{_COMMAND}command = ["x", "a{{block}}b"]', "A placeholder must be a whole argument, or the part after ="),
        (f'{_COMMAND}command = ["x"]\nshell = true', "shell is not a field of a command"),
        (f'{_COMMAND}command = ["x"]\nkey = "ctrl+foo"', "key contains 'ctrl+foo', which is not a key"),
        (f'{_COMMAND}command = ["x"]\nkey = 7', "key must be a key, such as d or ctrl+d, not 7"),
        (f'{_COMMAND}command = ["x"]\nshow = "pagr"', "Did you mean pager"),
        (f'{_COMMAND}command = ["x"]\nconfirm = "yes"', "confirm must be true or false"),
        (f'{_COMMAND}command = ["x"]\nwrites = 1', "writes must be true or false"),
        ('in = ["change"]\ncommand = ["x"]', "name must be a name of 1 to 40 printable characters"),
        ('name = "\\u001b"\nin = ["change"]\ncommand = ["x"]', "name must be a name of 1 to 40 printable characters"),
        ('name = "x"\ncommand = ["x"]', "in must be a list of items"),
        ('name = "x"\nin = []\ncommand = ["x"]', "in must be a list of items"),
        (
            'name = "x"\nin = ["pag"]\ncommand = ["x"]',
            "in contains 'pag'. Did you mean page? The items are block, thread",
        ),
    ],
)
def test_invalid_command_is_reported_and_ignored(tmp_path: Path, text: str, why: str) -> None:
    found = read(tmp_path, f"[[command]]\n{text}\n")
    assert len(found.problems) == 1
    assert why in found.problems[0]
    assert found.problems[0].endswith("Octavo ignores the command.")
    assert found.commands == ()


def test_commands_are_read(tmp_path: Path) -> None:
    fields = 'key = "f9"\nshow = "pager"\nconfirm = true\nwrites = true\n'
    found = read(tmp_path, f'[[command]]\n{_COMMAND}command = ["new", "{{ref}}", "--url={{url}}"]\n{fields}')
    assert found.problems == ()
    command = ("new", "{ref}", "--url={url}")
    assert found.commands == (CustomCommand("Make a ticket", ("change",), command, "f9", "pager", True, True),)


@pytest.mark.parametrize("name", ["Make a ticket", "make-a ticket", "MAKE_A_TICKET"])
def test_second_command_with_nearly_the_same_name_is_reported(tmp_path: Path, name: str) -> None:
    section = f'[[command]]\n{_COMMAND}command = ["x"]\n'
    found = read(tmp_path, section + section.replace("Make a ticket", name))
    assert [each.command for each in found.commands] == [("x",)]
    assert f"name {name!r} has the same letters as 'Make a ticket', the name of another command" in found.problems[0]


def test_command_needs_a_letter_or_digit_in_its_name(tmp_path: Path) -> None:
    found = read(tmp_path, f'[[command]]\n{_COMMAND}command = ["x"]\n'.replace("Make a ticket", "!!"))
    assert not found.commands
    assert "name must contain a letter or a digit" in found.problems[0]


def test_command_with_one_bracket_is_reported(tmp_path: Path) -> None:
    assert "must be written as [[command]]" in read(tmp_path, '[command]\nname = "x"\n').problems[0]
