"""A folder of Markdown files: reads its files safely, rewrites the links in them, and checks the paths of files to
write.

`table_of_contents.read_folder` reads the page tree of a folder.
"""

from __future__ import annotations

import hashlib
import html
import os
import posixpath
import re
import stat
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from urllib.parse import unquote

from octavo.api.folding import fold
from octavo.api.safety import safe_address
from octavo.documents.links import SPACED_IMAGE
from octavo.documents.source_reader import FENCED, parse

EXTERNAL_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
"""Start of a URL that does not name a file in the folder."""
MAX_FILE_BYTES = 5_000_000
"""Largest file that is read, in bytes."""
DEPTH_LIMIT = 30
"""Maximum nesting of folders. Pages in deeper folders are left out."""
ASSETS = Path(".gitbook/assets")
INCLUDES = Path(".gitbook/includes")
"""Folder of reusable content."""
VARIABLES = Path(".gitbook/vars.yaml")
IGNORED_FOLDERS = {"node_modules"}
PAGE_SUFFIXES = (".md", ".markdown", ".mdx")
_DIGITS = re.compile(r"(\d+)")
_INCLUDE = re.compile(r"""\{%-?\s{0,9}include\s{1,9}["']([^"'\n]{1,1000})["']""")
SPECIAL_FOLDER = ".gitbook"
"""The only hidden folder in which files of a space are read and written."""
NAME_BYTES = 255
"""Longest name of a file on common file systems, in bytes."""
LEAVES_FOLDER, FORBIDDEN_NAME, HIDDEN_NAME, RESERVED_NAME, TOO_LONG, SAME_PATH, THROUGH_LINK = (
    "its path leaves the folder",
    "its path has an empty name, or a character that is not allowed in names",
    "its path has a hidden name",
    "its path has a name that some systems reserve",
    "its path is too long",
    "another file has the same path, apart from case or Unicode form",
    "its path goes through a symbolic link",
)
"""Reasons why a file is not written."""
_FORBIDDEN_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\\\ud800-\udfff\u2400-\u2421\ufffd]")
"""Characters that no path may contain: control characters, their replacements in `api/safety.py`, and backslash."""
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])\s*(\.|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Problem:
    """A problem with a file of a folder, for the user. `path` is relative to the folder."""

    path: str
    message: str


@dataclass
class ContentsEntry:
    """An entry of a table of contents: a document, a group or a link."""

    kind: str
    title: str = ""
    """Title in the table of contents. Empty if only the file has a title."""
    path: Path | None = None
    """File of a document, relative to the root of the pages. None for groups, links and documents without a file."""
    target: str = ""
    """The URL or path of a link, or the anchor of a document with a file, such as `#setup`. For a document or group
    without a file, its folder or its title."""
    children: list[ContentsEntry] = field(default_factory=list)
    slug: str = ""
    """Slug of a group. Empty if the slug follows from the title."""
    link_title: str = ""
    """Short title of a page for navigation. Empty if there is none."""
    id: str = ""
    """ID of the page in the space, for comparisons. Empty if unknown."""


@dataclass
class Folder:
    """A folder of Markdown files. Paths are relative to `root`, which is `top` or a folder inside `top`."""

    top: Path
    root: Path
    entries: list[ContentsEntry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    first_page: Path | None = None
    """The README or index page at the top of a tree that comes from the subfolders. None if there is no such page."""
    summary: Path | None = None
    """File of the table of contents. None if the tree comes from the subfolders."""
    unlisted: list[Path] = field(default_factory=list)
    """Files of the pages that are not in the table of contents."""
    _file_names: dict[Path, dict[str, str]] = field(default_factory=dict)
    """For each folder, a table that finds a name on disk by its exact form and by its folded form."""

    @property
    def root_path(self) -> str:
        """Path from `top` to `root`, such as `docs`. Empty if they are equal."""
        return "" if self.root == self.top else readable_path(self.root.relative_to(self.top))

    def report(self, path: Path | str, message: str) -> None:
        """Record a problem with a file, unless it is already recorded."""
        problem = Problem(safe_address(readable_name(str(path))), safe_address(message))
        if problem not in self.problems:
            self.problems.append(problem)

    def text(self, path: Path) -> str | None:
        """Return the text of a file with line feeds as line ends. If unreadable, report a problem and return None."""
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
        """Return the bytes of a file in the folder. If the file cannot be read, report a problem and return None."""
        try:
            real_path = (self.root / path).resolve(strict=True)
            if not real_path.is_relative_to(self.top):
                self.report(path, "points outside the folder, so it is left out.")
                return None
            status = real_path.stat()
            if not stat.S_ISREG(status.st_mode):
                self.report(path, "is not a file.")
                return None
            if status.st_size > MAX_FILE_BYTES:
                self.report(path, f"is larger than {MAX_FILE_BYTES // 1_000_000} MB, so it is left out.")
                return None
            return real_path.read_bytes()
        except (OSError, RuntimeError, ValueError) as failure:
            reason = failure.strerror if isinstance(failure, OSError) else None
            self.report(path, f"could not be read: {(reason or 'the path is not valid').lower()}.")
            return None

    def has_file(self, path: Path) -> bool:
        """Return whether `path` is a file inside the folder."""
        try:
            real_path = (self.root / path).resolve(strict=True)
            return real_path.is_relative_to(self.top) and real_path.is_file()
        except (OSError, RuntimeError, ValueError):
            return False

    def resolve(self, url: str, start: Path) -> Path | None:
        """Return the path to which a URL on the page at `start` leads. None if it is invalid or outside of `top`."""
        name = unquote(re.split("[#?]", url, maxsplit=1)[0])
        base = Path() if name.startswith("/") else start.parent
        path = Path(os.path.relpath(self.root / base / name.lstrip("/"), self.root))
        is_outside = os.path.relpath(self.root / path, self.top).split(os.sep)[0] == os.pardir
        return None if is_outside or "\0" in name else self.actual_path(path)

    def actual_path(self, path: Path) -> Path:
        """Return `path` with its names as they are on disk. Names are compared by `fold`, so case does not matter."""
        path_on_disk = Path()
        for number, step in enumerate(path.parts):
            names = self._names_in(path_on_disk) if step != os.pardir else {}
            if not names and step != os.pardir:
                return path_on_disk.joinpath(*path.parts[number:])  # The folder does not exist.
            path_on_disk /= names.get(step) or names.get(fold(step)) or step
        return path_on_disk

    def _names_in(self, folder: Path) -> dict[str, str]:
        directory = self.root / folder  # Not relative, because `root` changes when `.gitbook.yaml` is read.
        if directory not in self._file_names:
            try:
                names = sorted(composed_path(directory, name) for name in os.listdir(directory))
            except (OSError, ValueError):
                names = []
            names_by_folded_name = {fold(name): name for name in reversed(names)}
            self._file_names[directory] = names_by_folded_name | {name: name for name in names}
        return self._file_names[directory]


def composed_path(top: Path, path: str) -> str:
    """Return `path` with composed accents if it leads to the same file in `top`. Some disks return decomposed names."""
    composed = unicodedata.normalize("NFC", path)
    return composed if composed != path and is_same_file(top / composed, top / path) else path


def is_same_file(one: Path, other: Path) -> bool:
    """Return whether two paths lead to the same existing file."""
    return one.exists() and other.exists() and one.samefile(other)


def walk_entries(entries: list[ContentsEntry]) -> Iterator[ContentsEntry]:
    """Yield all entries in the order of the table of contents."""
    for entry in entries:
        yield entry
        yield from walk_entries(entry.children)


def readable_name(name: str) -> str:
    """Return a file name as text. Bytes that are not valid UTF-8 become U+FFFD."""
    return os.fsencode(name).decode("utf-8", "replace")


def readable_path(path: Path) -> str:
    """Return a path as text, with `/` between its names. Bytes that are not valid UTF-8 become U+FFFD."""
    return readable_name(path.as_posix())


def fingerprint(folder: Path) -> bytes:
    """Return a hash of the files in `folder`: path, size and time of change. Skip hidden files, except `.gitbook*`."""
    digest = hashlib.blake2b(digest_size=16)
    pending_folders = [(str(folder), 0)]
    while pending_folders:
        directory, depth = pending_folders.pop()
        try:
            with os.scandir(directory) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.name in IGNORED_FOLDERS or (entry.name.startswith(".") and not entry.name.startswith(".gitbook")):
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    if depth < DEPTH_LIMIT:
                        pending_folders.append((entry.path, depth + 1))
                    continue
                status = entry.stat()
            except OSError:
                continue
            digest.update(f"{entry.path}\0{status.st_mtime_ns}\0{status.st_size}\0".encode("utf-8", "surrogateescape"))
    return digest.digest()


def is_page_path(path: str) -> bool:
    """Return whether a path has the suffix of a page file, in upper or lower case."""
    return path.lower().endswith(PAGE_SUFFIXES)


def slug_source(path: PurePath) -> str:
    """Return the name from which the slug of a page is made: `guide` for `guide.md` or `guide/README.md`."""
    is_index = path.stem.lower() in ("readme", "index")
    return path.parent.name if is_index and path.parent.name else path.stem


def visible_files_in(folder: Folder, subfolder: Path) -> Iterator[Path]:
    """Yield the visible files below `root / subfolder`, then below `top / subfolder`, as paths relative to `root`."""
    for top in dict.fromkeys((folder.root, folder.top)):
        for directory, subfolders, names in os.walk(top / subfolder):
            subfolders[:] = sorted((name for name in subfolders if not name.startswith(".")), key=natural_order)
            for name in sorted(names, key=natural_order):
                if not name.startswith("."):
                    yield Path(os.path.relpath(Path(directory) / name, folder.root))


def included_files(folder: Folder, pages: Iterable[Path], text_of: Callable[[Path], str]) -> dict[Path, None]:
    """Return the files with reusable content: those below `INCLUDES`, and those that `pages` include, perhaps through
    other reusable content. `text_of` returns the text of a file."""
    included = dict.fromkeys(
        path for path in visible_files_in(folder, INCLUDES) if path.suffix == ".md" and folder.has_file(path)
    )
    waiting_paths = [*pages, *included]
    while waiting_paths:
        path = waiting_paths.pop()
        for match in _INCLUDE.finditer(text_of(path)):
            target = folder.resolve(match[1], path)
            if target is not None and target.suffix == ".md" and target not in included and folder.has_file(target):
                included[target] = None
                waiting_paths.append(target)
    return included


def linked_path(url: str, path: str) -> str:
    """Return the path to which a relative URL in the file `path` leads. May begin with `..`. Empty for other URLs."""
    name = unquote(url.partition("#")[0])
    if not name or name.startswith("/") or EXTERNAL_URL.match(url):
        return ""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), name))


