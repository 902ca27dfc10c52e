"""`octavo completion`: prints a script with which a shell completes commands, operations and REFs. The script runs the
hidden command `octavo __complete`, which prints REFs from the cache."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from octavo.cli.arguments import COMPLETE, Commands, all_commands, build_parser, command_parsers
from octavo.cli.platform_folders import demo_folder
from octavo.cli.standard_streams import write_out
from octavo.client import profiles
from octavo.client.profiles import StorageNames
from octavo.data.space_names import cached_change_requests, cached_space_titles, space_name
from octavo.help import TOPICS
from octavo.settings import Settings, read

_SAFE_REF = re.compile(r"[\w-]+(/\d+)?")
"""Matches a REF without characters that are special in a shell."""


def print_refs(words: Sequence[str]) -> int:
    """Print cached REFs that begin with the last of `words`, or all if that is an option. Send nothing. Return 0."""
    prefix = words[-1] if words and not words[-1].startswith("-") else ""
    settings = read(os.environ)
    refs = (each for each in _refs(settings, _cache_namespace(settings, words)) if each.startswith(prefix))
    write_out("".join(f"{each}\n" for each in refs if _SAFE_REF.fullmatch(each)))
    return 0


def _cache_namespace(settings: Settings, words: Sequence[str]) -> str:
    if "--demo" in words:
        return demo_folder(settings).namespace
    try:
        saved_profiles = profiles.read(settings.config_folder / profiles.FILE)
        return StorageNames(settings.state_folder).name_of(profiles.resolve_access(saved_profiles, os.environ))
    except (ValueError, OSError):
        return ""


def _refs(settings: Settings, namespace: str) -> Iterator[str]:
    titles = cached_space_titles(settings.cache_folder, namespace)
    names = {space_id: space_name(space_id, titles) for space_id in titles}
    yield from sorted(names.values())
    requests = cached_change_requests(settings.cache_folder, namespace)
    yield from (f"{names[space_id]}/{number}" for space_id, number in sorted(requests) if space_id in names)


_POWERSHELL_SCRIPT = """# Put this line into your profile ($PROFILE): octavo completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName octavo -ScriptBlock {{
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @{{
{words}
    }}
    $takesRef = @({with_ref})
    $path = 'octavo'
    foreach ($element in $commandAst.CommandElements | Select-Object -Skip 1) {{
        $next = "$path $($element.ToString())"
        if ($words.ContainsKey($next) -and $element.Extent.EndOffset -lt $cursorPosition) {{ $path = $next }}
    }}
    $found = $words[$path]
    if ($takesRef -contains $path -and -not $wordToComplete.StartsWith('-')) {{
        $demo = @($commandAst.CommandElements | ForEach-Object {{ $_.ToString() }} | Where-Object {{ $_ -eq '--demo' }})
        $found += @(octavo {complete} $demo $wordToComplete 2>$null)
    }}
    $found | Where-Object {{ $_ -like "$wordToComplete*" }} | ForEach-Object {{
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
    }}
}}"""


def powershell_script(main_parser: argparse.ArgumentParser) -> str:
    """Return the completion script for PowerShell. `main_parser` is the parser of `octavo`."""
    rows, paths_with_ref = [], []
    for path, command in _commands_with_paths("octavo", main_parser):
        quoted_words = ", ".join(map(_quote_for_powershell, _completions_of(command)))
        rows.append(f"        {_quote_for_powershell(path)} = @({quoted_words})")
        if any(takes_ref(each) for each in command._actions):
            paths_with_ref.append(_quote_for_powershell(path))
    return _POWERSHELL_SCRIPT.format(words="\n".join(rows), with_ref=", ".join(paths_with_ref), complete=COMPLETE)


def takes_ref(action: argparse.Action) -> bool:
    """Return whether an argument of a command expects a REF."""
    return isinstance(action.metavar, str) and "REF" in action.metavar.split("|")


def _commands_with_paths(path: str, command: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield path, command
    for name, each in command_parsers(command).items():
        yield from _commands_with_paths(f"{path} {name}", each)


def _completions_of(command: argparse.ArgumentParser) -> list[str]:
    completions = list(command_parsers(command))
    for action in command._actions:
        if not isinstance(action, Commands):
            completions += map(str, action.choices or ())
        completions += [each for each in action.option_strings if each.startswith("--")]
    return list(dict.fromkeys(completions))


def _quote_for_powershell(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"


_NAMES, _VALUES, _REFS = "_octavo_operations", "_octavo_values", "_octavo_refs"


def run(options: argparse.Namespace) -> int:
    write_out(script(options.shell) + "\n")
    return 0


def script(shell: str) -> str:
    """Return the completion script for a shell. Except in tcsh, the script runs `octavo __complete` for REFs."""
    import shtab  # lazy: not needed to complete REFs

    main_parser = build_parser()
    (topic,) = (action for action in command_parsers(main_parser)["help"]._actions if action.dest == "topic")
    # The normal parser has no choices, because it would reject an unknown topic without a suggestion.
    topic.choices = tuple(dict.fromkeys((*TOPICS, *command_parsers(main_parser))))
    if shell == "powershell":
        return powershell_script(main_parser)
    if shell != "tcsh":
        for command in (main_parser, *all_commands(main_parser)):
            for action in command._actions:
                if function := _shell_function_for(command, action):
                    call = f"({function})" if shell == "fish" else function
                    action.complete = {shell: call, "preamble": {shell: _preamble(shell)}}  # type: ignore[attr-defined]  # shtab reads this attribute
    return str(shtab.complete(main_parser, shell)) + ("\n\n" + _BASH_END if shell == "bash" else "")


def _shell_function_for(command: argparse.ArgumentParser, action: argparse.Action) -> str:
    if takes_ref(action):
        return _REFS
    return {"name": _NAMES, "values": _VALUES}.get(action.dest, "") if command.prog == "octavo api" else ""


def _parameter_names() -> dict[str, list[str]]:
    from octavo.api.operation import load  # lazy: not needed to complete REFs
    from octavo.api.wire import body_fields, query_fields, routes

    fields_by_operation: dict[str, list[str]] = {}
    for spec in load().values():
        in_path = [name for route in routes(spec) for name in re.findall(r"{(\w+)}", route.path)]
        fields = sorted(query_fields(spec)) + sorted(body_fields(spec))
        fields_by_operation[spec.name] = list(dict.fromkeys([*in_path, *fields]))
    return fields_by_operation


@cache
def _preamble(shell: str) -> str:
    operations = _parameter_names()
    return _PREAMBLES[shell].format(names=" ".join(operations), cases=_cases(shell, operations), complete=COMPLETE)


def _cases(shell: str, operations: Mapping[str, list[str]]) -> str:
    opening, closing = ("    case {name}; ", "") if shell == "fish" else ("    {name}) ", " ;;")
    lines = []
    for name, values in operations.items():
        field_arguments = " ".join(f"{value}=" for value in values)
        command = f"printf '%s\\n' {field_arguments}" if shell == "fish" else f"echo {field_arguments}"
        lines.append(opening.format(name=name) + (command if field_arguments else "true") + closing)
    return "\n".join(lines)


_PREAMBLES = {
    "bash": """
