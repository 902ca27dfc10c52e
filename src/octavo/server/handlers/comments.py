"""Comments and replies, reviews of change requests, and review requests.

`CommentPresenter` converts stored comments to API resources, and says who may change them. A review becomes outdated when its
author submits another review, or when a new review by this author is requested. Authors may review their own change
requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from octavo.api import comments, reviews
from octavo.api.bodies import Format, Markdown
from octavo.api.labels import label
from octavo.api.operation import ChangeRequestRef, Discussion
from octavo.documents import page_trees
from octavo.documents.markdown_to_json import content_body
from octavo.documents.source_reader import parse
from octavo.lazy_import import lazy
from octavo.server.handlers.change_requests import base_revision_id, change_request_path, refuse_closed, update_fields
from octavo.server.handlers.organizations import present_member, present_user
from octavo.server.handlers.permissions import allows, require, role
from octavo.server.handlers.spaces import get_revision_at
from octavo.server.page_texts import expand_includes
from octavo.server.rest import Refusal, RequestContext, handle, paginate, path_of, request_fields
from octavo.server.store import Json

# lazy: few clients send documents
_to_markdown: Callable[..., str] = lazy("octavo.documents.json_to_markdown:to_markdown")


@dataclass(frozen=True)
class CommentPresenter:
    """Converts the comments on a space or change request to API resources, as the user of the request may see them."""

    context: RequestContext
    at: Discussion
    _texts: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    """Texts of blocks by block key, for each page by its ID and the hash of its text."""

    @property
    def path(self) -> str:
        """Path of the comments in the store."""
        owner_path = f"/spaces/{self.at.space_id}"
        if isinstance(self.at, ChangeRequestRef):
            owner_path += f"/change-requests/{self.at.change_request_id}"
        return f"{owner_path}/comments"

    @cached_property
    def role(self) -> str | None:
        """Role of the caller in the space. None if the caller has no access."""
        return role(self.context, self.context.store.get(f"/spaces/{self.at.space_id}"))

    @cached_property
    def revision(self) -> Json:
        """The current revision of the space or change request."""
        return get_revision_at(self.context, self.at)

    @cached_property
    def pages(self) -> dict[str, Json]:
        """The pages of the current revision, by ID."""
        return {page["id"]: page for page in page_trees.walk(self.revision["pages"])}

    @cached_property
    def base(self) -> Json | None:
        """The main revision that the change request is based on. None for a space, and if this revision was deleted."""
        if not isinstance(self.at, ChangeRequestRef):
            return None
        base_id = base_revision_id(self.context.store.get(change_request_path(self.at)))
        return self.context.store.find(f"/spaces/{self.at.space_id}/revisions/{base_id}")

    def present_comment(self, comment: Json, format: Format | None = None) -> Json:
        """Convert a stored comment to the API resource, with the body in `format`. Adds the caller's permissions."""
        path = f"{self.path}/{comment['id']}"
        result = self._present_message("comment", path, comment, format)
        result["replies"] = self.context.store.count(f"{path}/replies")
        result["target"] = self._present_target(comment["target"])
        if comment.get("resolvedBy"):
            result["resolvedBy"] = present_user(self.context, comment["resolvedBy"])
        return result

    def present_reply(self, comment_id: str, reply: Json, format: Format | None = None) -> Json:
        """Convert a stored reply to the API resource, with the body in `format`. Adds the caller's permissions."""
        return self._present_message("comment-reply", f"{self.path}/{comment_id}/replies/{reply['id']}", reply, format)

    def may_edit(self, message: Json) -> bool:
        """Return whether the caller may edit a comment or reply: only its author, with permission to comment."""
        return bool(message["postedBy"] == self.context.caller) and allows(self.role, "comment")

    def may_delete(self, message: Json) -> bool:
        """Return whether the caller may delete a comment or reply: only its author or an admin."""
        return bool(message["postedBy"] == self.context.caller) or allows(self.role, "admin")

    def may_resolve(self, comment: Json) -> bool:
        """Return whether the caller may resolve or reopen a thread: only its author or an editor."""
        return self.may_edit(comment) or allows(self.role, "edit")

    def _present_message(self, kind: str, path: str, message: Json, format: Format | None) -> Json:
        return {
            "object": kind,
            **message,
            "body": content_body(message["body"]["markdown"], format),
            "postedBy": present_user(self.context, message["postedBy"]),
            "reactions": [self._present_reaction(reaction) for reaction in message.get("reactions", ())],
            "urls": {"location": self.context.url(f"/v1{path}")},
            "permissions": {
                "view": True,
                "edit": self.may_edit(message),
                "reply": allows(self.role, "comment"),
                "delete": self.may_delete(message),
            },
        }

    def _present_reaction(self, reaction: Json) -> Json:
        users = [{**user, "user": present_user(self.context, user["user"])} for user in reaction["users"]]
        return {"emoji": reaction["emoji"], "count": len(users), "users": users}

    def _present_target(self, target: Json) -> Json:
        result: Json = {**target, "space": self.at.space_id}
        if isinstance(self.at, ChangeRequestRef):
            result["changeRequest"] = self.at.change_request_id
        if page_id := target.get("page"):
            result["page"] = self._present_page(page_id, target)
        return result

    def _present_page(self, page_id: str, target: Json) -> Json:
        page, block_key = self.pages.get(page_id), target.get("node", {}).get("id")
        is_outdated = page is None or (block_key is not None and self.block_text(page, block_key) is None)
        if is_outdated and self.base is not None and not self.contains(self._revision_of(target), page_id, block_key):
            # The comment may be about content that the change request had already removed, so the base is searched.
            is_outdated = not self.contains(self.base, page_id, block_key)
        if page is None:
            revisions = filter(None, (self._revision_of(target), self.base))
            pages = (page_trees.find_page(revision["pages"], page_id) for revision in revisions)
            page = next(filter(None, pages), None) or {"id": page_id, "title": "Deleted page", "path": ""}
        field_names = ("id", "title", "path", "emoji", "icon", "createdAt", "updatedAt")
        return {**{name: page[name] for name in field_names if page.get(name) is not None}, "outdated": is_outdated}

    def _revision_of(self, target: Json) -> Json | None:
        return self.context.store.find(f"/spaces/{self.at.space_id}/revisions/{target['revision']}")

    def contains(self, revision: Json | None, page_id: str, block_key: str | None) -> bool:
        """Return whether a revision contains a page. If `block_key` is given, the page must also contain this block."""
        page = page_trees.find_page(revision["pages"], page_id) if revision is not None else None
        return page is not None and (block_key is None or self.block_text(page, block_key, revision) is not None)

    def find_block_text(self, page_id: str, block_key: str) -> str | None:
        """Return the text of a block in the current revision or else in the base. None if neither has the block."""
        for revision in (self.revision, self.base):
            page = page_trees.find_page(revision["pages"], page_id) if revision is not None else None
            if page is not None and (block_text := self.block_text(page, block_key, revision)) is not None:
                return block_text
        return None

    def block_text(self, page: Json, block_key: str, revision: Json | None = None) -> str | None:
        """Return the text of a block on a page or in its includes. None if the page has no such block."""
        key = page["id"], page.get("text", "")
        if key not in self._texts:
            text = self.context.store.text(page["text"]) if page.get("text") else ""
            whole = expand_includes(self.context.store, text, page, revision or self.revision)
            self._texts[key] = _block_texts(text) if whole is text else {**_block_texts(whole), **_block_texts(text)}
        return self._texts[key].get(block_key)


