"""Comments and replies, the same on a space and on a change request."""

from __future__ import annotations

from collections.abc import Iterable

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.places import Discussion
from octavo.server.behaviour.members import present_member
from octavo.server.behaviour.permissions import need
from octavo.server.behaviour.threads import Threads
from octavo.server.rest import handle, page, path_of
from octavo.server.store import Json
from octavo.server.world import Refused, World

PREVIEW_LIMIT = 200
"""How many characters of a block are kept with a comment on it."""
EMOJI_LIMIT = 50


def post(
    world: World,
    at: Discussion,
    markdown: str,
    *,
    page: str | None = None,
    node: str | None = None,
    cell: comments.TableCell | None = None,
    review: str | None = None,
) -> Json:
    """File a comment of the caller on a place, on a page of it, or on a block of the page. Refuses an empty one."""
    threads = Threads(world, at)
    target: Json = {"revision": threads.revision["id"]}
    if node and not page:
        raise Refused(400, "page is required if node is given.")
    if cell and not page:
        raise Refused(400, "page is required if tableCell is given.")
    if page:
        if not threads.has(threads.revision, page, None) and not threads.has(threads.base, page, None):
            raise Refused(404, f"The page “{page}” was not found. It may have been deleted.")
        target["page"] = page
    if node:
        says = threads.said(page or "", node)
        target["node"] = {"id": node, "preview": says[:PREVIEW_LIMIT]} if says else {"id": node}
    if cell:
        target["tableCell"] = {"record": cell.record, "definition": cell.definition}
    if review:
        target["review"] = review
    document = {**_message(world, markdown), "target": target, "status": "open"}
    return world.store.put(f"{threads.path}/{document['id']}", document)


@handle.register
def _list(op: comments.List, world: World) -> Json:
    threads = Threads(world, op.at)
    newest_first = op.order == "desc"
    every = world.store.positioned(threads.path, newest_first=newest_first)
    found = [pair for pair in every if _wanted(op, pair[1])]
    return page(op, found, lambda each: threads.comment(each, op.format), descending=newest_first)


def _wanted(op: comments.List, comment: Json) -> bool:
    return (
        op.status in ("all", comment["status"])
        and op.target_page in (None, comment["target"].get("page"))
        and (op.authors is None or comment["postedBy"] in op.authors)
    )


@handle.register
def _create(op: comments.Create, world: World) -> Json:
    _need_to_comment(op.at, world)
    comment = post(world, op.at, written(op.body), page=op.page, node=op.node, cell=op.table_cell)
    return Threads(world, op.at).comment(comment)


@handle.register
def _get(op: comments.Get, world: World) -> Json:
    return Threads(world, op.at).comment(world.store.get(path_of(op)), op.format)


@handle.register
def _update(op: comments.Update, world: World) -> Json:
    threads = Threads(world, op.at)
    comment = _edited(op, world, threads)
    if op.resolved is not None and op.resolved != (comment["status"] == "resolved"):
        if not threads.may_resolve(comment):
            raise Refused(403, "Only the author of the thread and editors of the space can resolve or reopen it.")
        comment["status"] = "resolved" if op.resolved else "open"
        for name, value in (("resolvedAt", world.timestamp()), ("resolvedBy", world.caller)):
            comment.pop(name, None)
            if op.resolved:
                comment[name] = value
    return threads.comment(world.store.put(path_of(op), comment))


@handle.register
def _delete(op: comments.Delete | comments.DeleteReply, world: World) -> None:
    if not Threads(world, op.at).may_delete(world.store.get(path_of(op))):
        raise Refused(403, "Only the author and admins can delete this comment.")
    world.store.delete(path_of(op))


@handle.register
def _list_replies(op: comments.ListReplies, world: World) -> Json:
    threads = Threads(world, op.at)
    world.store.get(f"{threads.path}/{op.comment_id}")
    replies = world.store.positioned(path_of(op))
    return page(op, replies, lambda each: threads.reply(op.comment_id, each, op.format))


