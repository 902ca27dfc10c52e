"""Commands that write use the outbox: no write is lost and no write is sent twice."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from octavo.api import comments, reviews
from octavo.api.bodies import Markdown
from octavo.api.operation import SPECS, ChangeRequestRef
from octavo.cli.arguments import build_parser
from octavo.cli.commands import review as review_command
from octavo.cli.commands.comment import reply_to_thread, write_comment
from octavo.cli.commands.outbox import discard_write
from octavo.cli.connection import once_key, tell_if_run_before
from octavo.cli.standard_streams import NOT_ALLOWED, UNKNOWN, Failure
from octavo.data.state_db import NotSaved
from octavo.data.writes import direct
from octavo.data.writes.machine import NewWrite
from tests.cli.command_process import CommandLine
from tests.cli.conftest import Octavo
from tests.cli.dropping_proxy import DroppingProxy
from tests.data.connections import refuse_to_save
from tests.journeys.conftest import library, stage
from tests.journeys.stage import Stage

__all__ = ["library", "stage"]

submit_commented, submit_approval = (partial(review_command._review, verb=verb) for verb in ("comment on", "approve"))
WRITES = (
    ("comment", "handbook/2", "-m", "Hello"),
    ("reply", "harbour-api/7@t6", "-m", "Hello"),
    ("resolve", "harbour-api/7@t6"),
    ("react", "harbour-api/7@t6", "👍"),
    ("review", "harbour-api/7", "--approve"),
)


@pytest.fixture
def demo(library: Path, tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path).with_demo(library)


@contextmanager
def sign_in_as(home: CommandLine, role: str = "creator") -> Iterator[CommandLine]:
    """Serve the demo of `home` and yield a command line with its own folders that is signed in with a role."""
    with home.start("serve", "--as", role) as serving:
        origin = serving.stdout.readline().split()[-1]
        key = Path(serving.stdout.readline().removeprefix("The API key is in ").strip()).read_text().strip()
        try:
            yield CommandLine(home.folder / f"as {role}", {"OCTAVO_API_KEY": key, "OCTAVO_BASE_URL": origin})
        finally:
            serving.terminate()


def thread_texts(home: CommandLine, ref: str) -> list[str]:
    """Return the texts of the threads that `octavo show` lists for a REF."""
    return [each["text"] for each in home.run("show", ref, "--threads", "--json", "text").json]


def test_comment_reply_and_resolve_are_confirmed(demo: CommandLine) -> None:
    quote = ("--page", "help/troubleshooting", "--quote", "drops the zone")
    made = demo.run("comment", "7", *quote, "-m", "Which zone?", "--demo", "-s", "harbour-api", "--json")
    assert (made.code, made.err) == (0, "")
    thread = made.json["ref"]
    answered = demo.run("reply", thread, "--demo", "-F", "-", "--resolve", input="Fixed, thank you.\n")
    assert (answered.code, answered.out) == (0, f"{thread}\n")
    shown = demo.run("show", thread, "--demo", "--json", "status,text,page,block,replies").json
    assert (shown["status"], shown["text"]) == ("resolved", "Which zone?")
    assert shown["page"]["path"] == "help/troubleshooting"
    assert shown["block"]
    assert [each["text"] for each in shown["replies"]] == ["Fixed, thank you."]


@pytest.mark.parametrize("ref", ["t6", "harbour-api/7@t6"])
def test_comment_on_a_thread_is_a_reply(demo: CommandLine, ref: str) -> None:
    made = demo.run("comment", ref, "-m", "Seen.", "--demo", "--json")
    assert (made.code, made.json["ref"], made.json["status"]) == (0, "harbour-api/7@t6", "sent")
    shown = demo.run("show", "t6", "--demo", "--json", "replies").json
    assert shown["replies"][-1] == {"id": made.json["id"], "author": "Mara Lindqvist", "text": "Seen."} | {
        "at": shown["replies"][-1]["at"]
    }
    assert demo.run("resolve", ref, "--demo").out == "Resolved: harbour-api/7@t6.\n"


def test_thread_that_is_named_twice_is_resolved_once(demo: CommandLine) -> None:
    ran = demo.run("resolve", "t6", "harbour-api/7@t6", "--demo", "--json", "ref,changed")
    assert (ran.code, ran.json) == (0, [{"ref": "harbour-api/7@t6", "changed": True}])


def test_thread_is_reopened_and_gets_a_reaction(demo: CommandLine) -> None:
    assert demo.run("resolve", "t6", "--demo", "-s", "harbour-api").out == "Resolved: harbour-api/7@t6.\n"
    assert demo.run("resolve", "harbour-api/7@t6", "--demo").out == "Already resolved: harbour-api/7@t6.\n"
    assert demo.run("resolve", "harbour-api/7@t6", "--reopen", "--demo").out == "Reopened: harbour-api/7@t6.\n"
    assert demo.run("react", "harbour-api/7@t6", "👍", "--demo").code == 0
    shown = demo.run("show", "harbour-api/7@t6", "--demo", "--json", "status,reactions").json
    assert (shown["status"], [each["count"] for each in shown["reactions"]]) == ("open", [1])
    assert demo.run("outbox", "--demo").out == ""


@pytest.mark.parametrize("spellings", [["1f44d"], ["👍"], ["👍\ufe0f", "1f44d"]])
def test_reaction_is_removed_in_the_spelling_of_the_server(demo: CommandLine, spellings: list[str]) -> None:
    thread = ("spaceId=harbour-api", "changeRequestId=refused-times", "commentId=t6")
    for each in spellings:
        assert demo.run("api", "comments.Update", *thread, f"addedReactions[]={each}", "--demo").code == 0
    for arguments, count in ((["👍"], len(spellings)), (["👍", "--remove"], 0), (["👍", "--remove"], 0), (["👍"], 1)):
        assert demo.run("react", "t6", *arguments, "--demo").code == 0
        assert len(demo.run("show", "t6", "--demo", "--json", "reactions").json["reactions"]) == count
    assert demo.run("api", "comments.Update", *thread, "removedReactions[]=1f44d", "--demo").json["reactions"] == []


def test_review_sends_pending_comments_and_suggestions(demo: CommandLine, tmp_path: Path) -> None:
    wording = tmp_path / "new-wording.md"
    wording.write_text("From March to October?\n")
    page = demo.run("diff", "limpet/2", "--name-only", "--demo").out.splitlines()[0]
    place = ("limpet/2", "--page", page, "--line", "3")
    kept = demo.run("comment", *place, "--suggest", str(wording), "--pending", "--demo", "--json")
    assert (kept.code, kept.json["status"]) == (0, "pending")
    assert suggestion_texts(demo, "limpet/2") == []
    listed = demo.run("outbox", "list", "--demo", "--json", "state,action").json
    assert listed == [{"state": "pending", "action": "comment"}]
    approved = demo.run("review", "limpet/2", "--approve", "-m", "Good.", "--demo")
    assert (approved.code, approved.out) == (0, "Approved limpet/2 with 1 comment.\n")
    assert any("```suggestion" in each for each in suggestion_texts(demo, "limpet/2"))


def suggestion_texts(demo: CommandLine, ref: str) -> list[str]:
    """Return the texts of the suggestions in the threads that `octavo show` lists for a REF of the demo."""
    rows = demo.run("show", ref, "--threads", "--json", "text,suggestion", "--demo").json
    return [each["text"] for each in rows if each["suggestion"] is not None]


def test_review_of_an_edited_change_request_is_blocked(demo: CommandLine) -> None:
    assert demo.run("show", "harbour-api/7", "--demo").code == 0
    with sign_in_as(demo) as other:
        changes = json.dumps(
            {"changes": [{"operation": "update_page", "page": "harbour-api-page-12", "title": "Time"}]}
        )
        edited = other.run(
            "api", "content.Edit", "spaceId=harbour-api", "changeRequestId=refused-times", "--input", "-", input=changes
        )
    if edited.code:
        pytest.fail(edited.err)
    # These commands do not show the edit, or only the names of the edited pages.
    for part in (
        ("show", "harbour-api/7"),
        ("show", "harbour-api/7", "--json", "number"),
        ("diff", "harbour-api/7", "help/troubleshooting"),
        ("diff", "harbour-api/7", "--stat"),
        ("diff", "harbour-api/7", "--name-only"),
    ):
        assert demo.run(*part, "--demo").code == 0
    ran = demo.run("review", "harbour-api/7", "--approve", "--demo", "--json")
    assert (ran.code, ran.out, ran.error["code"]) == (6, "", "blocked")
    assert "1 page changed since you viewed it. Look: octavo diff harbour-api/7 --against" in ran.error["message"]
    assert demo.run("diff", "harbour-api/7", "--demo").code == 0
    assert demo.run("review", "harbour-api/7", "--approve", "--demo").code == 0


async def test_refused_write_with_the_once_option_is_not_called_written(stage: Stage) -> None:
    async with stage.play(undo_seconds=0.0) as run:
        session = run.app.session
        options = build_parser("comment").parse_args(["comment", "handbook/2", "-m", "Once", "--once", "build 8"])
        run.platform.refuse_next(comments.Create, 403, "Not now.")
        with pytest.raises(Failure, match="Not now"):
            await write_comment(session, options)
        (refused,) = session.outbox.entries
        with pytest.raises(Failure, match=f"Not now. Your text is kept. .* retry {refused.id}") as again:
            await write_comment(session, options)
        assert (again.value.code, str(again.value).count("Could not comment")) == (NOT_ALLOWED, 1)
        await discard_write(session, refused)
        await write_comment(session, options)
        assert not session.outbox.entries
        with pytest.raises(Failure, match="Could not discard"):
            await discard_write(session, refused)


async def test_key_of_a_write_that_is_discarded_or_undone_in_the_app_is_free(stage: Stage) -> None:
    async with stage.play(undo_seconds=0.0) as run:
        session = run.app.session
        options = build_parser("comment").parse_args(["comment", "handbook/2", "-m", "Once", "--once", "build 8"])
        run.platform.refuse_next(comments.Create, 403, "Not now.")
        with pytest.raises(Failure, match="Not now"):
            await write_comment(session, options)
        await run.press("!")
        await run.see("Not now.")
        await run.press("X")
        await run.see("Discard this change?")
        await run.press("y")
        await run.until(lambda: not session.outbox.entries, "discard the comment")
        assert not await tell_if_run_before(session, options)
        run.gate.shut(comments.Create)
        options.wait = 0.0
        with pytest.raises(Failure, match=r"may have been sent|may still be sent"):
            await write_comment(session, options)
        (entry,) = session.outbox.entries
        run.gate.open()
        await run.until(lambda: not session.outbox.entries, "send the comment")
        assert await tell_if_run_before(session, options)
        assert entry.draft_key == once_key("build 8")


async def test_pending_comment_is_written_once_and_again_after_it_is_discarded(stage: Stage) -> None:
    async with stage.play(undo_seconds=0.0) as run:
        session = run.app.session
        arguments = ["comment", "handbook/2", "-m", "Once", "--pending", "--once", "build 8"]
        options = build_parser("comment").parse_args(arguments)
        for _ in range(2):
            await write_comment(session, options)
        (entry,) = session.outbox.entries
        discarded = await session.outbox.discard_unsent([], [entry.id])
        assert not await tell_if_run_before(session, options)
        await session.outbox.restore_discarded(discarded)
        await session.outbox.submit_review(entry.at)
        await run.until(lambda: not session.outbox.entries, "send the comment")
        assert await tell_if_run_before(session, options)


@pytest.mark.parametrize(
    ("arguments", "write"),
    [
        (("comment", "handbook/2", "-m", "Once"), write_comment),
        (("reply", "harbour-api/7@t6", "-m", "Once", "--resolve"), reply_to_thread),
        (("review", "harbour-api/7", "--comment", "-m", "Once"), submit_commented),
        (("review", "harbour-api/7", "--approve"), submit_approval),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
async def test_commands_with_the_same_key_at_the_same_time_write_once(
    arguments: tuple[str, ...], write: Callable[..., Awaitable[None]], stage: Stage
) -> None:
    async with stage.play(undo_seconds=0.0) as run:
        options = build_parser(arguments[0]).parse_args([*arguments, "--once", "build 8"])
        before = len(run.gate.passed)
        results = await asyncio.gather(*(write(run.app.session, options) for _ in range(2)), return_exceptions=True)
        assert sorted(getattr(each, "code", -1) for each in results) == [-1, 0]
        sent = [type(op) for op in run.gate.passed[before:] if SPECS[type(op)].method != "GET"]
        assert len(sent) == len(set(sent)) == 1 + ("--resolve" in arguments)


@pytest.mark.parametrize("text", [("-m", "Noted."), ()], ids=["with a comment", "of pending comments"])
async def test_interrupted_review_without_a_verdict_is_submitted_once(text: tuple[str, ...], stage: Stage) -> None:
    async with stage.play(undo_seconds=0.0) as run:
        session, at = run.app.session, ChangeRequestRef(space_id="harbour-api", change_request_id="refused-times")
        op = comments.Create(at=at, body=Markdown(markdown="Written long ago."))
        await session.outbox.add_pending_comments([NewWrite(op, "comment")])
        run.clock.forward(days=8)
        arguments = ["review", "harbour-api/7", "--comment", *text, "--once", "build 8"]
        options = build_parser("review").parse_args(arguments)
        allow: list[Callable[[], None]] = []

        def interrupt() -> None:
            if not allow:
                allow.append(refuse_to_save(session.state))

        remove = session.outbox.changed.add(interrupt)
        options.wait = 0.0
        with pytest.raises((Failure, NotSaved)):
            await review_command._review(session, options, "comment on")
        remove()
        allow[0]()
        options.wait = 30.0
        for _ in range(2):
            await review_command._review(session, options, "comment on")
            await run.until(lambda: not session.outbox.entries, "send the comments")
        assert len(run.gate.sent(comments.Create)) == 1 + bool(text)


async def test_review_during_an_earlier_review_names_the_outbox(stage: Stage) -> None:
    async with stage.play(undo_seconds=0.0) as run:
        options = build_parser("review").parse_args(["review", "harbour-api/7", "--approve"])
        options.wait = 0.0
        run.gate.shut(reviews.Submit)
        for message in ("may have been sent|may still be sent", "your review is still being sent. .* octavo outbox"):
            with pytest.raises(Failure, match=message) as failed:
                await review_command._review(run.app.session, options, "approve")
            assert failed.value.code == UNKNOWN
        run.gate.open()
        await run.until(lambda: not run.app.session.outbox.entries, "send the review")
        assert len(run.gate.sent(reviews.Submit)) == 1


async def test_refused_resolve_is_reported_again_and_its_reply_is_sent_once(stage: Stage) -> None:
    async with stage.play(undo_seconds=0.0) as run:
        session = run.app.session
        arguments = ["reply", "harbour-api/7@t6", "-m", "Fixed.", "--resolve", "--once", "build 8"]
        options = build_parser("reply").parse_args(arguments)
        run.platform.refuse_next(comments.Update, 403, "Not now.")
        for _ in range(2):
            with pytest.raises(
                Failure, match=r"Could not resolve the thread: Not now\. .* octavo outbox retry"
            ) as refused:
                await reply_to_thread(session, options)
            assert refused.value.code == NOT_ALLOWED
        (entry,) = session.outbox.entries
        await session.outbox.retry(entry.id)
        await run.until(lambda: not session.outbox.entries, "resolve the thread")
        await reply_to_thread(session, options)
        assert len(run.gate.sent(comments.CreateReply)) == 1


async def test_write_that_was_discarded_before_it_was_sent_is_not_called_written(stage: Stage) -> None:
    async with stage.play(undo_seconds=60.0) as run:
        session = run.app.session
        arguments = ["comment", "handbook/2", "-m", "Once", "--once", "build 9", "--wait", "0"]
        options = build_parser("comment").parse_args(arguments)
        for _ in range(2):
            with pytest.raises(Failure, match="is queued and may still be sent"):
                await write_comment(session, options)
            (entry,) = session.outbox.entries
            await discard_write(session, entry)


async def test_comment_that_waits_for_the_server_is_called_unsent_once(stage: Stage) -> None:
    async with stage.play(undo_seconds=0.0) as run:
        options = build_parser("comment").parse_args(["comment", "handbook/2", "-m", "Soon", "--wait", "1"])
        run.platform.refuse_next(comments.Create, 429, "Slow down", times=9, headers={"retry-after": "3600"})
        with pytest.raises(Failure, match=r"^The comment is queued and not sent yet\. \S+ received too many") as failed:
            await write_comment(run.app.session, options)
        assert failed.value.code == UNKNOWN


def test_comment_with_no_wait_is_not_called_unsent(demo: CommandLine) -> None:
    ran = demo.run("comment", "handbook/2", "-m", "Soon", "--demo", "--wait", "0")
    assert ran.code == 7
    assert "not sent yet" not in ran.err
    demo.run("comment", "handbook/2", "-m", "Later", "--demo")
    threads = demo.run("threads", "handbook/2", "--demo", "--json", "text").json
    assert [each["text"] for each in threads].count("Soon") == 1


@pytest.mark.parametrize(
    "arguments",
    [*WRITES, ("api", "comments.Create", "spaceId=handbook", "body[markdown]=Hello")],
    ids=lambda each: each[0],
)
def test_change_whose_result_is_not_printed_ends_with_7(demo: CommandLine, arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    os.write(writing, bytes(1 << 20))  # The pipe is full now, so that a write fails.
    ran = demo.run_with_output(writing, *arguments, "--demo")
    assert ran.code == 7
    assert ran.err.startswith("octavo: The changes on the server were made. Could not write the output: ")
    os.close(reading)
    os.close(writing)


@pytest.mark.skipif(find_spec("jq") is None, reason="jq is not installed")
def test_change_whose_result_cannot_be_filtered_ends_with_7(demo: CommandLine) -> None:
    ran = demo.run("resolve", "harbour-api/7@t6", "--demo", "--jq", ".[0].ref.x")
    assert (ran.code, ran.error["code"]) == (7, "unknown")
    assert ran.error["message"].startswith("The changes on the server were made. Could not filter: ")
    assert demo.run("changes", "--demo", "--jq", ".[0].ref.x").code == 1


def test_once_option_writes_a_single_time(demo: CommandLine) -> None:
    first = demo.run("comment", "handbook/2", "-m", "Only once", "--once", "build 7", "--demo")
    again = demo.run("comment", "handbook/2", "-m", "Only once", "--once", "build 7", "--demo")
    assert (first.code, again.code) == (0, 0)
    assert "Already written with --once build 7." in again.err
    rows = demo.run("show", "handbook/2", "--threads", "--json", "text", "--demo").json
    assert [each["text"] for each in rows].count("Only once") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("comment", "harbour-api/7", "-m", "-"), 2, "To read the text from standard input use -F -."),
        (("reply", "t6", "-m", "-"), 2, "To read the text from standard input use -F -."),
        (("comment", "harbour-api/7"), 2, "there is no text. Use -m TEXT or -F FILE."),
        (("comment", "harbour-api/7", "-m", "  "), 2, "the text is empty"),
        (("comment", "harbour-api/7", "-F", "/no/such/file"), 2, "Could not read /no/such/file"),
        (("comment", "handbook", "-m", "x", "--pending"), 2, "handbook is not a change request"),
        (("comment", "harbour-api/7", "-m", "x", "--quote", "zone"), 2, "name its page with --page"),
        (("comment", "harbour-api/7:concepts/time", "--quote", "UTC", "-m", "x"), 2, "Give more words, or --block:"),
        (("comment", "harbour-api/7:concepts/time", "--quote", "no such words", "-m", "x"), 3, "Could not find"),
        (("comment", "harbour-api/7:concepts/time@ffffffffffff", "-m", "x"), 3, "Could not find block ffffffffffff"),
        (("reply", "harbour-api/7@nope", "-m", "x"), 3, "Could not find thread nope in harbour-api/7."),
        (("comment", "handbook:people/first-week", "--page", "running/severity", "-m", "x"), 2, "name two pages"),
        (
            ("comment", "handbook:people/first-week@5caff9d6f90d", "--line", "3", "-m", "x"),
            2,
            "name two blocks",
        ),
        (
            ("comment", "handbook:people/first-week@5caff9d6f90d", "--quote", "y", "-m", "x"),
            2,
            "name two blocks",
        ),
        (("comment", "t6", "-m", "x", "--quote", "y"), 2, "harbour-api/7@t6 is a thread, and --quote does not apply"),
        (("comment", "harbour-api/7@nope", "-m", "x"), 3, "Could not find thread nope in harbour-api/7."),
        (("reply", "harbour-api/7@..", "-m", "x"), 3, "Could not find thread .. in harbour-api/7."),
        (("comment", "../../etc", "-m", "x"), 3, "Could not find the space ../../etc."),
        (("resolve", "a\nb"), 3, "Could not find thread a b."),
        (("comment", "harbour-api/7", "-m", "x", "--once", ""), 2, "argument --once: the value is empty"),
        (("comment", "harbour-api/7", "-m", "x", "--page", ""), 2, "argument --page: the value is empty"),
        (
            ("comment", "harbour-api/7:concepts/time", "-m", "x", "--block", " "),
            2,
            "argument --block: the value is empty",
        ),
        (("comment", "t6", "-m", "x", "--line", "0"), 2, "is a thread, and --line does not apply"),
        (
            ("review", "harbour-api/7", "--approve", "--dry-run"),
            2,
            "Could not use --dry-run: it belongs to --import FILE.",
        ),
        (("review", "harbour-api/7", "--approve", "--page", "concepts/time"), 2, "--page: it belongs to --json"),
        (("review", "harbour-api/7", "--approve", "--changed-only"), 2, "--changed-only: it belongs to --json"),
        (("review", "harbour-api/7", "--comment", "-m", "x", "--source", "y"), 2, "--source: it belongs to --import"),
        (("review", "harbour-api/7", "--json", "--revision", "x"), 2, "--revision: it belongs to --approve"),
        (("review", "harbour-api/7", "--discard-proposed", "--json"), 2, "--json: it belongs to the other actions"),
        (("review", "harbour-api/7", "--discard-proposed", "-q", "."), 2, "--jq: it belongs to the other actions"),
        (("review", "harbour-api/7:concepts/time", "--approve"), 2, "whole change request. Write only harbour-api/7."),
        (("review", "harbour-api/7@t6", "--approve"), 2, "whole change request. Write only harbour-api/7."),
        (("review", "harbour-api/7:concepts/time", "--discard-proposed"), 2, "Write only harbour-api/7."),
        (("merge", "harbour-api/7:concepts/time", "--yes"), 2, "whole change request. Write only harbour-api/7."),
        (("review", "harbour-api/7", "--approve", "--format", "vale"), 2, "Could not use --format: it belongs to"),
        (("review", "harbour-api/7", "--json", "-m", "x"), 2, "Could not use the text: -m and -F belong to --approve"),
        (("review", "harbour-api/7", "--discard-proposed", "--source", ""), 2, "argument --source: the value is empty"),
        (("review", "harbour-api/7", "--approve", "--revision", "../x"), 2, "'../x' is no id of a revision."),
        (("react", "t6", ":thumbsup:"), 2, "is not one emoji"),
        (("react", "t6", "👍🎉"), 2, "is not one emoji"),
        (("react", "t6", "日"), 2, "is not one emoji"),
        (("review", "harbour-api/7"), 2, "Choose what to do: --approve, --request-changes, --comment,"),
        (("review", "harbour-api/7", "--request-changes"), 2, "say what needs to change"),
        (("outbox", "retry", "nope"), 3, "Could not find the write nope."),
        (("outbox", "discard"), 2, "octavo outbox retry ID"),
        (("review", "harbour-api/7", "--json", "--once", "k"), 2, "Could not use --once: it belongs to --approve"),
        (("review", "harbour-api/7", "--json", "--wait", "5"), 2, "Could not use --wait: it belongs to --approve"),
        (("merge", "harbour-api/7", "--check", "--yes"), 2, "Could not use --yes or --update with --check"),
        (("merge", "harbour-api/7", "--check", "--update"), 2, "Could not use --yes or --update with --check"),
        (("outbox", "retry", "x", "--json"), 2, "--json, --ndjson or --jq: they belong to octavo outbox list."),
        (("outbox", "discard", "x", "--ndjson"), 2, "--json, --ndjson or --jq: they belong to octavo outbox list."),
        (("outbox", "discard", "x", "-q", "."), 2, "--json, --ndjson or --jq: they belong to octavo outbox list."),
        (("outbox", "discard", "x", "--wait", "5"), 2, "Could not use --wait: it belongs to octavo outbox retry."),
    ],
)
def test_wrong_arguments_write_nothing(demo: CommandLine, arguments: tuple[str, ...], code: int, said: str) -> None:
    ran = demo.run(*arguments, "--demo")
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert demo.run("outbox", "--demo").out == ""


@pytest.mark.parametrize("arguments", WRITES, ids=lambda each: each[0])
def test_read_only_refuses_every_write(demo: CommandLine, arguments: tuple[str, ...]) -> None:
    by_option = demo.run(*arguments, "--demo", "--read-only", "--json")
    assert (by_option.code, by_option.error["code"]) == (5, "read-only")
    by_variable = demo.run(*arguments, "--demo", environ={"OCTAVO_READ_ONLY": "1"})
    assert by_variable.code == 5
    assert "--read-only" in by_variable.err


@pytest.mark.before_release("administrator-0-0-0", "commenter-0-5-5", "creator-0-0-0", "guest-0-5-5", "reviewer-0-0-0")
@pytest.mark.parametrize(
    ("role", "comments", "reviews", "proposals"),
    [
        ("administrator", 0, 0, 0),
        ("creator", 0, 0, 0),
        ("editor", 0, 5, 0),
        ("reviewer", 0, 0, 0),
        ("commenter", 0, 5, 5),
        ("reader", 5, 5, 5),
        ("guest", 0, 5, 5),
    ],
)
def test_role_may_write_the_same_as_in_the_app(
    demo: CommandLine, role: str, comments: int, reviews: int, proposals: int
) -> None:
    """The guest of the demo may comment in Harbour API, and has no other space."""
    with sign_in_as(demo, role) as home:
        commented = home.run("comment", "harbour-api/7", "-m", f"From a {role}")
        reviewed = home.run("review", "harbour-api/7", "--approve")
        assert home.run("pull", "harbour-api", "docs", cwd=demo.folder).code == 0
        page = demo.folder / "docs/help/troubleshooting.md"
        page.write_text(f"{page.read_text()}\nAsk the harbour master.\n")
        proposed = home.run("propose", "-m", "Name a person", cwd=demo.folder / "docs")
        if role == "guest":
            assert home.run("show", "handbook/2").code == 3
    assert (commented.code, reviewed.code, proposed.code) == (comments, reviews, proposals)
    for ran in (commented, reviewed):
        assert ran.code == 0 or "role in Harbour API to " in ran.err
    assert proposed.code == 0 or "To edit, you need the Editor role" in proposed.err


def test_write_with_a_lost_response_is_found_and_not_sent_twice(demo: CommandLine) -> None:
    with sign_in_as(demo) as home, DroppingProxy(home.environ["OCTAVO_BASE_URL"]).running() as proxy:
        through = {"OCTAVO_BASE_URL": proxy.origin}
        proxy.drops_writes = proxy.is_down_after_write = True
        lost = home.run("comment", "handbook/2", "-m", "Sent once", "--wait", "4", environ=through)
        assert (lost.code, lost.out) == (7, "")
        assert lost.err == "octavo: The comment may have been sent. Octavo checks it; look with: octavo outbox\n"
        waiting = home.run("outbox", "--json", "state,text", environ=through).json
        assert waiting == [{"state": "unknown", "text": "Sent once"}]
        proxy.drops_writes = False
        later = home.run("comment", "handbook/2", "-m", "Another one", environ=through)
        assert later.code == 0, later.err
        assert thread_texts(home, "handbook/2").count("Sent once") == 1
        assert len(proxy.writes) == 2


def test_killed_command_loses_and_repeats_no_write(demo: CommandLine) -> None:
    with sign_in_as(demo) as home, DroppingProxy(home.environ["OCTAVO_BASE_URL"]).running() as proxy:
        through = {"OCTAVO_BASE_URL": proxy.origin}
        proxy.drops_writes = proxy.is_down_after_write = True
        command = home.command("comment", "handbook/2", "-m", "Survives")
        with subprocess.Popen(command, env={**home.environ, **through}, stdout=subprocess.PIPE) as running:
            assert proxy.written.wait(60)
            running.send_signal(signal.SIGKILL)
        proxy.drops_writes = False
        later = home.run("comment", "handbook/2", "-m", "Another one", environ=through)
        assert later.code == 0, later.err
        assert thread_texts(home, "handbook/2").count("Survives") == 1
        assert home.run("outbox").out == ""


def test_merge_with_a_lost_response_ends_with_7_and_runs_once(
    demo: CommandLine, octavo: Octavo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command runs in this process, so that it looks for the merge for 4 seconds instead of a minute."""
    monkeypatch.setattr(direct, "SEARCH_SECONDS", 4.0)
    with sign_in_as(demo) as home, DroppingProxy(home.environ["OCTAVO_BASE_URL"]).running() as proxy:
        monkeypatch.setenv("OCTAVO_API_KEY", home.environ["OCTAVO_API_KEY"])
        monkeypatch.setenv("OCTAVO_BASE_URL", proxy.origin)
        proxy.drops_writes = proxy.is_down_after_write = True
        lost = octavo("merge", "harbour-api/7", "--yes")
        assert (lost.code, lost.out) == (7, "")
        assert lost.err.endswith(
            "The merge of harbour-api/7 did not complete and was not retried. Check it, then merge again.\n"
        )
        proxy.drops_writes = False
        again = octavo("merge", "harbour-api/7", "--yes")
        assert again.code == 6
        assert "this change request is already merged" in again.err
        assert [each.rpartition("/")[2] for each in proxy.writes] == ["merge"]


