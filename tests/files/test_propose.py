"""`propose`: the changes in a folder become a change request."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import change_requests, content
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import Page, Revision
from octavo.api.operation import ChangeRequestRef, Operation
from octavo.documents.folders.layout import FolderLayout
from octavo.files import proposal
from octavo.files.proposal import Proposal, ProposalFailed
from octavo.files.proposal_plan import FileVersion, LinkConverter, ProposalPlan, page_change
from tests.data.connections import ProcessKilled, RequestGate
from tests.files.conftest import SETUP, PulledSide
from tests.server.space_editor import SpaceEditor, insert, update


async def propose(
    side: PulledSide, subject: str = "Better words", *, draft: bool = False
) -> tuple[ProposalPlan, ChangeRequest]:
    """Propose the changes of a folder. Fails if the plan is blocked."""
    proposal = Proposal(side.folder, side.live, side.client.download, subject)
    plan = await proposal.plan()
    assert plan.blocked == []
    return plan, await proposal.send(plan, is_draft=draft)


async def propose_into(side: PulledSide, request: ChangeRequest) -> tuple[ProposalPlan, ChangeRequest]:
    """Add the changes of a folder to a change request. Fails if the plan is blocked."""
    proposal = Proposal(side.folder, side.live, side.client.download, "x", into=request)
    plan = await proposal.plan()
    assert plan.blocked == []
    return plan, await proposal.send(plan, is_draft=False)


async def text_of(editor: SpaceEditor, at: ChangeRequestRef, title: str) -> str:
    page = await editor.page(title, at)
    return page.markdown or ""


async def test_edited_page_is_proposed_with_only_its_changes(docs: PulledSide, editor: SpaceEditor) -> None:
    docs.edit("setup.md", "Install", "Download")
    plan, request = await propose(docs)
    assert plan.summary == "1 page edited"
    at = request.ref(editor.space)
    assert (request.status, request.subject) == ("open", "Better words")
    assert await text_of(editor, at, "Setup") == SETUP.replace("Install", "Download")
    changes = (await editor.ask(content.ListChanges(at=at))).changes
    assert [(each.type, each.page and each.page.title) for each in changes] == [("page_edited", "Setup")]
    assert await editor.outline() == "Home Setup Usage"


async def test_titles_fields_places_and_deletions_are_proposed(docs: PulledSide, editor: SpaceEditor) -> None:
    docs.write(
        "setup.md",
        "---\ndescription: How to start\nhidden: true\n---\n\n# First steps\n\nInstall it.\n\nThen start it.\n",
    )
    (docs.top / "usage.md").unlink()
    docs.write("guides/README.md", "# Guides\n\nSee [setup](../setup.md) and [more](more.md).\n")
    docs.write("guides/more.md", "---\nicon: bolt\n---\n\n# More\n\nBack to [guides](README.md).\n")
    docs.write(
        "SUMMARY.md",
        "# Table of contents\n\n* [Guides](guides/README.md)\n  * [More](guides/more.md)\n  * [Setup](setup.md)\n* [Home](README.md)\n",
    )
    plan, request = await propose(docs)
    assert plan.summary == "1 page edited, 2 added, 1 moved, 1 deleted"
    at = request.ref(editor.space)
    assert await editor.outline(at) == "Guides(More First steps) Home"
    page = await editor.page("First steps", at)
    assert (page.description, page.hidden) == ("How to start", True)
    more = await editor.page("More", at)
    assert more.icon == "bolt"
    guides = await editor.page("Guides", at)
    assert guides.markdown == f"# Guides\n\nSee [setup](/pages/{page.id}) and [more](/pages/{more.id}).\n"
    assert f"/pages/{guides.id}" in (more.markdown or "")


async def test_merged_proposal_leaves_no_changes(docs: PulledSide, editor: SpaceEditor) -> None:
    docs.edit("setup.md", "Install", "Download")
    docs.write("guides/more.md", "# More\n\nText with [setup](../setup.md).\n")
    docs.edit("SUMMARY.md", "* [Setup](setup.md)\n", "* [Setup](setup.md)\n  * [More](guides/more.md)\n")
    before = docs.files()
    _, request = await propose(docs)
    await editor.merge(request.ref(editor.space))
    result = await docs.pull()
    assert result.conflicts == []
    assert docs.files() == before
    assert docs.status() == []


async def test_second_proposal_sends_no_change_twice(docs: PulledSide, editor: SpaceEditor) -> None:
    docs.edit("setup.md", "Install", "Download")
    docs.write("more.md", "# More\n\nText.\n")
    docs.edit("SUMMARY.md", "* [Setup]", "* [More](more.md)\n* [Setup]")
    _, request = await propose(docs)
    plan, again = await propose(docs)
    assert plan.is_empty
    assert again.id == request.id
    docs.edit("setup.md", "Download", "Fetch")
    docs.edit("more.md", "Text", "Words")
    plan, again = await propose(docs)
    assert (plan.summary, again.id) == ("2 pages edited", request.id)
    at = request.ref(editor.space)
    assert await editor.outline(at) == "Home More Setup Usage"
    assert "Fetch it." in await text_of(editor, at, "Setup")
    assert await text_of(editor, at, "More") == "# More\n\nWords.\n"


@pytest.mark.parametrize("into_another", [False, True])
async def test_page_of_a_merged_proposal_is_not_proposed_again_before_a_pull(
    docs: PulledSide, editor: SpaceEditor, into_another: bool
) -> None:
    docs.write("more.md", "# More\n\nText.\n")
    docs.edit("SUMMARY.md", "* [Setup]", "* [More](more.md)\n* [Setup]")
    _, request = await propose(docs)
    await editor.merge(request.ref(editor.space))
    docs.edit("more.md", "Text", "Words")
    into = await editor.get(await editor.propose()) if into_another else None
    plan = await Proposal(docs.folder, docs.live, docs.client.download, "x", into=into).plan()
    assert plan.summary == "1 page edited"


async def test_changes_after_a_merged_proposal_are_kept(docs: PulledSide, editor: SpaceEditor) -> None:
    docs.edit("setup.md", "Install", "Download")
    _, request = await propose(docs)
    docs.edit("setup.md", "Download", "Fetch")
    await editor.merge(request.ref(editor.space))
    result = await docs.pull()
    assert result.conflicts == []
    assert docs.read("setup.md") == SETUP.replace("Install", "Fetch")
    assert docs.status() == ["M setup.md"]


async def test_changes_on_main_are_merged_into_the_proposal(docs: PulledSide, editor: SpaceEditor) -> None:
    await editor.publish(
        update(await editor.id("Setup"), SETUP.replace("start", "run")), insert("# Help\n\nAsk.\n", at=1)
    )
    docs.edit("setup.md", "Install", "Download")
    docs.write("SUMMARY.md", "# Table of contents\n\n* [Home](README.md)\n* [Usage](usage.md)\n* [Setup](setup.md)\n")
    _, request = await propose(docs)
    at = request.ref(editor.space)
    assert await text_of(editor, at, "Setup") == SETUP.replace("start", "run").replace("Install", "Download")
    assert await editor.outline(at) in ("Home Help Usage Setup", "Home Usage Help Setup")


async def test_conflict_with_main_blocks_the_proposal(docs: PulledSide, editor: SpaceEditor) -> None:
    await editor.publish(update(await editor.id("Setup"), SETUP.replace("Install it.", "Fetch it.")))
    docs.edit("setup.md", "Install it.", "Download it.")
    plan = await Proposal(docs.folder, docs.live, docs.client.download, "x").plan()
    assert plan.blocked == ["setup.md: main changed the same words"]
    assert (await editor.ask(change_requests.List(at=editor.space, status="draft"))).items == ()


async def test_conflict_markers_in_a_new_page_block_the_proposal(docs: PulledSide) -> None:
    docs.write("more.md", "# More\n\n<<<<<<< yours\n\nA.\n\n=======\n\nB.\n\n>>>>>>> main\n")
    docs.edit("SUMMARY.md", "* [Setup]", "* [More](more.md)\n* [Setup]")
    plan = await Proposal(docs.folder, docs.live, docs.client.download, "x").plan()
    assert plan.blocked == ["more.md has conflict markers"]


async def test_conflict_markers_in_the_table_of_contents_block_the_proposal(docs: PulledSide) -> None:
    for title in ("Mine", "Theirs"):
        docs.write(f"{title}.md", f"# {title}\n")
    sides = "<<<<<<< HEAD\n* [Mine](Mine.md)\n\n=======\n* [Theirs](Theirs.md)\n\n>>>>>>> feature\n"
    docs.write("SUMMARY.md", f"{docs.read('SUMMARY.md')}\n{sides}")
    plan = await Proposal(docs.folder, docs.live, docs.client.download, "x").plan()
    assert plan.blocked == ["SUMMARY.md has conflict markers"]


async def test_merged_change_request_takes_no_proposal_and_the_last_one_stays_known(
    docs: PulledSide, editor: SpaceEditor
) -> None:
    at = await editor.propose(insert("# Help\n\nAsk.\n"))
    await editor.merge(at)
    docs.write("more.md", "# More\n\nText.\n")
    docs.edit("SUMMARY.md", "* [Setup]", "* [More](more.md)\n* [Setup]")
    _, request = await propose(docs)
    docs.edit("usage.md", "Press", "Hold")
    into_merged = Proposal(docs.folder, docs.live, docs.client.download, "x", into=await editor.get(at))
    with pytest.raises(ProposalFailed, match="Could not propose: #2 is merged"):
        await into_merged.plan()
    plan, later = await propose(docs)
    assert (plan.summary, later.id) == ("1 page edited", request.id)


async def test_change_that_the_api_does_not_support_is_named(docs: PulledSide) -> None:
    docs.write("setup.md", f"---\nlayout:\n  title:\n    visible: false\n---\n\n{SETUP}")
    docs.write("SUMMARY.md", docs.read("SUMMARY.md") + "\n## More\n\n* [Site](https://example.com)\n")
    docs.write("note.md", "# Note\n")
    (docs.top / ".gitbook/assets").mkdir(parents=True)
    (docs.top / ".gitbook/assets/big.bin").write_bytes(bytes(1_000_001))
    plan = await Proposal(docs.folder, docs.live, docs.client.download, "x").plan()
    assert sorted(plan.unsupported) == [
        ".gitbook/assets/big.bin larger than 1 MB",
        "SUMMARY.md new group “More”",
        "SUMMARY.md new link “Site”",
        "setup.md layout",
    ]
    assert plan.notes == ["note.md is not in SUMMARY.md, so it is not proposed."]


async def test_new_image_is_added_and_linked(docs: PulledSide, editor: SpaceEditor) -> None:
    (docs.top / ".gitbook/assets").mkdir(parents=True)
    (docs.top / ".gitbook/assets/lamp.png").write_bytes(b"\x89PNG lamp")
    docs.edit("setup.md", "Install it.", "![](.gitbook/assets/lamp.png)")
    before = docs.files()
    plan, request = await propose(docs)
    assert plan.summary == "1 page edited, 1 file added"
    await editor.merge(request.ref(editor.space))
    await docs.pull()
    assert docs.files() == before
    assert docs.status() == []


async def test_new_images_of_equal_name_and_size_are_linked_in_any_order_of_the_server(
    docs: PulledSide, editor: SpaceEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = docs.live.send

    async def send_newest_file_first(op: Operation[Any]) -> Any:
        response = await send(op)
        is_revision = isinstance(response, Revision)
        return response.model_copy(update={"files": response.files[::-1]}) if is_revision else response

    for name, picture in (("setup", b"\x89PNG lamp"), ("usage", b"\x89PNG bell")):
        (docs.top / f".gitbook/assets/{name}").mkdir(parents=True)
        (docs.top / f".gitbook/assets/{name}/icon.png").write_bytes(picture)
    docs.edit("setup.md", "Install it.", "![](.gitbook/assets/setup/icon.png)")
    docs.edit("usage.md", "Press a key.", "![](.gitbook/assets/usage/icon.png)")
    monkeypatch.setattr(docs.live, "send", send_newest_file_first)
    _, request = await propose(docs)
    at = request.ref(editor.space)
    files = {each.id: each for each in (await editor.ask(content.Get(at=at))).files}
    for title, picture in (("Setup", b"\x89PNG lamp"), ("Usage", b"\x89PNG bell")):
        (file_id,) = [each for each in files if each in await text_of(editor, at, title)]
        assert await docs.reader(at).file(files[file_id]) == picture


async def test_proposal_into_an_edited_change_request_needs_the_option(docs: PulledSide, editor: SpaceEditor) -> None:
    docs.edit("setup.md", "Install", "Download")
    _, request = await propose(docs)
    await editor.edit(request.ref(editor.space), update(await editor.id("Usage"), "# Usage\n\nTheirs.\n"))
    docs.edit("setup.md", "Download", "Fetch")
    with pytest.raises(ProposalFailed, match=f"octavo propose --into {request.number}") as failed:
        await propose(docs)
    assert failed.value.kind == "blocked"
    found = await editor.get(request.ref(editor.space))
    proposal = Proposal(docs.folder, docs.live, docs.client.download, "x", into=found)
    await proposal.send(await proposal.plan(), is_draft=False)
    assert "Fetch" in await text_of(editor, request.ref(editor.space), "Setup")
    assert "Theirs" in await text_of(editor, request.ref(editor.space), "Usage")


async def test_interrupted_proposal_sends_two_pages_with_one_title_only_once(
    docs: PulledSide, editor: SpaceEditor
) -> None:
    docs.write("setup/notes.md", "# Notes\n\nOne.\n")
    docs.write("usage/notes.md", "# Notes\n\nTwo.\n")
    entries = "* [Setup](setup.md)\n  * [Notes](setup/notes.md)\n* [Usage](usage.md)\n  * [Notes](usage/notes.md)\n"
    docs.write("SUMMARY.md", f"# Table of contents\n\n* [Home](README.md)\n{entries}")
    _, request = await propose(docs)
    folder = docs.folder
    folder.proposal = {"changeRequest": request.id, "number": request.number, "isComplete": False}
    folder.save()
    plan, again = await propose(docs)
    assert (plan.new_pages, again.id) == ({}, request.id)
    assert await editor.outline(request.ref(editor.space)) == "Home Setup(Notes) Usage(Notes)"


@pytest.mark.parametrize("arrives", [True, False])
async def test_interrupted_proposal_does_not_continue_in_an_earlier_draft(
    arrives: bool, docs: PulledSide, editor: SpaceEditor
) -> None:
    draft = change_requests.Create(at=editor.space, subject="Better words")
    earlier = await editor.ask(draft)
    docs.edit("setup.md", "Install", "Download")

    async def cut(op: Operation[Any]) -> Any:
        if isinstance(op, change_requests.Create):
            if arrives:
                await docs.client(op)
            raise ProcessKilled
        return await docs.client(op)

    docs.live.send = cut
    with pytest.raises(ProcessKilled):
        await propose(docs)
    docs.live.send = docs.client
    _, request = await propose(docs)
    assert request.id != earlier.id
    drafts = await editor.ask(change_requests.List(at=editor.space, status="draft"))
    assert [each.id for each in drafts.items] == [earlier.id]


async def test_linked_file_with_a_space_in_its_name_is_proposed(docs: PulledSide) -> None:
    (docs.top / "images").mkdir()
    (docs.top / "images/my lamp.png").write_bytes(b"\x89PNG lamp")
    docs.edit("setup.md", "Install it.", "![](images/my%20lamp.png)")
    plan, _ = await propose(docs)
    assert list(plan.new_files) == ["images/my lamp.png"]


async def test_page_with_a_suffix_in_capitals_is_proposed_once(docs: PulledSide) -> None:
    docs.write("New.MD", "# New\n\nWords.\n")
    assert docs.status() == ["? New.MD"]
    docs.edit("SUMMARY.md", "* [Setup](setup.md)", "* [Setup](setup.md)\n* [New](New.MD)")
    plan, _ = await propose(docs)
    assert plan.summary == "1 page added"


async def test_links_of_an_edited_page_lead_to_new_pages_and_files(docs: PulledSide, editor: SpaceEditor) -> None:
    docs.write("more/new.md", "# New\n\n## Step:1\n\nBack to [setup](../setup.md).\n")
    docs.write(".gitbook/assets/lamp.png", "a picture")
    docs.edit("SUMMARY.md", "* [Setup](setup.md)", "* [Setup](setup.md)\n* [New](more/new.md)")
    docs.edit("setup.md", "Install it.", "See [this](more/new.md#step:1). ![](.gitbook/assets/lamp.png)")
    before = docs.files()
    _, request = await propose(docs)
    at = request.ref(editor.space)
    page = (await editor.page("New", at)).id
    (file,) = (await editor.ask(content.ListFiles(at=at))).items
    assert f"See [this](/pages/{page}#step:1). ![](/files/{file.id})" in await text_of(editor, at, "Setup")
    assert f"[setup](/pages/{await editor.id('Setup')})" in await text_of(editor, at, "New")
    await editor.merge(at)
    await docs.pull()
    assert (docs.files(), docs.status()) == (before, [])


async def test_new_pages_follow_the_table_of_contents_and_new_files_their_names(docs: PulledSide) -> None:
    names = ["seal", "pier", "tide", "boat", "mast", "rope"]
    for name in names:
        docs.write(f"{name}.md", f"# {name}\n")
        docs.write(f".gitbook/assets/{name}.png", name)
    docs.write("SUMMARY.md", docs.read("SUMMARY.md") + "".join(f"* [{name}]({name}.md)\n" for name in names))
    plan = await Proposal(docs.folder, docs.live, docs.client.download, "x").plan()
    assert [each.path for each in plan.new_pages.values()] == [f"{name}.md" for name in names]
    assert list(plan.new_files) == [f".gitbook/assets/{name}.png" for name in sorted(names)]


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_edit_of_others_during_a_proposal_is_reported_and_kept(
    moment: str, docs: PulledSide, editor: SpaceEditor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposal, "MAX_EDIT_BYTES", 1)  # Each page is sent in an edit of its own.
    docs.edit("setup.md", "Install", "Download")
    docs.edit("usage.md", "# Usage", "# Usage\n\nOurs.")
    theirs, has_edited = update(await editor.id("Usage"), "# Usage\n\nTheirs.\n"), False

    async def edit_at_the_same_time(op: Operation[Any]) -> Any:
        nonlocal has_edited
        if has_edited or not isinstance(op, content.Edit):
            return await docs.client(op)
        has_edited = True
        if moment == "before":
            await editor.edit(op.at, theirs)
        answer = await docs.client(op)
        if moment == "after":
            await editor.edit(op.at, theirs)
        return answer

    docs.live.send = edit_at_the_same_time
    with pytest.raises(ProposalFailed):
        await propose(docs)
    (draft,) = (await editor.ask(change_requests.List(at=editor.space, status="draft"))).items
    assert "Theirs" in await text_of(editor, draft.ref(editor.space), "Usage")


async def test_edits_are_limited_in_bytes(docs: PulledSide, gate: RequestGate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposal, "MAX_EDIT_BYTES", 1000)
    entries = "".join(f"* [{name}]({name}.md)\n" for name in "ab")
    for name in "ab":
        docs.write(f"{name}.md", f"# {name}\n\n{'あ' * 300}\n")
    docs.write("SUMMARY.md", docs.read("SUMMARY.md") + entries)
    await propose(docs)
    assert [len(op.changes) for op in gate.requests if isinstance(op, content.Edit)] == [1, 1]


async def test_text_that_is_not_utf_8_is_not_proposed(docs: PulledSide) -> None:
    (docs.top / "setup.md").write_bytes("# Setup\n\nInstallé.\n".encode("latin-1"))
    (docs.top / "new.md").write_bytes("# Fermé\n".encode("latin-1"))
    docs.edit("SUMMARY.md", "* [Setup](setup.md)", "* [Setup](setup.md)\n* [New](new.md)")
    plan = await Proposal(docs.folder, docs.live, docs.client.download, "x").plan()
    assert plan.is_empty
    assert sorted(plan.unsupported) == ["new.md text, which is not UTF-8", "setup.md text, which is not UTF-8"]


async def test_file_that_only_code_links_to_is_not_proposed(docs: PulledSide) -> None:
    docs.write("keys/example.txt", "words")
    docs.edit("setup.md", "Install it.", "```md\n[the key](keys/example.txt)\n```")
    plan = await Proposal(docs.folder, docs.live, docs.client.download, "x").plan()
    assert (plan.new_files, plan.summary) == ({}, "1 page edited")


def test_empty_description_on_main_is_no_change() -> None:
    before, mine = (FileVersion("a.md", text, "A") for text in ("# A\n", "---\ndescription: New\n---\n\n# A\n"))
    page = Page(id="a", title="A", path="a", slug="a", description="")
    targets = LinkConverter(FolderLayout.of(Revision(id="r", pages=(page,)), "s"))
    change = page_change(before, mine, page, None, targets)
    assert (change.blocked, change.fields) == ([], {"description": "New"})


async def test_page_that_an_earlier_proposal_deleted_is_restored_with_its_id(
    docs: PulledSide, editor: SpaceEditor
) -> None:
    text, summary, page_id = docs.read("usage.md"), docs.read("SUMMARY.md"), await editor.id("Usage")
    (docs.top / "usage.md").unlink()
    docs.edit("SUMMARY.md", "* [Usage](usage.md)\n", "")
    _, request = await propose(docs)
    docs.write("usage.md", text.replace("Press", "Hold"))
    docs.write("SUMMARY.md", summary)
    plan, again = await propose(docs)
    assert (plan.summary, again.id) == ("1 page edited, 1 restored", request.id)
    at = request.ref(editor.space)
    assert await editor.outline(at) == "Home Setup Usage"
    restored = await editor.page("Usage", at)
    assert (restored.id, restored.markdown) == (page_id, text.replace("Press", "Hold"))


async def test_subpages_of_a_restored_page_stay_deleted(docs: PulledSide, editor: SpaceEditor) -> None:
    docs.write("SUMMARY.md", "* [Home](README.md)\n* [Setup](setup.md)\n  * [Usage](usage.md)\n")
    _, request = await propose(docs)
    await editor.merge(request.ref(editor.space))
    await docs.pull()
    for name in ("setup.md", "setup/usage.md"):
        (docs.top / name).unlink()
    docs.write("SUMMARY.md", "* [Home](README.md)\n")
    _, request = await propose(docs)
    assert await editor.outline(request.ref(editor.space)) == "Home"
    docs.write("setup.md", SETUP)
    docs.write("SUMMARY.md", "* [Setup](setup.md)\n* [Home](README.md)\n")
    await propose(docs)
    assert await editor.outline(request.ref(editor.space)) == "Setup Home"


async def test_new_page_that_was_deleted_can_be_added_again(docs: PulledSide, editor: SpaceEditor) -> None:
    summary = docs.read("SUMMARY.md")
    longer_summary = summary.replace("* [Setup]", "* [More](more.md)\n* [Setup]")
    for listed, outline in ((longer_summary, "Home More Setup Usage"), (summary, "Home Setup Usage")) * 2:
        docs.write("SUMMARY.md", listed)
        if "More" in outline:
            docs.write("more.md", "# More\n\nText.\n")
        else:
            (docs.top / "more.md").unlink()
        _, request = await propose(docs)
        assert await editor.outline(request.ref(editor.space)) == outline


async def test_page_that_was_added_and_deleted_since_the_pull_is_named(docs: PulledSide, editor: SpaceEditor) -> None:
    summary = docs.read("SUMMARY.md")
    longer_summary = summary.replace("* [Setup]", "* [More](more.md)\n* [Setup]")
    for listed in (longer_summary, summary):
        docs.write("SUMMARY.md", listed)
        if listed != summary:
            docs.write("more.md", "# More\n\nText.\n")
        else:
            (docs.top / "more.md").unlink()
        _, request = await propose(docs)
        await editor.merge(request.ref(editor.space))
    docs.write("SUMMARY.md", longer_summary)
    docs.write("more.md", "# More\n\nText.\n")
    plan = await Proposal(docs.folder, docs.live, docs.client.download, "Again").plan()
    assert plan.is_empty
    assert plan.notes == [
        "more.md is not proposed, because its page was deleted. To add it as a new page, run octavo pull first."
    ]
    await docs.pull()
    plan, _ = await propose(docs)
    assert plan.summary == "1 page added"


async def test_page_edited_by_an_earlier_proposal_can_be_deleted(docs: PulledSide, editor: SpaceEditor) -> None:
    docs.edit("usage.md", "Press", "Hold")
    await propose(docs)
    (docs.top / "usage.md").unlink()
    docs.edit("SUMMARY.md", "* [Usage](usage.md)\n", "")
    _, request = await propose(docs)
    assert await editor.outline(request.ref(editor.space)) == "Home Setup"


async def test_file_that_is_renamed_and_rewritten_in_several_proposals_stays_one_page(
    docs: PulledSide, editor: SpaceEditor
) -> None:
    texts = (
        docs.read("setup.md"),
        "# First steps\n\nDownload everything.\n",
        "# First steps\n\nDownload everything.\n",
    )
    for old, new, text in zip(("setup", "start", "start"), ("start", "start", "begin"), texts, strict=True):
        (docs.top / f"{old}.md").rename(docs.top / f"{new}.md")
        docs.write(f"{new}.md", text)
        docs.edit("SUMMARY.md", f"({old}.md)", f"({new}.md)")
        plan, request = await propose(docs)
        assert plan.summary == "1 page edited"
    at = request.ref(editor.space)
    assert await editor.outline(at) == "Home First steps Usage"
    assert (await editor.page("First steps", at)).slug == "begin"


async def kill_at(docs: PulledSide, number: int, kind: type[Operation[Any]]) -> None:
    """Propose an edit of Setup, and end the process instead of sending the operation of a kind with this number."""
    docs.edit("setup.md", "Install", "Download")
    count = 0

    async def send(op: Operation[Any]) -> Any:
        nonlocal count
        count += isinstance(op, kind)
        if count == number:
            raise ProcessKilled
        return await docs.client(op)

    docs.live.send = send
    with pytest.raises(ProcessKilled):
        await propose(docs)
    docs.live.send = docs.client


async def test_words_can_change_again_after_a_proposal_that_ended_early(docs: PulledSide, editor: SpaceEditor) -> None:
    await kill_at(docs, 2, change_requests.Get)
    docs.edit("setup.md", "Download", "Fetch")
    plan, request = await propose(docs)
    assert plan.summary == "1 page edited"
    assert "Fetch it." in await text_of(editor, request.ref(editor.space), "Setup")


async def test_links_of_a_new_page_are_complete_after_an_interruption(docs: PulledSide, editor: SpaceEditor) -> None:
    docs.write("guides/README.md", "# Guides\n\nSee [more](more.md).\n")
    docs.write("guides/more.md", "# More\n\nText.\n")
    docs.edit("SUMMARY.md", "* [Setup]", "* [Guides](guides/README.md)\n  * [More](guides/more.md)\n* [Setup]")
    await kill_at(docs, 2, content.Edit)
    _, request = await propose(docs)
    at = request.ref(editor.space)
    more = await editor.page("More", at)
    assert await editor.outline(at) == "Home Guides(More) Setup Usage"
    assert await text_of(editor, at, "Guides") == f"# Guides\n\nSee [more](/pages/{more.id}).\n"


async def test_new_page_whose_text_begins_like_front_matter_keeps_its_text(
    docs: PulledSide, editor: SpaceEditor
) -> None:
    docs.write("more.md", "---\ndescription: About\n---\n\n---\ntide: high\n---\n\nText.\n")
    docs.edit("SUMMARY.md", "* [Setup]", "* [More](more.md)\n* [Setup]")
    before = docs.files()
    _, request = await propose(docs)
    assert "tide: high" in await text_of(editor, request.ref(editor.space), "More")
    await editor.merge(request.ref(editor.space))
    await docs.pull()
    assert docs.files() == before


async def test_program_that_waited_for_the_folder_sends_nothing_twice(docs: PulledSide) -> None:
    docs.edit("setup.md", "Install", "Download")
    folder = docs.folder
    await propose(docs)
    with folder.locked() as current_folder:
        plan = await Proposal(current_folder, docs.live, docs.client.download, "x").plan()
    assert plan.is_empty


async def test_proposed_links_lead_to_pages_that_move_later(docs: PulledSide, editor: SpaceEditor) -> None:
    docs.edit("setup.md", "Install it.", "See [usage](usage.md).")
    _, request = await propose(docs)
    await editor.merge(request.ref(editor.space))
    usage = await editor.id("Usage")
    await editor.publish(content.UpdatePage(page=usage, into=await editor.id("Home"), at=0))
    await docs.pull()
    assert "See [usage](home/usage.md)." in docs.read("setup.md")


async def test_proposed_file_outside_of_the_assets_is_not_reported_as_deleted(
    docs: PulledSide, editor: SpaceEditor
) -> None:
    docs.write("images/lamp.png", "a picture")
    docs.edit("setup.md", "Install it.", "![](images/lamp.png)")
    await propose(docs)
    docs.edit("usage.md", "Press", "Hold")
    plan, request = await propose(docs)
    assert (plan.summary, plan.unsupported) == ("1 page edited", [])
    (file,) = (await editor.ask(content.ListFiles(at=request.ref(editor.space)))).items
    assert f"/files/{file.id}" in await text_of(editor, request.ref(editor.space), "Setup")


async def test_edit_of_a_page_that_the_change_request_lacks_needs_an_update_from_main(
    docs: PulledSide, editor: SpaceEditor
) -> None:
    docs.edit("setup.md", "Install", "Download")
    _, request = await propose(docs)
    at = request.ref(editor.space)
    await editor.publish(insert("# Help\n\nAsk.\n"))
    await docs.pull()
    plan = await Proposal(docs.folder, docs.live, docs.client.download, "x").plan()
    assert (plan.is_empty, plan.blocked) == (True, [])
    docs.edit("help.md", "Ask", "Read")
    blocked = Proposal(docs.folder, docs.live, docs.client.download, "x")
    assert (await blocked.plan()).blocked != []
    assert blocked.conflict_advice == f"Update #{request.number} from main, then propose again"
    await editor.ask(change_requests.UpdateFromMain(at=at))
    proposal = Proposal(docs.folder, docs.live, docs.client.download, "x", into=await editor.get(at))
    plan = await proposal.plan()
    assert (plan.summary, plan.blocked) == ("1 page edited", [])
    await proposal.send(plan, is_draft=False)
    assert "Read" in await text_of(editor, at, "Help")


LOCAL_CONTENTS = """# Table of contents

