"""Reads the table of contents of a folder from its `SUMMARY.md`, or else from its subfolders. Writes `SUMMARY.md`, as Git
Sync does.

`.gitbook.yaml` can name the root folder, the first page and the table of contents. Files outside the folder are never
read. Unreadable files and files above 5 MB are reported and left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from octavo.api.folding import fold
from octavo.documents import front_matter, page_trees
from octavo.documents.blocks import Block, Document, Run, line_starts
from octavo.documents.folders.folder import (
    DEPTH_LIMIT,
    EXTERNAL_URL,
    IGNORED_FOLDERS,
    PAGE_SUFFIXES,
    ContentsEntry,
    Folder,
    as_relative_url,
    is_page_path,
    natural_order,
    title_from_name,
    walk_entries,
)
from octavo.documents.source_reader import parse

HEADING = "# Table of contents"
UNLISTED = "Not in SUMMARY"
"""Title of the group of pages that are missing in `SUMMARY.md`."""

_INDEX_STEMS = ("readme", "index")
_LIST_ITEM = re.compile(r"(?:[*+-]|\d{1,9}[.)])[ \t]")
_LINES_PER_PARSE = 2_000
"""Number of lines that are parsed at a time. The parser does not return all items of very long lists."""
_WRITTEN_SLUG = re.compile(r"""^##+ .{1,1000}?<a href="#[^"\n]{0,200}" id="([^"\n]{1,200})">""", re.MULTILINE)
_LINK_TITLE = re.compile(r"""\]\((<[^<>\n]{1,1000}>|[^\s<>\[\]]{1,1000})[ \t]+"((?:[^"\\\n]|\\.){1,300})"\)""")
_TITLE_SIGNS = re.compile(r"[\\\[\]*`<]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|~(?=~)|\$(?=\$)")
_HEADING_END = re.compile(r"(?<!\S)#")
_ITEM_START = re.compile(r"^\d{0,9}(?=[.)#>+=-])")
"""Start of a title that would begin a list, heading or quote, such as `1` in `1. Start`. A backslash follows it."""
_PATH_SIGNS = re.compile(r'[%#?<>\\\n\r\t"]')


def find_root(folder: Path) -> str:
    """Return the path inside `folder` of the folder with the pages, such as `docs`. Empty if it is `folder` itself."""
    top = folder.resolve()
    result = Folder(top, top)
    _apply_configuration(result)
    return result.root_path


def read_folder(folder: Path) -> Folder:
    """Read a folder and its table of contents. Raises OSError if the folder cannot be opened."""
    top = folder.resolve(strict=True)
    if not top.is_dir():
        raise NotADirectoryError(20, "is not a folder", str(folder))
    os.listdir(top)
    result = Folder(top, top)
    readme, summary = _apply_configuration(result)
    path = _find_summary(result, summary)
    text = result.text(path) if path is not None else None
    if path is None or text is None:
        result.entries = _folder_entries(result, readme)
        return result
    result.summary = path
    result.entries = summary_entries(result, text, path)
    _add_unlisted(result, path, readme)
    return result


def _apply_configuration(folder: Folder) -> tuple[Path, str | None]:
    """Read `.gitbook.yaml`, and set the root of the folder. Return the path of the first page, and the path that the
    file sets for the table of contents, else None."""
    text = folder.text(Path(".gitbook.yaml")) if folder.has_file(Path(".gitbook.yaml")) else None
    try:
        configuration = front_matter.parse(text or "")
    except front_matter.FrontMatterError as error:
        configuration = {}
        folder.report(".gitbook.yaml", f"could not be read: {error}.")
    if isinstance(root_path := configuration.get("root"), str):
        root = _configured_root(folder, root_path)
        folder.root = root or folder.top
        if root is None:
            folder.report(".gitbook.yaml", f"sets the root {root_path[:80]}, which is not a folder inside this folder.")
    structure = configuration.get("structure")
    structure = structure if isinstance(structure, dict) else {}
    readme, summary = structure.get("readme"), structure.get("summary")
    first_page = folder.resolve(readme, Path()) if isinstance(readme, str) else None
    return first_page or folder.actual_path(Path("README.md")), summary if isinstance(summary, str) else None


def _configured_root(folder: Folder, root_path: str) -> Path | None:
    path = folder.resolve(root_path, Path())
    try:
        root = (folder.top / path).resolve() if path is not None else None
        return root if root is not None and root.is_relative_to(folder.top) and root.is_dir() else None
    except (OSError, RuntimeError):  # The name is too long, or symbolic links form a loop.
        return None


