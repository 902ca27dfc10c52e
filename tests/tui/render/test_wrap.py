"""Line breaks in every script, and characters with the same width in all terminals."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from octavo.documents.source_reader import parse
from octavo.tui.render.layout import lay_out
from octavo.tui.render.styled_lines import StyledText, cells, flatten_emoji, wrap, wrap_items
from octavo.tui.render.styles import Styles


def lines(text: str, width: int) -> list[str]:
    return ["".join(piece.text for piece in line) for line in wrap([StyledText(text)], width)]


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("two words", 5, ["two", "words"]),
        ("「開く」は、", 6, ["「開", "く」", "は、"]),
        ("(閉じる)", 6, ["(閉じ", "る)"]),
        ("한국어 문장은", 8, ["한국어", "문장은"]),
        ("เก่าแก่", 3, ["เก่า", "แก่"]),
        ("และความเสียหาย", 8, ["และความ", "เสียหาย"]),
        ("ทำการปรับช่วงล่าง", 9, ["ทำการปรับ", "ช่วงล่าง"]),
        ("ทำการปรับ", 5, ["ทำการ", "ปรับ"]),
        ("มาตรวัดความเร็ว", 7, ["มาตรวัด", "ความเร็ว"]),
        ("ຂອງປະເທດ", 5, ["ຂອງປະ", "ເທດ"]),
        ("ខ្មែរគឺ", 3, ["ខ្មែរ", "គឺ"]),
        ("UseDistributedRuntime()", 18, ["UseDistributed", "Runtime()"]),
        ("password@localhost:5432", 15, ["password@", "localhost:5432"]),
        ("lib/@scope/name", 8, ["lib/", "@scope/", "name"]),
        ("the_url/↗)", 8, ["the_", "url/↗)"]),
        ("OneWilderness", 10, ["One", "Wilderness"]),
        ("/a/long/path/to/it", 10, ["/a/long/", "path/to/it"]),
        ("D:\\a long\\path", 8, ["D:\\a", "long\\", "path"]),
        ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
        ("a high-throughput link", 10, ["a high-", "throughput", "link"]),
        ("in state-of-the-art rooms", 14, ["in state-of-", "the-art rooms"]),
        ("with --long-option and a-file.md", 12, ["with", "--long-", "option and", "a-file.md"]),
        ("S3_ENDPOINT_URL", 10, ["S3_", "ENDPOINT_", "URL"]),
        ("to=%2Fapps%2Fgenesys", 10, ["to=%2Fapps", "%2Fgenesys"]),
        ("go?endpoint=https%3A%2F%2Fa.b", 19, ["go?endpoint=https", "%3A%2F%2Fa.b"]),
        ("go?endpoint=https%3aX", 19, ["go?endpoint=https", "%3aX"]),
        ("a.spec.patchJson", 12, ["a.spec.", "patchJson"]),
        ("go?id=6&to=0xA0c22A2bc7E37C1d5", 26, ["go?id=6&to=", "0xA0c22A2bc7E37C1d5"]),
        ("a/UseDistributedRuntime()", 18, ["a/UseDistributed", "Runtime()"]),
        ("第一项items[0]です", 12, ["第一项", "items[0]です"]),
        ("把函数f(值)打开", 10, ["把函数", "f(值)打开"]),
        ("새 이름(name)으로", 10, ["새 이름", "(name)으로"]),
        ("그리고 ${passage}를", 12, ["그리고", "${passage}를"]),
        ("map[string]int", 8, ["map", "[string]", "int"]),
        ("ce qui écoute :", 13, ["ce qui", "écoute :"]),
        ("dit « bonjour » ici", 12, ["dit", "« bonjour »", "ici"]),
        ("自动选择最优解 ，所以", 15, ["自动选择最优", "解 ，所以"]),
        ("新增证书-iOS证书", 8, ["新增证", "书-iOS证", "书"]),
        ("凭证管理-新增/证书->上", 8, ["凭证管", "理-新增/", "证书->上"]),
        ("مرحلة التطوير ، يعد", 13, ["مرحلة", "التطوير ، يعد"]),
        ("in the .env file", 7, ["in the", ".env", "file"]),
        ("mot : un", 3, ["mot", ":", "un"]),
    ],
)
def test_lines_break_by_the_rules_of_the_script(text: str, width: int, expected: list[str]) -> None:
    assert lines(text, width) == expected


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("one  two **three**  four\tfive", "one two three four five"),
        ("one [two ](u) three  *four *  five", "one two three *four * five"),
        ("`a  b`  c", "a  b c"),
        ("one<br>\ntwo <br> three", "one / two / three"),
        ("one&nbsp; two", "one\u00a0 two"),
        ("|a|\n|-|\n|b  c<ul><li>d<ul><li>e  f</li></ul></li></ul>|", "a / ─────── / b c / • d /   • e f"),
    ],
)
def test_spaces_collapse_and_no_line_begins_with_one(markdown: str, shown: str) -> None:
    rows = [line.text.rstrip().removeprefix(" ") for line in lay_out(parse(markdown).blocks, 70, Styles.plain())]
    assert " / ".join(rows) == shown


@settings(max_examples=200, deadline=None)
@example("\u200d\u200dabc", 2)
@example("\u200d\u200d\u200d\u200d再(abc", 2)
@given(st.text(st.sampled_from("ab (/-「」、再한กเ่าະຂခ្្ម👩🇬é\u0301 \u200d"), max_size=60), st.integers(2, 30))
def test_wrapped_text_loses_no_letter_and_fits_its_width(text: str, width: int) -> None:
    broken = lines(text, width)
    assert "".join(broken).replace(" ", "") == text.replace(" ", "")
    assert all(cells(line) <= width for line in broken)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("⚠️ care", "⚠ care"),
        ("1️⃣", "1"),
        ("👩‍💻", "👩💻"),
        ("👍🏽", "👍"),
        ("🇬🇧", "GB"),
        ("क्‍ष", "क्‍ष"),
        ("plain", "plain"),
    ],
)
def test_emoji_are_drawn_at_their_measured_width(text: str, expected: str) -> None:
    assert flatten_emoji(text) == expected


def test_list_items_in_a_cell_wrap_with_an_indent() -> None:
    text = "Works for:\n• one thing that is long\n12. another that is long\nas it was before"
    shown = ["".join(piece.text for piece in row) for row in wrap_items([StyledText(text)], 14)]
    assert shown == [
        "Works for:",
        "• one thing",
        "  that is long",
        "12. another",
        "    that is",
        "    long",
        "as it was",
        "before",
    ]


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from("ab•* 1.\n再"), max_size=60), st.integers(4, 30))
def test_wrapped_items_lose_no_letter_and_fit_their_width(text: str, width: int) -> None:
    shown = ["".join(piece.text for piece in row) for row in wrap_items([StyledText(text)], width)]
    assert "".join("".join(shown).split()) == "".join(text.split())
    assert all(cells(line) <= width for line in shown)


def test_numbers_of_a_hebrew_list_are_at_the_right() -> None:
    blocks = parse("1. POST /token עם מפתח\n2. מקבלים טוקן\n3. שולחים אותו\n").blocks
    shown = [line.text for line in lay_out(blocks, 40, Styles.plain())]
    assert [text.rstrip()[-2:] for text in shown] == ["1.", "2.", "3."]
    assert len({len(text.rstrip()) for text in shown}) == 1


def test_ordered_list_may_start_at_zero() -> None:
    lines = lay_out(parse("0. zero\n1. one\n").blocks, 40, Styles.plain())
    assert [line.text for line in lines] == [" 0. zero", " 1. one"]


def test_script_letters_at_a_word_are_not_part_of_it() -> None:
    source = "<sub>note</sub> Q<sub>stock</sub>, x<sup>2</sup>, V<sub>USB IO</sub> <sup>remark</sup>"
    assert lay_out(parse(source).blocks, 70, Styles.plain())[0].text == "note Q_stock, x², V_USB IO remark"
