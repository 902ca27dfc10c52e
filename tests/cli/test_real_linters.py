"""Real linters over a change request. A linter that is not installed is skipped."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from octavo.documents.source_reader import parse
from tests.cli.command_process import CommandLine
from tests.journeys.conftest import library

__all__ = ["library"]

SEEDED = """
🎉 The new paragraph is very unique, and teh team uses javascript.

{% hint style="info" %}
At the end of the day, the the levels rise.
{% endhint %}

+ One
* Two
"""
"""Faults that a change request adds at the end of a page."""
LINTERS = {
    "proselint": (
        ["proselint", "check", "--output-format", "compact", "{file}"],
        'format = "lines"\nmask = ["tags", "code"]',
        {(2, 24), (5, 1), (5, 24)},
    ),
    "codespell": (["codespell", "{file}"], 'format = "lines"', {(2, 1)}),
    "pymarkdown": (["pymarkdown", "scan", "{file}"], 'format = "lines"\nmask = []', {(9, 1)}),
    "textlint": (
        ["textlint", "--rule", "terminology", "--rule", "write-good", "--format", "checkstyle", "{file}"],
        'format = "checkstyle"',
        {(2, 24), (2, 55), (5, 28)},
    ),
    "vale": (["vale", "--output=JSON", "--no-exit", "{file}"], 'format = "vale"', {(5, 24)}),
}
"""The command of each linter, more fields of its section, and places of faults: the line in `SEEDED` and the column."""


@pytest.mark.long
@pytest.mark.parametrize("name", LINTERS)
def test_linter_reports_added_faults_and_no_others(library: Path, tmp_path: Path, name: str) -> None:
    command, fields, places = LINTERS[name]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    home = CommandLine(tmp_path).with_demo(library)
    (tmp_path / "config").mkdir()
    section = f'[[linter]]\nname = "{name}"\ncommand = {json.dumps(command)}\n{fields}\n'
    (tmp_path / "config" / "config.toml").write_text(section)
    page = home.run("--demo", "show", "harbour-api/7:concepts/time", "--json", "id,markdown").json
    text = page["markdown"].rstrip("\n") + "\n" + SEEDED
    change = {"operation": "update_page", "page": page["id"], "document": {"markdown": text}}
    where = ("spaceId=harbour-api", "changeRequestId=refused-times")
    assert home.run("--demo", "api", "content.Edit", *where, f"changes:={json.dumps([change])}").code == 0

    ran = home.run(
        "--demo", "check", "harbour-api/7:concepts/time", "--linters", "--format", "json", "--fail-on", "never"
    )
    assert (ran.code, ran.err) == (0, "")
    found = [each for each in ran.json if each["source"] == name]
    first = page["markdown"].rstrip("\n").count("\n") + 1
    assert places <= {(each["line"] - first, each["column"]) for each in found}
    main = home.run("--demo", "show", "harbour-api:concepts/time", "--raw").out.splitlines()
    lines = text.splitlines()
    assert [each for each in found if lines[each["line"] - 1] and lines[each["line"] - 1] in main] == []
    document = parse(text)
    for each in found:
        block = document.find(each["block"]) if each["block"] else None
        assert block is None or block.lines[0] < each["line"] <= block.lines[1]
