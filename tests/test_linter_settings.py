"""`[[linter]]` sections of config.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.settings.programs import Linter
from tests.test_settings import read

VALE = 'name = "vale"\ncommand = ["vale", "--output=JSON", "{file}"]\nformat = "vale"\n'


def test_linters_are_read_in_the_order_of_the_file(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        f"""
        [[linter]]
        {VALE}
        [[linter]]
        name = "prose"
        command = ["proselint", "--config=rules.json", "-"]
        format = "rdjsonl"
        columns = "utf-16-0"
        folder = "/tmp"
        mask = ["tags", "front-matter"]
        spaces = ["handbook", "Harbour API"]
        auto = true
        env = ["STYLES_PATH"]
        """,
    )
    assert found.problems == ()
    assert found.linters == (
        Linter("vale", ("vale", "--output=JSON", "{file}"), "vale", mask=("tags",)),
        Linter(
            "prose", ("proselint", "--config=rules.json", "-"), "rdjsonl", "utf-16-0", Path("/tmp"),
            ("tags", "front-matter"), ("handbook", "Harbour API"), True, ("STYLES_PATH",),
        ),
    )  # fmt: skip


def test_tags_are_masked_by_default_for_linters_of_prose_only(tmp_path: Path) -> None:
    section = '[[linter]]\nname = "{0}"\ncommand = ["x", "-"]\nformat = "{0}"\n'
    found = read(tmp_path, "".join(section.format(name) for name in ("lines", "checkstyle", "sarif", "rdjson")))
    assert [each.mask for each in found.linters] == [("tags",), ("tags",), (), ()]


@pytest.mark.parametrize(
    ("section", "reason"),
    [
        ('name = ""\ncommand = ["x", "-"]\nformat = "vale"', "name must be a name of 1 to 40 printable characters"),
        ('name = "a"\ncommand = "vale {file}"\nformat = "vale"', "command of a must be a list of a program"),
        (
            'name = "a"\ncommand = ["sh", "-c", "vale {file}"]\nformat = "vale"',
            "A placeholder must be a whole argument",
        ),
        ('name = "a"\ncommand = ["vale"]\nformat = "vale"', "needs the argument {file}, or -"),
        ('name = "a"\ncommand = ["x", "-"]\nformat = "vela"', "format of a must be one of vale, sarif"),
        ('name = "a"\ncommand = ["x", "-"]', "format of a must be one of vale, sarif"),
        ('name = "a"\ncommand = ["x", "-"]\nformat = "vale"\ncolumns = "utf8"', "columns of a must be one of"),
        ('name = "a"\ncommand = ["x", "-"]\nformat = "vale"\nmask = ["tag"]', "Did you mean tags?"),
        (
            'name = "a"\ncommand = ["x", "-"]\nformat = "vale"\nenv = ["OCTAVO_API_KEY"]',
            "is not a variable that linters",
        ),
        ('name = "a"\ncommand = ["x", "-"]\nformat = "vale"\nenv = ["a b"]', "is not a variable that linters"),
        ('name = "a"\ncommand = ["x", "-"]\nformat = "vale"\nspaces = "x"', "spaces of a must be a list of texts"),
        ('name = "a"\ncommand = ["x", "-"]\nformat = "vale"\nauto = 1', "auto of a must be true or false"),
        ('name = "a"\ncommand = ["x", "-"]\nformat = "vale"\nfolder = 1', "folder of a must be the path of a folder"),
        ('name = "a"\ncomand = ["x", "-"]\nformat = "vale"', "Did you mean command?"),
        (VALE.strip(), "the name of another linter"),
    ],
)
def test_wrong_linter_is_ignored_with_a_reason(tmp_path: Path, section: str, reason: str) -> None:
    found = read(tmp_path, f"[[linter]]\n{VALE}[[linter]]\n{section}\n")
    assert [each.name for each in found.linters] == ["vale"]
    assert any(reason in each and each.endswith("Octavo ignores the linter.") for each in found.problems)
    assert all("config.toml, line 1: " in each for each in found.problems)


def test_linter_in_single_brackets_is_named(tmp_path: Path) -> None:
    found = read(tmp_path, f"[linter]\n{VALE}")
    assert found.linters == ()
    assert "must be written as [[linter]], with two brackets" in found.problems[0]


def test_linters_beyond_the_limit_are_ignored(tmp_path: Path) -> None:
    section = '[[linter]]\nname = "{}"\ncommand = ["x", "-"]\nformat = "vale"\n'
    found = read(tmp_path, "".join(map(section.format, range(25))))
    assert len(found.linters) == 20
    assert "has more than 20 sections. Octavo ignores the others." in found.problems[0]