@lru_cache(maxsize=256)
def _block_texts(text: str) -> dict[str, str]:
    blocks: dict[str, Any] = {}
    for block in parse(text).walk():
        blocks.setdefault(block.key, block)
    return {key: block.plain() for key, block in blocks.items()}


PREVIEW_LIMIT = 200
"""Maximum number of characters of a block that are stored with a comment on this block."""
EMOJI_LIMIT = 50


def create_comment(
    context: RequestContext,
    at: Discussion,
    markdown: str,
    *,
    page_id: str | None = None,
    block_key: str | None = None,
    cell: comments.TableCell | None = None,
    review_id: str | None = None,
) -> Json:
    """Create and return a comment on a page, on a block (`block_key`) or table cell of the page, else on the whole
    space or change request. `review_id` is the comment's review. Raises Refusal for an empty text or a missing page."""
    presenter = CommentPresenter(context, at)
    target: Json = {"revision": presenter.revision["id"]}
    if block_key and not page_id:
        raise Refusal(400, "page is required if node is given.")
    if cell and not page_id:
        raise Refusal(400, "page is required if tableCell is given.")
    if page_id:
        if not presenter.contains(presenter.revision, page_id, None) and not presenter.contains(
            presenter.base, page_id, None
        ):
            raise Refusal(404, f"The page “{page_id}” was not found. It may have been deleted.")
        target["page"] = page_id
    if block_key:
        text = presenter.find_block_text(page_id or "", block_key)
        target["node"] = {"id": block_key, "preview": text[:PREVIEW_LIMIT]} if text else {"id": block_key}
    if cell:
        target["tableCell"] = {"record": cell.record, "definition": cell.definition}
    if review_id:
        target["review"] = review_id
    document = {**_new_message(context, markdown), "target": target, "status": "open"}
    return context.store.put(f"{presenter.path}/{document['id']}", document)


