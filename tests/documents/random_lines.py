"""Random lines of Markdown, mostly unclosed markup, and random edits of the lines."""

from __future__ import annotations

from hypothesis import strategies as st

LINES = st.sampled_from(
    [
        *("", "", "one", "two", "three", "* item", "  * below", "```", "~~~", "$$", "<table>", "</table>"),
        *("</table>{% hint %}", "</pre> {% endhint %}"),
        *("{% hint %}", "{% endhint %}", "{% x", "# t", "| a | b |", "|---|---|", "1. x", "> q", "---"),
    ]
) | st.text(alphabet="ab \t", max_size=3)
TEXTS = st.lists(LINES, max_size=24).map("\n".join)


@st.composite
def edited(draw: st.DrawFn, text: str) -> str:
    """Generate `text` with a few lines changed, added or deleted."""
    result = text.split("\n")
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(result)))
        end = draw(st.integers(start, min(len(result), start + 3)))
        result[start:end] = draw(st.lists(LINES, max_size=3))
    return "\n".join(result)


@st.composite
def three_texts(draw: st.DrawFn) -> tuple[str, str, str]:
    """Generate a text, and two texts that result from random edits."""
    base = draw(TEXTS)
    return base, draw(edited(base)), draw(edited(base))
