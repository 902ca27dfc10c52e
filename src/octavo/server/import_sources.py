"""Converts a website, a document or an archive to a folder of Markdown files, so that it can be imported.

Start at `read_source`. The second half of the module converts HTML and Word documents to Markdown.
"""

from __future__ import annotations

import mimetypes
import posixpath
import re
import time
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import chain, islice, takewhile
from lzma import LZMAError
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from xml.parsers.expat import ExpatError
from zipfile import BadZipFile, ZipFile

import mammoth  # type: ignore[import-untyped]  # mammoth has no type information
from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector
from bs4.element import PageElement
from markdownify import MarkdownConverter

from octavo.documents import page_trees
from octavo.documents.folders.folder import ASSETS, DEPTH_LIMIT, IGNORED_FOLDERS, rewrite_links
from octavo.documents.inline import escape_emoji_names
from octavo.documents.source_reader import FENCED
from octavo.server.fetcher import FetchedFile, FetchFailure

SIZE_LIMIT = 5_000_000
"""Maximum number of characters in an HTML page. An unpacked Word document may have ten times as many bytes."""
_IGNORED_TAGS = [
    *("head", "title", "script", "style", "nav", "aside", "form"),
    *("noscript", "template", "iframe", "svg", "button", "input", "select", "textarea"),
]
"""HTML elements that are removed with their content. A form around a heading is not removed."""
_HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"]
_PAGE_FRAME_TAGS = ["header", "footer"]
"""HTML elements that are also removed, unless a single element such as `main` has the main part of the page."""
_MAIN_SELECTORS = ("main", "[role=main]", "article", "body")
_SCHEMES = {"", "http", "https", "mailto"}
_BLOCK_TAGS = (
    *("address", "article", "aside", "blockquote", "details", "div", "dl", "figure", "footer", "form", "header"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "hr", "main", "nav", "ol", "p", "pre", "section", "table", "ul"),
)
_IMPLIED_ENDS = {
    "li": ({"li"}, {"ul", "ol", "menu"}),
    **dict.fromkeys(("dt", "dd"), ({"dt", "dd"}, {"dl"})),
    **dict.fromkeys(("td", "th"), ({"td", "th"}, {"tr", "table"})),
    "tr": ({"td", "th", "tr"}, {"table"}),
    **dict.fromkeys(("thead", "tbody", "tfoot"), ({"td", "th", "tr", "thead", "tbody", "tfoot"}, {"table"})),
    **dict.fromkeys(_BLOCK_TAGS, ({"p"}, {"td", "th", "caption", "object", "button", "figcaption", "summary"})),
}
"""By start tag: (open elements that the tag closes, elements at which the search for these open elements stops)."""
_OPEN_ELEMENT_LIMIT = 30
"""Maximum number of open elements that are searched, innermost first, for elements that a start tag closes."""
_MARKDOWN_SYNTAX = re.compile(
    r"""[*_<`]|\\(?=[!-/:-@\[-`{-~]|$)|&(?=#?\w+;)|~(?=~)|\](?=\()"""
    r"""|^>|^(?:[+-]|#{1,6})(?=[ \t]|$)|^#(?=#{1,5}[^#])|^\[(?=[^\]\n]*\]:)"""
    r"""|^=(?==*$)|^-(?=[-|: \t]*$)|^[|:](?=[-|: \t]*[-:][-|: \t]*$)"""
    r"""|\$(?=\$)|(?<=\$)\$|\{(?=%)""",
    re.MULTILINE,
)
"""Matches text that has a special meaning in Markdown."""
_LIST_NUMBER = re.compile(r"^(\d{1,9})(?=[.)](?:[ \t]|$))", re.MULTILINE)
_PIPE = re.compile(r"(?<!\\)\|")
_FENCE = "```"
_BACKTICKS = re.compile("`+")
_CODE_OR_BLANK_LINES = re.compile(rf"{FENCED.pattern}|\n{{3,}}", re.MULTILINE)
Fetch = Callable[[str], FetchedFile]
"""A function that downloads a URL. Raises FetchFailure."""
RewriteUrl = Callable[[str], str]
"""A function that converts a URL in the imported document to the URL for the Markdown."""
_ADDED_CELL_LIMIT = 10_000
"""Maximum number of cells that are added to the tables of a page, because of `colspan` and `rowspan`."""
PAGE_LIMIT = 100
"""Maximum number of pages that are imported from a website."""
TIME_LIMIT_SECONDS = 25.0
"""Seconds after which no further pages of a website are read."""
_PATH_LIMIT = 3000
"""Maximum length of a path in bytes. Operating systems allow 4096, including the temporary folder."""
FILE_COUNT_LIMIT = 5000
"""Maximum number of files in an archive."""
UNPACKED_LIMIT = 64 << 20
"""Maximum size of all unpacked files of an archive together, in bytes."""
_UNREADABLE = (BadZipFile, RuntimeError, OSError, EOFError, ValueError, zlib.error, LZMAError)
"""Exceptions for a damaged or encrypted archive. RuntimeError includes NotImplementedError and RecursionError."""
_HTML = re.compile(r"\.x?html?$", re.IGNORECASE)
_MARKDOWN = re.compile(r"\.(?:md|markdown|mdx)$", re.IGNORECASE)
_DOCX = re.compile(r"\.docx$", re.IGNORECASE)


