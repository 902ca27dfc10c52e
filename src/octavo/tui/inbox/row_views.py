"""The inbox rows with their tabs, sort orders, headings and filters, the preview of a row, and the empty inbox."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget

from octavo.api import comments
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.folding import fold
from octavo.api.operation import ChangeRequestRef
from octavo.data.inbox import HEADINGS, DraftRef, InboxRow, ThreadRef, WriteRef
from octavo.data.inbox_marks import Mark, MarkedRows
from octavo.data.live import Snapshot
from octavo.local_time import localize
from octavo.settings.file import MAX_NAME_LENGTH
from octavo.settings.table import INBOX_REASONS, InboxReason
from octavo.tui.comments.thread_view import ThreadView
from octavo.tui.core.shell import shell_of, stop_subscriptions, subscriptions_of
from octavo.tui.inbox.row_commands import snooze_end_label
from octavo.tui.review.request_preview import RequestPreview
from octavo.tui.review.request_status import RequestStatus
from octavo.tui.widgets.row_list import ItemFilter, Row, RowHeading
from octavo.tui.widgets.short_texts import fit, long_age, plural, safe, short_age, spread
from octavo.tui.widgets.text_widgets import ChangingText

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
REASON_TABS: Mapping[str, tuple[str, tuple[InboxReason, ...]]] = MappingProxyType(
    {
        "review": ("Review", ("review requested", "changed since review")),
        "mine": ("My changes", ("approved", "changes requested", "outdated")),
        "threads": ("Threads", ("new replies", "on my change requests", "mentioned")),
        "unsent": ("Unsent", ("not sent", "unsent draft")),
    }
)
"""Title and reasons of each tab that filters by reason, by tab key."""
SHORT_REASONS: Mapping[InboxReason, str] = MappingProxyType(
    {
        "not sent": "not sent",
        "review requested": "review",
        "changed since review": "changed",
        "approved": "approved",
        "changes requested": "changes requested",
        "outdated": "outdated",
        "new replies": "replies",
        "on my change requests": "comment",
        "mentioned": "mention",
        "unsent draft": "unsent",
    }
)
REASON_SIGNS: Mapping[InboxReason, tuple[str, str]] = MappingProxyType(
    {
        "not sent": ("!", "$error"),
        "review requested": ("◐", "$primary"),
        "changed since review": ("◐", "$warning"),
        "approved": ("✓", "$success"),
        "changes requested": ("✗", "$error"),
        "outdated": ("○", "$warning"),
        "new replies": ("↳", "$octavo-note"),
        "on my change requests": ("●", "$octavo-note"),
        "mentioned": ("@", "$octavo-note"),
        "unsent draft": ("◌", "$octavo-muted"),
    }
)
ORDERS: Mapping[str, str] = MappingProxyType({"reason": "by reason", "space": "by space", "newest": "newest first"})


@dataclass(frozen=True)
class RowFilter(ItemFilter[InboxRow]):
    """Filter of inbox rows by reason, kind, read state or space."""

    value: str = ""
    """Reason or space ID that rows must have. Empty for a filter by kind or read state."""


def rows_of_tab(tab: str, rows: MarkedRows) -> Sequence[InboxRow]:
    """Return the rows of the built-in tab with the key `tab`, in the same order as in `rows`."""
    if tab == "snoozed":
        return [row for row, _ in rows.snoozed]
    if tab == "done":
        return rows.done
    if tab not in REASON_TABS:
        return rows.active
    return [row for row in rows.active if row.reason in REASON_TABS[tab][1]]


def sort_rows(rows: Iterable[InboxRow], order: str, space_title: Callable[[str], str]) -> list[InboxRow]:
    """Return the rows sorted by `order`, a key of `ORDERS` (`reason`: unchanged). `space_title` gets a space ID."""
    if order == "space":
        titles = {each: space_title(each) for each in {row.space_id for row in rows}}
        return sorted(rows, key=lambda row: (not row.space_id, fold(titles[row.space_id]), row.space_id))
    if order == "newest":
        return sorted(rows, key=lambda row: row.moment or _LONG_AGO, reverse=True)
    return list(rows)


def row_headings(rows: Iterable[InboxRow], order: str, space_title: Callable[[str], str]) -> dict[str, RowHeading]:
    """Return the headings of groups by reason, or by space ID if `order` is `space`. Empty if `order` is `newest`."""
    if order == "newest":
        return {}
    if order == "space":
        counts = Counter(row.space_id for row in rows)
        names = {each: space_title(each).upper() or "NO SPACE" for each in counts}
    else:
        counts = Counter(row.reason for row in rows)
        names = {each: heading.upper() for each, heading in HEADINGS.items()}
    return {each: RowHeading(names[each], str(number), each) for each, number in counts.items()}


def reason_filter(reason: InboxReason) -> RowFilter:
    """Return the filter for rows that have `reason` as one of their reasons."""
    return RowFilter("Reason", HEADINGS[reason].lower(), lambda row: reason in (row.reason, *row.other_reasons), reason)


def space_filter(space_id: str, title: str) -> RowFilter:
    return RowFilter("Space", f"in {title}", lambda row: row.space_id == space_id, space_id)


def all_filters(
    rows: Sequence[InboxRow], is_unread: Callable[[InboxRow], bool], space_title: Callable[[str], str]
) -> list[RowFilter]:
    """Return filters by reason, kind and `is_unread`, and for each space in `rows`. `space_title` gets a space ID."""
    filters = [reason_filter(reason) for reason in INBOX_REASONS]
    filters += [
        RowFilter("Kind", "change requests", lambda row: isinstance(row.target, ChangeRequestRef)),
        RowFilter("Kind", "threads", lambda row: isinstance(row.target, ThreadRef)),
        RowFilter("Read", "unread", is_unread),
    ]
    spaces = {row.space_id: space_title(row.space_id) for row in rows if row.space_id}
    filters += [space_filter(each, title) for each, title in sorted(spaces.items(), key=lambda pair: fold(pair[1]))]
    return filters


def tab_settings(
    filters: Sequence[RowFilter], query: str, reasons: Sequence[InboxReason], taken_names: Collection[str]
) -> tuple[str, list[str]]:
    """Return the TOML of a tab with these filters, and the names of the filters that a tab cannot save. `reasons` are
    used if no filter is by reason. The new tab gets a name that is not in `taken_names`. Empty TOML if nothing can be
    saved."""
    filters_by_kind = {row_filter.kind: row_filter for row_filter in filters}
    reason_names = [filters_by_kind["Reason"].value] if "Reason" in filters_by_kind else list(reasons)
    space = filters_by_kind["Space"].value if "Space" in filters_by_kind else ""
    unsupported = [row_filter.name for row_filter in filters if row_filter.kind not in ("Reason", "Space")]
    lines = [
        f"reasons = [{', '.join(map(_quote_toml, reason_names))}]" if reason_names else "",
        f"space = {_quote_toml(space)}" if space else "",
        f"words = {_quote_toml(query)}" if query else "",
    ]
    if not any(lines):
        return "", unsupported
    name_parts = [*(row_filter.name for row_filter in filters if row_filter.name not in unsupported), query]
    name = _free_name(" ".join(filter(None, name_parts)) or " or ".join(reason_names), taken_names)
    return "\n".join([f"[inbox.{_quote_toml(name)}]", *filter(None, lines)]) + "\n", unsupported


def _free_name(name: str, taken_names: Collection[str]) -> str:
    printable = " ".join("".join(each if each.isprintable() else " " for each in name).split())
    candidate, number = printable[:MAX_NAME_LENGTH].strip(), 2
    while candidate in taken_names:
        candidate = f"{printable[: MAX_NAME_LENGTH - len(str(number)) - 1].strip()} {number}"
        number += 1
    return candidate


def _quote_toml(text: str) -> str:
    """Return `text` as a TOML string. The delete character is escaped here, because JSON does not escape it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


