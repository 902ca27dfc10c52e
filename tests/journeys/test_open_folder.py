"""A local folder shows the progress of loading, changed files, and what to do without pages."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from octavo.cli import sessions
from tests.journeys.stage import Run, Stage

LONG_PAGE = "# Log\n\n" + "\n\n".join(f"Entry {number} of the log." for number in range(60))


@asynccontextmanager
async def open_folder(stage: Stage, folder: Path, size: tuple[int, int] = (120, 36)) -> AsyncIterator[Run]:
    session = sessions.open_folder(stage.settings(), folder)
    async with stage.library() as platform, stage.show(stage.settings(), session, platform, size=size) as run:
        yield run


def write_file(folder: Path, name: str, text: str) -> None:
    """Write a file with a later modification time than before, even if the clock of the file system is coarse."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(before + 10**9,) * 2)


def shows_after_refresh(run: Run, wanted: str) -> bool:
    run.app.background_refresh.refresh_if_due()
    return wanted in run.text


@pytest.mark.before_release
async def test_changed_file_is_shown_at_the_same_reading_position(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    write_file(folder, "README.md", LONG_PAGE)
    async with open_folder(stage, folder) as run:
        await run.see("Entry 0 of the log.")
        await run.press("tab", "G")
        await run.see("Entry 59 of the log.")
        write_file(
            folder,
            "README.md",
            LONG_PAGE.replace("# Log\n\n", "# Log\n\nWritten at the top.\n\n").replace("Entry 58", "Changed 58"),
        )
        await run.until(lambda: shows_after_refresh(run, "Changed 58 of the log."), "show the changed text")
        await run.hear("Loaded the changed files in this folder.")
        await run.see("Entry 59 of the log.")
        assert "Written at the top." not in run.text
        write_file(folder, "second.md", "# Second page\n\nMore.")
        await run.until(lambda: shows_after_refresh(run, "Second page"), "list the new page")
        (folder / "second.md").unlink()
        await run.until(lambda: not shows_after_refresh(run, "Second page"), "remove the deleted page from the tree")
        assert "Entry 59 of the log." in run.text


async def test_nothing_is_loaded_when_no_file_changed(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    write_file(folder, "README.md", "# Log\n\nWords.")
    async with open_folder(stage, folder) as run:
        await run.see("Words.")
        reload_files = run.app.session.reload_files
        assert reload_files is not None
        write_file(folder, "node_modules/a.md", "# No page")
        write_file(folder, ".git/b.md", "# No page")
        for _ in range(5):
            assert not await reload_files()


async def test_space_of_the_open_folder_cannot_be_deleted(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    write_file(folder, "README.md", "# Log\n\nWords.")
    async with open_folder(stage, folder) as run:
        await run.see("Words.")
        await run.press("escape", "X")
        await run.hear("This space shows the folder that you opened. To delete the pages, delete their files.")


async def test_link_that_leaves_the_root_and_returns_opens_its_page(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    write_file(folder, ".gitbook.yaml", "root: ./docs/")
    write_file(folder, "docs/README.md", "# Log\n\n[Way back](../docs/guides/setup.md#one)")
    write_file(folder, "docs/guides/setup.md", "# Setup\n\nWords.\n\n## One\n\nThe first part.")
    async with open_folder(stage, folder) as run:
        await run.see("Way back")
        await run.press("tab", "enter")
        await run.see("The first part.", "› Setup")


async def test_link_out_of_the_folder_says_so_in_the_page_and_in_the_list(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    write_file(folder, "README.md", "# Log\n\n[Code](../code/main.c)")
    async with open_folder(stage, folder) as run:
        await run.see("Code")
        await run.press("tab", "enter")
        await run.hear("This link leads out of this folder, so Octavo cannot open it.")
        await run.press("L", "[", "[")
        await run.see("../code/main.c", "This link leads out of this space.")


@pytest.mark.parametrize("href", ["LICENSE", "../CONTRIBUTING.md"])
async def test_link_to_a_file_that_looks_like_a_page_saves_the_file(stage: Stage, tmp_path: Path, href: str) -> None:
    folder = tmp_path / "notes"
    write_file(folder, ".gitbook.yaml", "root: ./docs/")
    write_file(folder, "docs/README.md", f"# Log\n\n[Open]({href})")
    write_file(folder, f"docs/{href}", "Words.")
    async with open_folder(stage, folder) as run:
        await run.see("Open")
        assert "✗" not in run.text
        await run.press("tab", "enter")
        await run.see(f"Save {href.removeprefix('../')}?")


@pytest.mark.before_release("size1")
@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_folder_without_pages_says_what_to_do(stage: Stage, tmp_path: Path, size: tuple[int, int]) -> None:
    folder = tmp_path / "notes"
    write_file(folder, "deep/notes.txt", "no page")
    async with open_folder(stage, folder, size) as run:
        await run.see("No Markdown files in", ".md,")
        write_file(folder, "deep/first.md", "# The first page\n\nWords.")
        await run.until(lambda: shows_after_refresh(run, "The first page"), "list the new page")


@pytest.mark.before_release
async def test_path_that_is_not_a_folder_is_refused(stage: Stage, tmp_path: Path) -> None:
    (file := tmp_path / "page.md").touch()
    async with stage.library() as platform, stage.show(stage.settings(), None, platform) as run:
        await run.press("ctrl+o")
        await run.type("~nobody-here/docs")
        await run.press("enter")
        await run.see("Could not open ~nobody-here/docs: there is no such folder.")
        await run.press("end", "ctrl+u")
        await run.type(str(file))
        await run.press("enter")
        await run.gone("there is no such")
        await run.until(lambda: "it is not a folder." in " ".join(run.text.replace("│", "").split()), "refuse the file")


@pytest.mark.before_release
async def test_large_folder_shows_progress_and_is_searchable_when_indexed(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    for number in range(500):
        write_file(folder, f"page-{number}.md", f"# Page {number}\n\nWords of getStation{number}.")
    messages: set[str] = set()
    async with stage.library() as platform, stage.show(stage.settings(), None, platform) as run:
        run.app.notices.listeners.add(lambda: messages.update(run.said))
        await run.press("ctrl+o")
        await run.type(str(folder))
        await run.press("enter")
        await run.see("Page 0", "Page 1")
        await run.until(lambda: not run.app.session.load_progress(), "index all pages")
        await run.press("s", *"station499")
        await run.see("Words of getStation499.")
        assert any(said.startswith(("Reading notes: ", "Indexing notes for search")) for said in messages), messages
        assert not any(said in run.text for said in messages if said.endswith("…")), (
            "the progress must disappear when the index is complete"
        )


async def test_new_page_in_a_folder_can_be_merged_and_the_files_stay(stage: Stage, tmp_path: Path) -> None:
    """The merge dialog did not say that a merge changes no file. An only page without text offered the next page."""
    folder = tmp_path / "notes"
    write_file(folder, "notes.txt", "no page")
    async with open_folder(stage, folder) as run:
        await run.see("No Markdown files in")
        assert not [each for each in ("e edit", "C comment", "H version") if each in run.keybar]
        await run.press("ctrl+n")
        await run.see("At the end")
        await run.press("enter")
        await run.type("First page")
        await run.press("enter")
        await run.see("This page is empty.")
        await run.press("m")
        await run.see("your files", "unchanged until you run: octavo export FOLDER --write", "Merge  (y)")
        await run.press("y")
        await run.hear("Merged #1.")
        await run.press("2")
        await run.see("› First page", "This page is empty.")
        assert "Press J" not in run.text
        assert [each.name for each in folder.iterdir()] == ["notes.txt"]


async def test_open_page_whose_file_is_deleted_keeps_its_title_in_the_path(stage: Stage, tmp_path: Path) -> None:
    """The status bar lost the title, and named the page by its ID."""
    folder = tmp_path / "notes"
    write_file(folder, "README.md", "# Log\n\nFirst words.")
    write_file(folder, "second.md", "# Second page\n\nMore words.")
    async with open_folder(stage, folder) as run:
        await run.see("First words.")
        await run.press("j", "enter")
        await run.see("More words.", "notes › Second page")
        assert re.search(r"edited at (\w+ )?\d\d:\d\d", run.text), "An age in seconds would soon be wrong."
        (folder / "second.md").unlink()
        await run.until(
            lambda: shows_after_refresh(run, "This page was not found. It may have been deleted."), "miss the page"
        )
        assert "notes › Second page" in run.text
        assert "More words." in run.text
