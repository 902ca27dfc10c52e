"""External editors, and other programs that Octavo starts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import stat
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from octavo.tui.editing.page_drafts import restore_line_endings
from octavo.tui.terminal.external_editor import MAX_TEXT_BYTES, Edited, NotEdited, run_editor
from octavo.tui.terminal.limited_programs import BoundedOutput, run_bounded
from tests.benchmarks.terminal import THIS_TREE, Terminal


def environment_with_editor(folder: Path, script: str) -> dict[str, str]:
    """Return an environment whose editor is a Python script. In the script, `path` is the edited file."""
    program = folder / "editor.py"
    program.write_text(f"import os, sys, stat\nfrom pathlib import Path\npath = Path(sys.argv[-1])\n{script}\n")
    words = shlex.join([sys.executable, str(program), "--wait"])
    return {"PATH": os.environ["PATH"], "EDITOR": words, "OCTAVO_API_KEY": "secret"}


def accept(text: str) -> str:
    """Save a text without an error."""
    return ""


@pytest.fixture
def private(tmp_path: Path) -> Path:
    return tmp_path / "state" / "editing"


def test_edited_text_is_returned_and_the_file_deleted(tmp_path: Path, private: Path) -> None:
    env = environment_with_editor(tmp_path, "path.write_text(path.read_text() + ' and more\\r\\n', newline='')")
    assert run_editor("Ünder", private, env, save_text=accept) == Edited("Ünder and more\n")
    assert list(private.iterdir()) == []


def test_text_is_saved_exactly_before_the_file_is_deleted(tmp_path: Path, private: Path) -> None:
    env = environment_with_editor(tmp_path, "path.write_text('a\\r\\nb\\u00ad\\ufeff\\n', newline='')")
    seen: list[tuple[str, int]] = []

    def save_text(text: str) -> str:
        seen.append((text, len(list(private.iterdir()))))
        return ""

    result = run_editor("", private, env, name="page", save_text=save_text)
    assert result == Edited("a\r\nb\u00ad\ufeff\n")
    assert seen == [("a\r\nb\u00ad\ufeff\n", 1)]
    assert list(private.iterdir()) == []


def test_text_that_cannot_be_saved_stays_in_its_file(tmp_path: Path, private: Path) -> None:
    def fail_to_save(text: str) -> str:
        return "Nothing is being saved: the disk is full."

    result = run_editor(
        "old", private, environment_with_editor(tmp_path, "path.write_text('new')"), save_text=fail_to_save
    )
    assert isinstance(result, NotEdited)
    assert result.kept_path is not None
    assert result.kept_path.read_text() == "new"
    assert "the disk is full" in result.sentence
    assert "Press ! to open your saved text." in result.message


def test_text_too_large_to_read_back_is_not_opened(tmp_path: Path, private: Path) -> None:
    result = run_editor(
        "x" * (MAX_TEXT_BYTES + 1), private, environment_with_editor(tmp_path, "sys.exit(1)"), save_text=accept
    )
    assert isinstance(result, NotEdited)
    assert "larger than 1 MiB" in result.sentence
    assert not private.exists()


def test_editor_may_replace_the_file(tmp_path: Path, private: Path) -> None:
    env = environment_with_editor(
        tmp_path, "other = path.with_suffix('.new'); other.write_text('new'); os.replace(other, path)"
    )
    assert run_editor("old", private, env, save_text=accept) == Edited("new")


def test_file_is_private_and_editor_gets_no_api_key(tmp_path: Path, private: Path) -> None:
    private.mkdir(parents=True, mode=0o755)
    env = environment_with_editor(
        tmp_path,
        "modes = oct(stat.S_IMODE(path.stat().st_mode)), oct(stat.S_IMODE(path.parent.stat().st_mode))\n"
        "path.write_text(f\"{modes} {'OCTAVO_API_KEY' in os.environ} {path.suffix}\")",
    )
    assert run_editor("", private, env, save_text=accept) == Edited("('0o600', '0o700') False .md")


def test_failed_editor_keeps_the_file_and_names_it(tmp_path: Path, private: Path) -> None:
    env = environment_with_editor(tmp_path, "path.write_text('half a'); sys.exit(3)")
    result = run_editor("text", private, env, save_text=accept)
    assert isinstance(result, NotEdited)
    assert result.kept_path is not None
    assert result.kept_path.read_text() == "half a"
    assert "Press ! to open your saved text." in result.message
    assert "exited with status 3" in result.sentence
    assert stat.S_IMODE(result.kept_path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (f"path.write_bytes(b'x' * {MAX_TEXT_BYTES + 1})", "larger than 1 MiB"),
        ("path.write_bytes(bytes([255, 254, 0]))", "not valid UTF-8"),
        ("path.write_bytes(bytes([97, 0]))", "NUL characters"),
        ("path.unlink(); path.symlink_to('/etc/passwd')", "Could not read"),
        ("path.unlink(); path.mkdir()", "not a regular file"),
        ("path.unlink(); os.mkfifo(path)", "not a regular file"),
        ("path.unlink()", "Could not read"),
    ],
)
def test_binary_file_is_not_read(tmp_path: Path, private: Path, script: str, message: str) -> None:
    result = run_editor("text", private, environment_with_editor(tmp_path, script), save_text=accept)
    assert isinstance(result, NotEdited)
    assert message in result.sentence


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"EDITOR": "/no/such/editor"}, "Could not start /no/such/editor"),
        ({"EDITOR": "vi 'unfinished"}, "Could not read the command"),
        ({"PATH": "/nowhere"}, "Octavo could not find an editor. Set EDITOR"),
    ],
)
def test_missing_editor_is_explained(private: Path, environment: dict[str, str], message: str) -> None:
    result = run_editor("text", private, environment, save_text=accept)
    assert isinstance(result, NotEdited)
    assert message in result.sentence
    assert not private.exists() or list(private.iterdir()) == []


def test_visual_overrides_editor(tmp_path: Path, private: Path) -> None:
    env = environment_with_editor(tmp_path, "path.write_text('visual')")
    env = {**env, "VISUAL": env["EDITOR"], "EDITOR": "/no/such/editor"}
    assert run_editor("", private, env, save_text=accept) == Edited("visual")


def test_editor_setting_overrides_both_variables(tmp_path: Path, private: Path) -> None:
    env = environment_with_editor(tmp_path, "path.write_text('chosen')")
    command = tuple(shlex.split(env["EDITOR"]))
    env = {**env, "VISUAL": "/no/such/editor", "EDITOR": "/no/such/editor"}
    assert run_editor("", private, env, command=command, save_text=accept) == Edited("chosen")


def test_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    result = run_editor("text", blocked / "editing", {"EDITOR": "true"}, save_text=accept)
    assert isinstance(result, NotEdited)
    assert "Could not create a file" in result.sentence


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("a", "a\n", "a"),
        ("a\n", "a", "a\n"),
        ("a\r\nb", "a\r\nb\r\n", "a\r\nb"),
        ("a\r\nb\r\n", "a\r\nc", "a\r\nc\r\n"),
        ("a\n", "b\n", "b\n"),
        ("a\n\n", "b\n\n", "b\n\n"),
        ("a\n", "", ""),
    ],
)
def test_line_end_at_the_end_of_the_text_stays_as_it_was(before: str, after: str, expected: str) -> None:
    assert restore_line_endings(before, after) == expected


REWRITE_COMMAND = "import pathlib, sys; path = pathlib.Path(sys.argv[-1]); path.write_bytes({})"


@pytest.mark.parametrize(
    "before", ["one\ntwo\n", "one\r\ntwo\r\n", "one\r\ntwo\n", "one", "\n\n", "a\rb\n", "\ufeffone\n"]
)
@pytest.mark.parametrize(
    "written",
    [
        "path.read_bytes().replace(b'\\r\\n', b'\\n').replace(b'\\n', b'\\r\\n')",
        "b'\\xef\\xbb\\xbf' + path.read_bytes()",
        "b'\\xef\\xbb\\xbf' + path.read_bytes().replace(b'\\r\\n', b'\\n').replace(b'\\n', b'\\r\\n')",
    ],
)
def test_changed_line_ends_and_byte_order_mark_are_not_an_edit(tmp_path: Path, before: str, written: str) -> None:
    kept: list[str] = []

    def save_text(text: str) -> str:
        kept.append(text)
        return ""

    command = (sys.executable, "-c", REWRITE_COMMAND.format(written))
    result = run_editor(before, tmp_path, {"PATH": os.environ["PATH"]}, command=command, save_text=save_text)
    assert result == Edited(before)
    assert kept == [before]


def test_edited_line_keeps_the_line_ends_of_other_lines(tmp_path: Path) -> None:
    for before, after in (("one\ntwo\n", "one\nthree\n"), ("one\r\ntwo\r\n", "one\r\nthree\r\n")):
        for end in (b"\n", b"\r\n"):
            command = (sys.executable, "-c", REWRITE_COMMAND.format(f"{b'one' + end + b'three' + end!r}"))
            assert run_editor(
                before, tmp_path, {"PATH": os.environ["PATH"]}, command=command, save_text=lambda text: ""
            ) == Edited(after)


EDIT_PROGRAM = """
import os, sys
from pathlib import Path
from octavo.tui.terminal.external_editor import run_editor
result = run_editor("before", Path(sys.argv[1]), os.environ, command=(sys.argv[2],), save_text=lambda text: "")
print("RESULT", result)
"""


def test_editor_that_forks_is_awaited(tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.write_text(
        '#!/bin/sh\n(sleep 0.3; while [ ! -e "$0.go" ]; do sleep 0.05; done; printf later > "$1") >/dev/null 2>&1 &\n'
    )
    code.chmod(0o700)
    with Terminal([sys.executable, "-c", EDIT_PROGRAM, str(tmp_path / "editing"), str(code)], THIS_TREE) as running:
        running.wait_for("code exited immediately", "code --wait", "press enter")
        (tmp_path / "code.go").touch()
        running.wait_for("The file was saved. Press enter when you are done.")
        running.write(b"\n")
        running.wait_for("RESULT Edited(text='later')")
    assert list((tmp_path / "editing").iterdir()) == []


MEMORY_LIMIT = 512 << 20
SMALL_REQUEST = json.dumps({"source": "flowchart LR\n  A --> B", "ascii": True}).encode()


def own_processes_and_pipes() -> dict[str, str]:
    """Return the running child processes and the open pipes of this process."""
    found: dict[str, str] = {}
    for task in Path(f"/proc/{os.getpid()}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # A thread that has just ended has no children file.
            found |= dict.fromkeys((task / "children").read_text().split(), "process")
    for each in os.listdir("/proc/self/fd"):
        path = f"/proc/self/fd/{each}"
        if os.path.lexists(path) and os.readlink(path).startswith("pipe:"):
            found[os.readlink(path)] = each
    return found


def draw_diagram(given: bytes = SMALL_REQUEST, seconds: float = 20) -> Coroutine[Any, Any, BoundedOutput]:
    return run_bounded("draw_diagram", given, seconds=seconds, memory=MEMORY_LIMIT, max_bytes=1 << 20)


@pytest.mark.parametrize("after", [0, 0.001, 0.02])
def test_program_is_killed_when_octavo_ends(after: float) -> None:
    async def start_and_leave() -> None:
        waiting = asyncio.create_task(draw_diagram(b" " * (4 << 20)))
        await asyncio.sleep(after)
        assert not waiting.done()

    before = own_processes_and_pipes()
    asyncio.run(start_and_leave())
    assert own_processes_and_pipes() == before


async def test_cancelled_program_can_run_again() -> None:
    before = own_processes_and_pipes()
    for after in (0, 0.01):
        waiting = asyncio.create_task(draw_diagram())
        await asyncio.sleep(after)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert b"A" in (await draw_diagram()).output
    # The thread of a stopped program waits for the end of the program, but the test has no handle of the thread.
    async with asyncio.timeout(30):
        while own_processes_and_pipes() != before:  # noqa: ASYNC110  # There is no event for the end of a process.
            await asyncio.sleep(0.01)


async def test_program_over_its_time_is_killed_and_its_output_returned() -> None:
    before = own_processes_and_pipes()
    output = await draw_diagram(seconds=0)
    assert output == BoundedOutput(b"", exceeded_limit=True)
    assert own_processes_and_pipes() == before
