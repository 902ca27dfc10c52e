"""Pages as PDF, set by reportlab. Each document begins a sheet; links between pages lead within the PDF."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from xml.sax.saxutils import quoteattr

from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_CENTER
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
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
    Preformatted,
    Spacer,
    Table,
    TableStyle,
)

from octavo.documents import links, page_trees
from octavo.documents.blocks import Block, Run
from octavo.documents.links import LinkTargets
from octavo.documents.page_trees import Pages
from octavo.documents.parse import parse
from octavo.server.store import Json
from octavo.server.typefaces import BODY, MONO, typeset

WIDTH = A4[0] - 40 * mm
"""Of what is printed on a sheet, in points."""
MOST_PIXELS = 25_000_000
"""Larger pictures are named and not shown: unpacked they take four bytes for each."""
DEEPEST = 6
"""What stands deeper is set no further in."""
_INDENT = 12
_LINE = 88
"""Characters of a line of code."""
_CELL = 8000
"""Characters of a cell of a table: a longer one has no place on a sheet."""

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
_GRID = TableStyle(
    [("GRID", (0, 0), (-1, -1), 0.4, HexColor("#bbbbbb")), ("VALIGN", (0, 0), (-1, -1), "TOP")],
)
_MARKS = {"bold": "b", "italic": "i", "strike": "strike", "underline": "u", "sub": "sub", "sup": "super"}


@dataclass
class Book:
    """Pages to print. `texts` are what documents say by id, `pictures` give the bytes of pictures by id of the file."""

    title: str
    pages: Pages
    texts: Mapping[str, str]
    places: LinkTargets
    pictures: Mapping[str, Callable[[], bytes]]
    _page: Json = field(default_factory=dict)
    _depth: int = 0

    def made(self) -> bytes:
        """The PDF."""
        buffer = BytesIO()
        document = _Document(buffer, self.title)
        document.build(list(self._story()) or [Spacer(1, 1)])
        return buffer.getvalue()

    def _story(self) -> Iterator[Flowable]:
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
        for block in blocks:
            setting = getattr(self, "_" + block.kind.replace("-", "_"), None)
            yield from (setting or self._other)(block)

    def _within(self, blocks: tuple[Block, ...], by: float = _INDENT) -> Iterator[Flowable]:
        """Blocks set further in."""
        by = by if self._depth < DEEPEST else 0
        self._depth += 1
        yield Indenter(left=by)
        yield from self._blocks(blocks)
        yield Indenter(left=-by)
        self._depth -= 1

    def _heading(self, block: Block) -> Iterator[Flowable]:
        style = _HEADINGS[min(int(block.attrs.get("level", 1)), len(_HEADINGS)) - 1]
        yield Paragraph(f"<b>{self._runs(block.runs)}</b>", style)

    def _list(self, block: Block) -> Iterator[Flowable]:
        number = int(block.attrs.get("start") or 1)
        for item in block.children:
            sign = f"{number}." if block.attrs.get("ordered") else "\u2022"
            if item.kind == "task":
                sign = "[x]" if item.attrs.get("checked") else "[ ]"
            number += 1
            yield from self._signed(sign, item.children)

    def _signed(self, sign: str, blocks: tuple[Block, ...]) -> Iterator[Flowable]:
        """Blocks beside a sign. The first of them is on its line, when it is words."""
        first, *others = blocks or (Block("paragraph"),)
        rest = tuple(others)
        words = ""
        if first.runs and not first.children:
            words = self._runs(first.runs)
        else:
            rest = blocks
        by = 18.0
        style = ParagraphStyle("item", _TEXT, leftIndent=by, bulletIndent=4, spaceAfter=3)
        yield Paragraph(words, style, bulletText=sign)
        yield from self._within(rest, by)

    def _quote(self, block: Block) -> Iterator[Flowable]:
        return self._within(block.children)

    def _code(self, block: Block) -> Iterator[Flowable]:
        if block.attrs.get("title"):
            yield Paragraph(typeset(str(block.attrs["title"])), _SMALL)
        whole = block.text.expandtabs(4).split("\n")
        lines = [line[start : start + _LINE] for line in whole for start in range(0, max(len(line), 1), _LINE)]
        for first in range(0, len(lines), 50):
            yield Preformatted(
                "\n".join(line.encode("cp1252", "replace").decode("cp1252") for line in lines[first : first + 50]),
                _CODE,
            )

    def _math(self, block: Block) -> Iterator[Flowable]:
        return self._code(block)

    def _divider(self, block: Block) -> Iterator[Flowable]:
        yield HRFlowable(width="100%", color=HexColor("#bbbbbb"), spaceBefore=6, spaceAfter=6)

    def _table(self, block: Block) -> Iterator[Flowable]:
        columns = block.attrs.get("columns", ())
        head = [Paragraph(f"<b>{self._runs(column.title)}</b>", _SMALL) for column in columns]
        rows = [[Paragraph(self._cell(cell), _SMALL) for cell in row.children] for row in block.children]
        if not block.attrs.get("header_hidden"):
            rows.insert(0, head)
        width = max(map(len, rows), default=0)
        if not width:
            return
        full: list[list[Any]] = [row + [""] * (width - len(row)) for row in rows]
        yield Table(full, colWidths=[WIDTH / width] * width, style=_GRID, repeatRows=0, splitInRow=1)
        yield Spacer(1, 8)

    def _cell(self, cell: Block) -> str:
        value = cell.attrs.get("value")
        said = {True: "[x]", False: "[ ]"}.get(value, str(value)) if value is not None else ""
        return self._runs(cell.runs, _CELL) or said

    def _card(self, block: Block) -> Iterator[Flowable]:
        for cell in block.children:
            if cell.runs:
                yield Paragraph(self._runs(cell.runs), _TEXT)
        yield Spacer(1, 6)

    def _hint(self, block: Block) -> Iterator[Flowable]:
        style = str(block.attrs.get("style") or "info")
        yield Paragraph(f"<b>{typeset(style.capitalize())}</b>", _SMALL)
        yield from self._within(block.children)

    def _image(self, block: Block) -> Iterator[Flowable]:
        words = self._runs(block.runs) or typeset(str(block.attrs.get("alt") or ""))
        picture = self._picture(str(block.attrs.get("src") or ""))
        if picture is not None:
            yield picture
        else:
            words = f"[{words or 'Picture'}]"
        if words:
            yield Paragraph(words, _CAPTION)

    def _picture(self, address: str) -> Flowable | None:
        match links.resolve(address, page_trees.link_base(self._page), self.places):
            case links.ToFile(file=name) if name in self.pictures:
                return _shown(self.pictures[name]())
        return None

    def _include(self, block: Block) -> Iterator[Flowable]:
        yield from self._blocks(block.children) if block.children else self._other(block)

    def _other(self, block: Block) -> Iterator[Flowable]:
        """What has no way of its own to be set: its title, its words, and what is in it."""
        attrs = block.attrs
        title = attrs.get("title") or attrs.get("name") or attrs.get("summary") or attrs.get("description")
        if title and block.kind not in ("paragraph", "unknown"):
            yield Paragraph(f"<b>{typeset(str(title))}</b>", _TEXT)
        address = attrs.get("url") or attrs.get("src") or attrs.get("target")
        if block.runs:
            words = self._runs(block.runs)
            yield Paragraph(self._linked(words, str(address)) if address else words, _TEXT)
        elif address:
            yield Paragraph(self._linked(typeset(str(address)), str(address)), _TEXT)
        if block.text:
            yield from self._code(Block("code", text=block.text))
        yield from self._blocks(block.children) if block.runs or not title else self._within(block.children)

    def _runs(self, runs: tuple[Run, ...], most: int = 1 << 20) -> str:
        """Runs as the markup of paragraphs, in which nothing of the page is markup."""
        said = []
        for run in runs:
            words = "<br/>" if run.kind == "break" else typeset(run.text[:most], mono=run.kind in ("code", "math"))
            if run.kind == "image":
                words = f"[{words or 'picture'}]"
            for mark, tag in _MARKS.items():
                if mark in run.marks:
                    words = f"<{tag}>{words}</{tag}>"
            said.append(self._linked(words, run.link) if run.link and words else words)
            most -= len(run.text)
            if most <= 0:
                break
        return "".join(said)

    def _linked(self, words: str, address: str) -> str:
        """Words that lead to a page of the PDF, or out of it. Others are words."""
        match links.resolve(address, page_trees.link_base(self._page), self.places):
            case links.ToPage(page=name) if page_trees.find(self.pages, name):
                leads = f"#{name}"
            case links.ToUrl(url=url):
                leads = url
            case _:
                return words
        return f'<a href={quoteattr(leads)} color="#1f5fbf">{words}</a>'


def _shown(data: bytes) -> Flowable | None:
    """A picture as wide as it is, or as the sheet. None if it cannot be read."""
    from PIL import Image as Picture

    try:
        with Picture.open(BytesIO(data), formats=("PNG", "JPEG", "GIF", "WEBP")) as picture:
            width, height = picture.size
            if not 0 < width * height <= MOST_PIXELS:
                return None
            plain = BytesIO()
            picture.convert("RGBA" if "A" in picture.getbands() or "transparency" in picture.info else "RGB").save(
                plain, "PNG"
            )
    except (OSError, ValueError, SyntaxError, Picture.DecompressionBombError):
        return None
    scale = min(WIDTH / (width * 0.75), 160 * mm / (height * 0.75), 1)
    plain.seek(0)
    return Image(plain, width * 0.75 * scale, height * 0.75 * scale)


class _Bookmark(Flowable):
    """Where links to a page lead, and its line in the outline."""

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


class _Document(BaseDocTemplate):
    """Sheets with the title and their number at the foot."""

    def __init__(self, buffer: BytesIO, title: str) -> None:
        super().__init__(buffer, pagesize=A4, title=title, author="", creator="Octavo", invariant=1)
        frame = Frame(20 * mm, 20 * mm, WIDTH, A4[1] - 40 * mm, 0, 0, 0, 0)
        self._title = Paragraph(typeset(title), _SMALL)
        self.addPageTemplates(PageTemplate(frames=[frame], onPage=self._foot))

    def _foot(self, canvas: Canvas, document: BaseDocTemplate) -> None:
        self._title.wrapOn(canvas, WIDTH - 20 * mm, 10 * mm)
        self._title.drawOn(canvas, 20 * mm, 10 * mm)
        canvas.setFont(BODY, 8.5)
        canvas.drawRightString(20 * mm + WIDTH, 12 * mm, str(canvas.getPageNumber()))