def _find_summary(folder: Folder, configured: str | None) -> Path | None:
    if configured is not None:
        path = folder.resolve(configured, Path())
        if path is not None and folder.has_file(path):
            return path
        folder.report(
            configured, "is set as the table of contents but does not exist, so the folders are shown instead."
        )
        return None
    names = (each for each in os.listdir(folder.root) if fold(each) == "summary.md")
    return next((Path(name) for name in sorted(names) if folder.has_file(Path(name))), None)


def _add_unlisted(folder: Folder, summary: Path, readme: Path) -> None:
    listed_paths = {entry.path for entry in walk_entries(folder.entries)} | {summary}
    unlisted_entries = [
        entry
        for entry in walk_entries(_folder_entries(folder, readme))
        if entry.path and entry.path not in listed_paths
    ]
    if first := next((entry for entry in unlisted_entries if entry.path == readme), None):
        unlisted_entries.remove(first)
        folder.entries.insert(0, ContentsEntry("document", path=readme))
    if unlisted_entries:
        unlisted_entries.sort(key=lambda entry: natural_order(str(entry.path)))
        folder.unlisted = [entry.path for entry in unlisted_entries if entry.path]
        pages = [ContentsEntry("document", path=path) for path in folder.unlisted]
        folder.entries.append(ContentsEntry("group", UNLISTED, children=pages))


def _folder_entries(folder: Folder, readme: Path) -> list[ContentsEntry]:
    folder.first_page = readme if folder.has_file(readme) and is_page_path(readme.name) else _find_index(folder, Path())
    entries = _entries_below(folder, Path(), None)
    return [ContentsEntry("document", path=folder.first_page), *entries] if folder.first_page else entries


def _entries_below(folder: Folder, path: Path, index: Path | None) -> list[ContentsEntry]:
    """Return entries for the pages and folders in `path`, sorted by name, without `index` and `folder.first_page`."""
    entries = []
    for directory_entry in _list_directory(folder, path):
        entry_path = path / directory_entry.name
        if (
            directory_entry.name.startswith(".")
            or directory_entry.name in IGNORED_FOLDERS
            or entry_path in (index, folder.first_page)
        ):
            continue
        if not _is_readable(folder, directory_entry, entry_path):
            continue
        if directory_entry.is_dir(follow_symlinks=False):
            if entry := _directory_entry(folder, entry_path):
                entries.append(entry)
        elif is_page_path(entry_path.name) and (fold(directory_entry.name) != "summary.md" or path.parts):
            entries.append(ContentsEntry("document", path=entry_path))
    return entries


def _list_directory(folder: Folder, path: Path) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(folder.root / path), key=lambda each: natural_order(each.name))
    except OSError as failure:
        folder.report(path, f"could not be read: {(failure.strerror or 'unknown error').lower()}.")
        return []


def _directory_entry(folder: Folder, path: Path) -> ContentsEntry | None:
    if len(path.parts) > DEPTH_LIMIT:
        folder.report(path, f"is more than {DEPTH_LIMIT} folders deep, so it is left out.")
        return None
    index = _find_index(folder, path)
    children = _entries_below(folder, path, index)
    if index is not None:
        return ContentsEntry("document", path=index, children=children)
    if not children:
        return None
    kind = "group" if len(path.parts) == 1 else "document"
    return ContentsEntry(kind, title_from_name(path.name), target=str(path), children=children)


def _is_readable(folder: Folder, directory_entry: os.DirEntry[str], path: Path) -> bool:
    """Return whether a file or folder may be read. A symbolic link must lead to a file in `folder`, else report it."""
    if not directory_entry.is_symlink():
        return True
    try:
        real_path = Path(directory_entry.path).resolve(strict=True)
    except (OSError, RuntimeError):
        folder.report(path, "is a link to a file that does not exist.")
        return False
    if not real_path.is_relative_to(folder.top):
        folder.report(path, "points outside the folder, so it is left out.")
        return False
    return real_path.is_file()


def _find_index(folder: Folder, path: Path) -> Path | None:
    try:
        names = sorted(os.listdir(folder.root / path))
    except OSError:
        return None
    pages = [path / name for name in names if is_page_path(name) and folder.has_file(path / name)]
    index_pages = (page for stem in _INDEX_STEMS for page in pages if fold(page.stem) == stem)
    return next((page for page in index_pages if page != folder.first_page), None)


