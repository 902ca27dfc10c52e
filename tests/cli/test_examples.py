"""The examples in the help of commands run on the demo, one after the other, as a user would run them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from octavo.cli.commands import COMMANDS, load_command
from tests.cli.command_process import CommandLine
from tests.journeys.conftest import library

__all__ = ["library"]

COMMANDS_IN_ORDER = (
    *("inbox", "changes", "search", "show", "check", "comment", "reply", "resolve", "react", "review", "diff"),
    *("spaces", "threads", "merge", "outbox", "pull", "status", "restore", "propose", "config", "log"),
)
NOT_RUN = {
    "auth": "needs an account",
    "doctor": "depends on this computer",
    "export": "needs an opened folder",
    "mcp": "needs an agent",
}
WAITING_OPTIONS = ("--watch", "--follow")
CODES = {
    "octavo check docs": 1,  # The folder has a broken link.
    "octavo check docs --format sarif > check.sarif": 1,
    "octavo check . --ignore unused-file --fail-on warning": 1,
    "octavo check harbour-api/7 --added --linters": 2,  # There are no linters.
    "octavo merge 2 5 7 --yes --allow open-threads": 6,  # 2 is merged already.
    "octavo merge harbour-api/7 --yes": 0,
    "octavo outbox retry 3f0c9a1be2d84c57": 3,
    "octavo propose --into handbook/9 --partial": 3,
    "octavo pull handbook old --revision 8f2c1a": 3,
}
"""Exit codes of examples that name what the demo does not have. All others end with 0."""
FILES = {
    "notes.md": "Please name the zone.\n",
    "answer.md": "Fixed.\n",
    "new-wording.md": "Read this page first.\n",
    "notes.jsonl": '{"page": "concepts/time", "quote": "bad-time", "text": "Name the zone.", "source": "claude"}\n',
    "vale.json": '{"concepts/time.md": [{"Check": "House.Code", "Message": "No.", "Line": 7, "Severity": "error"}]}',
}


def words_of(example: str) -> tuple[list[str], str]:
    """Return the arguments of the first command in an example, and the file on its standard input."""
    lexer = shlex.shlex(example, posix=True, punctuation_chars="|<>")
    lexer.whitespace_split = True
    words = list(lexer)
    end = next((index for index, word in enumerate(words) if word in ("|", "<", ">")), len(words))
    return words[1:end], words[end + 1] if words[end : end + 1] == ["<"] else ""


def test_every_command_is_run_or_has_a_reason() -> None:
    assert {*COMMANDS_IN_ORDER, *NOT_RUN} == set(COMMANDS)


@pytest.mark.before_release
@pytest.mark.timeout(900)
def test_examples_of_help_run_on_the_demo(library: Path, tmp_path: Path) -> None:
    home = CommandLine(tmp_path, {"OCTAVO_SPACE": "harbour-api"}).with_demo(library)
    assert home.run("pull", "handbook", "docs", "--demo", cwd=tmp_path).code == 0
    docs = tmp_path / "docs"
    (docs / "docs").mkdir()
    (docs / "docs" / "README.md").write_text("# Home\n\n[Missing](missing.md)\n")
    (docs / "docs" / "SUMMARY.md").write_text("# Table of contents\n\n* [Home](README.md)\n")
    for name, text in FILES.items():
        (docs / name).write_text(text)
    failures = []
    for name in COMMANDS_IN_ORDER:
        for example in load_command(name).examples:
            words, file = words_of(example)
            if any(option in words for option in WAITING_OPTIONS):
                continue
            given = "" if not file else (docs / file).read_text()
            ran = home.run(*words, *(["--demo"] if name != "config" else []), input=given, cwd=docs)
            if ran.code != CODES.get(example, 0) or "Traceback" in ran.err:
                failures.append(f"{example}\n  ended with {ran.code}: {ran.err}")
    assert not failures, "\n".join(failures)
