"""Documents of other kinds as markdown: HTML by beautifulsoup4 and markdownify, DOCX by mammoth.

The libraries are imported when there is something to convert: nothing else needs them.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from itertools import chain, islice, takewhile
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from zipfile import BadZipFile, ZipFile

from octavo.documents import page_trees
from octavo.server.folders import ASSETS

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

LARGEST = 5_000_000
"""The most characters of HTML that are converted, and the most bytes of a document unpacked, ten times over."""

_APART = ["head", "title", "script", "style", "nav", "aside", "form", "noscript", "template", "iframe", "svg", "button"]
"""What of a page is not what it says."""
_AROUND = ["header", "footer"]
"""What is not when it is said of the whole page. Within its main part they hold its title."""
_MAIN = ("main", "[role=main]", "article", "body")
_SCHEMES = {"", "http", "https", "mailto"}
_BLOCKS = (
    *("address", "article", "aside", "blockquote", "details", "div", "dl", "figure", "footer", "form", "header"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "hr", "main", "nav", "ol", "p", "pre", "section", "table", "ul"),
)
_ENDS = {
    "li": ({"li"}, {"ul", "ol", "menu"}),
    **dict.fromkeys(("dt", "dd"), ({"dt", "dd"}, {"dl"})),
    **dict.fromkeys(("td", "th"), ({"td", "th"}, {"tr", "table"})),
    "tr": ({"td", "th", "tr"}, {"table"}),
    **dict.fromkeys(("thead", "tbody", "tfoot"), ({"td", "th", "tr", "thead", "tbody", "tfoot"}, {"table"})),
    **dict.fromkeys(_BLOCKS, ({"p"}, {"td", "th", "caption", "object", "button", "figcaption", "summary"})),
}
"""Which open elements end where another begins, for those whose end tag may be left out, and what they never end across."""
_FARTHEST = 30
"""How many open elements are looked through for one that ends."""
_BLANK_LINES = re.compile(r"\n{3,}")

Lead = Callable[[str], str]
"""Where an address leads once the page is markdown."""


class Unconverted(Exception):
    """This cannot be made markdown: a sentence without its subject and full stop."""


@dataclass
class Converted:
    """A page as markdown, and the pictures it brings by path."""

    markdown: str
    files: dict[str, bytes] = field(default_factory=dict)


@dataclass
class Html:
    """A page of HTML that was read: its title, what it says, and the addresses of its links."""

    title: str
    links: list[str]
    _main: Tag

    def markdown(self, lead: Lead) -> str:
        """The page as markdown, its title first. Raises Unconverted."""
        from markdownify import MarkdownConverter

        for name, attribute in (("a", "href"), ("img", "src")):
            for tag in self._main.find_all(name):
                _lead(tag, attribute, lead)
        converter = MarkdownConverter(heading_style="ATX", bullets="-", code_language_callback=_language)
        try:
            text: str = converter.convert_soup(self._main)
        except RecursionError:
            raise Unconverted("is nested too deeply") from None
        text = _BLANK_LINES.sub("\n\n", text).strip() + "\n"
        if not page_trees.first_heading(text) and self.title:
            text = f"# {page_trees.escape(self.title)}\n\n{text}"
        return text


def html(text: str) -> Html:
    """Read a page of HTML: its main part, when it says which that is. Raises Unconverted."""
    if len(text) > LARGEST:
        raise Unconverted(f"is longer than {LARGEST // 1_000_000} million characters")
    try:
        soup = _soup(text)
        links = [str(tag["href"]) for tag in soup.find_all("a", href=True)]
        title = soup.title.get_text(" ", strip=True) if soup.title else ""
        main = _main(soup)
        for tag in main.find_all(_APART if main.name in ("main", "article") else _APART + _AROUND):
            tag.decompose()
    except RecursionError:
        raise Unconverted("is nested too deeply") from None
    heading = main.find("h1")
    words = heading.get_text(" ", strip=True) if heading else ""
    return Html(words or title, links, main)


def docx(data: bytes, stem: str) -> Converted:
    """A Word document as markdown. `stem` names it and its pictures. Raises Unconverted."""
    import mammoth  # type: ignore[import-untyped]  # it says nothing about its types

    try:
        with ZipFile(BytesIO(data)) as archive:
            if sum(each.file_size for each in archive.infolist()) > LARGEST * 10:
                raise Unconverted(f"is larger than {LARGEST // 100_000} MB when unpacked")
    except BadZipFile:
        raise Unconverted("is not a Word document") from None
    files: dict[str, bytes] = {}

    def keep(image: Any) -> dict[str, str]:
        suffix = mimetypes.guess_extension(image.content_type) or ""
        path = f"{ASSETS.as_posix()}/{stem}-{len(files) + 1}{suffix}"
        with image.open() as opened:
            files[path] = opened.read()
        return {"src": f"/{path}"}

    try:
        made = mammoth.convert_to_html(BytesIO(data), convert_image=mammoth.images.img_element(keep))
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
        # It trusts the document to be whole, and fails in as many ways as one can be damaged.
        raise Unconverted(f"is a Word document that could not be read ({type(failure).__name__})") from None
    return Converted(html(f"<body>{made.value}</body>").markdown(lambda address: address), files)


def _soup(text: str) -> BeautifulSoup:
    """The elements of a page. Those whose end tag was left out, as it may be, end where the next of their kind begins."""
    from bs4 import BeautifulSoup

    class Soup(BeautifulSoup):
        def handle_starttag(self, name: str, *more: Any, **named: Any) -> Tag | None:
            if name in _ENDS and self.currentTag is not None:
                ends, within = _ENDS[name]
                open_ones = islice(chain([self.currentTag], self.currentTag.parents), _FARTHEST)
                above = takewhile(lambda tag: tag.name not in within, open_ones)
                for each in [tag.name for tag in above if tag.name in ends]:
                    self.handle_endtag(each)
            return super().handle_starttag(name, *more, **named)

    return Soup(text, "html.parser")


def _main(soup: BeautifulSoup) -> Tag:
    """The main part of a page, by the first of these that it has."""
    return next((tag for selector in _MAIN if (tag := soup.select_one(selector))), soup)


def _lead(tag: Tag, attribute: str, lead: Lead) -> None:
    address = str(tag.get(attribute, "")).strip()
    try:
        scheme = urlsplit(address).scheme.lower()
    except ValueError:
        scheme = "none"
    if not address or scheme not in _SCHEMES:
        tag.unwrap()  # the words stay, without a link that could do harm or leads nowhere
    else:
        tag[attribute] = lead(address)


def _language(tag: Tag) -> str | None:
    code = tag.select_one("code") or tag
    classes = code.get("class")
    for name in classes if isinstance(classes, list) else ():
        if name.startswith(("language-", "lang-")):
            return name.partition("-")[2]
    return None
