"""Builds runs from tokens of the inline parser and from HTML. Start reading at `runs_of_tokens` and `RunBuilder`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from octavo.api.safety import safe_text
from octavo.documents import emoji
from octavo.documents.blocks import NO_ATTRS, NO_MARKS, Run, sanitize
from octavo.documents.html import HEADINGS, MEDIA, HtmlTag, clean_url, collapse_space, parse_colors, parse_html_tag
from octavo.documents.tag_blocks import Tag

if TYPE_CHECKING:
    from markdown_it.token import Token

MAX_INLINE_DEPTH = 40
"""Maximum nesting of inline elements. Deeper elements are ignored."""

_MARKS = {
    **dict.fromkeys(("strong", "b", "th", "dt", *HEADINGS), "bold"),
    **dict.fromkeys(("em", "i", "var", "cite", "dfn"), "italic"),
    **dict.fromkeys(("u", "ins"), "underline"),
    **dict.fromkeys(("s", "del", "strike"), "strike"),
    **dict.fromkeys(("code", "samp", "tt", "pre"), "code"),
    **{name: name for name in ("kbd", "sub", "sup", "mark")},
}
_BLOCK_ELEMENTS = frozenset(
    {"p", "li", "ul", "ol", "div", "details", "summary", "blockquote", "pre", "tr", "dt", "dd", *HEADINGS}
)
_INVISIBLE_ELEMENTS = frozenset({"script", "style", "select", "option", "template", "noscript"})
_HINT_ICONS = {
    "info": "circle-info",
    "success": "circle-check",
    "warning": "triangle-exclamation",
    "danger": "circle-exclamation",
}
_URL_OR_EMOJI = re.compile(
    r"(?<![\w/])(?P<url>https?://"
    r"(?:[\w.:-]{2,300}(?=[,;]https?://)|[^\s<>\"'`\u3000-\u303f\uff00-\uff0f\uff1a-\uff20]{2,2000}))"
    r"|:(?P<emoji>[a-z0-9+-][\w+-]{0,80}):(?::skin-tone-(?P<tone>[2-6]):)?"
)
"""Matches a URL, or the name of an emoji between colons, perhaps followed by a skin tone."""
_POSSIBLE_EMOJI = re.compile(r":(?=((?:[a-z0-9+-]|\\_)(?:[\w+-]|\\_){0,80}):)")
r"""The first colon of a possible emoji name, such as `:rocket:`. Group 1 is the name, in which `\_` may replace `_`."""
_MIN_NAME_LENGTH, _FLAG_LENGTH = 6, 4
_MARKDOWN_HEADING = re.compile(r"\s*#{1,6}\s+")
_INLINE_PICTURE = re.compile(r"\s*(?:<svg\b|<\?xml\b|data:image/)", re.IGNORECASE)
_LEFT_OUT_OF_CODES = dict.fromkeys(map(ord, "\u200d\ufe0f"))
"""Characters of an emoji that its code does not contain."""
_ICON_NAME = re.compile(r":?[\w-]*:?")
_BULLET = re.compile(r" *(?:•|\d+\.) ")


@dataclass(slots=True)
class _OpenElement:
    """An HTML or Markdown element that is still open, and the format that it gives to runs."""

    name: str
    mark: str | None = None
    kind: str | None = None
    link: str | None = None
    attrs: Mapping[str, Any] = field(default_factory=lambda: NO_ATTRS)
    number: int = 0
    """Number of the last item, if the element is a numbered list."""


class RunBuilder:
    """Collects the runs of a text, and keeps track of the current format. `anchors` has the HTML IDs of links."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.anchors: list[str] = []
        self._open: list[_OpenElement] = []
        self._ignored_names: list[str] = []
        self._invisible_depth = 0
        self._dark_source: str | None = None
        self._marks = NO_MARKS
        self._link: str | None = None
        self._kind = "text"
        self._attrs: Mapping[str, Any] = NO_ATTRS

    def add_text(self, text: str) -> None:
        """Add text. Outside code, emoji names become emoji, and URLs outside a link become links."""
        if self.runs and self.runs[-1].kind == "break" and "code" not in self._marks:
            text = text.lstrip(" \t")
        if not text or self._invisible_depth or self._repeats_icon_name(text):
            return
        if ":" not in text or self._kind != "text" or "code" in self._marks:
            self._write(text, self._kind, self._link, self._attrs)
            return
        position = 0
        for match in _URL_OR_EMOJI.finditer(text):
            end = match.end()
            run: tuple[str, str, str | None, Mapping[str, Any]]
            if name := match["emoji"]:
                if tone := match["tone"]:
                    name = f"{name}_tone{int(tone) - 1}"
                if _is_inside_text(text, match.start(), end) or not (character := emoji.from_name(name)):
                    continue
                run = (character, "emoji", self._link, {"code": name})
            elif self._link is None:
                url = _trim_url(match["url"])
                end = match.start() + len(url)
                run = (url, "text", url, self._attrs)
            else:
                continue
            if match.start() < position:
                continue
            self._write(text[position : match.start()], "text", self._link, self._attrs)
            self._write(*run)
            position = end
        self._write(text[position:], "text", self._link, self._attrs)

    def add_special(self, kind: str, text: str, attrs: Mapping[str, Any] = NO_ATTRS) -> None:
        """Add a run whose text is not searched for URLs and emoji, such as code. Line breaks in it become spaces."""
        if not self._invisible_depth:
            self.runs.append(Run(safe_text(text).replace("\n", " "), self._marks, self._link, kind, attrs))

    def add_line_break(self) -> None:
        """Add a line break. Do nothing inside an invisible element, such as `<script>`."""
        if self._invisible_depth:
            return
        if self.runs and (last := self.runs[-1]).kind == "text" and last.text.endswith((" ", "\t")):
            # White space at the end of a line is invisible.
            self.runs[-1] = last._replace(text=last.text.rstrip(" \t"))
        self.runs.append(Run("\n", kind="break"))

    def add_image(self, src: str | None, alt: str, attrs: Mapping[str, Any] = NO_ATTRS) -> None:
        """Add an image. An alternative text that consists of image data is left out."""
        image_attrs = {"src": clean_url(src) or "", **{key: value for key, value in attrs.items() if value}}
        if self._dark_source:
            image_attrs["dark"] = self._dark_source
        self.add_special("image", "" if _INLINE_PICTURE.match(alt) else alt, image_attrs)

    def add_html_text(self, text: str) -> None:
        """Add text from HTML. White space is collapsed, except in `<pre>`. A title after `#` becomes bold."""
        if any(each.name == "pre" for each in self._open):
            for number, line in enumerate(text.split("\n")):
                if number and self.runs:
                    self.add_line_break()
                self.add_text(line)
            return
        collapsed_text = collapse_space(text)
        is_at_start = not self.runs or self.runs[-1].kind == "break"
        if is_at_start and (heading_match := _MARKDOWN_HEADING.match(collapsed_text)) and "code" not in self._marks:
            self.open_element("h4")
            self.add_text(collapsed_text[heading_match.end() :].strip())
            self.close_element("h4")
            return
        self.add_text(collapsed_text.lstrip() if is_at_start else collapsed_text)

    def read_html_tag(self, tag: HtmlTag) -> None:
        """Open or close the element of a tag, or add its image, line break or check box. Other media become links."""
        name = tag.name
        if name in _INVISIBLE_ELEMENTS:
            self._invisible_depth = max(0, self._invisible_depth + (-1 if tag.is_closing else not tag.is_self_closing))
        elif name in ("br", "hr"):
            self.add_line_break()
        elif name == "img" and not tag.is_closing:
            self._add_html_image(tag)
        elif name == "picture":
            self._dark_source = None
        elif name == "source":
            if "dark" in tag.attrs.get("media", ""):
                self._dark_source = clean_url(tag.attrs.get("srcset"))
            self._add_media_link(tag)
        elif name == "input" and tag.attrs.get("type") == "checkbox":
            self.add_text("☑ " if "checked" in tag.attrs else "☐ ")
        elif tag.is_closing:
            self.close_element(name)
        else:
            if name in _BLOCK_ELEMENTS:
                self._begin_block(tag)
            elif name in MEDIA:
                self._add_media_link(tag)
            if not tag.is_self_closing:
                self._push(self._element_of_tag(tag))

    def open_element(self, name: str, *, link: str | None = None, title: str = "") -> None:
        """Open an element. Its format or link applies to the following runs until `close_element`. An `a` with the
        title `mention` is a mention."""
        if name == "a":
            self._push(_OpenElement("a", kind="mention" if title == "mention" else None, link=clean_url(link)))
        else:
            self._push(_OpenElement(name, _MARKS.get(name)))

    def close_element(self, name: str) -> None:
        """Close the innermost open element called `name`, and all elements inside it."""
        if self._ignored_names and self._ignored_names[-1] == name:
            self._ignored_names.pop()
            return
        for index in range(len(self._open) - 1, -1, -1):
            if self._open[index].name == name:
                del self._open[index:]
                self._recompute_format()
                return

    def take(self) -> tuple[Run, ...]:
        """Remove and return the runs collected so far, without surrounding white space."""
        runs, self.runs = self.runs, []
        return trim_runs(runs)

    def _repeats_icon_name(self, text: str) -> bool:
        if not self._open or self._open[-1].kind != "icon":
            return False
        last_emoji = self.runs[-1].text if self.runs and self.runs[-1].kind == "emoji" else ""
        text = text.strip().translate(_LEFT_OUT_OF_CODES)
        return text == last_emoji.translate(_LEFT_OUT_OF_CODES) or _ICON_NAME.fullmatch(text) is not None

    def _write(self, text: str, kind: str, link: str | None, attrs: Mapping[str, Any]) -> None:
        if not text:
            return
        text = sanitize(text)
        if self.runs:
            last = self.runs[-1]
            has_same_format = (
                last.kind == kind and last.link == link and last.marks == self._marks and last.attrs is attrs
            )
            if has_same_format and kind != "emoji":
                self.runs[-1] = Run(last.text + text, last.marks, link, kind, attrs)
                return
        self.runs.append(Run(text, self._marks, link, kind, attrs))

    def _add_html_image(self, tag: HtmlTag) -> None:
        html_attrs = tag.attrs
        attrs: dict[str, Any] = {name: html_attrs.get(name, "") for name in ("width", "height", "title")}
        attrs["size"] = html_attrs.get("data-size", "")
        attrs["drawing"] = "gitbook-drawing" in html_attrs.get("class", "")
        self.add_image(html_attrs.get("src"), html_attrs.get("alt", ""), attrs)
        self._dark_source = None

    def _add_media_link(self, tag: HtmlTag) -> None:
        if (url := clean_url(tag.attrs.get("src") or tag.attrs.get("data"))) and not self._invisible_depth:
            self._write(url, "text", url, self._attrs)

    def _begin_block(self, tag: HtmlTag) -> None:
        last = self.runs[-1] if self.runs and tag.name not in ("ul", "ol") else None
        is_in_item = bool(self._open) and self._open[-1].name == "li"
        if last and last.kind != "break" and not (is_in_item and _BULLET.fullmatch(last.text)):
            self.add_line_break()
        if tag.name == "li":
            lists = [each for each in self._open if each.name in ("ul", "ol")]
            bullet = "• "
            if lists and lists[-1].name == "ol":
                lists[-1].number += 1
                bullet = f"{lists[-1].number}. "
            self._write("  " * (len(lists) - 1) + bullet, "text", self._link, self._attrs)
        if tag.attrs.get("data-tag") == "hint":
            style = tag.attrs.get("data-style", "info")
            self.add_special("icon", "", {"name": _HINT_ICONS.get(style, "circle-info")})
            self.add_text(" ")

    def _element_of_tag(self, tag: HtmlTag) -> _OpenElement:
        name, html_attrs = tag.name, tag.attrs
        if name == "a":
            return self._link_element(html_attrs)
        if name == "button":
            return _OpenElement(name, kind="button", attrs=_button_attrs(html_attrs))
        classes = html_attrs.get("class", "").split()
        if name == "i" and (icon := next((each[3:] for each in reversed(classes) if each.startswith("fa-")), "")):
            self.add_special("icon", "", {"name": icon})
            return _OpenElement(name, kind="icon", attrs={"name": icon})
        if name == "span" and html_attrs.get("data-tag") == "emoji":
            code = html_attrs.get("data-code", "")
            if not (character := emoji.from_code(code)):
                return _OpenElement(name, kind="emoji", attrs={"code": code})
            self.add_special("emoji", character, {"code": code})
            return _OpenElement(name, kind="icon")
        if name == "code" and "expression" in html_attrs.get("class", ""):
            return _OpenElement(name, kind="expression")
        if name == "span" and tag.has_class("math"):
            return _OpenElement(name, kind="math")
        if name == "mark" or (name == "span" and html_attrs.get("style")):
            colors = parse_colors(html_attrs.get("style", ""))
            return _OpenElement(name, "mark" if colors or name == "mark" else None, attrs=colors)
        return _OpenElement(name, _MARKS.get(name), number=tag.first_number - 1)

    def _link_element(self, html_attrs: Mapping[str, str]) -> _OpenElement:
        if anchor := html_attrs.get("id") or html_attrs.get("name"):
            self.anchors.append(anchor)
        link = clean_url(html_attrs.get("href"))
        if "button" in html_attrs.get("class", "").split():
            return _OpenElement("a", kind="button", link=link, attrs=_button_attrs(html_attrs))
        if link is None or (anchor and link == f"#{anchor}"):
            return _OpenElement("a")
        if "data-footnote-ref" in html_attrs:
            return _OpenElement("a", kind="footnote", attrs={"label": link.rsplit("fn-", 1)[-1], "inline": True})
        if "data-mention" in html_attrs or html_attrs.get("title") == "mention":
            return _OpenElement("a", kind="mention", link=link)
        return _OpenElement("a", link=link)

    def _push(self, element: _OpenElement) -> None:
        if len(self._open) >= MAX_INLINE_DEPTH:
            self._ignored_names.append(element.name)
            return
        self._open.append(element)
        if element.mark:
            self._marks = _add_mark(self._marks, element.mark)
        if element.link is not None:
            self._link = element.link
        if element.kind and element.kind != "icon":
            self._kind = element.kind
        if element.attrs and element.kind != "icon":
            self._attrs = {**self._attrs, **element.attrs} if self._attrs else element.attrs

    def _recompute_format(self) -> None:
        open_elements, self._open = self._open, []
        self._marks, self._link, self._kind, self._attrs = NO_MARKS, None, "text", NO_ATTRS
        for element in open_elements:
            self._push(element)


