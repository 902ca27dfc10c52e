"""`octavo help`: the list of topics, and a topic as Markdown in a pipe or laid out in a terminal."""

from __future__ import annotations

import gettext
import re
import shutil
import subprocess
import sys

import pytest

from octavo.cli.commands import COMMANDS
from octavo.cli.help import format_man_page
from octavo.documents.source_reader import parse
from octavo.help import TOPICS, text_of
from tests.call_counter import CallCounter
from tests.cli.command_process import OctavoTerminal
from tests.cli.conftest import Octavo


def test_help_lists_every_topic_with_a_summary(octavo: Octavo) -> None:
    ran = octavo("help")
    assert ran.code == 0
    assert all(f"  {about}\n" in ran.out and f"  {topic} " in ran.out for topic, about in TOPICS.items())


@pytest.mark.parametrize("topic", TOPICS)
def test_topic_in_a_pipe_is_markdown(octavo: Octavo, topic: str) -> None:
    assert octavo("help", topic) == octavo("help", topic.upper())
    assert octavo("help", topic).out == text_of(topic)


@pytest.mark.parametrize("command", ["demo", "auth", "serve"])
def test_help_of_a_command_name_is_the_help_of_the_command(octavo: Octavo, command: str) -> None:
    assert octavo("help", command).out == octavo(command, "--help").out


@pytest.mark.parametrize(
    ("topic", "hint"),
    [("keyz", "Did you mean keys?"), ("opne", "Did you mean open?"), ("42", "For a list, run: octavo help")],
)
def test_unknown_topic_ends_with_two_and_a_suggestion(octavo: Octavo, topic: str, hint: str) -> None:
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


def test_parser_looks_for_no_translations_on_disk(octavo: Octavo) -> None:
    with CallCounter(gettext.find) as counter:
        assert octavo("review", "--help").out.startswith("usage: ")
    assert not counter.counts


@pytest.mark.before_release("60")
@pytest.mark.parametrize("columns", [60, 80])
def test_topic_in_a_terminal_fits_its_width(columns: int) -> None:
    with OctavoTerminal(["help", "exit-codes"], {}, columns=columns) as shown:
        assert shown.end() == 0
        out = b"".join(chunk.data for chunk in shown.chunks).decode()
    assert "\x1b[36m" in out
    assert "| --- |" not in out
    assert "not signed in" in out
    widest = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in out.splitlines())
    assert 0.8 * columns < widest <= columns - 2


def test_topic_without_colors_has_no_escape_codes() -> None:
    with OctavoTerminal(["help", "exit-codes"], {"NO_COLOR": "1"}) as shown:
        assert shown.end() == 0
        out = b"".join(chunk.data for chunk in shown.chunks).decode()
    assert "\x1b[3" not in out
    assert "\x1b[1m" in out


REQUESTS = {"TH", "SH", "SS", "PP", "RS", "RE", "nf", "fi", "IP", "TP", "br"}


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_is_a_manual_page_with_all_its_headings(octavo: Octavo, topic: str) -> None:
    page = octavo("help", topic, "--man").out
    assert page.startswith(f'.TH "OCTAVO-{topic.upper()}" "7" ')
    assert {line[1:3].strip() for line in page.splitlines() if line.startswith(".")} <= REQUESTS
    assert page.isascii()
    headings = re.findall(
        r"^##+ ", re.sub(r"^```.*?^```", "", text_of(topic), flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    assert len(re.findall(r"^\.S[HS] ", page, re.MULTILINE)) == len(headings) + 2
    if shutil.which("groff"):
        command = ["groff", "-man", "-Tutf8", "-wmac", "-wchar", "-wescape", "-wsyntax"]
        shown = subprocess.run(command, input=page, capture_output=True, text=True, check=False)
        wrong = [
            line for line in shown.stderr.splitlines() if "cannot adjust line" not in line and "break line" not in line
        ]
        assert (shown.returncode, wrong) == (0, [])


def test_roff_of_a_page_is_text_only() -> None:
    page = format_man_page(
        "x",
        "y",
        parse(
            ".SH evil\n\n'so /etc/passwd\n\n```\n.so x\n\\fBbold\n```\n\n- .sp\n\n| a | b | c |\n| - | - | - |\n| .x | `'y` | z |"
        ),
    )
    assert {line[1:3].strip() for line in page.splitlines() if line.startswith((".", "'"))} <= REQUESTS
    assert "\\&.SH evil" in page
    assert "\\efBbold" in page
    assert "b: \\fB'y\\fR; c: z" in page


def test_list_has_a_line_per_topic(octavo: Octavo) -> None:
    rows = [line.split("\t") for line in octavo("help", "--list").out.splitlines()]
    assert dict(rows) == TOPICS


def test_every_command_is_in_a_group_of_the_list(octavo: Octavo) -> None:
    out = octavo("help").out
    assert "Other commands" not in out
    assert all(f"\n  {name} " in out for name in (*COMMANDS, "demo", "serve", "api", "help"))


def test_manual_page_needs_a_topic(octavo: Octavo) -> None:
    ran = octavo("help", "--man")
    assert (ran.code, ran.err) == (
        2,
        "octavo: Could not print a manual page: name a topic. For a list, run: octavo help --list\n",
    )


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("chnages",), "chnages'. Did you mean changes?"),
        (("changes", "--jsno"), "unrecognized arguments: --jsno. Did you mean --json?"),
        (("auth", "status", "--ofline"), "unrecognized arguments: --ofline. Did you mean --offline?"),
        (("auth", "statu"), "Did you mean status?"),
        (("demo", "--as", "revewer"), "Did you mean reviewer?"),
        (("completion", "fsh"), "Did you mean fish?"),
        (("log", "--level", "warnig"), "Did you mean warning?"),
        (("changes", "--zzzz"), "unrecognized arguments: --zzzz. For help, run: octavo changes --help"),
    ],
)
def test_misspelled_command_ends_with_two_and_a_suggestion(
    octavo: Octavo, arguments: tuple[str, ...], meant: str
) -> None:
    ran = octavo(*arguments)
    assert ran.code == 2
    assert ran.err.rstrip().endswith(meant)