def test_propose_killed_at_each_write_doubles_nothing(demo: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    with sign_in_as(demo) as home, DroppingProxy(home.environ["OCTAVO_BASE_URL"]).running() as proxy:
        through = {"OCTAVO_BASE_URL": proxy.origin}
        assert home.run("pull", "handbook", "docs", environ=through, cwd=demo.folder).code == 0
        docs = demo.folder / "docs"
        privacy, summary = docs / "people/privacy.md", docs / "SUMMARY.md"
        privacy.write_text(f"{privacy.read_text()}\nAsk for the key.\n")
        (docs / "lamp.md").write_text("# Lamp room\n\nKeep the lamp dry.\n")
        summary.write_text(f"{summary.read_text().rstrip()}\n* [Lamp room](lamp.md)\n")
        (docs / ".gitbook/assets/plan.txt").write_text("A plan.\n")
        home.environ |= through
        monkeypatch.chdir(docs)
        proxy.is_down_after_write = True
        kills = 0
        while kills < 8:
            proxy.drops_writes, proxy.answered_writes = True, len(proxy.writes)
            proxy.written.clear()
            with home.start("propose", "-m", "Lamp room") as running:
                while not proxy.written.wait(0.2) and running.poll() is None:
                    pass
                running.kill()
            proxy.drops_writes = False
            if not proxy.written.is_set():
                break
            kills += 1
        assert kills >= 3, "the command was killed after the creation, after an edit, and after the last write"
        listed = home.run("changes", "-s", "handbook", "--status", "all", "--all", "--json", "ref,subject,status").json
        (made,) = (each for each in listed if each["subject"] == "Lamp room")
        assert made["status"] == "open"
        pages = home.run("diff", made["ref"], "--json", "pages,files").json
        assert [(each["path"], each["change"]) for each in pages["pages"]] == [
            ("people/privacy", "edited"),
            ("people/lamp", "added"),
        ]
        assert [each["name"] for each in pages["files"]] == ["plan.txt"]
        assert home.run("show", f"{made['ref']}:people/privacy", "--raw").out.count("Ask for the key.") == 1
        assert (
            home.run("propose", environ=through, cwd=docs).out
            == f"No changes to propose that {made['ref']} does not have.\n"
        )


def test_comment_without_a_connection_stays_in_the_outbox(demo: CommandLine) -> None:
    with sign_in_as(demo) as home:
        assert home.run("show", "handbook/2").code == 0
        refused = home.run("comment", "handbook/2", "-m", "x", environ={"OCTAVO_BASE_URL": "http://127.0.0.1:9"})
    assert refused.code == 1
    assert "Could not comment: the connection to" in refused.err


def test_editor_writes_the_text_on_a_terminal(demo: CommandLine, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f"#!{sys.executable}\nimport sys\nopen(sys.argv[1], 'w').write('From the editor.\\n')\n")
    editor.chmod(0o700)
    with demo.terminal("comment", "handbook/2", "--demo", environ={"EDITOR": str(editor)}) as shown:
        assert shown.end() == 0
        assert "handbook/2@" in shown.look()
    rows = demo.run("show", "handbook/2", "--threads", "--json", "text", "--demo").json
    assert "From the editor." in [each["text"] for each in rows]


UNSAVING_EDITOR = """\
import os, resource, sys
from pathlib import Path

Path(sys.argv[1]).write_text("Not to be lost.")
resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
"""
"""Writes a text, and lets Octavo write no more files, as if the disk were full."""


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="this system cannot limit another process")
def test_text_of_the_editor_is_kept_if_it_cannot_be_stored(demo: CommandLine, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f"#!{sys.executable}\n{UNSAVING_EDITOR}")
    editor.chmod(0o700)
    environ = {"EDITOR": str(editor), "TMPDIR": str(tmp_path)}
    with demo.terminal("comment", "handbook/2", "--demo", columns=300, environ=environ) as shown:
        assert shown.end() == 1
        found = re.search(r"Your text is in (\S+\.md)\.", shown.look())
    assert found is not None, shown.look()
    assert Path(found[1]).read_text() == "Not to be lost."


