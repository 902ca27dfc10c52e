"""Linters end within a time limit, cannot flood Octavo with output, and see no API key."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from time import sleep

import pytest

from octavo.settings.programs import Linter
from octavo.tui.terminal.limited_programs import MAX_OUTPUT_BYTES, LinterOutput, ProgramFailed, run_linter


def program(place: Path, code: str, *arguments: str, folder: Path | None = None, environment: str = "") -> Linter:
    """Return a linter that runs these lines of Python."""
    file = place / "linter.py"
    file.write_text(code, encoding="utf-8")
    command = (sys.executable, str(file), *(arguments or ("{file}",)))
    return Linter("lint", command, "lines", folder=folder, environment=(environment,))


def run(linter: Linter, path: str = "guides/setup.md", text: str = "# Setup\n", seconds: float = 20) -> LinterOutput:
    return asyncio.run(run_linter(linter, path, text, seconds))


def failure_reason(linter: Linter, seconds: float = 20) -> str:
    with pytest.raises(ProgramFailed) as failure:
        run(linter, seconds=seconds)
    return str(failure.value)


def is_running(pid_file: Path) -> bool:
    try:
        os.kill(int(pid_file.read_text()), 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid_file.read_text()}/stat").read_text().rpartition(")")[2].split()[0]
    return state != "Z"


def wait_until_ended(pid_file: Path) -> None:
    """Wait until a killed process has ended. The process of these tests would sleep longer than a test may take."""
    while is_running(pid_file):
        sleep(0.02)


def wait_until_written(file: Path) -> None:
    while not file.exists() or not file.read_text():
        sleep(0.02)


def test_linter_gets_the_page_in_a_private_folder_that_is_deleted(tmp_path: Path) -> None:
    code = (
        "import os, sys, stat\n"
        "file, path, folder = sys.argv[1:]\n"
        "top = os.path.dirname(os.path.dirname(os.path.dirname(file)))\n"
        "print(open(file).read().strip(), path, oct(os.stat(top).st_mode & 0o777), os.path.samefile(folder, os.getcwd()), top)\n"
        "sys.exit(255)\n"
    )
    output = run(program(tmp_path, code, "{file}", "{path}", "{folder}"), text="# Größe")
    *words, top = output.output.decode().split()
    assert words == ["#", "Größe", "guides/setup.md", "0o700", "True"]
    assert not Path(top).exists()


def test_linter_runs_in_its_folder_with_placeholders_after_equals(tmp_path: Path) -> None:
    code = "import os, sys; print(os.getcwd(), *sys.argv[1:])"
    linter = program(tmp_path, code, "--path={path}", "--x=a{b}", "{file}", folder=tmp_path)
    working_folder, first, second, _ = run(linter, path="-rf.md").output.decode().split()
    assert (working_folder, first, second) == (str(tmp_path), "--path=./-rf.md", "--x=a{b}")


def test_linter_can_read_standard_input_and_write_its_output_to_a_file(tmp_path: Path) -> None:
    code = "import sys; open(sys.argv[2], 'w').write(sys.stdin.read().upper()); print('ignored')"
    assert run(program(tmp_path, code, "-", "{output}"), text="page " * 100_000).output == b"PAGE " * 100_000
    code = "print('nothing written')"
    assert failure_reason(program(tmp_path, code, "-", "{output}")) == (
        "Could not run lint: it did not write the file {output}."
    )


def test_linter_that_ignores_its_input_does_not_fail(tmp_path: Path) -> None:
    assert run(program(tmp_path, "print('a.md:1: x')", "-"), text="page " * 1_000_000).output == b"a.md:1: x\n"


def test_arguments_are_not_read_by_a_shell(tmp_path: Path) -> None:
    code = "import sys; print(sys.argv[1:])"
    linter = program(tmp_path, code, "$(touch x); {file}", "`id`", "*")
    assert run(linter).output.decode() == "['$(touch x); {file}', '`id`', '*']\n"


def test_environment_of_a_linter_has_no_api_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OCTAVO_API_KEY", "secret-key")
    monkeypatch.setenv("AWS_SECRET", "secret-other")
    monkeypatch.setenv("STYLES", "named")
    monkeypatch.setenv("LC_TIME", "C")
    output = run(program(tmp_path, "import os; print(sorted(os.environ))", environment="STYLES"))
    names = output.output.decode()
    assert "STYLES" in names
    assert "LC_TIME" in names
    assert "PATH" in names
    assert not any(name in names for name in ("OCTAVO", "AWS_SECRET"))


def test_linter_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    code = (
        "import os, subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "time.sleep(600)\n"
    )
    assert failure_reason(program(tmp_path, code), seconds=2) == (
        "Could not run lint: it did not end in time. To see why, run it on a single page."
    )
    wait_until_ended(tmp_path / "pid")


def test_linter_that_ignores_signals_is_killed(tmp_path: Path) -> None:
    code = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\nwhile True: time.sleep(1)\n"
    assert "did not end in time" in failure_reason(program(tmp_path, code), seconds=1)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_linter_that_floods_a_stream_is_killed(tmp_path: Path, stream: str) -> None:
    code = f"import sys\nwhile True: sys.{stream}.write('x' * 65536)\n"
    reason = failure_reason(program(tmp_path, code), seconds=20 if stream == "stdout" else 0.3)
    assert reason.startswith("Could not run lint: it ")
    assert ("printed more than 4 MiB" in reason) is (stream == "stdout")


def test_output_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    code = f"import sys; open(sys.argv[1], 'wb').write(b'x' * {MAX_OUTPUT_BYTES + 1})"
    assert "it wrote more than 4 MiB" in failure_reason(program(tmp_path, code, "{output}", "{file}"))


def test_output_file_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    code = f"import os, sys; os.symlink({str(tmp_path / 'secret')!r}, sys.argv[1])"
    assert "Could not run lint" in failure_reason(program(tmp_path, code, "{output}", "{file}"))


def test_forked_children_end_with_the_linter(tmp_path: Path) -> None:
    code = (
        "import os, time\n"
        "for _ in range(20):\n"
        "    if os.fork() == 0:\n"
        "        time.sleep(600)\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "print('a.md:1: done', flush=True)\n"
    )
    assert run(program(tmp_path, code)).output == b"a.md:1: done\n"
    wait_until_ended(tmp_path / "pid")


def test_child_that_leaves_the_group_cannot_keep_octavo_waiting(tmp_path: Path) -> None:
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        f"    open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "    time.sleep(8)\n"
        "    os._exit(0)\n"
        "print('a.md:1: done', flush=True)\n"
    )
    assert run(program(tmp_path, code)).output == b"a.md:1: done\n"


def test_binary_output_and_errors_are_returned_safely(tmp_path: Path) -> None:
    code = (
        "import sys; sys.stdout.buffer.write(bytes(range(256))); sys.stderr.buffer.write(b'\\x1b[31mbad\\xff\\nmore')"
    )
    output = run(program(tmp_path, code))
    assert output.output == bytes(range(256))
    assert "\x1b" not in output.errors
    assert "bad" in output.errors


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (("no-such-linter", "{file}"), "no-such-linter was not found. Set linter.command, or install it."),
        (("/", "{file}"), "permission denied."),
    ],
)
def test_program_that_cannot_start_is_named(command: tuple[str, ...], reason: str) -> None:
    assert failure_reason(Linter("vale", command, "vale")) == f"Could not run vale: {reason}"


def test_missing_folder_and_a_path_outside_are_refused(tmp_path: Path) -> None:
    linter = program(tmp_path, "", folder=tmp_path / "gone")
    assert failure_reason(linter) == f"Could not run lint: {tmp_path / 'gone'} is not a folder. Set linter.folder."
    with pytest.raises(ProgramFailed, match="leaves the folder"):
        run(program(tmp_path, ""), path="../../outside.md")
    assert not (tmp_path.parent / "outside.md").exists()


def test_linter_is_killed_before_its_cancelled_task_ends(tmp_path: Path) -> None:
    code = f"import os, time\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"

    async def start_and_cancel() -> None:
        task = asyncio.ensure_future(run_linter(program(tmp_path, code), "a.md", "x"))
        await asyncio.to_thread(wait_until_written, tmp_path / "pid")
        task.cancel()
        await asyncio.wait([task])
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)

    asyncio.run(start_and_cancel())
