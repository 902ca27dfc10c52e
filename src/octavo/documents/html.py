"""The HTML that platform markdown holds, as a flat stream of tags and texts: whole trees are never needed, since
markdown may stand between an element's tags. What a browser would not show is left out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from octavo.api.safety import text as safe

_TOKEN = re.compile(
    r"""<!--(?:.*?-->|.*)"""
    r"""|<(?P<closing>/?)(?P<name>[a-zA-Z][\w-]*+)(?=[\s/>])(?P<attrs>(?:[^<>"']++|"[^"<]*+"|'[^'<]*+'|"[^"]{0,2000}+"|["'])*+)>"""
    r"""|[^<]++|<""",
    re.DOTALL,
)
_CLOSING = re.compile(r"</([a-zA-Z][\w-]*+)")
_PLACEHOLDER = re.compile(r"<([a-zA-Z][\w-]*+)(?:[ \t]++[\w.-]++)*+[ \t]*+>")
_BARE = re.compile(r"<(/?)([a-zA-Z]+)>")
_ATTRIBUTE = re.compile(r"""([a-zA-Z_:@*\[(#.][^\s=/>"']*+)(?:\s*+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]++)))?""")
_LOOSE = re.compile(r"<([a-zA-Z][\w-]*+)\s++[\w:@-]++=")
_SPACE = re.compile(r"[ \t\n\r\f]+")
NAN_ENTITY = re.compile(r"\\?&#x?NAN;", re.IGNORECASE)
_INVISIBLE_IN_ADDRESSES = dict.fromkeys(map(ord, "\t\n\r"))
_COLOR = re.compile(r"[$#\w().,% -]{1,40}")

_MAX_TABLE_DEPTH = 8
_MAX_ATTRIBUTES = 20_000

VOID = frozenset({"br", "img", "hr", "source", "input", "wbr", "col", "track", "link", "meta"})
"""Elements without content."""

_KNOWN = (
    "a abbr acronym address applet area article aside audio b base bdi bdo big blink blockquote body br button "
    "canvas caption center cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed "
    "fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i "
    "iframe img input ins kbd label legend li link main map mark marquee menu meta meter nav nobr noframes "
    "noscript object ol optgroup option output p param picture pre progress q rp rt ruby s samp script search "
    "section select slot small source span strike strong style sub summary sup svg table tbody td template "
    "textarea tfoot th thead time title tr track tt u ul var video wbr xmp"
)
_NAMES_OF_HTML = frozenset(_KNOWN.split())

_NEVER_INLINE = frozenset({"html", "head", "body", "title", "base", "meta", "link"})
_BLOCKS_AND_PARTS = (
    "article aside audio button canvas caption dialog embed fieldset footer form frame frameset header iframe input "
    "label legend main nav noframes noscript object option output script section select source style svg table tbody "
    "td template textarea tfoot th thead tr video xmp"
)
_NOT_INLINE_UNCLOSED = frozenset(_BLOCKS_AND_PARTS.split())
"""Elements that a sentence has none of at all, and those that say nothing in one unless they are closed in it."""

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


class Element(NamedTuple):
    """A tag of HTML: its name in lower case and its attributes, their values decoded."""

    name: str
    attrs: Mapping[str, str]
    closing: bool = False
    empty: bool = False
    """Whether it closes itself, as `<x/>` does, or never has content."""

    def has_class(self, name: str) -> bool:
        """Whether `name` is among its classes."""
        return name in self.attrs.get("class", "").split()


class HtmlToken(NamedTuple):
    """A tag, or a text (decoded, with its white space as it is written), and where it stands."""

    start: int
    end: int
    element: Element | None = None
    text: str = ""


def html_tokens(raw: str, start: int = 0, end: int | None = None) -> Iterator[HtmlToken]:
    """The tags and texts of `raw`, in order. Comments are left out."""
    for match in _TOKEN.finditer(raw, start, len(raw) if end is None else end):
        if match["name"]:
            yield HtmlToken(match.start(), match.end(), _element(match))
        elif not match[0].startswith("<!--"):
            yield HtmlToken(match.start(), match.end(), text=decode(match[0]))


def parse_element(raw: str) -> Element | None:
    """The tag that `raw` is, or None."""
    match = _TOKEN.match(raw)
    return _element(match) if match and match["name"] else None


def find_element_end(text: str, position: int) -> int | None:
    """Where the tag ends that begins at a position, if there is one."""
    match = _TOKEN.match(text, position)
    return match.end() if match and match["name"] else None


def find_loose_element_end(text: str, position: int) -> int | None:
    """Where the tag of an element of HTML ends that begins at a position and has an attribute, whatever its value is."""
    match = _LOOSE.match(text, position)
    return find_element_end(text, position) if match and match[1].lower() in _NAMES_OF_HTML else None


def _element(match: re.Match[str]) -> Element:
    raw, name = match["attrs"], match["name"].lower()
    attrs: dict[str, str] = {}
    if raw and raw != "/":
        for key, double, single, bare in _ATTRIBUTE.findall(raw, 0, _MAX_ATTRIBUTES):
            attrs.setdefault(key.lower(), decode(double or single or bare))
    return Element(name, attrs, bool(match["closing"]), raw.endswith("/") or name in VOID)


def decode(raw: str) -> str:
    """The text that `raw` stands for."""
    if "&" in raw:
        raw = html.unescape(NAN_ENTITY.sub("", raw))
    return safe(raw)


def collapse_space(text: str) -> str:
    """`text` with each stretch of white space as one space, as a browser shows it."""
    return _SPACE.sub(" ", text)


def clean_address(value: str | None) -> str | None:
    """An address as it is written, on one line."""
    return safe(value).translate(_INVISIBLE_IN_ADDRESSES).strip() if value is not None else None


def file_name(address: str) -> str:
    """Return the last part of an address, without what is asked of it. Empty for a picture that is written out as data."""
    return "" if address[:5].lower() == "data:" else address.split("?")[0].rsplit("/", 1)[-1]


def colors(style: str) -> dict[str, str]:
    """The text colour and background of a style attribute."""
    found = {}
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        value = value.strip()
        if name.strip().lower() in ("color", "background-color") and _COLOR.fullmatch(value):
            found["color" if name.strip().lower() == "color" else "background"] = value
    return found


class Placeholders:
    """Finds names in angle brackets that are no elements but words, such as `<your token>`: HTML has none of that
    name, and nothing in the source closes it."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._closed: frozenset[str] | None = None

    def end_in_words(self, text: str, position: int) -> int | None:
        """As `end_at`, in the words of a paragraph, which name elements of HTML too: `the <script> tag`."""
        if (match := _BARE.match(text, position)) is not None:
            name = match[2].lower()
            other = f"<{name}" if match[1] else f"</{name}"
            if name in _NEVER_INLINE or (name in _NOT_INLINE_UNCLOSED and other not in text.lower()):
                return match.end()
        return self.end_at(text, position)

    def end_at(self, text: str, position: int) -> int | None:
        """Where the one ends that begins at a position of a text, if there is one."""
        match = _PLACEHOLDER.match(text, position)
        name = match[1].lower() if match else ""
        if match is None or name in _NAMES_OF_HTML:
            return None
        if self._closed is None:
            self._closed = frozenset(_closed_names(self._source))
        return match.end() if name not in self._closed else None


def _closed_names(source: str) -> Iterator[str]:
    for match in _CLOSING.finditer(source):
        yield match[1].lower()


class TextFinder:
    """Finds the next of a text from a place on, in any case. Going through a source takes linear time in all."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._known: dict[str, tuple[int, int]] = {}

    def after(self, sought: str, position: int) -> int:
        """Where the next `sought` is, or the length of the source."""
        asked, found = self._known.get(sought, (0, -1))
        if not asked <= position <= found:
            match = _literal(sought).search(self._source, position)
            found = match.start() if match else len(self._source)
            self._known[sought] = (position, found)
        return found

    def end_of(self, name: str, start: int) -> tuple[int, int]:
        """Where the content of an element ends that begins at `start`, and where its closing tag does: both the
        length of the source if there is none. Only tables are taken to stand within their like."""
        end = self.after(f"</{name}", start)
        if name == "table":
            inner = start - 1
            for _ in range(_MAX_TABLE_DEPTH):
                inner = self.after("<table", inner + 1)
                following = self.after("</table", end + 1) if inner < end else len(self._source)
                if following == len(self._source):
                    break
                end = following
        if end == len(self._source):
            return end, end
        closing = self._source.find(">", end)
        return end, len(self._source) if closing < 0 else closing + 1


@cache
def _literal(sought: str) -> re.Pattern[str]:
    return re.compile(re.escape(sought), re.IGNORECASE)
