"""Pages made, renamed, moved and deleted in a change request."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from octavo.api import change_requests, content
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import ContentEdit, DeletePage, DocumentBody, InsertPage, Page, PageTree, UpdatePage
from octavo.api.errors import ApiError
from octavo.api.places import ContentRef, SpaceRef
from octavo.data.writes.content_writes import NO_OPERATION, edit
from octavo.tui.shell.dialog_draft import SAID, DialogDraft
from octavo.tui.shell.progress import meanwhile
from octavo.tui.widgets.chooser import Choice
from octavo.tui.widgets.wording import plural
from octavo.tui.writing import page_settings, target_request
from octavo.tui.writing.target_request import TargetRequest

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed

Step = Callable[[], Coroutine[Any, Any, None]]


@dataclass(frozen=True)
class Place:
    """Where a page goes: below another or at the top (None), as the `at`-th there; without `at` as the last."""

    into: str | None = None
    at: int | None = None


@dataclass(frozen=True)
class LoadedTree:
    """What is edited: a change request as it was read, and its pages."""

    into: TargetRequest
    tree: PageTree
    head: str | None = None
    """None for a change request that is not started: then the pages are those that are live."""


@dataclass(frozen=True)
class TreeEdit:
    """Edits of the tree around one page."""

    app: Shell
    space: SpaceRef
    page: str = ""
    """Empty: there is none yet."""
    title: str = ""
    change_request: ChangeRequest | None = None
    """Where it happens. Without one the person is asked."""
    written: Callable[[ChangeRequest], None] | None = None
    """Called when the change request has it."""

    def menu(self) -> None:
        """Ask what to do with the page."""
        from octavo.tui.widgets.picker import Picker

        choices: list[Choice[Step]] = [
            Choice(self.rename, "Rename", "change the title"),
            Choice(self.move, "Move", "change the position or the parent page"),
            Choice(self.details, "Details", "change the slug, description, icon, or visibility"),
            Choice(self.insert, "New page", "add a page under or after this page"),
            Choice(self.delete, "Delete", "delete the page and all its subpages"),
        ]

        def chosen(act: Step | None) -> None:
            if act is not None:
                self.app.background(act())

        self.app.push_screen(Picker(self.title, choices), chosen)

    async def rename(self) -> None:
        """Ask for another title."""
        await self._in(f"Rename {self.title}", self._rename)

    async def move(self) -> None:
        """Ask where it shall stand."""
        await self._in(f"Move {self.title}", self._move)

    async def details(self) -> None:
        """Ask for what else it has."""
        await self._in(f"Edit the details of {self.title}", self._details)

    async def delete(self) -> None:
        """Ask whether it shall go, and say what goes with it."""
        await self._in(f"Delete {self.title}", self._delete)

    async def insert(self) -> None:
        """Ask for the place and the title of a new page."""
        await self._in("Add a page", self._insert)

    async def _in(self, subject: str, then: Callable[[LoadedTree], None]) -> None:
        if self.change_request is not None:
            await self._held(then, TargetRequest(self.space, change_request=self.change_request))
        else:
            await target_request.choose(self.app, self.space, subject, partial(self._held, then))

    async def _held(self, then: Callable[[LoadedTree], None], into: TargetRequest) -> None:
        live = self.app.session.live
        at: ContentRef = into.at or self.space
        try:
            head = (await live.fetch(change_requests.Get(at=into.at))).revision if into.at is not None else None
            tree = await live.fetch(content.ListPages(at=at))
        except ApiError as error:
            self.app.say(f"Could not load the pages of {into.title}: {error}", tone="failed")
            return
        if self.page and tree.find(self.page) is None:
            self.app.say(f"{into.title} does not contain the page {self.title}.", tone="care")
            return
        then(LoadedTree(into, tree, head))

    # The dialogs

    def _rename(self, held: LoadedTree) -> None:
        page = held.tree.find(self.page)
        before = page.title if page is not None else self.title
        draft = DialogDraft(self.app, f"title {self.space.space_id} {self.page}", before)

        def renamed(title: str) -> None:
            if title == before:
                self.app.say("The page already has this title.")
                draft.drop()
            else:
                change = UpdatePage(page=self.page, title=title)
                self._write(held, change, f"rename {before}", f"Renamed {before} to {title}", draft)

        self._ask_title(f"New title for {before}", "Rename", draft, renamed)

    def _details(self, held: LoadedTree, refused: Mapping[str, str] = MappingProxyType({})) -> None:
        """`refused`: what the server said of what was written, by field."""
        from octavo.tui.writing.page_form import PageForm

        page = held.tree.find(self.page)
        if page is None:
            return
        draft = DialogDraft(self.app, f"details {self.space.space_id} {self.page}")
        form = PageForm(
            f"Details of {page.title or 'Untitled'}",
            page_settings.from_draft(page, draft.text),
            intro="Readers will see the new details after the change request is merged. "
            "To revert the change, open the change request, select the page, and press Q.",
            wrong=partial(page_settings.wrong, page, held.tree),
            keep=lambda values: draft.keep(page_settings.as_draft(page, values)),
            keep_now=lambda values: draft.keep_now(page_settings.as_draft(page, values)),
            refused=refused,
        )

        def decided(answer: Confirmed | None) -> None:
            if answer is None:
                return
            change = page_settings.update(page, form.answer)
            if change is None:
                self.app.say("You made no changes, so nothing was sent.")
                draft.drop()
                return
            where = page_settings.fields(page)
            said = f"Changed the details of {page.title or 'Untitled'}"
            on_show = self.app.screen

            def back(sentence: str, into: ChangeRequest) -> bool:
                if self.app.screen is not on_show:  # who went elsewhere meanwhile is not taken away from there
                    return False
                # The change request that was started for it is there now.
                again = replace(
                    held, into=TargetRequest(self.space, change_request=into), head=held.head or into.revision
                )
                self._details(again, page_settings.refused(sentence, where) or {"": sentence})
                return True

            self._write(held, change, "change the page details", said, draft, refused=back)

        self.app.push_screen(form, decided)

    def _insert(self, held: LoadedTree) -> None:
        draft = DialogDraft(self.app, f"title {self.space.space_id}")

        def placed(place: Place | None) -> None:
            if place is not None:
                self._ask_title("Title of the new page", "Add", draft, partial(made, place))

        def made(place: Place, title: str) -> None:
            where = {"into": place.into} if place.at is None else {"into": place.into, "at": place.at}
            into = held.into if held.head is not None else target_request.new(self.space, f"Add {title}")
            change = InsertPage(title=title, document=DocumentBody(markdown=""), **where)
            self._write(
                replace(held, into=into),
                change,
                f"add {title}",
                f"Added the page {title}",
                draft,
                "Press e to write the text of the page.",
            )

        self._ask_place("Position of the new page", new_places(held.tree, self.page), placed)

    def _move(self, held: LoadedTree) -> None:
        def below(parent: str | None) -> None:
            if parent is None:
                return
            places = places_below(held.tree, self.page, parent)
            if len(places) == 1:
                placed(places[0].value)
            else:
                self._ask_place(f"Position of {self.title}", places, placed)

        def placed(place: Place | None) -> None:
            if place is not None:
                change = UpdatePage(page=self.page, into=place.into, at=place.at)
                self._write(held, change, f"move {self.title}", f"Moved {self.title}")

        from octavo.tui.widgets.picker import Picker

        page = held.tree.find(self.page)
        if page is not None and page.type == "group":
            below("")  # groups stand at the top only
        else:
            trail = held.tree.path_to(self.page)
            now = trail[-2].id if len(trail) > 1 else ""
            self.app.push_screen(
                Picker(f"Move {self.title} under…", parents_for(held.tree, self.page), initial=now), below
            )

    def _delete(self, held: LoadedTree) -> None:
        from octavo.tui.widgets.confirm import ConfirmDialog

        page = held.tree.find(self.page)
        below = sum(1 for _ in page.walk()) - 1 if page is not None else 0

        def decided(answer: Confirmed | None) -> None:
            if answer is not None:
                self._write(held, DeletePage(page=self.page), f"delete {self.title}", f"Deleted {self.title}")

        said = (
            "Readers will still see the page until the change request is merged. "
            "To revert the deletion, open the change request, select the page, and press Q."
        )
        also = f"Its {plural(below, 'subpage')} will also be deleted."
        self.app.push_screen(
            ConfirmDialog(
                f"Delete {self.title}?",
                verb="Delete",
                intro=said,
                after=also if below else "",
                word=str(below) if below else "",
                word_reason=f"{also} Type {below} to confirm." if below else "",
            ),
            decided,
        )

    def _ask_place(self, title: str, places: list[Choice[Place]], then: Callable[[Place | None], None]) -> None:
        from octavo.tui.widgets.picker import Picker

        self.app.push_screen(Picker(title, places), then)

    def _ask_title(self, title: str, verb: str, draft: DialogDraft, use: Callable[[str], None]) -> None:
        from octavo.tui.widgets.confirm import ConfirmDialog, Field

        field = Field(
            "Title",
            draft.text,
            required_error="Enter a title.",
            max_length=300,
            save_draft=draft.keep,
            save_draft_now=draft.keep_now,
        )

        def decided(answer: Confirmed | None) -> None:
            if answer is not None:
                use(answer.text)

        self.app.push_screen(ConfirmDialog(title, verb=verb, field=field), decided)

    # Sending

    def _write(
        self,
        held: LoadedTree,
        change: ContentEdit,
        doing: str,
        said: str,
        draft: DialogDraft | None = None,
        then: str = "",
        refused: Callable[[str, ChangeRequest], bool] | None = None,
    ) -> None:
        """Send it, and say what became of it: `then` is what can be done next. `refused` may show why it was refused."""
        self.app.background(self._written(held, change, doing, said, draft, then, refused))

    async def _written(
        self,
        held: LoadedTree,
        change: ContentEdit,
        doing: str,
        said: str,
        draft: DialogDraft | None,
        then: str,
        refused: Callable[[str, ChangeRequest], bool] | None,
    ) -> None:
        with meanwhile(self.app, f"Saving to {held.into.title}…"):
            change_request = await target_request.started(self.app, held.into)
            if change_request is None:
                return
            head = held.head or change_request.revision
            outcome = await edit(self.app.session.live, change_request.ref(self.space), head, (change,))
        named = f"#{change_request.number} {change_request.title}"
        can_retry = outcome.kind == "refused" and outcome.message != NO_OPERATION
        if can_retry and refused is not None and refused(outcome.message, change_request):
            return
        if outcome.kind != "done":
            kept = f" {SAID}" if draft is not None else ""
            self.app.say(f"Could not {doing} in {named}: {outcome.cause}{kept}", tone="failed")
            return
        if draft is not None:
            draft.drop()
        target_request.wrote(self.app, self.space, change_request)
        self.app.say(f"{said} in {named}. {then}".rstrip())
        if self.written is not None:
            self.written(change_request)


def parents_for(tree: PageTree, moved: str) -> list[Choice[str]]:
    """What a page can stand below: the top ("") and every page and group that is not within it."""
    at_top = any(page.id == moved for page in tree.pages)
    choices = [Choice("", "No parent (top level)", right="current" if at_top else "")]
    for page, depth in _holders(tree.pages, moved, 0):
        choices.append(
            Choice(page.id, f"{'  ' * depth}{page.title or 'Untitled'}", right="current" if _holds(page, moved) else "")
        )
    return choices


def places_below(tree: PageTree, moved: str, parent: str) -> list[Choice[Place]]:
    """The places among the pages below `parent`, or at the top without one. The last comes first: it is the usual one."""
    above = tree.find(parent) if parent else None
    others = [page for page in (above.pages if above is not None else tree.pages) if page.id != moved]
    into = parent or None
    choices = [Choice(Place(into, len(others)), "Last")]
    if others:
        choices.append(Choice(Place(into, 0), "First"))
    choices += [
        Choice(Place(into, number), f"After {page.title or 'Untitled'}") for number, page in enumerate(others[:-1], 1)
    ]
    return choices


def new_places(tree: PageTree, page_id: str) -> list[Choice[Place]]:
    """Where a new page can stand: below a page, after it, or last of all."""
    choices: list[Choice[Place]] = []
    trail = tree.path_to(page_id) if page_id else ()
    if trail:
        page = trail[-1]
        if page.type in ("document", "group"):
            choices.append(Choice(Place(page.id), f"Under {page.title or 'Untitled'}", "as the last subpage"))
        siblings = trail[-2].pages if len(trail) > 1 else tree.pages
        number = next(number for number, each in enumerate(siblings, 1) if each.id == page_id)
        above = trail[-2].id if len(trail) > 1 else None
        choices.append(Choice(Place(above, number), f"After {page.title or 'Untitled'}", "at the same level"))
    return [*choices, Choice(Place(), "At the end", "of the space")]


def _holders(pages: tuple[Page, ...], moved: str, depth: int) -> list[tuple[Page, int]]:
    found: list[tuple[Page, int]] = []
    for page in pages:
        if page.id != moved and page.type in ("document", "group"):
            found += [(page, depth), *_holders(page.pages, moved, depth + 1)]
    return found


def _holds(page: Page, page_id: str) -> bool:
    return any(each.id == page_id for each in page.pages)
