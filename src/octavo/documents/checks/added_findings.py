"""The findings on the words that a change request added to a page, and the comments that can be made of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from octavo.documents.blocks import Document
from octavo.documents.checks.checked_pages import CheckedPage
from octavo.documents.checks.findings import Finding, RuleChoice, sorted_findings
from octavo.documents.checks.references import ReferenceCheck
from octavo.documents.linters.placement import AddedRanges, suggested_block
from octavo.documents.page_trees import escape
from octavo.documents.suggestions import suggestion_fence


@dataclass(frozen=True)
class AddedFinding:
    """A finding on added words."""

    key: str
    """A name of the finding that stays the same until the words of its block or its message change. Repeated names are
    numbered."""
    finding: Finding
    suggestion: str | None = None
    """The Markdown of its block with the finding fixed. None if the finding has no fix."""

    @property
    def comment(self) -> str:
        """The finding as the Markdown of a comment."""
        return f"{escape(_sentence(self.finding.message))} (`{self.finding.rule or self.finding.source}`)"

    @property
    def comment_with_suggestion(self) -> str:
        """The comment with the fix as a suggestion. Only the comment if there is no fix."""
        return self.comment if self.suggestion is None else f"{self.comment}\n\n{suggestion_fence(self.suggestion)}"


def added_findings(
    page: CheckedPage, check: ReferenceCheck, added: AddedRanges, document: Document
) -> tuple[AddedFinding, ...]:
    """Return the findings of the default rules on added words, in the order of the page. `document` is the parsed page."""
    rules = RuleChoice()
    own = [
        each for each in (*page.findings, *check.findings(page)) if rules.applies(each) and added.touches(each.place)
    ]
    return with_keys(sorted_findings(own), document, page.text)


def with_keys(found: Iterable[Finding], document: Document, text: str) -> tuple[AddedFinding, ...]:
    """Return findings on a page with their keys and fixes. `text` is the Markdown of the page."""
    blocks = {block.key: block for block in document.walk()}
    named: list[AddedFinding] = []
    repeats = Counter[str]()
    for each in found:
        block = blocks.get(each.block)
        words = block.plain() if block is not None else ""
        identity = "\0".join((page_path_of(each), each.source, each.rule, each.message, each.words, words))
        repeats[identity] += 1
        identity += f"\0{repeats[identity]}" * (repeats[identity] > 1)
        key = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:20]
        named.append(AddedFinding(key, each, suggested_block(each, document, text)))
    return tuple(named)


def page_path_of(found: Finding) -> str:
    """Return the path of the page of a finding in its space. If the file is no page, return the path of the file."""
    return found.page or found.path


def added_links(page: CheckedPage, check: ReferenceCheck, added: AddedRanges) -> frozenset[str]:
    """Return the ids of the pages that the added lines of a page link to with an anchor."""
    lines = {number - 1 for number in added.lines}
    touched = [each for each in page.references if lines.intersection(range(*each.lines))]
    return frozenset(check.linked_pages(CheckedPage(**{**vars(page), "references": tuple(touched)})))


def _sentence(message: str) -> str:
    return f"{message[:1].upper()}{message[1:]}" + ("" if message.endswith(("?", "!", ".")) else ".")
