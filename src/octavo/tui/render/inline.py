"""Runs of text as pieces: marks, links, code, keys, mentions, buttons, formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.style import Style

from octavo.api.folding import fold
from octavo.documents.blocks import Run
from octavo.documents.html import file_name
from octavo.tui.render.icons import icon, in_words
from octavo.tui.render.link_addresses import LinkDestination, leads
from octavo.tui.render.styled_lines import Piece, Spot, steady
from octavo.tui.render.styles import Styles

if TYPE_CHECKING:
    from octavo.tui.render.link_targets import Targets

_SMALL = 3
"""More letters than these are not set above or below the line."""
_SPACE = re.compile(r"[\s_-]+")
_BLANKS = re.compile(r"[ \t]+")
_MARKS = {
    "bold": Style(bold=True),
    "italic": Style(italic=True),
    "strike": Style(strike=True),
    "underline": Style(underline=True),
}


def icon_beside(name: str, said: str, look: Styles) -> str:
    """The sign for an icon, or its name in words and brackets; nothing where those words are `said` beside it."""
    if sign := icon(name, ascii=look.ascii):
        return sign
    words = in_words(name)
    if words is None:
        return look.glyphs.diamond
    return "" if words.replace(" ", "") in _SPACE.sub("", fold(said)) else unbroken(f"[{words}]", look)


def labelled(name: object, label: str, look: Styles) -> str:
    """A label behind the icon called `name`, if it has one."""
    sign = icon_beside(str(name), label, look) if name else ""
    return f"{sign} {steady(label)}" if sign else steady(label)


def inline(runs: Iterable[Run], look: Styles, base: Style | None = None, targets: Targets | None = None) -> list[Piece]:
    """The pieces of `runs`, on text of style `base`. A break is a line feed in a piece. `targets` says what links lead
    to and what that is called."""
    return [piece for part in inline_parts(_squeezed(runs), look, base, targets) for piece in part]


def _squeezed(runs: Iterable[Run]) -> list[Run]:
    """Runs with one blank where their words have several in a row, as in a browser. Blanks at the beginning of a line
    indent it."""
    out: list[Run] = []
    before = "\n"
    for run in runs:
        text = run.text
        is_spread = "  " in text or "\t" in text or (before == " " and text[:1] == " ")
        if is_spread and run.kind == "text" and "code" not in run.marks:
            words = text.lstrip(" \t") if before in ("\n", " ") else text
            indent = text[: len(text) - len(words)] if before == "\n" else ""
            text = indent + _BLANKS.sub(" ", words)
            run = run._replace(text=text)
        before = text[-1:] or (before if run.kind == "text" else "\ufffc")
        out.append(run)
    return out


def inline_parts(
    runs: Iterable[Run], look: Styles, base: Style | None = None, targets: Targets | None = None
) -> list[list[Piece]]:
    """The pieces of `runs`, those of each run by themselves."""
    ground = look.text if base is None else base
    out: list[list[Piece]] = []
    spot: Spot | None = None
    every = list(runs)
    for index, run in enumerate(every):
        if run.kind == "icon":
            beside = [each.text for each in (*every[max(0, index - 1) : index], *every[index + 1 : index + 2])]
            run = run._replace(text=icon_beside(str(run.attrs.get("name", "")), " ".join(beside), look))
            if not run.text and every[index + 1 :] and (not index or every[index - 1].text[-1:].isspace()):
                every[index + 1] = every[index + 1]._replace(text=every[index + 1].text.removeprefix(" "))
        first = index == 0 or not _same_link(every[index - 1], run)
        last = index + 1 == len(every) or not _same_link(run, every[index + 1])
        if run.link and run.kind != "image":
            if spot is None or spot.target != run.link or first:
                spot = _spot(run.link)
        else:
            spot = None
        shown = targets.shown(run, alone=first and last) if targets is not None and run.link else None
        if shown is not None:
            run = run._replace(text=shown, kind="text")
        out.append(_pieces(run, look, ground, spot, (first, last), targets))
    return out


def _same_link(first: Run, second: Run) -> bool:
    kinds = ("mention", "button")
    return first.link == second.link and first.kind not in kinds and second.kind not in kinds


def _spot(address: str) -> Spot | None:
    return None if leads(address) is LinkDestination.REFUSED else Spot("link", address)


def _pieces(
    run: Run, look: Styles, ground: Style, spot: Spot | None, ends: tuple[bool, bool], targets: Targets | None
) -> list[Piece]:
    """The pieces of one run. `ends` says whether a link begins and ends with it."""
    attrs, glyphs, text = run.attrs, look.glyphs, steady(run.text.replace("\t", " "))
    if look.ascii:
        text = text.replace("•", glyphs.bullets[0])
    match run.kind:
        case "emoji" if look.ascii and (name := str(attrs.get("code", ""))) and not text.isascii():
            return [Piece(f":{name}:", ground, spot)]
        case "break":
            return [Piece("\n", ground)]
        case "image":
            name = text.strip() or file_name(str(attrs.get("src") or "")) or "image"
            style, seen = look.muted + Style(italic=True), Spot("image", str(attrs.get("src") or ""))
            sign = unbroken(f"{glyphs.picture} ", look)  # stays with its name at the end of a line
            if run.link is None:
                return [Piece(f"{sign}{name}", style, seen)]
            where = leads(run.link) if targets is None else targets.leads(run.link)
            linked = _linked(where, name, style, look, _spot(run.link), (True, True))
            return [Piece(sign, style, seen), *linked]
        case "icon":
            return [Piece(text, ground + look.accent, spot)] if text else []
        case "math":
            from octavo.tui.render.formulas import in_one_line  # few pages have any

            return [Piece(in_one_line(text, ascii=look.ascii), ground + Style(italic=True), spot)]
        case "expression":
            return [Piece(f"{{{text}}}", look.code, spot)]
        case "button":
            return _button(run, text.strip(), look, ground, spot, targets)
        case "footnote":
            note = Spot("note", str(attrs.get("label") or text))
            if attrs.get("inline"):
                dotted = Piece(text, ground + Style(underline=True), spot or note)
                return [dotted, Piece(glyphs.note, look.accent, note if spot else dotted.spot, True)]
            mark = f"[{text}]" if look.ascii or not text.isdigit() else raised(text)
            return [Piece(mark, look.accent, note)]
    style = ground
    for mark in run.marks:
        if (more := _MARKS.get(mark)) is not None:
            style += more
    if colour := attrs.get("color"):
        style += look.named(str(colour))
    if "mark" in run.marks and (attrs.get("background") or not colour):
        style = look.cursor + style if not look.mono else style + Style(reverse=True)
    if run.kind == "code" or "code" in run.marks:
        style = look.code + Style(bold=style.bold, italic=style.italic, strike=style.strike)
    if "kbd" in run.marks:
        return [Piece(unbroken(f" {text} ", look), look.chip, spot)]
    if "sup" in run.marks or "sub" in run.marks:
        if len(text) > _SMALL and any(char.isalpha() for char in text):
            style += look.muted  # small letters are too small to be read as words
        elif look.ascii:
            text = f"^{text}" if "sup" in run.marks else f"_{text}"
        else:
            text = raised(text) if "sup" in run.marks else lowered(text)
    if run.kind == "mention":
        text = text.removesuffix(".md")
    if run.link is None:
        return [Piece(text, style)]
    where = leads(run.link) if targets is None else targets.leads(run.link)
    return _linked(where, text, style, look, spot, ends)


def _button(
    run: Run, label: str, look: Styles, ground: Style, spot: Spot | None, targets: Targets | None
) -> list[Piece]:
    """A button. One that leads nowhere looks as if it did nothing, and says why when it is pressed."""
    attrs = run.attrs
    style = look.button if attrs.get("style") == "primary" else look.chip
    if spot is None and attrs.get("action") in ("ask", "search", "select"):
        spot = Spot(str(attrs["action"]), str(attrs.get("query") or label))
    spot = None if attrs.get("disabled") else spot
    where = None if spot is None or not run.link else leads(run.link) if targets is None else targets.leads(run.link)
    if spot is None or where is LinkDestination.BROKEN:
        style = look.disabled
    label = labelled(attrs.get("icon"), label, look)
    broken = [Piece(look.glyphs.no, look.error, None, True)] if where is LinkDestination.BROKEN else []
    return [Piece(unbroken(f" {label} ", look), style, spot), *broken, Piece(" ", ground, None, True)]


def unbroken(text: str, look: Styles) -> str:
    """`text` with blanks at which no line ends, so that a button or a key stays in one piece."""
    return text if look.ascii or len(text) > 40 else text.replace(" ", "\u00a0")


def _linked(
    where: LinkDestination, text: str, style: Style, look: Styles, spot: Spot | None, ends: tuple[bool, bool]
) -> list[Piece]:
    """The words of a link. Blanks at its ends are none of them: a link of blanks alone shows nothing, as in a browser."""
    first, last = ends
    words = text.lstrip() if first else text
    before, words = text[: len(text) - len(words)], words.rstrip() if last else words
    if first and last and not words:
        return [Piece(text, style)]
    out = [Piece(before, style)] if before else []
    after = text[len(before) + len(words) :]
    glyphs = look.glyphs
    sign: Piece | None = None
    match where:
        case LinkDestination.BROKEN:
            piece = Piece(words, style + look.error + Style(underline=True), spot)
            sign = Piece(glyphs.no, look.error, None, True)
        case LinkDestination.REFUSED:
            piece = Piece(words, style)
            sign = Piece(glyphs.no, look.error, None, True)
        case LinkDestination.OUTSIDE:
            piece = Piece(words, style + look.link, spot)
            sign = Piece(glyphs.outside, look.accent, spot, True)
        case _:
            piece = Piece(words, style + look.link, spot)
    out += [piece] if words else []
    out += [sign] if sign and last else []
    return [*out, Piece(after, style)] if after else out


def raised(text: str) -> str:
    """`text` in superscript signs where there are some for all of it, else behind `^`."""
    from octavo.tui.render.superscripts import SUPERSCRIPTS

    return text.translate(SUPERSCRIPTS) if all(ord(c) in SUPERSCRIPTS for c in text) else f"^{text}"


def lowered(text: str) -> str:
    """`text` in subscript signs where there are some for all of it, else behind `_`."""
    from octavo.tui.render.superscripts import SUBSCRIPTS

    return text.translate(SUBSCRIPTS) if all(ord(c) in SUBSCRIPTS for c in text) else f"_{text}"
