"""Where the links of a page lead. Nothing is fetched: what a link means follows from its words and the page tree."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal
from urllib.parse import unquote, urlsplit

from octavo.api.folding import fold
from octavo.api.safety import address
from octavo.documents.blocks import Block, Column, Document, Run

SCHEMES = frozenset({"http", "https", "mailto"})
"""Addresses of other schemes are never opened."""

APP_HOSTS = frozenset({"app.gitbook.com"})
"""Hosts whose addresses name spaces and pages of the platform."""

_EMPTY: Mapping[str, str] = MappingProxyType({})
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]+")
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_ASSETS = ".gitbook/assets/"
_INCLUDE = re.compile(r"(?:^|/)(\.gitbook/includes/[^/].*)$")
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}")
_RESOURCE_NAMES = {
    "pages": "page",
    "files": "file",
    "spaces": "space",
    "collections": "collection",
    "users": "person",
    "openapi": "OpenAPI specification",
    "reusable-content": "reusable content",
}
_README = re.compile(r"(?:^|/)(?:readme|index)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LinkTargets:
    """What links may lead to: pages by their path, files by their name or path, and the space they are in."""

    pages: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    """Page ids by path, such as `guides/setup`."""
    page_ids: Collection[str] = frozenset()
    files: Mapping[str, str] | None = field(default_factory=lambda: _EMPTY)
    """File ids by name and by id. None when the files are not known: then none is missing."""
    space: str | None = None
    origins: Collection[str] = ()
    """Where the platform's own application is, besides `APP_HOSTS`: `https://docs.example`."""
    _folded: dict[str, Mapping[str, str]] = field(default_factory=dict, compare=False, repr=False)
    """Ids by folded path, or folded name, once one was not found as it is written."""

    def page(self, path: str) -> str | None:
        """Return the id of the page at `path`: at that very one, or else at one that looks the same."""
        return self.pages.get(path) or self._alike("pages", self.pages, path)

    def file(self, name: str) -> str | None:
        """Return the id of the file with a name, path or id: that very one, or else one that looks the same."""
        files = self.files or _EMPTY
        return files.get(name) or self._alike("files", files, name)

    def _alike(self, kind: str, known: Mapping[str, str], name: str) -> str | None:
        if kind not in self._folded:
            self._folded[kind] = {fold(each): known[each] for each in reversed(list(known))}
        return self._folded[kind].get(fold(name)) if name else None


@dataclass(frozen=True, slots=True)
class ToPage:
    """A page of this space, by id."""

    page: str
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class ToAnchor:
    """A heading of the same page. Without an anchor: its top."""

    anchor: str


@dataclass(frozen=True, slots=True)
class ToSpace:
    """A page of another space, by path or id: without one, its first."""

    space: str
    page: str | None = None
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class ToChangeRequest:
    """A change request, by number."""

    space: str
    number: int


@dataclass(frozen=True, slots=True)
class ToFile:
    """A file of this space, by id; `name` is how the link calls it. Without an id, of those not known, the one that lies at
    `path`, or else is called so."""

    file: str
    name: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class ToReusableContent:
    """Words that several pages include, by the file they are kept in."""

    path: str


@dataclass(frozen=True, slots=True)
class ToCollection:
    """A collection of spaces, by id."""

    collection: str


@dataclass(frozen=True, slots=True)
class ToSite:
    """A site, by id."""

    site: str
    organization: str | None = None


@dataclass(frozen=True, slots=True)
class ToUser:
    """A person, by id."""

    user: str


@dataclass(frozen=True, slots=True)
class ToUrl:
    """An address outside the platform. `url` begins with http:, https: or mailto:, and its host is ASCII."""

    url: str
    host: str
    """Who is behind it: what to show beside words that may say otherwise."""


