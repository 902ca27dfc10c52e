"""The runs of a paragraph, from the inline tokens of markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markdown_it.token import Token

from octavo.documents.blocks import Run
from octavo.documents.html import parse_element
from octavo.documents.inline_writer import RunBuilder
from octavo.documents.tags import Tag

_ELEMENTS = {"strong": "strong", "em": "em", "s": "s", "link": "a"}


def runs_and_tags(tokens: Sequence[Token] | None) -> tuple[list[tuple[Run, ...] | Tag], list[str]]:
    """Runs and the tags that stand between them, in order; and the anchors met on the way."""
    ink = RunBuilder()
    found: list[tuple[Run, ...] | Tag] = []
    for token in tokens or ():
        if token.type == "platform_tag":
            if runs := ink.take():
                found.append(runs)
            found.append(token.meta["tag"])
        else:
            write_token(ink, token)
    if runs := ink.take():
        found.append(runs)
    return found, ink.anchors


def runs_of_tokens(tokens: Sequence[Token] | None) -> tuple[Run, ...]:
    """All runs, where no tag may stand between them."""
    ink = RunBuilder()
    for token in tokens or ():
        if token.type == "platform_tag":
            ink.special("expression", token.content)
        else:
            write_token(ink, token)
    return ink.take()


def write_token(ink: RunBuilder, token: Token) -> None:
    """Write one inline token."""
    if writer := _WRITERS.get(token.type):
        writer(ink, token)
    elif token.type.endswith("_open"):
        name = _ELEMENTS.get(token.type[:-5], "")
        ink.push(name, link=_text(token, "href"), title=_text(token, "title"))
    elif token.type.endswith("_close"):
        ink.pop(_ELEMENTS.get(token.type[:-6], ""))


def _code(ink: RunBuilder, token: Token) -> None:
    ink.push("code")
    ink.special("code", token.content)
    ink.pop("code")


def _html(ink: RunBuilder, token: Token) -> None:
    if tag := parse_element(token.content):
        ink.element(tag)
    elif not token.content.startswith("<!--"):
        ink.text(token.content)


def _image(ink: RunBuilder, token: Token) -> None:
    ink.image(_text(token, "src"), _plain(token.children), {"title": _text(token, "title")})


def _plain(tokens: Sequence[Token] | None) -> str:
    """The words of an image, without the marks that may stand in them."""
    return "".join(
        " " if token.type in ("softbreak", "hardbreak") else _plain(token.children) or token.content
        for token in tokens or ()
        if token.type != "html_inline"
    )


def _footnote(ink: RunBuilder, token: Token) -> None:
    label = str(token.meta.get("label") or token.meta.get("id", 0) + 1)
    ink.special("footnote", label, {"label": label})


def _text(token: Token, name: str) -> str:
    return str(token.attrs.get(name, "") or "")


_WRITERS: dict[str, Callable[[RunBuilder, Token], None]] = {
    "text": lambda ink, token: ink.text(token.content),
    "softbreak": lambda ink, token: ink.text(" "),
    "hardbreak": lambda ink, token: ink.line_break(),
    "code_inline": _code,
    "html_inline": _html,
    "image": _image,
    "platform_math": lambda ink, token: ink.special("math", token.content),
    "platform_tag_in_text": lambda ink, token: ink.special("expression", token.content),
    "platform_source": lambda ink, token: ink.special("text", token.content),
    "footnote_ref": _footnote,
    "footnote_anchor": lambda ink, token: None,
}
