"""The completion script for PowerShell: a table of the words and options of each command."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from octavo.cli.parsers import COMPLETE, Commands, commands_of

_SCRIPT = """# Put this line into your profile ($PROFILE): octavo completion powershell | Out-String | Invoke-Expression
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
        $found += @(octavo {complete} $wordToComplete 2>$null)
    }}
    $found | Where-Object {{ $_ -like "$wordToComplete*" }} | ForEach-Object {{
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
    }}
}}"""


def powershell_script(top: argparse.ArgumentParser) -> str:
    """Return the script for the commands of a parser."""
    rows, with_ref = [], []
    for path, command in _all_commands("octavo", top):
        words = ", ".join(map(_quote, _words(command)))
        rows.append(f"        {_quote(path)} = @({words})")
        if any(takes_ref(each) for each in command._actions):
            with_ref.append(_quote(path))
    return _SCRIPT.format(words="\n".join(rows), with_ref=", ".join(with_ref), complete=COMPLETE)


def takes_ref(action: argparse.Action) -> bool:
    """Return whether an argument is a REF."""
    return isinstance(action.metavar, str) and "REF" in action.metavar.split("|")


def _all_commands(path: str, command: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    yield path, command
    for name, each in commands_of(command).items():
        yield from _all_commands(f"{path} {name}", each)


def _words(command: argparse.ArgumentParser) -> list[str]:
    """Return the subcommands, the choices of arguments and the long options of a command."""
    found = list(commands_of(command))
    for action in command._actions:
        if not isinstance(action, Commands):
            found += map(str, action.choices or ())
        found += [each for each in action.option_strings if each.startswith("--")]
    return list(dict.fromkeys(found))


def _quote(word: str) -> str:
    """Return a string that PowerShell does not expand."""
    return "'" + word.replace("'", "''") + "'"