class ImportFailure(Exception):
    """Nothing could be imported. The message is a sentence without a full stop, for the user."""


class ConversionFailure(Exception):
    """A document cannot be converted. The message follows the words “the document”, for example “is not text”."""


@dataclass
class ImportedFiles:
    """The imported files by path. Also counts the pages that were found, and the pages that could be read."""

    files: dict[str, bytes] = field(default_factory=dict)
    found_page_count: int = 0
    read_page_count: int = 0

    def add(self, path: str, markdown: str) -> None:
        """Add the Markdown of a page. If another file has this path, a number is added to the path."""
        self.files[_free_path(path, self.files)] = markdown.encode("utf-8", "replace")
        self.read_page_count += 1


def read_source(source: str, url: str, fetch: Fetch) -> ImportedFiles:
    """Download the content at `url`, and convert it to Markdown. `source` is the kind of the content (website, html,
    markdown, docx, zip). Raises ImportFailure."""
    try:
        if source == "website":
            return _read_website(url, fetch)
        download = fetch(url)
        if source == "zip":
            return _read_archive(download.data)
        return _read_document(source, download)
    except FetchFailure as failure:
        raise ImportFailure(f"The URL could not be fetched: {failure}") from None
    except ConversionFailure as failure:
        raise ImportFailure(f"The content at this URL {failure}") from None


def _read_document(source: str, download: FetchedFile) -> ImportedFiles:
    imported = ImportedFiles(found_page_count=1)
    if source != "docx" and b"\0" in download.data:
        raise ConversionFailure("is not text")
    stem = _stem_of_url(download.url)
    if source == "docx":
        _add_docx(imported, stem, download.data)
    elif source == "html":
        page = read_html(_html_text(download))
        base = page.base_url(download.url)
        imported.add(f"{stem}.md", page.markdown(lambda address: urljoin(base, address)))
    else:
        imported.add(f"{stem}.md", _with_absolute_links(download))
    return imported


def _with_absolute_links(download: FetchedFile) -> str:
    def absolute_url(address: str) -> str | None:
        return None if address.startswith("#") else _join_url(download.url, address) or None

    return rewrite_links(download.text, absolute_url)


def _html_text(download: FetchedFile) -> str:
    """Return the text of an HTML file. The encoding is set in the HTTP header, else in the HTML."""
    declared = download.charset or EncodingDetector.find_declared_encoding(download.data, is_html=True)
    # If a declaration of UTF-16 can be read as ASCII, the text is not UTF-16.
    is_wrong = download.charset is None and declared is not None and declared.startswith("utf-16")
    return replace(download, charset=None if is_wrong else declared).text


def _stem_of_url(url: str) -> str:
    name = posixpath.splitext(posixpath.basename(urlsplit(url).path.rstrip("/")))[0]
    return page_trees.page_slug(unquote(name)) if name else "page"