def summary_entries(folder: Folder, text: str, summary: Path) -> list[ContentsEntry]:
    """Return the entries of `SUMMARY.md`. Headings below level 1 start groups, dividers end them. Omit empty groups."""
    top_entries: list[ContentsEntry] = []
    current_entries = top_entries
    # Only an ID that the author wrote is a slug: other headings get their ID from the title.
    written_slugs = set(_WRITTEN_SLUG.findall(text))
    for document in map(parse, _split_between_items(text)):
        if any(block.attrs.get("source") for block in document.walk()):
            folder.report(summary, "has too many nested levels to be read completely. The other pages are listed last.")
        reader = _SummaryReader(folder, summary, document)
        for block in _without_wrappers(document.blocks):
            if block.kind == "heading" and block.attrs.get("level", 1) > 1:
                title, slug = _plain_text(block.runs) or "Untitled group", str(block.attrs.get("id") or "")
                group = ContentsEntry("group", title, slug=slug if slug in written_slugs else "")
                top_entries.append(group)
                current_entries = group.children
            elif block.kind == "divider":
                current_entries = top_entries
            elif block.kind == "list":
                current_entries += reader.items(block)
    _link_repeated_files(folder, top_entries)
    return [entry for entry in top_entries if entry.kind != "group" or entry.children]


def _split_between_items(text: str) -> Iterator[str]:
    """Yield pieces of `text`. After `_LINES_PER_PARSE` lines, a piece ends before an item of the outermost list."""
    lines = text.splitlines(keepends=True)
    start = 0
    for number, line in enumerate(lines):
        if number - start >= _LINES_PER_PARSE and _LIST_ITEM.match(line):
            yield "".join(lines[start:number])
            start = number
    yield "".join(lines[start:])