@handle.register
def _list_comments(op: comments.List, context: RequestContext) -> Json:
    presenter = CommentPresenter(context, op.at)
    is_newest_first = op.order == "desc"
    all_comments = context.store.items(presenter.path, newest_first=is_newest_first)
    pairs = [pair for pair in all_comments if _matches_filters(op, pair[1])]
    return paginate(
        op, pairs, lambda comment: presenter.present_comment(comment, op.format), is_descending=is_newest_first
    )


def _matches_filters(op: comments.List, comment: Json) -> bool:
    return (
        op.status in ("all", comment["status"])
        and op.target_page in (None, comment["target"].get("page"))
        and (op.authors is None or comment["postedBy"] in op.authors)
    )


@handle.register
def _create(op: comments.Create, context: RequestContext) -> Json:
    _require_commenter(op.at, context)
    comment = create_comment(
        context, op.at, _body_markdown(op.body), page_id=op.page, block_key=op.node, cell=op.table_cell
    )
    return CommentPresenter(context, op.at).present_comment(comment)


@handle.register
def _get(op: comments.Get, context: RequestContext) -> Json:
    return CommentPresenter(context, op.at).present_comment(context.store.get(path_of(op)), op.format)


@handle.register
def _update(op: comments.Update, context: RequestContext) -> Json:
    presenter = CommentPresenter(context, op.at)
    comment = _apply_edits(op, context, presenter)
    if op.resolved is not None and op.resolved != (comment["status"] == "resolved"):
        if not presenter.may_resolve(comment):
            raise Refusal(403, "Only the author of the thread and editors of the space can resolve or reopen it.")
        comment["status"] = "resolved" if op.resolved else "open"
        for name, value in (("resolvedAt", context.timestamp()), ("resolvedBy", context.caller)):
            comment.pop(name, None)
            if op.resolved:
                comment[name] = value
    return presenter.present_comment(context.store.put(path_of(op), comment))


@handle.register
def _delete(op: comments.Delete | comments.DeleteReply, context: RequestContext) -> None:
    if not CommentPresenter(context, op.at).may_delete(context.store.get(path_of(op))):
        raise Refusal(403, "Only the author and admins can delete this comment.")
    context.store.delete(path_of(op))


@handle.register
def _list_replies(op: comments.ListReplies, context: RequestContext) -> Json:
    presenter = CommentPresenter(context, op.at)
    context.store.get(f"{presenter.path}/{op.comment_id}")
    replies = context.store.items(path_of(op))
    return paginate(op, replies, lambda reply: presenter.present_reply(op.comment_id, reply, op.format))


@handle.register
def _create_reply(op: comments.CreateReply, context: RequestContext) -> Json:
    _require_commenter(op.at, context)
    presenter = CommentPresenter(context, op.at)
    context.store.get(f"{presenter.path}/{op.comment_id}")
    reply = _new_message(context, _body_markdown(op.body))
    context.store.put(f"{path_of(op)}/{reply['id']}", reply)
    return presenter.present_reply(op.comment_id, reply, op.format)


@handle.register
def _get_reply(op: comments.GetReply, context: RequestContext) -> Json:
    return CommentPresenter(context, op.at).present_reply(op.comment_id, context.store.get(path_of(op)), op.format)


