"""Creates PDF files from pages, with the library reportlab.

Each page of the space starts on a new sheet. Links between pages work inside the PDF. Characters that are not in the
main typeface are printed in another typeface.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from PIL import Image as PillowImage
from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_CENTER
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFError, TTFont, TTFontFace
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import (
    BaseDocTemplate,
    Flowable,
    Frame,
    HRFlowable,
    Image,
    Indenter,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
    XPreformatted,
)

from octavo.documents import links, page_trees
from octavo.documents.blocks import Block, Run
from octavo.documents.links import SpaceIndex
from octavo.documents.page_trees import Pages
from octavo.documents.source_reader import parse
from octavo.server.store import Json

BODY = "Vera"
MONO = "Courier"

_FONT_FOLDERS = (Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), Path("/System/Library/Fonts/Supplemental"))
_SYSTEM_FONTS = (
    *("DejaVuSans.ttf", "NotoSans-Regular.ttf", "LiberationSans-Regular.ttf", "FreeSans.ttf", "Arial Unicode.ttf"),
)
_CJK_FONTS = (
    ("HeiseiKakuGo-W5", ((0x3040, 0x30FF),)),
    ("HYGothic-Medium", ((0x1100, 0x11FF), (0xAC00, 0xD7AF))),
    ("STSong-Light", ((0x2E80, 0x303F), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0xFF00, 0xFFEF))),
)
"""Typefaces for Chinese, Japanese and Korean, which PDF readers provide, and the ranges of their characters."""
_MISSING_GLYPH = "?"
"""Character printed for a character that is in no typeface."""


def typeset(text: str, *, is_code: bool = False) -> str:
    """Return `text` as markup for a paragraph of reportlab. Each character gets a typeface that contains it. If
    `is_code`, the typeface of code is used where possible."""
    first_typeface = MONO if is_code else BODY
    parts = []
    for name, group in groupby(text, lambda letter: _typeface_of(letter, first_typeface)):
        letters = "".join(group)
        markup = escape(letters) if name else _MISSING_GLYPH * len(letters)
        parts.append(markup if name in (BODY, None) else f'<font name="{name}">{markup}</font>')
    return "".join(parts)


def _register_typefaces() -> None:
    for suffix in ("", "Bd", "It", "BI"):
        pdfmetrics.registerFont(TTFont(f"Vera{suffix}", f"Vera{suffix}.ttf"))
    pdfmetrics.registerFontFamily("Vera", "Vera", "VeraBd", "VeraIt", "VeraBI")
    for name, _ in _CJK_FONTS:
        pdfmetrics.registerFont(UnicodeCIDFont(name))


@cache
def _typeface_of(letter: str, preferred_typeface: str) -> str | None:
    point = ord(letter)
    if preferred_typeface == MONO and point < 0x100 and letter.isprintable():
        return MONO
    if point in _characters_of(BODY) or letter.isspace():
        return BODY
    for name, ranges in _CJK_FONTS:
        if any(low <= point <= high for low, high in ranges):
            return name
    return next((name for name in _system_typefaces() if point in _characters_of(name)), None)


@cache
def _system_typefaces() -> tuple[str, ...]:
    names = []
    for file_name in _SYSTEM_FONTS:
        path = next((path for folder in _FONT_FOLDERS if folder.is_dir() for path in folder.rglob(file_name)), None)
        if path is None:
            continue
        try:
            pdfmetrics.registerFont(TTFont(path.stem, str(path)))
        except (TTFError, OSError):
            continue
        pdfmetrics.registerFontFamily(path.stem, path.stem, path.stem, path.stem, path.stem)
        names.append(path.stem)
    return tuple(names)


@cache
def _characters_of(name: str) -> frozenset[int]:
    face: TTFontFace = getattr(pdfmetrics.getFont(name), "face")  # noqa: B009  # only typefaces of this kind have one
    return frozenset(face.charToGlyph)


_register_typefaces()


WIDTH = A4[0] - 40 * mm
"""Width of the text on a sheet, in points."""
PIXEL_LIMIT = 25_000_000
"""Maximum number of pixels of an image. A larger image is not printed."""
INDENT_LIMIT = 6
"""Maximum number of levels by which nested blocks are indented."""
_INDENT = 12
_CODE_LINE_WIDTH = 88
"""Maximum number of characters on a line of code. Characters beyond Latin-1 count twice. A longer line is split."""
_TEXT_LENGTH = 1 << 20
"""Maximum number of characters that are printed of a text that is not split, such as a cell of a card."""
_PARAGRAPH_LENGTH = 10_000
"""Maximum number of characters in a paragraph. Longer texts are split: reportlab prints long paragraphs slowly."""
_COLUMN_WIDTH = 24
"""Minimum width of a table column, in points. A table that is too wide is printed as several tables."""
_CELL_LENGTH = 8000
"""Maximum number of characters in a table cell. More would not fit."""

_TEXT = ParagraphStyle("text", fontName=BODY, fontSize=10, leading=14, spaceAfter=6)
_SMALL = ParagraphStyle("small", _TEXT, fontSize=8.5, leading=12, textColor=HexColor("#555555"))
_CAPTION = ParagraphStyle("caption", _SMALL, alignment=TA_CENTER)
_CODE = ParagraphStyle(
    "code",
    fontName=MONO,
    fontSize=8,
    leading=10.5,
    backColor=HexColor("#f4f4f4"),
    borderPadding=4,
    spaceBefore=6,
    spaceAfter=10,
)
_HEADINGS = [
    ParagraphStyle(f"h{level}", _TEXT, fontSize=size, leading=size * 1.25, spaceBefore=10, spaceAfter=6, keepWithNext=1)
    for level, size in enumerate((20, 16, 13, 11.5, 10.5, 10), start=1)
]
_GRID = TableStyle([("GRID", (0, 0), (-1, -1), 0.4, HexColor("#bbbbbb")), ("VALIGN", (0, 0), (-1, -1), "TOP")])
_MARKS = {"bold": "b", "italic": "i", "strike": "strike", "underline": "u", "sub": "sub", "sup": "super"}


@dataclass
class PdfBook:
    """Pages for a PDF. `texts` has Markdown by page ID. `pictures` has functions by file ID that read images."""

    title: str
    pages: Pages
    texts: Mapping[str, str]
    link_targets: SpaceIndex
    pictures: Mapping[str, Callable[[], bytes]]
    _page: Json = field(default_factory=dict)
    _depth: int = 0
    _width: float = WIDTH
    """Width for the current block, in points. It is smaller inside other blocks."""

    def to_bytes(self) -> bytes:
        """Return the PDF file."""
        buffer = BytesIO()
        document = _DocumentTemplate(buffer, self.title)
        document.build(list(self._flowables()) or [Spacer(1, 1)])
        return buffer.getvalue()

    def _flowables(self) -> Iterator[Flowable]:
        depths = {
            page["id"]: len(page_trees.path_to(self.pages, page["id"])) - 1 for page in page_trees.walk(self.pages)
        }
        for number, page in enumerate(page_trees.walk(self.pages)):
            if number:
                yield PageBreak()
            self._page = page
            yield _Bookmark(page["id"], page["title"], depths[page["id"]])
            text = self.texts.get(page["id"], "")
            if page_trees.leading_heading(text) != page["title"]:
                yield Paragraph(f"<b>{typeset(page['title'])}</b>", _HEADINGS[0])
            if page.get("description"):
                yield Paragraph(typeset(page["description"]), _SMALL)
            yield from self._blocks(parse(text).blocks)

    def _blocks(self, blocks: tuple[Block, ...]) -> Iterator[Flowable]:
        for block in _short_blocks(blocks):
            render = getattr(self, "_" + block.kind.replace("-", "_"), None)
            yield from (render or self._other_block)(block)

    def _indented(self, blocks: tuple[Block, ...], indent: float = _INDENT) -> Iterator[Flowable]:
        indent = indent if self._depth < INDENT_LIMIT else 0
        self._depth, self._width = self._depth + 1, self._width - indent
        yield Indenter(left=indent)
        yield from self._blocks(blocks)
        yield Indenter(left=-indent)
        self._depth, self._width = self._depth - 1, self._width + indent

    def _heading(self, block: Block) -> Iterator[Flowable]:
        style = _HEADINGS[min(int(block.attrs.get("level", 1)), len(_HEADINGS)) - 1]
        yield Paragraph(f"<b>{self._markup(block.runs)}</b>", style)

    def _list(self, block: Block) -> Iterator[Flowable]:
        number = int(block.attrs.get("start", 1))
        for item in block.children:
            marker = f"{number}." if block.attrs.get("ordered") else "\u2022"
            if item.kind == "task":
                marker = "[x]" if item.attrs.get("checked") else "[ ]"
            number += 1
            yield from self._list_item(marker, item.children)

    def _list_item(self, marker: str, blocks: tuple[Block, ...]) -> Iterator[Flowable]:
        """Yield the parts of a list item. `marker` is its bullet, number or check box, beside the first line."""
        first, *others = [*_short_blocks(blocks)] or [Block("paragraph")]
        has_text = bool(first.runs) and not first.children
        text, remaining = (self._markup(first.runs), tuple(others)) if has_text else ("", blocks)
        indent = 18.0
        style = ParagraphStyle("item", _TEXT, leftIndent=indent, bulletIndent=4, spaceAfter=3)
        yield Paragraph(text, style, bulletText=marker)
        yield from self._indented(remaining, indent)

    def _quote(self, block: Block) -> Iterator[Flowable]:
        return self._indented(block.children)

    def _code(self, block: Block) -> Iterator[Flowable]:
        if block.attrs.get("title"):
            yield Paragraph(typeset(str(block.attrs["title"])), _SMALL)
        lines = [piece for line in block.text.expandtabs(4).split("\n") for piece in _split_code(line)]
        for start in range(0, len(lines), 50):
            yield XPreformatted("\n".join(typeset(line, is_code=True) for line in lines[start : start + 50]), _CODE)

    _math = _code

    def _divider(self, block: Block) -> Iterator[Flowable]:
        yield HRFlowable(width="100%", color=HexColor("#bbbbbb"), spaceBefore=6, spaceAfter=6)

    def _table(self, block: Block) -> Iterator[Flowable]:
        columns = block.attrs.get("columns", ())
        head = [Paragraph(f"<b>{self._markup(column.title)}</b>", _SMALL) for column in columns]
        rows = [[Paragraph(self._cell(cell, _CELL_LENGTH), _SMALL) for cell in row.children] for row in block.children]
        if not block.attrs.get("header_hidden"):
            rows.insert(0, head)
        column_count = max(map(len, rows), default=0)
        if not column_count:
            return
        padded_rows: list[list[Any]] = [row + [""] * (column_count - len(row)) for row in rows]
        columns_per_part = min(column_count, int(self._width / _COLUMN_WIDTH))
        for start in range(0, column_count, columns_per_part):
            rows_of_part = [row[start : start + columns_per_part] for row in padded_rows]
            widths = [self._width / columns_per_part] * len(rows_of_part[0])
            yield Table(rows_of_part, colWidths=widths, style=_GRID, hAlign="LEFT", repeatRows=0, splitInRow=1)
            yield Spacer(1, 8)

    def _cell(self, cell: Block, limit: int = _TEXT_LENGTH) -> str:
        value = cell.attrs.get("value")
        if isinstance(value, bool):
            return "[x]" if value else "[ ]"
        return self._markup(cell.runs, limit)

    def _card(self, block: Block) -> Iterator[Flowable]:
        for cell in block.children:
            if cell.runs:
                yield Paragraph(self._cell(cell), _TEXT)
        yield Spacer(1, 6)

    def _hint(self, block: Block) -> Iterator[Flowable]:
        style = str(block.attrs.get("style") or "info")
        yield Paragraph(f"<b>{typeset(style.capitalize())}</b>", _SMALL)
        yield from self._indented(block.children)

    def _image(self, block: Block) -> Iterator[Flowable]:
        text = self._markup(block.runs) or typeset(str(block.attrs.get("alt") or ""))
        picture = self._picture(str(block.attrs.get("src") or ""))
        if picture is not None:
            yield picture
        else:
            text = f"[{text or 'Picture'}]"
        if text:
            yield Paragraph(text, _CAPTION)

    def _picture(self, address: str) -> Flowable | None:
        match links.resolve(address, page_trees.link_base(self._page), self.link_targets):
            case links.FileLink(file_id=name) if name in self.pictures:
                return _load_image(self.pictures[name](), self._width)
        return None

    def _include(self, block: Block) -> Iterator[Flowable]:
        yield from self._blocks(block.children) if block.children else self._other_block(block)

    def _other_block(self, block: Block) -> Iterator[Flowable]:
        """Yield the parts of a block whose kind has no method of its own."""
        attrs = block.attrs
        title = attrs.get("title") or attrs.get("name") or attrs.get("summary") or attrs.get("description")
        if title and block.kind not in ("paragraph", "unknown"):
            yield Paragraph(f"<b>{typeset(str(title))}</b>", _TEXT)
        if attrs.get("path"):  # the block shows an OpenAPI operation
            yield Paragraph(
                typeset(f"{attrs.get('method') or 'get'} ".upper() + str(attrs["path"]), is_code=True), _TEXT
            )
        address = attrs.get("url") or attrs.get("src") or attrs.get("target")
        if block.runs:
            text = self._markup(block.runs)
            yield Paragraph(self._link(text, str(address)) if address else text, _TEXT)
        elif address:
            yield Paragraph(self._link(typeset(str(address)), str(address)), _TEXT)
        if block.text:
            yield from self._code(Block("code", text=block.text))
        yield from self._blocks(block.children) if block.runs or not title else self._indented(block.children)

    def _markup(self, runs: tuple[Run, ...], limit: int = _TEXT_LENGTH) -> str:
        parts = []
        for run in runs:
            text = "<br/>" if run.kind == "break" else typeset(run.text[:limit], is_code=run.kind in ("code", "math"))
            if run.kind == "image":
                text = f"[{text or 'picture'}]"
            for mark, tag in _MARKS.items():
                if mark in run.marks:
                    text = f"<{tag}>{text}</{tag}>"
            parts.append(self._link(text, run.link) if run.link and text else text)
            limit -= len(run.text)
            if limit <= 0:
                break
        return "".join(parts)

    def _link(self, text: str, address: str) -> str:
        match links.resolve(address, page_trees.link_base(self._page), self.link_targets):
            case links.PageLink(page_id=name) if page_trees.find_page(self.pages, name):
                href = f"#{name}"
            case links.UrlLink(url=url):
                href = url
            case _:
                return text
        return f'<a href={quoteattr(href)} color="#1f5fbf">{text}</a>'


def _short_blocks(blocks: tuple[Block, ...]) -> Iterator[Block]:
    """Yield the blocks. A block without children that has a long text is split into several blocks."""
    for block in blocks:
        if block.children or sum(len(run.text) for run in block.runs) <= _PARAGRAPH_LENGTH:
            yield block
            continue
        runs: list[Run] = []
        length = 0
        for piece in (piece for run in block.runs for piece in _split_run(run)):
            if runs and length + len(piece.text) > _PARAGRAPH_LENGTH:
                yield block._replace(runs=tuple(runs))
                runs, length = [], 0
            runs.append(piece)
            length += len(piece.text)
        yield block._replace(runs=tuple(runs))


def _split_run(run: Run) -> Iterator[Run]:
    """Yield parts of a run with at most `_PARAGRAPH_LENGTH` characters. Splits after a space if possible."""
    remaining_text = run.text
    while len(remaining_text) > _PARAGRAPH_LENGTH:
        end = remaining_text.rfind(" ", 0, _PARAGRAPH_LENGTH) + 1 or _PARAGRAPH_LENGTH
        yield run._replace(text=remaining_text[:end])
        remaining_text = remaining_text[end:]
    yield run._replace(text=remaining_text)


def _split_code(line: str) -> Iterator[str]:
    """Yield a line of code as lines that fit on the sheet."""
    start = width = 0
    for index, letter in enumerate(line):
        width += 1 if ord(letter) < 0x100 else 2
        if width > _CODE_LINE_WIDTH:
            yield line[start:index]
            start, width = index, 1 if ord(letter) < 0x100 else 2
    yield line[start:]


def _load_image(data: bytes, available_width: float) -> Flowable | None:
    """Return an image in a size that fits on the sheet. None if `data` is damaged or has too many pixels."""
    try:
        with PillowImage.open(BytesIO(data), formats=("PNG", "JPEG", "GIF", "WEBP")) as picture:
            width, height = picture.size
            if not 0 < width * height <= PIXEL_LIMIT:
                return None
            plain = BytesIO()
            picture.convert("RGBA" if "A" in picture.getbands() or "transparency" in picture.info else "RGB").save(
                plain, "PNG"
            )
    except (OSError, ValueError, SyntaxError, PillowImage.DecompressionBombError):
        return None
    scale = min(available_width / (width * 0.75), 160 * mm / (height * 0.75), 1)
    plain.seek(0)
    return Image(plain, width * 0.75 * scale, height * 0.75 * scale)


class _Bookmark(Flowable):
    def __init__(self, name: str, title: str, depth: int) -> None:
        super().__init__()
        self.entry = (name, title, depth)

    def wrap(self, width: float, height: float) -> tuple[float, float]:
        return 0, 0

    def draw(self) -> None:
        name, title, depth = self.entry
        canvas: Canvas = self.canv
        canvas.bookmarkPage(name)
        canvas.addOutlineEntry(title, name, depth, closed=depth > 0)


class _DocumentTemplate(BaseDocTemplate):
    def __init__(self, buffer: BytesIO, title: str) -> None:
        super().__init__(buffer, pagesize=A4, title=title, author="", creator="Octavo", invariant=1)
        frame = Frame(20 * mm, 20 * mm, WIDTH, A4[1] - 40 * mm, 0, 0, 0, 0)
        self._title = Paragraph(typeset(title), _SMALL)
        self.addPageTemplates(PageTemplate(frames=[frame], onPage=self._draw_footer))

    def _draw_footer(self, canvas: Canvas, document: BaseDocTemplate) -> None:
        self._title.wrapOn(canvas, WIDTH - 20 * mm, 10 * mm)
        self._title.drawOn(canvas, 20 * mm, 10 * mm)
        canvas.setFont(BODY, 8.5)
        canvas.drawRightString(20 * mm + WIDTH, 12 * mm, str(canvas.getPageNumber()))
