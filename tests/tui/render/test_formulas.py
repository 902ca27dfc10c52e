"""Formulas in several rows, and in one line."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.documents.source_reader import parse
from octavo.tui.render.formulas import format_inline, format_stacked
from octavo.tui.render.layout import lay_out
from octavo.tui.render.styled_lines import cells
from octavo.tui.render.styles import Styles

PIECES = [
    "\\frac",
    "{",
    "}",
    "a",
    "12",
    "^",
    "_",
    "\\sum",
    "\\sqrt",
    "[",
    "]",
    "\\left(",
    "\\right)",
    "&",
    "\\\\",
    " ",
    "=",
]
PIECES += [
    "\\begin{matrix}",
    "\\end{matrix}",
    "\\begin{cases}",
    "\\end{cases}",
    "\\text",
    "\\_",
    "再",
    "\\hat",
    "\\unknown",
    "\\over",
    "\\not",
    "\\boxed",
]


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        (r"\frac{a+b}{2}", [" a+b", "─────", "  2"]),
        (r"x = \frac{1}{n-1} y", ["      1", "x = ───── y", "     n-1"]),
        (r"\sum_{i=1}^n x_i", ["  n", "  ∑  xᵢ", "i = 1"]),
        ("\\sum_{i=1}^n a \\\n b \\\t c", ["  n", "  ∑  a b c", "i = 1"]),
        (r"\sqrt{\frac{1}{2}}", [" ┌───", " │ 1", " │───", "√│ 2"]),
        (r"\left(\frac{1}{2}\right)", ["⎛ 1 ⎞", "⎜───⎟", "⎝ 2 ⎠"]),
        (r"A = \begin{pmatrix} a & b \\ c & d \end{pmatrix}", ["A = ⎛a  b⎞", "    ⎝c  d⎠"]),
        (r"e^{2\pi i}", [" 2πi", "e"]),
        (r"x = {a + b \over 2} y", ["     a + b", "x = ─────── y", "       2"]),
        (r"{n \choose k}", ["⎛ n ⎞", "⎜   ⎟", "⎝ k ⎠"]),
        (r"\boxed{\frac{1}{2}}", [" 1", "───", " 2"]),
        (r"\lim_{x \to 0} x^2", [" lim x²", "x → 0"]),
        (r"\frac{a}{b}\frac{c}{d}", [" a   c", "─── ───", " b   d"]),
        (r"\frac{a}{b}c\frac{d}{e}", [" a     d", "─── c ───", " b     e"]),
        (r"-\frac{1}{2}\sum_i x", ["   1", "- ─── ∑ x", "   2  i"]),
        (r"\sum_{i=1}^n\sum_{j=1}^m x", ["  n      m", "  ∑      ∑  x", "i = 1  j = 1"]),
        (r"\sum_{i=1}^n x_q", ["  n", "  ∑   x", "i = 1  q"]),
        (r"\max_a\min_b f", ["max min f", " a   b"]),
        (r"\operatorname*{argmax}_\theta L", ["argmax L", "  θ"]),
        (r"\int\limits_0^1 f", ["1", "∫ f", "0"]),
        (r"\overline{AB}", ["──", "AB"]),
        (r"\Large \frac{\sqrt{p_n}}{2}", [" √pₙ", "─────", "  2"]),
        (r"a = b + c \\ = d", ["a = b + c", "= d"]),
        (r"\underbrace{a + b}_c", ["a + b", "╰─┬─╯", "  c"]),
        (r"\begin{aligned} a &= \frac{b}{c} \\ de &= f \end{aligned}", ["      b", " a = ───", "      c", "de = f"]),
    ],
)
def test_formula_is_drawn_in_rows(source: str, rows: list[str]) -> None:
    assert format_stacked(source, 60) == rows


@pytest.mark.parametrize("source", ["a + b", r"x^2", r"\alpha_1", r"\text{proof\_size} = 2", "", r"\frac{1}{2}" * 40])
def test_flat_or_wide_formula_is_not_drawn_in_rows(source: str) -> None:
    assert format_stacked(source, 60) is None


def test_row_that_is_too_wide_continues_with_more_indentation() -> None:
    formula = "a = bbbb + cccc + dddd \\\\ e = f + g + hhhhhhhhhhhhhhhhhh"
    lines = lay_out(parse(f"$$\n{formula}\n$$").blocks, 24, Styles.plain())
    assert [line.text.rstrip() for line in lines] == [
        "    a = bbbb + cccc +",
        "      dddd",
        "    e = f + g +",
        "      hhhhhhhhhhhhhhhhhh",
    ]
    assert [line.text.rstrip() for line in lay_out(parse("$$\na + b + c + d\n$$").blocks, 17, Styles.plain())] == [
        "    a + b + c + d"
    ]


def test_text_in_a_formula_is_not_converted() -> None:
    assert format_inline(r"\mathrm{CO}(\mathrm{~g})") == "CO( g)"
    assert format_inline(r"\text{proof\_size} \le \mathrm{max_k}") == "proof_size ≤ max_k"
    assert format_inline(r"p_{next\_step} + \pi\_t + x\_1") == "p_next_step + πₜ + x₁"
    assert format_inline(r"F1\_Score + n\_pole\_pair = вес\_слова") == "F1_Score + n_pole_pair = вес_слова"
    assert format_inline(r"\bold{k} + \frak{g}_\textnormal{is all} \Bbb{R}") == "k + g_(is all) ℝ"
    assert format_inline(r"\sf a\space{\tt b}\space c") == "a b c"
    assert format_inline(r"\log_2 n") == "log₂ n"
    assert format_inline(r"a\sin x\log(n)") == "a sin x log(n)"


def test_commands_become_the_symbols_that_the_library_knows() -> None:
    assert format_inline(r"\Longrightarrow \hslash \gtrsim \varkappa \nowhere") == "⟹ ℏ ≳ ϰ nowhere"
    assert format_inline(r"P \approx -3.58 \rarr x \isin \reals \sdot \infin") == "P ≈ -3.58 → x ∈ ℝ ⋅ ∞"
    assert format_inline(r"\lang a\rang \hArr b \sube c \Larr \empty") == "⟨a⟩ ⇔ b ⊆ c ⇐ ∅"
    assert format_inline(r"x \in \Reals \Darr \Uarr \varGamma") == "x ∈ ℝ⇓⇑Γ"
    assert format_inline(r"\hat{y} \mathbb{E}[X] \not\in \vec v") == "ŷ 𝔼[X] ∉ v⃗"


def test_invalid_formula_loses_no_text() -> None:
    assert format_inline(r"a } b \right) \frac{c") == "a b ) frac c"
    assert format_inline(r"50% of a\% b") == "50% of a% b"
    assert format_inline("a % a remark\n+ b") == "a + b"
    assert format_inline(r"a \over b \over c") == "a/(b over c)"


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=40), st.integers(1, 80))
def test_any_formula_in_rows_fits_its_width(pieces: list[str], width: int) -> None:
    rows = format_stacked("".join(pieces), width)
    assert rows is None or max(map(cells, rows)) <= width


@pytest.mark.parametrize(
    "piece",
    [
        "{",
        r"\frac",
        r"\left(",
        r"\begin{matrix}",
        r"\sqrt{",
        "a^",
        "x_{",
        r"\frac{\sum^{",
        r"\text{",
        r"\sqrt[",
        r"a\over ",
        r"\sum^",
        r"\\[",
        r"{\begin{a}}",
        r"x^\left(",
        "%",
        "$",
        r"\(",
        "\\",
    ],
)
def test_hostile_formula_is_parsed_in_limited_time(piece: str) -> None:
    start = time.process_time()
    for length in (2000, 40_000):
        format_stacked(piece * (length // len(piece)), 80)
        format_inline(piece * (length // len(piece)))
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (r"2.5 * {(NIR - Red) \over (NIR + 6 * Red)}", "2.5 * (NIR - Red)/(NIR + 6 * Red)"),
        (r"a + b \over c", "(a + b)/c"),
        (r"{n \choose k}", "C(n, k)"),
        (r"x \in \mathbb{R}", "x ∈ ℝ"),
        (r"\boxed{x} \tag{1}", "x (1)"),
        (r"\textcolor{red}{a} \label{eq} \not= b", "a ≠ b"),
        (r"a \equiv b \pmod{n}", "a ≡ b (mod n)"),
        (r"A \xrightarrow{f} B", "A ─f→ B"),
        (r"\alpha - \beta x < \gamma", "α - βx < γ"),
        (r"f(x) := 2 x_1 ', a:=b", "f(x) := 2 x₁′, a := b"),
        (r"\sin 30^\circ + A^\top B^{\dagger}", "sin 30° + AᵀB†"),
    ],
)
def test_formula_is_formatted_in_one_line(source: str, line: str) -> None:
    assert unicodedata.normalize("NFC", format_inline(source)) == line