def test_threads_are_resolved_after_the_reader_of_the_output_has_ended(demo: CommandLine) -> None:
    refs = [each["ref"] for each in demo.run("threads", "--demo", "--json", "ref", "--limit", "2").json]
    assert demo.run_with_closed_pipe("resolve", *refs, "--ndjson", "--demo").code == 0
    assert [demo.run("show", each, "--demo", "--json", "status").json["status"] for each in refs] == ["resolved"] * 2


def test_nothing_is_sent_if_standard_output_is_closed(demo: CommandLine) -> None:
    ran = demo.shell("octavo comment handbook/2 -m Unseen --demo >&-")
    assert (ran.code, ran.err) == (1, "octavo: Could not write the output: standard output is closed.\n")
    assert "Unseen" not in demo.run("threads", "handbook/2", "--demo", "--json", "text").out


def test_closed_standard_input_is_named(demo: CommandLine) -> None:
    ran = demo.shell("octavo --demo comment handbook/2 -F - <&-")
    assert (ran.code, ran.err) == (2, "octavo: Could not read standard input: it is closed.\n")


@pytest.mark.parametrize("variable", ["0", "1"])
def test_server_can_be_read_only_by_the_environment(demo: CommandLine, variable: str) -> None:
    with sign_in_as(CommandLine(demo.folder, {"OCTAVO_READ_ONLY": variable})) as home:
        ran = home.run("comment", "handbook/2", "-m", "x")
    assert ran.code == 0 if variable == "0" else "This server is read-only." in ran.err, ran.err


