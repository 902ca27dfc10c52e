"""Sources of imports: a website, a document or an archive, read as a folder of Markdown files."""

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
from octavo.documents.link_rewriting import rewrite_links
from octavo.server import conversion
from octavo.server.conversion import ConversionFailure, HtmlPage
from octavo.server.fetcher import FetchedFile, Fetcher, FetchFailure

PAGE_LIMIT = 100
"""Number of pages imported from a website."""
TIME_LIMIT = 25.0
"""Time limit for reading a website, in seconds. Pages not read by then are left out."""
FILE_COUNT_LIMIT = 5000
UNPACKED_LIMIT = 64 << 20
"""Limits for an archive: number of files, and their unpacked bytes."""

_HTML = re.compile(r"\.x?html?$", re.IGNORECASE)
_MARKDOWN = re.compile(r"\.(?:md|markdown|mdx)$", re.IGNORECASE)
_DOCX = re.compile(r"\.docx$", re.IGNORECASE)


class ImportFailure(Exception):
    """Nothing could be imported. The message has no full stop."""


@dataclass
class ImportedFiles:
    """Files by path in a folder of Markdown, with the number of pages found and of pages read."""

    files: dict[str, bytes] = field(default_factory=dict)
    total: int = 0
    pages: int = 0

    def add(self, path: str, markdown: str) -> None:
        """Add a page at `path`."""
        self.files[path] = markdown.encode("utf-8", "replace")
        self.pages += 1


def read_source(source: str, url: str, fetcher: Fetcher) -> ImportedFiles:
    """Download a URL and read it as a website, html, markdown, docx or zip. Raises ImportFailure."""
    try:
        if source == "website":
            return _read_website(url, fetcher)
        download = fetcher.fetch(url)
        if source == "zip":
            return _read_archive(download.data)
        return _read_document(source, download)
    except FetchFailure as failure:
        raise ImportFailure(f"The URL could not be fetched: {failure}") from None
    except ConversionFailure as failure:
        raise ImportFailure(f"The content at this URL {failure}") from None


def _read_document(source: str, download: FetchedFile) -> ImportedFiles:
    imported = ImportedFiles(total=1)
    if source != "docx" and b"\0" in download.data:
        raise ConversionFailure("is not text")
    stem = _stem_of_url(download.url)
    if source == "docx":
        converted = conversion.convert_docx(download.data, stem)
        imported.files.update(converted.files)
        imported.add(f"{stem}.md", converted.markdown)
    elif source == "html":
        page = conversion.read_html(download.text)
        imported.add(f"{stem}.md", page.markdown(lambda address: urljoin(download.url, address)))
    else:
        imported.add(f"{stem}.md", download.text)
    return imported


def _stem_of_url(url: str) -> str:
    name = posixpath.splitext(posixpath.basename(urlsplit(url).path.rstrip("/")))[0]
    return page_trees.page_slug(unquote(name)) if name else "page"


def _read_website(url: str, fetcher: Fetcher) -> ImportedFiles:
    """Read the page at a URL, and the linked pages in the same folder or below."""
    started = time.monotonic()
    first = fetcher.fetch(url)
    folder_url = urljoin(first.url, ".")
    read: dict[str, tuple[FetchedFile, HtmlPage]] = {}
    waiting = deque([_page_url(first.url)])
    seen_urls = {_page_url(first.url)}
    downloads = {_page_url(first.url): first}
    total = 0
    while waiting:
        address = waiting.popleft()
        total += 1
        if len(read) >= PAGE_LIMIT or time.monotonic() - started > TIME_LIMIT:
            continue
        try:
            download = downloads.pop(address, None) or fetcher.fetch(address)
            if download.kind not in ("text/html", "application/xhtml+xml"):
                total -= 1  # Images and files are not pages.
                continue
            page = conversion.read_html(download.text)
        except (FetchFailure, ConversionFailure):
            continue
        read[address] = (download, page)
        for link in page.links:
            linked_url = _page_url(_join_url(download.url, link))
            if linked_url.startswith(folder_url) and linked_url not in seen_urls:
                seen_urls.add(linked_url)
                waiting.append(linked_url)
    paths = _file_paths(folder_url, list(read))
    imported = ImportedFiles(total=total)
    for address, (download, page) in read.items():
        imported.add(paths[address], page.markdown(_link_rewriter(download.url, paths)))
    if not imported.pages:
        raise ImportFailure("There is no HTML page at this URL")
    return imported


def _join_url(base: str, link: str) -> str:
    """Return the URL that a link leads to. Empty if the link is not a valid URL."""
    try:
        return urljoin(base, link)
    except ValueError:
        return ""


def _page_url(address: str) -> str:
    """Return a URL without anchor, query and index file."""
    plain = urldefrag(address)[0].partition("?")[0]
    return re.sub(r"/index\.html?$", "/", plain)


