"""Findings of linters: recorded outputs in each format, columns, added ranges, blocks, and suggestions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.documents.checks.findings import FileRange, Finding
from octavo.documents.linters.placement import (
    LintedPage,
    added_ranges,
    group_by_block,
    mask_parts,
    suggested_block,
    to_page_findings,
)
from octavo.documents.linters.readers import (
    DEFAULT_COLUMN_UNITS,
    MAX_FINDINGS,
    ColumnUnit,
    Format,
    ReportedFinding,
    UnreadableReport,
    read_reports,
)
from octavo.documents.source_reader import parse

SAMPLE = "🎉 This is very unique, and it was utilised by the the team.\n\nWe use javascript and nodejs about very very good.\n"

PROSELINT = """\
/tmp/sample.md:1:11: uncomparables: Comparison of an uncomparable: 'very unique' is not comparable.
/tmp/sample.md:1:47: lexical_illusions: There's a lexical illusion in 'the the' - a phrase is repeated.
"""
TEXTLINT = """\
/tmp/sample.md:1:12: "very" is a weasel word and can weaken meaning [Error/write-good]
/tmp/sample.md:3:8: Incorrect term: “javascript”, use “JavaScript” instead [Error/terminology]

2 problems
"""
TEXTLINT_CHECKSTYLE = (
    '<?xml version="1.0" encoding="utf-8"?><checkstyle version="4.3"><file name="/tmp/sample.md">'
    '<error line="1" column="12" severity="error" message="&quot;very&quot; is a weasel word and can weaken meaning '
    '(write-good)" source="eslint.rules.write-good" /></file></checkstyle>'
)
WRITE_GOOD = (
    'sample.md:1:11:"very" is a weasel word and can weaken meaning\nsample.md:1:28:"it was" is wordy or unneeded\n'
)
MARKDOWNLINT = {
    "version": "2.1.0",
    "runs": [
        {
            "tool": {"driver": {"name": "markdownlint-cli2", "rules": [{"id": "MD041", "name": "FirstLine"}]}},
            "results": [
                {
                    "ruleId": "MD041",
                    "message": {"text": "First line in a file should be a top-level heading"},
                    "locations": [
                        {
                            "physicalLocation": {
                                "artifactLocation": {"uri": "sample.md"},
                                "region": {"startLine": 1, "endLine": 1},
                            }
                        }
                    ],
                    "level": "error",
                }
            ],
        }
    ],
}
VALE = {
    "sample.md": [
        {
            "Action": {"Name": "replace", "Params": ["used"]},
            "Span": [35, 42],
            "Check": "Saltmarsh.Words",
            "Description": "",
            "Link": "",
            "Message": "Use 'used' instead of 'utilised'.",
            "Severity": "warning",
            "Match": "utilised",
            "Line": 1,
        },
        {
            "Action": {"Name": "replace", "Params": ["the", "a"]},
            "Span": [47, 53],
            "Check": "Vale.Repetition",
            "Message": "'the' is repeated!",
            "Severity": "suggestion",
            "Match": "the the",
            "Line": 1,
        },
    ]
}


def findings(
    output: object, format_name: Format, *, column_unit: ColumnUnit | None = None, text: str = SAMPLE
) -> list[Finding]:
    data = output if isinstance(output, str) else json.dumps(output)
    reports, _ = read_reports(data.encode(), format_name)
    page = LintedPage("sample", "sample.md", parse(text), text)
    return list(
        to_page_findings(reports, page, text, tool="lint", column_unit=column_unit or DEFAULT_COLUMN_UNITS[format_name])
    )


@pytest.mark.parametrize(
    ("output", "format_name", "column_unit", "expected"),
    [
        (PROSELINT, "lines", None, [(1, 11, "", "uncomparables", "warning"), (1, 47, "", "lexical_illusions", "warning")]),
        (TEXTLINT, "lines", "utf-16", [(1, 11, "", "write-good", "error"), (3, 8, "", "terminology", "error")]),
        (TEXTLINT_CHECKSTYLE, "checkstyle", None, [(1, 11, "", "eslint.rules.write-good", "error")]),
        (WRITE_GOOD, "lines", "utf-16-0", [(1, 11, "", "", "warning"), (1, 28, "", "", "warning")]),
        (MARKDOWNLINT, "sarif", None, [(1, 1, "", "MD041", "error")]),
        (
            VALE,
            "vale",
            None,
            [(1, 35, "utilised", "Saltmarsh.Words", "warning"), (1, 47, "the the", "Vale.Repetition", "info")],
        ),
    ],
)  # fmt: skip
def test_recorded_output_is_placed_in_code_points(
    output: object, format_name: Format, column_unit: ColumnUnit | None, expected: list[tuple[int, int, str, str, str]]
) -> None:
    found = findings(output, format_name, column_unit=column_unit)
    assert [
        (each.location.line, each.location.column, each.words, each.rule, each.severity) for each in found
    ] == expected
    assert all(each.tool == "lint" and each.page == "sample" and each.block_key for each in found)
    assert not any(each.message.endswith(".") or "\n" in each.message for each in found)


def test_vale_replacement_becomes_a_suggestion_for_its_words_only() -> None:
    one, other = findings(VALE, "vale")
    assert (one.suggestion, other.suggestion) == ("used", None)
    document = parse(SAMPLE)
    assert suggested_block(one, document, SAMPLE) == "🎉 This is very unique, and it was used by the the team."
    assert suggested_block(other, document, SAMPLE) is None


@pytest.mark.parametrize("shift", [-1, 1, 30])
def test_words_that_vale_names_win_over_a_wrong_column(shift: int) -> None:
    alert = {**VALE["sample.md"][0], "Span": [35 + shift, 42 + shift]}
    (found,) = findings({"sample.md": [alert]}, "vale")
    assert (found.words, found.suggestion) == ("utilised", "used")


def rdjson(start: dict[str, int], end: dict[str, int] | None, **others: Any) -> dict[str, Any]:
    place = {"start": start, **({"end": end} if end else {})}
    found = {"message": "Wrong", "location": {"path": "sample.md", "range": place}, **others}
    if "text" in found:
        found["suggestions"] = [{"range": place, "text": found.pop("text")}]
    return found


def test_rdjson_counts_bytes_and_needs_the_same_range_for_a_suggestion() -> None:
    diagnostics = [
        rdjson(
            {"line": 1, "column": 14}, {"line": 1, "column": 18}, text="rather", code={"value": "R1"}, severity="ERROR"
        ),
        rdjson({"line": 1, "column": 14}, {"line": 1, "column": 17}, text="rather"),
        rdjson({"line": 3}, {"line": 3}, text="x"),
        rdjson({"line": 3, "column": 8}, None),
        {**rdjson({"line": 1, "column": 14}, {"line": 1, "column": 18}), "suggestions": [{"range": {}, "text": "x"}]},
    ]
    found = findings({"diagnostics": diagnostics, "severity": "INFO"}, "rdjson")
    assert [(each.words, each.suggestion) for each in found] == [
        ("very", "rather"), ("ver", None), ("", None), ("", None), ("very", None),
    ]  # fmt: skip
    assert [(each.rule, each.severity) for each in found[:2]] == [("R1", "error"), ("", "info")]
    assert found[2].location == FileRange(3, 1, 3, len(SAMPLE.split("\n")[2]) + 1)
    lines = "\n".join(map(json.dumps, diagnostics))
    assert [each.location for each in findings(lines, "rdjsonl")] == [each.location for each in found]


def sarif(
    region: dict[str, Any], *, deleted: dict[str, Any] | None = None, kind: str = "", **run: Any
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "message": {"id": "m", "arguments": ["very"]},
        "ruleIndex": 0,
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": "file:///a/sample.md"}, "region": region}}],
    }
    if deleted is not None:
        change = {"deletedRegion": deleted, "insertedContent": {"text": "rather"}}
        result["fixes"] = [{"artifactChanges": [{"artifactLocation": {"uri": "a"}, "replacements": [change]}]}]
    if kind:
        result["kind"] = kind
    rule = {"id": "R", "messageStrings": {"m": {"text": "Not {0} {1}"}}, "defaultConfiguration": {"level": "note"}}
    return {
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "x", "rules": [rule]}}, "results": [result], **run}],
    }


@pytest.mark.parametrize(("column_kind", "start"), [("utf16CodeUnits", 12), ("unicodeCodePoints", 11), (None, 11)])
def test_sarif_says_its_columns_and_its_fix(column_kind: str | None, start: int) -> None:
    region = {"startLine": 1, "startColumn": start, "endColumn": start + 4}
    run = {"columnKind": column_kind} if column_kind else {}
    (found,) = findings(sarif(region, deleted={**region, "endLine": 1}, **run), "sarif")
    assert (found.message, found.rule, found.severity) == ("Not very {1}", "R", "info")
    assert (found.words, found.suggestion) == ("very", "rather")
    (found,) = findings(sarif(region, deleted={**region, "endColumn": start + 11}, **run), "sarif")
    assert found.suggestion is None
    assert findings(sarif(region, kind="pass"), "sarif") == []


def test_range_that_splits_a_word_gives_no_suggestion() -> None:
    region = {"startLine": 1, "startColumn": 12, "endColumn": 15}
    (found,) = findings(sarif(region, deleted=region), "sarif")
    assert (found.words, found.suggestion) == ("ery", None)


@pytest.mark.parametrize(
    ("output", "format_name", "reason"),
    [
        ("no json", "vale", "it is not JSON"),
        ("[1]", "vale", "another structure"),
        ('{"a": [1]}', "vale", "another structure"),
        ("[" * 5000, "sarif", "it is not JSON"),
        ("{}", "sarif", "it has no runs"),
        ('{"runs": [{"results": {}}]}', "sarif", "another structure"),
        ("{}", "rdjson", "it has no diagnostics"),
        ('{"message": 1}\n[]', "rdjsonl", "another structure"),
        ("Segmentation fault", "lines", "no line has the form"),
        ("<a/>", "checkstyle", "it is not Checkstyle XML"),
        ("<checkstyle>", "checkstyle", "it is not XML"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><checkstyle/>', "checkstyle", "it has a document type"),
        ("<checkstyle>" * 100, "checkstyle", "it is not Checkstyle XML"),
        ("a\0b", "lines", "it is not text"),
        ("x" * (5 << 20), "lines", "it is larger than 4 MiB"),
    ],
)
def test_output_in_another_format_is_refused_with_a_reason(output: str, format_name: Format, reason: str) -> None:
    with pytest.raises(UnreadableReport, match=reason):
        read_reports(output.encode(), format_name)


def test_line_separator_in_a_message_does_not_end_its_line() -> None:
    finding = json.dumps({"message": "One\u2028two", "location": {"path": "a.md"}}, ensure_ascii=False)
    reports, _ = read_reports(f"{finding}\n{finding}\n".encode(), "rdjsonl")
    assert [each.message for each in reports] == ["One two"] * 2


def test_findings_beyond_the_limit_are_counted_as_more() -> None:
    output = "".join(f"a.md:{number + 1}:1: message\n" for number in range(MAX_FINDINGS + 5)).encode()
    reports, has_more = read_reports(output, "lines")
    assert (len(reports), has_more) == (MAX_FINDINGS, True)
    assert read_reports(b"\n \n", "lines") == ((), False)


def test_text_of_a_linter_is_sanitized() -> None:
    output = json.dumps(
        {"sample.md": [{**VALE["sample.md"][0], "Message": "a\x1b[31m\nb\u202e" + "c" * 900, "Check": "\x07x"}]}
    )
    (found,) = findings(output, "vale")
    assert not set(found.message + found.rule) & {"\x1b", "\x07", "\u202e", "\n"}
    assert len(found.message) <= 300


def test_findings_outside_of_the_page_are_omitted() -> None:
    output = "other.md:1:1: x\nsample.md:99:1: x\nfolder/sample.md:3:999: end\n<stdin>:1:1: y\n"
    found = findings(output, "lines")
    assert [(each.message, each.location.line) for each in found] == [("end", 3), ("y", 1)]
    assert found[0].location.column == len(SAMPLE.split("\n")[2]) + 1


BEFORE = "# Title\n\nWe utilise the harbour.\n\n* One\n* Two\n\n> quoted old\n"
AFTER = "# Title\n\nWe utilise the very big harbour.\n\n* One\n* Two more\n* Three\n\n> quoted\n\n```sh\nvery\n```\n"


@pytest.mark.parametrize(
    ("place", "has_column", "is_added"),
    [
        (FileRange(1, 1, 1, 7), True, False),
        (FileRange(3, 4, 3, 11), True, False),
        (FileRange(3, 16, 3, 20), True, True),
        (FileRange(3, 12, 3, 17), True, True),
        (FileRange(3, 1, 3, 5), False, True),
        (FileRange(1, 1, 1, 5), False, False),
        (FileRange(7, 1, 7, 1), True, True),
        (FileRange(9, 1, 9, 3), True, False),
        (FileRange(9, 3, 9, 9), True, True),
        (FileRange(1, 1, 12, 2), True, True),
    ],
)
def test_range_counts_if_it_touches_an_added_word(place: FileRange, has_column: bool, is_added: bool) -> None:
    assert added_ranges(BEFORE, AFTER).touches(place, has_column=has_column) is is_added


@given(st.text(alphabet="ab \n🎉", max_size=40), st.text(alphabet="ab \n🎉", max_size=40))
def test_added_columns_are_inside_their_lines(before: str, after: str) -> None:
    lines = after.split("\n")
    for number, ranges in added_ranges(before, after).lines.items():
        assert all(0 <= start <= end <= len(lines[number - 1]) for start, end in ranges)
    assert added_ranges(after, after).lines == {}


def test_findings_are_grouped_by_the_innermost_block() -> None:
    page = LintedPage("p", "p.md", parse(AFTER), AFTER, added_ranges(BEFORE, AFTER))
    reports = [
        ReportedFinding("title", line=1, column=1),
        ReportedFinding("big", line=3, column=21, end_column=24),
        ReportedFinding("three", line=7, column=3),
        ReportedFinding("code", line=12, column=1, end_column=5),
        ReportedFinding("gap", line=10),
    ]
    found = list(to_page_findings(reports, page, AFTER, tool="x", column_unit="code-points"))
    document = parse(AFTER)
    placed = [
        (
            block.kind if (block := document.find(key)) else "",
            block.plain() if block else "",
            [each.message for each in group],
        )
        for key, group in group_by_block(found).items()
    ]
    assert placed == [
        ("paragraph", "We utilise the very big harbour.", ["big"]),
        ("paragraph", "Three", ["three"]),
        ("", "", ["gap"]),
        ("code", "very", ["code"]),
    ]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["tags"], "---\na: b\n---\n                \nx `y` \n                \n```\nz é\n```\n"),
        (["code"], "---\na: b\n---\n{% hint a='é' %}\nx     \n{%    endhint %}\n   \n   \n   \n"),
        (["front-matter"], "   \n    \n   \n{% hint a='é' %}\nx `y` \n{%    endhint %}\n```\nz é\n```\n"),
        ([], "---\na: b\n---\n{% hint a='é' %}\nx `y` \n{%    endhint %}\n```\nz é\n```\n"),
    ],
)
def test_masked_parts_are_spaces_of_equal_length(parts: list[Any], expected: str) -> None:
    text = "---\na: b\n---\n{% hint a='é' %}\nx `y` \n{%    endhint %}\n```\nz é\n```\n"
    assert mask_parts(text, parts) == expected
    assert len(expected) == len(text)


def test_code_is_masked_below_other_line_separators() -> None:
    text = "One\u2028two\x85three\rfour.\n\n```\ncode\n```\n\nLast.\n"
    assert mask_parts(text, ["code"]) == text.replace("```", "   ").replace("code", "    ")


def test_columns_in_bytes_are_those_of_the_masked_text() -> None:
    text = "{% é %} é very\n"
    masked = mask_parts(text, ["tags"])
    page = LintedPage("p", "p.md", parse(text), text)
    report = ReportedFinding(
        "x", line=1, column=len(masked[:10].encode()) + 1, end_column=len(masked[:14].encode()) + 1
    )
    (found,) = to_page_findings([report], page, masked, tool="x", column_unit="bytes")
    assert found.words == "very"
