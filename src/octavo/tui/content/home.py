"""Organizations: choose one, see what waits in it, and go to one of its spaces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from textual import on
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Static

from octavo.api.change_requests import ChangeRequest
from octavo.api.operation import ListPage, Model
from octavo.api.organizations import GetMember, Member, Organization
from octavo.api.organizations import List as ListOrganizations
from octavo.api.places import OrganizationRef, SpaceRef
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.data.organization_lists import change_requests_of, spaces_of
from octavo.documents.emoji import emoji
from octavo.tui.shell.addresses import ADDRESS
from octavo.tui.shell.permissions import why_without_space
from octavo.tui.shell.routes import ToChangeRequest, ToPage
from octavo.tui.shell.view import View
from octavo.tui.widgets.changing_text import ChangingText
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.line_list import Lines
from octavo.tui.widgets.row_list import Column, Row, Rows
from octavo.tui.widgets.wording import short_age

MOST_SEATS = 50
"""As many organizations say what waits in them."""
_LOW = 14
"""With fewer rows its lists are not seen together."""


@dataclass(frozen=True)
class OrganizationSummary:
    """The caller in an organization: their role, and what waits there."""

    organization: Organization
    role: str | None = None
    known: bool = False
    page: ListPage[Space] | None = None
    """Its spaces."""
    trouble: str = ""
    """Why its spaces did not load, or are not fresh."""

    @property
    def spaces(self) -> tuple[Space, ...] | None:
        return None if self.page is None else self.page.items

    @property
    def comments(self) -> int | None:
        """The open comments on its pages. In its change requests there may be more."""
        return None if self.spaces is None else sum(space.comments for space in self.spaces)

    def facts(self, comments: int | None) -> str:
        """What stands below its title, with the number of open comments."""
        role = (self.role or "guest") if self.known else ""
        if self.spaces is None:
            return role
        changes = sum(space.change_requests_open for space in self.spaces)
        said = [
            role,
            _count(len(self.spaces), "space"),
            _count(changes, "change"),
            _count(comments or 0, "comment"),
        ]
        return " · ".join(each for each in said if each)


HOME: Commands[HomeScreen] = Commands(
    "home",
    (
        Command("organizations", "h,left", "Organizations", "Go to the organizations", run=lambda _, home: home.organizations.focus(), shown=False),
        Command("spaces", "l,right", "Spaces", "Go to the spaces", run=lambda _, home: home.spaces.focus(), shown=False),
        Command("previous_list", "left_square_bracket", "List before", "Go to the list before", key_display="[", shown=False,
                run=lambda _, home: home.go_to_list(-1)),
        Command("next_list", "right_square_bracket", "Next list", "Go to the next of the three lists", run=lambda _, home: home.go_to_list(1), key_display="]"),
    ),
    find=lambda view: view,
)  # fmt: skip


class HomeScreen(View):
    """All organizations of the account on the left, the spaces of the one under the cursor on the right."""

    VIEW = "home"
    HELP = (
        "Organizations on the left, with your role and what waits in each. Enter shows one; "
        "its spaces and open change requests are on the right, and Enter opens what is under the cursor."
    )
    CSS_PATH = "home.tcss"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (ADDRESS, HOME)

    def __init__(self) -> None:
        super().__init__()
        self._summaries: dict[str, OrganizationSummary] = {}

    def body(self) -> Iterable[Widget]:
        organizations: Rows[OrganizationSummary] = Rows(
            self._draw_summary,
            key=lambda summary: summary.organization.id,
            search=lambda summary: summary.organization.title,
            two_lines=True,
            empty="This key belongs to no organization.",
            hint="Ask an administrator for an invitation, or sign in with another key: octavo auth login",
            id="organizations",
        )
        spaces: Rows[Space] = Rows(
            self._draw_space,
            key=lambda space: space.id,
            search=lambda space: space.title,
            columns=(
                Column("SPACE", least=20),
                Column("YOU MAY", 8, drop=2),
                Column("CHANGES", 8, right=True),
                Column("COMMENTS", 8, right=True),
                Column("UPDATED", 7, right=True, drop=1),
            ),
            empty="",
            id="spaces",
        )
        changes: Rows[ChangeRequest] = Rows(
            self._draw_change,
            key=lambda each: each.id,
            search=lambda each: f"#{each.number} {each.title}",
            two_lines=True,
            empty="No change request is open.",
            hint="3 shows drafts and merged ones",
            id="changes",
        )
        with Horizontal():
            with Vertical(classes="hairline", id="left"):
                yield Static("ORGANIZATIONS", classes="pane-title")
                yield organizations
            with Vertical(id="right"):
                yield ChangingText("SPACES", classes="pane-title", id="spaces-title")
                yield spaces
                with Vertical(id="waiting"):
                    yield Static("OPEN CHANGE REQUESTS", classes="pane-title")
                    yield changes

    @property
    def organizations(self) -> Rows[OrganizationSummary]:
        return self.query_one("#organizations", Rows)

    @property
    def spaces(self) -> Rows[Space]:
        return self.query_one("#spaces", Rows)

    @property
    def things_at_hand(self) -> Sequence[Model]:
        summary = self.organizations.item
        inner = self.spaces.item if self.spaces.has_focus else self.changes.item if self.changes.has_focus else None
        return [each for each in (inner, summary.organization if summary is not None else None) if each is not None]

    @property
    def changes(self) -> Rows[ChangeRequest]:
        return self.query_one("#changes", Rows)

    def on_resize(self, event: Resize) -> None:
        self.set_class(event.size.height < _LOW, "-low")

    def on_mount(self) -> None:
        self.organizations.state.wait_for("your organizations")
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._frame_changed())
        self._show_organizations()
        self.organizations.focus()

    def _frame_changed(self) -> None:
        self._show_organizations()
        self.organizations.redraw()

    def _show_organizations(self) -> None:
        snapshot = self.shell.workspace.organizations
        known = snapshot.value.items if snapshot.value else ()
        if [summary.organization for summary in self._summaries.values()] != list(known):
            for left in self._summaries.keys() - {each.id for each in known}:
                self.follow(f"spaces {left}", None)
                self.follow(f"member {left}", None)
            self._summaries = {
                each.id: replace(self._summaries.get(each.id, OrganizationSummary(each)), organization=each)
                for each in known
            }
            for organization in known[:MOST_SEATS]:
                spaces = spaces_of(organization.id)
                self.follow(f"spaces {organization.id}", spaces, partial(self._show_spaces, organization.id))
            self._draw()
            if self.shell.workspace.organization is not None:
                self.organizations.go_to(self.shell.workspace.organization.id)
        elif snapshot.value is not None and not known:
            self._draw()
        elif not known:
            self._draw_spaces()
        if self.shell.workspace.me is not None:
            for organization in known[:MOST_SEATS]:
                at = OrganizationRef(organization_id=organization.id)
                member = GetMember(at=at, user_id=self.shell.workspace.me.id)
                self.follow(f"member {organization.id}", member, partial(self._show_member, organization.id))
        if snapshot.error is not None:
            self.organizations.state.fail("Organizations did not load", str(snapshot.error))

    def _show_spaces(self, organization: str, snapshot: Snapshot[ListPage[Space]]) -> None:
        summary = self._summaries[organization]
        page = snapshot.value if snapshot.value is not None else summary.page
        trouble = str(snapshot.error) if snapshot.error is not None else ""
        self._summaries[organization] = replace(summary, page=page, trouble=trouble)
        self._draw()

    def _show_changes(self, snapshot: Snapshot[ListPage[ChangeRequest]]) -> None:
        if snapshot.value is not None:
            self.changes.show_page(snapshot.value, snapshot.value.items)
        if snapshot.error is not None:
            self.changes.state.fail("Change requests did not load", str(snapshot.error))

    def _show_member(self, organization: str, snapshot: Snapshot[Member]) -> None:
        if snapshot.value is not None:
            self._summaries[organization] = replace(self._summaries[organization], role=snapshot.value.role, known=True)
            self._draw()

    def _draw(self) -> None:
        page = self.shell.workspace.organizations.value
        self.organizations.show_page(page or ListPage(items=()), list(self._summaries.values()))
        if (error := self.shell.workspace.organizations.error) is not None:
            self.organizations.state.fail("Organizations did not load", str(error))
        self._draw_spaces()

    def _draw_spaces(self) -> None:
        summary = self.organizations.item
        if summary is None:
            self.follow("changes", None)
            for rows, what in ((self.spaces, "spaces"), (self.changes, "change requests")):
                self.show_nowhere(rows, what)
            return
        self.query_one("#spaces-title", Static).update(Content(f"SPACES OF {summary.organization.title.upper()}"))
        if summary.page is not None:
            self.spaces.state.empty, self.spaces.state.hint = (
                "There is no space here that you may see.",
                "2 content   s search",
            )
            self.spaces.show_page(summary.page, summary.page.items)
        elif not summary.trouble:
            self.spaces.state.wait_for(f"the spaces of {summary.organization.title}")
        if summary.trouble:
            self.spaces.state.fail(
                f"Spaces {'did not load' if summary.spaces is None else 'could not be refreshed'}", summary.trouble
            )
        still_open = change_requests_of(summary.organization.id, "open")
        if self.subscriptions.op("changes") != still_open:
            self.changes.show(())
            self.changes.state.wait_for("change requests")
            self.follow("changes", still_open, self._show_changes)
        self.status(f"Home · {summary.organization.title}", self.organizations.extent.said_of("organization"))

    def _draw_summary(self, summary: OrganizationSummary) -> Row:
        here = (
            self.shell.workspace.organization is not None
            and self.shell.workspace.organization.id == summary.organization.id
        )
        return Row(
            text=Content(summary.organization.title).stylize("bold"),
            right=Content.styled("here", "$success") if here else "",
            below=summary.facts(self.shell.workspace.counts["comments"] if here else summary.comments),
            sign=Content.styled("◆", "$primary"),
        )

    def _draw_space(self, space: Space) -> Row:
        may = space.permissions
        verb = (
            "merge"
            if may.merge
            else "review"
            if may.review
            else "edit"
            if may.edit
            else "comment"
            if may.comment
            else "read"
        )
        title = f"{emoji(space.emoji)} {space.title}" if space.emoji else space.title
        return Row(
            cells=(
                title,
                Content.styled(verb, "$octavo-muted"),
                str(space.change_requests_open or ""),
                Content.styled(f"● {space.comments}", "$octavo-note") if space.comments else "",
                Content.styled(short_age(space.updated_at), "$octavo-muted"),
            )
        )

    def _draw_change(self, each: ChangeRequest) -> Row:
        space = self._space_of(each)
        author = each.created_by.name if each.created_by else ""
        below = Content(" · ".join(fact for fact in (space.title if space else "", author) if fact))
        if threads := self.shell.workspace.open_threads(each):
            below += Content.styled(f"  ● {threads}", "$octavo-note")
        return Row(
            text=Content.assemble((f"#{each.number}  ", "$octavo-muted"), (each.title, "bold")),
            right=Content.styled(short_age(each.updated_at), "$octavo-muted"),
            below=below,
            sign=Content.styled("◐", "$primary"),
        )

    def _space_of(self, change_request: ChangeRequest) -> Space | None:
        summary = self.organizations.item
        spaces = summary.spaces or () if summary is not None else ()
        return next((space for space in spaces if space.id == change_request.space), None)

    @on(Lines.Highlighted, "#organizations")
    def _other_organization(self) -> None:
        self._draw_spaces()

    @on(Lines.Chosen, "#organizations")
    def _choose(self) -> None:
        if (summary := self.organizations.item) is not None:
            self.shell.workspace.choose(summary.organization)
            self._draw()
            self.spaces.focus()

    @on(Lines.MoreWanted)
    def _more(self, message: Lines.MoreWanted) -> None:
        summary = self.organizations.item
        slots = {"spaces": f"spaces {summary.organization.id}" if summary is not None else "", "changes": "changes"}
        op = self.subscriptions.op(slots.get(message.lines.id or "", "")) or ListOrganizations()
        self.shell.background(self.live.more(op))  # type: ignore[arg-type]  # each of them is a listing

    @on(Lines.Chosen, "#spaces")
    def _open_space(self) -> None:
        summary, space = self.organizations.item, self.spaces.item
        if summary is not None and space is not None:
            self.shell.workspace.choose(summary.organization)
            self.shell.go(ToPage(space.id))

    @on(Lines.Chosen, "#changes")
    def _open_change_request(self) -> None:
        summary, change_request = self.organizations.item, self.changes.item
        if summary is None or change_request is None:
            return
        if change_request.space is None:
            self.shell.explain(why_without_space(change_request))
        else:
            self.shell.workspace.choose(summary.organization)
            self.shell.go(ToChangeRequest(change_request.ref(SpaceRef(space_id=change_request.space)), change_request))

    def go_to_list(self, step: int) -> None:
        """Go to one of the lists after the one with the keys."""
        lists = list(self.query(Rows))
        at = next((index for index, rows in enumerate(lists) if rows.has_focus), -step)
        lists[(at + step) % len(lists)].focus()


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}" if number else ""
