"""The text editor wraps text of any length as Textual does, and a key works on one row only."""

from __future__ import annotations

from random import Random

import pytest
from rich.cells import get_character_cell_size
from rich.text import Text
from textual.events import Paste
from textual.geometry import Offset
from textual.widgets import TextArea
from textual.widgets.text_area import Document, EditResult, Location, WrappedDocument

from octavo.tui.widgets import long_text
from octavo.tui.widgets.long_text import MAX_ROW_LENGTH, LongText, WrappedRows
from octavo.tui.widgets.text_inputs import TextEditor
from tests.tui.widgets.scratch import Scratch

PARTS = ("a", "bc", "word", " ", "  ", "(", "\n", "é", "я", "—", "港", "😀", "e\u0301", "\t", "longwordlongword")


def _random_text(random: Random, most: int) -> str:
    return "".join(random.choice(PARTS) for _ in range(random.randrange(most)))


def _random_location(random: Random, lines: list[str]) -> Location:
    row = random.randrange(len(lines))
    return row, random.randrange(len(lines[row]) + 1)


@pytest.mark.parametrize("seed", range(12))
def test_text_wraps_as_in_textual(seed: int) -> None:
    random = Random(seed)
    text, width = _random_text(random, 50), random.choice([1, 2, 3, 5, 8, 20, 40])
    textual_rows, our_rows = WrappedDocument(Document(text), width, 4), WrappedRows(LongText(text), width)
    for _ in range(4):
        lines = textual_rows.document.lines
        assert (our_rows.document.lines, our_rows.document.text, our_rows.height) == (
            lines,
            textual_rows.document.text,
            textual_rows.height,
        )
        for row, line in enumerate(lines):
            assert list(our_rows.get_offsets(row)) == textual_rows.get_offsets(row)
            assert our_rows.get_sections(row) == textual_rows.get_sections(row)
            assert our_rows.get_tab_widths(row) == textual_rows.get_tab_widths(row)
            for column in range(len(line) + 1):
                assert our_rows.location_to_offset((row, column)) == textual_rows.location_to_offset((row, column))
        for y in range(textual_rows.height):
            for x in range(width + 2):
                assert our_rows.offset_to_location(Offset(x, y)) == textual_rows.offset_to_location(Offset(x, y))
        start, end = sorted((_random_location(random, lines), _random_location(random, lines)))
        inserted = _random_text(random, 10)
        results = [each.document.replace_range(start, end, inserted) for each in (textual_rows, our_rows)]
        assert results[0] == results[1]
        for each in (textual_rows, our_rows):
            each.wrap_range(start, end, results[0].end_location)


def test_letters_treated_as_one_cell_wide_are_one_cell_wide() -> None:
    letters = [chr(code) for code in range(0x3000) if not long_text.NOT_ONE_CELL.match(chr(code))]
    assert len(letters) > 800
    assert {get_character_cell_size(letter) for letter in letters} == {1}


@pytest.mark.parametrize("seed", range(6))
def test_splits_of_long_lines_are_not_in_the_text_and_edits_undo(seed: int) -> None:
    random = Random(seed)
    text = "word " * 2000 + "\n" + "w" * 9000 + "\n" + "港" * 5000
    document, before = LongText(text), list[tuple[Location, EditResult, list[str], str]]()
    for _ in range(60):
        start, end = sorted((_random_location(random, document.lines), _random_location(random, document.lines)))
        if random.random() < 0.8:
            end = min(end, (start[0], start[1] + random.randrange(3)))
        begin, taken = len(document.get_text_range((0, 0), start)), document.get_text_range(start, end)
        inserted = random.choice(["x", "\n", "", "words and more " * 300, "w" * 1900])
        rows, text = list(document.lines), document.text
        assert text[begin : begin + len(taken)] == taken
        results = document.replace_range(start, end, inserted)
        assert document.text == text[:begin] + inserted + text[begin + len(taken) :]
        assert document.get_text_range((0, 0), results.end_location) == text[:begin] + inserted
        assert max(map(len, document.lines)) <= MAX_ROW_LENGTH
        before.append((start, results, rows, text))
    for start, results, rows, text in reversed(before):
        document.replace_range(start, results.end_location, results.replaced_text)
        assert (document.lines, document.text) == (rows, text)