def _read_website(url: str, fetch: Fetch) -> ImportedFiles:
    """Import the page at a URL, and linked pages in or below its folder, up to `PAGE_LIMIT` and `TIME_LIMIT_SECONDS`.
    Raises FetchFailure, or ImportFailure if no page can be read."""
    started = time.monotonic()
    first_file = fetch(url)
    folder_url = urljoin(first_file.url, ".")
    read_pages: dict[str, tuple[FetchedFile, HtmlPage]] = {}
    urls_after_redirects: dict[str, str] = {}
    waiting_urls = deque([_page_url(first_file.url)])
    seen_urls = {_page_url(first_file.url)}
    downloads = {_page_url(first_file.url): first_file}
    found_page_count = 0
    while waiting_urls:
        page_url = waiting_urls.popleft()
        if page_url in read_pages:
            continue
        found_page_count += 1
        if len(read_pages) >= PAGE_LIMIT or time.monotonic() - started > TIME_LIMIT_SECONDS:
            continue
        try:
            download = downloads.pop(page_url, None) or fetch(page_url)
            urls_after_redirects[page_url] = final_url = _page_url(download.url)
            is_html = download.media_type in ("text/html", "application/xhtml+xml")
            if final_url in read_pages or not final_url.startswith(folder_url) or not is_html:
                found_page_count -= 1  # The link leads to no further page in the folder.
                continue
            if _is_too_long(unquote(final_url.removeprefix(folder_url))):
                continue
            page = read_html(_html_text(download))
        except (FetchFailure, ConversionFailure):
            continue
        read_pages[final_url] = (download, page)
        for link in page.links:
            linked_url = _page_url(_join_url(page.base_url(download.url), link))
            if linked_url.startswith(folder_url) and linked_url not in seen_urls:
                seen_urls.add(linked_url)
                waiting_urls.append(linked_url)
    paths = _file_paths(folder_url, list(read_pages))
    targets = paths | {page_url: paths[final] for page_url, final in urls_after_redirects.items() if final in paths}
    imported = ImportedFiles(found_page_count=found_page_count)
    for page_url, (download, page) in read_pages.items():
        with suppress(ConversionFailure):
            imported.add(paths[page_url], page.markdown(_link_rewriter(page.base_url(download.url), targets)))
    if not imported.read_page_count:
        raise ImportFailure("There is no HTML page at this URL that can be read")
    return imported


def _join_url(base: str, link_url: str) -> str:
    try:
        return urljoin(base, link_url)
    except ValueError:
        return ""


def _page_url(url: str) -> str:
    """Return a URL without anchor, query and `index.html`, so that each page has only one URL."""
    plain = urldefrag(url)[0].partition("?")[0]
    return re.sub(r"/index\.html?$", "/", plain)


def _link_rewriter(base: str, paths: dict[str, str]) -> RewriteUrl:
    def rewrite(address: str) -> str:
        url = urljoin(base, address)
        path, anchor = paths.get(_page_url(url)), urldefrag(url)[1]
        if path is None:
            return url
        return f"/{path}#{anchor}" if anchor else f"/{path}"

    return rewrite


def _file_paths(folder_url: str, urls: list[str]) -> dict[str, str]:
    """Return the file path of each page by URL: `guide.md`, or `guide/README.md` if there are pages below it."""
    stems = {url: _path_without_suffix(url.removeprefix(folder_url)) for url in urls}
    folders = {posixpath.dirname(path) for path in stems.values()}
    folders |= {above for path in folders for above in _parent_folders(path)}
    paths: dict[str, str] = {}
    for url, path in stems.items():
        name = posixpath.join(path, "README.md") if not path or path in folders else f"{path}.md"
        paths[url] = _free_path(name, paths.values())
    return paths


def _free_path(path: str, used_paths: Collection[str]) -> str:
    """Return `path`, or for example `guide-2.md` if `path` is `SUMMARY.md` or in `used_paths`."""
    stem, suffix = posixpath.splitext(path)
    free_path, number = path, 1
    while free_path in used_paths or free_path.lower() == "summary.md":
        number += 1
        free_path = f"{stem}-{number}{suffix}"
    return free_path


def _path_without_suffix(path: str) -> str:
    steps = [page_trees.page_slug(unquote(step)) for step in _HTML.sub("", path).split("/") if step]
    return "/".join(steps)


def _parent_folders(path: str) -> list[str]:
    steps = path.split("/")
    return ["/".join(steps[:depth]) for depth in range(1, len(steps))]


def _read_archive(data: bytes) -> ImportedFiles:
    imported = ImportedFiles()
    try:
        with ZipFile(BytesIO(data)) as archive:
            infos = [each for each in archive.infolist() if each.filename and not each.is_dir()]
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
                except _UNREADABLE:
                    # A damaged or encrypted page counts as found, but not as read.
                    imported.found_page_count += _is_page(path)
    except _UNREADABLE:
        raise ImportFailure("The file at this URL is not a ZIP archive") from None
    # Files that are not converted come first, because they keep their names.
    for path, content in sorted(_without_top_folder(files).items(), key=lambda item: _is_converted(item[0])):
        imported.found_page_count += _is_page(path)
        # A file may have the name of a folder. The files in this folder cannot be written.
        if _is_too_long(path) or any(above in imported.files for above in _parent_folders(path)):
            continue
        try:
            _add_archived_file(imported, path, content)
        except ConversionFailure:
            continue
    if not imported.read_page_count:
        raise ImportFailure("The archive contains no Markdown, HTML, or Word pages that can be read")
    return imported


