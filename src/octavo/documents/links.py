"""Resolves the URLs of links on a page to their targets, with the page tree and the list of files. Does no I/O."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from octavo.api.folding import fold
from octavo.api.safety import safe_address
from octavo.documents.blocks import FALLBACK_KINDS, Block, Document, Run, TableColumn

SCHEMES = frozenset({"http", "https", "mailto"})
"""URL schemes of links that Octavo opens."""

APP_HOSTS = frozenset({"app.gitbook.com"})
"""Hosts of the platform's app. Their URLs can lead to spaces and pages that Octavo can open."""

_EMPTY: Mapping[str, str] = MappingProxyType({})
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]+")
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_INCLUDE = re.compile(r"(?:^|/)(\.gitbook/includes/[^/].*)$")
_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}")
_FILES_WITHOUT_SUFFIX = frozenset({"LICENSE", "LICENCE", "COPYING", "NOTICE", "AUTHORS", "Dockerfile", "Makefile"})
ASSETS = ".gitbook/assets/"
"""Folder of the files of a space. A link to such a file may also have only the name of the file."""
SPACED_IMAGE = (
    r"!\[([^\[\]\n]{0,300})\]"
    r"""\(([^()<>"'\n]{1,300}(?:\([^()<>"'\n]{1,99}\)[^()<>"'\n]{0,99}){0,9}(?<=\.)(?:png|jpe?g|gif|svg|webp))[ ]*\)"""
)
"""A Markdown image whose path may contain spaces, such as `![](Screen Shot (1).png)`. Groups: its text and path."""
_RESOURCE_NAMES = {
    "pages": "page",
    "files": "file",
    "spaces": "space",
    "collections": "collection",
    "users": "person",
    "openapi": "OpenAPI specification",
    "reusable-content": "reusable content",
}
PLACEHOLDER_TEXTS = frozenset({"", "broken-reference", "mention"})
"""Texts of links that editors write until the link has a text."""
INDEX_NAME = re.compile(r"(?:^|/)(?:readme|index)$", re.IGNORECASE)
"""The file name `README` or `index` at the end of a path without suffix, such as `guides/README`."""


