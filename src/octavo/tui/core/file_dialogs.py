"""Dialogs that ask where to save an export (`choose_export`), or which file to upload (`ask_for_file`). An export never
leaves an incomplete file, and replaces a file only after a confirmation."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import ExitStack, aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeVar, cast
from weakref import WeakKeyDictionary

from octavo.api import pdf
from octavo.api.content import File, Page
from octavo.api.errors import ApiError, BadResponse
from octavo.api.folding import fold
from octavo.api.operation import ChangeRequestRef, ContentRef, SpaceRef
from octavo.data.loaders import page_source_op
from octavo.data.local_files import NotSendable, check_file, read_text
from octavo.lazy_import import lazy, load
from octavo.tui.core.item_labels import format_size
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed, DialogField
from octavo.tui.widgets.short_texts import first_few, plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

# lazy: needed only for exports
_space_reader = lazy("octavo.files.pulled_folder:SpaceReader")
_write_summary = lazy("octavo.documents.folders.table_of_contents:write_summary")


T = TypeVar("T")

NAME_BYTES = 120
_CHUNK_BYTES = 1 << 18
_INVALID_CHARACTERS = re.compile(r'[\x00-\x1f\x7f-\x9f/\\:*?"<>|\ufffd\ud800-\udfff]+')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


class FileNotSaved(OSError):
    """Raised if a file cannot be saved. The message is a sentence for the user."""


class FileExists(FileNotSaved):
    """Raised if a file or folder with this path already exists."""


def safe_name(name: str) -> str:
    """Return `name` as a file name of at most 121 bytes that every system accepts."""
    stem, dot, extension = _INVALID_CHARACTERS.sub("_", name).strip(" .-_~").rpartition(".")
    if not dot or len(extension.encode("utf-8", "replace")) > 16:
        stem, dot, extension = f"{stem}{dot}{extension}", "", ""
    max_stem_bytes = NAME_BYTES - len(f"{dot}{extension}".encode("utf-8", "replace"))
    stem = stem.encode("utf-8", "ignore")[:max_stem_bytes].decode("utf-8", "ignore").rstrip(" .") or "file"
    return f"_{stem}{dot}{extension}" if _RESERVED.match(stem) else f"{stem}{dot}{extension}"


def destination(path_text: str, name: str) -> Path:
    """Return the path that the user typed, with `~` expanded. If the path is an existing folder, append `name`. Raises
    FileNotSaved if the path is invalid or its folder does not exist."""
    if not path_text or "\0" in path_text:
        raise FileNotSaved("Enter a file name.")
    try:
        path = Path(path_text).expanduser().absolute()
        if path.is_dir():
            path = path / name
        elif path_text.endswith(os.sep):
            raise FileNotSaved(f"The folder {path} does not exist. Enter the path to an existing folder.")
        if not path.parent.is_dir():
            raise FileNotSaved(f"The folder {path.parent} does not exist. Enter the path to an existing folder.")
    except (RuntimeError, ValueError, OSError) as error:
        if isinstance(error, FileNotSaved):
            raise
        raise FileNotSaved(f"{path_text} is not a valid file name. Enter another name.") from error
    return path


async def save(path: Path, chunks: AsyncIterator[bytes], *, replace: bool = False) -> int:
    """Write `chunks` to a file that only the user can read. Return the size in bytes. Raises FileExists if the file
    exists, unless `replace` is True. Raises FileNotSaved for other errors."""
    if not replace and await asyncio.to_thread(os.path.lexists, path):
        raise _exists_error(path)
    size, temporary_path = 0, path.with_name(f".octavo-{os.urandom(6).hex()}.part")
    try:
        try:
            with ExitStack() as open_files:
                # The stack closes the file even if this task is canceled meanwhile.
                file = await _run_to_completion(lambda: open_files.enter_context(_new_file(temporary_path)))
                async for chunk in chunks:
                    size += len(chunk)
                    await _run_to_completion(partial(file.write, chunk))
                await _run_to_completion(file.flush)
                await _run_to_completion(partial(os.fsync, file))
            await _run_to_completion(partial(_move_into_place, temporary_path, path, replace))
        finally:
            temporary_path.unlink(missing_ok=True)
    except OSError as error:
        if isinstance(error, FileNotSaved):
            raise
        raise FileNotSaved(f"Could not write {path}: {error.strerror or error}. Choose another location.") from error
    return size


async def save_folder(path: Path, files: AsyncIterator[tuple[tuple[str, ...], bytes]]) -> int:
    """Write files to the new folder `path`. `files` yields the path segments and the content of each. Return the number
    of files. Raises FileExists if `path` exists, FileNotSaved for other errors."""
    if await asyncio.to_thread(os.path.lexists, path):
        raise _exists_error(path)
    path_counts: dict[tuple[str, ...], int] = {}
    temporary_folder = path.with_name(f".octavo-{os.urandom(6).hex()}")
    try:
        try:
            await _run_to_completion(partial(temporary_folder.mkdir, 0o700))
            async for segments, content in files:
                safe_path = _unused_path(tuple(safe_name(segment) for segment in segments), path_counts)
                await _run_to_completion(partial(_write, temporary_folder.joinpath(*safe_path), content))
            await _run_to_completion(partial(os.rename, temporary_folder, path))
        finally:
            await _run_to_completion(partial(shutil.rmtree, temporary_folder, ignore_errors=True))
    except OSError as error:
        raise FileNotSaved(f"Could not write {path}: {error.strerror or error}. Choose another location.") from error
    return len(path_counts)


async def _run_to_completion(function: Callable[[], T]) -> T:
    """Run `function` in a thread, and return its result. On cancellation, wait for the thread before raising."""
    future = asyncio.get_running_loop().run_in_executor(None, function)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        await asyncio.wait({future})
        raise


def _unused_path(segments: tuple[str, ...], path_counts: dict[tuple[str, ...], int]) -> tuple[str, ...]:
    """Return `segments`. If `path_counts` already has this path, add a number to the file name, such as `page-2.md`.
    Record `segments` and the returned path in `path_counts`, both folded."""
    *folder, name = segments
    stem, dot, extension = name.partition(".")
    wanted_key = tuple(fold(segment) for segment in segments)
    key, copy_number = wanted_key, path_counts.get(wanted_key, 0)
    while key in path_counts:
        copy_number += 1
        segments = (*folder, f"{stem}-{copy_number}{dot}{extension}")
        key = tuple(fold(segment) for segment in segments)
    path_counts[wanted_key] = copy_number or 1
    path_counts[key] = 1
    return segments


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _new_file(path: Path) -> BinaryIO:
    return open(path, "xb", _CHUNK_BYTES, opener=lambda name, flags: os.open(name, flags, 0o600))


def _move_into_place(temporary_path: Path, path: Path, replace: bool) -> None:
    """Rename `temporary_path` to `path`. Raises FileExists if `path` exists, unless `replace` is True."""
    if not replace:
        try:
            _new_file(path).close()  # An empty file reserves the name.
        except FileExistsError:
            raise _exists_error(path) from None
    os.replace(temporary_path, path)


def _exists_error(path: Path) -> FileExists:
    return FileExists(f"{path} already exists and was not changed.")


_MAX_DOWNLOAD_BYTES = 256 << 20
_PARALLEL_PAGES = 4
_MAX_SHOWN_PROBLEMS = 3
_EXPORT_FOLDER_KEY = "folder to save to"
ReportProgress = Callable[[str], None]


@dataclass(frozen=True)
class Export:
    """Data that the user can export to a file or a folder."""

    title: str
    """Name of the exported data in messages, such as the title of a page."""
    file_name: str
    """Suggested name of the file or folder."""
    content: Callable[[], AsyncIterator[bytes]] | None = None
    """Called when the user has chosen a path. Yields the content of the file. None if a folder is exported."""
    files: Callable[[ReportProgress], AsyncIterator[tuple[tuple[str, ...], bytes]]] | None = None
    """Yields the path segments and the content of each file in the folder. None if a file is exported."""
    intro: str = ""


@dataclass
class RunningExport:
    """An export that is being written. Canceling its task deletes the unfinished files."""

    export: Export
    task: asyncio.Task[None]
    progress: str = ""
    """Progress such as `12 of 300 pages`. Empty at first."""


_running_exports: WeakKeyDictionary[Shell, list[RunningExport]] = WeakKeyDictionary()


def save_file(app: Shell, file: File) -> None:
    """Ask where to save a file of a space, and save it."""
    url = file.download_url
    if not url:
        app.say(f"Could not save {file.name or 'this file'}: the server did not send a download link.", tone="care")
        return
    size_text = format_size(file.size) if file.size else ""
    export = Export(
        file.name or "the file", file.name, lambda: app.session.download(url, _MAX_DOWNLOAD_BYTES), intro=size_text
    )
    ask_for_path(app, export)


def choose_export(app: Shell, at: SpaceRef | ChangeRequestRef, title: str, page: tuple[str, str] | None) -> None:
    """Ask what to export and in which format, then where to save it. Also offer to stop running exports. `title` is
    the title of the space or change request. `page` has the ID and title of the open page, or is None."""
    scope_label = "The whole space" if isinstance(at, SpaceRef) else "The whole change request"
    exports: dict[str, Export] = {}
    if page is not None:
        page_id, name = page
        exports["This page as Markdown"] = Export(name, f"{slug(name)}.md", lambda: _markdown_chunks(app, at, page_id))
        exports["This page as PDF"] = Export(
            name, f"{slug(name)}.pdf", lambda: _pdf_chunks(app, pdf.Get(at=at, page=page_id, only=True))
        )
        exports["This page and its subpages as PDF"] = Export(
            name, f"{slug(name)}.pdf", lambda: _pdf_chunks(app, pdf.Get(at=at, page=page_id))
        )
    exports[f"{scope_label} as Markdown"] = Export(
        title, slug(title), files=lambda report: _space_files(app, at, report), intro="A folder with one file per page."
    )
    exports[f"{scope_label} as PDF"] = Export(title, f"{slug(title)}.pdf", lambda: _pdf_chunks(app, pdf.Get(at=at)))

    def on_chosen(choice: Export | RunningExport) -> None:
        if isinstance(choice, RunningExport):
            choice.task.cancel()
        else:
            ask_for_path(app, choice)

    choices: list[Choice[Export | RunningExport]] = [
        Choice(each, f"Stop saving {each.export.title}", detail=each.progress or "deletes the unfinished export")
        for each in _running_exports.get(app, ())
    ]
    choices += [Choice(export, name, detail=export.title) for name, export in exports.items()]
    app.ask(Picker("Export", choices), on_chosen)  # type: ignore[misc]  # mypy infers no union


def slug(title: str) -> str:
    """Return a title as a file name without extension, such as `getting-started`. `page` if the title is empty."""
    return re.sub(r"[\s_]+", "-", title.strip().lstrip("#").lower()) or "page"


async def _markdown_chunks(app: Shell, at: ContentRef, page_id: str) -> AsyncIterator[bytes]:
    page: Page = await app.session.live.send(page_source_op(at, page_id))
    if page.markdown is None:
        raise BadResponse("the API does not return its text.")
    yield page.markdown.encode("utf-8", "replace")


async def _pdf_chunks(app: Shell, op: pdf.Get) -> AsyncGenerator[bytes, None]:
    # Not cached: the URL in the response gives everyone access to the PDF.
    pdf_export = await app.session.live.send(op)
    async with aclosing(app.session.download(pdf_export.url, _MAX_DOWNLOAD_BYTES)) as chunks:
        async for chunk in chunks:
            yield chunk


async def _space_files(
    app: Shell, at: ContentRef, report: ReportProgress
) -> AsyncIterator[tuple[tuple[str, ...], bytes]]:
    """Yield the path segments and the content of `SUMMARY.md`, then of each page. Show progress and skipped pages."""
    reader = _space_reader(app.session.live.send, app.session.download, at)
    layout = load("octavo.documents.folders.layout:FolderLayout").of(await reader.revision(), at.space_id)
    pages = [page for page in layout.pages.values() if page.type == "document" and page.id in layout.paths]
    problems = [f"{each.path}: {each.message}" for each in layout.skipped]
    app.say(f"Exporting {plural(len(pages), 'page')}… To stop the export, open Export again.")
    yield (load("octavo.documents.folders.layout:SUMMARY"),), _write_summary(layout.entries).encode()
    for first_index in range(0, len(pages), _PARALLEL_PAGES):
        page_group = pages[first_index : first_index + _PARALLEL_PAGES]
        report(f"{first_index} of {plural(len(pages), 'page')}")
        texts = await reader.texts(page_group)
        for page in page_group:
            path = layout.paths[page.id]
            if page.id in texts:
                yield tuple(path.split("/")), layout.page_file_text(page.id, texts[page.id]).encode("utf-8", "replace")
            else:
                problems.append(f"{path}: Skipped a page: the API does not return its text.")
    for problem in first_few(problems, _MAX_SHOWN_PROBLEMS):
        app.say(problem, tone="care")


def ask_for_path(app: Shell, export: Export, *, path_text: str = "", problem: str = "") -> None:
    """Ask for a path, and save `export` there. To ask again, pass the rejected path (`path_text`) and the `problem`."""
    name = safe_name(export.file_name)
    initial_path = path_text or short_path(_initial_folder(app) / name)
    label = "Save to a new folder" if export.files else "Save to a file or folder"
    field = DialogField(label, initial_path, required_error="Enter a path.", is_path=True)

    dialog = ConfirmDialog(f"Save {export.title}?", verb="Save", intro=export.intro, after=problem, field=field)
    app.ask(dialog, lambda result: _start_saving(app, export, result.text))


def _ask_to_replace(app: Shell, export: Export, path: Path) -> None:
    def on_answer(result: Confirmed | None) -> None:
        if result is not None:
            _start_saving(app, export, str(path), replace=True)
        else:
            ask_for_path(app, export, path_text=short_path(path))

    intro = f"{path.name} already exists in {short_path(path.parent)}. The existing file will be replaced."
    app.push_screen(ConfirmDialog("Replace the file?", verb="Replace", intro=intro), on_answer)


def _start_saving(app: Shell, export: Export, path_text: str, *, replace: bool = False) -> None:
    def on_end(task: asyncio.Task[None]) -> None:
        _running_exports[app].remove(running_export)
        if task.cancelled():
            app.say(f"Stopped saving {export.title}. Nothing was saved.", tone="care")

    def report(progress: str) -> None:
        running_export.progress = progress

    task = app.background(_save(app, export, path_text, report, replace=replace))
    running_export = RunningExport(export, task)
    _running_exports.setdefault(app, []).append(running_export)
    task.add_done_callback(on_end)


async def _save(app: Shell, export: Export, path_text: str, report: ReportProgress, *, replace: bool = False) -> None:
    try:
        path = await asyncio.to_thread(destination, path_text, safe_name(export.file_name))
    except FileNotSaved as error:
        ask_for_path(app, export, path_text=path_text, problem=str(error))
        return
    try:
        if export.files is not None:
            size_text = plural(await save_folder(path, export.files(report)), "file")
        else:
            assert export.content is not None, "An export has either content or files"
            size_text = format_size(await save(path, export.content(), replace=replace))
    except FileExists as error:
        if export.files is None:
            _ask_to_replace(app, export, path)
        else:
            ask_for_path(app, export, path_text=short_path(path), problem=str(error))
    except FileNotSaved as error:
        ask_for_path(app, export, path_text=path_text, problem=str(error))
    except ApiError as error:
        app.say(f"Could not save {export.title}: {error}", tone="failed")
    else:
        app.session.state.set_value(_EXPORT_FOLDER_KEY, str(path.parent))
        app.say(f"Saved {export.title} to {short_path(path)} ({size_text}).")


def _initial_folder(app: Shell) -> Path:
    saved_path = app.session.state.get_value(_EXPORT_FOLDER_KEY)
    for folder in (Path(saved_path) if isinstance(saved_path, str) else None, Path("~/Downloads").expanduser()):
        if folder is not None and folder.is_dir():
            return folder
    return Path.cwd()


def short_path(path: Path) -> str:
    """Return `path` as text, with `~` for the home folder."""
    home = os.path.expanduser("~")
    return f"~{str(path)[len(home) :]}" if home != "/" and path.is_relative_to(home) else str(path)


_UPLOAD_FOLDER_KEY = "file chosen last"
_UPLOAD_HINTS = {
    "customization_font": "A WOFF2 or WOFF font file. Octavo reads the font weight from the file name.",
    "import_file": "A Markdown, HTML, or DOCX file, or a ZIP archive.",
    "text": "A UTF-8 text file.",
}


def ask_for_file(
    app: Shell, title: str, kind: str, on_path: Callable[[str], None], *, path_text: str = "", problem: str = ""
) -> None:
    """Ask for the path of a file to upload, until the file is usable. Then call `on_path` with the typed path. `kind`
    is the accepted kind of file, such as `text`. A rejected `path_text` is shown again, with its `problem`."""
    folder = app.session.state.get_value(_UPLOAD_FOLDER_KEY)
    initial_path = path_text or (isinstance(folder, str) and folder) or "~/"

    field = DialogField(
        "Path (press tab to complete)", initial_path, required_error="Enter the path to a file.", is_path=True
    )
    hint = _UPLOAD_HINTS.get(kind, "")
    dialog = ConfirmDialog(f"{title}: choose a file", verb="Choose", intro=hint, after=problem, field=field)
    app.ask(dialog, lambda result: app.background(_check_upload(app, title, kind, on_path, result.text)))


async def _check_upload(app: Shell, title: str, kind: str, on_path: Callable[[str], None], path_text: str) -> None:
    try:
        if kind == "text":
            await asyncio.to_thread(read_text, path_text)
        else:
            await asyncio.to_thread(check_file, path_text, cast(Literal["customization_font", "import_file"], kind))
    except NotSendable as error:
        ask_for_file(app, title, kind, on_path, path_text=path_text, problem=str(error))
        return
    folder, slash, _ = path_text.rpartition("/")
    app.session.state.set_value(_UPLOAD_FOLDER_KEY, f"{folder}{slash}")
    on_path(path_text)