@cache  # Equal sets become one object, which saves memory.
def _add_mark(marks: frozenset[str], mark: str) -> frozenset[str]:
    return marks | {mark}


def _is_inside_text(text: str, start: int, end: int) -> bool:
    """Return whether `text[start:end]`, such as `:b:`, is no emoji but part of a text such as `a:b:c`."""
    neighbors = (text[max(0, start - 1) : start], text[end : end + 1])
    sides = [side.isascii() and side.isalnum() for side in neighbors]
    is_flag = end - start == _FLAG_LENGTH and text[start + 1 : end - 1].isalpha()
    return any(sides) or (is_flag and ":" in neighbors) if end - start < _MIN_NAME_LENGTH else all(sides)


def escape_emoji_names(markdown: str) -> str:
    """Return Markdown with a backslash before each emoji name, such as `:rocket:`, to show it as text."""

    def escape(match: re.Match[str]) -> str:
        is_emoji = emoji.from_name(match[1].replace("\\_", "_")) is not None
        is_emoji = is_emoji and not _is_inside_text(markdown, match.start(), match.end(1) + 1)
        return "\\:" if is_emoji else ":"

    return _POSSIBLE_EMOJI.sub(escape, markdown) if ":" in markdown else markdown


def trim_runs(runs: list[Run]) -> tuple[Run, ...]:
    """Return runs without white space at either end."""
    first, last = 0, len(runs)
    while first < last and _is_blank(runs[first]):
        first += 1
    while last > first and _is_blank(runs[last - 1]):
        last -= 1
    trimmed_runs = runs[first:last]
    if trimmed_runs and trimmed_runs[0].kind == "text":
        trimmed_runs[0] = trimmed_runs[0]._replace(text=trimmed_runs[0].text.lstrip())
    if trimmed_runs and trimmed_runs[-1].kind == "text":
        trimmed_runs[-1] = trimmed_runs[-1]._replace(text=trimmed_runs[-1].text.rstrip())
    return tuple(trimmed_runs)


