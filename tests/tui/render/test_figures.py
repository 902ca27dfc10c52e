"""Images in frames, and galleries."""

from __future__ import annotations

from octavo.documents.source_reader import parse
from octavo.tui.render.layout import render_block
from octavo.tui.render.layout_context import LayoutContext, ViewState
from octavo.tui.render.styled_lines import Line, clickable_spans
from octavo.tui.render.styles import Styles
from tests.documents.rendered_line_checks import default_styles

GALLERY = (
    '<div><figure><img src="a.png" alt="One"><figcaption><p>First</p></figcaption></figure>'
    '<figure><img src="b.png" alt="Two, with words enough for a second line of its own"></figure></div>'
)


def lines_of(page: str, width: int) -> list[Line]:
    return render_block(LayoutContext(Styles(), ViewState(), render_block), parse(page).blocks[0], width)


def text_of(page: str, width: int) -> list[str]:
    return [line.text.rstrip() for line in lines_of(page, width)]


def test_wide_gallery_is_side_by_side() -> None:
    wide = text_of(GALLERY, 76)
    assert "a.png" in wide[0]
    assert "b.png" in wide[0]
    assert wide[3].count("╰") == 2
    assert wide[4].strip() == "First"
    assert max(map(len, wide)) == 76
    narrow = text_of(GALLERY, 50)
    assert [row for row in narrow if "a.png" in row] != [row for row in narrow if "b.png" in row]


def test_each_image_has_one_letter() -> None:
    for width in (50, 76):
        spans = clickable_spans(lines_of(GALLERY, width))
        assert len({id(span.clickable) for span in spans}) == 2
        assert {span.target for span in spans} == {"a.png", "b.png"}


def test_frame_has_the_width_from_the_page() -> None:
    def wide(hint: str) -> int:
        return len(text_of(f'<figure><img src="a.png" alt="x" width="{hint}"></figure>', 80)[0])

    assert [wide("360"), wide("50%"), wide("16"), wide("4000"), wide("auto")] == [40, 40, 24, 64, 64]


def test_deleted_and_external_images_say_so() -> None:
    assert "this image was deleted" in "\n".join(text_of("![x](/broken/files/abc)", 60))
    assert "img.example.com" in text_of("![x](https://img.example.com/a.png)", 60)[0]
    assert "no alternative text" in text_of("![](a.png)", 60)[1]


def test_missing_alternative_text_is_shown_dimmed() -> None:
    look = default_styles()
    context = LayoutContext(look, ViewState(), render_block)
    lines = render_block(context, parse("![](a.png)").blocks[0], 60)
    (label,) = [piece for line in lines for piece in line.pieces if piece.text == "no alternative text"]
    assert label.style == look.muted != look.warning