@dataclass(frozen=True, slots=True)
class SpaceIndex:
    """Everything in a space to which links can lead: pages by path, and files by name, path or ID."""

    pages: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    """Page IDs by path, such as `guides/setup`."""
    page_ids: Collection[str] = frozenset()
    files: Mapping[str, str] | None = field(default_factory=lambda: _EMPTY)
    """File IDs by name, path and ID. None if the files are not known."""
    space_id: str | None = None
    origins: Collection[str] = ()
    """Origins of the platform's app, such as `https://docs.example`, in addition to `APP_HOSTS`."""
    root: str = ""
    """Folder of the pages in the repository, such as `docs`. Empty if unknown, or if it is the whole repository."""
    _ids_by_folded_name: dict[str, Mapping[str, str]] = field(default_factory=dict, compare=False, repr=False)
    """For each of the kinds `pages` and `files`: IDs by folded path or name. Filled when first needed."""

    def page_id(self, path: str) -> str | None:
        """Return the ID of the page at `path`. None if there is none. Case may differ."""
        return self.pages.get(path) or self._find_folded("pages", self.pages, path)

    def file_id(self, reference: str) -> str | None:
        """Return the ID of the file whose name, path or ID is `reference`. None if there is none. Case may differ."""
        files = self.files or _EMPTY
        return files.get(reference) or self._find_folded("files", files, reference)

    def _find_folded(self, kind: str, ids: Mapping[str, str], name: str) -> str | None:
        if kind not in self._ids_by_folded_name:
            self._ids_by_folded_name[kind] = {fold(item_id): ids[item_id] for item_id in reversed(list(ids))}
        return self._ids_by_folded_name[kind].get(fold(name)) if name else None


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link to a page of the same space."""

    page_id: str
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class AnchorLink:
    """A link to a heading on the same page. If `anchor` is empty, the link leads to the top."""

    anchor: str


@dataclass(frozen=True, slots=True)
class SpaceLink:
    """A link to another space, to a page of another space, or to the home page of the same space."""

    space_id: str
    page: str | None = None
    """Path or ID of the page. None for the home page of the space."""
    anchor: str | None = None


@dataclass(frozen=True, slots=True)
class ChangeRequestLink:
    """A link to a change request."""

    space_id: str
    number: int


@dataclass(frozen=True, slots=True)
class FileLink:
    """A link to a file of the same space."""

    file_id: str
    """ID of the file. Empty if the link has only a path, and the files of the space are not known."""
    name: str
    path: str = ""
    """Path of the file in the space, if `file_id` is empty."""


@dataclass(frozen=True, slots=True)
class ReusableContentLink:
    """A link to reusable content, by the path of its file."""

    path: str


@dataclass(frozen=True, slots=True)
class CollectionLink:
    """A link to a collection of spaces."""

    collection_id: str


@dataclass(frozen=True, slots=True)
class SiteLink:
    """A link to a site."""

    site_id: str
    organization_id: str | None = None


@dataclass(frozen=True, slots=True)
class UserLink:
    """A link to a user."""

    user_id: str


@dataclass(frozen=True, slots=True)
class UrlLink:
    """A link that opens in a web browser. `url` begins with http:, https: or mailto:. Its host is ASCII."""

    url: str
    host: str
    """Host or e-mail address, shown next to the link text. The link text may name another host."""


@dataclass(frozen=True, slots=True)
class BlockedLink:
    """A link that Octavo never opens: its scheme is not allowed, or its URL hides the host."""

    href: str
    reason: str


@dataclass(frozen=True, slots=True)
class BrokenLink:
    """A link whose target does not exist."""

    href: str
    reason: str
    is_outside_tree: bool = False
    """True if the link leads out of the folder of the pages. Its target may still exist."""
    path: str = ""
    """Path of the missing page or file. Empty if the link has no path."""


Target = (
    PageLink
    | AnchorLink
    | SpaceLink
    | ChangeRequestLink
    | FileLink
    | ReusableContentLink
    | CollectionLink
    | SiteLink
    | UserLink
    | UrlLink
    | BlockedLink
    | BrokenLink
)


def ids_by_path(pages: Iterable[tuple[str, str | None, str | None]]) -> dict[str, str]:
    """Return page IDs by each path that a link to the page can have. `pages` has (ID, path, path of the file) of each
    page. For a home page without a file, callers give its slug as the third value, because its path is empty."""
    ids: dict[str, str] = {}
    folders: dict[str, str] = {}
    for page_id, *paths in pages:
        for path in paths:
            if path is not None:
                stem = path.removesuffix(".md")
                ids.setdefault(path, page_id)
                ids.setdefault(stem, page_id)
                if (folder := INDEX_NAME.sub("", stem)) != stem:
                    ids.setdefault(f"{folder}/", page_id)
                    folders.setdefault(folder, page_id)
    return {**folders, **ids}


def space_index(
    pages: Sequence[tuple[str, str | None, str | None]],
    files: Iterable[tuple[str, str | None, str]],
    space_id: str,
    origins: Collection[str] = (),
    root: str = "",
) -> SpaceIndex:
    """Return the index of a space for `resolve`. `pages` has (ID, path, path of the file) of each page, `files` (ID,
    path in Git, name) of each file. `root` is the pages' folder. `origins` has the origins of the platform's app."""
    ids_by_name: dict[str, str] = {}
    for file, path, name in files:
        for each in (file, path, name if path is None or ASSETS in path else None):
            if each:
                ids_by_name.setdefault(each, file)
    return SpaceIndex(ids_by_path(pages), frozenset(page for page, *_ in pages), ids_by_name, space_id, origins, root)


def resolve(href: str, page_path: str, targets: SpaceIndex) -> Target:
    """Return where the link `href` on a page leads. `page_path` is the `page_trees.link_base` of that page."""
    href = _normalize(href)
    if not href:
        return BrokenLink(href, "The link has no destination.")
    if scheme_match := _SCHEME.match(href):
        return _resolve_absolute(href, scheme_match[0][:-1].lower(), targets)
    if "broken-reference" in href.lower() or href.startswith(("/broken/", "broken/")):
        return _marked_broken(href)
    path, _, anchor = href.partition("#")
    path = _decode(path.partition("?")[0])
    anchor = _decode(anchor)
    if not path:
        return AnchorLink(anchor)
    if path.startswith("/"):
        return _resolve_root_relative(href, path.lstrip("/"), anchor or None, targets)
    return _resolve_relative(href, path, anchor or None, page_path, targets)


def external_target(href: str) -> UrlLink | BlockedLink | BrokenLink:
    """Return the target of `href` in a browser, even if Octavo can show it. `BrokenLink` if `href` is relative."""
    href = _normalize(href)
    match = _SCHEME.match(href)
    return _external_target(href, match[0][:-1].lower()) if match else BrokenLink(href, "The link has no host name.")


def _normalize(href: str) -> str:
    """Return a stripped URL with `%20` for spaces and invisible characters. Before `//` and `www.`, add a scheme."""
    # Several spaces are not joined, because file names can contain them.
    href = _INVISIBLE.sub(lambda match: match[0] if not match[0].strip(" ") else " ", href).strip().replace(" ", "%20")
    if href.startswith("//"):
        return f"https:{href}"
    return f"https://{href}" if href.lower().startswith("www.") else href


def _resolve_absolute(href: str, scheme: str, targets: SpaceIndex) -> Target:
    target = _external_target(href, scheme)
    if isinstance(target, UrlLink) and scheme != "mailto":
        parts = urlsplit(href)
        if target.host in APP_HOSTS or f"{scheme}://{parts.netloc}" in targets.origins:
            if parts.path.startswith("/broken/"):
                return _marked_broken(parts.path)
            return _web_app_target(parts.path, _decode(parts.fragment) or None, targets) or target
    return target


def _external_target(href: str, scheme: str) -> UrlLink | BlockedLink | BrokenLink:
    if scheme not in SCHEMES:
        return BlockedLink(href, f"Octavo does not open links that begin with “{scheme}:”.")
    if scheme == "mailto":
        return UrlLink(href, href[len("mailto:") :].partition("?")[0])
    try:
        parts = urlsplit(href)
        port, host = parts.port, _ascii_host(parts.hostname or "")
    except ValueError:  # A UnicodeError of `_ascii_host` is a ValueError, too.
        return BrokenLink(href, "The link is not a valid URL.")
    if not host:
        return BrokenLink(href, "The link has no host name.")
    if "@" in parts.netloc or "\\" in href:
        return BlockedLink(href, "Octavo does not open this link: it is written to look like a link to another site.")
    if not parts.netloc.isascii():
        # Letters of other scripts can imitate ASCII letters, so show the ASCII host.
        href = parts._replace(netloc=host if port is None else f"{host}:{port}").geturl()
    # Encode characters that are not printable, because Octavo refuses to start a browser with such a URL.
    return UrlLink("".join(each if each.isprintable() else quote(each, errors="replace") for each in href), host)


def _ascii_host(host: str) -> str:
    """Return a host name in ASCII, as browsers send it. Raises ValueError if it is invalid."""
    if host.isascii() and all(0 < len(label) < 64 for label in host.removesuffix(".").split(".")):
        return host  # An ASCII host needs no IDNA codec, which is slow to load.
    return host.encode("idna").decode()


def path_parts(path: str) -> list[str]:
    """Return the decoded parts of a URL path."""
    return [_decode(part) for part in path.split("/") if part]


def _decode(part: str) -> str:
    return safe_address(unquote(part))


def _web_app_target(path: str, anchor: str | None, targets: SpaceIndex) -> Target | None:
    """Return where a path of the platform's app leads. None if it leads to nothing that Octavo can open."""
    parts = path_parts(path)
    organization = parts[1] if parts[:1] == ["o"] and len(parts) > 1 else None
    if organization is not None:
        parts = parts[2:]
    if len(parts) < 2 or not _ID.fullmatch(parts[1]):
        return None
    if parts[0] in ("c", "collections"):
        return CollectionLink(parts[1])
    if parts[0] in ("site", "sites"):
        return SiteLink(parts[1], organization)
    if parts[0] not in ("s", "spaces"):
        return None
    space_id, steps = parts[1], parts[2:]
    if steps[:1] == ["~"]:
        if steps[1:2] == ["changes"] and len(steps) > 2 and steps[2].isdecimal() and len(steps[2]) < 10:
            return ChangeRequestLink(space_id, int(steps[2]))
        steps = steps[3:]
    page = "/".join(steps) or None
    if space_id == targets.space_id:
        if page is None:
            return SpaceLink(space_id)
        page_id = _page_id(page.removeprefix("pages/"), targets)
        return PageLink(page_id, anchor) if page_id else BrokenLink(path, f"There is no page {page} in this space.")
    return SpaceLink(space_id, page.removeprefix("pages/") if page else None, anchor)


