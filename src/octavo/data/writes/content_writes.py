"""Edits the content of a change request, and saves pages that the user has edited. An edit is sent only if the revision
that the user saw is still the head. It is never queued, and sent at most once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from octavo.api import change_requests, content
from octavo.api.content import ContentEdit, Page, RevertPage, Revision
from octavo.api.errors import ApiError, Invalid, NotFound
from octavo.api.operation import ChangeRequestRef, ContentRef, RevisionRef
from octavo.api.text import Raw
from octavo.data.access import Send
from octavo.data.live import Live
from octavo.data.queries import UNDECIDED
from octavo.data.writes.direct import SendResult, send_direct
from octavo.data.writes.machine import ExpectedState, NewWrite
from octavo.lazy_import import lazy

_merge = lazy("octavo.documents.merging.page_merge:merge")

_MAX_ATTEMPTS = 3
"""Maximum number of attempts to save an edit. Octavo tries again if another user has saved in the meantime."""
MAYBE_OVERWRITTEN = "Someone else saved at the same time, and this edit may have replaced their text. Check the diff."
MAX_CHANGES_PER_EDIT = 50
"""Maximum number of changes that the server accepts in one edit."""
NO_CONTENT_EDITS = "This server does not support editing content. Edit pages in the browser."
EDITABLE_FIELDS = ("title", "slug", "emoji", "icon", "description", "hidden", "no_index", "no_robots_index")
REQUIRED_FIELDS = frozenset({"title", "slug", "hidden", "no_index", "no_robots_index"})


async def page_source(live: Live, at: ContentRef, page_id: str) -> Raw | None:
    """Return the Markdown of a page, to edit it and send it back. The Markdown is not sanitized, so never show it. None
    if the page does not exist or has no Markdown. Raises ApiError."""
    try:
        # The cached text for this URL is sanitized, so the cache is not used.
        page = await live.send(content.GetRawPage(at=at, page_id=page_id, format="markdown"))
    except NotFound:
        return None
    return page.markdown


async def edit(
    live: Live,
    at: ChangeRequestRef,
    expected_revision: str | None,
    changes: Sequence[ContentEdit],
    later_writes: Sequence[NewWrite] = (),
) -> SendResult[None]:
    """Send up to 50 `changes` in one edit, of which the server makes all or none. If the head is not
    `expected_revision`, nothing is sent and the result is `changed`. With None, any head is accepted.
    Error messages have no prefix such as “Could not save:”. After the edit, `later_writes` are added to the outbox."""
    op = content.Edit(at=at, changes=tuple(changes), compat=False)
    if_not_found, expected = "the server does not show the edit", ExpectedState(revision=expected_revision)
    sent: SendResult[Any] = await send_direct(
        live, op, expected, failure_prefix="", if_not_found=if_not_found, later_writes=later_writes
    )
    if sent.kind == "done":
        # If a search found the edit, the head may be newer. Use the found revision, so that a later edit is refused.
        found_revision = sent.result if isinstance(sent.result, Revision) else None
        head = found_revision.id if found_revision is not None else _head_in(sent.result)
        head, replaced_revision = await _find_replaced(live.send, at, expected_revision, head, found_revision)
        remark = "Saved. Someone else saved changes at the same time." if replaced_revision is not None else ""
        message = f"{remark} {sent.message}".strip()
        return SendResult("done", message, revision=head, later_ids=sent.later_ids, replaced_revision=replaced_revision)
    if isinstance(sent.write_error, NotFound) and await _all_pages_exist(live.send, op):
        live.availability.mark_unavailable(op, NO_CONTENT_EDITS)
        return SendResult("refused", NO_CONTENT_EDITS)
    return sent


async def _find_replaced(
    send: Send, at: ChangeRequestRef, expected_revision: str | None, head: str | None, created_revision: Revision | None
) -> tuple[str | None, str | None]:
    """Return the IDs of two revisions: the head after an edit, and the revision of another user that the edit
    overwrote. An ID is None if unknown. The second ID is also None if nothing was overwritten, or if
    `expected_revision` is None. If `head` or `created_revision` (the revision of the edit) is None, fetch it."""
    try:
        head = head or (await send(change_requests.Get(at=at))).revision
        if created_revision is None and head is not None:
            created_revision = await send(content.Get(at=at.revision_ref(head)))
    except ApiError:
        pass  # The edit is saved, even if these requests fail.
    parents = created_revision.parents if created_revision is not None else ()
    return head, parents[0] if expected_revision is not None and parents and parents[0] != expected_revision else None


@dataclass(frozen=True)
class WrittenText:
    """Text of a page before and after an edit."""

    before: Raw
    after: Raw


@dataclass(frozen=True)
class SavedTexts:
    """Result of `save_on_newest_head`. If another user saved the page at the same moment, both texts were merged."""

    revision: str | None
    """Head of the change request. None if the server does not send it."""
    texts: Mapping[str, WrittenText] = field(default_factory=dict)
    """Saved texts by page ID, except for pages in `conflicts`. `before` of a merged text is the other user's text."""
    conflicts: Mapping[str, Raw] = field(default_factory=dict)
    """The text of the other user by page ID, for pages whose texts could not be merged or saved. With a `warning`, the
    server may have the edited text instead."""
    warning: str = ""
    """Sentence that says that the edit may have replaced the text of another user. Empty otherwise."""


