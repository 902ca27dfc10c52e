"""What a page speaks of: every address in it, with the block it stands in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from octavo.documents.blocks import Block, Column, Document, Run

_URL_ATTRIBUTES = {
    "image": ("src", "dark", "link"),
    "file": ("src",),
    "embed": ("url",),
    "content-ref": ("url",),
    "card": ("target", "cover", "cover_dark"),
    "openapi": ("src",),
}
"""The attributes of blocks that are addresses."""

_FALLBACK_KINDS = {"content-ref", "openapi"}
"""Blocks whose words only stand in for what they show."""


@dataclass(frozen=True, slots=True)
class PageReference:
    """One address, or the name of what a page is partly made of: reusable content, or an OpenAPI specification."""

    says: str
    block: str
    """The key of the block."""
    kind: Literal["address", "include", "spec"] = "address"


def references_in(document: Document) -> Iterator[PageReference]:
    """What a page speaks of, in the order of the source, each once for each block."""
    for block in document.walk():
        if block.kind == "include" and block.attrs.get("target"):
            yield PageReference(block.attrs["target"], block.key, "include")
        if block.kind == "openapi" and block.attrs.get("spec"):
            yield PageReference(block.attrs["spec"], block.key, "spec")
        for address in dict.fromkeys(_urls(block)):
            yield PageReference(address, block.key)


def _urls(block: Block) -> Iterator[str]:
    own = [str(block.attrs[name]) for name in _URL_ATTRIBUTES.get(block.kind, ()) if block.attrs.get(name)]
    yield from own
    if block.kind not in _FALLBACK_KINDS:
        yield from _urls_in_runs(block.runs)
    for column in block.attrs.get("columns", ()) if block.kind in ("table", "cards") else ():
        if isinstance(column, Column):
            yield from _urls_in_runs(column.title)


def _urls_in_runs(runs: tuple[Run, ...]) -> Iterator[str]:
    for run in runs:
        if run.link:
            yield run.link
        if run.kind == "image":
            yield from (str(run.attrs[name]) for name in ("src", "dark") if run.attrs.get(name))


def images_without_text(document: Document) -> Iterator[str]:
    """The addresses of the pictures that have no alternative text, each as often as it stands there."""
    for block in document.walk():
        if block.kind == "image" and not str(block.attrs.get("alt") or "").strip():
            yield str(block.attrs.get("src") or "")
        for run in block.runs:
            if run.kind == "image" and not run.text.strip():
                yield str(run.attrs.get("src") or "")