@handle.register
def _update_reply(op: comments.UpdateReply, context: RequestContext) -> Json:
    presenter = CommentPresenter(context, op.at)
    reply = context.store.put(path_of(op), _apply_edits(op, context, presenter))
    return presenter.present_reply(op.comment_id, reply)


@handle.register
def _list_commenters(op: comments.ListCommenters, context: RequestContext) -> Json:
    path = CommentPresenter(context, op.at).path
    author_ids = set()
    for comment in context.store.all(path):
        author_ids |= {
            document["postedBy"] for document in (comment, *context.store.all(f"{path}/{comment['id']}/replies"))
        }
    organization_id = context.store.get(f"/spaces/{op.at.space_id}")["organization"]
    return paginate(
        op,
        [(author, author) for author in sorted(author_ids)],
        lambda user: _present_commenter(context, organization_id, user),
    )


def _present_commenter(context: RequestContext, organization_id: str, user_id: str) -> Json:
    former_member = {"id": user_id, "role": None, "disabled": True}
    return present_member(
        context, organization_id, context.store.find(f"/orgs/{organization_id}/members/{user_id}") or former_member
    )


def _require_commenter(at: Discussion, context: RequestContext) -> None:
    require(context, context.store.get(f"/spaces/{at.space_id}"), "comment")


def _new_message(context: RequestContext, markdown: str) -> Json:
    _refuse_empty(markdown)
    author_fields = {"postedBy": context.caller, "postedAt": context.timestamp()}
    return {"id": context.new_id(), "body": {"markdown": markdown}, **author_fields, "reactions": []}


def _body_markdown(body: Markdown) -> str:
    return body.markdown if body.document is None else _to_markdown(body.document)


def _refuse_empty(markdown: str) -> None:
    if not markdown.strip():
        raise Refusal(400, "body is empty. Write text in body.markdown or body.document.")


def _apply_edits(
    op: comments.Update | comments.UpdateReply, context: RequestContext, presenter: CommentPresenter
) -> Json:
    document = context.store.get(path_of(op))
    if op.body is not None and (text := _body_markdown(op.body)) != document["body"]["markdown"]:
        if not presenter.may_edit(document):
            raise Refusal(403, "Only the author can edit this comment.")
        _refuse_empty(text)
        document |= {"body": {"markdown": text}, "editedAt": context.timestamp()}
    document["reactions"] = _apply_reactions(op, context, document.get("reactions", ()))
    return document


def _apply_reactions(
    op: comments.Update | comments.UpdateReply, context: RequestContext, old_reactions: Iterable[Json]
) -> list[Json]:
    removed_emoji, added_emoji = op.removed_reactions or (), op.added_reactions or ()
    if not all(0 < len(emoji) <= EMOJI_LIMIT for emoji in (*removed_emoji, *added_emoji)):
        raise Refusal(400, f"A reaction must be one emoji of 1 to {EMOJI_LIMIT} characters.")
    reactions = {each["emoji"]: each["users"] for each in old_reactions}
    for emoji in removed_emoji:
        reactions[emoji] = [each for each in reactions.get(emoji, ()) if each["user"] != context.caller]
    for emoji in added_emoji:
        reacting_users = reactions.setdefault(emoji, [])
        if all(user["user"] != context.caller for user in reacting_users):
            reacting_users.append({"user": context.caller, "reactedAt": context.timestamp()})
    return [{"emoji": emoji, "users": reacting_users} for emoji, reacting_users in reactions.items() if reacting_users]


def _present_review(
    context: RequestContext, at: ChangeRequestRef, stored_review: Json, format: Format | None = None
) -> Json:
    review = {
        "object": "change-request-review",
        **stored_review,
        "reviewer": present_user(context, stored_review["reviewer"]),
    }
    if "requestedBy" in stored_review:
        review["requestedBy"] = present_user(context, stored_review["requestedBy"])
    if comment := context.store.find(f"{change_request_path(at)}/comments/{review.pop('comment', '')}"):
        review["comment"] = CommentPresenter(context, at).present_comment(comment, format)
    return review


def _present_requested_reviewer(context: RequestContext, document: Json) -> Json:
    return {
        "object": "change-request-requested-reviewer",
        "kind": "user",
        "user": present_user(context, document["id"]),
        "requestedBy": present_user(context, document["requestedBy"]),
        "revision": document["revision"],
        "createdAt": document["createdAt"],
    }