def _without_wrappers(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield `blocks`. A container such as a hint is replaced by the blocks in it. Lists stay as they are."""
    for block in blocks:
        if block.children and block.kind != "list":
            yield from _without_wrappers(block.children)
        else:
            yield block


class _SummaryReader:
    def __init__(self, folder: Folder, summary: Path, document: Document) -> None:
        self._folder = folder
        self._summary = summary
        self._source = document.source
        self._line_starts = [*line_starts(document.source), len(document.source)]

    def items(self, block: Block) -> list[ContentsEntry]:
        result: list[ContentsEntry] = []
        for item in block.children:
            texts = [child for child in item.children if child.kind in ("paragraph", "heading")]
            entries_below = [entry for child in item.children if child.kind == "list" for entry in self.items(child)]
            entry = self._entry(texts)
            if entry is None:
                result += entries_below
            elif entry.kind == "link":
                # Links cannot have children, so the nested entries follow the link.
                result += [entry, *entries_below]
            else:
                entry.children = entries_below
                result.append(entry)
        return result

    def _entry(self, texts: Sequence[Block]) -> ContentsEntry | None:
        runs = [run for block in texts for run in block.runs]
        linked_runs = [run for run in runs if run.link]
        if not linked_runs:
            title = _plain_text(runs)
            return ContentsEntry("document", title, target=title) if title else None
        url = linked_runs[0].link or ""
        title = _plain_text(run for run in runs if run.link == url) or _plain_text(runs)
        label = next(filter(None, (self._link_title(block, url) for block in texts)), "")
        if EXTERNAL_URL.match(url):
            return ContentsEntry("link", title or url, target=url, link_title=label)
        path = self._folder.resolve(url, self._summary)
        if path is None:
            self._folder.report(unquote(url), "points outside the folder, so its page is empty.")
            return ContentsEntry("document", title, target=title)
        if not self._folder.has_file(path):
            candidates = [
                path / "README.md",
                path / "index.md",
                *([path.with_name(f"{path.name}.md")] if path.name else []),
            ]
            path = next(
                (each for each in map(self._folder.actual_path, candidates) if self._folder.has_file(each)), path
            )
        anchor = url.partition("#")[2]
        if path.suffix.lower() not in (*PAGE_SUFFIXES, ""):
            target = url_of_path(path.as_posix(), anchor) if self._folder.has_file(path) else url
            return ContentsEntry("link", title, target=target, link_title=label)
        return ContentsEntry("document", title, path=path, target=f"#{anchor}" if anchor else "", link_title=label)

    def _link_title(self, block: Block, url: str) -> str:
        """Return the short title of a link to `url`: `title` in `[words](url "title")`. Empty if the link has none."""
        first, last = (self._line_starts[line] for line in block.lines)
        links = _LINK_TITLE.finditer(self._source, first, last)
        title = next((link[2] for link in links if link[1].strip("<>") == url), "")
        return re.sub(r"\\(.)", r"\1", title)


def _link_repeated_files(folder: Folder, top_entries: list[ContentsEntry]) -> None:
    """If several entries have the same file, turn all but one into links, so that each page has one entry."""
    entries_by_path: dict[Path, list[ContentsEntry]] = {}
    for entry in walk_entries(top_entries):
        if entry.kind == "document" and entry.path is not None:
            entries_by_path.setdefault(entry.path, []).append(entry)
    entries_to_keep = {path: _entry_to_keep(folder, path, entries) for path, entries in entries_by_path.items()}
    _link_repeated(top_entries, entries_to_keep)


def _entry_to_keep(folder: Folder, path: Path, entries: list[ContentsEntry]) -> ContentsEntry:
    """Return one of the `entries` with the same file: if possible, without anchor and with the title of the page."""
    candidates = [each for each in entries if not each.target] or entries
    if len(candidates) == 1 or not folder.has_file(path):
        return candidates[0]
    try:
        metadata, body = front_matter.parse_page(folder.text(path) or "")
    except front_matter.FrontMatterError:
        return candidates[0]
    title = metadata.get("title") or page_trees.first_heading(body)
    return next((each for each in candidates if each.title == title), candidates[0])


def _link_repeated(entries: list[ContentsEntry], entries_to_keep: dict[Path, ContentsEntry]) -> None:
    siblings: list[ContentsEntry] = []
    for entry in entries:
        _link_repeated(entry.children, entries_to_keep)
        siblings.append(entry)
        if entry.kind == "document" and entry.path is not None:
            if entries_to_keep[entry.path] is entry:
                entry.target = ""
                continue
            siblings += entry.children
            entry.target = url_of_path(entry.path.as_posix()) + entry.target
            entry.kind, entry.path, entry.children = "link", None, []
    entries[:] = siblings


def _plain_text(runs: Iterable[Run]) -> str:
    return " ".join("".join(run.text for run in runs).split())


def write_summary(entries: Iterable[ContentsEntry]) -> str:
    """Return the text of `SUMMARY.md`. An entry with neither path nor target is replaced by its children."""
    lines = [HEADING, ""]
    is_in_group = False
    for entry in entries:
        if entry.kind == "group":
            lines += ["", _group_heading(entry), ""] if lines[-1] else [_group_heading(entry), ""]
            lines += _items(entry.children, 0)
            is_in_group = True
            continue
        if is_in_group:
            lines += ["", "***", ""]
            is_in_group = False
        lines += _items([entry], 0)
    return "\n".join(lines).rstrip("\n") + "\n"


def _group_heading(entry: ContentsEntry) -> str:
    heading = "## " + _HEADING_END.sub(r"\\#", _escape(entry.title))
    if entry.slug and entry.slug != page_trees.page_slug(entry.title):
        heading += f' <a href="#{entry.slug}" id="{entry.slug}"></a>'
    return heading


def _items(entries: Iterable[ContentsEntry], depth: int) -> Iterator[str]:
    for entry in entries:
        target = _link_target(url_of_path(entry.path.as_posix()) if entry.path is not None else entry.target)
        if not target:
            yield from _items(entry.children, depth)
            continue
        title = _escape(entry.title)
        if entry.kind == "document" and entry.path is None and entry.target == entry.title:
            item = _ITEM_START.sub(r"\g<0>\\", title)  # In the file, the entry was text without a link.
        else:
            short_title = entry.link_title.replace("\\", "\\\\").replace('"', '\\"')
            item = f'[{title}]({target} "{short_title}")' if short_title else f"[{title}]({target})"
        yield f"{'  ' * depth}* {item}"
        yield from _items(entry.children, depth + 1)


def url_of_path(path: str, anchor: str = "") -> str:
    """Return the URL for a relative path. Characters with a meaning in URLs are encoded, but not spaces."""
    url = as_relative_url(_PATH_SIGNS.sub(lambda match: f"%{ord(match[0]):02X}", path))
    return f"{url}#{anchor}" if anchor else url


def _link_target(url: str) -> str:
    return f"<{url.replace('<', '%3C').replace('>', '%3E')}>" if re.search(r"[\s()<>]", url) else url


def _escape(title: str) -> str:
    return _TITLE_SIGNS.sub(r"\\\g<0>", " ".join(title.split())) or "Untitled"