@handle.register
def _create_reply(op: comments.CreateReply, world: World) -> Json:
    _need_to_comment(op.at, world)
    threads = Threads(world, op.at)
    world.store.get(f"{threads.path}/{op.comment_id}")
    reply = _message(world, written(op.body))
    world.store.put(f"{path_of(op)}/{reply['id']}", reply)
    return threads.reply(op.comment_id, reply, op.format)


@handle.register
def _get_reply(op: comments.GetReply, world: World) -> Json:
    return Threads(world, op.at).reply(op.comment_id, world.store.get(path_of(op)), op.format)


@handle.register
def _update_reply(op: comments.UpdateReply, world: World) -> Json:
    threads = Threads(world, op.at)
    reply = world.store.put(path_of(op), _edited(op, world, threads))
    return threads.reply(op.comment_id, reply)


@handle.register
def _list_commenters(op: comments.ListCommenters, world: World) -> Json:
    path = Threads(world, op.at).path
    authors = set()
    for comment in world.store.all(path):
        authors |= {each["postedBy"] for each in (comment, *world.store.all(f"{path}/{comment['id']}/replies"))}
    organization = world.store.get(f"/spaces/{op.at.space_id}")["organization"]
    return page(op, [(each, each) for each in sorted(authors)], lambda user: _commenter(world, organization, user))


def _commenter(world: World, organization: str, user: str) -> Json:
    gone = {"id": user, "role": None, "disabled": True}
    return present_member(world, organization, world.store.find(f"/orgs/{organization}/members/{user}") or gone)


def _need_to_comment(at: Discussion, world: World) -> None:
    need(world, world.store.get(f"/spaces/{at.space_id}"), "comment")


def _message(world: World, markdown: str) -> Json:
    _refuse_empty(markdown)
    posted = {"postedBy": world.caller, "postedAt": world.timestamp()}
    return {"id": world.new_id(), "body": {"markdown": markdown}, **posted, "reactions": []}


def written(body: Markdown) -> str:
    """What somebody wrote, as it is kept: as markdown."""
    if body.document is None:
        return body.markdown
    from octavo.documents.json_to_markdown import to_markdown  # few clients write that way

    return to_markdown(body.document)


def _refuse_empty(markdown: str) -> None:
    if not markdown.strip():
        raise Refused(400, "body is empty. Write text in body.markdown or body.document.")


def _edited(op: comments.Update | comments.UpdateReply, world: World, threads: Threads) -> Json:
    """The comment or reply `op` is about, with its text and reactions as `op` wants them. It is not yet filed."""
    document = world.store.get(path_of(op))
    if op.body is not None and (says := written(op.body)) != document["body"]["markdown"]:
        if not threads.may_edit(document):
            raise Refused(403, "Only the author can edit this comment.")
        _refuse_empty(says)
        document |= {"body": {"markdown": says}, "editedAt": world.timestamp()}
    document["reactions"] = _reactions(op, world, document.get("reactions", ()))
    return document


def _reactions(op: comments.Update | comments.UpdateReply, world: World, before: Iterable[Json]) -> list[Json]:
    """The reactions to a document once the caller has taken some back, and has reacted once with each of the others."""
    removed, added = op.removed_reactions or (), op.added_reactions or ()
    if not all(0 < len(emoji) <= EMOJI_LIMIT for emoji in (*removed, *added)):
        raise Refused(400, f"A reaction must be one emoji of 1 to {EMOJI_LIMIT} characters.")
    reactions = {each["emoji"]: each["users"] for each in before}
    for emoji in removed:
        reactions[emoji] = [each for each in reactions.get(emoji, ()) if each["user"] != world.caller]
    for emoji in added:
        users = reactions.setdefault(emoji, [])
        if all(each["user"] != world.caller for each in users):
            users.append({"user": world.caller, "reactedAt": world.timestamp()})
    return [{"emoji": emoji, "users": users} for emoji, users in reactions.items() if users]
