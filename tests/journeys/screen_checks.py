"""Checks that no statement on the screen contradicts the responses of a random server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from octavo.api import comments
from octavo.api.operation import ListPage, Operation
from octavo.api.organizations import List as ListOrganizations
from octavo.api.safety import safe_line
from octavo.api.wire import encode
from octavo.tui.comments.comments_screen import CommentsScreen
from octavo.tui.content.links import FilesScreen
from octavo.tui.content.search import SearchScreen
from octavo.tui.core.view import StatusBar, View
from octavo.tui.inbox.inbox_screen import InboxScreen
from octavo.tui.review.request_list import RequestListScreen
from octavo.tui.terminal.textual_internals import painted_rows
from octavo.tui.widgets.bars import ListTabs
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import RowList
from tests.journeys.random_server import RandomServer, ServerResponse
from tests.journeys.stage import CONNECTED, Run

LISTS = {
    ("RequestListScreen", "#change-requests"): ("open", "draft", "merged", "archived"),
    ("CommentsScreen", "#list"): ("open change requests", "draft change requests"),
    ("ContentScreen", "#pages"): ("tree",),
    ("FilesScreen", "#files"): ("files",),
    ("LinksScreen", "#links"): ("links",),
}
"""Operations of each list, by view and selector. A list must not claim to be empty while none of its operations has
succeeded."""


def find_contradictions(run: Run, server: RandomServer) -> Iterator[str]:
    """Yield a sentence for each contradiction. Call this function only while the app is idle."""
    screen = run.app.screen
    if isinstance(screen, SearchScreen):
        yield from _search_contradictions(run, screen)
    if not isinstance(screen, View) or screen.size.width < 60 or screen.size.height < 20:
        return
    lost = failed(server, ListOrganizations())
    if lost and CONNECTED.search(run.lines[0]):
        yield "live, although the organizations did not load"
    for (view, selector), slots in LISTS.items():
        if type(screen).__name__ != view:
            continue
        for surface in screen.query(selector).results(LineList):
            if not surface.is_on_screen or surface.keys or surface.query_text:
                continue
            ops = [op for slot in slots if (op := screen.subscriptions.operation(slot)) is not None]
            if (lost or (ops and all(failed(server, op) for op in ops))) and surface.state.empty in text_of_list(
                run, surface
            ):
                yield f"{view} {selector}: {surface.state.empty}"
    if isinstance(screen, CommentsScreen):
        yield from _thread_contradictions(run, screen)
    if isinstance(screen, InboxScreen):
        yield from _inbox_contradictions(run, screen, lost)
    for rows, op in _complete_lists(screen):
        if rows.is_on_screen and rows.region.height > 3 and not rows.query_text:
            yield from (
                f"{type(screen).__name__} #{rows.id}: {each}" for each in _list_contradictions(run, server, rows, op)
            )


def _complete_lists(screen: View) -> Iterator[tuple[RowList[Any], Operation[Any]]]:
    """Yield each list of the view that shows the complete response of one operation, with the operation."""
    lists: list[tuple[RowList[Any], Operation[Any] | None]] = []
    match screen:
        case RequestListScreen() if not (screen.active_filters.filters or screen.only_mine):
            lists = [(screen.rows, screen.subscriptions.operation(screen.tabs.current))]
        case FilesScreen():
            lists = [(screen.rows, screen.subscriptions.operation("files"))]
        case _:
            pass
    yield from ((rows, op) for rows, op in lists if op is not None)


def _list_contradictions(run: Run, server: RandomServer, rows: RowList[Any], op: Operation[Any]) -> Iterator[str]:
    answers = _answers(server, op)
    snapshot = run.app.session.live.peek(op)
    if not answers or snapshot.is_loading or run.app.workspace.organization is None:
        return
    # Read the whole list and not the screen, because a notification may cover part of the screen.
    text = " ".join(each.plain.strip() for each in (rows.footer if rows.keys else rows.state.lines()))
    value = snapshot.value
    # Only the last response that arrived counts. Responses to canceled requests do not count.
    if snapshot.error is not None and "✗" not in text:
        yield "its last answer was a failure, and it does not say so"
    if snapshot.error is not None or not isinstance(value, ListPage):
        return
    there = [each.value["items"] for each in answers if not _has_failed(each)]
    if not rows.keys and rows.state.empty in text and not value.unreadable and all(there):
        yield f"says “{rows.state.empty}”, and every answer had some"
    if len(rows.keys) != len(value.items):
        yield f"has {len(rows.keys)} rows of {len(value.items)}"
    if snapshot.page_count == 1 and not any(len(value.items) + value.unreadable >= len(_ids(items)) for items in there):
        yield f"has {len(value.items)} and leaves out {value.unreadable} of {[len(each) for each in there]}"
    facts = "".join(bar.summary for bar in run.app.screen.query(StatusBar))
    if value.next is not None and "load more" not in text and "more on the server" not in facts:
        yield "says of nothing that there is more"
    yield from _title_contradictions(run, server, rows, op)


def _title_contradictions(run: Run, server: RandomServer, rows: RowList[Any], op: Operation[Any]) -> Iterator[str]:
    """Yield a sentence for each visible row whose title differs from the sanitized title of the server."""
    start = encode(op).url
    server_items = [
        each
        for url, answers in server.answers.items()
        if url == start or (url.startswith(start) and "page=" in url)
        for answer in answers
        if not _has_failed(answer)
        for each in answer.value["items"]
        if isinstance(each, dict)
    ]
    for index in rows.visible_indexes:
        item = rows.items[index]
        name = "name" if rows.id == "files" else "title"
        server_titles = {
            safe_line(title)
            for each in server_items
            if each.get("id") == item.id and isinstance(title := each.get(name), str)
        }
        shown_title = getattr(item, name)
        if shown_title and server_titles and shown_title not in server_titles:
            yield f"calls {shown_title!r} what the server calls {server_titles}"
        row = rows._draw(rows.items[index])
        if shown_title not in "".join(str(each) for each in (row.text, *row.cells)):
            yield f"does not show the title {shown_title!r}"


def _search_contradictions(run: Run, screen: SearchScreen) -> Iterator[str]:
    for slot in ("pages", "pages of a space"):
        op = screen.subscriptions.operation(slot)
        value = run.app.session.live.peek(op).value if op is not None else None
        if value is None or screen._requested_text != screen.search_text:
            continue
        found = [page for each in value.items for page in getattr(each, "pages", (each,))]
        if found and not screen.rows.keys:
            yield f"search shows nothing of {len(found)} pages"
        if (value.unreadable or value.next) and f"No results for “{screen.search_text[:60]}”." in run.text:
            yield "search says that nothing was found, and parts of the answer are left out"


def _thread_contradictions(run: Run, screen: CommentsScreen) -> Iterator[str]:
    live, held = run.app.session.live, run.app.session.outbox.entries
    answers = [live.peek(op) for op in screen.subscriptions.operations() if isinstance(op, comments.List)]
    if held or not answers or any(each.is_loading for each in answers):
        return
    threads = [each for answer in answers if answer.value is not None for each in answer.value.items]
    counted = {each.key: each.count for each in screen.query_one(ListTabs).tabs}
    expected = {"open": sum(each.is_open_thread for each in threads), "all": len(threads)}
    expected["resolved"] = sum(not each.is_open for each in threads)
    wrong = {key: (counted[key], number) for key, number in expected.items() if counted[key] != number}
    if wrong:
        yield f"comments are counted {wrong}"
    if (
        screen.threads.source_count > len(answers)
        and not screen.rows.keys
        and "are loaded." not in screen.rows.state.empty
    ):
        yield f"says {screen.rows.state.empty!r} of {len(answers)} of {screen.threads.source_count} places"


def _inbox_contradictions(run: Run, screen: InboxScreen, lost: bool) -> Iterator[str]:
    snapshot = screen.snapshot
    if "Nothing needs your attention." not in run.text or screen.rows.query_text:
        return
    if lost or snapshot.failed or snapshot.unknown.summary or snapshot.is_loading:
        yield f"says that nothing needs one, and does not know {snapshot.unknown.summary} {snapshot.failed}"
    if screen.marked_rows.active:
        yield f"says that nothing needs one, and {len(screen.marked_rows.active)} things do"


def _answers(server: RandomServer, op: Operation[Any]) -> list[ServerResponse]:
    return server.answers.get(encode(op).url, [])


def _has_failed(answer: ServerResponse) -> bool:
    value = answer.value
    return answer.status >= 400 or not isinstance(value, dict) or not isinstance(value.get("items"), list)


def _ids(items: list[Any]) -> set[str]:
    return {each["id"] for each in items if isinstance(each, dict) and isinstance(each.get("id"), str)}


def failed(server: RandomServer, op: Operation[Any]) -> bool:
    """Return whether the server only ever sent invalid responses to an operation. False if the operation was never
    requested."""
    answers = _answers(server, op)
    return bool(answers) and all(each.status >= 400 or not isinstance(each.value, dict) for each in answers)


def text_of_list(run: Run, surface: LineList) -> str:
    """Return the visible text of a list."""
    strips = painted_rows(run.app.screen)
    x, y, width, height = surface.region
    return "\n".join(strip.crop(x, x + width).text for strip in strips[y : y + height])
