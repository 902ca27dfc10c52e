"""Nothing typed is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from octavo.data.drafts import Drafts
from octavo.data.state import State
from tests.server.asking import Clock


def opened(folder: Path, clock: Clock) -> tuple[State, Drafts]:
    state = State(folder, "mia", now=clock)
    return state, Drafts(state)


async def test_a_draft_survives_its_instance(tmp_path: Path, clock: Clock) -> None:
    state, drafts = opened(tmp_path, clock)
    await drafts.save("a", "One")
    await drafts.save("a", "One two")
    drafts.save_now("b", "At the last moment")
    state.close()
    state, drafts = opened(tmp_path, clock)
    assert (drafts.get("a"), drafts.get("b"), drafts.get("c")) == ("One two", "At the last moment", None)
    await drafts.drop("a")
    assert [draft.place for draft in drafts.all()] == ["b"]
    state.close()


async def test_blank_text_is_no_draft(drafts: Drafts) -> None:
    await drafts.save("a", "One")
    await drafts.save("a", " \n")
    assert drafts.get("a") is None
    assert drafts.all() == ()


async def test_the_next_instance_takes_over_what_it_was_shown(tmp_path: Path, clock: Clock) -> None:
    state, drafts = opened(tmp_path, clock)
    await drafts.save("a", "One")
    state.close()
    state, drafts = opened(tmp_path, clock)
    assert drafts.get("a") == "One"
    await drafts.save("a", "One two")
    assert [draft.text for draft in drafts.versions("a")] == ["One two"]
    state.close()


async def test_two_instances_at_one_place_keep_two_versions(tmp_path: Path, clock: Clock) -> None:
    (first, one), (second, two) = opened(tmp_path, clock), opened(tmp_path, clock)
    await one.save("a", "One")
    assert two.get("a") == "One"
    clock.forward(seconds=1)
    await one.save("a", "One, and more")
    clock.forward(seconds=1)
    await two.save("a", "One, but other")
    assert [draft.text for draft in one.versions("a")] == ["One, but other", "One, and more"]
    assert (one.get("a"), two.get("a")) == ("One, and more", "One, but other")
    await two.drop("a")
    assert (one.get("a"), two.get("a")) == ("One, and more", "One, and more")
    first.close()
    second.close()


async def test_places_that_were_written_last_come_first(drafts: Drafts, clock: Clock) -> None:
    for place in ("a", "b", "a"):
        clock.forward(seconds=1)
        await drafts.save(place, f"At {place}")
    assert [(draft.place, draft.saved_at == clock()) for draft in drafts.all()] == [("a", True), ("b", False)]


def test_what_is_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from octavo.data.drafts import Drafts; from octavo.data.state import State\n"
        "async def main():\n"
        "    drafts = Drafts(State(Path(sys.argv[1]), 'mia'))\n"
        "    for number in range(100000):\n"
        "        await drafts.save('a', f'{number} ' * 200)\n"
        "        print(number, flush=True)\n"
        "asyncio.run(main())"
    )
    acknowledged = -1
    for until in (1, 7, 30):
        process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert process.stdout
        for line in process.stdout:
            acknowledged = int(line)
            if acknowledged == until:
                process.kill()
        process.wait()
        process.stdout.close()
        state = State(tmp_path, "mia")
        text = Drafts(state).get("a")
        assert text
        assert int(text.split()[0]) >= acknowledged
        assert len(set(text.split())) == 1, "Never half of one"
        assert state.notices == ()
        state.close()
