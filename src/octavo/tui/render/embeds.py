"""Renders images, files, embeds, page links, reusable content, integrations and cards. Also lists images of a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit, urlunsplit

from rich.color import Color, ColorType
from rich.color_triplet import ColorTriplet
from rich.style import Style

from octavo.api.folding import fold
from octavo.documents.blocks import Block, Run, TableColumn, plain_text
from octavo.tui.render.block_slices import has_end, has_start, whole_block
from octavo.tui.render.deferred import LinkDestination, LinkTargets, LinkTitle, ThumbnailQuery, link_destination
from octavo.tui.render.layout_context import LayoutContext, file_label, render_runs
from octavo.tui.render.styled_lines import (
    Clickable,
    Line,
    StyledText,
    box,
    cells,
    crop,
    decoration,
    fit_title,
    flatten_emoji,
    indent,
    pad,
    side_by_side,
    width_of,
    with_background,
    wrap,
    wrap_items,
    wrap_text,
)
from octavo.tui.render.styles import Styles
from octavo.tui.render.tables import cell_pieces, cell_text, longest_word_part, sample_rows, visible_columns
from octavo.tui.terminal.display import ScaledPicture
from octavo.tui.widgets.short_texts import as_clause


def host_of(address: str) -> str:
    """Return the host of a URL, without `www.`. Return the URL itself if it has no host."""
    try:
        return (urlsplit(address).hostname or address).removeprefix("www.")
    except ValueError:
        return address


def _url_after_host(address: str) -> str:
    try:
        rest = urlunsplit(urlsplit(address)._replace(scheme="", netloc=""))
    except ValueError:
        return ""
    return "" if rest == "/" else rest


def render_bar(
    context: LayoutContext, left: Sequence[StyledText], right: Sequence[StyledText], width: int
) -> list[Line]:
    """Render a line with a background, such as for a file. The first element of `left` is a sign. `right` moves below
    `left` if both do not fit on one line."""
    styles, available_width = context.styles, width - 2
    left, right = ([piece._replace(text=flatten_emoji(piece.text)) for piece in side] for side in (left, right))
    sign, words = left[:1], left[1:]
    inner_width = available_width - width_of(sign)
    if width_of(left) + (width_of(right) + 2 if right else 0) <= available_width:
        rows = [[*pad([*left], available_width - width_of(right)), *right]]
    else:
        blank = [decoration(" " * width_of(sign))]
        parts = [*wrap(words, inner_width), *(wrap(right, inner_width) if right else ())]
        rows = [[*(blank if number else sign), *part] for number, part in enumerate(parts)]
    edge = [decoration(" ")]
    return [Line(pad(with_background(styles.surface, edge + row), width, styles.surface)) for row in rows]


def add_caption(context: LayoutContext, block: Block, lines: list[Line], width: int) -> list[Line]:
    """Return `lines` and below them the caption of a block, if it has one."""
    style = context.styles.muted + Style(italic=True)
    caption = wrap(context.styled_runs(block.runs, style), width - 3) if block.runs else []
    return [*lines, *(Line([decoration("   "), *pieces]) for pieces in caption if pieces)]


def render_file(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a file: its name, its type and size if they are known, and its caption. Mark a missing file as broken."""
    styles, src = context.styles, str(block.attrs.get("src") or "")
    title = context.title_of(src)
    if title is not None and title.problem:
        return add_caption(
            context, block, _render_broken(context, file_label(src) or "file", title.problem, width), width
        )
    clickable = Clickable("file", src)
    left = [
        decoration(f"{styles.glyphs.download} ", styles.accent, clickable),
        StyledText(link_block_text(block, title), styles.link, clickable),
    ]
    right = [decoration(title.location if title is not None and title.location else "file", styles.muted)]
    return add_caption(context, block, render_bar(context, left, right, width), width)