def test_threads_of_a_new_change_request_are_listed_and_found(library: Path, tmp_path: Path) -> None:
    demo = CommandLine(tmp_path).with_demo(library)
    assert demo.run("threads", "--demo", "-s", "handbook").code == 0  # the lists are cached now
    demo.run("api", "change_requests.Create", "spaceId=handbook", "subject=Tides", "--demo")
    written = demo.run("comment", "handbook/3", "-m", "Which tide?", "--demo", "--json", "id,ref").json
    assert demo.run("threads", "--demo", "-s", "handbook", "--json", "ref").json[0] == {"ref": written["ref"]}
    assert demo.run("show", written["id"], "--demo", "--json", "text").json == {"text": "Which tide?"}


def test_resolved_thread_is_found_where_no_thread_is_open(library: Path, tmp_path: Path) -> None:
    demo = CommandLine(tmp_path).with_demo(library)
    rows = demo.run("threads", "--demo", "-s", "stations", "--all", "--json", "id,change").json
    ids = [each["id"] for each in rows if each["change"] is None]
    assert demo.run("resolve", *ids, "--demo").code == 0
    assert demo.run("spaces", "--demo", "-q", '.[] | select(.ref == "stations").threadsOpen').out == "0\n"
    assert demo.run("show", ids[0], "--demo", "--json", "id,status").json == {"id": ids[0], "status": "resolved"}
    found = demo.run("search", "--in", "comments", "-s", "stations", "--demo", "auditors", "--json", "ref").json
    assert [each["ref"] for each in found] == ["stations@t89"]