_CELLS_BESIDE_REASON = 11
"""Number of cells that a row needs besides its title and its reason: for the sign, the age and the gaps."""


class RowRenderer:
    """Draws the rows of the inbox. The screen sets the attributes before it draws the list."""

    def __init__(self, count_open_threads: Callable[[InboxRow], int]) -> None:
        """`count_open_threads` returns the number of open threads in the change request of a row, or 0."""
        self._open_threads = count_open_threads
        self.order = "reason"
        self.headings: Mapping[str, RowHeading] = {}
        """Headings of the list by reason, or by space ID if `order` is `space`."""
        self.unread_keys: frozenset[str] = frozenset()
        self.snooze_labels: Mapping[str, str] = {}
        """Texts such as `until 14:30` for snoozed rows, by row key."""

    def headings_of(self, row: InboxRow) -> Sequence[RowHeading]:
        """Return a list with the heading of a row. Empty if the row has none."""
        heading = self.headings.get(row.space_id if self.order == "space" else row.reason)
        return [heading] if heading is not None else []

    def render(self, row: InboxRow, width: int) -> Row:
        """Return the list row that shows `row` in `width` cells."""
        reason = row.reason_text.partition(" · ")[0]
        is_change_request = isinstance(row.target, ChangeRequestRef)
        max_width = width - cell_len(row.title) - _CELLS_BESIDE_REASON if is_change_request else width * 2 // 5
        if cell_len(reason) > max(16, max_width):
            reason = SHORT_REASONS[row.reason]
        age = self.snooze_labels.get(row.key) or short_age(row.moment)
        threads = self._open_threads(row)
        other_reasons = (
            f"also {', '.join(SHORT_REASONS[each] for each in row.other_reasons)}" if row.other_reasons else ""
        )
        return Row(
            text=Content.styled(row.title, "bold") if row.key in self.unread_keys else row.title,
            right=Content.styled(f"{reason} {age:>4}", "$octavo-muted"),
            second_line=" · ".join(filter(None, (row.context, plural(threads, "open thread") if threads else ""))),
            second_right=other_reasons,
            sign=Content.styled(*REASON_SIGNS[row.reason]),
        )


