"""Prints what commands return: tables for terminals, tab-separated lines for pipes, JSON, NDJSON, and results of jq. With
`--web`, opens the URL in the web browser instead.

A command declares its fields and the columns of its table, and adds its rows to an `Output`:

    FIELDS = declare_fields("ref string, title string, updatedAt time?, url string?")
    COLUMNS = (OutputColumn("ref", link="url"), OutputColumn("title", can_be_cut=True), OutputColumn("updatedAt"))

    def declare(command: argparse.ArgumentParser) -> None:
        add_output_options(command)
        add_limit_options(command)

    def run(options: argparse.Namespace) -> int:
        with Output(options, FIELDS, COLUMNS, empty="No change requests.") as output:
            for row in rows:                         # dict[str, object] by the names of the fields
                if not output.add(row):
                    break                            # the limit is reached; `output.total = 72` completes the notice
        return 0

A command that returns a single thing calls `print_object`, and `print_text` for long text in a pager.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self
from unicodedata import combining, east_asian_width

from octavo.cli.standard_streams import USAGE, Failure, OutputFailure, is_terminal, tell, write_out
from octavo.lazy_import import lazy
from octavo.settings.file import did_you_mean

if TYPE_CHECKING:
    from octavo.tui.core.session import Session
    from octavo.tui.terminal.external_editor import Browser

# lazy: needed only for --web
_find_browser: Callable[..., Browser | str] = lazy("octavo.tui.terminal.external_editor:find_browser")

Row = Mapping[str, Any]
"""One JSON object that a command prints: values by field name. Times are `datetime` values."""
DEFAULT_LIMIT = 30
_COLORS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36"}
_GAP = "  "
_MIN_CUT_WIDTH = 12
"""Minimum width of a column whose text may be cut to fit the terminal."""
_MIN_LAST_WIDTH = 4
"""Minimum width of the last column if the terminal is narrow."""


@dataclass(frozen=True)
class Field:
    """A field of the JSON objects that a command can print."""

    name: str
    type: str
    """Type of the value, such as `string`. `time?` is a time or null, and `string[]` is a list of strings."""
    is_extra: bool = False
    """True if the field is printed only if `--json` or `--ndjson` names it."""


def declare_fields(text: str, extra: str = "") -> tuple[Field, ...]:
    """Parse field declarations such as `ref string, updatedAt time?`. The fields in `extra` have `is_extra` set."""
    fields: list[Field] = []
    for names, is_extra in ((text, False), (extra, True)):
        for each in filter(None, names.split(", ")):
            name, kind = each.split()
            fields.append(Field(name, kind, is_extra))
    return tuple(fields)


@dataclass(frozen=True)
class OutputColumn:
    """A column of the table that a command prints on a terminal. Shows the field `name`."""

    name: str
    title: str = ""
    """Heading of the column. If empty, the name of the field."""
    text: Callable[[Row], str] | None = None
    """Function that returns the text of the cell in a row. If None, the cell shows the value of the field."""
    can_be_cut: bool = False
    link: str = ""
    """Name of the field with the URL for the cell. Empty for no link."""
    colors: Mapping[str, str] = field(default_factory=dict)
    """Color for each text that a cell can have. Other texts are not colored."""


def add_output_options(command: argparse.ArgumentParser, *, prints_rows: bool = True) -> None:
    """Add the options `--json` and `--jq`, and if `prints_rows`, `--ndjson`."""
    group = command.add_argument_group("output").add_mutually_exclusive_group()
    json_help = "print JSON with these fields (without FIELDS: a default selection)"
    group.add_argument("--json", nargs="?", const="", metavar="FIELDS", help=json_help)
    if prints_rows:
        ndjson_help = "print one JSON object a line, as soon as it is loaded"
        group.add_argument("--ndjson", nargs="?", const="", metavar="FIELDS", help=ndjson_help)
    command.add_argument("-q", "--jq", metavar="EXPR", help="filter the JSON with jq")


def add_limit_options(command: argparse.ArgumentParser) -> None:
    """Add the options `--limit` and `--all`, for commands that print lists."""
    group = command.add_mutually_exclusive_group()
    limit_help = f"print at most N rows (default: {DEFAULT_LIMIT})"
    group.add_argument("--limit", type=_limit, metavar="N", help=limit_help)
    group.add_argument("--all", action="store_true", help="print all rows")


def _limit(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text[:9]) > 0 and len(text) < 9):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a limit. Enter a number from 1.")
    return int(text)


class Output:
    """Prints the rows of a command: NDJSON row by row, a table or JSON when the `with` statement ends."""

    def __init__(
        self, options: argparse.Namespace, fields: Sequence[Field], columns: Sequence[OutputColumn], *, empty: str = ""
    ) -> None:
        """A terminal shows `empty` if there are no rows. If `options.sink` is a list, it gets the rows, and nothing is
        printed. Raises Failure for a wrong option."""
        self.mode = _mode_of(options)
        self.total: int | None = None
        """Number of rows without the limit, for the notice about further rows. None if unknown."""
        self._columns, self._empty = columns, empty
        self._chosen = _chosen_fields(options, fields)
        self._filter = compile_filter(options)
        self.limit: int | None = None if getattr(options, "all", True) else options.limit or DEFAULT_LIMIT
        """Number of rows after which `add` returns False. None without a limit."""
        self._style = Style(options)
        self._sink: list[Row] | None = getattr(options, "sink", None)
        self._rows: list[Row] = []
        self._count = 0
        self._is_cut = False

    @property
    def printed_fields(self) -> frozenset[str]:
        """Names of the fields that are printed. Commands need not load other fields."""
        if self.mode == "table":
            return frozenset(each.name for each in self._columns)
        return frozenset(self._chosen)

    def add(self, row: Row) -> bool:
        """Add a row. Return False if the row was not added, because the limit is reached. Raises Failure."""
        if self.limit is not None and self._count >= self.limit:
            self._is_cut = True
            return False
        self._count += 1
        if self._sink is not None:
            self._sink.append(_pick_fields(row, self._chosen))
        elif self.mode == "ndjson":
            write_out(compact_json(_pick_fields(row, self._chosen)) + "\n")
        else:
            self._rows.append(row)
        return True

    def end(self) -> None:
        """Print the rows, and a notice if `add` refused a row. Do nothing if `options` has a sink. Raises Failure."""
        if self._sink is not None:
            return
        if self.mode == "json":
            write_out(indented_json([_pick_fields(each, self._chosen) for each in self._rows]) + "\n")
        elif self.mode == "jq" and self._filter is not None:
            self._filter([_pick_fields(each, self._chosen) for each in self._rows])
        elif self.mode == "table":
            self._print_table()
        if self._is_cut and self.total is None:
            tell(f"Showing the first {self._count}. Use --limit N or --all.")
        elif self._is_cut:
            tell(f"Showing {self._count} of {self.total}. Use --limit {self.total} or --all.")

    def _print_table(self) -> None:
        if not self._rows and self._empty and self._style.is_terminal:
            tell(self._empty)
        elif not self._style.is_terminal:
            lines = ("\t".join(_cell_text(each, row) for each in self._columns) for row in self._rows)
            write_out("".join(f"{line}\n" for line in lines))
        elif self._rows:
            write_out(_table(self._columns, self._rows, self._style))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_pipe_closed = isinstance(error, Failure) and not error.code
        if error is None or (self._rows and isinstance(error, Exception) and not is_pipe_closed):
            self.end()


def print_object(options: argparse.Namespace, fields: Sequence[Field], row: Row, text: Callable[[], str]) -> None:
    """Print an object as JSON if `--json` or `--jq` is given, else print `text()` in a pager. Raises Failure."""
    mode = _mode_of(options)
    if mode == "table":
        print_text(options, text())
        return
    value = _pick_fields(row, _chosen_fields(options, fields))
    run_filter = compile_filter(options)
    if run_filter is not None:
        run_filter(value)
    else:
        write_out((indented_json(value) if mode == "json" else compact_json(value)) + "\n")


def fields_to_print(options: argparse.Namespace, fields: Sequence[Field]) -> frozenset[str]:
    """Return the names of the fields that `print_object` prints. Empty if it prints text. Raises Failure for an unknown
    field or an invalid `--jq` filter."""
    compile_filter(options)
    return frozenset() if _mode_of(options) == "table" else frozenset(_chosen_fields(options, fields))


def print_text(options: argparse.Namespace, text: str) -> None:
    """Print text. A terminal shows it in the pager of OCTAVO_PAGER or PAGER, by default `less`. Raises Failure."""
    style = Style(options)
    command = os.environ.get("OCTAVO_PAGER") or os.environ.get("PAGER") or "less -FRX"
    if not style.is_terminal or not style.has_escapes or options.no_pager or command == "cat":
        write_out(text)
        return
    environment = {name: value for name, value in os.environ.items() if name != "OCTAVO_API_KEY"}
    try:
        # PAGER is a command of the shell, as for git and man.
        pager = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environment)
    except OSError:
        write_out(text)
        return
    old_handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # The pager handles ctrl+c.
    try:
        with suppress(BrokenPipeError):  # The pager was closed before the end.
            pager.communicate(text.encode("utf-8", "replace"))
        code = pager.wait()
    finally:
        signal.signal(signal.SIGINT, old_handler)
    if code == 127:  # The shell did not find the pager.
        write_out(text)


class Style:
    """How to print on the terminal: with or without colors and links, and the width."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.is_terminal = is_terminal(sys.stdout)
        self.has_escapes = self.is_terminal and os.environ.get("TERM") != "dumb"
        choice = options.color or "auto"
        self.has_colors = choice == "always" or (
            choice == "auto" and self.has_escapes and not os.environ.get("NO_COLOR")
        )

    @property
    def columns(self) -> int:
        return shutil.get_terminal_size().columns

    def color(self, text: str, name: str) -> str:
        """Return the text in a color such as `green`. Unchanged without colors or if `name` is empty."""
        return f"\x1b[{_COLORS[name]}m{text}\x1b[0m" if self.has_colors and name and text else text

    def link(self, text: str, url: str) -> str:
        """Return `text` as a link that terminals can open. Unchanged if the URL is unsafe or `has_escapes` is False."""
        is_safe = url.startswith(("https://", "http://")) and url.isascii() and url.isprintable()
        return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if self.has_escapes and is_safe else text