def _render_broken(context: LayoutContext, text: str, problem: str, width: int) -> list[Line]:
    styles, reason = context.styles, as_clause(problem)
    left = [decoration(f"{styles.glyphs.no} ", styles.error), StyledText(text, styles.error)]
    if width_of(left) + cells(reason) + 2 > width - 2:
        reason = reason.partition(" at ")[0]  # The full reason is shown when the link is opened.
    return render_bar(context, left, [decoration(reason, styles.muted)], width)


def render_embed(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render an embed: its title or host, then its URL. A URL that does not fit is shortened."""
    styles, url = context.styles, str(block.attrs.get("url") or "")
    title = context.title_of(url)
    is_refused = link_destination(url) is LinkDestination.REFUSED
    clickable = None if is_refused else Clickable("link", url)
    words = (title and title.text) or host_of(url)
    left = [
        decoration(
            f"{styles.glyphs.no if is_refused else styles.glyphs.external} ",
            styles.error if is_refused else styles.accent,
            clickable,
        ),
        StyledText(words, styles.link if clickable else styles.text, clickable),
    ]
    detail = url if url != words else ""
    if detail and words == host_of(url) and width_of(left) + len("  ") + cells(url) > width - 2:
        detail = _url_after_host(url)
        if "%2F" in detail and width_of(left) + len("  ") + cells(detail) > width - 2:
            detail = file_label(url)
        elif width_of(left[:1]) + cells(detail) > width - 2:
            detail = re.sub(r"\?[^#]*|#:~:.*", "", detail)
    if detail:
        left += [decoration("  "), decoration(detail, styles.muted, clickable)]
    right = [decoration("not opened", styles.muted)] if is_refused else []
    return add_caption(context, block, render_bar(context, left, right, width), width)


def render_content_ref(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a link block: the title of the linked page, and its path or space."""
    styles, glyphs, url = context.styles, context.styles.glyphs, str(block.attrs.get("url") or "")
    words = link_block_text(block, None)
    title, destination = context.title_of(url), link_destination(url, context.link_targets)
    if destination in (LinkDestination.BROKEN, LinkDestination.REFUSED):
        problem = (
            title.problem
            if title is not None
            else "Octavo does not open this kind of link."
            if destination is LinkDestination.REFUSED
            else "The page no longer exists."
        )
        return _render_broken(context, file_label(url) if words.startswith("broken") else words, problem, width)
    clickable = Clickable("link", url)
    sign = glyphs.external if destination is LinkDestination.OUTSIDE else glyphs.arrow
    detail = "" if file_label(url).removesuffix(".md") == words else url
    if title is not None and (title.title or title.location):
        words, detail = link_block_text(block, title), title.location
    left = [
        decoration(f"{sign} ", styles.accent, clickable),
        StyledText(words, styles.link + Style(bold=True), clickable),
    ]
    right = [decoration(detail, styles.muted)] if detail else []
    return render_bar(context, left, right, width)


def link_block_text(block: Block, title: LinkTitle | None) -> str:
    """Return the name that a file or link block shows: its target's title, else the link's text or file name."""
    if title is not None and title.text:
        return title.text
    words = " ".join(plain_text(block.runs).split()) if block.kind == "content-ref" else ""
    name = words or file_label(_address(block)) or "file"
    return name.removesuffix(".md") if block.kind == "content-ref" else name


def _address(block: Block) -> str:
    return str(block.attrs.get("url") or block.attrs.get("src") or "")


def shown_text(block: Block, targets: LinkTargets | None = None) -> str:
    """Return the inline text that a block shows, with the name of a linked page or file. Empty for an OpenAPI block,
    and for a cell with a checkbox or rating. `targets` has the titles of pages."""
    if block.kind == "openapi" or "value" in block.attrs:
        return ""  # Octavo shows an operation instead of the text, and a symbol for a checkbox or rating.
    text = targets.text_of(block.runs) if targets is not None else plain_text(block.runs)
    if block.kind not in ("content-ref", "file"):
        return text
    name = link_block_text(block, targets.title_of(_address(block)) if targets is not None else None)
    return name if block.kind == "content-ref" else f"{name}\n{text}"


def render_include(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render reusable content below the name of its file. If no content is loaded, render only the name."""
    styles, target = context.styles, str(block.attrs.get("target") or "")
    is_elsewhere = target.startswith(("https://", "/s/"))
    clickable = Clickable("link", target) if is_elsewhere or ".gitbook/includes/" in target else None
    title = "another space" if is_elsewhere else file_label(target)
    name_pieces = [decoration(title, styles.link if clickable else styles.muted, clickable)]
    if not block.children:
        text = "Reusable content from "
        left = [decoration(f"{styles.glyphs.diamond} ", styles.muted), decoration(text, styles.text)]
        return render_bar(context, [*left, *name_pieces], [], width)
    rail = [decoration(styles.glyphs.dotted_vertical + " ", styles.muted)]
    head = [Line(part) for part in wrap([decoration("reusable content: ", styles.muted), *name_pieces], width - 2)]
    body = context.render_children(block, width - 2, may_be_wide=True)
    return indent([*head, *body] if has_start(block) else body, rail, rail)


def render_integration(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a block of an integration: its name, arguments, link, text and child blocks."""
    styles, name = context.styles, str(block.attrs.get("name") or "integration")
    if not has_start(block) and not block.text:
        return context.render_children(block, width)
    left = [decoration(f"{styles.glyphs.diamond} ", styles.muted), StyledText(name, styles.strong)]
    arguments = dict(block.attrs.get("arguments") or {})
    url = next((str(value) for key, value in arguments.items() if key in ("url", "src", "href")), "")
    result = []
    if has_start(block):
        result += render_bar(context, left, [decoration("integration", styles.muted)], width)
        result += _render_arguments(arguments, styles, width)
    if url and link_destination(url) is LinkDestination.OUTSIDE and has_start(block):
        rows = [Line(part) for part in wrap([StyledText(url, styles.link, Clickable("link", url))], width - 3)]
        result += indent(rows, blank := [decoration("   ")], blank)
    if block.text:
        rows = wrap_text(block.text, styles.text, width - 4)
        result += box(rows, width, styles, background=styles.panel, edges=(has_start(block), has_end(block)))
    return result + context.render_blocks(block.children, width)


def render_unknown(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a block of an unknown kind: its name, arguments and content."""
    styles = context.styles
    name = str(block.attrs.get("name") or block.kind)
    rows = _render_arguments(dict(block.attrs.get("arguments") or {}), styles, width - 4) if has_start(block) else []
    if block.text:
        rows += wrap_text(block.text, styles.text, width - 4)
    rows += context.text_lines(block.runs, width - 4) if block.runs else []
    rows += context.render_children(block, width - 4)
    title, rows = fit_title([StyledText(name, styles.strong)], rows, width)
    return box(
        rows,
        width,
        styles,
        title=title,
        right=[decoration("unknown block", styles.muted)],
        edges=(has_start(block), has_end(block)),
    )


def _render_arguments(arguments: dict[str, object], styles: Styles, width: int) -> list[Line]:
    lines = []
    for key, value in arguments.items():
        if key in ("url", "src", "href", "content"):
            continue
        text = " ".join(str(value).split())
        rows = wrap([StyledText(f"{key}  ", styles.muted), StyledText(text, styles.text)], width - 3)
        lines += [Line([decoration("   "), *row]) for row in rows]
    return lines


_MIN_CARD_WIDTH = 24
_UNLIMITED_WIDTH = 100_000
_MAX_CARD_ROW_WIDTH = 100
"""Maximum width in cells of a row of cards that is wider than the text of the page."""


def render_cards(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render cards, up to 3 side by side (2 large cards), but fewer if they do not fit or if words would break."""
    row_width = max(width, min(context.max_width(width), _MAX_CARD_ROW_WIDTH))
    max_per_row = min(2 if block.attrs.get("size") == "large" else 3, len(whole_block(block).children) or 1)
    cards_per_row = max(1, min(max_per_row, (row_width + 1) // (_MIN_CARD_WIDTH + 1)))
    if row_width > width and (width + 1) // (_MIN_CARD_WIDTH + 1) >= cards_per_row:
        row_width = width
    columns = visible_columns(block)
    has_column_titles = not block.attrs.get("titles_hidden") and any(column.has_title for _, column in columns)

    def longest_part(block: Block) -> int:
        cards = sample_rows(block).children
        bodies = [_card_text(card, columns, has_column_titles, _UNLIMITED_WIDTH, context)[0] for card in cards]
        return longest_word_part([cell_text(line) for body in bodies for line in body])

    least_width = context.shared_by_slices("words", whole_block(block), longest_part) + 4
    card_widths = {number: (row_width + 1) // number - 1 for number in range(cards_per_row, 0, -1)}
    cards_per_row = next((number for number, wide in card_widths.items() if wide >= least_width), cards_per_row)
    card_width = card_widths[cards_per_row]
    all_lines: list[Line] = []
    for start in range(0, len(block.children), cards_per_row):
        group = block.children[start : start + cards_per_row]
        bodies = [_card_text(card, columns, has_column_titles, card_width - 4, context) for card in group]
        height = max(len(lines) for lines, _ in bodies)
        framed = [
            _card_frame(*body, card, card_width, height, context) for body, card in zip(bodies, group, strict=True)
        ]
        all_lines += side_by_side(framed, [card_width] * len(group), decoration(" "))
    return all_lines


def _card_text(
    card: Block, columns: list[tuple[int, TableColumn]], has_column_titles: bool, width: int, context: LayoutContext
) -> tuple[list[list[StyledText]], range]:
    """Return the lines of a card, and the range of its heading lines. `has_column_titles` adds titles above cells."""
    styles = context.styles
    lines: list[list[StyledText]] = []
    icons: list[StyledText] = []
    title = range(0)
    for index, column in columns:
        if index >= len(card.children):
            continue
        pieces = cell_pieces(
            card.children[index], column, styles, None if title else styles.strong, context.link_targets
        )
        if not any(piece.text.strip() for piece in pieces):
            continue
        runs = [run for run in card.children[index].runs if run.text.strip() or run.kind == "icon"]
        column_title = plain_text(column.title).strip() if has_column_titles else ""
        if all(run.kind in ("icon", "emoji") for run in runs) and not column_title:
            icons += [*pieces, decoration(" ")]
            continue
        lines += [[]] if lines and has_column_titles else []
        lines += (
            wrap(render_runs(column.title, styles, styles.muted, context.link_targets), width) if column_title else []
        )
        first_line = len(lines)
        lines += wrap_items([*icons, *pieces], width)
        title, icons = title or range(first_line, len(lines)), []
    if icons:
        lines += wrap(icons, width)
    if not lines and card.attrs.get("target"):
        target = str(card.attrs["target"])
        title_of_target = context.title_of(target)
        text = (title_of_target.text if title_of_target is not None else "") or file_label(target).removesuffix(".md")
        lines = wrap([StyledText(text, styles.strong)], width)
        title = range(len(lines))
    return lines, title


def _card_frame(
    lines: list[list[StyledText]], heading: range, card: Block, card_width: int, height: int, context: LayoutContext
) -> list[Line]:
    styles, target, cover = context.styles, str(card.attrs.get("target") or ""), card.attrs.get("cover")
    clickable = Clickable("link", target) if target else None
    title = [] if lines or clickable else [decoration("empty", styles.muted)]
    if cover:
        name = file_label(str(cover))
        cover_name = f"{styles.glyphs.image} {name if cells(name) <= card_width - 8 else 'cover'}"
        title = [decoration(cover_name, styles.muted + Style(italic=True), Clickable("image", str(cover)))]
    is_broken = link_destination(target, context.link_targets) is LinkDestination.BROKEN
    sign, color = (styles.glyphs.no, styles.error) if is_broken else (styles.glyphs.arrow, styles.accent)
    foot = [decoration(sign, color, clickable)] if clickable else []
    heading_style = styles.error + Style(underline=True) if is_broken else styles.link
    rows = []
    for index, line in enumerate([*lines, *[[] for _ in range(height - len(lines))]]):
        rows.append(
            Line(
                [
                    piece
                    if piece.clickable or clickable is None or not piece.text.strip()
                    else piece._replace(
                        clickable=clickable, style=piece.style + heading_style if index in heading else piece.style
                    )
                    for piece in line
                ]
            )
        )
    framed = box(rows, card_width, styles, title=title, foot=foot)
    for framed_line in framed:
        framed_line.block = whole_block(card)
    return framed


_MAX_IMAGE_WIDTH = 64
_MIN_IMAGE_WIDTH = 24
"""Minimum width in cells of an image whose width is set in the page."""
_MIN_WIDTH_IN_ROW = 28
"""Minimum width in cells of images side by side. If there is less room, they are below each other."""
_IMAGE_GAP = 2
_PIXELS_PER_CELL = 9
"""Assumed width of a cell in pixels, to convert image widths that are set in the page."""
_MAX_THUMBNAIL_ROWS = 14

_COPY_NUMBERS = re.compile(r"(?: +\(1?\)?)+(?=[ .])")
_NON_WORDS = re.compile(r"[\W_]+")
_CSS_LENGTH = re.compile(r"\s*(\d{1,5})(?:\.\d*)?\s*(px|%)?\s*")


def render_figure(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render the images of a figure, side by side if they fit."""
    images = [child for child in block.children if child.kind == "image"]
    per_row = min(len(whole_block(block).children), 3, (width + _IMAGE_GAP) // (_MIN_WIDTH_IN_ROW + _IMAGE_GAP))
    align = str(block.attrs.get("align") or "")
    lines: list[Line] = []
    if per_row < 2:
        for image in images:
            lines += [
                *([Line([])] if lines or not has_start(block) else []),
                *_align(render_image(context, image, width), align, width),
            ]
        return lines
    image_width = (width - _IMAGE_GAP * (per_row - 1)) // per_row
    for start in range(0, len(images), per_row):
        row = images[start : start + per_row]
        max_lines = max(len(_frame_lines(context, image, image_width, None)) for image in row)
        lines += [Line([])] if lines or not has_start(block) else []
        frames = [_image_frame(context, image, image_width, max_lines) for image in row]
        joined_lines = side_by_side(frames, [image_width] * len(row), decoration(" " * _IMAGE_GAP))
        lines += [Line(line.pieces) for line in joined_lines]
    return lines


def render_image(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a frame for an image, with the width that the page sets (within limits), and the caption below."""
    match = _CSS_LENGTH.fullmatch(str(block.attrs.get("width") or ""))
    frame_width = min(width, _MAX_IMAGE_WIDTH)
    if match is not None:
        given_width = int(match[1]) * width // 100 if match[2] == "%" else int(match[1]) // _PIXELS_PER_CELL
        frame_width = min(width, max(_MIN_IMAGE_WIDTH, min(given_width, _MAX_IMAGE_WIDTH)))
    return _image_frame(context, block, frame_width)


def _image_frame(context: LayoutContext, block: Block, width: int, min_lines: int = 0) -> list[Line]:
    styles, glyphs = context.styles, context.styles.glyphs
    src = str(block.attrs.get("src") or "")
    clickable = Clickable("image", src)
    problem, details = _image_problem_and_details(context, src)
    rows = _frame_lines(context, block, width, clickable)
    rows += [Line([]) for _ in range(min_lines - len(rows))]
    sign = decoration(
        f"{glyphs.no if problem else glyphs.image} ", styles.error if problem else styles.muted, clickable
    )
    right = [decoration(details, styles.muted)] if details else []
    title = [sign, *_image_name(context, block, width, clickable, width_of(right))]
    result = box(rows, width, styles, title=title, right=right)
    caption = [] if is_caption_in_frame(block) else wrap(_caption_pieces(context, block), width - 4)
    return result + [Line([decoration("  "), *line]) for line in caption if line]


def _caption_pieces(context: LayoutContext, block: Block) -> list[StyledText]:
    return context.styled_runs(block.runs, context.styles.muted + Style(italic=True))


def is_caption_in_frame(block: Block) -> bool:
    """Return True if the caption of an image is in its frame, because the alternative text is missing or the same."""
    alt, caption = (_NON_WORDS.sub("", fold(text)) for text in (_alternative_text(block), plain_text(block.runs)))
    return bool(caption) and (not alt or alt == caption)


def _alternative_text(block: Block) -> str:
    return flatten_emoji(" ".join(str(block.attrs.get("alt") or "").split()))


def _image_name(
    context: LayoutContext, block: Block, width: int, clickable: Clickable, details_width: int
) -> list[StyledText]:
    """Return the title of an image: its file name, or `image` if a line inside the frame shows that name. The middle of
    a long name is left out, so that details of `details_width` cells fit too."""
    styles, src = context.styles, str(block.attrs.get("src") or "")
    name = _shown_name(src, width)
    if not name and (is_caption_in_frame(block) or _alternative_text(block) or {".", " "}.isdisjoint(file_label(src))):
        name = _COPY_NUMBERS.sub("", file_label(src))
    pieces = [decoration(name or "image", styles.muted, clickable)]
    if (total := width_of(pieces)) <= width - 8:
        return pieces
    more = decoration(styles.glyphs.ellipsis, styles.muted, clickable)
    available_width = max(width - 8 - (details_width + 3 if details_width else 0), 12)
    end_width = available_width // 2
    return [
        *crop(pieces, 0, available_width - end_width - cells(more.text)),
        more,
        *crop(pieces, total - end_width, total),
    ]


def _shown_name(src: str, width: int) -> str:
    name = file_label(src)
    if cells(name) > width - 8:
        name = _COPY_NUMBERS.sub("", name)
    return name if cells(name) <= width - 8 else ""


def _frame_lines(context: LayoutContext, block: Block, width: int, clickable: Clickable | None) -> list[Line]:
    styles, src = context.styles, str(block.attrs.get("src") or "")
    alt = _alternative_text(block)
    if is_caption_in_frame(block):
        pieces = [
            piece if piece.clickable else piece._replace(clickable=clickable)
            for piece in _caption_pieces(context, block)
        ]
    elif alt:
        pieces = [StyledText(alt, styles.text, clickable)]
    else:
        label = "" if _shown_name(src, width) or {".", " "}.isdisjoint(file_label(src)) else file_label(src)
        pieces = [decoration(label or "no alternative text", styles.muted, clickable)]
    rows = wrap(pieces, width - 4)
    if link := str(block.attrs.get("link") or ""):
        linked = context.styled_runs((Run(alt or link.partition("://")[2] or link, link=link),))
        rows = [*([] if alt else rows), *wrap(linked, width - 4)]
    if problem := _image_problem_and_details(context, src)[0]:
        rows += wrap([decoration(problem, styles.error)], width - 4)
    return _render_thumbnail(context, src, width - 4) + [Line(pieces) for pieces in rows]


def _image_problem_and_details(context: LayoutContext, src: str) -> tuple[str, str]:
    """Return why an image cannot be shown, and its details: the host of an external image, else its type and size. Each
    is empty if there is nothing to say."""
    destination = link_destination(src)
    if destination is LinkDestination.OUTSIDE:
        return "", host_of(src)
    title = context.title_of(src) if src else None
    if title is not None:
        return (as_clause(title.problem) if title.problem else ""), title.location
    return ("this image was deleted" if destination is LinkDestination.BROKEN and src else ""), ""


def _render_thumbnail(context: LayoutContext, src: str, columns: int) -> list[Line]:
    cache = context.deferred.thumbnails if context.deferred is not None else None
    targets = context.link_targets
    if (
        cache is None
        or targets is None
        or context.styles.is_monochrome
        or context.styles.ascii
        or link_destination(src) is LinkDestination.BROKEN
    ):
        return []

    thumbnail = cache.get(
        ThumbnailQuery(targets.context.content_ref, targets.resolve(src), columns, _MAX_THUMBNAIL_ROWS)
    )
    if thumbnail is None or not thumbnail.pixels:
        return []
    left_margin = (columns - thumbnail.columns) // 2
    margin_pieces = [decoration(" " * left_margin)] if left_margin > 0 else []
    return [Line([*margin_pieces, *row]) for row in render_half_blocks(thumbnail)]


def _align(lines: list[Line], align: str, width: int) -> list[Line]:
    spare_width = width - max((width_of(line.pieces) for line in lines), default=width)
    left_margin = spare_width if align == "right" else spare_width // 2 if align == "center" else 0
    return [Line([decoration(" " * left_margin), *line.pieces]) for line in lines] if left_margin > 0 else lines


@dataclass(frozen=True)
class ImageReference:
    """An image on a page."""

    src: str
    alt: str = ""
    caption: str = ""
    dark: str = ""
    """URL of the variant for dark themes. Empty if there is none."""

    def source_for(self, *, dark: bool) -> str:
        """Return the URL of the image for a dark or a light theme. Without a dark variant, both are the same."""
        return self.dark if dark and self.dark else self.src


def page_images(blocks: Iterable[Block]) -> tuple[ImageReference, ...]:
    """Return the images of a page in reading order. An image that is used several times occurs once."""
    images: dict[str, ImageReference] = {}
    for block in blocks:
        for each in block.walk():
            for picture in _block_images(each):
                if picture.src:
                    images.setdefault(picture.src, picture)
    return tuple(images.values())


def _block_images(block: Block) -> Iterator[ImageReference]:
    attrs = block.attrs
    if block.kind == "image":
        yield ImageReference(
            _line(attrs.get("src")), _line(attrs.get("alt")), _line(plain_text(block.runs)), _line(attrs.get("dark"))
        )
    elif block.kind == "card" and attrs.get("cover"):
        yield ImageReference(_line(attrs.get("cover")), dark=_line(attrs.get("cover_dark")))
    for run in block.runs:
        if run.kind == "image":
            yield ImageReference(_line(run.attrs.get("src")), _line(run.text), dark=_line(run.attrs.get("dark")))


def _line(value: object) -> str:
    return " ".join(str(value or "").split())


def render_half_blocks(image: ScaledPicture) -> list[list[StyledText]]:
    """Render an image with `▀` characters. A cell shows two pixels: foreground (upper) and background (lower)."""
    rows: list[list[StyledText]] = []
    row_bytes, data = image.columns * 3, image.pixels
    for top in range(0, image.rows, 2):
        upper = data[top * row_bytes : (top + 1) * row_bytes]
        lower = data[(top + 1) * row_bytes : (top + 2) * row_bytes]
        row: list[StyledText] = []
        start = 0
        for start_of_pixel in range(0, row_bytes, 3):
            next_pixel = start_of_pixel + 3
            if (
                next_pixel < row_bytes
                and upper[start_of_pixel:next_pixel] == upper[next_pixel : next_pixel + 3]
                and lower[start_of_pixel:next_pixel] == lower[next_pixel : next_pixel + 3]
            ):
                continue
            style = Style(
                color=_pixel_color(upper[start_of_pixel:next_pixel]),
                bgcolor=_pixel_color(lower[start_of_pixel:next_pixel]) if lower else None,
            )
            row.append(decoration("▀" * ((next_pixel - start) // 3), style))
            start = next_pixel
        rows.append(row)
    return rows


@lru_cache(maxsize=4096)  # A color takes 400 bytes. Without a limit, the colors of photographs would take 25 MB.
def _pixel_color(pixel: bytes) -> Color:
    # `Color.from_rgb` does the same, but takes ten times as long.
    return Color(f"#{pixel.hex()}", ColorType.TRUECOLOR, None, ColorTriplet(*pixel))