_REASON_PADDING = 2
"""Padding in cells on each side of the reasons."""


class TextPane(VerticalScroll, can_focus=False):
    """Pane that shows an unsent draft or failed change with its keys, or says that there is no preview."""

    def compose(self) -> ComposeResult:
        yield ChangingText()

    def show(self, text: Content) -> None:
        self.query_one(ChangingText).update(text)


class RowPreview(Vertical):
    """Preview of an inbox row. It shows one of three panes: a change request, a thread, or a text."""

    shell = cached_property(shell_of)
    subscriptions = cached_property(subscriptions_of)
    on_unmount = stop_subscriptions

    DEFAULT_CSS: ClassVar[str] = """
    RowPreview {
        width: 1fr; background: $background;
        & > #why { height: auto; padding: 0 2 1 2; }
        & > RequestPreview, & > ThreadView, & > TextPane { display: none; width: 100%; height: 1fr; }
        & > ThreadView { padding: 0 1; }
        & > TextPane { padding: 0 2; scrollbar-size-vertical: 1; }
        &.-request > RequestPreview, &.-thread > ThreadView, &.-words > TextPane { display: block; }
    }
    """

    def __init__(self, status_of: Callable[[ChangeRequest], RequestStatus], id: str | None = None) -> None:
        """`status_of` returns the status of a change request, as far as it is loaded."""
        super().__init__(id=id)
        self._row: InboxRow | None = None
        self.summary = RequestPreview(status_of, id="summary")
        self.thread, self.text_pane = ThreadView(), TextPane()

    def compose(self) -> ComposeResult:
        yield ChangingText(id="why")
        yield self.summary
        yield self.thread
        yield self.text_pane

    def show(self, row: InboxRow | None) -> None:
        """Show the change request or thread of `row` if loaded, else a text about `row`. None clears the preview."""
        feed = self.shell.workspace.inbox
        self._row = row
        request, comment = feed.change_request(row), feed.comment(row)
        if row is None:
            self._clear()
        elif request is not None and (space := request.space_ref) is not None:
            self._show_pane(row, "request")
            self.summary.show(request, space)
        elif comment is not None and isinstance(row.target, ThreadRef):
            self._show_pane(row, "thread")
            shown_comment = self.thread.comment
            # The preview may have loaded a newer version of the thread than the list.
            if shown_comment is None or shown_comment.id != comment.id:
                # A user who goes to a row far below passes many rows, whose replies are not needed.
                is_selected = self.subscriptions.operation("thread") == _thread_op(row)
                self.thread.show(row.target.at, comment, title=row.context, is_loading_delayed=not is_selected)
        else:
            self._show_text(row)

    def load_thread(self) -> None:
        """Load the newest version of the thread in the preview, and its replies."""
        self.subscriptions.follow("thread", _thread_op(self._row), self._show_thread)
        self.thread.load()

    def _show_thread(self, snapshot: Snapshot[Comment]) -> None:
        row, value = self._row, snapshot.value
        if (
            value is not None
            and row is not None
            and isinstance(row.target, ThreadRef)
            and row.target.comment_id == value.id
        ):
            self.thread.show(row.target.at, value, title=row.context)

    def _show_text(self, row: InboxRow) -> None:
        self._show_pane(row, "words")
        lines = [safe(row.title).stylize("bold"), Content.styled(row.context, "$octavo-muted"), Content("")]
        match row.target:
            case DraftRef(draft_key=draft_key):
                text = self.shell.session.drafts.get(draft_key)
                lines += [safe(text if text is not None else "This draft no longer exists."), Content("")]
                lines.append(_key_hints(("enter", "continue writing"), ("X", "discard the draft")))
            case WriteRef(entry_id=entry_id):
                entry = next((each for each in self.shell.session.outbox.entries if each.id == entry_id), None)
                if entry is not None:
                    lines += [safe(entry.reason or "This change may already have reached the server."), Content("")]
                    lines += [safe(entry.traits.text), Content("")] if entry.traits.text else []
                lines.append(
                    _key_hints(
                        ("!", "open the activity list to retry the change"),
                        ("X", "discard the change and keep the text as a draft"),
                    )
                )
            case _:
                lines.append(
                    Content.styled(
                        "No preview: the item is still loading or was deleted. Press r to refresh.", "$octavo-muted"
                    )
                )
        self.text_pane.show(Content("\n").join(lines))

    def _clear(self) -> None:
        self._switch_pane("")
        self.query_one("#why", ChangingText).update("")
        self.summary.clear()
        self.thread.clear()

    @property
    def visible_pane(self) -> Widget:
        """The pane of the preview that is visible. The preview itself if no pane is visible."""
        panes = (self.summary, self.thread, self.text_pane)
        return next((each for each in panes if each.display and self.display), self)

    def _show_pane(self, row: InboxRow, pane: str) -> None:
        self._switch_pane(pane)
        self.query_one("#why", ChangingText).update(reason_lines(row, self.size.width - 2 * _REASON_PADDING))

    def on_resize(self) -> None:
        if self._row is not None:
            self.query_one("#why", ChangingText).update(reason_lines(self._row, self.size.width - 2 * _REASON_PADDING))

    def _switch_pane(self, pane: str) -> None:
        for each in ("request", "thread", "words"):
            self.set_class(each == pane, f"-{each}")
        if pane != "thread":
            self.thread.clear()


