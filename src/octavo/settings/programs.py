"""Reads the sections of `config.toml` with programs that Octavo runs: `[[hook]]`, `[[command]]` and `[[linter]]`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeGuard, get_args

from octavo.settings.file import MAX_NAME_LENGTH, InvalidValueError, ReportIgnored, did_you_mean, quoted, why_not_keys

HookEvent = Literal["inbox-row", "review-requested", "new-reply", "changes-requested", "outdated", "merged"]
EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)
HOOK_PLACEHOLDERS = ("{ref}", "{url}", "{kind}", "{space}")
"""Placeholders in the command of a hook. Each must be a whole argument, or all of an argument after `=`."""
_CODE_OPTIONS = ("-c", "-e", "--eval")
"""Options after which many programs run their argument as code, so that no placeholder may follow."""
_HOOK_FIELDS = ("on", "command")
_MAX_HOOKS = 20
ItemKind = Literal["block", "thread", "page", "change", "inbox", "space"]
ITEM_KINDS: tuple[ItemKind, ...] = get_args(ItemKind)
"""The kinds of items on which a custom command can run, the smallest first."""
CommandResult = Literal["none", "notification", "pager", "pending-comment"]
RESULTS: tuple[CommandResult, ...] = get_args(CommandResult)
COMMAND_PLACEHOLDERS = (*HOOK_PLACEHOLDERS, "{path}", "{block}")
"""Placeholders in a custom command. They follow the rule in the docstring of `HOOK_PLACEHOLDERS`."""
_COMMAND_FIELDS = ("key", "name", "in", "command", "show", "confirm", "writes")
_MAX_COMMANDS = 50
FORMATS = ("vale", "sarif", "rdjson", "rdjsonl", "checkstyle", "lines")
COLUMNS = ("code-points", "utf-16", "utf-16-0", "bytes")
MASKS = ("tags", "code", "front-matter")
LINTER_PLACEHOLDERS = ("{file}", "{path}", "{folder}", "{output}")
"""Placeholders in the command of a linter. They follow the rule in the docstring of `HOOK_PLACEHOLDERS`."""
_MAX_LINTERS = 20
_MAX_ARGUMENTS, _MAX_ARGUMENT_LENGTH = 50, 1000
_MASKED_BY_DEFAULT = ("vale", "lines", "checkstyle")
"""Output formats of linters for prose. By default, `Linter.mask` removes the tags from pages for such linters."""
_LINTER_FIELDS = ("name", "command", "format", "columns", "folder", "mask", "spaces", "auto", "env", "blocks")
_OWN_PREFIX = re.compile(r"OCTAVO_", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


Section: TypeAlias = Mapping[str, Any]


def _valid_sections(
    value: Any,
    kind: str,
    max_count: int,
    report_ignored: ReportIgnored,
    problems_in: Callable[[Section], Iterator[tuple[str, str]]],
    id_of_name: Callable[[str], str] = str,
) -> Iterator[Section]:
    """Yield the valid sections among the first `max_count`, and report why other sections are ignored. `kind` names the
    sections. `problems_in` yields the field and a phrase for each problem. A section is also ignored if `id_of_name`
    returns the same ID for an earlier name. Raises InvalidValueError if `value` is not a list of sections."""
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise InvalidValueError(f"must be written as [[{kind}]], with two brackets")
    names_by_id: dict[str, str] = {}
    for section in value[:max_count]:
        problems = list(problems_in(section))
        if not problems and (name := section.get("name")) is not None:
            if (other_name := names_by_id.get(id_of_name(name))) is not None:
                problems = [
                    ("name", f"{quoted(name)} has the same letters as {quoted(other_name)}, the name of another {kind}")
                ]
            names_by_id.setdefault(id_of_name(name), name)
        for field, why in problems:
            report_ignored(f"{field} {why}", result=f"Octavo ignores the {kind}.")
        if not problems:
            yield section
    if len(value) > max_count:
        report_ignored(f"has more than {max_count} sections", result="Octavo ignores the others.")


@dataclass(frozen=True)
class Hook:
    """A program that runs at an event while the app is open."""

    event: HookEvent
    command: tuple[str, ...]


def validate_hooks(value: Any, report_ignored: ReportIgnored) -> tuple[Hook, ...]:
    """Return the valid hooks, and report invalid ones. Raises InvalidValueError if `value` is no list of sections."""
    sections = _valid_sections(value, "hook", _MAX_HOOKS, report_ignored, _hook_problems)
    return tuple(Hook(section["on"], tuple(section["command"])) for section in sections)


def _hook_problems(section: Section) -> Iterator[tuple[str, str]]:
    yield from _unknown_field_problems(section, "hook", _HOOK_FIELDS)
    event = section.get("on")
    if event not in EVENTS:
        suggestion = did_you_mean(event, EVENTS) if isinstance(event, str) else ""
        yield "on", f"must be one of {', '.join(EVENTS)}, not {quoted(event)}.{suggestion}".removesuffix(".")
    yield from _command_problems(section.get("command"), HOOK_PLACEHOLDERS, '["notify", "{ref}"]')


def _unknown_field_problems(section: Section, kind: str, fields: Collection[str]) -> Iterator[tuple[str, str]]:
    for unknown in section.keys() - set(fields):
        suggestion = did_you_mean(unknown, fields)
        yield unknown[:MAX_NAME_LENGTH], f"is not a field of a {kind}.{suggestion} The fields are {', '.join(fields)}"


def _command_problems(command: object, placeholders: Collection[str], example: str) -> Iterator[tuple[str, str]]:
    """Yield `("command", phrase)` for each problem of a command, such as a placeholder that would run as code."""
    if not _is_command(command):
        yield "command", f"must be a list of a program and its arguments, such as {example}"
        return
    for number, each in enumerate(command):
        if not any(mark in each for mark in placeholders):
            continue
        head, _, last = each.rpartition("=")
        option = head or (command[number - 1] if number else "")
        if number == 0:
            yield "command", "must begin with a program, not with a placeholder"
        elif last not in placeholders:
            yield "command", f"contains {quoted(each)}. A placeholder must be a whole argument, or the part after ="
        elif option in _CODE_OPTIONS:
            yield "command", f"contains {quoted(last)} after {option}, where it would run as code"


@dataclass(frozen=True)
class CustomCommand:
    """A program that runs when the user chooses its command in the app."""

    name: str
    """Title of the command in the command palette and in the help."""
    item_kinds: tuple[ItemKind, ...]
    command: tuple[str, ...]
    key: str = ""
    """Keys in the notation of Textual, separated by commas. Empty if only the command palette has the command."""
    output_target: CommandResult = "none"
    """Where Octavo shows the output of the program."""
    needs_confirmation: bool = False
    """True if Octavo asks the user before the program runs."""
    writes: bool = False
    """True if the program changes something, so that it does not run in read-only mode."""

    @property
    def id(self) -> str:
        """The name in lower case with hyphens, as in the ID of the command."""
        return _id_of(self.name)


def _id_of(name: str) -> str:
    return re.sub(r"[\W_]+", "-", name.lower()).strip("-")


def validate_commands(value: Any, report_ignored: ReportIgnored) -> tuple[CustomCommand, ...]:
    """Return valid commands, and report invalid ones. Raises InvalidValueError if `value` is no list of sections."""
    return tuple(
        CustomCommand(
            section["name"],
            tuple(section["in"]),
            tuple(section["command"]),
            section.get("key", ""),
            section.get("show", "none"),
            section.get("confirm", False),
            section.get("writes", False),
        )
        for section in _valid_sections(
            value, "command", _MAX_COMMANDS, report_ignored, _custom_command_problems, _id_of
        )
    )


def _custom_command_problems(section: Section) -> Iterator[tuple[str, str]]:
    yield from _unknown_field_problems(section, "command", _COMMAND_FIELDS)
    name_problems = list(_name_problems(section.get("name")))
    yield from name_problems
    if not name_problems and not _id_of(section["name"]):
        yield "name", "must contain a letter or a digit"
    if why := why_not_keys(section["key"]) if "key" in section else "":
        yield "key", why
    kinds = section.get("in")
    if not (isinstance(kinds, list) and kinds and all(_is_short_line(each) for each in kinds)):
        yield "in", 'must be a list of items, such as ["change", "thread"]'
    elif unknown := next((each for each in kinds if each not in ITEM_KINDS), ""):
        yield (
            "in",
            f"contains {quoted(unknown)}.{did_you_mean(unknown, ITEM_KINDS)} The items are {', '.join(ITEM_KINDS)}",
        )
    yield from _command_problems(section.get("command"), COMMAND_PLACEHOLDERS, '["make-ticket", "{ref}"]')
    yield from _choice_problems(section, "show", RESULTS)
    for field in ("confirm", "writes"):
        if not isinstance(section.get(field, False), bool):
            yield field, "must be true or false"


def _name_problems(name: object) -> Iterator[tuple[str, str]]:
    if not (isinstance(name, str) and name.strip() and name.isprintable() and len(name) <= MAX_NAME_LENGTH):
        yield "name", f"must be a name of 1 to {MAX_NAME_LENGTH} printable characters"


@dataclass(frozen=True)
class Linter:
    """A program that checks a page."""

    name: str
    command: tuple[str, ...]
    """The program and its arguments. An argument `-` means that the program reads the page from standard input."""
    format: str
    """Format of the output of the program, one of `FORMATS`."""
    columns: str = ""
    """Unit in which the program counts columns, one of `COLUMNS`. Empty for the usual unit of the format."""
    folder: Path | None = None
    """Folder in which the program runs. None for a temporary folder."""
    mask: tuple[str, ...] = ()
    """Parts of a page that the program does not get, such as code. Names in `MASKS`."""
    spaces: tuple[str, ...] = ()
    """Titles or IDs of the spaces whose pages are checked. Empty for all spaces."""
    is_automatic: bool = False
    """True if the program runs when the user opens a change request."""
    environment: tuple[str, ...] = ()
    """Names of environment variables that the program gets in addition to a few common variables."""
    is_blocking: bool = False
    """True if a finding on text that a change request adds prevents its merge."""


def validate_linters(value: Any, report_ignored: ReportIgnored) -> tuple[Linter, ...]:
    """Return the valid linters, and report invalid ones. Raises InvalidValueError if `value` is no list of sections."""

    def problems_in(section: Section) -> Iterator[tuple[str, str]]:
        name = section.get("name")
        for field, why in _linter_problems(section):
            label = (
                f"{field} of {name[:MAX_NAME_LENGTH]}" if isinstance(name, str) and name and field != "name" else field
            )
            yield label, why

    sections = _valid_sections(value, "linter", _MAX_LINTERS, report_ignored, problems_in)
    return tuple(map(_build_linter, sections))


def _build_linter(section: Section) -> Linter:
    folder = section.get("folder")
    mask = section.get("mask", ["tags"] if section["format"] in _MASKED_BY_DEFAULT else [])
    return Linter(
        section["name"],
        tuple(section["command"]),
        section["format"],
        section.get("columns", ""),
        Path(os.path.expanduser(folder)) if folder else None,
        tuple(mask),
        tuple(section.get("spaces", ())),
        section.get("auto", False),
        tuple(section.get("env", ())),
        section.get("blocks", False),
    )


def _linter_problems(section: Section) -> Iterator[tuple[str, str]]:
    yield from _unknown_field_problems(section, "linter", _LINTER_FIELDS)
    yield from _name_problems(section.get("name"))
    command = section.get("command")
    yield from _command_problems(command, LINTER_PLACEHOLDERS, '["vale", "--output=JSON", "{file}"]')
    if _is_command(command) and not any("{file}" in each or each == "-" for each in command):
        yield "command", "needs the argument {file}, or - for the page on standard input"
    yield from _choice_problems(section, "format", FORMATS, is_required=True)
    yield from _choice_problems(section, "columns", COLUMNS)
    for field in ("mask", "spaces", "env"):
        values = section.get(field, [])
        if not (isinstance(values, list) and all(_is_short_line(each) for each in values)):
            yield field, "must be a list of texts"
        elif field == "mask" and (unknown := next((each for each in values if each not in MASKS), "")):
            yield field, f"contains {quoted(unknown)}.{did_you_mean(unknown, MASKS)} The parts are {', '.join(MASKS)}"
        elif field == "env" and (forbidden_name := next((each for each in values if not _is_allowed(each)), "")):
            yield field, f"contains {quoted(forbidden_name)}, which is not a variable that linters can get"
    if not (section.get("folder") is None or _is_short_line(section["folder"])):
        yield "folder", "must be the path of a folder"
    for field in ("auto", "blocks"):
        if not isinstance(section.get(field, False), bool):
            yield field, "must be true or false"


def _choice_problems(
    section: Section, field: str, choices: Collection[str], *, is_required: bool = False
) -> Iterator[tuple[str, str]]:
    value = section.get(field)
    if value not in choices and (is_required or value is not None):
        suggestion = did_you_mean(value, choices) if isinstance(value, str) else ""
        yield field, f"must be one of {', '.join(choices)}.{suggestion}".removesuffix(".")


def _is_command(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and 0 < len(value) <= _MAX_ARGUMENTS and all(map(_is_short_line, value))


def _is_short_line(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MAX_ARGUMENT_LENGTH and value.isprintable()


def _is_allowed(variable: str) -> bool:
    """Return whether a linter may get `variable`: a valid name, but none of Octavo's, because one has the API key."""
    return bool(_VARIABLE.fullmatch(variable)) and not _OWN_PREFIX.match(variable)
