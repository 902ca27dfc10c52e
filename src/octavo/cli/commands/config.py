"""`octavo config`: list, read, check and edit the settings in `config.toml`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from octavo.cli.arguments import add_command
from octavo.cli.commands import CliCommand
from octavo.cli.output import Output, OutputColumn, add_output_options, declare_fields
from octavo.cli.standard_streams import USAGE, Failure, is_terminal, tell, write_out
from octavo.lazy_import import lazy, load
from octavo.private_files import create_private_folder, lock_file, write_private
from octavo.settings import Settings, SetValue, error_in_words, read_with_values
from octavo.settings.file import FILE, InvalidValueError, did_you_mean, quoted, toml_of, with_value, without_value
from octavo.settings.table import BY_NAME, TABLE, Setting
from octavo.untrusted_input import read_toml_text

# lazy: loads Textual
_accepted_keys = lazy("octavo.tui.widgets.commands:accepted_keys")
_usable_keys = lazy("octavo.tui.app.user_programs:usable_keys")
_run_editor = lazy("octavo.tui.terminal.external_editor:run_editor")
_ignore_keyboard_signals = lazy("octavo.tui.terminal.external_editor:ignore_keyboard_signals")


_EDIT = "To change it, run: octavo config edit"
_DEFAULT = "default"


FIELDS = declare_fields(
    "name string, value object?, source string, default string, type string", extra="choices string[], about string"
)
_COLUMNS = (
    OutputColumn("name"),
    OutputColumn("value", text=lambda row: row["shown"], can_be_cut=True),
    OutputColumn("source"),
)


def _declare(command: argparse.ArgumentParser) -> None:
    actions = command.add_subparsers(title="actions", metavar="ACTION", dest="action", required=True)
    add_output_options(add_command(actions, "list", "list all settings with their values"))
    get_command = add_command(actions, "get", "print the value of a setting", examples=("octavo config get theme",))
    set_command = add_command(
        actions,
        "set",
        "change a setting",
        "The comments and the order of the file are kept. A list takes one value for each item. To change a section, run: "
        "octavo config edit",
        examples=("octavo config set theme dark", 'octavo config set quick_replies "Fixed, thank you." "Will do."'),
    )
    unset_command = add_command(actions, "unset", "remove a setting, so that its default is used")
    for each in (get_command, set_command, unset_command):
        each.add_argument("name", metavar="NAME", help="the name of a setting (as shown by `octavo config list`)")
    set_command.add_argument("values", nargs="+", metavar="VALUE", help="the new value")
    add_command(actions, "edit", "open the settings in your editor")
    add_command(actions, "path", "print the path of the settings file")
    add_command(actions, "check", "report invalid settings; exit code 2 if there are any")


def _run(options: argparse.Namespace) -> int:
    settings, set_values = read_with_values(os.environ)
    path = settings.config_folder / FILE
    match options.action:
        case "path":
            write_out(f"{path}\n")
        case "check":
            return _check(settings)
        case "edit":
            return _edit(settings, path)
        case "list":
            tell(*settings.problems)
            with Output(options, FIELDS, _COLUMNS) as output:
                for each in TABLE:
                    output.add(_row(each, set_values.get(each.name)))
        case "get":
            tell(*settings.problems)
            name = _setting(options.name).name
            if name not in set_values:
                raise Failure(f"{name} is not set. The default is: {BY_NAME[name].default}")
            write_out(f"{_value_text(set_values[name].value)}\n")
        case "set":
            _set(_setting(options.name), path, options.values)
        case "unset":
            setting = _setting(options.name)
            _refuse_section(setting)
            _change(path, lambda text: without_value(text, setting.name), f"unset {setting.name}")
    return 0


def _setting(name: str) -> Setting[Any]:
    if name in BY_NAME:
        return BY_NAME[name]
    hint = did_you_mean(name[:40], BY_NAME) or " For a list, run: octavo config list"
    raise Failure(f"Unknown setting {quoted(name)}.{hint}", USAGE)


def _row(setting: Setting[Any], set_value: SetValue | None) -> dict[str, Any]:
    return {
        "name": setting.name,
        "value": set_value.value if set_value else None,
        "shown": _value_text(set_value.value) if set_value else setting.default,
        "source": set_value.source if set_value else _DEFAULT,
        "default": setting.default,
        "type": setting.kind,
        "choices": list(setting.choices),
        "about": setting.about,
    }


def _value_text(value: Any) -> str:
    if isinstance(value, float):
        return toml_of(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _set(setting: Setting[Any], path: Path, values: Sequence[str]) -> None:
    value = toml_of(_validate(setting, values))
    _change(path, lambda text: with_value(text, setting.name, value), f"set {setting.name}")
    if os.environ.get(setting.variable):
        tell(
            f"The environment variable {setting.variable} overrides this setting. Unset the variable to use the setting."
        )


def _refuse_section(setting: Setting[Any]) -> None:
    if setting.kind == "section":
        raise Failure(f"{setting.name} is a section of config.toml. {_EDIT}", USAGE)


def _validate(setting: Setting[Any], values: Sequence[str]) -> bool | float | str | list[str]:
    _refuse_section(setting)
    is_list = setting.kind == "list of texts"
    if len(values) > 1 and not is_list:
        raise Failure(f"{setting.name} takes one value. Put a value with spaces in quotes.", USAGE)
    reasons: list[str] = []
    value = list(values) if is_list else values[0]
    try:
        "".join(values).encode()
        valid_value = setting.validate(value, lambda why, *_, **__: reasons.append(why))
    except UnicodeEncodeError:
        reasons = ["must be UTF-8 text"]
    except InvalidValueError as error:
        reasons = [f"{error}.{error.suggestion}"]
    if reasons:
        reason = reasons[0].removesuffix(".")
        raise Failure(f"Could not set {setting.name}: the value {reason}{'' if reason.endswith('?') else '.'}", USAGE)
    return valid_value if isinstance(valid_value, (bool, float)) else value


def _change(path: Path, change: Callable[[str], str], action: str) -> None:
    """Change the text of the settings file with `change`. Raises Failure: `Could not ACTION: …`."""
    # Write to the target of a symbolic link, so that the link is not replaced.
    file = Path(os.path.realpath(path))
    try:
        create_private_folder(file.parent)
        with ExitStack() as lock:
            with suppress(OSError):  # a network disk may have no locks
                lock.callback(lock_file(file.with_suffix(".lock")))
            text = read_toml_text(file) if file.exists() else ""
            changed_text = change(text)
            if changed_text != text:
                write_private(file, changed_text)
    except ValueError as error:
        raise Failure(f"Could not {action}: could not read {path}: {error}. {_EDIT}", USAGE) from error
    except OSError as error:
        raise Failure(f"Could not {action}: {error_in_words(error)}") from error


def _check(settings: Settings) -> int:
    problems = [*settings.problems, *_key_problems(settings)]
    write_out("".join(f"{each}\n" for each in problems) or "All settings are valid.\n")
    return USAGE if problems else 0


def _key_problems(settings: Settings) -> list[str]:
    """Return a sentence for each key binding that Octavo ignores."""
    if not settings.keys and not settings.commands:
        return []
    app_type = load("octavo.tui.app.octavo:Octavo")
    contexts = (app_type, *load("octavo.tui.app.keymap_contexts:KEYMAP_CONTEXTS"))
    keys, ignored = _accepted_keys(settings.keys, contexts)
    problems = [f"{settings.location('keys', command_id)} {why}" for command_id, why in ignored]
    return [*problems, *_usable_keys(settings, keys, app_type)[1]] if settings.commands else problems


def _edit(settings: Settings, path: Path) -> int:
    if not is_terminal(sys.stdin):
        raise Failure(
            f"Could not open the editor: standard input is not a terminal. Edit this file instead: {path}", USAGE
        )
    file = Path(os.path.realpath(path))
    try:
        old_text = read_toml_text(file) if file.exists() else _template()
    except (OSError, ValueError) as error:
        raise Failure(f"Could not open {path}: {error_in_words(error)}") from error

    def save(text: str) -> str:
        try:
            if file.exists() and read_toml_text(file) not in (old_text, text):
                return f"Could not save {path}: another program has changed the file since you opened it."
            if text != old_text:
                write_private(file, text)
        except (OSError, ValueError) as error:
            return f"Could not save {path}: {error_in_words(error)}"
        return ""

    with _ignore_keyboard_signals():
        result = _run_editor(
            old_text,
            settings.state_folder / "editing",
            os.environ,
            command=settings.editor,
            name="config",
            save_text=save,
            suffix=".toml",
        )
    if isinstance(result, load("octavo.tui.terminal.external_editor:NotEdited")):
        raise Failure(f"{result.sentence} Your text is in {result.kept_path}." if result.kept_path else result.sentence)
    problems = read_with_values(os.environ)[0].problems
    tell(*problems)
    return USAGE if problems else 0


def _template() -> str:
    lines = ["# Settings of Octavo. For examples, run: octavo help settings"]
    for each in TABLE:
        lines += ["", f"# {each.about}.", f"# {each.name} = {each.example}" if each.example else f"# [{each.name}]"]
    return "\n".join(lines) + "\n"


CONFIG = CliCommand(
    declare=_declare,
    run=_run,
    examples=("octavo config list", "octavo config set theme dark", "octavo config check"),
    fields=FIELDS,
)