def _thread_op(row: InboxRow | None) -> comments.Get | None:
    """Return the operation that loads the thread of a row. None if the row has no thread."""
    if row is None or not isinstance(row.target, ThreadRef):
        return None
    return comments.Get(at=row.target.at, comment_id=row.target.comment_id, format="markdown")


def reason_lines(row: InboxRow, width: int) -> Content:
    """Return a line for each reason why a row is in the inbox, cut to `max(width, 12)` cells. The first has the age."""
    sign, style = REASON_SIGNS[row.reason]
    reason, *others = (safe(each) for each in row.reason_text.split(" · "))
    age = Content.styled(f" · {long_age(row.moment)}" if row.moment is not None else "", "$octavo-muted")
    sign_text, width = Content.styled(f"{sign} ", style), max(width, 12)
    line = sign_text + reason.truncate(max(1, width - sign_text.cell_length - age.cell_length), ellipsis=True) + age
    return Content("\n").join([line, *((Content("  ") + other).truncate(width, ellipsis=True) for other in others)])


def _key_hints(*keys: tuple[str, str]) -> Content:
    spans = [span for key, label in keys for span in ((key, "$primary"), (f" {label}   ", "$octavo-muted"))]
    return Content.assemble(*spans)


MAX_ITEMS = 12
"""Maximum number of done items, and of snoozed items, that are listed."""
_MAX_WIDTH = 76


