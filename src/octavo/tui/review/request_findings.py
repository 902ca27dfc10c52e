"""Runs rules and linters on the words that a change request adds, and stores which findings you dismissed. Also
contains the merge checks for findings and linters."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import cast

from textual.worker import WorkType

from octavo.api.content import Page, PageTree
from octavo.api.errors import ApiError
from octavo.api.folding import fold
from octavo.api.operation import ContentRef, SpaceRef
from octavo.api.spaces import Space
from octavo.data.live import Live
from octavo.data.loaders import find_page, page_markdown, page_source_op, page_to_read_op
from octavo.data.sync_queue import Rank
from octavo.documents.blocks import Document
from octavo.documents.checks.findings import CheckedPage, Finding, check_document, read_page
from octavo.documents.checks.references import (
    AddedFinding,
    ReferenceCheck,
    added_findings,
    pages_linked_from_added_lines,
    to_added_findings,
)
from octavo.documents.folders.folder import why_unsafe
from octavo.documents.folders.layout import link_base, page_path
from octavo.documents.linters.placement import (
    LintedPage,
    MaskedPart,
    PageFindings,
    added_ranges,
    group_by_block,
    mask_parts,
    to_page_findings,
)
from octavo.documents.linters.readers import (
    DEFAULT_COLUMN_UNITS,
    MAX_FINDINGS,
    ColumnUnit,
    Format,
    UnreadableReport,
    read_reports,
)
from octavo.documents.page_trees import ChangedPage
from octavo.documents.source_reader import parse
from octavo.settings.programs import Linter
from octavo.tui.core.view import View
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.deferred import LinkContext, app_origins
from octavo.tui.review.changed_pages import ComparedRevisions
from octavo.tui.review.merge_effects import MAX_CHECKED_PAGES, MergeTrees, list_first_names
from octavo.tui.terminal.limited_programs import MAX_LINTERS, ProgramFailed, run_linter
from octavo.tui.widgets.short_texts import InfoRow, plural

MAX_TEXT = 400_000
"""Maximum number of characters of a checked page. Longer pages are not checked."""
MAX_LINKED = 20
"""Maximum number of linked pages that are loaded to check the links to headings on a changed page."""
MAX_DISMISSED = 500
"""Maximum number of dismissed findings of a change request that are stored."""


@dataclass(frozen=True)
class _PageToCheck:
    page: ChangedPage
    old_source: str
    new: Document
    revisions: ComparedRevisions | None
    rule_findings: tuple[AddedFinding, ...] | None = None
    """Findings of the rules, which run before the linters. None before the rules have run."""


class RequestFindings:
    """Findings on the changed pages of a change request. Pages are checked in the background."""

    def __init__(self, view: View, change_request_id: str, space: SpaceRef, on_change: Callable[[str], None]) -> None:
        """`on_change` is called with the key of a page when the findings on the page have changed."""
        self._view, self._space, self._on_change = view, space, on_change
        self._state_key = f"dismissed findings {change_request_id}"
        self._findings: dict[str, tuple[AddedFinding, ...]] = {}
        self._loaded_pages: dict[str, CheckedPage] = {}
        """Checked pages, and linked pages that were loaded for their headings, by page ID."""
        self._waiting: dict[str, _PageToCheck] = {}
        """Pages that wait for the rules or the linters, by page key."""
        self._linted: dict[str, tuple[tuple[str, str], tuple[AddedFinding, ...]]] = {}
        """Findings of the linters by page key, with the old and new text that the linters checked."""
        self._shown_failures: set[str] = set()
        """Messages of linter failures that were already shown."""
        self._runs_all_linters = False
        """True if all linters run, including linters that are not automatic."""
        self.is_checking = False
        """True while a page is checked."""
        self._revisions: ComparedRevisions | None = None
        self._link_context: LinkContext | None = None
        """Page data that resolves links. None until the revisions and the page tree are loaded."""

    @cached_property
    def _dismissed(self) -> list[str]:
        """Dismissed findings, oldest first. Each is a page key and a finding key, separated by a space."""
        stored = self._view.shell.session.state.get_value(self._state_key)
        return [str(each) for each in stored] if isinstance(stored, list) else []

    def set_revisions(self, revisions: ComparedRevisions | None, tree: PageTree | None) -> None:
        """Set the compared revisions, and the page tree for links. Different revisions or None clear all findings."""
        context = _link_context(tree, revisions.new) if revisions is not None and tree is not None else None
        if revisions != self._revisions:
            self._findings.clear()
        if (revisions, context) != (self._revisions, self._link_context):
            self._loaded_pages.clear()
            self._revisions, self._link_context = revisions, context
            self._start()

    def check(self, page: ChangedPage, texts: PageComparison) -> None:
        """Check a page in the background. Deleted pages and pages longer than `MAX_TEXT` are not checked."""
        if page.is_document and page.exists_after and len(texts.new.source) <= MAX_TEXT:
            self._waiting[page.key] = _PageToCheck(page, texts.old.source, texts.new, self._revisions)
            self._start()

    def findings_on(self, key: str) -> tuple[AddedFinding, ...]:
        """Return the findings on the page with the key `key`, without dismissed findings."""
        return tuple(each for each in self._findings.get(key, ()) if f"{key} {each.key}" not in self._dismissed)

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of findings by page key."""
        return {key: count for key in self._findings if (count := len(self.findings_on(key)))}

    def dismiss(self, page_key: str, finding_key: str) -> None:
        """Hide a finding until its words change."""
        self._change_dismissed(page_key, lambda dismissed: [*dismissed, f"{page_key} {finding_key}"])

    def restore(self, page_key: str, finding_key: str) -> None:
        """Show a dismissed finding again."""
        finding = f"{page_key} {finding_key}"
        self._change_dismissed(page_key, lambda dismissed: [each for each in dismissed if each != finding])

    def _change_dismissed(self, page_key: str, change: Callable[[list[str]], list[str]]) -> None:
        self._view.shell.session.state.change_value(
            self._state_key, lambda stored: change(stored if isinstance(stored, list) else [])[-MAX_DISMISSED:]
        )
        self.__dict__.pop("_dismissed", None)  # `_dismissed` is read again when it is needed.
        self._on_change(page_key)

    @property
    def linters(self) -> tuple[Linter, ...]:
        """All linters that check the pages of this space."""
        shell, space_id = self._view.shell, self._space.space_id
        return linters_for(shell.settings.linters, shell.workspace.space_title(space_id), space_id)

    @property
    def _active_linters(self) -> tuple[Linter, ...]:
        return tuple(each for each in self.linters if self._runs_all_linters or each.is_automatic)

    def use_all_linters(self) -> None:
        """From now on, run all linters of the space, not only automatic ones. Discard earlier findings of linters."""
        self._runs_all_linters = True
        self._shown_failures.clear()
        self._linted.clear()

    def _start(self) -> None:
        if self._waiting and self._link_context is not None and not self.is_checking:
            self.is_checking = True
            work: WorkType[None] = self._check_waiting_pages
            self._view.run_worker(work, group="findings")

    async def _check_waiting_pages(self) -> None:
        try:
            while (context := self._link_context) is not None and self._waiting:
                # Linters are slow, so the rules run on all pages first.
                waiting_page = min(self._waiting.values(), key=lambda each: each.rule_findings is not None)
                del self._waiting[waiting_page.page.key]
                revisions = self._revisions
                page = context.pages.get(waiting_page.page.key)
                if page is None or waiting_page.revisions != revisions:
                    continue
                if waiting_page.rule_findings is not None and (linters := self._active_linters):
                    findings = (*waiting_page.rule_findings, *await self._lint(linters, waiting_page, page))
                else:
                    findings = await _findings_on_added_words(
                        self._view.live, page, waiting_page.old_source, waiting_page.new, context, self._loaded_pages
                    )
                    linted_texts, linter_findings = self._linted.get(waiting_page.page.key, (("", ""), ()))
                    if linted_texts == (waiting_page.old_source, waiting_page.new.source):
                        findings = (*findings, *linter_findings)
                    elif self._active_linters:
                        self._waiting[waiting_page.page.key] = replace(waiting_page, rule_findings=findings)
                if self._revisions == revisions and self._findings.get(waiting_page.page.key) != findings:
                    self._findings[waiting_page.page.key] = findings
                    self._on_change(waiting_page.page.key)
        finally:
            self.is_checking = False

    async def _lint(self, linters: Sequence[Linter], job: _PageToCheck, page: Page) -> tuple[AddedFinding, ...]:
        """Run the linters on a page. Store and return their findings. Show a message for each new failure."""
        text = job.new.source
        added_text_ranges = await asyncio.to_thread(added_ranges, job.old_source, text)
        result = await LinterRuns(linters).findings(
            LintedPage(page.path or page.id, page_path(page), job.new, text, added_text_ranges)
        )
        for failure in set(result.failures) - self._shown_failures:
            self._shown_failures.add(failure)
            self._view.shell.say(failure, tone="care")
        findings = to_added_findings((each for group in result.by_block.values() for each in group), job.new, text)
        self._linted[job.page.key] = (job.old_source, text), findings
        return findings