def _add_archived_file(imported: ImportedFiles, path: str, content: bytes) -> None:
    stem = posixpath.splitext(path)[0]
    if not _is_converted(path):
        if _is_table_of_contents(path):
            content = rewrite_links(content.decode("utf-8", "replace"), _markdown_link).encode()
        imported.files[path] = content
        imported.read_page_count += _is_page(path)
    elif _HTML.search(path):
        page = read_html(_html_text(FetchedFile(path, "text/html", None, content)))
        base = page.base_url(f"/{path}") if page.base else ""
        imported.add(f"{stem}.md", page.markdown(lambda address: _markdown_link(_join_url(base, address) or address)))
    else:
        _add_docx(imported, stem, content)


def _add_docx(imported: ImportedFiles, stem: str, data: bytes) -> None:
    converted = convert_docx(data, page_trees.page_slug(posixpath.basename(stem)), imported.files)
    imported.files.update(converted.files)
    imported.add(f"{stem}.md", converted.markdown)


def _markdown_link(url: str) -> str:
    """Convert a relative link to an HTML page to a link to its Markdown file. Return other links unchanged."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.scheme or parts.netloc or not _HTML.search(parts.path) or _is_hidden(parts.path):
        return url
    return parts._replace(path=_HTML.sub(".md", parts.path)).geturl()


def _is_too_long(path: str) -> bool:
    return path.count("/") > DEPTH_LIMIT or len(path.encode("utf-8", "replace")) > _PATH_LIMIT


def _is_page(path: str) -> bool:
    is_markdown = bool(_MARKDOWN.search(path)) and not _is_table_of_contents(path) and not _is_hidden(path)
    return is_markdown or _is_converted(path)


def _is_table_of_contents(path: str) -> bool:
    return posixpath.basename(path).lower() == "summary.md"


def _is_converted(path: str) -> bool:
    return bool(_HTML.search(path) or _DOCX.search(path)) and not _is_hidden(path)


def _is_hidden(path: str) -> bool:
    """Return whether a file is hidden: its name or a folder around it begins with `.`, or is `node_modules`."""
    steps = path.split("/")
    return any((step.startswith(".") and step not in (".", "..")) or step in IGNORED_FOLDERS for step in steps)


def _safe_path(name: str) -> str | None:
    steps = [step for step in name.replace("\\", "/").split("/") if step not in ("", ".")]
    is_unsafe = not steps or ".." in steps or "\0" in name or steps[0] == "__MACOSX" or steps[-1] == ".DS_Store"
    return None if is_unsafe or any(len(step.encode("utf-8", "replace")) > 200 for step in steps) else "/".join(steps)


def _without_top_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    top = posixpath.commonpath([posixpath.dirname(path) for path in files]) if files else ""
    return {path.removeprefix(f"{top}/"): content for path, content in files.items()}


@dataclass
class ConvertedDocument:
    """A document as Markdown, with its images by path in `files`."""

    markdown: str
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass
class HtmlPage:
    """A parsed HTML page. `links` are the URLs in its links. `base` is the URL in its `<base>` element, or empty."""

    title: str
    links: list[str]
    base: str
    _main: Tag

    def base_url(self, page_url: str) -> str:
        """Return the URL to which links on the page are relative. `url` is the URL of the page."""
        base = _join_url(page_url, self.base)
        return base if base and urlsplit(base).scheme in ("", "http", "https") else page_url

    def markdown(self, rewrite: RewriteUrl) -> str:
        """Convert the page to Markdown. Without `h1`, add the title. Raises ConversionFailure if nested too deeply."""
        for name, attribute in (("a", "href"), ("img", "src")):
            for tag in self._main.find_all(name):
                _rewrite_link(tag, attribute, rewrite)
        _fill_rowspans(self._main)
        converter = _Converter(heading_style="ATX", bullets="-", code_language_callback=_code_language)
        try:
            text: str = converter.convert_soup(self._main)
        except RecursionError:
            raise ConversionFailure("is nested too deeply") from None
        text = _CODE_OR_BLANK_LINES.sub(lambda found: found[0] if found["fence"] else "\n\n", text).strip() + "\n"
        if not page_trees.first_heading(text) and self.title:
            text = f"# {_escape_line(self.title)}\n\n{text}"
        return text


def read_html(text: str) -> HtmlPage:
    """Parse an HTML page. If an element such as `<main>` contains the content, the rest of the page is left out. Raises
    ConversionFailure if the page is too long or nested too deeply."""
    if len(text) > SIZE_LIMIT:
        raise ConversionFailure(f"is longer than {SIZE_LIMIT // 1_000_000} million characters")
    try:
        soup = _Soup(text, "html.parser")
        links = [_url_in(tag, "href") for tag in soup.find_all("a", href=True)]
        base = next((_url_in(tag, "href") for tag in soup.find_all("base", href=True)), "")
        title = soup.title.get_text(" ", strip=True) if soup.title else ""
        main = _main_part(soup)
        is_whole_page = main.name in ("body", BeautifulSoup.ROOT_TAG_NAME)
        around_headings = _ancestor_ids(main.find_all(_HEADINGS))
        for tag in main.find_all(_IGNORED_TAGS + _PAGE_FRAME_TAGS if is_whole_page else _IGNORED_TAGS):
            if tag.name != "form" or id(tag) not in around_headings:
                tag.decompose()
    except RecursionError:
        raise ConversionFailure("is nested too deeply") from None
    heading = main.find("h1")
    heading_title = heading.get_text(" ", strip=True) if heading else ""
    return HtmlPage(heading_title or title, links, base, main)


def convert_docx(data: bytes, stem: str, used_paths: Collection[str] = ()) -> ConvertedDocument:
    """Convert a Word document to Markdown. The names of its images start with `stem`, and their paths are not in
    `used_paths`. Raises ConversionFailure."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            if sum(each.file_size for each in archive.infolist()) > SIZE_LIMIT * 10:
                raise ConversionFailure(f"is larger than {SIZE_LIMIT // 100_000} MB when unpacked")
    except _UNREADABLE:
        raise ConversionFailure("is not a Word document") from None
    files: dict[str, bytes] = {}

    def store_image(image: Any) -> dict[str, str]:
        suffix = mimetypes.guess_extension(image.content_type) or ""
        path = _free_path(f"{ASSETS.as_posix()}/{stem}-{len(files) + 1}{suffix}", used_paths)
        with image.open() as image_file:
            files[path] = image_file.read()
        return {"src": f"/{path}"}

    try:
        result = mammoth.convert_to_html(BytesIO(data), convert_image=mammoth.images.img_element(store_image))
    except (*_UNREADABLE, LookupError, AttributeError, TypeError, ExpatError) as failure:
        # mammoth raises many kinds of exceptions for damaged files.
        raise ConversionFailure(f"is a Word document that could not be read ({type(failure).__name__})") from None
    return ConvertedDocument(read_html(f"<body>{result.value}</body>").markdown(lambda address: address), files)