def as_relative_url(url: str) -> str:
    """Return the URL of a relative path. Colons are encoded if the URL would look as if it began with a scheme."""
    return url.replace(":", "%3A") if EXTERNAL_URL.match(url) else url


def title_from_name(stem: str) -> str:
    """Return a title made from a file name: `smart-contracts` becomes `Smart contracts`."""
    words = " ".join(re.split(r"[-_\s]+", readable_name(stem))).strip()
    return words[:1].upper() + words[1:] or "Untitled page"


def natural_order(name: str) -> tuple[list[tuple[int, int, str]], str]:
    """Return a sort key that compares numbers by value: `page 9` comes before `page 10`."""
    parts = _DIGITS.split(fold(name))
    return [(0, int(part), "") if number % 2 else (1, 0, part) for number, part in enumerate(parts)], name


def why_unsafe(path: str) -> str:
    """Return why no file may be written at `path`. Empty if it may be written."""
    names = path.split("/")
    if ".." in names or re.match(r"/|[A-Za-z]:", path):
        return LEAVES_FOLDER
    if not {"", "."}.isdisjoint(names) or _FORBIDDEN_CHARACTERS.search(path):
        return FORBIDDEN_NAME
    names_below = names[1:] if names[0] == SPECIAL_FOLDER else names
    if any(name.startswith(".") for name in names_below) or names == [SPECIAL_FOLDER]:
        return HIDDEN_NAME
    if any(_RESERVED.match(name) or name.endswith((".", " ")) for name in names):
        return RESERVED_NAME
    if len(names) > DEPTH_LIMIT or any(len(name.encode()) > NAME_BYTES for name in names):
        return TOO_LONG
    return ""


