"""OpenAPI files are untrusted JSON or YAML, which a child process parses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from octavo.documents.openapi import MAX_LENGTH, MAX_VALUES, SpecificationError, read_value
from octavo.tui.reader.linked_files import parse_file

PARTS: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Pets", "version": "1"},
    "paths": {"/pets": {"get": {"summary": "All", "parameters": []}, "parameters": [1]}, "/none": {}},
    "components": {"schemas": {"Pet": {"type": "object", "properties": {"a": {"b": [{}, None, 1.5]}}}}},
    "tags": [],
    "x": None,
}


async def test_specification_keeps_written_order() -> None:
    found = await parse_file(b"\xef\xbb\xbf" + json.dumps(PARTS).encode(), "a.json")
    assert (found.spec, found.error) == (PARTS, "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: [", "Could not show a.yaml as an OpenAPI specification. The file is not valid YAML: "),
        (b"- 1", "Could not show a.yaml as an OpenAPI specification. The file must contain a JSON or YAML object."),
        (b"\x00\xff", "Could not show a.yaml as an OpenAPI specification. The file is not valid YAML: "),
        (b"title: x", "a.yaml is not an OpenAPI specification: it has neither an openapi nor a swagger field."),
    ],
)
async def test_invalid_specification_file_explains(content: bytes, message: str) -> None:
    assert (await parse_file(content, "a.yaml")).error.startswith(message)


async def test_slow_specification_is_stopped() -> None:
    """The file has the maximum length, in the form that takes longest to parse."""
    found = await parse_file(b"- {a: b, c: d}\n" * 200_000, "a.yaml", seconds=0.5)
    assert found.error == "Could not read a.yaml: the file takes too much time or memory to read."


def test_yaml_follows_version_1_2() -> None:
    message = (
        "[no, on, Yes, 12:30, 2024-01-01, 2024-01-01T00:00:00Z, 010, 0o17, 0x1F, 1_000, +1.5e3, ~, true, '1', .5, <<]"
    )
    read_as = [
        "no",
        "on",
        "Yes",
        "12:30",
        "2024-01-01",
        "2024-01-01T00:00:00Z",
        10,
        15,
        31,
        "1_000",
        1500.0,
        None,
        True,
    ]
    assert read_value(f"a: {message}\n200: {{b: &b {{c: 1}}, d: {{<<: *b}}}}\ne:") == {
        "a": [*read_as, "1", 0.5, "<<"],
        "200": {"b": {"c": 1}, "d": {"c": 1}},
        "e": None,
    }


def test_huge_or_deeply_nested_specification_raises_an_error() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9))
    for each in (bomb, "a: &a [*a]", "[" * 150 + "]" * 150):
        with pytest.raises(SpecificationError, match=str(MAX_VALUES)):
            read_value(each)
    with pytest.raises(SpecificationError, match="more than 200 levels"):
        read_value("[" * 300 + "]" * 300)
    with pytest.raises(SpecificationError, match="larger than"):
        read_value(" " * (MAX_LENGTH + 1))
