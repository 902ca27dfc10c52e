from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from octavo.tui.widgets.short_texts import (
    InfoRow,
    first_few,
    fit,
    highlight,
    join_texts,
    long_age,
    safe,
    safe_lines,
    spread,
)
from octavo.tui.widgets.text_widgets import InfoTable
from tests.tui.widgets.scratch import HOSTILE, Scratch, harmless, lines


@given(st.text(max_size=60), st.text(max_size=30), st.integers(1, 80))
def test_line_has_its_width_and_is_sanitized(left: str, right: str, width: int) -> None:
    line = spread(safe(left), safe(right), width)
    assert line.cell_length == width
    assert harmless([line.plain])


@given(st.text(max_size=60), st.integers(1, 40), st.booleans())
def test_fitted_text_has_its_width_in_cells(text: str, width: int, right: bool) -> None:
    assert fit(safe(text), width, right=right).cell_length == width


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_content_is_text_too(text: str) -> None:
    content = Content(text, strip_control_codes=False)
    assert harmless([safe(content).plain])
    assert harmless(safe_lines(content).plain.split("\n"))


def test_safe_content_keeps_its_styles() -> None:
    content = Content.styled("日本 ✓", "$success")
    assert safe(content) is content
    assert safe_lines(content) is content


def test_markup_is_shown_as_text() -> None:
    assert safe("[bold]x[/] [@click=app.quit]y[/]").plain == "[bold]x[/] [@click=app.quit]y[/]"


def test_text_at_the_right_is_not_truncated() -> None:
    assert spread(Content("a long title that is cut"), Content("8m"), 16).plain == "a long title… 8m"
    assert spread(Content("短い題名です"), Content("8m"), 12).plain == "短い題名… 8m"


def test_words_are_highlighted_everywhere() -> None:
    content = highlight(Content("Retry and retries"), ["retr", ""], "bold")
    assert [(span.start, span.end) for span in content.spans] == [(0, 4), (10, 14)]


def test_empty_parts_leave_no_gap() -> None:
    assert join_texts(["Payments API", "", "Ada L."]).plain == "Payments API · Ada L."


async def test_wrapped_facts_are_indented() -> None:
    info_rows = InfoTable(
        [InfoRow("ok", "one", "short"), InfoRow("care", "a label", "a text that is longer than the line it is on")]
    )
    app = Scratch(info_rows)
    async with app.run_test(size=(36, 8)) as pilot:
        await pilot.pause()
        assert lines(app)[:4] == [
            "✓  one       short",
            "!  a label   a text that is longer",
            "             than the line it is on",
            "",
        ]
        info_rows.rows = [InfoRow("care", "", "40 pages"), InfoRow("ok", "", "no site")]
        await pilot.pause()
        assert lines(app)[:2] == ["!  40 pages", "✓  no site"]
        info_rows.rows = [InfoRow("note", "ID", "docs"), InfoRow("note", "URL name", "docs")]
        await pilot.pause()
        assert lines(app)[:2] == ["ID         docs", "URL name   docs"]
        info_rows.rows = ()
        await pilot.pause()
        assert not info_rows.display


def test_texts_beyond_the_limit_are_counted() -> None:
    assert first_few(["a", "b"], 2) == ["a", "b"]
    assert first_few(["a", "b", "c", "d"], 2, "more effects") == ["a", "b", "and 2 more effects"]


def test_age_of_less_than_a_minute_has_no_seconds() -> None:
    """The age "48 seconds ago" is wrong as soon as it is read."""
    now = datetime.now(UTC)
    assert [long_age(now - timedelta(seconds=each)) for each in (0, 48, 61)] == ["just now", "just now", "1 minute ago"]