def _resolve_root_relative(href: str, written_path: str, anchor: str | None, targets: SpaceIndex) -> Target:
    path = written_path.strip("/")
    first_part, _, subpath = path.partition("/")
    if first_part in ("s", "spaces", "o") and subpath and (target := _web_app_target(path, anchor, targets)):
        return target
    if first_part == "pages" and subpath:
        page_id = _page_id(subpath, targets) or _page_id(written_path, targets)
        return PageLink(page_id, anchor) if page_id else BrokenLink(href, "The page no longer exists.")
    if first_part == "files" and subpath:
        if targets.files is None:
            return FileLink(subpath, subpath) if _ID.fullmatch(subpath) else FileLink("", subpath, path)
        file_id = targets.file_id(subpath) or targets.file_id(path)
        return FileLink(file_id, subpath) if file_id else BrokenLink(href, "The file no longer exists.")
    page_id = _page_id(written_path, targets)
    if page_id:
        return PageLink(page_id, anchor)
    if _ID.fullmatch(subpath) and first_part in ("users", "collections"):
        return UserLink(subpath) if first_part == "users" else CollectionLink(subpath)
    return _file(href, path, path, targets) or _missing_page(href, path, path, targets)


def _resolve_relative(href: str, path: str, anchor: str | None, page_path: str, targets: SpaceIndex) -> Target:
    full_path = path_from_root(_link_base_folders(page_path)[0], path, targets.root)
    if targets.files and (file_id := targets.file_id(full_path)):
        return FileLink(file_id, posixpath.basename(path))
    if include_match := _INCLUDE.search(path):
        return ReusableContentLink(include_match[1])
    ending = "/" if posixpath.basename(path) in ("", ".", "..") else ""
    for folder in _link_base_folders(page_path):
        path_in_tree = path_from_root(folder, path, targets.root)
        while path_in_tree.startswith("../"):
            path_in_tree = path_in_tree[3:]
        path_in_tree = "" if path_in_tree in (".", "..") else path_in_tree
        if page_id := _page_id(f"{path_in_tree}{ending}", targets):
            return PageLink(page_id, anchor)
    return _file(href, path, full_path, targets) or _missing_page(href, path, full_path, targets)


