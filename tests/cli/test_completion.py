"""Shell completion of commands, operations and their values, without starting a process."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from octavo import settings
from octavo.api.operation import load
from octavo.cli.platform_folders import demo_folder
from octavo.data.response_cache import ResponseCache
from tests.benchmarks.terminal import Terminal
from tests.cli.conftest import Octavo


def needs(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


def run_shell(command: list[str], text: str) -> list[str]:
    ran = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60, check=False)
    assert ran.stderr == ""
    return ran.stdout.splitlines()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_completion_supports_every_shell(octavo: Octavo, shell: str) -> None:
    ran = octavo("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert "octavo" in ran.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_has_every_operation_with_its_parameters(octavo: Octavo, shell: str) -> None:
    script = octavo("completion", shell).out
    for spec in load().values():
        assert f" {spec.name}{';' if shell == 'fish' else ')'} " in script
    line = next(line for line in script.splitlines() if " collections.Transfer" in line and "_names" not in line)
    assert script.count("collectionId= organization=") >= 1, line


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_valid_for_its_shell(octavo: Octavo, shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    file = tmp_path / "completion"
    file.write_text(octavo("completion", shell).out)
    assert run_shell([shell, "-n", str(file)], "") == []


BASH = """
{script}
COMP_WORDS=({words} "{last}"); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_octavo octavo "{last}" ""
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@needs("bash")
@pytest.mark.parametrize(
    ("words", "last", "found"),
    [
        ("octavo", "a", ["api", "auth"]),
        ("octavo api", "comments.Cr", ["comments.Create", "comments.CreateReply"]),
        ("octavo api collections.Transfer", "", ["collectionId=", "organization="]),
        ("octavo api collections.Transfer collectionId = c", "org", ["organization="]),
        ("octavo api users.Get --all", "", ["userId="]),
        ("octavo api", "--dr", ["--dry-run"]),
        ("octavo demo --as", "re", ["reader", "reviewer"]),
        ("octavo serve --as", "g", ["guest"]),
        ("octavo api users.Get userId =", "", [""]),
    ],
)
def test_bash_completes_commands_operations_and_options(
    octavo: Octavo, words: str, last: str, found: list[str]
) -> None:
    script = octavo("completion", "bash").out
    assert sorted(set(run_shell(["bash"], BASH.format(script=script, words=words, last=last)))) == found


@needs("fish")
@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("octavo api comments.Cr", ["comments.Create", "comments.CreateReply"]),
        ("octavo api collections.Transfer ", ["collectionId=", "organization="]),
        ("octavo api collections.Transfer collectionId=c o", ["organization="]),
    ],
)
def test_fish_completes_operations_and_parameters(octavo: Octavo, typed: str, found: list[str], tmp_path: Path) -> None:
    script = octavo("completion", "fish").out
    command = ["env", f"HOME={tmp_path}", f"XDG_CONFIG_HOME={tmp_path}", "fish", "--no-config"]
    offered = run_shell(command, f"{script}\ncomplete --do-complete '{typed}'\n")
    assert [line.split("\t")[0] for line in offered] == found


@needs("zsh")
@pytest.mark.parametrize(
    ("typed", "completed"),
    [("octavo api comments.UpdateR\t", "comments.UpdateReply"), ("octavo api users.Get \t", "users.Get userId=")],
)
def test_zsh_completes_operations_and_parameters(octavo: Octavo, typed: str, completed: str, tmp_path: Path) -> None:
    (tmp_path / "_octavo").write_text(octavo("completion", "zsh").out)
    begin = f"fpath=({tmp_path} $fpath); autoload -Uz compinit; compinit -u -D; PS1='ready> '\n"
    environ = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TERM": "dumb"}
    with Terminal(["zsh", "-f", "-i"], environ) as shell:
        shell.write(begin.encode())
        shell.wait_for("ready> ")
        shell.write(typed.encode())
        shell.wait_for(completed)


def test_powershell_script_has_plain_strings_only(octavo: Octavo) -> None:
    script = octavo("completion", "powershell").out
    rows = dict(re.findall(r"^ +'(octavo[^']*)' = @\((.*)\)$", script, re.MULTILINE))
    assert {"octavo", "octavo auth", "octavo auth login", "octavo config set"} <= rows.keys()
    for words in rows.values():
        assert re.fullmatch(r"('[^'$`\s]+'(, )?)*", words), words
    assert "'--offline'" in rows["octavo doctor"]
    assert {"'reviewer'", "'--reset'"} <= set(rows["octavo demo"].split(", "))
    assert "'octavo show'" in script.partition("$takesRef")[2].splitlines()[0]
    assert "-eq '--demo' })\n        $found += @(octavo __complete $demo $wordToComplete" in script


SPACES = [
    {"id": "aB1", "title": "Handbook"},
    {"id": "harbour-api", "title": "x"},
    {"id": "$(touch x)", "title": "`touch y`"},
]
REQUESTS = [{"space": "aB1", "number": 7}, {"space": "nowhere", "number": 1}, {"space": "aB1", "number": "x"}, 7]


@pytest.fixture
def cache(octavo: Octavo, tmp_path: Path) -> Path:
    """Create the cache that the demo leaves, with hostile titles. Return the folder of the test."""
    (tmp_path / "cache").mkdir()
    cached = ResponseCache(tmp_path / "cache", demo_folder(settings.read(os.environ)).namespace)
    cached.flush()
    cached.close()
    with closing(sqlite3.connect(tmp_path / "cache" / "cache-v1.db")) as db:
        for url, items in (("spaces?limit=1000", SPACES), ("change-requests?status=open&limit=1000", REQUESTS)):
            row = (cached._namespace, f"/v1/orgs/o/{url}", json.dumps({"items": items}).encode(), 1.0, 0)
            db.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?)", row)
        db.commit()
    return tmp_path


@pytest.mark.usefixtures("cache")
def test_completed_refs_contain_no_shell_syntax(octavo: Octavo) -> None:
    assert octavo("__complete", "--demo").out.split() == ["handbook", "harbour-api", "touch-y", "handbook/7"]
    assert octavo("__complete", "--demo", "handbook/").out.split() == ["handbook/7"]
    assert octavo("__complete", "h").out == "", "another account has another cache"


@needs("bash")
def test_bash_completes_refs(octavo: Octavo, cache: Path) -> None:
    (cache / "bin").mkdir()
    program = cache / "bin" / "octavo"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m octavo "$@"\n')
    program.chmod(0o700)
    script = octavo("completion", "bash").out
    text = BASH.format(script=f"PATH={cache}/bin:$PATH\n{script}", words="octavo --demo show", last="handbook/")
    assert run_shell(["bash"], text) == ["handbook/7"]


@pytest.mark.parametrize("damage", [b"", b"SQLite format 3\0" + b"\xff" * 5000])
def test_damaged_cache_completes_nothing(octavo: Octavo, tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "cache-v1.db").write_bytes(damage)
    ran = octavo("__complete", "--demo", "h")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