* [Home](README.md "Start")

## Guides

* [Setup](setup.md)
* [Usage](usage.md)
* [More](more.md "M")

***

* [Site](https://a.example)
"""


async def test_changes_left_out_of_a_partial_proposal_are_named_again_and_survive_its_merge(
    docs: PulledSide, editor: SpaceEditor
) -> None:
    docs.write("SUMMARY.md", LOCAL_CONTENTS)
    docs.write("setup.md", f"---\nlayout:\n  width: wide\ntags: a\n---\n\n{SETUP.replace('Install', 'Download')}")
    docs.write("more.md", "---\nicon: bolt\nlayout:\n  width: wide\n---\n\n# More\n\nText.\n")
    before = docs.files()
    plan, request = await propose(docs)
    left_out = sorted(plan.unsupported)
    assert left_out == [
        "SUMMARY.md new group “Guides”",
        "SUMMARY.md new link “Site”",
        "SUMMARY.md short title of “Home”",
        "SUMMARY.md short title of “More”",
        "more.md layout",
        "setup.md layout",
        "setup.md tags",
    ]
    plan, _ = await propose(docs)
    assert (plan.is_empty, sorted(plan.unsupported)) == (True, left_out)
    await editor.merge(request.ref(editor.space))
    result = await docs.pull()
    assert (result.conflicts, docs.files()) == ([], before)
    plan, _ = await propose(docs)
    assert (plan.is_empty, sorted(plan.unsupported)) == (True, left_out)


async def test_listed_page_without_a_file_is_not_added_by_a_later_proposal(
    docs: PulledSide, editor: SpaceEditor
) -> None:
    docs.edit("setup.md", "Install", "Download")
    docs.edit("SUMMARY.md", "* [Setup]", "* [Later](later.md)\n* [Setup]")
    for _ in range(2):
        plan, request = await propose(docs)
        assert plan.notes == ["later.md does not exist, so it is not proposed."]
        assert await editor.outline(request.ref(editor.space)) == "Home Setup Usage"


async def test_page_that_a_pull_could_not_write_is_not_added_as_an_empty_page(
    docs: PulledSide, editor: SpaceEditor
) -> None:
    (docs.top / "home").symlink_to(docs.top.parent)
    await editor.publish(insert("# Help\n\nAsk.\n", into=await editor.id("Home")))
    assert [each.path for each in (await docs.pull()).skipped] == ["home/help.md"]
    docs.edit("setup.md", "Install", "Download")
    _, request = await propose(docs)
    assert await editor.outline(request.ref(editor.space)) == "Home(Help) Setup Usage"


@pytest.mark.parametrize("is_folder", [True, False])
async def test_page_that_is_replaced_by_a_link_is_not_deleted(
    docs: PulledSide, editor: SpaceEditor, is_folder: bool
) -> None:
    await editor.publish(insert("# Help\n\nAsk.\n", into=await editor.id("Usage")))
    await docs.pull()
    moved = "usage" if is_folder else "usage/help.md"
    (docs.top / moved).rename(docs.top.parent / "elsewhere")
    (docs.top / moved).symlink_to(docs.top.parent / "elsewhere")
    await editor.publish(update(await editor.id("Setup"), SETUP.replace("Install", "Download")))
    for run in (docs.pull, lambda: propose(docs)):
        with pytest.raises(OSError, match=r"usage/help\.md is a symbolic link, or is behind one"):
            await run()
    (docs.top / moved).unlink()
    (docs.top.parent / "elsewhere").rename(docs.top / moved)
    assert docs.status() == []


async def test_short_title_of_a_deleted_page_is_not_named(docs: PulledSide) -> None:
    docs.edit("SUMMARY.md", "(setup.md)", '(setup.md "S")')
    (docs.top / "setup.md").unlink()
    plan, _ = await propose(docs)
    assert (plan.summary, plan.unsupported) == ("1 page deleted", [])


async def test_deleted_file_that_is_still_listed_is_restored_by_a_later_proposal(
    docs: PulledSide, editor: SpaceEditor
) -> None:
    (docs.top / "setup.md").unlink()
    _, request = await propose(docs)
    assert await editor.outline(request.ref(editor.space)) == "Home Usage"
    docs.write("setup.md", SETUP)
    await propose(docs)
    assert await editor.outline(request.ref(editor.space)) == "Home Setup Usage"


async def test_proposals_to_two_change_requests_in_turn_add_each_page_once(
    docs: PulledSide, editor: SpaceEditor
) -> None:
    docs.write("guides/more.md", "# More\n\nText.\n")
    docs.edit("SUMMARY.md", "* [Setup](setup.md)\n", "* [Setup](setup.md)\n  * [More](guides/more.md)\n")
    _, first = await propose(docs)
    second = await editor.propose(update(await editor.id("Usage"), "# Usage\n\nTheirs.\n"))
    await propose_into(docs, await editor.get(second))
    assert await editor.outline(second) == "Home Setup(More) Usage"
    docs.write("guides/more.md", "# More\n\nBetter text.\n")
    for at in (first.ref(editor.space), second, first.ref(editor.space)):
        await propose_into(docs, await editor.get(at))
        assert await editor.outline(at) == "Home Setup(More) Usage"
        assert "Better text." in await text_of(editor, at, "More")