def passes_link(folder: Path, path: str) -> bool:
    """Return whether `path` in `folder` is a symbolic link, or goes through one."""
    step_path = folder
    for name in path.split("/"):
        step_path /= name
        if step_path.is_symlink():
            return True
    return False


CODE_SPAN = re.compile(r"(?<![`\\])(?P<ticks>`{1,9})(?!`)[^\n]{1,1000}?(?<!`)(?P=ticks)(?!`)")
_LINK_OR_SAMPLE = re.compile(
    r"^[ \t>]{0,20}\[(?!\^)[^\[\]\n]{1,300}\]:[ \t]{0,9}(?:<([^<>\n]{1,1000})>|([^\s<]\S{0,999}))"
    rf"|(?=[`!\\\[\]<\nshup])(?:{CODE_SPAN.pattern}|<!--(?:(?!<!--|-->)[\s\S])*+-->|\n(?=[ \t>]*\n)"
    r"|\\(?:</?[a-z][^<>\[\]\n]{0,999}>|\{%[^{\[\]\n]{0,999}?%\\?\}|[!-/:-@\[-`{-~])"
    rf"|{SPACED_IMAGE}"
    r"""|\]\(\s{0,9}(?:<([^<>\n]{1,1000})>|([^\s()]{1,1000}(?:\([^\s()]{0,99}\)[^\s()]{0,99}){0,9}))|[\[\]]"""
    r"""|(?:src|href|srcset|url|page-ref\s{1,9}page)=(?:"([^"\n]{1,1000})"|'([^'\n]{1,1000})'))"""
    rf"|{FENCED.pattern}",
    re.MULTILINE | re.IGNORECASE,
)
"""A link, a definition of a link label, a bracket, the end of a paragraph, or a sample in which no link counts: code, a
comment, an escaped tag or sign. The URL is the last group, which has no name. The lookahead makes the search faster."""
_ESCAPED_SIGN = re.compile(r"\\([!-/:-@\[-`{-~])")
_MAYBE_CODE = re.compile(r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t]){0,20}(?: {4}|\t)")
"""Start of a paragraph that may be indented code."""


