"""Random lines of markdown, most of them markup that is not closed, and random edits of them."""

from __future__ import annotations

from hypothesis import strategies as st

LINES = st.sampled_from(
    [
        *("", "", "one", "two", "three", "* item", "  * below", "```", "~~~", "$$", "<table>", "</table>"),
        *("{% hint %}", "{% endhint %}", "{% x", "# t", "| a | b |", "|---|---|", "1. x", "> q", "---"),
    ]
) | st.text(alphabet="ab \t", max_size=3)
TEXTS = st.lists(LINES, max_size=24).map("\n".join)


@st.composite
def edited(draw: st.DrawFn, text: str) -> str:
    """`text` with a few lines changed, added or deleted."""
    result = text.split("\n")
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(result)))
        end = draw(st.integers(start, min(len(result), start + 3)))
        result[start:end] = draw(st.lists(LINES, max_size=3))
    return "\n".join(result)


@st.composite
def three_texts(draw: st.DrawFn) -> tuple[str, str, str]:
    """A text, and two texts made of it by random edits."""
    base = draw(TEXTS)
    return base, draw(edited(base)), draw(edited(base))