def path_from_root(folder: str, path: str, root: str) -> str:
    """Return the path from the root of the pages for a relative `path` in `folder`, such as `a.md` for `../docs/a.md`
    in the top folder if `root` is `docs`. The result begins with `..` if it is outside of the root."""
    joined_path = posixpath.normpath(posixpath.join(folder, path))
    steps = joined_path.split("/")
    count = steps.count("..")
    has_returned = count > 0 and steps[count : 2 * count] == root.split("/")[-count:]
    return "/".join(steps[2 * count :]) or "." if has_returned else joined_path


def _missing_page(href: str, path: str, full_path: str, targets: SpaceIndex) -> Target:
    """Return a broken link. If `path` may name a file and `targets` has no list of files, return a file link."""
    name = posixpath.basename(path)
    suffix = posixpath.splitext(name)[1]
    may_be_file = name in _FILES_WITHOUT_SUFFIX or (_SUFFIX.fullmatch(suffix) is not None and suffix != ".md")
    if targets.files is None and may_be_file:
        return FileLink("", name, full_path)
    missing_kind = "page or file" if may_be_file else "page"
    is_outside = full_path.startswith("../")
    return BrokenLink(href, f"There is no {missing_kind} at {path}.", is_outside_tree=is_outside, path=full_path)


def _marked_broken(href: str) -> BrokenLink:
    parts = path_parts(href)
    resource = next((_RESOURCE_NAMES[part] for part in reversed(parts) if part in _RESOURCE_NAMES), None)
    if resource == "page" and "spaces" in parts:
        resource = "page in another space"
    return BrokenLink(href, f"The {resource} no longer exists." if resource else "The link target no longer exists.")


