"""`octavo check`: find broken links and other mistakes in a folder, a space or a change request."""

from __future__ import annotations

import argparse
import os
import posixpath
import sys
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from octavo import __version__
from octavo.api.safety import safe_address, safe_line
from octavo.cli.access import read_settings
from octavo.cli.checking import NETWORK_RULE, CheckOptions, CheckReport, check_content, check_folder, choose_rules
from octavo.cli.commands import CliCommand
from octavo.cli.connection import run_connected
from octavo.cli.output import compact_json, indented_json
from octavo.cli.refs import RefResolver
from octavo.cli.standard_streams import FAILED, USAGE, Failure, is_terminal, tell, write_out, write_untrusted
from octavo.documents.checks.findings import (
    OWN_TOOL,
    RULES,
    SEVERITIES,
    Finding,
    RuleChoice,
    has_severity,
    sorted_findings,
)
from octavo.documents.folders.folder import readable_name
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

_SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_GITHUB_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
_COLORS = {"error": "31", "warning": "33", "info": "36"}


def text_lines(findings: Sequence[Finding], texts: Mapping[str, str]) -> str:
    has_colors = is_terminal(sys.stdout) and not os.environ.get("NO_COLOR")
    lines = []
    for each in findings:
        where, severity = f"{safe_address(each.path)}:{each.location.line}:{each.location.column}:", f"{each.severity}:"
        if has_colors:
            where, severity = f"\x1b[1m{where}\x1b[m", f"\x1b[{_COLORS[each.severity]}m{severity}\x1b[m"
        lines.append(f"{where} {severity} {each.message} ({_rule_name(each)})\n")
    return "".join(lines)


def summary_line(findings: Sequence[Finding], file_count: int) -> str:
    """Return the finding counts, such as `2 errors, 1 warning in 43 files`."""
    counts = Counter(each.severity for each in findings)
    parts = [plural(counts[each], each) for each in SEVERITIES if counts[each] and each != "info"]
    if counts["info"]:
        parts.append(f"{counts['info']} info")
    return f"{', '.join(parts) or 'No problems'} in {plural(file_count, 'file')}\n"


def _rule_name(finding: Finding) -> str:
    return finding.rule if finding.tool == OWN_TOOL else ": ".join(filter(None, (finding.tool, finding.rule)))


def json_text(findings: Sequence[Finding], texts: Mapping[str, str]) -> str:
    return indented_json([each.as_json() for each in findings]) + "\n"


def ndjson_lines(findings: Sequence[Finding], texts: Mapping[str, str]) -> str:
    return "".join(f"{compact_json(each.as_json())}\n" for each in findings)


def github_commands(findings: Sequence[Finding], texts: Mapping[str, str]) -> str:
    """Return workflow commands such as `::error file=…`, which make GitHub Actions annotate the files."""
    return "".join(f"{_github_command(each)}\n" for each in findings)


def _github_command(finding: Finding) -> str:
    location = finding.location
    properties = {"file": finding.path, "line": location.line, "col": location.column}
    if location.line == location.end_line and location.end_column > location.column:
        properties |= {"endLine": location.end_line, "endColumn": location.end_column}
    properties["title"] = _rule_name(finding)
    values = ",".join(f"{name}={_escape(str(value), is_value=True)}" for name, value in properties.items())
    return f"::{_GITHUB_COMMANDS[finding.severity]} {values}::{_escape(finding.message)}"


def _escape(text: str, *, is_value: bool = False) -> str:
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if is_value else text


def rdjson_lines(findings: Sequence[Finding], texts: Mapping[str, str]) -> str:
    """Return the findings in the Reviewdog Diagnostic Format. `texts` has the text of each file, by path."""
    lines = {path: text.split("\n") for path, text in texts.items() if path in {each.path for each in findings}}
    return "".join(f"{compact_json(_rdjson(each, lines.get(each.path, [])))}\n" for each in findings)


def _rdjson(finding: Finding, lines: Sequence[str]) -> dict[str, Any]:
    location = finding.location
    start = {"line": location.line, "column": _byte_column(lines, location.line, location.column)}
    end = {"line": location.end_line, "column": _byte_column(lines, location.end_line, location.end_column)}
    diagnostic: dict[str, Any] = {
        "message": finding.message,
        "location": {"path": finding.path, "range": {"start": start, "end": end}},
        "severity": finding.severity.upper(),
        "source": {"name": finding.tool},
        "code": {"value": finding.rule},
    }
    if finding.suggestion is not None:
        diagnostic["suggestions"] = [{"range": {"start": start, "end": end}, "text": finding.suggestion}]
    return diagnostic


