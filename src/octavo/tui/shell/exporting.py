"""Taking something along as a file: where to is asked, it is written whole or not at all, and what was written is said."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote
from weakref import WeakKeyDictionary

from octavo.api import content, pdf
from octavo.api.content import File, Page
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, ContentRef, SpaceRef
from octavo.data.atomic_files import FileExists, FileNotSaved, destination, safe_name, save, save_folder
from octavo.tui.shell.file_facts import size_in_words
from octavo.tui.shell.page_queries import page_as_written, text_of
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed, Field
from octavo.tui.widgets.picker import Picker
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

FILE_BYTES = 256 << 20
"""Bytes of one file that are taken."""
AT_ONCE = 4
"""Pages that are read at once for an export."""
_FOLDER = "folder to save to"
Report = Callable[[str], None]


@dataclass(frozen=True)
class Export:
    """Something to save. `content` gives its bytes, when it is known where they go."""

    what: str
    """What it is called in sentences: a title, the name of a file."""
    name: str
    """The name of the file or folder that is proposed."""
    content: Callable[[], AsyncIterator[bytes]] | None = None
    files: Callable[[Report], AsyncIterator[tuple[tuple[str, ...], bytes]]] | None = None
    """Instead of `content`: what goes to a folder, each with its path there. It reports how far it is."""
    intro: str = ""


@dataclass
class Saving:
    """An export under way, which can be stopped: nothing of it stays then."""

    export: Export
    task: asyncio.Task[None]
    so_far: str = ""
    """How far it is: 12 of 300 pages."""


_under_way: WeakKeyDictionary[Shell, list[Saving]] = WeakKeyDictionary()


def save_file(app: Shell, file: File) -> None:
    """Ask where a file of a space is to be saved, and save it there."""
    url = file.download_url
    if not url:
        app.say(f"Could not save {file.name or 'this file'}: the server did not send a download link.", tone="care")
        return
    size = size_in_words(file.size) if file.size else ""
    export = Export(file.name or "the file", file.name, lambda: app.session.download(url, FILE_BYTES), intro=size)
    ask_where(app, export)


def choose(app: Shell, at: SpaceRef | ChangeRequestRef, title: str, page: tuple[str, str] | None) -> None:
    """Ask what is to be saved and as what: the page on show, given by id and title, or all of what is called `title`."""
    whole = "The whole space" if isinstance(at, SpaceRef) else "The whole change request"
    stops = {f"Stop saving {each.export.what}": each for each in _under_way.get(app, ())}
    exports: dict[str, Export] = {}
    if page is not None:
        page_id, name = page
        exports["This page as Markdown"] = Export(name, f"{slug(name)}.md", lambda: _markdown(app, at, page_id))
        exports["This page as PDF"] = Export(
            name, f"{slug(name)}.pdf", lambda: _pdf(app, pdf.Get(at=at, page=page_id, only=True))
        )
        exports["This page and its subpages as PDF"] = Export(
            name, f"{slug(name)}.pdf", lambda: _pdf(app, pdf.Get(at=at, page=page_id))
        )
    exports[f"{whole} as Markdown"] = Export(
        title, slug(title), files=lambda report: _pages(app, at, report), intro="A folder with one file per page."
    )
    exports[f"{whole} as PDF"] = Export(title, f"{slug(title)}.pdf", lambda: _pdf(app, pdf.Get(at=at)))

    def chosen(what: str | None) -> None:
        if what in stops:
            stops[what].task.cancel()
        elif what is not None:
            ask_where(app, exports[what])

    choices = [
        Choice(what, what, detail=each.so_far or "deletes the unfinished export") for what, each in stops.items()
    ]
    choices += [Choice(what, what, detail=export.what) for what, export in exports.items()]
    app.push_screen(Picker("Export", choices), chosen)


def slug(title: str) -> str:
    """A title as the name of a file without its ending."""
    return re.sub(r"[\s_]+", "-", title.strip().lstrip("#").lower()) or "page"


async def _markdown(app: Shell, at: ContentRef, page_id: str) -> AsyncIterator[bytes]:
    yield await _page(app, at, page_id)


async def _page(app: Shell, at: ContentRef, page_id: str) -> bytes:
    page: Page = await app.session.live.send(page_as_written(at, page_id))
    return text_of(page).encode("utf-8", "replace")


async def _pdf(app: Shell, op: pdf.Get) -> AsyncGenerator[bytes, None]:
    # Not kept as other answers are: whoever has its address may read what it leads to.
    made = await app.session.live.send(op)
    async with aclosing(app.session.download(made.url, FILE_BYTES)) as chunks:
        async for chunk in chunks:
            yield chunk


async def _pages(app: Shell, at: ContentRef, report: Report) -> AsyncIterator[tuple[tuple[str, ...], bytes]]:
    """Every page of a space as a file, and the tree of them as platforms read it."""
    tree = await app.session.live.send(content.ListPages(at=at))
    pages = [page for page in tree.walk() if page.type == "document"]
    app.say(f"Exporting {plural(len(pages), 'page')}… To stop the export, open Export again.")
    paths = {page.id: path_of(page) for page in pages}
    yield ("SUMMARY.md",), "\n".join(["# Table of contents", "", *_summary(tree.pages, paths, 0), ""]).encode()
    for first in range(0, len(pages), AT_ONCE):
        group = pages[first : first + AT_ONCE]
        report(f"{first} of {plural(len(pages), 'page')}")
        texts = await asyncio.gather(*(_page(app, at, page.id) for page in group))
        for page, text in zip(group, texts, strict=True):
            yield paths[page.id], text


def path_of(page: Page) -> tuple[str, ...]:
    """Where the file of a page goes: where a repository has it, else at its path, a page with others below it as the
    README of their folder."""
    if page.git is not None and page.git.path:
        return tuple(step for step in page.git.path.split("/") if step) or ("README.md",)
    steps = tuple(step for step in (page.path or "").split("/") if step)
    if not steps or any(below.type == "document" for below in page.pages):
        return (*steps, "README.md")
    return (*steps[:-1], f"{steps[-1]}.md")


def _summary(pages: Iterable[Page], paths: Mapping[str, tuple[str, ...]], depth: int) -> Iterator[str]:
    for page in pages:
        title = re.sub(r"([\[\]\\])", r"\\\1", page.title or "Untitled")
        if page.type == "group":
            yield from ("", f"## {title}", "")
            yield from _summary(page.pages, paths, 0)
            continue
        if page.id in paths:
            yield f"{'  ' * depth}* [{title}]({quote('/'.join(map(safe_name, paths[page.id])))})"
        elif page.href:
            yield f"{'  ' * depth}* [{title}](<{page.href}>)"
        yield from _summary(page.pages, paths, depth + 1)


def ask_where(app: Shell, export: Export, *, written: str = "", trouble: str = "") -> None:
    """Ask where `export` goes: a path, with a folder that was used before. `trouble`: why it did not go to `written`."""
    name = safe_name(export.name)
    where = written or short_path(_folder(app) / name)
    label = "Save to a new folder" if export.files else "Save to a file or folder"
    field = Field(label, where, required_error="Enter a path.", is_path=True)

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            _begin(app, export, answer.text)

    app.push_screen(
        ConfirmDialog(f"Save {export.what}?", verb="Save", intro=export.intro, after=trouble, field=field), decided
    )


def _ask_to_replace(app: Shell, export: Export, path: Path) -> None:
    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            _begin(app, export, str(path), replace=True)
        else:
            ask_where(app, export, written=short_path(path))

    intro = f"{path.name} already exists in {short_path(path.parent)}. The existing file will be replaced."
    app.push_screen(ConfirmDialog("Replace the file?", verb="Replace", intro=intro), decided)


def _begin(app: Shell, export: Export, written: str, *, replace: bool = False) -> None:
    def ended(task: asyncio.Task[None]) -> None:
        _under_way[app].remove(saving)
        if task.cancelled():
            app.say(f"Stopped saving {export.what}. Nothing was saved.", tone="care")

    def report(so_far: str) -> None:
        saving.so_far = so_far

    task = app.background(_save(app, export, written, report, replace=replace))
    saving = Saving(export, task)
    _under_way.setdefault(app, []).append(saving)
    task.add_done_callback(ended)


async def _save(app: Shell, export: Export, written: str, report: Report, *, replace: bool = False) -> None:
    try:
        path = await asyncio.to_thread(destination, written, safe_name(export.name))
    except FileNotSaved as error:
        ask_where(app, export, written=written, trouble=str(error))
        return
    try:
        if export.files is not None:
            said = plural(await save_folder(path, export.files(report)), "file")
        else:
            assert export.content is not None, "an export needs either data or files"
            said = size_in_words(await save(path, export.content(), replace=replace))
    except FileExists as error:
        if export.files is None:
            _ask_to_replace(app, export, path)
        else:
            ask_where(app, export, written=short_path(path), trouble=str(error))
    except FileNotSaved as error:
        ask_where(app, export, written=written, trouble=str(error))
    except ApiError as error:
        app.say(f"Could not save {export.what}: {error}", tone="failed")
    else:
        app.session.state.set_fact(_FOLDER, str(path.parent))
        app.say(f"Saved {export.what} to {short_path(path)} ({said}).")


def _folder(app: Shell) -> Path:
    """Where one saved to last, else where downloads go, else where Octavo was started."""
    last = app.session.state.get_fact(_FOLDER)
    for folder in (Path(last) if isinstance(last, str) else None, Path("~/Downloads").expanduser()):
        if folder is not None and folder.is_dir():
            return folder
    return Path.cwd()


def short_path(path: Path) -> str:
    """`path` with ~ for home."""
    home = os.path.expanduser("~")
    return f"~{str(path)[len(home) :]}" if home != "/" and path.is_relative_to(home) else str(path)
