"""Splits the HTML in a page into tags and texts. It builds no tree, because Markdown can occur between the tags of an
element. Comments and invisible characters are left out. Start reading at `html_tokens`."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from octavo.api.safety import safe_text

_TOKEN = re.compile(
    r"""<!--(?:.*?-->|.*)"""
    r"""|<(?P<closing>/?)(?P<name>[a-zA-Z][\w-]*+)(?=[\s/>])"""
    r"""(?P<attrs>(?:[^<>"']++|"[^"<]*+"|'[^'<]*+'|"[^"]{0,2000}+"|["'])*+)(?:>|(?=<source\s))"""
    r"""|[^<]++|<""",
    re.DOTALL,
)
_CLOSING = re.compile(r"</([a-zA-Z][\w-]*+)")
_PLACEHOLDER = re.compile(r"<([a-zA-Z][\w-]*+)(?:[ \t]++[\w.-]++)*+[ \t]*+>")
_BARE_TAG = re.compile(r"<(/?)([a-zA-Z]+)>")
_ATTRIBUTE = re.compile(r"""([a-zA-Z_:@*\[(#.][^\s=/>"']*+)(?:\s*+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]++)))?""")
_LOOSE_TAG = re.compile(r"<([a-zA-Z][\w-]*+)\s++[\w:@-]++=")
_UNQUOTED_END = re.compile(r"""=\s*+[^\s"'=<>`]+/\Z""")
"""An unquoted value that ends with a slash, as in `<a href=https://a.b/>`."""
_SPACE = re.compile(r"[ \t\n\r\f]+")
NAN_ENTITY = re.compile(r"\\?&#x?NAN;", re.IGNORECASE)
_INVISIBLE_IN_URLS = dict.fromkeys(map(ord, "\t\n\r"))
_COLOR = re.compile(r"[$#\w().,% -]{1,40}")

_MAX_TABLE_DEPTH = 8
_MAX_ATTRIBUTES = 20_000

VOID = frozenset({"br", "img", "hr", "source", "input", "wbr", "col", "track", "link", "meta"})
"""HTML elements that never have content."""

_HTML_NAMES_TEXT = (
    "a abbr acronym address applet area article aside audio b base bdi bdo big blink blockquote body br button "
    "canvas caption center cite code col colgroup data datalist dd del details dfn dialog div dl dt em embed "
    "fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i "
    "iframe img input ins kbd label legend li link main map mark marquee menu meta meter nav nobr noframes "
    "noscript object ol optgroup option output p param picture pre progress q rp rt ruby s samp script search "
    "section select slot small source span strike strong style sub summary sup svg table tbody td template "
    "textarea tfoot th thead time title tr track tt u ul var video wbr xmp"
)
_HTML_NAMES = frozenset(_HTML_NAMES_TEXT.split())

_NEVER_INLINE = frozenset({"html", "head", "body", "title", "base", "meta", "link"})
_BLOCK_NAMES_TEXT = (
    "article aside audio button canvas caption dialog embed fieldset footer form frame frameset header iframe input "
    "label legend main nav noframes noscript object option output script section select source style svg table tbody "
    "td template textarea tfoot th thead tr video xmp"
)
_TEXT_UNLESS_PAIRED = frozenset(_BLOCK_NAMES_TEXT.split())
"""HTML elements whose tag in a paragraph is shown as text if the matching start or end tag is missing."""

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
MEDIA = frozenset({"iframe", "video", "audio", "object"})


class HtmlTag(NamedTuple):
    """An HTML tag: its name in lower case, and its attributes with decoded values."""

    name: str
    attrs: Mapping[str, str]
    is_closing: bool = False
    is_self_closing: bool = False
    """True for a tag such as `<x/>`, and for elements that never have content."""

    def has_class(self, name: str) -> bool:
        """Return whether `name` is among the classes of the element."""
        return name in self.attrs.get("class", "").split()

    @property
    def first_number(self) -> int:
        """Number of the first item, if the element is a numbered list."""
        start = self.attrs.get("start", "1")
        return int(start) if start.isdecimal() and len(start) < 10 else 1


class HtmlToken(NamedTuple):
    """A tag or a text, with its range in the source. Entities in the text are decoded, and white space is unchanged."""

    start: int
    end: int
    tag: HtmlTag | None = None
    text: str = ""


def html_tokens(raw: str, start: int = 0, end: int | None = None) -> Iterator[HtmlToken]:
    """Yield the tags and texts of `raw`, from `start` to `end`. Comments are left out."""
    for match in _TOKEN.finditer(raw, start, len(raw) if end is None else end):
        if match["name"]:
            yield HtmlToken(match.start(), match.end(), _html_tag(match))
        elif not match[0].startswith("<!--"):
            yield HtmlToken(match.start(), match.end(), text=decode_entities(match[0]))


def parse_html_tag(raw: str) -> HtmlTag | None:
    """Return the tag at the beginning of `raw`. None if `raw` does not begin with a tag."""
    match = _TOKEN.match(raw)
    return _html_tag(match) if match and match["name"] else None


def find_tag_end(text: str, position: int) -> int | None:
    """Return the position after the tag that begins at `position`. None if no tag begins there."""
    match = _TOKEN.match(text, position)
    return match.end() if match and match["name"] else None


def find_loose_tag_end(text: str, position: int) -> int | None:
    """Return the end of the tag with attributes at `position`, even if markdown-it rejects it. None without a tag."""
    match = _LOOSE_TAG.match(text, position)
    return find_tag_end(text, position) if match and match[1].lower() in _HTML_NAMES else None


def _html_tag(match: re.Match[str]) -> HtmlTag:
    raw, name = match["attrs"], match["name"].lower()
    attrs: dict[str, str] = {}
    if raw and raw != "/":
        for key, double, single, bare in _ATTRIBUTE.findall(raw, 0, _MAX_ATTRIBUTES):
            attrs.setdefault(key.lower(), decode_entities(double or single or bare))
    has_slash = raw.endswith("/") and not _UNQUOTED_END.search(raw)
    return HtmlTag(name, attrs, bool(match["closing"]), has_slash or name in VOID)


def decode_entities(raw: str) -> str:
    """Return `raw` sanitized, with its HTML entities decoded."""
    if "&" in raw:
        raw = html.unescape(NAN_ENTITY.sub("", raw))
    return safe_text(raw)


def collapse_space(text: str) -> str:
    """Return `text` with white space collapsed to single spaces, as in a browser."""
    return _SPACE.sub(" ", text)


def clean_url(value: str | None) -> str | None:
    """Return a URL without tabs, line breaks and surrounding white space. None if `value` is None."""
    return safe_text(value).translate(_INVISIBLE_IN_URLS).strip() if value is not None else None


def file_name(url: str) -> str:
    """Return the file name at the end of a URL, without the query. Empty for a data URL."""
    return "" if url[:5].lower() == "data:" else url.split("?")[0].rsplit("/", 1)[-1]


def parse_colors(style: str) -> dict[str, str]:
    """Return the text color and the background of a `style` attribute, by the keys `color` and `background`."""
    colors = {}
    for declaration in style.split(";"):
        name, _, value = declaration.partition(":")
        value = value.strip()
        if name.strip().lower() in ("color", "background-color") and _COLOR.fullmatch(value):
            colors["color" if name.strip().lower() == "color" else "background"] = value
    return colors


class Placeholders:
    """Finds placeholders in angle brackets, such as `<your token>`, which are shown as text and are not HTML."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._closed: frozenset[str] | None = None

    def end_in_paragraph(self, text: str, position: int) -> int | None:
        """Return the position after the placeholder at `position` of a paragraph. None if no placeholder begins there.
        In a paragraph, `<body>` counts as a placeholder. `<script>` counts if `text` has no `</script>`."""
        if (match := _BARE_TAG.match(text, position)) is not None:
            name = match[2].lower()
            partner = f"<{name}" if match[1] else f"</{name}"
            if name in _NEVER_INLINE or (name in _TEXT_UNLESS_PAIRED and partner not in text.lower()):
                return match.end()
        return self.end_at(text, position)

    def end_at(self, text: str, position: int) -> int | None:
        """Return the position after the placeholder that begins at `position`. None if there is none. A tag is no
        placeholder if HTML has its name, or if the source closes the tag."""
        match = _PLACEHOLDER.match(text, position)
        name = match[1].lower() if match else ""
        if match is None or name in _HTML_NAMES:
            return None
        if self._closed is None:
            self._closed = frozenset(match[1].lower() for match in _CLOSING.finditer(self._source))
        return match.end() if name not in self._closed else None


class TextFinder:
    """Finds the next occurrence of a text in a source. Case does not matter, and `</p` is not found in `</pre>`."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._found_positions: dict[str, tuple[int, int]] = {}

    def find_after(self, text: str, position: int) -> int:
        """Return where the source first has `text` at or after `position`. The length of the source if nowhere."""
        searched_from, found_position = self._found_positions.get(text, (0, -1))
        if not searched_from <= position <= found_position:
            match = _literal_pattern(text).search(self._source, position)
            found_position = match.start() if match else len(self._source)
            self._found_positions[text] = (position, found_position)
        return found_position

    def element_end(self, name: str, start: int) -> tuple[int, int]:
        """Return where the content of an element ends, and where its closing tag ends. `start` is a position in the
        content. Both results are the length of the source if the element is not closed."""
        end = self.find_after(f"</{name}", start)
        if name == "table":
            content_end = start - 1
            for _ in range(_MAX_TABLE_DEPTH):
                content_end = self.find_after("<table", content_end + 1)
                next_end = self.find_after("</table", end + 1) if content_end < end else len(self._source)
                if next_end == len(self._source):
                    break
                end = next_end
        if end == len(self._source):
            return end, end
        closing = self._source.find(">", end)
        return end, len(self._source) if closing < 0 else closing + 1


@cache
def _literal_pattern(text: str) -> re.Pattern[str]:
    return re.compile(re.escape(text) + (r"(?![\w-])" if text[-1].isalnum() else ""), re.IGNORECASE)