def _byte_column(lines: Sequence[str], line: int, column: int) -> int:
    text_before = lines[line - 1][: column - 1] if line <= len(lines) else ""
    return len(text_before.encode("utf-8", "surrogatepass")) + 1 if text_before else column


def sarif_text(findings: Sequence[Finding], texts: Mapping[str, str]) -> str:
    """Return the findings as a SARIF 2.1 file, with one run for Octavo and one for each linter."""
    tools = dict.fromkeys([OWN_TOOL, *(each.tool for each in findings)])
    runs = [_sarif_run(tool, [each for each in findings if each.tool == tool]) for tool in tools]
    return indented_json({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": runs}) + "\n"


def _sarif_run(source: str, findings: Sequence[Finding]) -> dict[str, Any]:
    rules = list(dict.fromkeys(each.rule for each in findings))
    driver: dict[str, Any] = {"name": source, "rules": [_sarif_rule(source, rule) for rule in rules]}
    if source == OWN_TOOL:
        driver["version"] = __version__
    results = [_sarif_result(each, rules) for each in findings]
    return {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}


def _sarif_rule(source: str, rule: str) -> dict[str, Any]:
    if source != OWN_TOOL:
        return {"id": rule or source}
    known_rule = RULES[rule]
    level_field = {"level": _SARIF_LEVELS[known_rule.severity]}
    return {"id": rule, "shortDescription": {"text": known_rule.problem}, "defaultConfiguration": level_field}


def _sarif_result(finding: Finding, rules: Sequence[str]) -> dict[str, Any]:
    file = {"uri": ("file://" if finding.path.startswith("/") else "") + quote(finding.path)}
    region = dict(zip(("startLine", "startColumn", "endLine", "endColumn"), finding.location, strict=True))
    result: dict[str, Any] = {
        "ruleId": finding.rule or finding.tool,
        "ruleIndex": rules.index(finding.rule),
        "level": _SARIF_LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": {"artifactLocation": file, "region": region}}],
    }
    if finding.suggestion is not None:
        replacement = {"deletedRegion": region, "insertedContent": {"text": finding.suggestion}}
        result["fixes"] = [{"artifactChanges": [{"artifactLocation": file, "replacements": [replacement]}]}]
    return result


FORMATS: Mapping[str, Callable[[Sequence[Finding], Mapping[str, str]], str]] = {
    "text": text_lines,
    "json": json_text,
    "ndjson": ndjson_lines,
    "sarif": sarif_text,
    "rdjsonl": rdjson_lines,
    "github": github_commands,
}
"""Functions that format findings, by the value of `--format`. They get the findings, and each file's text by path."""
_PRINTED_BY_FILE = frozenset({"text", "ndjson", "github"})
"""Formats that can print the findings of each file as soon as the file is checked."""


NEVER = "never"


def declare(command: argparse.ArgumentParser) -> None:
    target_help = "a folder, or a space, a change request or a page (default: this folder)"
    command.add_argument("target", nargs="?", default=".", metavar="FOLDER|REF", help=target_help)
    rule_help = "check only this rule; repeat it for more rules; “default” stands for all rules that are on by default"
    command.add_argument("--rule", dest="rules", action="append", default=[], metavar="RULE", help=rule_help)
    command.add_argument(
        "--ignore", dest="ignored", action="append", default=[], metavar="RULE", help="do not check this rule"
    )
    command.add_argument(
        "--added", dest="is_added_only", action="store_true", help="report only what the change request added"
    )
    command.add_argument(
        "--linters", dest="runs_linters", action="store_true", help="run the linters of your settings too"
    )
    command.add_argument(
        "--format", choices=tuple(FORMATS), default="text", help="the format of the findings (default: text)"
    )
    command.add_argument(
        "--fail-on",
        choices=("error", "warning", NEVER),
        default="error",
        help="end with exit code 1 if there is a finding of this severity or a higher one (default: error)",
    )


def run(options: argparse.Namespace) -> int:
    path = Path(options.target)
    if os.path.isdir(path):  # Not `Path.is_dir`, which raises OSError for long names.
        return _run_on_folder(options, path)
    if os.path.exists(path) or options.target.startswith((".", "/", "~")):
        problem = "it is not a folder" if os.path.exists(path) else "there is no such folder"
        raise Failure(f"Could not check {_target_label(options.target)}: {problem}.", USAGE)
    return _run_on_ref(options)


def _run_on_folder(options: argparse.Namespace, path: Path) -> int:
    if options.is_added_only or options.runs_linters:
        option = "--added" if options.is_added_only else "--linters"
        raise Failure(
            f"Could not check {_target_label(options.target)}: {option} needs a REF, such as handbook/7.", USAGE
        )
    rules = choose_rules(options.rules, options.ignored, path)
    prefix = "" if options.target in (".", "./") else readable_name(options.target)
    follows_urls = NETWORK_RULE in rules.rules
    prints_early = options.format in _PRINTED_BY_FILE and not follows_urls

    def print_early(findings: Sequence[Finding]) -> None:
        _print_findings(options, _reported_findings(findings, rules, prefix), {})

    try:
        report = check_folder(path, follows_urls=follows_urls, on_file=print_early if prints_early else None)
    except OSError as error:
        raise Failure(
            f"Could not check {_target_label(options.target)}: {(error.strerror or 'unknown').lower()}.", USAGE
        ) from None
    return _finish(options, rules, report, prefix, is_printed=prints_early)


def _run_on_ref(options: argparse.Namespace) -> int:
    rules = choose_rules(options.rules, options.ignored)
    linters = read_settings().linters if options.runs_linters else ()
    if options.runs_linters and not linters:
        raise Failure(
            "Could not run linters: there are none in config.toml. To add one, run: octavo help linters", USAGE
        )

    async def use_session(session: Session) -> int:
        target = await RefResolver(session, options).resolve(options.target)
        check_options = CheckOptions(options.is_added_only, linters, NETWORK_RULE in rules.rules)
        return _finish(options, rules, await check_content(session.live, target, check_options), "")

    try:
        return run_connected(options, use_session, action=f"check {_target_label(options.target)}")
    except Failure as failure:
        if not str(failure):
            raise
        names_folder = "://" not in options.target and failure.code != FAILED
        hint = f"There is no folder {_target_label(options.target)}. " if names_folder else ""
        code = USAGE if failure.code == FAILED else failure.code  # Here, FAILED means findings, not errors.
        raise Failure(f"{hint}{failure}", code, error=failure.error) from failure


def _reported_findings(findings: Collection[Finding], rules: RuleChoice, prefix: str) -> list[Finding]:
    return [
        replace(each, path=posixpath.normpath(posixpath.join(prefix, each.path)))
        for each in sorted_findings(findings)
        if rules.applies(each)
    ]


def _print_findings(options: argparse.Namespace, findings: Sequence[Finding], texts: Mapping[str, str]) -> None:
    # The format “text” is already sanitized, and its colors are escape sequences.
    write = write_out if options.format == "text" else write_untrusted
    write(FORMATS[options.format](findings, texts))


def _finish(
    options: argparse.Namespace, rules: RuleChoice, report: CheckReport, prefix: str, *, is_printed: bool = False
) -> int:
    """Print why the report is incomplete, the findings (unless `is_printed`) and, in the format `text`, the summary.
    Printed paths begin with `prefix`. Return the exit code."""
    tell(*report.incomplete_notes)
    findings = _reported_findings(report.findings, rules, prefix)
    if not is_printed:
        texts = {posixpath.normpath(posixpath.join(prefix, name)): text for name, text in report.texts.items()}
        _print_findings(options, findings, texts)
    if options.format == "text":
        write_out(summary_line(findings, report.page_count))
    return FAILED if options.fail_on != NEVER and has_severity(findings, options.fail_on) else 0


def _target_label(target: str) -> str:
    return safe_line(readable_name(target))


CHECK = CliCommand(
    declare=declare,
    run=run,
    details="Octavo checks the links, anchors, files, tags, and front matter of all pages, or of the pages that a change "
    "request changes. The file .octavo.toml in a folder can choose rules. The rules and formats are described in: "
    "octavo help check",
    examples=(
        "octavo check docs",
        "octavo check harbour-api/7 --added --linters",
        "octavo check . --ignore unused-file --fail-on warning",
        "octavo check docs --format sarif > check.sarif",
    ),
    exit_codes={
        1: "there are findings of the severity of --fail-on, or a higher one",
        2: "the check could not run",
        3: "there is no such space, change request or page",
    },
)
