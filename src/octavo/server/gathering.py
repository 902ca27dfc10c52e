"""What an import brings: the files of a folder of markdown, made of a website, a document or an archive."""

from __future__ import annotations

import posixpath
import re
import time
from collections import deque
from dataclasses import dataclass, field
from io import BytesIO
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from zipfile import BadZipFile, ZipFile

from octavo.documents import page_trees
from octavo.server import converting
from octavo.server.converting import Html, Unconverted
from octavo.server.fetching import Fetched, Fetcher, NotFetched
from octavo.server.folders import relinked

MOST_PAGES = 100
"""The most pages of a website."""
LONGEST = 25.0
"""Seconds in which a website is read, as far as that goes."""
MOST_FILES = 5000
LARGEST = 64 << 20
"""The most files of an archive, and their bytes unpacked."""

_HTML = re.compile(r"\.x?html?$", re.IGNORECASE)
_MARKDOWN = re.compile(r"\.(?:md|markdown|mdx)$", re.IGNORECASE)
_DOCX = re.compile(r"\.docx$", re.IGNORECASE)


class NotGathered(Exception):
    """Nothing can be imported from there: a sentence without its full stop."""


@dataclass
class Gathered:
    """Files by path, from the root of a folder of markdown, and how many pages there were and came."""

    files: dict[str, bytes] = field(default_factory=dict)
    total: int = 0
    pages: int = 0

    def add(self, path: str, markdown: str) -> None:
        """Add a page."""
        self.files[path] = markdown.encode("utf-8", "replace")
        self.pages += 1


def gather(source: str, url: str, fetcher: Fetcher) -> Gathered:
    """What the address names, read as a website, html, markdown, docx or zip. Raises NotGathered."""
    try:
        if source == "website":
            return _website(url, fetcher)
        fetched = fetcher.fetch(url)
        if source == "zip":
            return _archive(fetched.data)
        return _document(source, fetched)
    except NotFetched as failure:
        raise NotGathered(f"The URL could not be fetched: {failure}") from None
    except Unconverted as failure:
        raise NotGathered(f"The content at this URL {failure}") from None


def _document(source: str, fetched: Fetched) -> Gathered:
    gathered = Gathered(total=1)
    if source != "docx" and b"\0" in fetched.data:
        raise Unconverted("is not text")
    stem = _stem(fetched.url)
    if source == "docx":
        converted = converting.docx(fetched.data, stem)
        gathered.files.update(converted.files)
        gathered.add(f"{stem}.md", converted.markdown)
    elif source == "html":
        page = converting.html(fetched.text)
        gathered.add(f"{stem}.md", page.markdown(lambda address: urljoin(fetched.url, address)))
    else:
        gathered.add(f"{stem}.md", fetched.text)
    return gathered


def _stem(url: str) -> str:
    name = posixpath.splitext(posixpath.basename(urlsplit(url).path.rstrip("/")))[0]
    return page_trees.page_slug(unquote(name)) if name else "page"


def _website(url: str, fetcher: Fetcher) -> Gathered:
    """The page at the address and those it leads to, in the folder it lies in or below."""
    started = time.monotonic()
    first = fetcher.fetch(url)
    within = urljoin(first.url, ".")
    read: dict[str, tuple[Fetched, Html]] = {}
    waiting = deque([_page(first.url)])
    known = {_page(first.url)}
    arrived = {_page(first.url): first}
    total = 0
    while waiting:
        address = waiting.popleft()
        total += 1
        if len(read) >= MOST_PAGES or time.monotonic() - started > LONGEST:
            continue
        try:
            fetched = arrived.pop(address, None) or fetcher.fetch(address)
            if fetched.kind not in ("text/html", "application/xhtml+xml"):
                total -= 1  # a picture or a file is no page
                continue
            page = converting.html(fetched.text)
        except (NotFetched, Unconverted):
            continue
        read[address] = (fetched, page)
        for link in page.links:
            leads = _page(_joined(fetched.url, link))
            if leads.startswith(within) and leads not in known:
                known.add(leads)
                waiting.append(leads)
    paths = _paths(within, list(read))
    gathered = Gathered(total=total)
    for address, (fetched, page) in read.items():
        gathered.add(paths[address], page.markdown(_leading(fetched.url, paths)))
    if not gathered.pages:
        raise NotGathered("There is no HTML page at this URL")
    return gathered


def _joined(base: str, link: str) -> str:
    """Where a link leads. Nowhere if it is no address."""
    try:
        return urljoin(base, link)
    except ValueError:
        return ""