def count_summary(done: Sequence[Mark], snoozed: Sequence[tuple[InboxRow, datetime | None]]) -> str:
    """Return a text such as `9 done today, 2 snoozed.` Empty if nothing is done or snoozed."""
    parts = [f"{len(done)} done today" if done else "", f"{len(snoozed)} snoozed" if snoozed else ""]
    return f"{', '.join(filter(None, parts))}." if any(parts) else ""


def summary_lines(
    done: Sequence[Mark],
    snoozed: Sequence[tuple[InboxRow, datetime | None]],
    counts: dict[str, int],
    now: datetime,
    width: int,
) -> list[Content]:
    """Return the centered lines of an empty inbox: done and snoozed items, and keys of other views with `counts`."""
    content_width = max(20, min(width - 4, _MAX_WIDTH))
    indent = " " * max(2, (width - content_width) // 2)
    lines: list[Content] = [
        Content(""),
        Content.assemble(("✓ ", "$success"), ("Nothing needs your attention.", "bold")),
    ]
    if summary := count_summary(done, snoozed):
        lines.append(Content.styled(summary, "$octavo-muted"))
    if done:
        lines += [Content(""), Content.styled("DONE TODAY", "bold $octavo-muted")]
        for mark in done[:MAX_ITEMS]:
            text = Content.assemble(("✓ ", "$success"), safe(mark.title))
            lines.append(
                spread(text, Content.styled(f"{localize(mark.marked_at):%H:%M}", "$octavo-muted"), content_width)
            )
        lines += _more_lines(len(done))
    if snoozed:
        lines += [Content(""), Content.styled("SNOOZED", "bold $octavo-muted")]
        for row, until in snoozed[:MAX_ITEMS]:
            end_label = f"until {snooze_end_label(until, now)}"
            text = Content.assemble(("○ ", "$octavo-muted"), safe(row.title))
            lines.append(spread(text, Content.styled(end_label, "$octavo-muted"), content_width))
        lines += _more_lines(len(snoozed))
    keys = [
        ("3", f"change requests ({counts.get('changes', 0)})"),
        ("4", f"open threads ({counts['comments']})" if "comments" in counts else "open threads"),
        ("2", "pages"),
        ("s", "search"),
    ]
    lines += [Content(""), *_key_hints(*keys).wrap(content_width)]
    return [Content(indent) + fit(line, content_width) if line.cell_length else line for line in lines]


def _more_lines(total: int) -> list[Content]:
    return [Content.styled(f"  and {total - MAX_ITEMS} more", "$octavo-muted")] if total > MAX_ITEMS else []