@dataclass(frozen=True, slots=True)
class BlockedScheme:
    """An address of a scheme that is never opened."""

    href: str
    scheme: str


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link to what is not there, or no longer."""

    href: str
    reason: str
    is_beyond: bool = False
    """It leads out of the tree: nobody knows here what is there."""


Target = (
    ToPage
    | ToAnchor
    | ToSpace
    | ToChangeRequest
    | ToFile
    | ToReusableContent
    | ToCollection
    | ToSite
    | ToUser
    | ToUrl
    | BlockedScheme
    | BrokenLink
)


def ids_by_path(pages: Iterable[tuple[str, str | None, str | None]]) -> dict[str, str]:
    """Return the ids of pages by every path that a link may name.

    `pages` has the id of each page, its path and that of its file, in the order of the tree. Where two pages share a path, the
    first one has it. The folder of an index file (`api/` of `api/README.md`) leads to that page, unless another page has
    that path: a group above it may give the page itself a longer path (`reference/api`).
    """
    found: dict[str, str] = {}
    folders: dict[str, str] = {}
    for page, *paths in pages:
        for path in paths:
            if path is not None:
                path = path.removesuffix(".md")
                found.setdefault(path, page)
                if (folder := _README.sub("", path)) != path:
                    folders.setdefault(folder, page)
    return {**folders, **found}


def resolve(href: str, page_path: str, places: LinkTargets) -> Target:
    """Where `href` leads from the page at `page_path`: a path of the tree, with a slash at its end when pages lie below
    it, or that of the file that holds the page."""
    href = _normalize(href)
    if not href:
        return BrokenLink(href, "The link has no destination.")
    if scheme := _SCHEME.match(href):
        return _absolute(href, scheme[0][:-1].lower(), places)
    if "broken-reference" in href.lower() or href.startswith(("/broken/", "broken/")):
        return _marked_broken(href)
    path, _, anchor = href.partition("#")
    path = _decode(path.partition("?")[0])
    anchor = _decode(anchor)
    if not path:
        return ToAnchor(anchor)
    if path.startswith("/"):
        return _root_relative(href, path.strip("/"), anchor or None, places)
    return _relative(href, path, anchor or None, page_path, places)


def external_target(href: str) -> ToUrl | BlockedScheme | BrokenLink:
    """Where `href` leads when a browser opens it, also to the platform's own application."""
    href = _normalize(href)
    scheme = _SCHEME.match(href)
    return _outside(href, scheme[0][:-1].lower()) if scheme else BrokenLink(href, "The link has no host name.")


def _normalize(href: str) -> str:
    """An address as browsers read what is written."""
    href = _INVISIBLE.sub(" ", href).strip().replace(" ", "%20")
    if href.startswith("//"):
        return f"https:{href}"
    return f"https://{href}" if href.lower().startswith("www.") else href


def _absolute(href: str, scheme: str, places: LinkTargets) -> Target:
    found = _outside(href, scheme)
    if isinstance(found, ToUrl) and scheme != "mailto":
        parts = urlsplit(href)
        if found.host in APP_HOSTS or f"{scheme}://{parts.netloc}" in places.origins:
            if parts.path.startswith("/broken/"):
                return _marked_broken(parts.path)
            return _app_target(parts.path, _decode(parts.fragment) or None, places) or found
    return found


def _outside(href: str, scheme: str) -> ToUrl | BlockedScheme | BrokenLink:
    if scheme not in SCHEMES:
        return BlockedScheme(href, scheme)
    if scheme == "mailto":
        return ToUrl(href, href[len("mailto:") :].partition("?")[0])
    try:
        parts = urlsplit(href)
        port, host = parts.port, _ascii_host(parts.hostname or "")
    except ValueError:  # a UnicodeError is one
        return BrokenLink(href, "The link is not a valid URL.")
    if not host:
        return BrokenLink(href, "The link has no host name.")
    if "@" in parts.netloc or "\\" in href:
        return BrokenLink(href, "The link is written to look like a link to another site.")
    if not parts.netloc.isascii():
        # Letters that look like others are not shown, and not handed on: a name server has another name for them.
        href = parts._replace(netloc=host if port is None else f"{host}:{port}").geturl()
    return ToUrl(href, host)


def _ascii_host(host: str) -> str:
    """The name of a host as name servers have it. Raises ValueError."""
    if host.isascii() and all(0 < len(label) < 64 for label in host.removesuffix(".").split(".")):
        return host  # as most are: what others take to be read is not loaded for them
    return host.encode("idna").decode()


def path_steps(path: str) -> list[str]:
    """The steps of the path of an address."""
    return [_decode(part) for part in path.split("/") if part]


def _decode(part: str) -> str:
    """A part of an address with the letters that stand behind its percent signs, safe to show: `%1B` stands for escape."""
    return address(unquote(part))


def _app_target(path: str, anchor: str | None, places: LinkTargets) -> Target | None:
    """What an address of the platform's own application names."""
    parts = path_steps(path)
    organization = parts[1] if parts[:1] == ["o"] and len(parts) > 1 else None
    if organization is not None:
        parts = parts[2:]
    if len(parts) < 2 or not _ID.fullmatch(parts[1]):
        return None
    if parts[0] in ("c", "collections"):
        return ToCollection(parts[1])
    if parts[0] in ("site", "sites"):
        return ToSite(parts[1], organization)
    if parts[0] not in ("s", "spaces"):
        return None
    space, rest = parts[1], parts[2:]
    if rest[:1] == ["~"]:
        if rest[1:2] == ["changes"] and len(rest) > 2 and rest[2].isdecimal() and len(rest[2]) < 10:
            return ToChangeRequest(space, int(rest[2]))
        rest = rest[3:]
    page = "/".join(rest) or None
    if space == places.space:
        if page is None:
            return ToSpace(space)
        known = _page(page.removeprefix("pages/"), places)
        return ToPage(known, anchor) if known else BrokenLink(path, f"There is no page {page} in this space.")
    return ToSpace(space, page.removeprefix("pages/") if page else None, anchor)