def _is_blank(run: Run) -> bool:
    return run.kind == "break" or (run.kind == "text" and not run.text.strip())


def _button_attrs(html_attrs: Mapping[str, str]) -> dict[str, Any]:
    style = "primary" if "primary" in html_attrs.get("class", "").split() else "secondary"
    attributes = {
        "icon": html_attrs.get("data-icon"),
        "action": html_attrs.get("data-action"),
        "query": html_attrs.get("data-query"),
    }
    disabled = {"disabled": True} if "disabled" in html_attrs else {}
    return {"style": style, **{name: value for name, value in attributes.items() if value}, **disabled}


def _trim_url(url: str) -> str:
    """Return a URL from a text, cut off before a `)` that closes no `(`, and without punctuation at its end."""
    depth = 0
    for index, character in enumerate(url):
        depth += (character == "(") - (character == ")")
        if depth < 0:
            url = url[:index]
            break
    return url.rstrip(".,:;!?*_~]}")


_ELEMENTS = {"strong": "strong", "em": "em", "s": "s", "link": "a"}


def runs_and_tags(tokens: Sequence[Token] | None) -> tuple[list[tuple[Run, ...] | Tag], list[str]]:
    """Return the content of a text in order: tuples of runs, and platform tags. Also return the anchors in the text."""
    builder = RunBuilder()
    content: list[tuple[Run, ...] | Tag] = []
    for token in tokens or ():
        if token.type == "platform_tag":
            if runs := builder.take():
                content.append(runs)
            content.append(token.meta["tag"])
        else:
            write_token(builder, token)
    if runs := builder.take():
        content.append(runs)
    return content, builder.anchors


