"""A folder of markdown: its files, read within bounds, and the entries of its table of contents."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from octavo.api.folding import fold

EXTERNAL_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
"""What an address begins with that leads to no file."""
FILE_LIMIT = 5_000_000
"""The most bytes of a file that is read."""


@dataclass(frozen=True)
class Problem:
    """Something that could not be loaded as it is, and why. `path` is within the folder."""

    path: str
    message: str


@dataclass
class Entry:
    """A line of a table of contents: a document with its file, a group, or a link with its address."""

    kind: str
    title: str = ""
    """Empty when only the file can say."""
    path: Path | None = None
    """The file of a document, from the root of the pages."""
    address: str = ""
    """Where a link leads: an address, or a path from the root of the pages with an anchor."""
    children: list[Entry] = field(default_factory=list)


@dataclass
class Folder:
    """A folder of markdown. Paths are from `root`, which lies in `top` or is it."""

    top: Path
    root: Path
    entries: list[Entry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    first: Path | None = None
    """The first page, where the folders give the tree: it stands before everything else."""
    _names: dict[Path, dict[str, str]] = field(default_factory=dict)
    """The names in each folder that was looked in, by themselves and, where no other is called so, folded."""

    def report(self, path: Path | str, message: str) -> None:
        """Note what could not be loaded as it is."""
        problem = Problem(readable_name(str(path)), message)
        if problem not in self.problems:
            self.problems.append(problem)

    def text(self, path: Path) -> str | None:
        """What a page says, with line feeds between its lines. None if it cannot be read, which is reported."""
        data = self.data(path)
        if data is None:
            return None
        if b"\0" in data:
            self.report(path, "is not text, so it is left out.")
            return None
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            self.report(path, "is not UTF-8: characters that could not be read are shown as \ufffd.")
            text = data.decode("utf-8-sig", "replace")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def data(self, path: Path) -> bytes | None:
        """The bytes of a file within the folder. None if it cannot be read, which is reported."""
        try:
            real = (self.root / path).resolve(strict=True)
            if not real.is_relative_to(self.top):
                self.report(path, "points outside the folder, so it is left out.")
                return None
            status = real.stat()
            if not stat.S_ISREG(status.st_mode):
                self.report(path, "is not a file.")
                return None
            if status.st_size > FILE_LIMIT:
                self.report(path, f"is larger than {FILE_LIMIT // 1_000_000} MB, so it is left out.")
                return None
            return real.read_bytes()
        except (OSError, RuntimeError, ValueError) as failure:
            reason = failure.strerror if isinstance(failure, OSError) else None
            self.report(path, f"could not be read: {(reason or 'the path is not valid').lower()}.")
            return None

    def holds(self, path: Path) -> bool:
        """Whether there is something that can be read at `path`, within the folder."""
        try:
            real = (self.root / path).resolve(strict=True)
            return real.is_relative_to(self.top) and real.is_file()
        except (OSError, RuntimeError, ValueError):
            return False

    def within(self, address: str, start: Path) -> Path | None:
        """The path that an address in the page at `start` means, without its anchor. None if it leaves the folder."""
        name = unquote(re.split("[#?]", address, maxsplit=1)[0])
        base = Path() if name.startswith("/") else start.parent
        path = Path(os.path.normpath(base / name.lstrip("/")))
        outside = os.path.relpath(self.root / path, self.top).split(os.sep)[0] == os.pardir
        return None if outside or "\0" in name else self.as_called(path)

    def as_called(self, path: Path) -> Path:
        """Return `path` as its files are called: addresses may encode accents in another way, or differ in case."""
        found = Path()
        for step in path.parts:
            names = self._named(found) if step != os.pardir else {}
            found /= names.get(step) or names.get(fold(step)) or step
        return found

    def _named(self, folder: Path) -> dict[str, str]:
        if folder not in self._names:
            try:
                names = sorted(os.listdir(self.root / folder))
            except (OSError, ValueError):
                names = []
            self._names[folder] = {fold(name): name for name in reversed(names)} | {name: name for name in names}
        return self._names[folder]


def walk_entries(entries: list[Entry]) -> Iterator[Entry]:
    """All entries, in the order of the table of contents."""
    for entry in entries:
        yield entry
        yield from walk_entries(entry.children)


def readable_name(name: str) -> str:
    """A file name as text: bytes that are no UTF-8 become U+FFFD."""
    return os.fsencode(name).decode("utf-8", "replace")


DEPTH_LIMIT = 30
"""How many folders deep pages are looked for."""
ASSETS = Path(".gitbook/assets")
INCLUDES = Path(".gitbook/includes")
"""Where words are kept that several pages include."""
VARIABLES = Path(".gitbook/vars.yaml")

IGNORED_FOLDERS = {"node_modules"}
_DIGITS = re.compile(r"(\d+)")
_LINK = re.compile(
    r"""\]\(\s{0,9}(?:<([^<>\n]{1,1000})>|([^\s()]{1,1000}(?:\([^\s()]{0,99}\)[^\s()]{0,99}){0,9}))"""
    r"""|(?:src|href|srcset|url)=["']([^"'\n]{1,1000})["']"""
)
"""What is longer is no path."""
_INCLUDE = re.compile(r"""\{%-?\s{0,9}include\s{1,9}["']([^"'\n]{1,1000})["']""")


def fingerprint(folder: Path) -> bytes:
    """What differs when a file in a folder was written, made, moved or deleted. Nothing of the files is read."""
    said = hashlib.blake2b(digest_size=16)
    waiting = [(str(folder), 0)]
    while waiting:
        place, depth = waiting.pop()
        try:
            with os.scandir(place) as listed:
                names = sorted(listed, key=lambda each: each.name)
        except OSError:
            continue
        for each in names:
            if each.name in IGNORED_FOLDERS or (each.name.startswith(".") and not each.name.startswith(".gitbook")):
                continue
            try:
                if each.is_dir(follow_symlinks=False):
                    if depth < DEPTH_LIMIT:
                        waiting.append((each.path, depth + 1))
                    continue
                status = each.stat()
            except OSError:
                continue
            said.update(f"{each.path}\0{status.st_mtime_ns}\0{status.st_size}\0".encode("utf-8", "surrogateescape"))
    return said.digest()


def link_urls(markdown: str) -> Iterator[str]:
    """The addresses of links and pictures in a page, as they are written."""
    for found in _LINK.finditer(markdown):
        yield found[1] or found[2] or found[3]


def include_targets(markdown: str) -> Iterator[str]:
    """What a page includes, as it is written."""
    return (found[1] for found in _INCLUDE.finditer(markdown))


def rewrite_links(markdown: str, lead: Callable[[str], str | None]) -> str:
    """`markdown` with its addresses changed to where `lead` says they lead. None keeps one as it is."""

    def replaced(found: re.Match[str]) -> str:
        address = found[1] or found[2] or found[3]
        leads = lead(address)
        return found[0] if leads is None else found[0].replace(address, leads)

    return _LINK.sub(replaced, markdown)


def files_below(folder: Folder, where: Path) -> Iterator[Path]:
    """The files kept for pages in one place, such as ASSETS, from the root."""
    for top in dict.fromkeys((folder.root, folder.top)):
        for place, inside, names in os.walk(top / where):
            inside.sort(key=natural_order)
            for name in sorted(names, key=natural_order):
                yield Path(os.path.relpath(Path(place) / name, folder.root))


def title_from_name(stem: str) -> str:
    """What a file or folder is called when nothing in it says: `smart-contracts` is Smart contracts."""
    words = " ".join(re.split(r"[-_\s]+", readable_name(stem))).strip()
    return words[:1].upper() + words[1:] or "Untitled page"


def natural_order(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """Orders names as people do: `page 9` before `page 10`."""
    parts = _DIGITS.split(fold(name))
    return [(0, int(part), "") if number % 2 else (1, 0, part) for number, part in enumerate(parts)], name
