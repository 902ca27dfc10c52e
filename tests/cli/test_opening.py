"""`octavo open`: what opens in the app, and what is refused before it starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.cli.arguments import build_parser
from octavo.cli.open_folder import OpenFolder
from octavo.cli.platform_folders import PlatformFolder
from octavo.cli.session_choice import choose_session
from octavo.settings import read
from tests.cli.command_process import CommandLine
from tests.journeys.conftest import library

__all__ = ["library"]

CTRL_Q = b"\x11"


@pytest.fixture(scope="module")
def demo(library: Path, tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    return CommandLine(tmp_path_factory.mktemp("home")).with_demo(library)


@pytest.mark.before_release(
    "arguments0-texts0", "arguments2-texts2", "arguments3-texts3", "arguments4-texts4", "arguments5-texts5"
)
@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (("open", "harbour-api/7", "--demo"), ("#7 Show what a refused time looks like", "General comments")),
        (("--demo", "harbour-api/7"), ("#7 Show what a refused time looks like",)),
        (("--demo", "open", "harbour-api:concepts/time"), ("Time and time zones", "Why so strict")),
        (("--demo", "open", "harbour-api/7:help/troubleshooting"), ("page 2 of 2",)),
        (("--demo", "open", "t6"), ("#7 Show what a refused time looks like", "straight quotes")),
        (("--demo", "http://octavo.local/o/saltmarsh/s/harbour-api/~/changes/7"), ("#7 Show what",)),
        (("--demo", "open", "nope/7"), ("Could not find the space nope",)),
    ],
)
def test_app_opens_at_the_ref(demo: CommandLine, arguments: tuple[str, ...], texts: tuple[str, ...]) -> None:
    with demo.terminal(*arguments) as app:
        app.wait_for(*texts)
        app.write(CTRL_Q)
        assert app.end() == 0


@pytest.mark.before_release
def test_colon_opens_a_space_and_no_folder(demo: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "handbook").mkdir()
    found = demo.run("--demo", "open", "handbook:", cwd=tmp_path)
    assert found.err.startswith("octavo: Octavo needs a terminal.")
    with demo.terminal("--demo", "open", "handbook:") as app:
        app.wait_for("Handbook ▾")
        app.write(CTRL_Q)
        assert app.end() == 0


def test_ref_in_the_demo_wins_over_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "handbook").mkdir()
    monkeypatch.chdir(tmp_path)
    options = build_parser("open").parse_args(["--demo", "open", "handbook"])
    choice = choose_session(read({"OCTAVO_CONFIG_DIR": str(tmp_path)}), options)
    assert (choice.is_demo, choice.ref) == (True, "handbook")


@pytest.mark.before_release
def test_folder_wins_over_a_space(demo: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook" / "README.md").write_text("# My own notes\n\nTides.\n")
    with demo.terminal("open", str(tmp_path / "handbook")) as app:
        app.wait_for("My own notes")
        app.write(CTRL_Q)
        assert app.end() == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("open", "a@b@c"), 2, "Could not read the REF a@b@c"),
        (("open", "harbour-api/7", "--web"), 1, "Could not open the browser: the demo is not on the web."),
        (("open", "nope", "--web"), 3, "Could not find the space nope."),
        (("open", "https://evil.example/o/x/s/y", "--web"), 2, "it is not a link to this server"),
        (("open", "--web"), 2, "--web needs a REF or a URL"),
        (("open", "./no-such-folder"), 1, "Octavo needs a terminal"),
        (("open", "~nobody-here/docs"), 1, "Octavo needs a terminal"),
        (("open", "x" * 300), 1, "Octavo needs a terminal"),
    ],
)
def test_mistakes_end_before_the_app(demo: CommandLine, arguments: tuple[str, ...], code: int, said: str) -> None:
    ran = demo.run("--demo", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


@pytest.mark.before_release
def test_folder_shows_its_first_titles_before_it_is_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "README.md").write_text("# Home\n\nWelcome.\n")
    lines = ["# Table of contents", "", "* [Home](README.md)"]
    for number in range(300):
        (folder / f"page-{number}.md").write_text(f"# Page {number}\n\nWords.\n")
        lines.append(f"  * [Page \\[{number}\\] \x1b\u202e](page-{number}.md)")
    (folder / "SUMMARY.md").write_text("\n".join(lines) + "\n")
    with CommandLine(tmp_path).terminal("open", str(folder)) as shown:
        shown.wait_for("PAGES", "  Home", "    Page [0]", "    Page [20]")
        shown.wait_for("Welcome.", "Page 20")
        shown.write(b"\x11")
        assert shown.end() == 0


def test_titles_without_a_summary_are_the_names_in_the_folder(tmp_path: Path) -> None:
    for name in (".git", "guides", "notes"):
        (tmp_path / name).mkdir()
    for name in ("README.md", "b\x1b.md"):
        (tmp_path / name).touch()
    found = OpenFolder(PlatformFolder(tmp_path / "data"), tmp_path, "Mia", []).first_titles()
    assert found[0] == "README"
    assert set(found[2:]) == {"guides", "notes"}
    assert found[1].isprintable()
    assert OpenFolder(PlatformFolder(tmp_path / "data"), tmp_path / "gone", "Mia", []).first_titles() == []
