"""Several accounts of one server on one machine: no account shows or sends what another account read or wrote."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from octavo import settings
from octavo.api import comments, spaces, users
from octavo.api.bodies import Markdown
from octavo.api.operation import OrganizationRef, SpaceRef
from octavo.cli import sessions
from octavo.client import profiles
from octavo.client.profiles import Profiles
from octavo.data.response_cache import ResponseCache
from octavo.data.search_index import FILL_BATCH
from octavo.data.state_db import StateDb
from octavo.tui.core.session import Session
from tests.benchmarks.terminal import THIS_TREE, Terminal
from tests.cli.small_server import KEY, KEY_OF_JUN, NEXT_KEY
from tests.data.connections import add_write

ACME = OrganizationRef(organization_id="acme")
SPACES = spaces.List(at=ACME)
UNSENT_COMMENT = comments.Create(at=SpaceRef(space_id="s"), body=Markdown(markdown="Of Mia, and not sent."))


@asynccontextmanager
async def open_session(origin: str, key: str) -> AsyncIterator[Session]:
    """Yield a session as the app opens it with `key` in the environment. No request is sent before the session opens."""
    access = profiles.resolve_access(Profiles(), {"OCTAVO_API_KEY": key, "OCTAVO_BASE_URL": origin})
    session = sessions.open_server(settings.read(os.environ), access)
    try:
        yield session
    finally:
        await session.outbox.close(max_wait=0.1)
        await session.live.close()
        await session.close()


def shown_without_requests(session: Session) -> tuple[list[str], list[str], list[str]]:
    """Return the cached space titles, the drafts, and the texts in the outbox."""
    kept = session.live.peek(SPACES).value
    titles = [each.title for each in kept.items] if kept is not None else []
    drafts = sorted(each.text for each in session.drafts.all())
    return titles, drafts, [each.traits.text for each in session.outbox.entries]


def is_in_no_file(words: str, folder: Path) -> bool:
    return not any(words.encode() in each.read_bytes() for each in folder.rglob("*") if each.is_file())


@pytest.mark.usefixtures("octavo")
async def test_accounts_share_no_cache_drafts_or_outbox(server_url: str, tmp_path: Path) -> None:
    async with open_session(server_url, KEY) as mia:
        mia.on_first_paint()
        await mia.live.write(spaces.Create(at=ACME, title="Only for Mia"))
        await mia.live.fetch(SPACES)
        mia.drafts.save_now("reply s k", "Half a sen")
        await mia.live.fetch(users.Me())
    of_mia = (["Only for Mia"], ["Half a sen"], ["Of Mia, and not sent."])
    async with open_session(server_url, KEY) as mia:
        await add_write(mia.outbox, UNSENT_COMMENT, action="comment")
        assert shown_without_requests(mia) == of_mia

    for is_online in (False, True):
        async with open_session(server_url, KEY_OF_JUN) as jun:
            assert shown_without_requests(jun) == ([], ["Of Jun"] if is_online else [], [])
            assert jun.outbox.unsent_groups == []
            jun.drafts.save_now("reply s k", "Of Jun")
            if is_online:
                jun.on_first_paint()
                await jun.live.fetch(users.Me())
    async with open_session(server_url, KEY) as mia:
        assert shown_without_requests(mia) == of_mia

    async with open_session(server_url, NEXT_KEY) as mia:
        assert shown_without_requests(mia) == ([], [], []), "the user of this key is not known yet"
        mia.drafts.save_now("reply s k2", "With another key")
        mia.on_first_paint()
        await mia.live.fetch(users.Me())
    for key in (NEXT_KEY, KEY):
        async with open_session(server_url, key) as mia:
            assert shown_without_requests(mia) == (of_mia[0], ["Half a sen", "With another key"], of_mia[2])
    async with open_session(server_url, KEY_OF_JUN) as jun:
        assert shown_without_requests(jun)[1:] == (["Of Jun"], [])
    for key in (KEY, NEXT_KEY, KEY_OF_JUN):
        assert is_in_no_file(key, tmp_path)
    assert {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "state").iterdir()} == {0o600}


@pytest.mark.usefixtures("octavo")
async def test_saved_first_screen_is_not_shown_to_another_account(
    server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCTAVO_BASE_URL", server_url)
    async with open_session(server_url, KEY) as mia, open_session(server_url, KEY_OF_JUN) as jun:
        mia.drafts.save_now("reply s k", "Half a sen")
        for session in (mia, jun):
            session.state.set_value("greeted", True)  # The greeting would cover the first screen for 15 seconds.

    def run_app(key: str, *words: str, pictures: int) -> str:
        """Return all terminal output of a run. The run ends when the screen shows `words` and `pictures` first screens are saved."""
        with Terminal((sys.executable, "-m", "octavo"), {"OCTAVO_API_KEY": key, **THIS_TREE}) as app:
            app.wait_for(*words)
            while len(list((tmp_path / "cache").glob("first-screen-????????"))) < pictures:
                app.read(0.1)
            app.write(b"\x11")
            assert app.end() == 0
            return b"".join(each.data for each in app.chunks).decode("utf-8", "replace")

    run_app(KEY, "Half a sen", "updated", pictures=1)
    (picture,) = (tmp_path / "cache").glob("first-screen-????????")
    assert "Half a sen" in picture.read_text("utf-8"), "the saved screen must hold a draft of Mia"
    assert "Half a sen" not in run_app(KEY_OF_JUN, "Nothing needs you", "updated", pictures=2)


@pytest.mark.usefixtures("octavo")
def test_sign_out_deletes_the_cache_of_every_name_of_the_account() -> None:
    own = settings.read(os.environ)
    caches = [ResponseCache(own.cache_folder, name) for name in ("now", "before")]
    for each in caches:
        each.put_derived("image", lambda: b"secret")
        each.flush()
    sessions.sign_out(own, "now", "before", deletes_drafts=False)
    assert [each.read_derived("image") for each in caches] == [None, None]
    for each in caches:
        each.close()


@pytest.mark.usefixtures("octavo")
def test_sign_out_says_that_the_cache_could_not_be_deleted() -> None:
    own = settings.read(os.environ)
    (own.cache_folder / "cache-v1.db").mkdir(parents=True)
    (sentence,) = sessions.sign_out(own, "now", deletes_drafts=False).sentences()
    assert sentence.startswith("Could not delete the cached pages: ")


@pytest.mark.usefixtures("octavo")
def test_sign_out_keeps_a_write_of_another_version() -> None:
    own = settings.read(os.environ)
    state = StateDb(own.state_folder, "now")
    row = ("e1", "now", "queued", '{"method": "BREW", "url": "/v2/tea", "body": null}')
    state.write_now(lambda db: db.execute("INSERT INTO outbox (id, namespace, state, record) VALUES (?, ?, ?, ?)", row))
    sessions.sign_out(own, "now", deletes_drafts=True)
    assert state.rows("SELECT id, namespace, state, record FROM outbox") == [row]
    state.close()


@pytest.mark.usefixtures("octavo")
async def test_pages_loaded_just_before_the_end_are_found_by_the_next_run() -> None:
    code = (
        "import asyncio, os; from octavo import settings; from octavo.cli import sessions\n"
        "from octavo.api.content import GetPage, Page; from octavo.api.operation import SpaceRef\n"
        "session = sessions.open_demo(settings.read(os.environ)); index = session.search_index\n"
        "asyncio.run(index.search('slipway')); index.flush()\n"
        "for number in range(300):\n"
        "    op = GetPage(at=SpaceRef(space_id='docs'), page_id=f'p{number}', format='markdown')\n"
        "    page = Page(id=f'p{number}', title=f'Page {number}', markdown='slipway ' * 200)\n"
        "    session.live.cache.put(op, page); index.add(op, page)\n"
        "session.finish_writing()"
    )
    await asyncio.to_thread(subprocess.run, [sys.executable, "-c", code], env=os.environ | THIS_TREE, check=True)
    session = sessions.open_demo(settings.read(os.environ))
    await session.search_index.search("slipway")
    for _ in range(300 // FILL_BATCH + 2):
        await asyncio.to_thread(session.search_index.flush)
    assert (await session.search_index.counts(("docs",))).pages == 300
    await session.close()