def _link_rewriter(base: str, paths: dict[str, str]) -> conversion.RewriteUrl:
    def rewrite(address: str) -> str:
        url = urljoin(base, address)
        path, anchor = paths.get(_page_url(url)), urldefrag(url)[1]
        if path is None:
            return url
        return f"/{path}#{anchor}" if anchor else f"/{path}"

    return rewrite


def _file_paths(folder_url: str, addresses: list[str]) -> dict[str, str]:
    """Return the file path for each page URL. A page with pages below becomes the README of its folder."""
    bare = {address: _path_without_suffix(address.removeprefix(folder_url)) for address in addresses}
    folders = {posixpath.dirname(path) for path in bare.values()}
    folders |= {above for path in folders for above in _parent_folders(path)}
    paths: dict[str, str] = {}
    for address, path in bare.items():
        name = posixpath.join(path, "README.md") if not path or path in folders else f"{path}.md"
        while name in paths.values():
            name = f"{name.removesuffix('.md')}-2.md"
        paths[address] = name
    return paths


def _path_without_suffix(path: str) -> str:
    steps = [page_trees.page_slug(unquote(step)) for step in _HTML.sub("", path).split("/") if step]
    return "/".join(steps)


def _parent_folders(path: str) -> list[str]:
    steps = path.split("/")
    return ["/".join(steps[:depth]) for depth in range(1, len(steps))]


def _read_archive(data: bytes) -> ImportedFiles:
    """Read the pages and other files in a ZIP archive."""
    imported = ImportedFiles()
    try:
        with ZipFile(BytesIO(data)) as archive:
            infos = [each for each in archive.infolist() if not each.is_dir()]
            if len(infos) > FILE_COUNT_LIMIT or sum(info.file_size for info in infos) > UNPACKED_LIMIT:
                limit = f"{FILE_COUNT_LIMIT} files or {UNPACKED_LIMIT >> 20} MiB"
                raise ImportFailure(f"The unpacked archive exceeds the limit of {limit}")
            files: dict[str, bytes] = {}
            for info in infos:
                path = _safe_path(info.filename)
                if path is None:
                    continue
                try:
                    files[path] = archive.read(info)
                except (BadZipFile, NotImplementedError, RuntimeError, OSError, EOFError, ValueError):
                    imported.total += _is_page(path)  # The file is damaged or encrypted.
    except BadZipFile:
        raise ImportFailure("The file at this URL is not a ZIP archive") from None
    for path, content in _without_top_folder(files).items():
        imported.total += _is_page(path)
        try:
            _add_archived(imported, path, content)
        except ConversionFailure:
            continue
    if not imported.pages:
        raise ImportFailure("The archive contains no Markdown, HTML, or Word pages that can be read")
    return imported


def _add_archived(imported: ImportedFiles, path: str, content: bytes) -> None:
    stem = posixpath.splitext(path)[0]
    if _HTML.search(path):
        text = FetchedFile(path, "text/html", None, content).text
        imported.add(f"{stem}.md", conversion.read_html(text).markdown(_markdown_link))
    elif _DOCX.search(path):
        converted = conversion.convert_docx(content, page_trees.page_slug(posixpath.basename(stem)))
        imported.files.update(converted.files)
        imported.add(f"{stem}.md", converted.markdown)
    else:
        if posixpath.basename(path).lower() == "summary.md":
            content = rewrite_links(content.decode("utf-8", "replace"), _markdown_link).encode()
        imported.files.setdefault(path, content)
        imported.pages += _is_page(path)


def _markdown_link(address: str) -> str:
    """Return the link to an HTML file with the suffix of the Markdown file made from it."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc or not _HTML.search(parts.path):
        return address
    return parts._replace(path=_HTML.sub(".md", parts.path)).geturl()


def _is_page(path: str) -> bool:
    return any(kind.search(path) for kind in (_HTML, _MARKDOWN, _DOCX))


def _safe_path(name: str) -> str | None:
    """Return the path of a file in an archive. None if it is unsafe or metadata of the operating system."""
    steps = [step for step in name.replace("\\", "/").split("/") if step not in ("", ".")]
    is_unsafe = not steps or ".." in steps or "\0" in name or steps[0] == "__MACOSX" or steps[-1] == ".DS_Store"
    return None if is_unsafe or any(len(step.encode("utf-8", "replace")) > 200 for step in steps) else "/".join(steps)


def _without_top_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files without their common top folder, if they have one."""
    tops = {path.partition("/")[0] for path in files}
    if len(tops) != 1 or not all("/" in path for path in files):
        return files
    return _without_top_folder({path.partition("/")[2]: content for path, content in files.items()})
