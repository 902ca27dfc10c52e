"""Runs the linters of the user over a page of a change request, and returns their findings by block."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

from octavo.api.folding import fold
from octavo.documents.checks.findings import Finding
from octavo.documents.folders.folder import why_unsafe
from octavo.documents.linters.placement import LintedPage, Mask, PageFindings, by_block, mask, place_reports
from octavo.documents.linters.readers import (
    DEFAULT_COLUMNS,
    MAX_REPORTS,
    Columns,
    Format,
    UnreadableReport,
    read_reports,
)
from octavo.settings import Linter
from octavo.tui.terminal.limited_programs import MAX_AT_ONCE, ProgramFailed, run_linter

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