async def save_on_newest_head(
    live: Live,
    at: ChangeRequestRef,
    edited_texts: Callable[[RevisionRef], Awaitable[Mapping[str, WrittenText]]],
    later_writes: Sequence[NewWrite] = (),
) -> SendResult[SavedTexts]:
    """Save texts of pages. `edited_texts` is called with the head of the change request, returns the texts by page ID,
    and may raise ApiError. If the head changes meanwhile, try again, with at most 3 attempts. If another user saves at
    the same moment, merge both texts.

    If there are no texts to save, the result is `done`. After the edit, `later_writes` are added to the outbox.
    """
    for _ in range(_MAX_ATTEMPTS):
        try:
            request = await live.send(change_requests.Get(at=at))
            if request.status not in UNDECIDED:
                return SendResult("refused", f"the change request is now {request.status}.")
            if request.revision is None:
                return SendResult("refused", "the server did not return the current revision.")
            texts = await edited_texts(at.revision_ref(request.revision))
        except ApiError as error:
            return SendResult("refused", str(error), error=error)
        if not texts:
            return SendResult("done", result=SavedTexts(request.revision))
        changes = [
            content.UpdatePage(page=page, document=content.DocumentBody(markdown=text.after.text))
            for page, text in texts.items()
        ]
        sent = await edit(live, at, request.revision, changes, later_writes)
        if sent.kind == "done":
            try:
                saved_texts = await _merge_overwritten(live, at, sent, texts)
            except ApiError:  # the edit is saved, even if overwritten texts could not be merged
                saved_texts = SavedTexts(sent.revision, texts, warning=MAYBE_OVERWRITTEN)
            return SendResult("done", saved_texts.warning or sent.message, saved_texts, later_ids=sent.later_ids)
        if sent.kind != "changed":
            return SendResult(sent.kind, sent.message, error=sent.error)
    return SendResult("refused", "others keep changing the change request. Try again in a moment.")


async def _merge_overwritten(
    live: Live, at: ChangeRequestRef, sent_edit: SendResult[None], written_texts: Mapping[str, WrittenText]
) -> SavedTexts:
    """Return the saved texts. If `sent_edit` overwrote texts of another user, first save them merged with
    `written_texts`. `conflicts` has texts that cannot be merged. `warning`: a text may be lost. Raises ApiError."""
    if sent_edit.replaced_revision is None or sent_edit.revision is None:
        return SavedTexts(sent_edit.revision, written_texts)
    texts, conflicts, repairs = dict(written_texts), dict[str, Raw](), dict[str, WrittenText]()
    overwritten_revision = at.revision_ref(sent_edit.replaced_revision)
    for page_id, own_text in written_texts.items():
        other_text = await page_source(live, overwritten_revision, page_id)
        if other_text is None or other_text in (own_text.before, own_text.after):
            continue
        if (merged_text := await _with_changes(own_text, other_text)) is None:
            del texts[page_id]
        else:
            texts[page_id] = merged_text
        conflicts[page_id] = other_text
        repairs[page_id] = WrittenText(own_text.after, merged_text.after if merged_text is not None else other_text)
    if not repairs:
        return SavedTexts(sent_edit.revision, texts)

    async def repaired_texts(head: RevisionRef) -> Mapping[str, WrittenText]:
        # Another user may have saved the page after the edit. The repair keeps the text of this user.
        head_texts = {page_id: await page_source(live, head, page_id) for page_id in repairs}
        repaired = {
            page_id: await _with_changes(repairs[page_id], text) for page_id, text in head_texts.items() if text
        }
        return {page_id: text for page_id, text in repaired.items() if text is not None}

    saved_texts = (await save_on_newest_head(live, at, repaired_texts)).result or SavedTexts(None)
    for page_id, repair in repairs.items():
        if (saved := saved_texts.texts.get(page_id)) is None:
            texts.pop(page_id, None)
        elif page_id not in texts:
            conflicts[page_id] = saved.after
        else:
            without_edit = await _with_changes(WrittenText(repair.before, conflicts.pop(page_id)), saved.before)
            texts[page_id] = WrittenText(without_edit.after if without_edit is not None else saved.after, saved.after)
    conflicts |= saved_texts.conflicts
    if not saved_texts.warning and repairs.keys() <= saved_texts.texts.keys() | saved_texts.conflicts.keys():
        return SavedTexts(saved_texts.revision, texts, conflicts)
    return SavedTexts(sent_edit.revision, texts, conflicts, MAYBE_OVERWRITTEN)


