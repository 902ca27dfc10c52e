"""`octavo help`: the list of topics, a topic as Markdown in a pipe and as a page on a terminal."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from octavo.help import TOPICS, text_of
from tests.benchmarks.terminal import Terminal
from tests.cli.conftest import Octavo


def test_the_list_has_every_topic_with_a_line_about_it(octavo: Octavo) -> None:
    ran = octavo("help")
    assert ran.code == 0
    assert all(f"  {about}\n" in ran.out and f"  {topic} " in ran.out for topic, about in TOPICS.items())


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_in_a_pipe_is_its_markdown(octavo: Octavo, topic: str) -> None:
    assert octavo("help", topic) == octavo("help", topic.upper())
    assert octavo("help", topic).out == text_of(topic)


@pytest.mark.parametrize("command", ["demo", "auth", "serve"])
def test_a_command_as_the_topic_shows_its_help(octavo: Octavo, command: str) -> None:
    assert octavo("help", command).out == octavo(command, "--help").out


@pytest.mark.parametrize(
    ("topic", "hint"),
    [("keyz", "Did you mean keys?"), ("opne", "Did you mean open?"), ("42", "For a list, run: octavo help")],
)
def test_an_unknown_topic_ends_with_two_and_a_near_miss(octavo: Octavo, topic: str, hint: str) -> None:
    ran = octavo("help", topic)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"octavo: Unknown help topic '{topic}'. {hint}\n"


@pytest.mark.parametrize("arguments", [["help"], ["help", "keys"], ["--help"], ["api", "--help"]])
def test_help_in_a_pipe_loads_neither_textual_nor_the_operations(arguments: list[str]) -> None:
    code = (
        "import sys; from octavo.__main__ import main\n"
        f"try: main({arguments})\nexcept SystemExit: pass\n"
        "sys.exit(' '.join(sorted({'textual', 'pydantic', 'octavo.api', 'octavo.documents'} & set(sys.modules))) or 0)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize("columns", [60, 80])
def test_a_topic_on_a_terminal_is_a_page_of_its_width(columns: int) -> None:
    command = [sys.executable, "-m", "octavo", "help", "exit-codes"]
    with Terminal(command, {}, columns=columns) as shown:
        assert shown.end(limit=20) == 0
        out = b"".join(chunk.data for chunk in shown.chunks).decode()
    assert "\x1b[36m" in out
    assert "| --- |" not in out
    assert "not signed in" in out
    widest = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in out.splitlines())
    assert 0.8 * columns < widest <= columns - 2


def test_a_topic_without_colors_has_none() -> None:
    with Terminal([sys.executable, "-m", "octavo", "help", "exit-codes"], {"NO_COLOR": "1"}) as shown:
        assert shown.end(limit=20) == 0
        out = b"".join(chunk.data for chunk in shown.chunks).decode()
    assert "\x1b[3" not in out
    assert "\x1b[1m" in out
