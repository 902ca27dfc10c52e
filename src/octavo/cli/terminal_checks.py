"""The checks of the terminal, the locale and the editor for `octavo doctor`. Start at `terminal_checks`."""

from __future__ import annotations

import os
import platform
import re
import select
import shutil
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Iterator, Mapping
from contextlib import suppress

from octavo import __version__
from octavo.cli.doctor_checks import Check
from octavo.cli.standard_streams import is_terminal
from octavo.help import text_of
from octavo.lazy_import import has_extra, missing_extra_phrase
from octavo.settings import Settings
from octavo.tui.terminal.display import may_support_pictures
from octavo.tui.terminal.external_editor import option_to_wait

_WIDE_CHARACTERS = "🎉⚓"
"""Characters that some old terminals draw one column too narrow."""
_CURSOR = re.compile(rb"\x1b\[\d+;(\d+)R")
_ATTRIBUTES = re.compile(rb"\x1b\[\?([\d;]*)c")
_KITTY_QUESTION = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\"
_KITTY_YES = b"\x1b_Gi=31;OK"
_ANSWER_SECONDS = 0.5
_MAX_ESCAPE_MS = 100
"""Milliseconds that tmux may wait after the escape key without a warning."""
_USUAL_EDITORS = ("sensible-editor", "nano", "vi")


def terminal_checks(settings: Settings, environ: Mapping[str, str]) -> Iterator[Check]:
    """Yield checks of the terminal, the locale and the editor. Sends queries to the terminal."""
    has_terminal = is_terminal(sys.stdin, sys.stdout)
    version = f"{__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield Check("Octavo", "ok", version)
    yield _check_terminal(environ, has_terminal=has_terminal)
    yield _check_colors(environ)
    answer = None
    if has_terminal and environ.get("TERM", "") not in ("", "dumb"):
        yield _check_widths()
        answer = _query_terminal(f"{_KITTY_QUESTION}\x1b[c", _ATTRIBUTES) if environ["TERM"] != "linux" else b""
    yield _check_graphics(environ, answer)
    yield _check_clipboard(environ, answer)
    yield _check_symbols(settings, environ)
    if environ.get("TMUX"):
        yield from _check_tmux()
    if size_variables := [name for name in ("COLUMNS", "LINES") if name in environ]:
        names = " and ".join(size_variables)
        yield Check(
            "Size", "warning", f"{names} in the environment may be outdated", f"run: unset {' '.join(size_variables)}"
        )
    yield _check_locale(environ)
    yield _check_editor(settings)


def _check_terminal(environ: Mapping[str, str], *, has_terminal: bool) -> Check:
    term = environ.get("TERM", "")
    if term in ("", "dumb"):
        term_phrase = f"TERM={term}" if term else "TERM is not set"
        fix = "start Octavo in another terminal, or set TERM to its name, such as xterm-256color"
        return Check("Terminal", "error", f"{term_phrase}: the app cannot move the cursor", fix)
    program = environ.get("TERM_PROGRAM", "")
    size = shutil.get_terminal_size()
    terminal_phrase = f"{term}{f' ({program})' if program else ''}, {size.columns} columns, {size.lines} rows"
    if not has_terminal:
        return Check("Terminal", "ok", f"{term}; this command runs without a terminal, so its size is unknown")
    return Check("Terminal", "ok", terminal_phrase)


def _check_colors(environ: Mapping[str, str]) -> Check:
    if environ.get("NO_COLOR"):
        return Check("Colors", "ok", "off, because NO_COLOR is set")
    if environ.get("COLORTERM") in ("truecolor", "24bit"):
        return Check("Colors", "ok", "16 million")
    if "256" in environ.get("TERM", ""):
        return Check("Colors", "ok", "256; if the terminal supports more, set COLORTERM=truecolor")
    return Check(
        "Colors", "warning", "16", "if the terminal supports more, set TERM=xterm-256color and COLORTERM=truecolor"
    )


def _check_widths() -> Check:
    widths: dict[str, int] = {}
    for each in _WIDE_CHARACTERS:
        cursor_match = _CURSOR.search(_query_terminal(f"{each}\x1b[6n", _CURSOR))
        widths[each] = int(cursor_match[1]) - 1 if cursor_match else 0
    if wrong_characters := [each for each, width in widths.items() if width == 1]:
        fix = "update the terminal, or avoid these characters with ascii = true"
        return Check(
            "Widths", "warning", f"the terminal draws {' '.join(wrong_characters)} in 1 column instead of 2", fix
        )
    if 2 in widths.values():
        return Check("Widths", "ok", f"{' '.join(_WIDE_CHARACTERS)} take 2 columns each")
    return Check("Widths", "ok", "unknown: the terminal does not report its cursor")


def _query_terminal(question: str, end: re.Pattern[bytes]) -> bytes:
    """Send an escape sequence, and return what the terminal answers until `end` matches. After `_ANSWER_SECONDS`, the
    answer may be incomplete or empty."""
    device = sys.stdin.fileno()
    old_settings = termios.tcgetattr(device)
    answer = b""
    try:
        tty.setcbreak(device)
        sys.stdout.write(f"\r{question}")
        sys.stdout.flush()
        limit = time.monotonic() + _ANSWER_SECONDS
        while not end.search(answer) and (seconds_left := limit - time.monotonic()) > 0:
            if select.select([device], [], [], seconds_left)[0]:
                answer += os.read(device, 64)
    except OSError:
        return b""  # The terminal was closed.
    finally:
        with suppress(termios.error, OSError):
            termios.tcsetattr(device, termios.TCSADRAIN, old_settings)
            sys.stdout.write("\r\x1b[K")
            sys.stdout.flush()
    return answer