def _link_base_folders(page_path: str) -> list[str]:
    """Return the folders from which relative links on a page may start, the most likely first."""
    path = page_path.strip("/")
    if path.endswith(".md"):
        return [posixpath.dirname(path)]
    own_folder, parent_folder = path, posixpath.dirname(path)
    return [own_folder, parent_folder, ""] if page_path.endswith("/") else [parent_folder, own_folder, ""]


def _page_id(path: str, targets: SpaceIndex) -> str | None:
    """Return the ID of the page at `path`, which may end with `.md` or `README`, or be an ID. None if there is none."""
    stem = path.strip("/").removesuffix(".md")
    folder = INDEX_NAME.sub("", stem)
    page_id = targets.page_id(path) or targets.page_id(stem) or targets.page_id(folder)
    return page_id or (stem if stem in targets.page_ids else None)


def _file(href: str, path: str, full_path: str, targets: SpaceIndex) -> Target | None:
    name = posixpath.basename(path)
    if targets.files is None:
        return FileLink("", name, full_path) if ASSETS in path and name else None
    is_asset = ASSETS in path
    file_id = targets.file_id(full_path) or targets.file_id(path) or (targets.file_id(name) if is_asset else None)
    if file_id:
        return FileLink(file_id, name)
    missing_file = BrokenLink(href, f"There is no file {name} in this space.", path=full_path)
    return missing_file if is_asset else None


_HOST_NAME = re.compile(r"(?:^|[\s/@(])((?:[\w-]{1,63}\.){1,8}[a-z]{2,24})(?=$|[\s/:?#).,])", re.IGNORECASE)
_FILE_SUFFIXES = frozenset(
    {"md", "html", "htm", "json", "js", "ts", "py", "sh", "yaml", "yml", "txt", "zip", "pdf", "png", "rs", "go"}
)


def host_mismatch_warning(words: str, target: UrlLink) -> str:
    """Return a warning if the text of a link contains another host than its URL. Empty otherwise."""
    host_match = _HOST_NAME.search(words)
    if (
        host_match is None
        or target.url.startswith("mailto:")
        or host_match[1].rpartition(".")[2].lower() in _FILE_SUFFIXES
    ):
        return ""
    host = host_match[1].lower().removeprefix("www.")
    try:
        host = _ascii_host(host)
    except ValueError:
        pass
    target_host = target.host.removeprefix("www.")
    if target_host == host or target_host.endswith(f".{host}"):
        return ""
    return f"Careful: the link text says {host_match[1]}, but the link opens {target.host}."


