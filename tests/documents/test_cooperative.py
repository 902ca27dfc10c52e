"""Work that stops wherever its time is up."""

import threading

import pytest

from octavo.documents.blocks import Block
from octavo.documents.cooperative import Pausing, breathe
from octavo.documents.normalize import Sealer
from octavo.documents.parse import Reading, parse
from octavo.documents.tree import Draft

LONG = {
    "list": "* an item and *more*\n" * 300,
    "quote": "> words\n>\n" * 300,
    "table": "| a | b |\n| - | - |\n" + "| c | d |\n" * 300,
    "table in HTML": f"<table>{'<tr><td>c</td></tr>' * 300}</table>",
    "links": "[a](b) " * 300,
}


@pytest.mark.parametrize("page", [pytest.param(page, id=name) for name, page in LONG.items()])
def test_one_long_block_is_read_with_pauses(page: str) -> None:
    reading = Reading(page)
    pauses = 0
    while not reading.is_done:
        reading.read(0)
        pauses += 1
    assert pauses > 300
    assert reading.document == parse(page)


IN_ALL = {
    "labels that define nothing": "[a](b) " * 300 + "\n\n[c]: d\n",
    "ends of tags": "{% endhint %}\n\n" * 300,
    "ends of formulas": "$$\na\n$$\n\n" * 300,
    "ends of what may be no element": "</b> " * 300,
}


@pytest.mark.parametrize("rest", [pytest.param(rest, id=name) for name, rest in IN_ALL.items()])
def test_what_is_looked_for_in_all_of_a_page_before_its_first_block_is_known_is_looked_for_with_pauses(
    rest: str,
) -> None:
    reading = Reading(f"# To <your harbour>\n\n{'words ' * 700}\n\n{rest}")
    pauses = 0
    while not reading.blocks:
        reading.read(0, 1)
        pauses += 1
    reading.end()
    assert pauses > 300


def test_a_long_text_gets_its_key_with_pauses() -> None:
    blocks: list[Block] = []
    drafts = [Draft("code", text="many words\n" * 30_000)]
    work = Pausing(lambda: blocks.extend(Sealer().take(drafts)))
    pauses = 0
    while not work.is_done:
        work.go_on(0)
        pauses += 1
    assert pauses > 30
    assert len(blocks) == 1


def test_work_goes_on_where_it_stopped() -> None:
    done: list[int] = []

    def deep(number: int) -> None:
        breathe()
        done.append(number)
        if number < 5:
            deep(number + 1)

    work = Pausing(lambda: deep(0))
    for count in range(6):
        work.go_on(0)
        assert done == list(range(count))
    work.go_on()
    assert work.is_done
    assert done == list(range(6))


def test_what_goes_wrong_is_raised_where_the_work_is_waited_for() -> None:
    def wrong() -> None:
        breathe()
        raise ValueError("wrong")

    work = Pausing(wrong)
    work.go_on(0)
    with pytest.raises(ValueError, match="wrong"):
        work.go_on(0)


def test_what_is_left_ends() -> None:
    reading = Reading(LONG["list"])
    reading.read(0)
    assert any(thread.name == "octavo-reading" for thread in threading.enumerate())
    reading.end()
    assert all(thread.name != "octavo-reading" for thread in threading.enumerate())
    assert not reading.read()
