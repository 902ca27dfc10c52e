"""Edits of `config.toml`: one setting changes, and every other line stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from octavo.settings.file import toml_of, with_value, without_value
from octavo.settings.table import TABLE
from octavo.untrusted_input import parse_toml

FILES = {
    "empty": ("", 'theme = "nord"\n'),
    "only a comment": ("# mine\n", '# mine\ntheme = "nord"\n'),
    "without a last line end": ("ascii = true", 'ascii = true\ntheme = "nord"'),
    "value with a comment": ('theme = "#x"  # night\n', 'theme = "nord"  # night\n'),
    "value of several lines": (
        'theme = """a\n# b\n"""  # long\nascii = true\n',
        'theme = "nord"  # long\nascii = true\n',
    ),
    "before a table and its comment": (
        "# mine\n\n# my keys\n[keys]\n",
        '# mine\n\ntheme = "nord"\n\n# my keys\n[keys]\n',
    ),
    "after the last setting": (
        'ascii = true # x\n\n[keys]\n"app.quit" = "f9"\n',
        'ascii = true # x\ntheme = "nord"\n\n[keys]\n"app.quit" = "f9"\n',
    ),
    "the same name in a table": ('[keys]\ntheme = "f2"\n', 'theme = "nord"\n\n[keys]\ntheme = "f2"\n'),
    "line ends of Windows": ("ascii = true\r\n\r\n[keys]\r\n", 'ascii = true\r\ntheme = "nord"\r\n\r\n[keys]\r\n'),
    "quoted name": ('"theme" = "x"\n', 'theme = "nord"\n'),
}


@pytest.mark.parametrize(("text", "expected"), FILES.values(), ids=FILES)
def test_set_changes_one_line(text: str, expected: str) -> None:
    assert with_value(text, "theme", '"nord"') == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('# a\ntheme = "x"  # night\n# b\n', "# a\n# b\n"),
        ('theme = "x"\n\n[keys]\n', "[keys]\n"),
        ("theme = '''a\n# b\n'''\nascii = true", "ascii = true"),
        ('[keys]\ntheme = "f2"\n', '[keys]\ntheme = "f2"\n'),
    ],
)
def test_unset_removes_the_setting_only(text: str, expected: str) -> None:
    assert without_value(text, "theme") == expected


@pytest.mark.parametrize("text", ["theme = ", "[keys\n", "theme = 1\ntheme = 2\n"])
def test_file_with_syntax_errors_is_not_changed(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        with_value(text, "theme", '"nord"')
    with pytest.raises(ValueError, match=r"\w"):
        without_value(text, "theme")


LINES = st.sampled_from(
    [
        *(f"{each.name} = {each.example}" for each in TABLE if each.example and each.name != "undo_seconds"),
        *("# a comment", "", "  # theme = 1", "[keys]", '"app.quit" = "f9" # x', "[inbox.'A #b']", 'words = """\n#"""'),
        *("quick_replies = [ # replies\n  'A',\n\n  'B', # b\n]  # end", "[[x]]", "theme = '''\n[keys]\n'''"),
    ]
)


@given(st.lists(LINES, max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans())
@examples(max_examples=400, deadline=None)
def test_edits_keep_all_other_lines_in_order(parts: list[str], end: str, has_last_end: bool) -> None:
    text = (end.join(parts) + end * has_last_end).replace("\r\n", "\n").replace("\n", end)
    try:
        before = parse_toml(text)
    except ValueError:
        return
    changed = with_value(with_value(text, "undo_seconds", "7"), "undo_seconds", "8")
    assert parse_toml(changed) == {**before, "undo_seconds": 8}
    lines = [each for each in text.splitlines() if each]
    assert [each for each in changed.splitlines() if each and each != "undo_seconds = 8"] == lines
    assert [each for each in without_value(changed, "undo_seconds").splitlines() if each] == lines


@given(st.one_of(st.booleans(), st.text(), st.lists(st.text())))
def test_values_are_written_as_toml(value: bool | str | list[str]) -> None:
    assert parse_toml(f"x = {toml_of(value)}") == {"x": value}


def test_numbers_are_written_without_superfluous_digits() -> None:
    assert [toml_of(each) for each in (5.0, 2.5)] == ["5", "2.5"]