def _escape_line(text: str) -> str:
    return escape_emoji_names(page_trees.escape_markdown(text))


class _Converter(MarkdownConverter):
    """Converts HTML to Markdown. Escapes text that would have a special meaning in Markdown."""

    def escape(self, text: str, parent_tags: set[str]) -> str:
        return escape_emoji_names(_LIST_NUMBER.sub(r"\1\\", _MARKDOWN_SYNTAX.sub(r"\\\g<0>", text)))

    def process_text(self, el: PageElement, parent_tags: set[str] | None = None) -> str:
        text = str(super().process_text(el, parent_tags))  # type: ignore[misc]  # not in its stubs
        if "_noformat" in (parent_tags or ()) or not isinstance(el.next_element, Tag) or el.next_element.name != "a":
            return text
        # A link after `!` would be an image.
        return f"{text[:-1]}\\{text[-1]}" if text.endswith("!") else text

    def convert_img(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        el["alt"] = _escape_line(str(el.get("alt") or ""))
        return str(super().convert_img(el, text, parent_tags))  # type: ignore[misc]  # not in its stubs

    def convert_pre(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        """Return a code block whose fence is longer than all sequences of backticks in the code."""
        block = str(super().convert_pre(el, text, parent_tags))  # type: ignore[misc]  # not in its stubs
        longest = max(map(len, _BACKTICKS.findall(text)), default=0)
        if longest < len(_FENCE):
            return block
        before, _, rest = block.partition(_FENCE)
        code, _, after = rest.rpartition(_FENCE)
        fence = "`" * (longest + 1)
        return f"{before}{fence}{code}{fence}{after}"

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return str(super().convert_td(el, _PIPE.sub(r"\|", text), parent_tags))  # type: ignore[misc]  # not in its stubs

    convert_th = convert_td


class _Soup(BeautifulSoup):
    """An HTML parser that adds missing end tags, such as `</li>` before the next `<li>`."""

    def handle_starttag(self, name: str, *args: Any, **kwargs: Any) -> Tag | None:
        if name in _IMPLIED_ENDS and self.currentTag is not None:
            ends, boundaries = _IMPLIED_ENDS[name]
            open_tags = islice(chain([self.currentTag], self.currentTag.parents), _OPEN_ELEMENT_LIMIT)
            inner_tags = takewhile(lambda tag: tag.name not in boundaries, open_tags)
            for tag_name in [tag.name for tag in inner_tags if tag.name in ends]:
                self.handle_endtag(tag_name)
        return super().handle_starttag(name, *args, **kwargs)


def _main_part(soup: BeautifulSoup) -> Tag:
    candidates = map(soup.select, _MAIN_SELECTORS)
    return next((tags[0] for tags in candidates if len(tags) == 1), soup)


def _ancestor_ids(tags: Iterable[Tag]) -> set[int]:
    ancestor_ids: set[int] = set()
    for tag in tags:
        ancestor_ids.update(takewhile(lambda each: each not in ancestor_ids, map(id, tag.parents)))
    return ancestor_ids


def _url_in(tag: Tag, attribute: str) -> str:
    return str(tag.get(attribute, "")).strip().replace(" ", "%20")


def _rewrite_link(tag: Tag, attribute: str, rewrite: RewriteUrl) -> None:
    address = _url_in(tag, attribute)
    try:
        scheme = urlsplit(address).scheme.lower()
    except ValueError:
        scheme = "none"
    if not address or scheme not in _SCHEMES:  # An empty or unsafe URL is removed, but not its text.
        if alt := tag.get("alt"):
            tag.insert(0, str(alt))
        tag.unwrap()
    else:
        tag[attribute] = rewrite(address)


def _fill_rowspans(main: Tag) -> None:
    """Add empty cells below a cell with `rowspan`. After `_ADDED_CELL_LIMIT` cells, ignore `rowspan` and `colspan`."""
    added = 0
    for cell in main.find_all(["td", "th"], colspan=True):
        added += _span_of(cell, "colspan") - 1
        if added > _ADDED_CELL_LIMIT:
            del cell["colspan"]
    # By `id()` of a table part: for each column, how many of the next rows a cell with `rowspan` still covers.
    rows_below: dict[int, list[int]] = {}
    for row in main.find_all("tr"):
        covered_rows, column = rows_below.setdefault(id(row.parent), []), 0
        for cell in row.find_all(["td", "th"], recursive=False):
            count = _count_spanned(covered_rows, column)
            cell.insert_before(*(Tag(name="td") for _ in range(count)))
            column, added, width = column + count, added + count, _span_of(cell, "colspan")
            covered_rows[column : column + width] = [_span_of(cell, "rowspan") - 1] * width
            column += width
        count = _count_spanned(covered_rows, column)
        row.extend([Tag(name="td") for _ in range(count)])
        added += count
        if added > _ADDED_CELL_LIMIT:
            return


def _count_spanned(covered_rows: list[int], column: int) -> int:
    """Return how many adjacent columns, from `column` on, are covered by cells of earlier rows. `covered_rows` has for
    each column the number of rows that are still covered. In the counted columns, reduce this number by 1."""
    count = 0
    while column + count < len(covered_rows) and covered_rows[column + count]:
        covered_rows[column + count] -= 1
        count += 1
    return count


def _span_of(cell: Tag, attribute: str) -> int:
    value = str(cell.get(attribute, ""))
    return max(1, min(int(value), 1000)) if value.isascii() and value.isdecimal() and len(value) < 10 else 1


def _code_language(tag: Tag) -> str | None:
    code = tag.select_one("code") or tag
    classes = code.get("class")
    for name in classes if isinstance(classes, list) else ():
        if name.startswith(("language-", "lang-")):
            return name.partition("-")[2]
    return None