def runs_of_tokens(tokens: Sequence[Token] | None) -> tuple[Run, ...]:
    """Return the runs of a text in which tags have no effect, such as a cell. Tags become `expression` runs."""
    builder = RunBuilder()
    for token in tokens or ():
        if token.type == "platform_tag":
            builder.add_special("expression", token.content)
        else:
            write_token(builder, token)
    return builder.take()


def write_token(builder: RunBuilder, token: Token) -> None:
    """Add a token of the inline parser to the runs in `builder`."""
    if writer := _WRITERS.get(token.type):
        writer(builder, token)
    elif token.type.endswith("_open"):
        name = _ELEMENTS.get(token.type[:-5], "")
        builder.open_element(name, link=_text(token, "href"), title=_text(token, "title"))
    elif token.type.endswith("_close"):
        builder.close_element(_ELEMENTS.get(token.type[:-6], ""))


def _write_code(builder: RunBuilder, token: Token) -> None:
    builder.open_element("code")
    content = token.content
    if token.markup == "`" and content.endswith("`` "):
        # Before bold code, the platform writes “set ” as `set`` `: two code spans, which are read as one, “set`` ”.
        content = content[:-3] + " "
    builder.add_special("code", content)
    builder.close_element("code")


def _write_html(builder: RunBuilder, token: Token) -> None:
    if tag := parse_html_tag(token.content):
        builder.read_html_tag(tag)
    elif not token.content.startswith("<!--"):
        builder.add_text(token.content)


