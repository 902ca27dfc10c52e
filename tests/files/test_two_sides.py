"""Random edits in two folders of one space, with pull, propose and merge: no word is lost, duplicated or invented."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from octavo.documents.folders.folder import ContentsEntry, walk_entries
from octavo.documents.folders.table_of_contents import write_summary
from octavo.files.local_changes import LocalFiles
from octavo.files.proposal import Proposal
from tests.files.conftest import PulledSide
from tests.server.small_platform import Ask
from tests.server.space_editor import SpaceEditor

EDITS = 5
"""Edits of one side in one round."""
ROUNDS = 10
WORD = re.compile(r"\bw\d+\b")
_CONFLICT = re.compile(r"^<<<<<<< yours\n(.*?)^=======\n(.*?)^>>>>>>> main\n", re.MULTILINE | re.DOTALL)


@dataclass
class Words:
    """Unique words, and what happened to each."""

    count: int = 0
    written: set[str] = field(default_factory=set)
    deleted: set[str] = field(default_factory=set)

    def create(self) -> str:
        self.count += 1
        self.written.add(f"w{self.count}")
        return f"w{self.count}"


@dataclass
class Editor:
    """Edits a pulled folder at random."""

    side: PulledSide
    words: Words
    random: Random
    log: list[str] = field(default_factory=list)

    def edit(self) -> None:
        """Make one random edit that is possible."""
        kinds = [self._add_words, self._add_words, self._add_paragraph, self._delete_paragraph, self._retitle]
        kinds += [self._add_page, self._delete_page, self._move_page, self._rename_file, self._describe]
        while not self.random.choice(kinds)():
            pass

    def _pages(self) -> list[str]:
        return [each.path.as_posix() for each in walk_entries(self._entries()) if each.path is not None]

    def _entries(self) -> list[ContentsEntry]:
        return LocalFiles.read(self.side.folder).entries

    def _paragraphs(self, path: str) -> tuple[list[str], int]:
        """Return the blocks of a page and the index of a random paragraph. The index is -1 without a paragraph."""
        blocks = self.side.read(path).rstrip("\n").split("\n\n")
        plain = [number for number, block in enumerate(blocks) if not block.startswith(("#", "---"))]
        return blocks, self.random.choice(plain) if plain else -1

    def _write(self, path: str, blocks: list[str]) -> None:
        self.side.write(path, "\n\n".join(blocks) + "\n")

    def _add_words(self) -> bool:
        path = self.random.choice(self._pages())
        blocks, number = self._paragraphs(path)
        if number < 0:
            return False
        words = blocks[number].split(" ")
        words.insert(self.random.randint(0, len(words)), self.words.create())
        blocks[number] = " ".join(words)
        self._write(path, blocks)
        return self._log_edit(f"{words} in {path}")

    def _add_paragraph(self) -> bool:
        path = self.random.choice(self._pages())
        blocks, number = self._paragraphs(path)
        blocks.insert(
            number + 1 if number >= 0 else len(blocks), f"Also {self.words.create()} and {self.words.create()}."
        )
        self._write(path, blocks)
        return self._log_edit(f"{blocks[number + 1]} in {path}")

    def _delete_paragraph(self) -> bool:
        path = self.random.choice(self._pages())
        blocks, number = self._paragraphs(path)
        if number < 0 or len(blocks) < 3:
            return False
        gone = blocks.pop(number)
        self.words.deleted |= {*WORD.findall(gone)}
        self._write(path, blocks)
        return self._log_edit(f"deleted {gone} in {path}")

    def _retitle(self) -> bool:
        path = self.random.choice(self._pages())
        text = self.side.read(path)
        title = re.search(r"^# .*$", text, re.MULTILINE)
        if title is None:
            return False
        self.words.deleted |= {*WORD.findall(title[0])}
        self.side.write(path, text.replace(title[0], f"# Title {self.words.create()}", 1))
        return self._log_edit(f"retitled {path}")

    def _describe(self) -> bool:
        path = self.random.choice(self._pages())
        text = self.side.read(path)
        if text.startswith("---"):
            return False
        self.side.write(path, f"---\ndescription: About {self.words.create()}\n---\n\n{text}")
        return self._log_edit(f"described {path}")

    def _add_page(self) -> bool:
        entries = self._entries()
        word = self.words.create()
        path = f"{self.random.choice(('', 'more/', 'deep/er/'))}page-{word}.md"
        self.side.write(path, f"# Page {word}\n\nText {self.words.create()}.\n\nEnd {self.words.create()}.\n")
        siblings = self.random.choice([entries, *(each.children for each in walk_entries(entries))])
        siblings.insert(self.random.randint(0, len(siblings)), ContentsEntry("document", f"Page {word}", Path(path)))
        self.side.write("SUMMARY.md", write_summary(entries))
        return self._log_edit(f"added {path}")

    def _delete_page(self) -> bool:
        entries = self._entries()
        pages = [each for each in walk_entries(entries) if each.path is not None and not each.children]
        if len(pages) < 4:
            return False
        page = self.random.choice(pages)
        assert page.path is not None
        self.words.deleted |= {*WORD.findall(self.side.read(page.path.as_posix()))}
        (self.side.top / page.path).unlink()
        for siblings in [entries, *(each.children for each in walk_entries(entries))]:
            if page in siblings:
                siblings.remove(page)
        self.side.write("SUMMARY.md", write_summary(entries))
        return self._log_edit(f"deleted {page.path}")

    def _move_page(self) -> bool:
        entries = self._entries()
        page = self.random.choice(list(walk_entries(entries)))
        lists = [entries, *(each.children for each in walk_entries(entries))]
        next(each for each in lists if any(entry is page for entry in each)).remove(page)
        inside = [id(each.children) for each in walk_entries([page])]
        targets = [each for each in lists if id(each) not in inside]
        siblings = self.random.choice(targets)
        siblings.insert(self.random.randint(0, len(siblings)), page)
        self.side.write("SUMMARY.md", write_summary(entries))
        return self._log_edit(f"moved {page.path}")

    def _rename_file(self) -> bool:
        entries = self._entries()
        page = self.random.choice([each for each in walk_entries(entries) if each.path is not None])
        assert page.path is not None
        create = page.path.with_name(f"name-{self.random.randint(0, 10**9)}.md")
        (self.side.top / page.path).rename(self.side.top / create)
        old, page.path = page.path, create
        self.side.write("SUMMARY.md", write_summary(entries))
        return self._log_edit(f"renamed {old} to {create}")

    def _log_edit(self, sentence: str) -> bool:
        self.log.append(f"{self.side.top.name}: {sentence}")
        return True


async def pull_and_resolve(side: PulledSide) -> None:
    """Pull, and resolve each conflict with your text and the missing words of main."""
    await side.pull()
    for path in (change.split(" ", 1)[1] for change in side.status() if change.startswith("!")):
        side.write(path, _CONFLICT.sub(_resolved, side.read(path)))


def _resolved(conflict: re.Match[str]) -> str:
    mine = conflict[1].strip("\n")
    others = [word for word in WORD.findall(conflict[2]) if word not in WORD.findall(mine)]
    if "description: " in conflict[0]:  # The conflict is in the front matter.
        return f"{mine or 'description:'} {' '.join(others)}".rstrip() + "\n"
    parts = [mine] if mine else []
    return "\n" + "\n\n".join([*parts, *([" ".join(["And", *others])] if others else [])]) + "\n\n"


async def publish(side: PulledSide, editor: SpaceEditor) -> None:
    """Propose the changes of a folder, and merge the change request."""
    proposal = Proposal(side.folder, side.live, side.client.download, "Random edits")
    plan = await proposal.plan()
    assert plan.blocked == []
    assert plan.unsupported == []
    if not plan.is_empty:
        request = await proposal.send(plan, is_draft=False)
        merged = await editor.merge(request.ref(editor.space))
        assert merged.result == "merge"


async def count_words(editor: SpaceEditor) -> Counter[str]:
    """Return how often each word occurs on main. A title that is also a heading counts once."""
    found: Counter[str] = Counter()
    for page in (await editor.tree()).walk():
        whole = await editor.page(page.title)
        assert whole.id == page.id
        found.update(WORD.findall(f"{whole.markdown} {whole.description or ''}"))
    return found


@pytest.mark.before_release("1", "2")
@pytest.mark.parametrize("seed", range(3))
async def test_random_edits_lose_duplicate_or_invent_no_word(
    ask: Ask, folder_of: Callable[[str], PulledSide], editor: SpaceEditor, seed: int
) -> None:
    await run(folder_of, editor, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1030))
async def test_many_random_edits_lose_duplicate_or_invent_no_word(
    ask: Ask, folder_of: Callable[[str], PulledSide], editor: SpaceEditor, seed: int
) -> None:
    await run(folder_of, editor, seed)


async def run(folder_of: Callable[[str], PulledSide], editor: SpaceEditor, seed: int) -> None:
    random, words = Random(seed), Words()
    left, right = folder_of("left"), folder_of("right")
    await left.pull()
    await right.pull()
    editors = [Editor(side, words, random) for side in (left, right)]
    for number in range(ROUNDS):
        logs = []
        for each in editors:
            each.log.clear()
            for _ in range(EDITS):
                each.edit()
            logs += each.log
        told = f"round {number}: " + "\n".join(logs)
        first, second = random.sample([left, right], 2)
        await pull_and_resolve(first)
        await publish(first, editor)
        await pull_and_resolve(second)
        await publish(second, editor)
        await pull_and_resolve(first)
        await pull_and_resolve(second)
        found = await count_words(editor)
        assert set(found) <= words.written, told
        assert {word for word, count in found.items() if count > 1} == set(), told
        assert words.written - set(found) <= words.deleted, told
        for side in (first, second):
            assert side.status() == [], told
            assert (
                Counter(WORD.findall("".join(text for name, text in side.files().items() if name != "SUMMARY.md")))
                == found
            ), told