_octavo_takes() {{
  case "$1" in
{cases}
  esac
}}
_octavo_operations() {{
  compgen -W "{names}" -- "$1"
}}
_octavo_values() {{
  local word
  [ "${{COMP_WORDS[COMP_CWORD]}}" = "=" ] || [ "${{COMP_WORDS[COMP_CWORD-1]}}" = "=" ] && return
  for word in "${{COMP_WORDS[@]}}"; do
    compgen -W "$(_octavo_takes "$word")" -- "$1"
  done
}}
_octavo_refs() {{
  octavo {complete} "${{COMP_WORDS[@]}}" "$1" 2>/dev/null
}}""",
    "zsh": """
_octavo_takes() {{
  case "$1" in
{cases}
  esac
}}
_octavo_operations() {{
  compadd -- {names}
}}
_octavo_values() {{
  local word
  for word in $words; do
    compadd -S '' -- $(_octavo_takes "$word")
  done
}}
_octavo_refs() {{
  compadd -- $(octavo {complete} $words "" 2>/dev/null)
}}""",
    "fish": """
function _octavo_takes
  switch $argv[1]
{cases}
  end
end
function _octavo_operations
  string split ' ' -- '{names}'
end
function _octavo_values
  for word in (commandline -opc)
    _octavo_takes $word
  end
end
function _octavo_refs
  octavo {complete} (commandline -opc | string match -- --demo) (commandline -ct) 2>/dev/null
end""",
}

_BASH_END = """# No blank after a completed KEY=, because its value follows.
_octavo() {
  _shtab_octavo "$@"
  [[ ${#COMPREPLY[@]} -gt 0 && "${COMPREPLY[0]}" == *= ]] && compopt -o nospace 2>/dev/null
  return 0
}
complete -o bashdefault -F _octavo octavo"""
