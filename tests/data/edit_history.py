"""A space whose pages are edited in change requests over the API, and a record of who wrote each block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from octavo.api import change_requests, content
from octavo.api.change_requests import ChangeRequest
from octavo.api.content import ContentEdit, DocumentBody, UpdatePage
from octavo.api.operation import ChangeRequestRef, SpaceRef
from tests.server.small_platform import Ask

WORDS = [
    "harbour",
    "tide",
    "fee",
    "boat",
    "kiosk",
    "port",
    "night",
    "berth",
    "rope",
    "crane",
    "chart",
    "pilot",
    "storm",
    "gate",
    "buoy",
    "lock",
    "ferry",
    "quay",
]
WRITERS = ("ada", "mia", "jun")


@dataclass(frozen=True)
class AuthoredBlock:
    """A block of a page, with the writer and the number of the change request that wrote the block."""

    kind: str
    text: str
    writer: str = "ada"
    number: int = 0


Pages = dict[str, list[AuthoredBlock]]


def markdown(title: str, blocks: list[AuthoredBlock]) -> str:
    """Return the text of a page."""
    lines, last = [f"# {title}"], ""
    for block in blocks:
        if block.kind == "row":
            lines += [] if last == "row" else ["", "| Name | Value |", "| --- | --- |"]
            lines.append(f"| {block.text} | {len(block.text)} |")
        elif block.kind == "item":
            lines += [] if last == "item" else [""]
            lines.append(f"* {block.text}")
        else:
            lines += [
                "",
                {"heading": f"## {block.text}", "code": f"```\n{block.text}\n```"}.get(block.kind, block.text),
            ]
        last = block.kind
    return "\n".join(lines) + "\n"


@dataclass
class EditHistory:
    """Edits pages in change requests, and records the writer of each block."""

    ask: Ask
    titles: dict[str, str]
    pages: Pages = field(init=False)
    at: SpaceRef = field(init=False)
    random: Random = field(default_factory=lambda: Random(7))
    count: int = 0

    def sentence(self, words: int = 0) -> str:
        """Return a sentence that occurs once."""
        self.count += 1
        chosen = [self.random.choice(WORDS) for _ in range(words or self.random.randint(5, 14))]
        return f"{' '.join(chosen).capitalize()} {self.count}."

    async def open_request(self, writer: str) -> ChangeRequest:
        """Create a change request as `writer`."""
        subject = f"Change of {writer}"
        change_request = await self.ask(change_requests.Create(at=self.at, subject=subject), writer)
        at = self.ref(change_request)
        return await self.ask(change_requests.Update(at=at, status="open"), writer)

    def ref(self, change_request: ChangeRequest) -> ChangeRequestRef:
        return ChangeRequestRef(space_id=self.at.space_id, change_request_id=change_request.id)

    async def send(self, change_request: ChangeRequest, writer: str, pages: Pages) -> None:
        """Send pages as the content of a change request."""
        changes: list[ContentEdit] = [
            UpdatePage(
                page=page, title=self.titles[page], document=DocumentBody(markdown=markdown(self.titles[page], blocks))
            )
            for page, blocks in pages.items()
        ]
        await self.ask(content.Edit(at=self.ref(change_request), changes=tuple(changes), compat=False), writer)

    async def merge(self, change_request: ChangeRequest) -> None:
        await self.ask(change_requests.Merge(at=self.ref(change_request)), "ada")

    async def change(self, writer: str, *edits: Callable[[Pages, AuthoredBlock], None]) -> int:
        """Apply edits in a change request of `writer` and merge that. Return its number."""
        change_request = await self.open_request(writer)
        template = AuthoredBlock("paragraph", "", writer, change_request.number)
        before = {page: list(blocks) for page, blocks in self.pages.items()}
        for edit in edits:
            edit(self.pages, template)
        changed = {page: blocks for page, blocks in self.pages.items() if blocks != before[page]}
        await self.send(change_request, writer, changed)
        await self.merge(change_request)
        return change_request.number

    # Edits

    def add(self, page: str, kind: str = "paragraph") -> Callable[[Pages, AuthoredBlock], None]:
        def edit(pages: Pages, new: AuthoredBlock) -> None:
            blocks = pages[page]
            same_kind = [at for at, block in enumerate(blocks) if block.kind == kind]
            place = (
                self.random.choice(same_kind)
                if kind in ("item", "row") and same_kind
                else self.random.randint(0, len(blocks))
            )
            blocks.insert(place, replace(new, kind=kind, text=self.sentence()))

        return edit

    def edit(self, page: str) -> Callable[[Pages, AuthoredBlock], None]:
        def edit(pages: Pages, new: AuthoredBlock) -> None:
            at = self.random.randrange(len(pages[page]))
            block = pages[page][at]
            words = block.text.split()
            place = self.random.randrange(len(words) - 1)
            words[place] = self.random.choice(
                [word for word in ("anchor", "signal", "winter") if word != words[place].lower()]
            )
            pages[page][at] = replace(new, kind=block.kind, text=" ".join([words[0].capitalize(), *words[1:]]))

        return edit

    def delete(self, page: str) -> Callable[[Pages, AuthoredBlock], None]:
        def edit(pages: Pages, new: AuthoredBlock) -> None:
            del pages[page][self.random.randrange(len(pages[page]))]

        return edit

    def move(self, page: str, target: str) -> Callable[[Pages, AuthoredBlock], None]:
        """Move a long paragraph, on its page or to another page. The writer of the block stays the same."""

        def edit(pages: Pages, new: AuthoredBlock) -> None:
            long = [block for block in pages[page] if block.kind == "paragraph" and len(block.text) > 30]
            block = self.random.choice(long)
            pages[page].remove(block)
            pages[target].insert(self.random.randint(0, len(pages[target])), block)

        return edit

    def split(self, page: str) -> Callable[[Pages, AuthoredBlock], None]:
        """Split a paragraph of two sentences. The writer of both parts stays the same."""

        def edit(pages: Pages, new: AuthoredBlock) -> None:
            at = next(
                at for at, block in enumerate(pages[page]) if block.text.count(". ") == 1 and block.kind == "paragraph"
            )
            block = pages[page][at]
            first, second = block.text.split(". ")
            pages[page][at : at + 1] = [replace(block, text=f"{first}."), replace(block, text=second)]

        return edit

    def add_two_sentences(self, page: str) -> Callable[[Pages, AuthoredBlock], None]:
        def edit(pages: Pages, new: AuthoredBlock) -> None:
            text = f"{self.sentence(7)} {self.sentence(8)}"
            pages[page].insert(self.random.randint(0, len(pages[page])), replace(new, text=text))

        return edit