def _check_graphics(environ: Mapping[str, str], answer: bytes | None) -> Check:
    if environ.get("TMUX") or environ.get("STY"):
        return Check("Graphics", "ok", "none, because tmux and screen do not pass pictures on")
    if answer is None:
        return Check("Graphics", "ok", "unknown, because this command cannot ask the terminal")
    kind = "Kitty" if _KITTY_YES in answer else "Sixel" if "4" in _reported_features(answer) else ""
    if not kind:
        return Check("Graphics", "ok", "none, so Octavo draws pictures with block characters")
    if not may_support_pictures(environ):
        return Check("Graphics", "ok", f"{kind}, which Octavo does not use in this terminal")
    if not has_extra("images"):
        return Check("Graphics", "warning", f"{kind}, but images need an extra", missing_extra_phrase("images"))
    return Check("Graphics", "ok", kind)


def _check_clipboard(environ: Mapping[str, str], answer: bytes | None) -> Check:
    """Check whether the terminal lets Octavo copy with the sequence OSC 52. `answer` is what the terminal reported."""
    if environ.get("TMUX"):
        # With the default, `external`, tmux ignores OSC 52 from programs that run in tmux.
        if (value := _tmux_option("set-clipboard")) not in ("", "on"):
            fix = "add to ~/.tmux.conf: set -s set-clipboard on"
            return Check("Clipboard", "warning", f"tmux ignores OSC 52 (option set-clipboard {value})", fix)
    elif environ.get("STY"):
        return Check("Clipboard", "warning", "screen ignores OSC 52", "run Octavo outside of screen, or in tmux")
    if "52" in _reported_features(answer or b""):
        return Check("Clipboard", "ok", "OSC 52, as the terminal says")
    if environ.get("TERM") == "linux" or environ.get("TERM_PROGRAM") == "Apple_Terminal":
        return Check("Clipboard", "warning", "this terminal ignores OSC 52", "use another terminal to copy from Octavo")
    text = "OSC 52; the terminal does not say whether it accepts it"
    return Check("Clipboard", "ok", text, "to find out, copy something in Octavo and paste it elsewhere")


def _reported_features(answer: bytes) -> list[str]:
    attributes_match = _ATTRIBUTES.search(answer)
    return attributes_match[1].decode().split(";") if attributes_match else []


def _check_symbols(settings: Settings, environ: Mapping[str, str]) -> Check:
    if settings.ascii:
        return Check("Symbols", "ok", "ASCII only")
    if environ.get("TERM") == "linux":
        return Check("Symbols", "warning", "the Linux console lacks most symbols", "run: octavo config set ascii true")
    # No terminal reports which characters its font has, so ask the user to look.
    fix = "if a symbol shows as a box or as ?, choose another font, or run: octavo config set ascii true"
    return Check("Symbols", "ok", " ".join(symbols()), fix)


def symbols() -> list[str]:
    """Return the symbols in the table of the help topic `signs`."""
    rows = re.findall(r"^\| (`[^|]+`) \|", text_of("signs"), re.MULTILINE)
    return [each for row in rows for each in re.findall(r"`(.)`", row)]


def _check_tmux() -> Iterator[Check]:
    milliseconds = _tmux_option("escape-time")
    if milliseconds.isdecimal() and int(milliseconds) > _MAX_ESCAPE_MS:
        fix = "add to ~/.tmux.conf: set -sg escape-time 10"
        yield Check("tmux", "warning", f"esc takes {milliseconds} ms (option escape-time)", fix)


def _tmux_option(name: str) -> str:
    command = ["tmux", "show-options", "-sv", name]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=2, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout.strip()


def _check_locale(environ: Mapping[str, str]) -> Check:
    name = next((value for each in ("LC_ALL", "LC_CTYPE", "LANG") if (value := environ.get(each))), "")
    if name and "utf8" not in name.lower().replace("-", ""):
        fix = "set LANG to a UTF-8 locale, such as C.UTF-8"
        return Check("Locale", "warning", f"{name} is not UTF-8, so Octavo draws with ASCII characters", fix)
    return Check("Locale", "ok", name or "not set, so Octavo assumes UTF-8")


def _check_editor(settings: Settings) -> Check:
    command = settings.editor or next(((each,) for each in _USUAL_EDITORS if shutil.which(each)), ())
    if not command:
        return Check("Editor", "warning", "no editor found", "run: octavo config set editor COMMAND")
    if shutil.which(command[0]) is None:
        return Check(
            "Editor", "error", f"{command[0]} was not found", "install it, or run: octavo config set editor COMMAND"
        )
    if option := option_to_wait(command):
        fix = f'run: octavo config set editor "{command[0]} {option}"'
        return Check("Editor", "warning", f"{command[0]} exits before you close the file", fix)
    return Check("Editor", "ok", " ".join(command))