def _write_image(builder: RunBuilder, token: Token) -> None:
    builder.add_image(_text(token, "src"), _plain_text(token.children), {"title": _text(token, "title")})


def _plain_text(tokens: Sequence[Token] | None) -> str:
    return "".join(
        " " if token.type in ("softbreak", "hardbreak") else _plain_text(token.children) or token.content
        for token in tokens or ()
        if token.type != "html_inline"
    )


def _write_footnote(builder: RunBuilder, token: Token) -> None:
    label = str(token.meta["label"])
    builder.add_special("footnote", label, {"label": label})


def _text(token: Token, name: str) -> str:
    return str(token.attrs.get(name, "") or "")


_WRITERS: dict[str, Callable[[RunBuilder, Token], None]] = {
    "text": lambda builder, token: builder.add_text(token.content),
    "escaped_colon": lambda builder, token: builder.add_text(token.content),
    "softbreak": lambda builder, token: builder.add_text(" "),
    "hardbreak": lambda builder, token: builder.add_line_break(),
    "code_inline": _write_code,
    "html_inline": _write_html,
    "image": _write_image,
    "platform_math": lambda builder, token: builder.add_special("math", token.content),
    "platform_tag_in_text": lambda builder, token: builder.add_special("expression", token.content),
    "platform_source": lambda builder, token: builder.add_special("text", token.content),
    "footnote_ref": _write_footnote,
    "footnote_anchor": lambda builder, token: None,
}