def link_urls(markdown: str) -> Iterator[str]:
    """Yield the URLs of links and images in a page outside code and comments, without escapes."""
    return (url for url, _ in _links_in(markdown))


def rewrite_links(markdown: str, new_url: Callable[[str], str | None]) -> str:
    """Return `markdown` with `new_url(URL)` for each URL of `link_urls`. A URL stays if `new_url` returns None."""
    pieces, position = [], 0
    for url, (start, end) in _links_in(markdown):
        if (new := new_url(url)) is not None and new != url:
            pieces += [markdown[position:start], new]
            position = end
    return "".join([*pieces, markdown[position:]])


def _links_in(markdown: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the URL, without escapes, of each link outside code and comments, and the range of this URL."""
    code_lines: frozenset[int] | None = None
    open_brackets = paragraph_start = line = counted_to = 0
    for match in _LINK_OR_SAMPLE.finditer(markdown):
        group, text = match.lastindex, match[0]
        is_link = group is not None and match.lastgroup is None
        if text[0] == "]":
            is_link = is_link and open_brackets > 0
            open_brackets = max(0, open_brackets - 1)
        elif text == "[":
            open_brackets += 1
        elif text[0] == "\n":
            open_brackets, paragraph_start = 0, markdown.index("\n", match.end()) + 1
        if group is None or not is_link:
            continue
        line += markdown.count("\n", counted_to, match.end())
        counted_to = match.end()
        if _MAYBE_CODE.match(markdown, paragraph_start):
            code_lines = _code_lines(markdown) if code_lines is None else code_lines
            if line in code_lines:
                continue
        yield html.unescape(_ESCAPED_SIGN.sub(r"\1", match[group])), match.span(group)


def _code_lines(markdown: str) -> frozenset[int]:
    """Return the numbers of the lines in code blocks, counted from 0. Only line feeds end lines."""
    document = parse(re.sub("[\r\x85\u2028\u2029]", " ", markdown))
    code = [block for block in document.walk() if block.kind == "code"]
    return frozenset(line for block in code if not block.attrs.get("source") for line in range(*block.lines))
