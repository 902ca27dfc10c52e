"""Taking back what a change request does: one block of a page, or a page as a whole, as it was before."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from octavo.api.content import ContentEdit, DocumentBody, RevertPage, UpdatePage
from octavo.api.errors import ApiError
from octavo.api.places import RevisionRef
from octavo.data.putting_back import put_back
from octavo.data.writing_content import texts
from octavo.documents.blocks import Block
from octavo.documents.reverting import UnknownBlock, reverted
from octavo.tui.comments import thread_actions
from octavo.tui.review.diff_base import ComparingWith
from octavo.tui.shell.permissions import NEVER_DELETED, not_allowed_with
from octavo.tui.shell.progress import meanwhile
from octavo.tui.widgets.wording import plural
from octavo.tui.writing import target_request
from octavo.tui.writing.authoring import Authoring

if TYPE_CHECKING:
    from octavo.api.comments import Comment
    from octavo.tui.review.changed_pages import ChangedPage
    from octavo.tui.widgets.confirm import Confirmed

_EXCERPT = 200


@dataclass(frozen=True)
class RevertedRange:
    """What is put back, between which revisions."""

    page: str
    title: str
    base: str
    head: str


class TakingBack(ComparingWith, Authoring):
    """A view of what a change request does to its pages, which can be edited there and taken back."""

    CONTEXT: ClassVar[str] = "change request"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("Q", "take_back", "Take back", show=False, tooltip="Put this block back as it was before; from the list: the page", id="change.take_back"),
    ]  # fmt: skip

    @property
    def page_to_write(self) -> tuple[str, str, str] | None:
        change = self.change_on_show if self.is_mounted else None
        if change is None or change.page is None or not change.is_there_after:
            return None
        return change.page.id, change.title, change.page.type

    @property
    def block_to_write(self) -> Block | None:
        return self.view.block_near if self.page_on_show is not None and self._documents is not None else None

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        change = self.change_on_show if self.is_mounted else None
        if action in ("edit_page", "arrange_page") and change is not None and not change.is_there_after:
            return f"{change.title} is deleted in this change request. Q puts it back."
        if action == "take_back":
            return self._why_not_taken_back(change)
        if action == "delete_page" and change is not None:
            if (thread := self._thread_to_delete()) is not None:
                return not_allowed_with(self.shell, self.at, "delete", thread)
            if change.page is None:
                return f"{change.title} is no page. {NEVER_DELETED}"
            if not change.is_there_after:
                return f"{change.title} is deleted in this change request already. Q puts it back."
        return super().why_not(action, parameters)

    def _why_not_taken_back(self, change: ChangedPage | None) -> str | None:
        if change is None or not change.changes:
            return "Nothing changes here."
        if change.page is None:
            return f"{change.title} is no page: only pages can be put back, the rest in the browser."
        if self.sides is not None and self.sides.name:
            return f"This is compared with {self.sides.name}. Q puts back what was there at the base: B chooses it."
        if self._change_request.base is None or self._change_request.revision is None:
            return "The server does not say what was there before."
        return self.why_no_page_is_written()

    def _thread_to_delete(self) -> Comment | None:
        """The thread under the cursor of the diff, while that has the focus."""
        return self.page_discussion.thread_under_cursor() if self.focused is self.view else None

    def action_delete_page(self) -> None:
        if (thread := self._thread_to_delete()) is not None:
            thread_actions.delete(self.shell, self.at, thread, thread)
        else:
            super().action_delete_page()

    def action_take_back(self) -> None:
        change, about = self.change_on_show, self._change_request
        if change is None or change.page is None or about.base is None or about.revision is None:
            return
        back = RevertedRange(change.page.id, change.title, about.base, about.revision)
        block = self.block_on_show if self.focused is self.view else None
        if block is None or not change.is_there_after:
            self._ask_page(back, change)
        else:
            self.shell.background(self._ask_block(back, block))

    async def _ask_block(self, back: RevertedRange, block: Block) -> None:
        try:
            then, now = await asyncio.gather(
                *(
                    texts(self.live, RevisionRef(space_id=self.at.space_id, revision_id=each), back.page)
                    for each in (back.base, back.head)
                )
            )
        except ApiError as error:
            self.shell.say(f"{back.title} is not read: {error}", tone="failed")
            return
        if now is None:
            self.shell.say(f"{back.title} has no text that can be edited.", tone="care")
            return
        keys = {each.key for each in block.walk()}
        before = then.text if then is not None else ""
        try:
            after = await asyncio.to_thread(reverted, before, now.text, keys)
        except UnknownBlock:
            self.shell.say("Go to a block of the page first: ( and ) do, and \\ leaves the source.", tone="care")
            return
        if after == now.text:
            self.shell.say("This block is as it was before.")
            return
        change = UpdatePage(page=back.page, document=DocumentBody(markdown=after))
        said = " ".join(block.plain().split())
        excerpt = said if len(said) <= _EXCERPT else f"{said[: _EXCERPT - 1]}…"
        self._ask(
            f"Put this block of {back.title} back?",
            f"“{excerpt}”",
            "What changed in it is as it was before.",
            back,
            change,
        )

    def _ask_page(self, back: RevertedRange, change: ChangedPage) -> None:
        if "created" in change.kinds:
            said = "It is new, so it goes again."
            page = next((page for root in self.after for page in root.walk() if page.id == back.page), None)
            below = sum(1 for _ in page.walk()) - 1 if page is not None else 0
            said += f" {plural(below, 'page')} below it {'goes' if below == 1 else 'go'} with it." if below else ""
        elif "deleted" in change.kinds:
            said = "It comes back where it was."
        else:
            said = "All that this change request changes of it is as it was before."
        self._ask(f"Put {back.title} back?", said, "", back, RevertPage(page=back.page, revision=back.base))

    def _ask(self, title: str, intro: str, after: str, back: RevertedRange, change: ContentEdit) -> None:
        from octavo.tui.widgets.confirm import Confirm

        def decided(answer: Confirmed | None) -> None:
            if answer is not None:
                self.shell.background(self._put_back(back, change))

        self.app.push_screen(Confirm(title, verb="Put back", intro=intro, after=after), decided)

    async def _put_back(self, back: RevertedRange, change: ContentEdit) -> None:
        with meanwhile(self.shell, f"Putting back {back.title}…"):
            outcome = await put_back(self.live, self.at, back.head, (change,))
        if outcome.kind != "sent":
            self.shell.say(f"{back.title} is not put back: {outcome.sentence}", tone="failed")
            return
        target_request.wrote(self.shell, self._space, self._change_request)
        self.shell.say(f"Put back: {back.title}.")
