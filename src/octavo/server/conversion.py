"""Converts HTML and Word documents to Markdown.

HTML is converted by beautifulsoup4 and markdownify, Word by mammoth.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from itertools import chain, islice, takewhile
from typing import Any
from urllib.parse import urlsplit
from zipfile import BadZipFile, ZipFile

import mammoth  # type: ignore[import-untyped]  # mammoth has no type information
from bs4 import BeautifulSoup, Tag
from markdownify import MarkdownConverter

from octavo.documents import page_trees
from octavo.documents.folders.folder import ASSETS

SIZE_LIMIT = 5_000_000
"""Limit for HTML in characters. A Word document may be ten times as many bytes when unpacked."""

_IGNORED_TAGS = [
    "head",
    "title",
    "script",
    "style",
    "nav",
    "aside",
    "form",
    "noscript",
    "template",
    "iframe",
    "svg",
    "button",
]
"""Elements that never belong to the content of a page."""
_PAGE_FRAME_TAGS = ["header", "footer"]
"""Elements that frame a whole page. Inside the main part they may contain its title, so they are kept there."""
_MAIN_SELECTORS = ("main", "[role=main]", "article", "body")
_SCHEMES = {"", "http", "https", "mailto"}
_BLOCKS = (
    *("address", "article", "aside", "blockquote", "details", "div", "dl", "figure", "footer", "form", "header"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "hr", "main", "nav", "ol", "p", "pre", "section", "table", "ul"),
)
_IMPLIED_ENDS = {
    "li": ({"li"}, {"ul", "ol", "menu"}),
    **dict.fromkeys(("dt", "dd"), ({"dt", "dd"}, {"dl"})),
    **dict.fromkeys(("td", "th"), ({"td", "th"}, {"tr", "table"})),
    "tr": ({"td", "th", "tr"}, {"table"}),
    **dict.fromkeys(("thead", "tbody", "tfoot"), ({"td", "th", "tr", "thead", "tbody", "tfoot"}, {"table"})),
    **dict.fromkeys(_BLOCKS, ({"p"}, {"td", "th", "caption", "object", "button", "figcaption", "summary"})),
}
"""Implied ends by element: the open elements that its start tag ends, and the ancestors at which that search stops."""
_OPEN_ELEMENT_LIMIT = 30
"""Maximum number of open elements that are checked when a start tag ends open elements."""
_BLANK_LINES = re.compile(r"\n{3,}")

RewriteUrl = Callable[[str], str]
"""Function that maps a URL in the source to the URL in the Markdown."""


class ConversionFailure(Exception):
    """The document cannot be converted. The message has no subject and no full stop."""


@dataclass
class ConvertedDocument:
    """Document as Markdown, with its images by path."""

    markdown: str
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass
class HtmlPage:
    """Parsed HTML page: its title, its link URLs and its main part."""

    title: str
    links: list[str]
    _main: Tag

    def markdown(self, rewrite: RewriteUrl) -> str:
        """Return the page as Markdown, starting with its title. Raises ConversionFailure if it is nested too deeply."""
        for name, attribute in (("a", "href"), ("img", "src")):
            for tag in self._main.find_all(name):
                _rewrite_link(tag, attribute, rewrite)
        converter = MarkdownConverter(heading_style="ATX", bullets="-", code_language_callback=_code_language)
        try:
            text: str = converter.convert_soup(self._main)
        except RecursionError:
            raise ConversionFailure("is nested too deeply") from None
        text = _BLANK_LINES.sub("\n\n", text).strip() + "\n"
        if not page_trees.first_heading(text) and self.title:
            text = f"# {page_trees.escape(self.title)}\n\n{text}"
        return text


def read_html(text: str) -> HtmlPage:
    """Parse an HTML page. Raises ConversionFailure if it is too long or nested too deeply.

    Only the main part is kept if the page marks one.
    """
    if len(text) > SIZE_LIMIT:
        raise ConversionFailure(f"is longer than {SIZE_LIMIT // 1_000_000} million characters")
    try:
        soup = _Soup(text, "html.parser")
        links = [str(tag["href"]) for tag in soup.find_all("a", href=True)]
        title = soup.title.get_text(" ", strip=True) if soup.title else ""
        main = _main_part(soup)
        for tag in main.find_all(
            _IGNORED_TAGS if main.name in ("main", "article") else _IGNORED_TAGS + _PAGE_FRAME_TAGS
        ):
            tag.decompose()
    except RecursionError:
        raise ConversionFailure("is nested too deeply") from None
    heading = main.find("h1")
    words = heading.get_text(" ", strip=True) if heading else ""
    return HtmlPage(words or title, links, main)


def convert_docx(data: bytes, stem: str) -> ConvertedDocument:
    """Return a Word document as Markdown. Raises ConversionFailure if it cannot be read.

    `stem` is the prefix for the names of its images.
    """
    try:
        with ZipFile(BytesIO(data)) as archive:
            if sum(each.file_size for each in archive.infolist()) > SIZE_LIMIT * 10:
                raise ConversionFailure(f"is larger than {SIZE_LIMIT // 100_000} MB when unpacked")
    except BadZipFile:
        raise ConversionFailure("is not a Word document") from None
    files: dict[str, bytes] = {}

    def keep(image: Any) -> dict[str, str]:
        suffix = mimetypes.guess_extension(image.content_type) or ""
        path = f"{ASSETS.as_posix()}/{stem}-{len(files) + 1}{suffix}"
        with image.open() as opened:
            files[path] = opened.read()
        return {"src": f"/{path}"}

    try:
        result = mammoth.convert_to_html(BytesIO(data), convert_image=mammoth.images.img_element(keep))
    except (
        KeyError,
        ValueError,
        OSError,
        AttributeError,
        IndexError,
        BadZipFile,
        SyntaxError,
        RecursionError,
    ) as failure:
        # mammoth expects an intact file and raises many kinds of exceptions on damaged ones.
        raise ConversionFailure(f"is a Word document that could not be read ({type(failure).__name__})") from None
    return ConvertedDocument(read_html(f"<body>{result.value}</body>").markdown(lambda address: address), files)


class _Soup(BeautifulSoup):
    """HTML document that adds optional end tags which are missing, where the next element of the same kind starts."""

    def handle_starttag(self, name: str, *args: Any, **kwargs: Any) -> Tag | None:
        if name in _IMPLIED_ENDS and self.currentTag is not None:
            ends, boundaries = _IMPLIED_ENDS[name]
            open_tags = islice(chain([self.currentTag], self.currentTag.parents), _OPEN_ELEMENT_LIMIT)
            inner_tags = takewhile(lambda tag: tag.name not in boundaries, open_tags)
            for tag_name in [tag.name for tag in inner_tags if tag.name in ends]:
                self.handle_endtag(tag_name)
        return super().handle_starttag(name, *args, **kwargs)


def _main_part(soup: BeautifulSoup) -> Tag:
    """Return the main part of a page: the first element that matches `_MAIN_SELECTORS`, else the whole page."""
    return next((tag for selector in _MAIN_SELECTORS if (tag := soup.select_one(selector))), soup)


def _rewrite_link(tag: Tag, attribute: str, rewrite: RewriteUrl) -> None:
    address = str(tag.get(attribute, "")).strip()
    try:
        scheme = urlsplit(address).scheme.lower()
    except ValueError:
        scheme = "none"
    if not address or scheme not in _SCHEMES:
        tag.unwrap()  # The text stays, without a URL that is empty or unsafe.
    else:
        tag[attribute] = rewrite(address)


def _code_language(tag: Tag) -> str | None:
    code = tag.select_one("code") or tag
    classes = code.get("class")
    for name in classes if isinstance(classes, list) else ():
        if name.startswith(("language-", "lang-")):
            return name.partition("-")[2]
    return None