def _mode_of(options: argparse.Namespace) -> Literal["table", "json", "ndjson", "jq"]:
    if options.jq is not None:
        if getattr(options, "ndjson", None) is not None:
            raise Failure("Could not print the output: use --jq or --ndjson, not both.", USAGE)
        return "jq"
    if getattr(options, "ndjson", None) is not None:
        return "ndjson"
    return "json" if options.json is not None else "table"


def _chosen_fields(options: argparse.Namespace, fields: Sequence[Field]) -> list[str]:
    requested = getattr(options, "ndjson", None) or options.json or ""
    names = [name for each in requested.split(",") if (name := each.strip())]
    known_names = [each.name for each in fields]
    for name in names:
        if name not in known_names:
            hint = did_you_mean(name, known_names) or (
                " Write the REF before --json." if re.search(r"[/#:0-9]", name) else ""
            )
            raise Failure(f"Unknown field {name[:40]!r}.{hint} The fields are {', '.join(known_names)}.", USAGE)
    return names or [each.name for each in fields if not each.is_extra]


def _pick_fields(row: Row, names: Sequence[str]) -> dict[str, Any]:
    return {name: json_value(row[name]) for name in names}


def json_value(value: Any) -> Any:
    """Convert a value so that `json.dumps` accepts it. Times become text in UTC."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    if isinstance(value, Mapping):
        return {key: json_value(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(each) for each in value]
    return value


def compact_json(value: Any) -> str:
    """Return a value as JSON on one line, in ASCII if standard output is not in UTF-8."""
    return json.dumps(value, ensure_ascii=needs_ascii(), separators=(",", ":"))


def indented_json(value: Any) -> str:
    """Return a value as indented JSON, in ASCII if standard output is not in UTF-8."""
    return json.dumps(value, ensure_ascii=needs_ascii(), indent=2)


def needs_ascii() -> bool:
    """Return whether JSON must be printed in ASCII, because standard output is not in UTF-8."""
    encoding = (sys.stdout.encoding or "") if sys.stdout is not None else ""
    return encoding.lower().replace("-", "") != "utf8"


def compile_filter(options: argparse.Namespace) -> Callable[[Any], None] | None:
    """Return a function that prints the results of `--jq` for a JSON value. None without `--jq`. Raises Failure."""
    if options.jq is None:
        return None
    try:
        import jq  # lazy: a library that few commands need
    except ImportError:
        cause = "jq is not installed. Pipe the output to jq, or run: pip install jq"
        raise Failure(f"Could not filter: {cause}") from None
    try:
        program = jq.compile(options.jq)
    except ValueError as error:
        raise Failure(f"Could not filter: {_first_line(error)}.", USAGE) from None

    def run_filter(value: Any) -> None:
        os.environ.pop("OCTAVO_API_KEY", None)  # Expressions of jq can read the environment.
        old_handler = signal.signal(signal.SIGINT, signal.SIG_DFL)  # Otherwise ctrl+c has no effect while jq runs.
        try:
            for result in program.input_value(value):
                write_out((result if isinstance(result, str) else compact_json(result)) + "\n")
        except ValueError as error:
            raise OutputFailure(f"Could not filter: {_first_line(error)}.") from None
        finally:
            signal.signal(signal.SIGINT, old_handler)

    return run_filter


def _first_line(error: Exception) -> str:
    return (str(error).strip() or "the expression is wrong").splitlines()[0].rstrip(".")


def _cell_text(column: OutputColumn, row: Row) -> str:
    value = row.get(column.name) if column.text is None else column.text(row)
    if isinstance(value, (list, tuple)):
        value = ", ".join(map(str, value))
    text = "" if value is None else str(json_value(value))
    return " ".join(text.split()) if not text.isprintable() else text


def _table(columns: Sequence[OutputColumn], rows: Sequence[Row], style: Style) -> str:
    now = datetime.now(UTC)
    cells = [[_terminal_cell(each, row, now) for each in columns] for row in rows]
    titles = [(each.title or each.name).upper() for each in columns]
    widths = [max(map(cell_width, each)) for each in zip(titles, *cells, strict=True)]
    excess_width = sum(widths) + len(_GAP) * (len(widths) - 1) - style.columns
    for index, column in enumerate(columns):
        if column.can_be_cut and excess_width > 0:
            widths[index] = max(_MIN_CUT_WIDTH, widths[index] - excess_width)
    widths = _fitting_widths(widths, style.columns)
    lines = [_GAP.join(_pad_or_cut(title, width) for title, width in zip(titles, widths, strict=False)).rstrip()]
    lines = [style.color(line, "dim") for line in lines]
    for row, texts in zip(rows, cells, strict=True):
        parts = []
        for column, text, width in zip(columns, texts, widths, strict=False):
            cell_text = _pad_or_cut(text, width)
            words, blank = cell_text.rstrip(" "), cell_text[len(cell_text.rstrip(" ")) :]
            url = row.get(column.link) if column.link else ""
            parts.append(style.link(style.color(words, column.colors.get(text, "")), url or "") + blank)
        lines.append(_GAP.join(parts).rstrip())
    return "".join(f"{line}\n" for line in lines)


def _fitting_widths(widths: Sequence[int], limit: int) -> list[int]:
    """Return the widths of the first columns, as many as fit into `limit`. The last returned width may be cut."""
    fitting_widths: list[int] = []
    for width in widths:
        width_left = limit - sum(fitting_widths) - len(_GAP) * len(fitting_widths)
        if fitting_widths and width_left < min(width, _MIN_LAST_WIDTH):
            break
        fitting_widths.append(max(1, min(width, width_left)))
    return fitting_widths


def _terminal_cell(column: OutputColumn, row: Row, now: datetime) -> str:
    if column.text is None and isinstance(moment := row.get(column.name), datetime):
        return age(moment, now)
    return _cell_text(column, row)


def age(moment: datetime, now: datetime) -> str:
    """Return how long ago `moment` was, such as `2h ago`."""
    from octavo.tui.widgets.short_texts import short_age  # lazy: on a terminal only

    return f"{short_age(moment, now)} ago"


def cell_width(text: str) -> int:
    """Return the number of terminal columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def _pad_or_cut(text: str, width: int) -> str:
    text_width = cell_width(text)
    if text_width <= width:
        return text + " " * (width - text_width)
    kept_text = ""
    for each in text:
        if cell_width(kept_text + each) > width - 1:
            break
        kept_text += each
    return f"{kept_text}…" + " " * (width - 1 - cell_width(kept_text))


def add_web_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--web", action="store_true", help="open it in the web browser instead")


def check_web_option(options: argparse.Namespace) -> None:
    """Raise Failure if `--web` is combined with an option for JSON, such as `--json`."""
    if options.web and any(getattr(options, name, None) is not None for name in ("json", "ndjson", "jq")):
        raise Failure("Could not open the browser: use --web without --json, --ndjson and --jq.", USAGE)


def open_in_browser(session: Session, url: str | None) -> None:
    """Open a URL in the browser. Raises Failure if there is no URL or browser, and for the demo or a folder."""
    if session.is_embedded or not url:
        causes = {"demo": "the demo is not on the web", "folder": "a folder is not on the web"}
        cause = causes.get(session.kind, "the server has no link for it")
        raise Failure(f"Could not open the browser: {cause}.")
    start_browser(url)


def start_browser(url: str) -> None:
    """Open a URL in the browser. Raises Failure if no browser can open it."""
    browser = _find_browser(url, os.environ)
    if isinstance(browser, str):
        raise Failure(f"Could not open {url}: {browser}")
    try:
        browser.start(url, os.environ)
    except (OSError, ValueError) as error:
        raise Failure(f"Could not start {browser.name}: {error}") from error