def _link_context(tree: PageTree, at: ContentRef) -> LinkContext:
    return LinkContext(tree, at, app_origins(next(tree.walk(), None)))


async def _findings_on_added_words(
    live: Live, page: Page, old_text: str, new: Document, context: LinkContext, loaded_pages: dict[str, CheckedPage]
) -> tuple[AddedFinding, ...]:
    """Return the findings on words that `new` adds to `old_text`. Add `page` and linked pages to `loaded_pages`."""
    check = ReferenceCheck(context.space_index, loaded_pages)

    def find() -> tuple[tuple[AddedFinding, ...], frozenset[str]]:
        """Return the findings, and the IDs of linked pages whose headings are not loaded yet."""
        checked = loaded_pages[page.id] = check_document(page_path(page), new.source, new, link_base(page))
        added_text_ranges = added_ranges(old_text, new.source)
        missing_ids = pages_linked_from_added_lines(checked, check, added_text_ranges) - loaded_pages.keys()
        return added_findings(checked, check, added_text_ranges, new), missing_ids

    findings, missing_ids = await asyncio.to_thread(find)
    if missing_ids:
        await _load_headings(live, missing_ids, context, loaded_pages)
        findings, _ = await asyncio.to_thread(find)
    return findings


async def _load_headings(
    live: Live, ids: Collection[str], context: LinkContext, loaded_pages: dict[str, CheckedPage]
) -> None:
    """Add the pages `ids`, at most `MAX_LINKED`, to `loaded_pages`, so that links to their headings can be checked.
    Stop at the first error."""
    for page_id in islice(sorted(ids), MAX_LINKED):
        try:
            loaded_page = await find_page(live, page_to_read_op(context.content_ref, page_id), rank=Rank.AWAITED)
        except ApiError:
            return
        text, page = page_markdown(loaded_page), context.pages.get(page_id)
        if page is not None and len(text) <= MAX_TEXT:
            loaded_pages[page_id] = await asyncio.to_thread(read_page, page_path(page), text, link_base(page))


