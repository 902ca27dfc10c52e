"""What a page points at: files, embeds, other pages, shared content, integrations, and what is unknown."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote, urlsplit, urlunsplit

from rich.style import Style

from octavo.api.safety import line as safe_line
from octavo.documents.blocks import Block
from octavo.tui.render.block_slices import begins, ends
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.link_addresses import LinkDestination, leads
from octavo.tui.render.styled_lines import Line, Piece, Spot, box, cells, indented, on, padded, steady, width_of
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.wrap import headed, wrap
from octavo.tui.widgets.wording import in_a_line


def file_name(address: str) -> str:
    """The last part of an address, as people write it. Empty for a file that is written out as data."""
    if address[:5].lower() == "data:":
        return ""
    path = address.split("?")[0].split("#")[0].rstrip("/")
    # What is uploaded has its whole path in the last part of its address.
    return steady(safe_line(unquote(path.rsplit("/", 1)[-1]).rsplit("/", 1)[-1]) or address)


def host_of(address: str) -> str:
    """The host an address names, or what stands in its place."""
    try:
        return (urlsplit(address).hostname or address).removeprefix("www.")
    except ValueError:
        return address


def _rest_of(address: str) -> str:
    """What an address has after its host."""
    try:
        rest = urlunsplit(urlsplit(address)._replace(scheme="", netloc=""))
    except ValueError:
        return ""
    return "" if rest == "/" else rest


def bar(setting: LayoutContext, left: Sequence[Piece], right: Sequence[Piece], width: int) -> list[Line]:
    """What it is, behind its sign, and at the right where from, on a ground of its own. What has no room goes on below."""
    look, room = setting.look, width - 2
    left, right = ([piece._replace(text=steady(piece.text)) for piece in side] for side in (left, right))
    sign, words = left[:1], left[1:]
    inner = room - width_of(sign)
    if width_of(left) + (width_of(right) + 2 if right else 0) <= room:
        rows = [[*padded([*left], room - width_of(right)), *right]]
    else:
        blank = [Piece(" " * width_of(sign), PLAIN, None, True)]
        parts = [*wrap(words, inner), *(wrap(right, inner) if right else ())]
        rows = [[*(blank if number else sign), *part] for number, part in enumerate(parts)]
    edge = [Piece(" ", PLAIN, None, True)]
    return [Line(padded(on(look.surface, edge + row), width, look.surface)) for row in rows]


def captioned(setting: LayoutContext, block: Block, lines: list[Line], width: int) -> list[Line]:
    """Lines, and below them the caption of their block."""
    style = setting.look.muted + Style(italic=True)
    caption = wrap(setting.inline(block.runs, style), width - 3) if block.runs else []
    return [*lines, *(Line([Piece("   ", PLAIN, None, True), *pieces]) for pieces in caption if pieces)]


def file(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """A file to download: its name, kind and size."""
    look, src = setting.look, str(block.attrs.get("src") or "")
    named = setting.targets.named(src) if setting.targets is not None else None
    if named is not None and named.trouble:
        return captioned(setting, block, _gone(setting, file_name(src) or "file", named.trouble, width), width)
    spot = Spot("file", src)
    left = [
        Piece(f"{look.glyphs.down_load} ", look.accent, spot, True),
        Piece(named.words if named is not None else file_name(src) or "file", look.link, spot),
    ]
    right = [Piece(named.where if named is not None and named.where else "file", look.muted, None, True)]
    return captioned(setting, block, bar(setting, left, right, width), width)


def _gone(setting: LayoutContext, words: str, trouble: str, width: int) -> list[Line]:
    """What stands in the place of something that leads nowhere, and why."""
    look, why = setting.look, in_a_line(trouble)
    left = [Piece(f"{look.glyphs.no} ", look.error, None, True), Piece(words, look.error)]
    if width_of(left) + cells(why) + 2 > width - 2:
        why = why.partition(" at ")[0]  # where there is nothing is said in full when one goes there
    return bar(setting, left, [Piece(why, look.muted, None, True)], width)


def embed(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """Something that another site shows: its host and address, without the host where there is no room for all of it, and
    at last without what is asked of it where a line of its own has no room for the rest. Of the platform's own pages: their
    titles."""
    look, url = setting.look, str(block.attrs.get("url") or "")
    named = setting.targets.named(url) if setting.targets is not None else None
    refused = leads(url) is LinkDestination.REFUSED
    spot = None if refused else Spot("link", url)
    words = (named and named.words) or host_of(url)
    left = [
        Piece(
            f"{look.glyphs.no if refused else look.glyphs.outside} ", look.error if refused else look.accent, spot, True
        ),
        Piece(words, look.link if spot else look.text, spot),
    ]
    beside = url if url != words else ""
    if beside and words == host_of(url) and width_of(left) + len("  ") + cells(url) > width - 2:
        beside = _rest_of(url)
        if "%2F" in beside and width_of(left) + len("  ") + cells(beside) > width - 2:
            beside = file_name(url)
        elif width_of(left[:1]) + cells(beside) > width - 2:
            beside = beside.partition("?")[0].partition("#")[0]
    if beside:
        left += [Piece("  ", PLAIN, None, True), Piece(beside, look.muted, spot, True)]
    right = [Piece("not opened", look.muted, None, True)] if refused else []
    return captioned(setting, block, bar(setting, left, right, width), width)


def content_ref(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """A link on a line of its own: the title of what it leads to, with its path or space."""
    look, glyphs, url = setting.look, setting.look.glyphs, str(block.attrs.get("url") or "")
    words = ref_words(block)
    targets = setting.targets
    named = targets.named(url) if targets is not None else None
    where = targets.leads(url) if targets is not None else leads(url)
    if where in (LinkDestination.BROKEN, LinkDestination.REFUSED):
        trouble = (
            named.trouble
            if named is not None
            else "Octavo does not open this kind of link."
            if where is LinkDestination.REFUSED
            else "The page no longer exists."
        )
        return _gone(setting, file_name(url) if words.startswith("broken") else words, trouble, width)
    spot = Spot("link", url)
    sign = glyphs.outside if where is LinkDestination.OUTSIDE else glyphs.into
    beside = "" if file_name(url).removesuffix(".md") == words else url
    if named is not None and (named.title or named.where):
        words, beside = named.words or words, named.where
    left = [Piece(f"{sign} ", look.accent, spot, True), Piece(words, look.link + Style(bold=True), spot)]
    right = [Piece(beside, look.muted, None, True)] if beside else []
    return bar(setting, left, right, width)


def ref_words(block: Block) -> str:
    """What a link on a line of its own says when nobody knows what it leads to."""
    words = " ".join("".join(run.text for run in block.runs).split()).removesuffix(".md")
    return words or file_name(str(block.attrs.get("url") or ""))


def include(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """Return reusable content below the name of its file, or only that name if the server sent no content."""
    look, target = setting.look, str(block.attrs.get("target") or "")
    is_elsewhere = target.startswith(("https://", "/s/"))
    spot = Spot("link", target) if is_elsewhere or ".gitbook/includes/" in target else None
    named = "another space" if is_elsewhere else file_name(target)
    kept = [Piece(named, look.link if spot else look.muted, spot, True)]
    if not block.children:
        said = "Reusable content from "
        left = [Piece(f"{look.glyphs.diamond} ", look.muted, None, True), Piece(said, look.text, None, True)]
        return bar(setting, [*left, *kept], [], width)
    rail = [Piece(look.glyphs.rail + " ", look.muted, None, True)]
    head = [Line(part) for part in wrap([Piece("reusable content: ", look.muted, None, True), *kept], width - 2)]
    body = setting.flow_in(block, width - 2, is_open=True)
    return indented([*head, *body] if begins(block) else body, rail, rail)


def integration(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """A block that an integration draws: its name, and what was given to it."""
    look, name = setting.look, str(block.attrs.get("name") or "integration")
    if not begins(block) and not block.text:
        return setting.flow_in(block, width)
    left = [Piece(f"{look.glyphs.diamond} ", look.muted, None, True), Piece(name, look.strong)]
    arguments = dict(block.attrs.get("arguments") or {})
    url = next((str(value) for key, value in arguments.items() if key in ("url", "src", "href")), "")
    out = []
    if begins(block):
        out += bar(setting, left, [Piece("integration", look.muted, None, True)], width)
        out += _arguments(arguments, look, width)
    if url and leads(url) is LinkDestination.OUTSIDE and begins(block):
        spot = Spot("link", url)
        rows = [Line(part) for part in wrap([Piece(url, look.link, spot)], width - 3)]
        out += indented(rows, blank := [Piece("   ", PLAIN, None, True)], blank)
    if block.text:
        rows = [Line(part) for row in block.text.split("\n") for part in wrap([Piece(row, look.text)], width - 4)]
        out += box(rows, width, look, ground=look.panel, edges=(begins(block), ends(block)))
    return out + setting.flow(block.children, width)


def unknown(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """A block nobody knows: its name, what it was given, and all it holds."""
    look = setting.look
    name = str(block.attrs.get("name") or block.kind)
    rows = _arguments(dict(block.attrs.get("arguments") or {}), look, width - 4) if begins(block) else []
    if block.text:
        rows += [Line(part) for row in block.text.split("\n") for part in wrap([Piece(row, look.text)], width - 4)]
    rows += setting.words(block.runs, width - 4) if block.runs else []
    rows += setting.flow_in(block, width - 4)
    title, rows = headed([Piece(name, look.strong)], rows, width)
    return box(
        rows,
        width,
        look,
        title=title,
        right=[Piece("unknown block", look.muted, None, True)],
        edges=(begins(block), ends(block)),
    )


def _arguments(arguments: dict[str, object], look: Styles, width: int) -> list[Line]:
    out = []
    for key, value in arguments.items():
        if key in ("url", "src", "href", "content"):
            continue
        text = " ".join(str(value).split())
        blank = [Piece("   ", PLAIN, None, True)]
        rows = wrap([Piece(f"{key}  ", look.muted), Piece(text, look.text)], width - 3)
        out += indented([Line(row) for row in rows], blank, blank)
    return out