@pytest.mark.parametrize(
    "text", ["w" * 300_000, "words and " * 30_000, "港の水位は" * 60_000, "a line of words\n" * 20_000]
)
async def test_key_in_a_megabyte_of_text_reads_one_row(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    field = TextEditor()
    app = Scratch(field)
    async with app.run_test(size=(60, 8)) as pilot:
        field.focus()
        field.post_message(Paste(text))
        await pilot.pause()
        assert field.text == text
        lengths: list[int] = []
        get_line, wrap_positions = TextEditor.get_line, WrappedRows.wrap_positions

        def count_line(area: TextEditor, line_index: int) -> Text:
            line = get_line(area, line_index)
            lengths.append(len(line))
            return line

        def count_wrapped(rows: WrappedRows, lines: list[str]) -> object:
            lengths.append(sum(map(len, lines)))
            return wrap_positions(rows, lines)

        monkeypatch.setattr(TextEditor, "get_line", count_line)
        monkeypatch.setattr(WrappedRows, "wrap_positions", count_wrapped)
        for keys in (["x"], ["left"] * 2, ["up"] * 2, ["enter", "y"], ["ctrl+w"], ["home", "z"]):
            lengths.clear()
            await pilot.press(*keys)
            await pilot.pause()
            assert sum(lengths) <= 12 * len(keys) * MAX_ROW_LENGTH, keys
        assert len(field.text) == len(text) + len("x\nz")


async def test_delete_at_a_split_removes_the_visible_neighbor() -> None:
    field = TextEditor("w" * 5000)
    app = Scratch(field)
    async with app.run_test(size=(60, 8)) as pilot:
        field.focus()
        assert field.document.line_count > 1
        for key, remaining in (("backspace", 4999), ("delete", 4998), ("backspace", 4997)):
            field.move_cursor((1, 0))
            await pilot.press(key)
            assert len(field.text) == remaining
        field.move_cursor((0, len(field.document.get_line(0))))
        await pilot.press("delete")
        assert len(field.text) == 4996
        await pilot.press(*["ctrl+z"] * 4)
        assert field.text == "w" * 5000


KEYS = "a b space enter backspace delete ctrl+w ctrl+f ctrl+k ctrl+u ctrl+shift+k left right up down home end ctrl+z ctrl+y ctrl+x"
KEYS += " shift+left shift+right shift+up shift+down ctrl+left ctrl+right pageup pagedown"


@pytest.mark.parametrize("text", ["", "one two three\nfour five\n\nsix"])
async def test_each_key_works_as_in_the_text_area_of_textual(text: str) -> None:
    random = Random(text)
    keys = ["ctrl+shift+k", *(random.choice(KEYS.split()) for _ in range(40))]
    results: list[list[tuple[str, str, object]]] = []
    for field in (TextEditor(text), TextArea(text, soft_wrap=True, tab_behavior="focus")):
        async with Scratch(field).run_test(size=(60, 10)) as pilot:
            field.focus()
            results.append([])
            for key in keys:
                await pilot.press(key)
                results[-1].append((key, field.text, field.selection))
    assert results[0] == results[1]


async def test_delete_at_the_end_of_a_long_line_does_nothing() -> None:
    field = TextEditor("w" * 5000)
    async with Scratch(field).run_test(size=(60, 8)) as pilot:
        field.focus()
        last = field.document.line_count - 1
        field.delete((last, 0), field.document.end)
        remaining = len(field.text)
        field.move_cursor((last - 1, len(field.document.get_line(last - 1))))
        await pilot.press("delete", "ctrl+f", "ctrl+k")
        assert len(field.text) == remaining
