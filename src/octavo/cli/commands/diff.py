"""`octavo diff`: print what a change request changes, or what you changed in a pulled folder."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from octavo.api.content import Change, PageReference
from octavo.cli import review_export
from octavo.cli.commands import CliCommand
from octavo.cli.comparisons import PageTexts, changed_items, find_versions, items_of_page, load_texts, remember_viewed
from octavo.cli.connection import run_connected
from octavo.cli.output import Field, Style, add_output_options, fields_to_print, print_object, print_text
from octavo.cli.pulled_folders import file_errors_as_failure, find_pulled_folder, path_in
from octavo.cli.refs import RefResolver, RefTarget, revision_id
from octavo.cli.review_export import ExportOptions, export_review, export_texts
from octavo.cli.standard_streams import USAGE, Failure, tell, write_out, write_untrusted
from octavo.documents.diff_text import source_diff
from octavo.documents.folders.layout import PageFile
from octavo.documents.page_trees import ChangedPage
from octavo.files.local_changes import FileChange, LocalFiles
from octavo.lazy_import import lazy
from octavo.tui.render.comparison import compare

if TYPE_CHECKING:
    from octavo.tui.core.session import Session

# lazy: needed only on a terminal
_diff_as_text: Callable[..., str] = lazy("octavo.tui.render.printing:diff_as_text")


_CHANGES = {"A": "page_created", "D": "page_deleted", "R": "page_moved", "?": "page_created"}


def changed_texts_of_folder(argument: str | None) -> list[PageTexts] | None:
    """Return the changes of the pulled folder, or only the changes of the file `argument`. None if `argument` is no
    file of a pulled folder, so that it may be a REF. Raises Failure, also without folder and argument."""
    try:
        folder = find_pulled_folder()
    except Failure:
        if argument is None:
            raise Failure("Not a pulled folder. Write a REF, or run: octavo pull SPACE DIR", USAGE) from None
        return None
    with file_errors_as_failure("read the folder"):
        local_files = LocalFiles.read(folder)
        changes = local_files.changes()
        if argument is not None:
            try:
                path = path_in(folder, argument)
            except Failure:
                return None
            if path not in {*local_files.data, *folder.files, *local_files.unlisted}:
                return None
            changes = [each for each in changes if path in (each.path, each.old_path)]
        return [_texts_of_file(local_files, each) for each in changes]


def _texts_of_file(local_files: LocalFiles, change: FileChange) -> PageTexts:
    folder, kind = local_files.folder, Change(type=_CHANGES.get(change.status, "page_edited"))
    if change.kind == "file":
        return PageTexts(ChangedPage(change.path, change.path, (kind,)), old_path=change.old_path)
    old_path = change.old_path or next(
        (file.path for file in folder.files.values() if local_files.current_path(file) == change.path), ""
    )
    file = folder.files.get(old_path)
    old_text = folder.base_text(file.base_sha256) if file is not None else ""
    new_text = folder.text(change.path)
    title = PageFile(new_text or old_text).title
    page = PageReference(id="file", title=title, path=change.path)
    return PageTexts(ChangedPage(change.path, title, (kind,), page), old_text, new_text, change.old_path)


FIELDS = tuple(
    Field(each.name, "object?" if each.name == "change" else each.type, each.name in ("threads", "findings"))
    for each in review_export.FIELDS
    if each.name != "proposed"
)
DEFAULT_CONTEXT = 3
_SIGNS = {
    "added": ("+", "green"),
    "deleted": ("-", "red"),
    "moved": ("→", "yellow"),
    "renamed": ("~", "cyan"),
    "edited": ("~", "cyan"),
}


def declare(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "ref", nargs="?", metavar="REF|FILE", help="a change request or a page of one; in a pulled folder, also a file"
    )
    command.add_argument("page", nargs="?", metavar="PAGE", help="only this page, by its path, id or title")
    against_help = "the version to compare with (default: base)"
    command.add_argument(
        "--against", type=revision_id, default="base", metavar="base|main|my-review|REVISION", help=against_help
    )
    forms = command.add_mutually_exclusive_group()
    forms.add_argument("--stat", action="store_true", help="print the numbers of added and removed words")
    forms.add_argument("--raw", action="store_true", help="print a unified diff of the Markdown, for patch")
    forms.add_argument("--name-only", action="store_true", help="print the paths only")
    context_help = "unchanged lines around each change (default: 3)"
    command.add_argument("--context", type=int, default=DEFAULT_CONTEXT, metavar="N", help=context_help)
    command.add_argument("--exit-code", action="store_true", help="exit with 1 if there are differences")
    add_output_options(command, prints_rows=False)


def run(options: argparse.Namespace) -> int:
    if options.context < 0:
        raise Failure("Could not print the diff: --context must be 0 or more.", USAGE)
    field_names = fields_to_print(options, FIELDS)
    if field_names and (options.stat or options.raw or options.name_only):
        raise Failure("Could not print the diff: --json and --jq do not go with --stat, --raw or --name-only.", USAGE)
    if not options.page and (changed_texts := changed_texts_of_folder(options.ref)) is not None:
        if options.against != "base":
            raise Failure("Could not use --against: files are compared with the last pull. Write a REF.", USAGE)
        if field_names:
            pages = [each for each in changed_texts if each.item.page is not None]
            texts = export_texts(pages, (), ExportOptions(changed_only=True))
            files = [{"name": each.path, "change": each.change} for each in changed_texts if each.item.page is None]
            row = {"schema": review_export.SCHEMA, "change": None, "files": files, "findings": [], **texts}
            print_object(options, FIELDS, row, str)
        else:
            _print(options, changed_texts)
        return 1 if changed_texts and options.exit_code else 0

    async def use_session(session: Session) -> int:
        resolver = RefResolver(session, options)
        target = await resolver.resolve(options.ref)
        has_changes, shows_all = await (
            _print_json(options, resolver, target, field_names)
            if field_names
            else _print_diff(options, resolver, target)
        )
        shows_all_pages = not options.page and target.page is None and (not field_names or "pages" in field_names)
        if target.change_request is not None and shows_all_pages:
            in_full = shows_all and not (options.stat or options.name_only)
            remember_viewed(session, target.change_request, in_full=in_full)
        return 1 if has_changes and options.exit_code else 0

    return run_connected(options, use_session, action="load the changes")


async def _print_json(
    options: argparse.Namespace, resolver: RefResolver, target: RefTarget, field_names: AbstractSet[str]
) -> tuple[bool, bool]:
    """Print the changes as JSON. Return whether there are changes, and whether all of them were printed."""
    export_options = ExportOptions(options.page or "", changed_only=True, against=options.against)
    row = await export_review(resolver, target, export_options, {*field_names, "pages"})
    if row["truncated"]:
        tell("Showing the first pages only. For the other pages, write: octavo diff REF PAGE")
    print_object(options, FIELDS, row, str)
    return bool(row["pages"] or row["files"]), not row["truncated"]


async def _print_diff(options: argparse.Namespace, resolver: RefResolver, target: RefTarget) -> tuple[bool, bool]:
    """Print the changes as text. Return whether there are changes, and True, because all of them were printed."""
    versions = await find_versions(resolver.live, target, options.against)
    items = await changed_items(resolver.live, target, versions)
    items = await items_of_page(resolver, target, items, options.page or "")
    _print(options, await load_texts(resolver.live, versions, items))
    return bool(items), True


def _print(options: argparse.Namespace, pages: Sequence[PageTexts]) -> None:
    if options.name_only:
        write_out("".join(f"{each.path}\n" for each in pages))
    elif options.raw:
        # A rename without hunks comes last, because patch would add the hunks below it to this file.
        pages = sorted(pages, key=lambda each: each.old_markdown == each.new_markdown)
        write_untrusted("".join(_unified(each, options.context) for each in pages))
    elif options.stat:
        width = max((len(each.name) for each in pages), default=0)
        write_out("".join(f"{each.name:<{width}}  {_size(each)}\n" for each in pages))
    else:
        print_text(options, "\n".join(_page_text(options, each) for each in pages))


def _size(page: PageTexts) -> str:
    return f"+{page.size.added} −{page.size.removed}" if page.item.is_document else page.change


def _page_text(options: argparse.Namespace, page: PageTexts) -> str:
    """Return the changes of a page as text, with colors on a terminal, else with marks: `[-removed-]{+added+}`."""
    style = Style(options)
    sign, color = _SIGNS[page.change]
    head = f"{style.color(f'{sign} {page.name}', color)}  {style.color(page.item.title, 'bold')}  {_size(page)}\n"
    head += f"  moved from {page.old_path}\n" if page.old_path else ""
    head += "".join(f"  {each}\n" for each in page.item.settings)
    if page.old_markdown == page.new_markdown:
        return head
    if not style.has_escapes:
        return head + "".join(f"  {each}\n".replace("  \n", "\n") for each in _marked_lines(page, options.context))
    comparison = compare(page.old_markdown, page.new_markdown)
    return head + _diff_as_text(comparison, style.columns, options.context, colors=style.has_colors)


def _marked_lines(page: PageTexts, context: int) -> Iterator[str]:
    for hunk in source_diff(page.old_markdown, page.new_markdown, context):
        if not any(each.op != "equal" and (each.old or each.new) for each in hunk.lines):
            yield "… only empty lines differ"
            continue
        if hunk.skipped_count:
            yield f"… {hunk.skipped_count} {'line' if hunk.skipped_count == 1 else 'lines'} unchanged"
        for each in hunk.lines:
            match each.op:
                case "equal":
                    yield each.new
                case "insert":  # An empty line has no words to mark.
                    yield f"{{+{each.new}+}}" if each.new else ""
                case "delete" if each.old:
                    yield f"[-{each.old}-]"
                case "change":
                    marks = {"insert": ("{+", "+}"), "delete": ("[-", "-]")}
                    parts = ((marks.get(word.op, ("", "")), word.run.text) for word in each.words)
                    yield "".join(f"{before}{text}{after}" for (before, after), text in parts)


def _unified(page: PageTexts, context: int) -> str:
    """Return the changes of a page or file as a patch for `patch -p1`. Empty if neither text nor path has changed."""
    names = (page.old_path, page.path, page.old_path, page.path)
    rename = "diff --git a/{} b/{}\nrename from {}\nrename to {}\n".format(*names) if page.old_path else ""
    if page.old_markdown == page.new_markdown:
        return rename
    suffix = "" if page.path.endswith((".md", ".yaml")) else ".md"
    old_name = f"a/{page.old_path or page.path}{suffix}" if page.old_markdown else "/dev/null"
    new_name = f"b/{page.path}{suffix}" if page.new_markdown else "/dev/null"
    # Without a tab, patch reads a file name up to its first space.
    old_name, new_name = (f"{each}\t" if " " in each else each for each in (old_name, new_name))
    lines = difflib.unified_diff(_lines(page.old_markdown), _lines(page.new_markdown), old_name, new_name, n=context)
    return rename + "".join(
        each if each.endswith("\n") else f"{each}\n\\ No newline at end of file\n" for each in lines
    )


def _lines(text: str) -> list[str]:
    """Return the lines of a text, split at line feeds only. `str.splitlines` also splits at other characters."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


DIFF = CliCommand(
    declare=declare,
    run=run,
    details="In a pulled folder, the diff of a file, or of all files, is that to the last pull. "
    "On a terminal, the diff is that of the app. In a pipe, removed words are in [-…-] and added words in {+…+}.",
    examples=(
        "octavo diff harbour-api/7",
        "octavo diff 7 concepts/time --against my-review",
        "octavo diff 7 --raw | delta",
        "octavo diff people/first-week.md",
    ),
    fields=FIELDS,
    exit_codes={
        1: "failure, or with --exit-code: there are differences",
        3: "there is no such change request, page or review",
    },
)
