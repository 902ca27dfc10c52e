"""Labeled statements with a status mark, as merge checks and dialogs list them. Loads no Textual, for commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from octavo.tui.widgets.short_texts import AnyText

Mark = Literal["ok", "care", "bad", "asking", "note"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A labeled statement with a status mark: `Fact("care", "approval", "Tom W. approved rev 16, this is rev 18")`."""

    mark: Mark
    label: str
    text: AnyText = ""
