"""`octavo check`: find broken links and other mistakes in a folder of Markdown files."""

from __future__ import annotations

import argparse
import os
import posixpath
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from octavo.api.safety import line
from octavo.cli.arguments import FAILED, USAGE, Failure, tell, write_out
from octavo.cli.check_folder import check_folder
from octavo.cli.check_formats import FORMATS, summary_line, text_lines
from octavo.cli.check_settings import choose_rules
from octavo.cli.commands import Command
from octavo.documents.checks.findings import Finding, has_at_least, sorted_findings
from octavo.documents.folders.folder import readable_name

NEVER = "never"


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument("target", nargs="?", default=".", metavar="FOLDER", help="the folder (default: this folder)")
    command.add_argument(
        "--rule",
        dest="rules",
        action="append",
        default=[],
        metavar="RULE",
        help="check only this rule; repeat it for more rules; “default” stands for all rules that are on by default",
    )
    command.add_argument(
        "--ignore", dest="ignored", action="append", default=[], metavar="RULE", help="do not check this rule"
    )
    command.add_argument(
        "--format", choices=("text", *FORMATS), default="text", help="the format of the findings (default: text)"
    )
    command.add_argument(
        "--fail-on",
        choices=("error", "warning", NEVER),
        default="error",
        help="end with exit code 1 if there is a finding of this severity or a higher one (default: error)",
    )


def run(options: argparse.Namespace) -> int:
    path = Path(options.target)
    if not path.is_dir():
        problem = "is not a folder" if path.exists() else "does not exist"
        raise Failure(f"Could not check {line(readable_name(options.target))}: the folder {problem}.", USAGE)
    rules = choose_rules(options.rules, options.ignored, path)
    try:
        report = check_folder(path, follows_urls="external-link" in rules.rules)
    except OSError as error:
        reason = (error.strerror or "unknown cause").lower()
        raise Failure(f"Could not check {line(readable_name(options.target))}: {reason}.", USAGE) from None
    tell(*report.problems)
    prefix = "" if options.target in (".", "./") else readable_name(options.target)
    found = [
        replace(each, path=posixpath.normpath(posixpath.join(prefix, each.path)))
        for each in sorted_findings(report.findings)
        if rules.applies(each)
    ]
    texts = {posixpath.normpath(posixpath.join(prefix, name)): text for name, text in report.texts.items()}
    print_findings(found, options.format, texts, report.pages)
    return FAILED if options.fail_on != NEVER and has_at_least(found, options.fail_on) else 0


def print_findings(found: Sequence[Finding], name: str, texts: Mapping[str, str], files: int) -> None:
    """Print findings in the format with this name. `texts` has the texts of the files by path."""
    if name in FORMATS:
        write_out(FORMATS[name](found, texts))
        return
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    write_out(text_lines(found, colors=on_terminal and not os.environ.get("NO_COLOR")))
    write_out(summary_line(found, files))


COMMAND = Command(
    declare=declare,
    run=run,
    details="Octavo checks the links, anchors, files, tags, and front matter of all pages. The file .octavo.toml in the "
    "folder can choose rules. The rules and formats are described in: octavo help check",
    examples=(
        "octavo check docs",
        "octavo check . --ignore unused-file --fail-on warning",
        "octavo check docs --format sarif > check.sarif",
    ),
)