async def _with_changes(change: WrittenText, text: Raw) -> WrittenText | None:
    """Return `text` as `before`, and `text` with the changes of `change` as `after`. None if the changes conflict."""
    merge_result = await asyncio.to_thread(_merge, change.before.text, text.text, change.after.text)
    return None if merge_result.named_conflicts else WrittenText(text, Raw(merge_result.text()))


async def _all_pages_exist(send: Send, op: content.Edit) -> bool:
    """Return whether all pages that `op` names exist, so that a 404 is not about a page. False if a request fails."""
    named_ids: set[str] = set()
    for change in op.changes:
        named_ids |= {getattr(change, "page", None) or "", getattr(change, "into", None) or ""} - {""}
    existing_ids: set[str] = set()
    try:
        # Pages that the change request has deleted still exist in its base.
        base = (await send(change_requests.Get(at=op.at))).base
        revisions = {getattr(change, "revision", None) or base for change in op.changes}
        versions: list[ContentRef] = [op.at, *(op.at.revision_ref(revision) for revision in revisions if revision)]
        for version in versions if named_ids else ():
            existing_ids |= {page.id for page in (await send(content.ListPages(at=version))).walk()}
    except ApiError:
        return False
    return named_ids <= existing_ids


def _head_in(response: Any) -> str | None:
    """Return the head revision in the response to an edit. None if there is none."""
    if not isinstance(response, dict):
        return None
    nested = response.get("changeRequest")
    head = nested.get("revision") if isinstance(nested, dict) else response.get("revision")
    return head if isinstance(head, str) else None


class _CannotRestore(Exception):
    """A page cannot be restored on a server without RevertPage. The message is the reason."""


async def restore_pages(
    live: Live, at: ChangeRequestRef, expected_revision: str | None, changes: Sequence[ContentEdit]
) -> SendResult[None]:
    """Send `changes` that restore pages from earlier revisions, if the head is `expected_revision` (see `edit`). If the
    server cannot revert pages and `expected_revision` is not None, send edits instead.

    Such edits do not restore a page's position among its siblings. For groups and links, they restore only the
    `EDITABLE_FIELDS`.
    """
    can_use_edits = expected_revision is not None and any(isinstance(change, RevertPage) for change in changes)
    if live.can_revert_pages or not can_use_edits:
        outcome = await edit(live, at, expected_revision, changes)
        if not can_use_edits or not isinstance(outcome.error, Invalid):
            return outcome
    assert expected_revision is not None
    try:
        edits = await asyncio.gather(
            *(_edit_instead_of_revert(live, at, expected_revision, change) for change in changes)
        )
    except ApiError as error:
        return SendResult("refused", str(error))
    except _CannotRestore as error:
        return SendResult("refused", f"{error}.")
    outcome = await edit(live, at, expected_revision, edits)
    if outcome.kind == "done":
        live.can_revert_pages = False
    return outcome


async def _edit_instead_of_revert(live: Live, at: ChangeRequestRef, head: str, change: ContentEdit) -> ContentEdit:
    """Return `change`, or for a RevertPage an edit of `head` with the same effect. Raises ApiError, _CannotRestore."""
    if not isinstance(change, RevertPage) or change.revision is None:
        return change
    earlier_revision = await live.cached_or_fetch(content.Get(at=at.revision_ref(change.revision)))
    head_revision = await live.cached_or_fetch(content.Get(at=at.revision_ref(head)))
    earlier_page, current_page = earlier_revision.find(change.page), head_revision.find(change.page)
    if earlier_page is None:
        return content.DeletePage(page=change.page)
    fields = _changed_fields(earlier_page, current_page)
    parent = next(
        (
            page.id
            for page in reversed(earlier_revision.path_to(earlier_page.id)[:-1])
            if head_revision.find(page.id) is not None
        ),
        None,
    )
    position = [page.id for page in earlier_revision.siblings(earlier_page.id)].index(earlier_page.id)
    if earlier_page.type != "document":
        if current_page is None:
            raise _CannotRestore(f"this server cannot restore {earlier_page.title}, which is not a page")
        return content.UpdatePage(page=earlier_page.id, **fields)
    text = await page_source(live, at.revision_ref(change.revision), earlier_page.id)
    if text is None:
        raise _CannotRestore("the earlier text is not available")
    document = content.DocumentBody(markdown=text.text)
    if current_page is None:
        if earlier_page.pages:
            raise _CannotRestore("this server cannot restore a page together with its subpages")
        return content.InsertPage(document=document, into=parent, at=position, **fields)
    if head_revision.parent_id(earlier_page.id) != earlier_revision.parent_id(earlier_page.id):
        fields |= {"into": parent, "at": position}
    return content.UpdatePage(page=earlier_page.id, document=document, **fields)


