"""The settings of hooks: `[[hook]]` sections of `config.toml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from octavo.settings.values import Ignore, InvalidValueError, did_you_mean, quoted

HookEvent = Literal["inbox-row", "review-requested", "new-reply", "changes-requested", "outdated", "merged"]
EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)
PLACEHOLDERS = ("{ref}", "{url}", "{kind}", "{space}")
"""Arguments of a command that Octavo fills in, alone or after `=`."""
_CODE_OPTIONS = ("-c", "-e")
"""Options after which many programs run their argument as code."""
_FIELDS = ("on", "command")
_MOST_HOOKS, _MOST_ARGUMENTS, _LONGEST_ARGUMENT = 20, 50, 1000


@dataclass(frozen=True)
class Hook:
    """A program that runs when something happens while the app is open."""

    event: HookEvent
    command: tuple[str, ...]


def validate_hooks(value: Any, ignore: Ignore) -> tuple[Hook, ...]:
    """Return the valid hooks, and report the others. Raises InvalidValueError if the value is no list of sections."""
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise InvalidValueError("must be written as [[hook]], with two brackets")
    found: list[Hook] = []
    for section in value[:_MOST_HOOKS]:
        problems = list(_problems(section))
        for field, why in problems:
            ignore(f"{field} {why}", result="Octavo ignores the hook.")
        if not problems:
            found.append(Hook(section["on"], tuple(section["command"])))
    if len(value) > _MOST_HOOKS:
        ignore(f"has more than {_MOST_HOOKS} sections", result="Octavo ignores the others.")
    return tuple(found)


def _problems(section: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of each invalid field of a hook, and why."""
    for unknown in section.keys() - set(_FIELDS):
        yield unknown[:40], f"is not a field of a hook.{did_you_mean(unknown, _FIELDS)} The fields are on and command"
    event = section.get("on")
    if event not in EVENTS:
        meant = did_you_mean(event, EVENTS) if isinstance(event, str) else ""
        yield "on", f"must be one of {', '.join(EVENTS)}, not {quoted(event)}.{meant}".removesuffix(".")
    yield from command_problems(section.get("command"))


def command_problems(command: object) -> Iterator[tuple[str, str]]:
    """Yield why a command cannot be used. It is never run by a shell, and no placeholder is part of code."""
    if not (isinstance(command, list) and 0 < len(command) <= _MOST_ARGUMENTS and all(map(_is_argument, command))):
        yield "command", 'must be a list of a program and its arguments, such as ["notify", "{ref}"]'
        return
    for before, each in zip(["", *command], command, strict=False):
        if not any(mark in each for mark in PLACEHOLDERS):
            continue
        if each is command[0]:
            yield "command", "must begin with a program, not with a placeholder"
        elif each.rpartition("=")[2] not in PLACEHOLDERS:
            yield "command", f"contains {quoted(each)}. A placeholder must be a whole argument, or the part after ="
        elif before in _CODE_OPTIONS:
            yield "command", f"contains {quoted(each)} after {before}, where it would run as code"


def _is_argument(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_ARGUMENT and value.isprintable()