def _page(address: str) -> str:
    """An address without what names a part of the page, or a way to show it."""
    plain = urldefrag(address)[0].partition("?")[0]
    return re.sub(r"/index\.html?$", "/", plain)


def _leading(base: str, paths: dict[str, str]) -> converting.Lead:
    def lead(address: str) -> str:
        there = urljoin(base, address)
        path, anchor = paths.get(_page(there)), urldefrag(there)[1]
        if path is None:
            return there
        return f"/{path}#{anchor}" if anchor else f"/{path}"

    return lead


def _paths(within: str, addresses: list[str]) -> dict[str, str]:
    """The file of each page: one with pages below it is the first of a folder."""
    bare = {address: _bare(address.removeprefix(within)) for address in addresses}
    folders = {posixpath.dirname(path) for path in bare.values()}
    folders |= {above for path in folders for above in _above(path)}
    taken: dict[str, str] = {}
    for address, path in bare.items():
        name = posixpath.join(path, "README.md") if not path or path in folders else f"{path}.md"
        while name in taken.values():
            name = f"{name.removesuffix('.md')}-2.md"
        taken[address] = name
    return taken


def _bare(path: str) -> str:
    steps = [page_trees.page_slug(unquote(step)) for step in _HTML.sub("", path).split("/") if step]
    return "/".join(steps)


def _above(path: str) -> list[str]:
    steps = path.split("/")
    return ["/".join(steps[:depth]) for depth in range(1, len(steps))]


def _archive(data: bytes) -> Gathered:
    """The pages in a zip, with the files beside them."""
    gathered = Gathered()
    try:
        with ZipFile(BytesIO(data)) as archive:
            infos = [each for each in archive.infolist() if not each.is_dir()]
            if len(infos) > MOST_FILES or sum(each.file_size for each in infos) > LARGEST:
                most = f"{MOST_FILES} files or {LARGEST >> 20} MiB"
                raise NotGathered(f"The unpacked archive exceeds the limit of {most}")
            found: dict[str, bytes] = {}
            for each in infos:
                path = _inside(each.filename)
                if path is None:
                    continue
                try:
                    found[path] = archive.read(each)
                except (BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, ValueError):
                    gathered.total += _is_page(path)  # damaged, or locked by a password
    except BadZipFile:
        raise NotGathered("The file at this URL is not a ZIP archive") from None
    for path, content in _from_the_top(found).items():
        gathered.total += _is_page(path)
        try:
            _add(gathered, path, content)
        except Unconverted:
            continue
    if not gathered.pages:
        raise NotGathered("The archive contains no Markdown, HTML, or Word pages that can be read")
    return gathered


def _add(gathered: Gathered, path: str, content: bytes) -> None:
    stem = posixpath.splitext(path)[0]
    if _HTML.search(path):
        text = Fetched(path, "text/html", None, content).text
        gathered.add(f"{stem}.md", converting.html(text).markdown(_to_markdown))
    elif _DOCX.search(path):
        converted = converting.docx(content, page_trees.page_slug(posixpath.basename(stem)))
        gathered.files.update(converted.files)
        gathered.add(f"{stem}.md", converted.markdown)
    else:
        if posixpath.basename(path).lower() == "summary.md":
            content = relinked(content.decode("utf-8", "replace"), _to_markdown).encode()
        gathered.files.setdefault(path, content)
        gathered.pages += _is_page(path)


def _to_markdown(address: str) -> str:
    """A link to a page of HTML beside leads to the markdown it becomes."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc or not _HTML.search(parts.path):
        return address
    return parts._replace(path=_HTML.sub(".md", parts.path)).geturl()


def _is_page(path: str) -> bool:
    return any(kind.search(path) for kind in (_HTML, _MARKDOWN, _DOCX))


def _inside(name: str) -> str | None:
    """The path of a file of an archive. None for what would lie outside it, and for what systems leave in archives."""
    steps = [step for step in name.replace("\\", "/").split("/") if step not in ("", ".")]
    odd = not steps or ".." in steps or "\0" in name or steps[0] == "__MACOSX" or steps[-1] == ".DS_Store"
    return None if odd or any(len(step.encode("utf-8", "replace")) > 200 for step in steps) else "/".join(steps)


def _from_the_top(files: dict[str, bytes]) -> dict[str, bytes]:
    """Files without the one folder that all of them lie in, if there is one."""
    tops = {path.partition("/")[0] for path in files}
    if len(tops) != 1 or not all("/" in path for path in files):
        return files
    return _from_the_top({path.partition("/")[2]: content for path, content in files.items()})