def _changed_fields(earlier: Page, current: Page | None) -> dict[str, Any]:
    """Return the editable fields of `earlier` that differ from `current`, or all fields if `current` is None. A field
    that is None in `earlier` is left out if the field is required, or if `current` is None."""
    fields: dict[str, Any] = {}
    for name in EDITABLE_FIELDS:
        value = getattr(earlier, name)
        differs = current is None or getattr(current, name) != value
        if differs and (value is not None or (current is not None and name not in REQUIRED_FIELDS)):
            fields[name] = value
    return fields


OWN_LABEL = "your text"
"""Label of the user's text in conflict markers."""
OTHERS_LABEL = "other people's text"


@dataclass(frozen=True)
class PageOutcome:
    """Result of `write_page`, with the text that the page now has."""

    kind: Literal["sent", "merged", "same", "conflict", "gone", "refused", "unknown"]
    """`sent`: saved. `merged`: saved together with edits of other users. `same`: nothing to save. `conflict`: another
    user edited the same text. `gone`: the page was deleted. `refused`: not saved. `unknown`: perhaps saved."""
    message: str = ""
    revision: str = ""
    """Head revision of the change request. Empty if the save failed, or if the revision is unknown."""
    text: Raw | None = None
    """Text of the page, with markers where it conflicts. None if the page was deleted or the save failed."""


async def write_page(live: Live, at: ChangeRequestRef, page_id: str, base: RevisionRef, own_text: Raw) -> PageOutcome:
    """Save `own_text`, the user's edit of a page of the revision `base`. Merge it with later edits by other users."""
    outcome, written_text = PageOutcome("refused"), WrittenText(own_text, own_text)

    async def merged_text(head: RevisionRef) -> Mapping[str, WrittenText]:
        nonlocal outcome, written_text
        current_source = await page_source(live, head, page_id)
        if current_source is None:
            outcome = PageOutcome("gone", "Could not save the page: it was deleted, or the server sent no text of it.")
        elif current_source == own_text:
            outcome = PageOutcome("same", "The page already has this text.", head.revision_id, own_text)
        else:
            base_source = await page_source(live, base, page_id)
            # If the base is missing, every difference counts as an edit by another user.
            before_text = base_source.text if base_source is not None else ""
            rebased_text = await _with_changes(WrittenText(Raw(before_text), own_text), current_source)
            if rebased_text is not None:
                written_text = rebased_text
                return {page_id: written_text}
            text = await asyncio.to_thread(merge_with_markers, before_text, current_source.text, own_text.text)
            outcome = PageOutcome("conflict", "", head.revision_id, Raw(text))
        return {}

    sent = await save_on_newest_head(live, at, merged_text)
    if sent.result is None:
        message = f"Could not save the page: {sent.message}"
        return PageOutcome("unknown" if sent.kind == "unknown" else "refused", message)
    saved, revision = sent.result, sent.result.revision or ""
    if page_id in saved.texts:
        text = saved.texts[page_id].after
        return PageOutcome("sent" if text == own_text else "merged", saved.warning, revision, text)
    if (other_text := saved.conflicts.get(page_id)) is not None:
        marked_text = await asyncio.to_thread(
            merge_with_markers, written_text.before.text, other_text.text, written_text.after.text
        )
        return PageOutcome("conflict", "", revision, Raw(marked_text))
    return outcome


def merge_with_markers(base: str, others_text: str, own_text: str) -> str:
    """Return a text with the changes of both texts since `base`, with markers where the changes conflict."""
    return str(_merge(base, others_text, own_text).text(request=OWN_LABEL, main=OTHERS_LABEL))


def count_edge_markers(text: str) -> int:
    """Return how many first and last conflict markers a text has. `merge_with_markers` writes such markers."""
    return text.count(f"<<<<<<< {OTHERS_LABEL}") + text.count(f">>>>>>> {OWN_LABEL}")