def punycode_warning(host: str) -> str:
    """Return a warning that shows the decoded name of a punycode host. Empty for other hosts, and if the name cannot be
    decoded."""
    if "xn--" not in host:
        return ""
    try:
        decoded = host.encode("ascii").decode("idna")
    except ValueError:
        return ""
    return f"This host name is spelled {decoded}. Letters from other scripts can make it look like another name."


UrlUse = Literal["link", "image", "file"]
"""Use of a URL on a page: to link to it, to show it as an image, or to offer it as a file."""

_URL_ATTRIBUTES: Mapping[str, tuple[tuple[str, UrlUse], ...]] = {
    "image": (("src", "image"), ("dark", "image"), ("link", "link")),
    "file": (("src", "file"),),
    "embed": (("url", "link"),),
    "content-ref": (("url", "link"),),
    "card": (("target", "link"), ("cover", "image"), ("cover_dark", "image")),
    "openapi": (("src", "file"),),
}
"""Attributes that contain URLs, and what the page does with them, by kind of block."""


@dataclass(frozen=True, slots=True)
class PageReference:
    """Something to which a page refers: a URL, reusable content or an OpenAPI specification."""

    target: str
    block_key: str
    """The key of the block with the reference."""
    kind: Literal["url", "include", "spec"] = "url"
    use: UrlUse = "link"
    """Use of the URL in the block (of several, the first use). `link` for reusable content and specifications."""
    lines: tuple[int, int] = (0, 0)
    """First line of the block in the source, counted from 0, and the line after the last, as in `Block.lines`."""


def references_in(document: Document) -> Iterator[PageReference]:
    """Yield the references on a page in source order. Equal references in one block are yielded once."""
    for block in document.walk():
        if block.kind == "include" and block.attrs.get("target"):
            yield PageReference(block.attrs["target"], block.key, "include", lines=block.lines)
        if block.kind == "openapi" and block.attrs.get("spec"):
            yield PageReference(block.attrs["spec"], block.key, "spec", lines=block.lines)
        uses: dict[str, UrlUse] = {}
        for url, use in _urls(block):
            uses.setdefault(url, use)
        for url, use in uses.items():
            yield PageReference(url, block.key, use=use, lines=block.lines)


def _urls(block: Block) -> Iterator[tuple[str, UrlUse]]:
    for name, use in _URL_ATTRIBUTES.get(block.kind, ()):
        if block.attrs.get(name):
            yield str(block.attrs[name]), use
    if block.kind == "integration":
        values = [str((block.attrs.get("arguments") or {}).get(name, "")) for name in ("url", "src", "href")]
        yield from ((value, "link") for value in values if value.startswith(("https://", "http://")))
    if block.kind not in FALLBACK_KINDS:
        yield from _urls_in_runs(block.runs)
    for column in block.attrs.get("columns", ()) if block.kind in ("table", "cards") else ():
        if isinstance(column, TableColumn):
            yield from _urls_in_runs(column.title)


def _urls_in_runs(runs: tuple[Run, ...]) -> Iterator[tuple[str, UrlUse]]:
    for run in runs:
        if run.link:
            yield run.link, "link"
        if run.kind == "image":
            for name in ("src", "dark"):
                if run.attrs.get(name):
                    yield str(run.attrs[name]), "image"


def images_without_text(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the URL of each image without alternative text in these blocks, but not in their children."""
    for block in blocks:
        if block.kind == "image" and not str(block.attrs.get("alt") or "").strip():
            yield str(block.attrs.get("src") or "")
        for run in block.runs:
            if run.kind == "image" and not run.text.strip():
                yield str(run.attrs.get("src") or "")


def has_no_own_text(run: Run) -> bool:
    """Return True if a link's text is empty, a placeholder (`mention`), the URL, or the path or name of a file."""
    text, address = run.text.strip(), run.link or ""
    if not text or text in PLACEHOLDER_TEXTS:
        return bool(address)
    if "://" in address and "://" not in text:
        return False
    path = unquote(address.partition("#")[0])
    return text in (address, path, path.rpartition("/")[2]) and ("/" in text or "." in text)
