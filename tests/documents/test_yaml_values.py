"""Values are written as YAML and read back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from octavo.documents.yaml_values import MAX_DEPTH, YamlError, parse_yaml, to_yaml

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x7f"), max_size=30) | st.sampled_from(
    [
        "no",
        "12:30",
        "0o7",
        "007",
        "1_000",
        "~",
        "null",
        "1e3",
        "<<",
        "2026-11-23",
        "a\nb\n",
        " a\n b",
        "- x",
        "# y",
        "",
        "=",
        "yes",
        ".5",
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
@example({"\x85": None})
def test_yaml_survives_writing_and_reading(value: Any) -> None:
    found = parse_yaml(to_yaml(value))
    assert (found.value if found is not None else None) == value


def test_values_have_their_lines_and_source() -> None:
    found = parse_yaml("# first\ntitle: 007\n\nsource:\n  url: https://x.example\n  tags: [a, no]\n")
    assert found is not None
    assert (found.fields["title"].line, found.fields["title"].value, found.fields["title"].text) == (2, 7, "007")
    assert found.fields["source"].fields["url"].line == 5
    assert found.value["source"]["tags"] == ["a", "no"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("title: x\nother: [1, 2\n", 2),
        ("title: x\nother: [1, 2\n\nmore: y\n", 2),
        ("title: x\nother: 'y\n\nmore: y\n", 2),
        ("title: x\n  worse: y\n", 2),
        ("title: x\ntitle: y\n", 2),
        ("title: x\n\t- y", 2),
        ("title: x\nother: 'y", 2),
        ("title: x\n? [a]\n: y\n", 2),
        ("title: x\nother: .inf\n", 2),
        ("title: x\nother: \x00\n", 2),
        ("title: x\nother: !!python/object:os.system y\n", 2),
        ("title: x\nother: *nobody\n", 2),
        ("title: x\n---\nother: y\n", 2),
    ],
)
def test_error_has_its_line(text: str, line: int) -> None:
    with pytest.raises(YamlError) as fault:
        parse_yaml(text)
    assert fault.value.line == line
    assert str(fault.value).endswith(".")


def test_aliases_cannot_exceed_the_value_limit() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{after}: &{after} [{', '.join([f'*{before}'] * 9)}]\n"
        for before, after in zip("abcdefg", "bcdefgh", strict=True)
    )
    with pytest.raises(YamlError, match="more than"):
        parse_yaml(bomb)
    with pytest.raises(YamlError):
        parse_yaml("[" * (MAX_DEPTH + 5) + "]" * (MAX_DEPTH + 5))
    with pytest.raises(YamlError):
        parse_yaml("[" * 200_000)
