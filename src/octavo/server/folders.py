"""Reading a folder of markdown: which pages it has, in which tree, and what goes with them.

The tree is that of `SUMMARY.md`, or without one that of the folders. `.gitbook.yaml` may say where these are. Nothing
outside the folder is read: a link that leaves it, on disk or in a page, is passed over. What cannot be read, or
is more than 5 MB, is reported and passed over.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from octavo.api.folding import fold
from octavo.documents import front_matter
from octavo.server.folder import Entry, Folder, shown, walk

DEEPEST = 30
"""How many folders deep pages are looked for."""
ASSETS = Path(".gitbook/assets")
SHARED = Path(".gitbook/includes")
"""Where words are kept that several pages include."""
VARIABLES = Path(".gitbook/vars.yaml")
UNLISTED = "Not in SUMMARY"
"""The title of the group for pages that `SUMMARY.md` does not name."""

_SUFFIXES = {".md", ".markdown", ".mdx"}
_INDEXES = ("readme", "index")
_NEVER = {"node_modules"}
_DIGITS = re.compile(r"(\d+)")
_ADDRESS = re.compile(
    r"""\]\(\s{0,9}(?:<([^<>\n]{1,1000})>|([^\s()]{1,1000}(?:\([^\s()]{0,99}\)[^\s()]{0,99}){0,9}))"""
    r"""|(?:src|href|srcset|url)=["']([^"'\n]{1,1000})["']"""
)
"""What is longer is no path."""
_INCLUDE = re.compile(r"""\{%-?\s{0,9}include\s{1,9}["']([^"'\n]{1,1000})["']""")


def read(folder: Path) -> Folder:
    """The table of contents of a folder. Raises OSError when it is no folder or cannot be opened."""
    top = folder.resolve(strict=True)
    if not top.is_dir():
        raise NotADirectoryError(20, "is not a folder", str(folder))
    os.listdir(top)
    found = Folder(top, top)
    readme, summary = _settings(found)
    path = _summary(found, summary)
    text = found.text(path) if path is not None else None
    if path is None or text is None:
        found.entries = _by_folders(found, readme)
        return found
    from octavo.server.summaries import entries  # brings markdown-it, which a folder without a summary never needs

    found.entries = entries(found, text, path)
    _add_unlisted(found, path, readme)
    return found


def _settings(folder: Folder) -> tuple[Path, str | None]:
    """The names of the first page and, if it is given, of the table of contents. Moves the root."""
    text = folder.text(Path(".gitbook.yaml")) if folder.holds(Path(".gitbook.yaml")) else None
    try:
        says = front_matter.parse(text or "")
    except front_matter.FrontMatterError as wrong:
        says = {}
        folder.report(".gitbook.yaml", f"could not be read: {wrong}.")
    if isinstance(where := says.get("root"), str):
        root = _root(folder, where)
        folder.root = root or folder.top
        if root is None:
            folder.report(".gitbook.yaml", f"sets the root {where[:80]}, which is not a folder inside this folder.")
    structure = says.get("structure")
    structure = structure if isinstance(structure, dict) else {}
    readme, summary = structure.get("readme"), structure.get("summary")
    first = folder.within(readme, Path()) if isinstance(readme, str) else None
    return first or Path("README.md"), summary if isinstance(summary, str) else None


def _root(folder: Folder, where: str) -> Path | None:
    """Return the folder that the configuration names. None if it is not a folder in this one."""
    path = folder.within(where, Path())
    try:
        root = (folder.top / path).resolve() if path is not None else None
        return root if root is not None and root.is_relative_to(folder.top) and root.is_dir() else None
    except (OSError, RuntimeError):  # the name is too long, or links lead round in a circle
        return None


def _summary(folder: Folder, named: str | None) -> Path | None:
    """The path of the table of contents, if there is one."""
    if named is not None:
        path = folder.within(named, Path())
        if path is not None and folder.holds(path):
            return path
        folder.report(named, "is set as the table of contents but does not exist, so the folders are shown instead.")
        return None
    names = (each for each in os.listdir(folder.root) if fold(each) == "summary.md")
    return next((Path(name) for name in sorted(names) if folder.holds(Path(name))), None)


def _add_unlisted(folder: Folder, summary: Path, readme: Path) -> None:
    listed = {entry.path for entry in walk(folder.entries)} | {summary}
    others = [entry for entry in walk(_by_folders(folder, readme)) if entry.path and entry.path not in listed]
    if first := next((entry for entry in others if entry.path == readme), None):
        others.remove(first)
        folder.entries.insert(0, Entry("document", path=readme))
    if others:
        others.sort(key=lambda entry: _natural(str(entry.path)))
        pages = [Entry("document", path=entry.path) for entry in others]
        folder.entries.append(Entry("group", UNLISTED, children=pages))


def _by_folders(folder: Folder, readme: Path) -> list[Entry]:
    """The tree of the folders, the first page before everything else."""
    folder.first = readme if folder.holds(readme) and _is_page(readme) else _index(folder, Path())
    entries = _below(folder, Path(), None)
    return [Entry("document", path=folder.first), *entries] if folder.first else entries


def _below(folder: Folder, path: Path, index: Path | None) -> list[Entry]:
    """The pages in a folder and those below it, by their names, but for its `index`, which stands above them.

    A folder is the page that its README or index is, with the others below it. One without is a group at the root,
    and an empty page elsewhere, because groups do not stand in anything.
    """
    entries = []
    for each in _listed(folder, path):
        name = path / each.name
        if each.name.startswith(".") or each.name in _NEVER or name in (index, folder.first):
            continue
        if not _stays(folder, each, name):
            continue
        if each.is_dir(follow_symlinks=False):
            if entry := _section(folder, name):
                entries.append(entry)
        elif _is_page(name) and (fold(each.name) != "summary.md" or path.parts):
            entries.append(Entry("document", path=name))
    return entries


def _listed(folder: Folder, path: Path) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(folder.root / path), key=lambda each: _natural(each.name))
    except OSError as failure:
        folder.report(path, f"could not be read: {(failure.strerror or 'unknown error').lower()}.")
        return []


def _section(folder: Folder, path: Path) -> Entry | None:
    """What a folder within the folder becomes. None if no page is in it."""
    if len(path.parts) > DEEPEST:
        folder.report(path, f"is more than {DEEPEST} folders deep, so it is left out.")
        return None
    index = _index(folder, path)
    children = _below(folder, path, index)
    if index is not None:
        return Entry("document", path=index, children=children)
    if not children:
        return None
    kind = "group" if len(path.parts) == 1 else "document"
    return Entry(kind, named(path.name), address=str(path), children=children)


def _stays(folder: Folder, each: os.DirEntry[str], path: Path) -> bool:
    """Whether something in a folder is to be looked at. A link out of the folder, or to a folder in it, is not."""
    if not each.is_symlink():
        return True
    try:
        real = Path(each.path).resolve(strict=True)
    except (OSError, RuntimeError):
        folder.report(path, "is a link to a file that does not exist.")
        return False
    if not real.is_relative_to(folder.top):
        folder.report(path, "points outside the folder, so it is left out.")
        return False
    return real.is_file()


def _is_page(path: Path) -> bool:
    return path.suffix.lower() in _SUFFIXES


def _index(folder: Folder, path: Path) -> Path | None:
    """The first page of a folder: its README, or else its index."""
    try:
        names = sorted(os.listdir(folder.root / path))
    except OSError:
        return None
    pages = [path / name for name in names if _is_page(Path(name)) and folder.holds(path / name)]
    found = (page for stem in _INDEXES for page in pages if fold(page.stem) == stem)
    return next((page for page in found if page != folder.first), None)


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
            if each.name in _NEVER or (each.name.startswith(".") and not each.name.startswith(".gitbook")):
                continue
            try:
                if each.is_dir(follow_symlinks=False):
                    if depth < DEEPEST:
                        waiting.append((each.path, depth + 1))
                    continue
                status = each.stat()
            except OSError:
                continue
            said.update(f"{each.path}\0{status.st_mtime_ns}\0{status.st_size}\0".encode("utf-8", "surrogateescape"))
    return said.digest()


def addresses(markdown: str) -> Iterator[str]:
    """The addresses of links and pictures in a page, as they are written."""
    for found in _ADDRESS.finditer(markdown):
        yield found[1] or found[2] or found[3]


def includes(markdown: str) -> Iterator[str]:
    """What a page includes, as it is written."""
    return (found[1] for found in _INCLUDE.finditer(markdown))


def relinked(markdown: str, lead: Callable[[str], str | None]) -> str:
    """`markdown` with its addresses changed to where `lead` says they lead. None keeps one as it is."""

    def replaced(found: re.Match[str]) -> str:
        address = found[1] or found[2] or found[3]
        leads = lead(address)
        return found[0] if leads is None else found[0].replace(address, leads)

    return _ADDRESS.sub(replaced, markdown)


def kept(folder: Folder, where: Path) -> Iterator[Path]:
    """The files kept for pages in one place, such as ASSETS, from the root."""
    for top in dict.fromkeys((folder.root, folder.top)):
        for place, inside, names in os.walk(top / where):
            inside.sort(key=_natural)
            for name in sorted(names, key=_natural):
                yield Path(os.path.relpath(Path(place) / name, folder.root))


def named(stem: str) -> str:
    """What a file or folder is called when nothing in it says: `smart-contracts` is Smart contracts."""
    words = " ".join(re.split(r"[-_\s]+", shown(stem))).strip()
    return words[:1].upper() + words[1:] or "Untitled page"


def _natural(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """Orders names as people do: `page 9` before `page 10`."""
    parts = _DIGITS.split(fold(name))
    return [(0, int(part), "") if number % 2 else (1, 0, part) for number, part in enumerate(parts)], name
