"""`octavo check`: find broken links and other mistakes in a folder, a space or a change request."""

from __future__ import annotations

import argparse
import os
import posixpath
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from octavo.api.safety import safe_line
from octavo.cli.access import read_settings
from octavo.cli.check_folder import CheckReport, check_folder
from octavo.cli.check_formats import FORMATS, summary_line, text_lines
from octavo.cli.check_settings import NETWORK, choose_rules
from octavo.cli.commands import Command
from octavo.cli.connection import run_connected
from octavo.cli.failures import FAILED, USAGE, Failure
from octavo.cli.refs import References
from octavo.cli.standard_streams import tell, write_out
from octavo.documents.checks.findings import Finding, RuleChoice, has_at_least, sorted_findings
from octavo.documents.folders.folder import readable_name

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

NEVER = "never"


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "target",
        nargs="?",
        default=".",
        metavar="FOLDER|REF",
        help="a folder, or a space, a change request or a page (default: this folder)",
    )
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
        "--added", dest="is_added_only", action="store_true", help="report only what the change request added"
    )
    command.add_argument(
        "--linters", dest="runs_linters", action="store_true", help="run the linters of your settings too"
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
    if path.is_dir():
        return _run_on_folder(options, path)
    if path.exists() or options.target.startswith((".", "/", "~")):
        problem = "it is not a folder" if path.exists() else "there is no such folder"
        raise Failure(f"Could not check {_target_label(options.target)}: {problem}.", USAGE)
    return _run_on_ref(options)


def _run_on_folder(options: argparse.Namespace, path: Path) -> int:
    if options.is_added_only or options.runs_linters:
        name = "--added" if options.is_added_only else "--linters"
        raise Failure(
            f"Could not check {_target_label(options.target)}: {name} needs a REF, such as handbook/7.", USAGE
        )
    rules = choose_rules(options.rules, options.ignored, path)
    try:
        report = check_folder(path, follows_urls=NETWORK in rules.rules)
    except OSError as error:
        raise Failure(
            f"Could not check {_target_label(options.target)}: {(error.strerror or 'unknown').lower()}.", USAGE
        ) from None
    return _finish(options, rules, report, "" if options.target in (".", "./") else readable_name(options.target))


def _run_on_ref(options: argparse.Namespace) -> int:
    from octavo.cli.check_content import ContentOptions, check_content  # lazy: the data layer, not needed for folders

    rules = choose_rules(options.rules, options.ignored)
    linters = read_settings().linters if options.runs_linters else ()
    if options.runs_linters and not linters:
        raise Failure(
            "Could not run linters: there are none in config.toml. To add one, run: octavo help linters", USAGE
        )

    async def work(session: Session) -> int:
        target = await References(session, options).target(options.target)
        wanted = ContentOptions(options.is_added_only, linters, NETWORK in rules.rules)
        return _finish(options, rules, await check_content(session.live, target, wanted), "")

    try:
        return run_connected(options, work, action=f"check {_target_label(options.target)}")
    except Failure as failure:
        if not str(failure):
            raise
        hint = "" if "://" in options.target else f"There is no folder {_target_label(options.target)}. "
        code = USAGE if failure.code == FAILED else failure.code  # 1 means that there are findings.
        raise Failure(f"{hint}{failure}", code, error=failure.error) from failure


def _finish(options: argparse.Namespace, rules: RuleChoice, report: CheckReport, prefix: str) -> int:
    """Print the findings that the rules report, and return the exit code."""
    tell(*report.problems)
    found = [
        replace(each, path=posixpath.normpath(posixpath.join(prefix, each.path)))
        for each in sorted_findings(report.findings)
        if rules.applies(each)
    ]
    texts = {posixpath.normpath(posixpath.join(prefix, name)): text for name, text in report.texts.items()}
    print_findings(found, options.format, texts, report.pages)
    return FAILED if options.fail_on != NEVER and has_at_least(found, options.fail_on) else 0


def _target_label(target: str) -> str:
    return safe_line(readable_name(target))


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
