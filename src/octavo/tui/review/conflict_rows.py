"""What a list of conflicts says of each page, and what is said of what is decided besides a text."""

from __future__ import annotations

from collections.abc import Mapping

from textual.content import Content

from octavo.documents.merging.merged_page import Choice
from octavo.tui.review.conflict_finder import ConflictedPage
from octavo.tui.review.tree_conflicts import TreeConflict
from octavo.tui.widgets.row_list import Row
from octavo.tui.widgets.safe_text import safe

_SIGNS = {"deleted": "−", "moved": "→", "order": "→"}


def row_of(item: ConflictedPage | TreeConflict, chosen: Mapping[str, Choice]) -> Row:
    """A page with how many of its conflicts are decided, or what else the sides disagree on."""
    if isinstance(item, TreeConflict):
        decided = item.name in chosen or not item.can_choose
        text = Content.assemble((_SIGNS.get(item.kind, "~"), "$warning"), " ", safe(item.title))
        return Row(text=text, sign=_tick(decided), right=Content.styled(item.kind, "$octavo-muted"), dim=decided)
    names = [name for name, _ in item.conflicts]
    count = sum(name in chosen for name in names)
    decided = count == len(names)
    right = Content.styled(f"{count}/{len(names)}", "$success" if decided else "$warning")
    return Row(text=safe(item.title or "Untitled"), sign=_tick(decided), right=right, dim=decided)


def words_of(shape: TreeConflict, choice: Choice | None) -> Content:
    """What happened, and what each side would make of it."""
    said = Content.assemble((shape.title, "bold"), "\n\n", safe(shape.said))
    for key, side, words in (("m", "main", shape.main_words), ("t", "this", shape.this_words)):
        if words:
            taken = choice is not None and choice.side == side
            mark = Content.styled("✓ ", "bold $success") if taken else Content("  ")
            said = said + Content("\n\n") + mark + Content.styled(key, "bold $accent") + Content("  ") + safe(words)
    return said


def _tick(decided: bool) -> Content:
    return Content.styled("✓", "$success") if decided else Content.styled("!", "bold $warning")
