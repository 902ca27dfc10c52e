"""Rows of a list of conflicts."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content

from octavo.documents.merging.merged_page import Choice
from octavo.tui.review.conflict_finder import ConflictedPage
from octavo.tui.review.tree_conflicts import TreeConflict
from octavo.tui.widgets.row_list import Row
from octavo.tui.widgets.safe_text import safe

_SIGNS = {"deleted": "−", "moved": "→", "order": "→"}


def row_of(item: ConflictedPage | TreeConflict, choices: Mapping[str, Choice]) -> Row:
    """Return the row of a page with the number of its resolved conflicts, or of a conflict in the page tree."""
    is_resolved = not item.unresolved(choices)
    if isinstance(item, TreeConflict):
        text = Content.assemble((_SIGNS.get(item.kind, "~"), "$warning"), " ", safe(item.title))
        right = Content.styled(item.kind, "$octavo-muted")
    else:
        text = safe(item.title or "Untitled")
        total = len(item.conflicts)
        right = Content.styled(
            f"{total - len(item.unresolved(choices))}/{total}", "$success" if is_resolved else "$warning"
        )
        if is_resolved and any(each.is_suggested and name not in choices for name, each in item.conflicts):
            right = Content.styled("suggested", "$primary")
    sign = Content.styled("✓", "$success") if is_resolved else Content.styled("!", "bold $warning")
    return Row(text=text, sign=sign, right=right, dim=is_resolved)