async def check_findings(live: Live, trees: MergeTrees, changed_ids: Sequence[str]) -> tuple[InfoRow, ...]:
    """Return a row that counts unchecked pages and findings on added words. Empty if both are 0. Raises ApiError."""
    context = _link_context(trees.new_tree, trees.head)
    loaded_pages: dict[str, CheckedPage] = {}
    titles: list[str] = []
    total = unchecked_count = 0
    existing_pages = [page for page in trees.new_tree.walk() if page.id in changed_ids and page.type == "document"]
    for page in existing_pages[:MAX_CHECKED_PAGES]:
        versions = await asyncio.gather(
            *(find_page(live, page_source_op(ref, page.id)) for ref in (trees.base, trees.head))
        )
        old_text, new_text = map(page_markdown, versions)
        if len(new_text) > MAX_TEXT:
            unchecked_count += 1
            continue
        document = await asyncio.to_thread(parse, new_text)
        if findings := await _findings_on_added_words(live, page, old_text, document, context, loaded_pages):
            titles.append(page.title or "Untitled")
            total += len(findings)
    unchecked_count += len(existing_pages[MAX_CHECKED_PAGES:])
    if not total and not unchecked_count:
        return ()
    found_text = f"{plural(total, 'finding')} on {plural(len(titles), 'changed page')}: {list_first_names(titles)}"
    unchecked_text = f", {plural(unchecked_count, 'page')} not checked" if unchecked_count else ""
    return (InfoRow("care", "findings", f"{found_text if total else 'none on the added words'}{unchecked_text}"),)


_SAFE_FILE_NAME = "page.md"
"""File name that linters get if the path of the page is unsafe."""