def _root_relative(href: str, path: str, anchor: str | None, places: LinkTargets) -> Target:
    sort, _, rest = path.partition("/")
    if sort in ("s", "spaces", "o") and rest and (target := _app_target(path, anchor, places)):
        return target
    if sort == "pages" and rest:
        page = _page(rest, places)
        return ToPage(page, anchor) if page else BrokenLink(href, "The page no longer exists.")
    if sort == "files" and rest:
        file = rest if places.files is None else places.file(rest)
        return ToFile(file, rest) if file else BrokenLink(href, "The file no longer exists.")
    page = _page(path, places)
    if page:
        return ToPage(page, anchor)
    if _ID.fullmatch(rest) and sort in ("users", "collections"):
        return ToUser(rest) if sort == "users" else ToCollection(rest)
    return _file(href, path, path, places) or _missing_page(href, path, path, places)


def _relative(href: str, path: str, anchor: str | None, page_path: str, places: LinkTargets) -> Target:
    lies = posixpath.normpath(posixpath.join(_folders(page_path)[0], path))
    if file := _file(href, path, lies, places):
        return file
    if shared := _INCLUDE.search(path):
        return ToReusableContent(shared[1])
    for folder in _folders(page_path):
        joined = posixpath.normpath(posixpath.join(folder, path))
        while joined.startswith("../"):
            joined = joined[3:]
        if page := _page("" if joined in (".", "..") else joined, places):
            return ToPage(page, anchor)
    return _missing_page(href, path, lies, places)


def _missing_page(href: str, path: str, lies: str, places: LinkTargets) -> Target:
    """What stands at a path where no page is: perhaps a file, when the files are not known. `lies`: that path from the
    root."""
    name = posixpath.basename(path)
    suffix = posixpath.splitext(name)[1]
    if places.files is None and _SUFFIX.fullmatch(suffix) and suffix != ".md":
        return ToFile("", name, lies)
    return BrokenLink(href, f"There is no page at {path}.", is_beyond=lies.startswith("../"))


def _marked_broken(href: str) -> BrokenLink:
    """Return the target of a link that the platform has marked as broken."""
    parts = path_steps(href)
    what = next((_RESOURCE_NAMES[part] for part in reversed(parts) if part in _RESOURCE_NAMES), None)
    if what == "page" and "spaces" in parts:
        what = "page in another space"
    return BrokenLink(href, f"The {what} no longer exists." if what else "The link target no longer exists.")


def _folders(page_path: str) -> list[str]:
    """The folders a page's links may start from: a page with pages below it lies in a folder of its own."""
    path = page_path.strip("/")
    if path.endswith(".md"):
        return [posixpath.dirname(path)]
    own, above = path, posixpath.dirname(path)
    return [own, above, ""] if page_path.endswith("/") else [above, own, ""]


def _page(path: str, places: LinkTargets) -> str | None:
    """The id of the page at a path, or called by its id."""
    path = path.strip("/").removesuffix(".md")
    folder = _README.sub("", path)
    return places.page(path) or places.page(folder) or (path if path in places.page_ids else None)


def _file(href: str, path: str, lies: str, places: LinkTargets) -> Target | None:
    name = posixpath.basename(path)
    if places.files is None:
        return ToFile("", name, lies) if _ASSETS in path and name else None
    file = places.file(lies) or places.file(path) or (places.file(name) if name else None)
    if file:
        return ToFile(file, name)
    return BrokenLink(href, f"There is no file {name} in this space.") if _ASSETS in path else None


_HOST_NAME = re.compile(r"(?:^|[\s/@(])((?:[\w-]{1,63}\.){1,8}[a-z]{2,24})(?=$|[\s/:?#).,])", re.IGNORECASE)
_FILE_SUFFIXES = frozenset(
    {"md", "html", "htm", "json", "js", "ts", "py", "sh", "yaml", "yml", "txt", "zip", "pdf", "png", "rs", "go"}
)


def host_mismatch_warning(words: str, target: ToUrl) -> str:
    """Return a warning if the text of a link names another host than its URL. Empty otherwise."""
    said = _HOST_NAME.search(words)
    if said is None or target.url.startswith("mailto:") or said[1].rpartition(".")[2].lower() in _FILE_SUFFIXES:
        return ""
    host = said[1].lower().removeprefix("www.")
    try:
        host = _ascii_host(host)
    except ValueError:
        pass
    leads = target.host.removeprefix("www.")
    if leads == host or leads.endswith(f".{host}"):
        return ""
    return f"Careful: the link text says {said[1]}, but the link opens {target.host}."


def punycode_warning(host: str) -> str:
    """Return a warning that shows how a punycode host is spelled. Empty for other hosts."""
    if "xn--" not in host:
        return ""
    try:
        shown = host.encode("ascii").decode("idna")
    except ValueError:
        return ""
    return f"This host name is spelled {shown}. Letters from other scripts can make it look like another name."


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
        for url in dict.fromkeys(_urls(block)):
            yield PageReference(url, block.key)


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
