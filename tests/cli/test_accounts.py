"""Several accounts at one server on one machine: what one of them read or wrote is neither shown to another nor sent by it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from octavo import settings
from octavo.api import comments, spaces, users
from octavo.api.bodies import Markdown
from octavo.api.places import OrganizationRef, SpaceRef
from octavo.cli import sessions
from octavo.client import profiles
from octavo.client.profiles import Profiles
from octavo.tui.core.session import Session
from tests.benchmarks.terminal import Terminal
from tests.cli.small_server import KEY, KEY_OF_JUN, NEXT_KEY

ACME = OrganizationRef(organization_id="acme")
SPACES = spaces.List(at=ACME)
NOWHERE = comments.Create(at=SpaceRef(space_id="s"), body=Markdown(markdown="Of Mia, and not sent."))


@asynccontextmanager
async def started(origin: str, key: str) -> AsyncIterator[Session]:
    """What the app begins with where `key` is in the environment. Nothing is asked before it is opened."""
    access = profiles.resolve(Profiles(), {"OCTAVO_API_KEY": key, "OCTAVO_BASE_URL": origin})
    session = sessions.server(settings.read(os.environ), access)
    try:
        yield session
    finally:
        await session.outbox.close(max_wait=0.1)
        await session.live.close()
        await session.close()


def there(session: Session) -> tuple[list[str], list[str], list[str]]:
    """What can be shown of it at once: spaces, drafts, and what waits to be sent."""
    kept = session.live.peek(SPACES).value
    titles = [each.title for each in kept.items] if kept is not None else []
    drafts = sorted(each.text for each in session.drafts.all())
    return titles, drafts, [each.facts.text for each in session.outbox.entries]


def is_nowhere(words: str, folder: Path) -> bool:
    return not any(words.encode() in each.read_bytes() for each in folder.rglob("*") if each.is_file())


@pytest.mark.usefixtures("octavo")
async def test_an_account_sees_and_sends_nothing_of_another_and_all_of_its_own(served: str, tmp_path: Path) -> None:
    async with started(served, KEY) as mia:
        mia.on_first_paint()
        await mia.live.write(spaces.Create(at=ACME, title="Only for Mia"))
        await mia.live.fetch(SPACES)
        mia.drafts.save_now("reply s k", "Half a sen")
        await mia.live.fetch(users.Me())
    of_mia = (["Only for Mia"], ["Half a sen"], ["Of Mia, and not sent."])
    async with started(served, KEY) as mia:
        await mia.outbox.add(NOWHERE, action="comment")
        assert there(mia) == of_mia

    for is_online in (False, True):
        async with started(served, KEY_OF_JUN) as jun:
            assert there(jun) == ([], ["Of Jun"] if is_online else [], [])
            assert await jun.outbox.undo() is None
            jun.drafts.save_now("reply s k", "Of Jun")
            if is_online:
                jun.on_first_paint()
                await jun.live.fetch(users.Me())
    async with started(served, KEY) as mia:
        assert there(mia) == of_mia

    async with started(served, NEXT_KEY) as mia:
        assert there(mia) == ([], [], []), "nobody knows yet whose it is"
        mia.drafts.save_now("reply s k2", "With another key")
        mia.on_first_paint()
        await mia.live.fetch(users.Me())
    for key in (NEXT_KEY, KEY):
        async with started(served, key) as mia:
            assert there(mia) == (of_mia[0], ["Half a sen", "With another key"], of_mia[2])
    async with started(served, KEY_OF_JUN) as jun:
        assert there(jun)[1:] == (["Of Jun"], [])
    for key in (KEY, NEXT_KEY, KEY_OF_JUN):
        assert is_nowhere(key, tmp_path)
    assert {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "state").iterdir()} == {0o600}


@pytest.mark.usefixtures("octavo")
async def test_the_first_picture_is_of_nobody_else(
    served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OCTAVO_BASE_URL", served)
    async with started(served, KEY) as mia:
        mia.drafts.save_now("reply s k", "Half a sen")

    def written(key: str, *words: str, pictures: int) -> str:
        """What came to the terminal from the start until these were on it, and so many pictures are kept."""
        with Terminal((sys.executable, "-m", "octavo"), {"OCTAVO_API_KEY": key}) as app:
            app.wait_for(*words)
            while len(list((tmp_path / "cache").glob("first-screen-????????"))) < pictures:
                app.read(0.1)
            app.write(b"\x11")
            assert app.end() == 0
            return b"".join(each.data for each in app.chunks).decode("utf-8", "replace")

    written(KEY, "Half a sen", "updated", pictures=1)
    (picture,) = (tmp_path / "cache").glob("first-screen-????????")
    assert "Half a sen" in picture.read_text("utf-8"), "there is something to be shown of her"
    assert "Half a sen" not in written(KEY_OF_JUN, "Nothing needs you", "updated", pictures=2)