class LinterRuns:
    """Runs linters on pages, at most `MAX_LINTERS` at a time. Each instance belongs to one event loop."""

    def __init__(self, linters: Sequence[Linter]) -> None:
        self._linters = linters
        self._slots = asyncio.Semaphore(MAX_LINTERS)

    async def findings(self, page: LintedPage) -> PageFindings:
        """Return the findings of all linters on a page by block, and a sentence for each failed linter."""
        outcomes = await asyncio.gather(*(self._run(linter, page) for linter in self._linters))
        all_findings = [each for findings, _ in outcomes for each in findings]
        return PageFindings(
            page.path, group_by_block(all_findings), tuple(failure for _, failure in outcomes if failure)
        )

    async def _run(self, linter: Linter, page: LintedPage) -> tuple[list[Finding], str]:
        text = await asyncio.to_thread(mask_parts, page.text, cast(tuple[MaskedPart, ...], linter.mask))
        path = page.file_path if not why_unsafe(page.file_path) else _SAFE_FILE_NAME
        try:
            async with self._slots:
                run_result = await run_linter(linter, path, text)
        except ProgramFailed as failure:
            return [], str(failure)
        try:
            return await asyncio.to_thread(_read_findings, linter, run_result.output, page, text)
        except UnreadableReport as error:
            hint = f" It printed: {run_result.errors}" if run_result.errors else " Check linter.format."
            return [], f"Could not read the output of {linter.name}: {error}.{hint}"


def linters_for(linters: Sequence[Linter], space_title: str, space_id: str) -> tuple[Linter, ...]:
    """Return the linters that list the title or ID of a space, and the linters without a list of spaces."""
    names = {fold(space_title), fold(space_id)}
    return tuple(each for each in linters if not each.spaces or names & set(map(fold, each.spaces)))


def _read_findings(linter: Linter, output: bytes, page: LintedPage, text: str) -> tuple[list[Finding], str]:
    format_name = cast(Format, linter.format)
    column_unit = cast(ColumnUnit, linter.columns) if linter.columns else DEFAULT_COLUMN_UNITS[format_name]
    reports, has_more = read_reports(output, format_name)
    findings = list(to_page_findings(reports, page, text, tool=linter.name, column_unit=column_unit))
    more_note = f"{linter.name} has more than {MAX_FINDINGS} findings on {page.path}. The others are not shown."
    return findings, more_note if has_more else ""


async def check_linters(
    live: Live, trees: MergeTrees, changed_ids: Sequence[str], space: Space, linters: Sequence[Linter]
) -> tuple[InfoRow, ...]:
    """Return a row about the linters. Empty if the space has none. After findings, failures or unchecked pages, the row
    is `bad`: the user must then type the number of the change request to merge it."""
    chosen_linters = linters_for(linters, space.title, space.id)
    if not chosen_linters:
        return ()
    existing = [page for page in trees.new_tree.walk() if page.id in changed_ids and page.type == "document"]
    linter_runs = LinterRuns(chosen_linters)
    try:
        pages = [await _linted_page(live, trees, page) for page in existing[:MAX_CHECKED_PAGES]]
    except ApiError as error:
        return (InfoRow("bad", "linters", f"not checked: {error}"),)
    results = await asyncio.gather(*(linter_runs.findings(each) for each in pages))
    names_text = ", ".join(each.name for each in chosen_linters)
    problems = list(dict.fromkeys(failure.rstrip(".") for result in results for failure in result.failures))
    if titles := [page.title or "Untitled" for page, result in zip(existing, results, strict=False) if result.count]:
        location = f"on {plural(len(titles), 'changed page')}: {list_first_names(titles)}"
        problems.insert(0, f"{plural(sum(result.count for result in results), 'finding')} of {names_text} {location}")
    if len(existing) > MAX_CHECKED_PAGES:
        problems.append(f"{plural(len(existing) - MAX_CHECKED_PAGES, 'page')} not checked")
    if problems:
        return (InfoRow("bad", "linters", "; ".join(problems)),)
    return (InfoRow("ok", "linters", f"no findings of {names_text} on the added words"),)


async def _linted_page(live: Live, trees: MergeTrees, page: Page) -> LintedPage:
    versions = [await find_page(live, page_source_op(ref, page.id)) for ref in (trees.base, trees.head)]
    before, after = map(page_markdown, versions)
    ranges, document = await asyncio.to_thread(lambda: (added_ranges(before, after), parse(after)))
    return LintedPage(page.path or page.id, page_path(page), document, after, ranges)
