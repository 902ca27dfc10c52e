"""Runs the linters of the user over the pages of a change request: their findings by block, and the row of the merge checks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from octavo.api.content import Page
from octavo.api.errors import ApiError
from octavo.api.folding import fold
from octavo.api.spaces import Space
from octavo.data.live import Live
from octavo.data.loaders import find_page, get_page_source, page_markdown
from octavo.documents.checks.findings import Finding
from octavo.documents.folders.folder import why_unsafe
from octavo.documents.folders.layout import page_path
from octavo.documents.linters.placement import (
    LintedPage,
    Mask,
    PageFindings,
    added_ranges,
    by_block,
    mask,
    place_reports,
)
from octavo.documents.linters.readers import (
    DEFAULT_COLUMNS,
    MAX_REPORTS,
    Columns,
    Format,
    UnreadableReport,
    read_reports,
)
from octavo.documents.source_reader import parse
from octavo.settings.programs import Linter
from octavo.tui.review.merge_effects import MAX_CHECKED_PAGES, MergeTrees, list_first_names
from octavo.tui.terminal.limited_programs import MAX_AT_ONCE, ProgramFailed, run_linter
from octavo.tui.widgets.short_texts import Fact, plural

_SAFE_NAME = "page.md"
"""Name of the file that linters get if the path of the page cannot be used."""


class LinterRuns:
    """Runs linters, two at a time. Create one for each event loop."""

    def __init__(self, linters: Sequence[Linter]) -> None:
        self._linters = linters
        self._slots = asyncio.Semaphore(MAX_AT_ONCE)

    async def findings(self, page: LintedPage) -> PageFindings:
        """Return the findings of all linters on a page, by block. `PageFindings.failures` has a sentence for each
        linter that failed or reported too much."""
        outcomes = await asyncio.gather(*(self._run(linter, page) for linter in self._linters))
        all_findings = [each for findings, _ in outcomes for each in findings]
        return PageFindings(page.path, by_block(all_findings), tuple(failure for _, failure in outcomes if failure))

    async def _run(self, linter: Linter, page: LintedPage) -> tuple[list[Finding], str]:
        """Return the findings of a linter, and a sentence if it failed or reported too much."""
        text = await asyncio.to_thread(mask, page.text, cast(tuple[Mask, ...], linter.mask))
        path = page.file_name if not why_unsafe(page.file_name) else _SAFE_NAME
        try:
            async with self._slots:
                ran = await run_linter(linter, path, text)
        except ProgramFailed as failure:
            return [], str(failure)
        try:
            return await asyncio.to_thread(_read, linter, ran.output, page, text)
        except UnreadableReport as error:
            hint = f" It printed: {ran.errors}" if ran.errors else " Check linter.format."
            return [], f"Could not read the output of {linter.name}: {error}.{hint}"


def linters_for(linters: Sequence[Linter], space_title: str, space_id: str) -> tuple[Linter, ...]:
    """Return the linters that check the pages of a space."""
    names = {fold(space_title), fold(space_id)}
    return tuple(each for each in linters if not each.spaces or names & set(map(fold, each.spaces)))


def _read(linter: Linter, output: bytes, page: LintedPage, text: str) -> tuple[list[Finding], str]:
    format_name = cast(Format, linter.format)
    columns = cast(Columns, linter.columns) if linter.columns else DEFAULT_COLUMNS[format_name]
    reports, has_more = read_reports(output, format_name)
    findings = list(place_reports(reports, page, text, source=linter.name, columns=columns))
    more = f"{linter.name} has more than {MAX_REPORTS} findings on {page.path}. The others are not shown."
    return findings, more if has_more else ""


async def check_linters(
    live: Live, trees: MergeTrees, changed: Sequence[str], space: Space, linters: Sequence[Linter]
) -> tuple[Fact, ...]:
    """Return a row with the result of the linters that check a space. The row blocks a merge if linters have findings
    on added words, or if pages could not be checked. Empty without linters. `changed` has the IDs of the changed
    pages."""
    chosen = linters_for(linters, space.title, space.id)
    if not chosen:
        return ()
    existing = [page for page in trees.new_tree.walk() if page.id in changed and page.type == "document"]
    runs = LinterRuns(chosen)
    try:
        pages = [await _added_on(live, trees, page) for page in existing[:MAX_CHECKED_PAGES]]
    except ApiError as error:
        return (Fact("bad", "linters", f"not checked: {error}"),)
    results = await asyncio.gather(*(runs.findings(each) for each in pages))
    names = ", ".join(each.name for each in chosen)
    problems = list(dict.fromkeys(failure.rstrip(".") for result in results for failure in result.failures))
    if titles := [page.title or "Untitled" for page, result in zip(existing, results, strict=False) if result.count]:
        where = f"on {plural(len(titles), 'changed page')}: {list_first_names(titles)}"
        problems.insert(0, f"{plural(sum(result.count for result in results), 'finding')} of {names} {where}")
    if len(existing) > MAX_CHECKED_PAGES:
        problems.append(f"{plural(len(existing) - MAX_CHECKED_PAGES, 'page')} not checked")
    if problems:
        return (Fact("bad", "linters", "; ".join(problems)),)
    return (Fact("ok", "linters", f"no findings of {names} on the added words"),)


async def _added_on(live: Live, trees: MergeTrees, page: Page) -> LintedPage:
    """Return a page with the words that a merge adds to it. Raises ApiError."""
    sides = [await find_page(live, get_page_source(place, page.id)) for place in (trees.before, trees.after)]
    before, after = map(page_markdown, sides)
    added, document = await asyncio.to_thread(lambda: (added_ranges(before, after), parse(after)))
    return LintedPage(page.path or page.id, page_path(page), document, after, added)
