"""Reads `.octavo.toml`, the settings of `octavo check` in a folder. The file comes with the folder, which may be from a
stranger. So it has no setting for a command to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from octavo.cli.failures import USAGE, Failure
from octavo.documents.checks.findings import DEFAULT_RULES, RULES, RuleChoice
from octavo.documents.folders.folder import Folder
from octavo.settings import did_you_mean
from octavo.untrusted_input import parse_toml

FILE = ".octavo.toml"
DEFAULT = "default"
"""Name of all rules that are checked by default."""
NETWORK = "external-link"
"""The rule that sends requests."""
_MAX_PATHS = 500
"""Maximum number of patterns of paths."""
_COMMANDS = ("command", "commands", "linter", "linters", "hook", "run")


def choose_rules(rules: Sequence[str], ignored: Sequence[str], folder: Path | None = None) -> RuleChoice:
    """Return the rules to check: those in `rules`, else those of the settings in `folder`, without the ignored ones.
    Raises Failure if a name or the file is not valid."""
    settings = _read(folder) if folder is not None else {}
    where = f" in {FILE}"
    if NETWORK in _names(settings, "rules"):
        raise _failure(f"a folder cannot send requests. To check links to websites, run: octavo check --rule {NETWORK}")
    chosen = _rules(rules) or _rules(_names(settings, "rules"), where) or DEFAULT_RULES
    ignored_everywhere = _rules(ignored) | _rules(_names(settings, "ignore"), where)
    return RuleChoice(chosen - ignored_everywhere, tuple(_paths(settings)))


def _read(folder: Path) -> Mapping[str, Any]:
    """Return the content of the file in a folder. Empty if there is none."""
    files = Folder(folder.resolve(), folder.resolve())
    if not files.has_file(Path(FILE)):
        return {}
    text = files.text(Path(FILE))
    if text is None:
        raise _failure(f"it {files.problems[0].message.removesuffix('.')}")
    try:
        settings = parse_toml(text)
    except ValueError as error:
        raise _failure(str(error)) from None
    _refuse_unknown(settings, ("rules", "ignore", "paths"), "")
    return settings


def _refuse_unknown(section: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for name in section:
        if name in _COMMANDS:
            raise _failure("a folder cannot name commands. Add linters to config.toml")
        if name not in known:
            meant = did_you_mean(name[:40], known)
            raise _failure(f"{where}{name[:40]} is not a setting.{meant} The settings are {', '.join(known)}")


def _paths(settings: Mapping[str, Any]) -> Iterator[tuple[str, frozenset[str]]]:
    sections = settings.get("paths", {})
    if not isinstance(sections, dict) or len(sections) > _MAX_PATHS:
        raise _failure(f'paths must have at most {_MAX_PATHS} sections, such as [paths."drafts/**"]')
    for pattern, section in sections.items():
        if not isinstance(section, dict):
            raise _failure('paths must have sections, such as [paths."drafts/**"]')
        _refuse_unknown(section, ("ignore",), f"paths.{pattern[:40]!r}.")
        yield pattern, _rules(_names(section, "ignore"), f" in {FILE}")


def _names(section: Mapping[str, Any], name: str) -> list[str]:
    names = section.get(name, [])
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise _failure(f'{name} must be a list of rules, such as ["link", "image"]')
    return names


def _rules(names: Sequence[str], where: str = "") -> frozenset[str]:
    """Return the rules with these names. Raises Failure if no rule has a name."""
    for name in names:
        if name not in (*RULES, DEFAULT):
            meant = did_you_mean(name[:40], RULES) or " For a list, run: octavo help check"
            raise Failure(f"Unknown rule {name[:40]!r}{where}.{meant}", USAGE)
    chosen = frozenset(name for name in names if name != DEFAULT)
    return chosen | DEFAULT_RULES if DEFAULT in names else chosen


def _failure(reason: str) -> Failure:
    return Failure(f"Could not read {FILE}: {reason}.", USAGE)
