"""The blame view of a page: who wrote each block, when, in which change request, and who approved it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget

from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.operation import ChangeRequestRef, Model, SpaceRef
from octavo.data.block_origins import ContentVersion, PageBlame, RequestPeople, load_people
from octavo.documents.blame import Origin
from octavo.documents.blocks import Block
from octavo.local_time import localize
from octavo.tui.core.item_labels import PAGE_NOT_FOUND, revision_label
from octavo.tui.core.list_view import LINK_COMMANDS, PREVIEW_COMMANDS, ListView
from octavo.tui.core.routes import ToChangeRequest
from octavo.tui.editing.page_drafts import pages_with_drafts
from octavo.tui.review.request_preview import SELECTION_DELAY
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.delay import Delay
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Row, RowHeading, RowList
from octavo.tui.widgets.short_texts import as_clause, join_texts, long_age, plural, short_age
from octavo.tui.widgets.text_widgets import ChangingText

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

_KIND_SIGNS = {"heading": "# ", "item": "• ", "task": "• ", "code": "‹› ", "row": "│ ", "card": "│ ", "figure": "▣ "}
_MAX_TEXT_LINES = 12
"""Maximum number of lines of a block that the details show."""


@dataclass(frozen=True)
class BlameTarget:
    """Page whose blame the view shows."""

    at: SpaceRef | ChangeRequestRef
    page_id: str
    title: str
    block: Block | None = None
    """Block to select first. None for the first block of the page."""
    location_label: str = ""
    """Title of the space, or number of the change request."""


@dataclass(frozen=True)
class BlamedBlock:
    """Block of the page, and the revision or change request that edited it last."""

    block: Block
    origin: Origin[ContentVersion] | None
    """Revision or change request that edited the block last. None if it is unknown."""

    @property
    def change_request(self) -> ChangeRequest | None:
        """Change request that wrote the block. None if it is unknown, or if the block was edited on main."""
        return self.origin.version.change_request if self.origin is not None else None


def _why_no_older(app: Shell, view: BlameScreen) -> str | None:
    if view.is_loading:
        return "Older revisions are already loading."
    if view.blame.is_complete:
        return "The origin of every block is known."
    return None if view.blame.has_older else "There are no older revisions of this page."


BLAME_COMMANDS: Commands[BlameScreen] = Commands(
    "blame",
    (
        Command("more", "m", "Check older", "Check older revisions of this page",
                run=lambda _, view: view.load_older(), why_not=_why_no_older, applies=lambda _, view: view.blame.has_older),
        Command("up", "escape", "Back", "Go back", run=lambda _, view: view.go_up_or_back(), shown=False),
    ),
)  # fmt: skip


class BlameScreen(ListView[BlamedBlock]):
    """List of the blocks of a page, grouped by the change request that wrote them."""

    HELP_NAME = "blame"
    HELP = (
        "This view shows who wrote each block of this page, and in which change request. Press enter to open the change request "
        "at the selected block, } to go to the next change request, / to filter the blocks, or m to check older revisions. Press "
        "esc to go back to the page."
    )
    CSS_PATH = "page_blame.tcss"
    KEYBAR: ClassVar[tuple[str, ...]] = ("list.open", "blame.more", "list.next_heading", "list.filter")
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (PREVIEW_COMMANDS, LINK_COMMANDS, BLAME_COMMANDS)

    blame: PageBlame

    def __init__(self, target: BlameTarget) -> None:
        super().__init__()
        self.target = target
        self.MODE = "content" if isinstance(target.at, SpaceRef) else "changes"
        self.is_loading = False
        self._has_selected_target = False
        """True after the block of the target was selected. Blocks that load later no longer change the selection."""
        self._people: dict[str, RequestPeople | ApiError] = {}
        """Editors and approvers by change request ID, or the error if they could not be loaded."""
        self._selection_delay = Delay(self)

    def body(self) -> Iterable[Widget]:
        rows: RowList[BlamedBlock] = RowList(
            self._draw,
            key=lambda item: item.block.key,
            search=lambda item: f"{_one_line(item.block)} {self._heading(item).text} {_author(item)}",
            groups=lambda item: [self._heading(item)],
            empty="This page has no text.",
            hint="Press esc to go back to the page.",
            id="blocks",
        )
        yield from self.list_with_preview(rows, VerticalScroll(ChangingText("", id="about"), id="detail"))

    def on_mount(self) -> None:
        self._start()
        self.rows.focus()

    @property
    def selected_items(self) -> Sequence[Model]:
        change_request = self.rows.item.change_request if self.rows.item is not None else None
        return [change_request] if change_request is not None else []

    def _start(self) -> None:
        self.blame = PageBlame(self.live, self.target.at, self.target.page_id)
        self.load_older()

    def load_older(self) -> None:
        """Search older revisions for the change requests that wrote the blocks. Update the list after each revision."""
        if not self.is_loading:
            self.run_worker(self._load(self.blame), exclusive=True, group="blame")

    async def _load(self, blame: PageBlame) -> None:
        self.is_loading = True
        self.rows.state.show_loading(f"the blame of {self.target.title}")
        self._show_status()
        try:
            async for _ in blame.load():
                self._show_blocks()
            self._show_blocks()
        except ApiError as error:
            self.rows.state.fail(f"Could not load the blame of {self.target.title}", str(error))
        finally:
            self.is_loading = False
        self.rows.apply_filter()  # The heading of blocks with unknown origin depends on `is_loading`.
        self._show_status()
        self._draw_details()
        self.refresh_bindings()

    def _show_blocks(self) -> None:
        blame = self.blame
        self.rows.state.empty = PAGE_NOT_FOUND if blame.is_page_missing else "This page has no text."
        self.rows.show([BlamedBlock(block, blame.origin(block.key)) for block in blame.blocks])
        if not self._has_selected_target and blame.blocks:
            self._has_selected_target = True
            self._select_target_block()
        self._show_status()
        self._draw_details()
        self._load_people_soon()

    def _select_target_block(self) -> None:
        if (block := self.target.block) is not None:
            keys = {each.key for each in self.blame.blocks}
            self.rows.go_to(next((each.key for each in block.walk() if each.key in keys), None))

    def refresh_data(self) -> None:
        super().refresh_data()
        if self.is_loading:
            return
        self._people = {}
        if self.blame.blocks and self.blame.has_older:
            self.load_older()
        else:
            self._start()

    @on(LineList.FilterChanged, "#blocks")
    def _show_status(self) -> None:
        blame = self.blame
        items = self.rows.items
        request_ids = {item.change_request.id for item in items if item.change_request is not None}
        unknown = sum(item.origin is None for item in items)
        has_draft = bool(pages_with_drafts(self.shell, self._space.space_id, (self.target.page_id,)))
        notes = (
            "your unsent draft is not included" if has_draft else "",
            "loading…" if self.is_loading else f"{plural(unknown, 'block')} not known yet" if unknown else "",
            "press m to check older" if blame.has_older and not self.is_loading and items else "",
            f"{self.rows.counts.summary} · {plural(len(request_ids), 'change request')}" if items else "",
        )
        location = f"{self.target.location_label} › " if self.target.location_label else ""
        self.show_location(f"{location}{self.target.title} › Blame", " · ".join(each for each in notes if each))

    @property
    def _space(self) -> SpaceRef:
        at = self.target.at
        return at if isinstance(at, SpaceRef) else at.space

    def _heading(self, item: BlamedBlock) -> RowHeading:
        if item.origin is None:
            return RowHeading(self._unknown_origin_label)
        version = item.origin.version
        author = _author(item)
        age = short_age(version.created_at)
        return RowHeading(_version_label(version), f"{author} · {age}" if author and age else author or age)

    @property
    def _unknown_origin_label(self) -> str:
        since = self.blame.known_since
        if self.is_loading or since is None:
            return "Checking older revisions…" if self.is_loading else "Not known yet"
        return f"Written before {_date(since)}"

    def _draw(self, item: BlamedBlock) -> Row:
        sign = _KIND_SIGNS.get(item.block.kind, "")
        return Row(text=Content.styled(sign, "$octavo-muted") + Content(_one_line(item.block)), dim=item.origin is None)

    def _draw_details(self) -> None:
        item = self.rows.item
        about = self.query_one("#about", ChangingText)
        about.update(Content("\n").join(self._detail_lines(item)) if item is not None else "")

    def _detail_lines(self, item: BlamedBlock) -> list[Content]:
        if item.origin is None:
            return [_title("WRITTEN"), *self._unknown_origin_lines(), Content(""), *_text_lines(item.block)]
        version, change_request = item.origin.version, item.change_request
        if change_request is None:
            lines = [Content(_version_label(version)), _muted("The server does not return the author.")]
            return [_title("WRITTEN"), *lines, _date_line(version), Content(""), *_text_lines(item.block)]
        author = Content.styled(_author(item) or "Unknown", "bold")
        lines = [_title("WRITTEN BY"), join_texts([author, _date_line(version)]), Content("")]
        lines += [_title("CHANGE REQUEST"), Content(f"#{change_request.number} {change_request.title}")]
        if version.is_proposed:
            lines.append(
                Content.styled("Not merged yet", "$warning") if change_request.status != "merged" else _muted("Merged")
            )
        lines += [*self._people_lines(change_request), Content("")]
        if item.origin.page_id != self.target.page_id:
            title = self.blame.searched_titles.get(item.origin.page_id) or "another page"
            lines += [_title("MOVED HERE FROM"), Content(title), Content("")]
        lines += [*_text_lines(item.block), Content("")]
        effect = (
            " goes back to the change request"
            if self._is_opened_from(change_request)
            else " opens the change request at this block"
        )
        return [*lines, Content.assemble(("enter", "$primary"), (effect, "$octavo-muted"))]

    def _unknown_origin_lines(self) -> list[Content]:
        blame = self.blame
        if self.is_loading:
            return [_muted("Checking older revisions…")]
        since = blame.known_since
        checked_text = f"Octavo checked {plural(blame.checked_count, 'revision')}"
        lines = [
            Content(self._unknown_origin_label),
            _muted(f"{checked_text}, back to {_date(since)}." if since else f"{checked_text}."),
        ]
        if blame.has_no_access:
            return [*lines, _muted("You do not have access to older revisions.")]
        return [*lines, _muted("Press m to check older revisions.")] if blame.has_older else lines

    def _people_lines(self, change_request: ChangeRequest) -> list[Content]:
        people = self._people.get(change_request.id)
        if people is None:
            return [_muted("Loading the reviews…")]
        if isinstance(people, ApiError):
            return [Content.styled(f"Could not load the reviews: {as_clause(str(people))}", "$error")]
        approved = f"Approved by {', '.join(people.approvers)}" if people.approvers else "Not approved by a reviewer"
        lines = [Content(approved)]
        if len(people.editors) > 1:
            lines.append(_muted(f"Edited by {', '.join(people.editors)}"))
        return lines

    @on(LineList.Highlighted, "#blocks")
    def _on_block_selected(self) -> None:
        self._draw_details()
        self.refresh_bindings()
        self._load_people_soon()

    def _load_people_soon(self) -> None:
        self._selection_delay.start(SELECTION_DELAY, self._load_people)

    def _load_people(self) -> None:
        change_request = self.rows.item.change_request if self.rows.item is not None else None
        if change_request is not None and not isinstance(self._people.get(change_request.id), RequestPeople):
            self.run_worker(self._load_people_of(change_request), exclusive=True, group="people")

    async def _load_people_of(self, change_request: ChangeRequest) -> None:
        try:
            self._people[change_request.id] = await load_people(
                self.live, change_request.ref(self._space), change_request
            )
        except ApiError as error:
            self._people[change_request.id] = error
        self._draw_details()

    def _is_opened_from(self, change_request: ChangeRequest) -> bool:
        return change_request.ref(self._space) == self.target.at

    @on(LineList.Opened, "#blocks")
    def _on_block_opened(self) -> None:
        item = self.rows.item
        if item is None:
            return
        if item.origin is None or (change_request := item.change_request) is None:
            self.shell.say(self._why_no_request(item), tone="care")
        elif self._is_opened_from(change_request):
            self.shell.history.close_screen()
        else:
            block = (item.origin.page_id, item.origin.block_key)
            self.shell.go(ToChangeRequest(change_request.ref(self._space), change_request, block=block))

    def _why_no_request(self, item: BlamedBlock) -> str:
        if item.origin is None:
            return "The change request that wrote this block is not known yet. Press m to check older revisions."
        return "This block was not written in a change request. Press H on the page to see its version history."


def _version_label(version: ContentVersion) -> str:
    if (change_request := version.change_request) is not None:
        return f"#{change_request.number} {change_request.title}"
    return revision_label(version.type, is_first=version.is_first)


def _author(item: BlamedBlock) -> str:
    return item.change_request.author_name if item.change_request is not None else ""


def _one_line(block: Block) -> str:
    separator = " │ " if block.kind in ("row", "card") else " "
    texts = [" ".join(line.split()) for line in block.plain().splitlines()]
    return separator.join(text for text in texts if text) or block.kind


def _text_lines(block: Block) -> list[Content]:
    lines = [line for line in block.plain().splitlines() if line.strip()]
    shown_lines = [Content(line) for line in lines[:_MAX_TEXT_LINES]]
    more_count = len(lines) - len(shown_lines)
    more_lines = [_muted(f"… and {plural(more_count, 'more line')}")] if more_count else []
    return [_title("BLOCK"), *shown_lines, *more_lines]


def _title(text: str) -> Content:
    return Content.styled(text, "bold $octavo-muted")


def _muted(text: str) -> Content:
    return Content.styled(text, "$octavo-muted")


def _date_line(version: ContentVersion) -> Content:
    moment = version.created_at
    return join_texts([long_age(moment), _date(moment)]) if moment is not None else _muted("The date is not known.")


def _date(moment: datetime) -> str:
    local_time = localize(moment)
    return f"{local_time.day} {local_time:%B %Y}"