@handle.register
def _list_reviews(op: reviews.List, context: RequestContext) -> Json:
    stored_reviews = context.store.items(f"{change_request_path(op.at)}/reviews", newest_first=True)
    matching_reviews = [pair for pair in stored_reviews if op.outdated in (None, pair[1]["outdated"])]
    return paginate(
        op, matching_reviews, lambda document: _present_review(context, op.at, document, op.format), is_descending=True
    )


@handle.register
def _submit(op: reviews.Submit, context: RequestContext) -> Json:
    require(context, context.store.get(f"/spaces/{op.at.space_id}"), "review")
    path, now = change_request_path(op.at), context.timestamp()
    change_request = context.store.get(path)
    refuse_closed(change_request, "be reviewed")
    _mark_reviews_outdated(context, path, context.caller)
    review: Json = {
        "id": context.new_id(),
        "revision": change_request["revision"],
        "reviewer": context.caller,
        "status": op.status,
        "outdated": False,
        "createdAt": now,
        "updatedAt": now,
    }
    request_path = f"{path}/requested-reviewers/{context.caller}"
    if review_request := context.store.find(request_path):
        review["requestedBy"] = review_request["requestedBy"]
        context.store.delete(request_path)
    if op.comment is not None:
        review["comment"] = create_comment(context, op.at, _body_markdown(op.comment), review_id=review["id"])["id"]
    context.store.put(f"{path}/reviews/{review['id']}", review)
    context.store.update(path, updatedAt=now)
    return _present_review(context, op.at, review)


def _mark_reviews_outdated(context: RequestContext, path: str, user_id: str) -> None:
    for review in context.store.all(f"{path}/reviews"):
        if review["reviewer"] == user_id and not review["outdated"]:
            context.store.update(f"{path}/reviews/{review['id']}", outdated=True, updatedAt=context.timestamp())


@handle.register
def _list_requested_reviewers(op: reviews.ListRequested, context: RequestContext) -> Json:
    stored_requests = context.store.items(f"{change_request_path(op.at)}/requested-reviewers")
    return paginate(op, stored_requests, lambda document: _present_requested_reviewer(context, document))


@handle.register
def _request_reviewers(op: reviews.Request, context: RequestContext) -> Json:
    space = context.store.get(f"/spaces/{op.at.space_id}")
    require(context, space, "edit")
    path = change_request_path(op.at)
    change_request = context.store.get(path)
    refuse_closed(change_request, "be reviewed")
    fields = request_fields(op)
    user_ids = list(dict.fromkeys(fields.pop("users")))
    if not user_ids:
        raise Refusal(400, "users is empty. Name at least one reviewer.")
    for user_id in user_ids:
        _refuse_reviewer(context, space, user_id)
    update_fields(context, change_request, **fields)
    return {"users": [_request_review(context, path, change_request["revision"], user_id) for user_id in user_ids]}


def _refuse_reviewer(context: RequestContext, space: Json, user_id: str) -> None:
    current_role = role(context, space, user_id)
    if current_role is None:
        raise Refusal(404, f"No one with the ID “{user_id}” has access to “{space['title']}”. Give them a role first.")
    if not allows(current_role, "review"):
        name = present_user(context, user_id)["displayName"]
        raise Refusal(
            400,
            f"The role of {name} in “{space['title']}” is {label(current_role)}. To review, a member needs the Reviewer role or a higher role.",
        )


def _request_review(context: RequestContext, path: str, revision_id: str, user_id: str) -> Json:
    _mark_reviews_outdated(context, path, user_id)
    request: Json = {"id": user_id, "requestedBy": context.caller, "createdAt": context.timestamp()}
    request["revision"] = revision_id
    return _present_requested_reviewer(context, context.store.put(f"{path}/requested-reviewers/{user_id}", request))


@handle.register
def _withdraw(op: reviews.Withdraw, context: RequestContext) -> None:
    if op.user_id != context.caller:
        require(context, context.store.get(f"/spaces/{op.at.space_id}"), "edit")
    context.store.delete(f"{change_request_path(op.at)}/requested-reviewers/{op.user_id}")
