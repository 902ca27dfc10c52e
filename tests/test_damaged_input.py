"""Nested, huge and damaged input of every kind that the app and the platform read, and the text that is shown or returned.

A row of `ROWS` is a kind of input, its bytes, and a part of the shown text. `READERS` has the function that reads each kind.
`TEXT_PARSERS` has every function that a nested text reaches, and `VALUE_PARSERS` every function that a nested value reaches.
`CALLS` lists every call in the source that parses text.
"""

from __future__ import annotations

import ast
import asyncio
import io
import json
import sqlite3
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image
from pydantic import SecretStr

from octavo import settings
from octavo.api import comments, content, spaces
from octavo.api.bodies import document_text
from octavo.api.errors import BadResponse
from octavo.api.operation import SPECS, ListPage, Operation, SpaceRef
from octavo.api.reading import TOO_DEEP
from octavo.api.safety import safe_json
from octavo.cli.api import ArgumentFiles, parse_values
from octavo.cli.standard_streams import Failure
from octavo.client import profiles
from octavo.client.credentials import StoreUnavailable, TokenFiles
from octavo.client.profiles import StorageNames
from octavo.client.responses import message_in, parse_response
from octavo.data import inbox_responses
from octavo.data.drafts import Drafts
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.writes.store import OutboxEntries, find_done_entry
from octavo.documents import front_matter, json_to_markdown, openapi, page_trees, yaml_values
from octavo.documents.diff import diff
from octavo.documents.folders.folder import Folder
from octavo.documents.folders.table_of_contents import summary_entries
from octavo.documents.json_document import read_document
from octavo.documents.json_editing import document_to_markdown
from octavo.documents.markdown_to_json import to_json_document
from octavo.documents.merging.page_merge import merge
from octavo.documents.openapi import Specification
from octavo.documents.site_rules import ConditionError, evaluate
from octavo.documents.source_blocks import read_page
from octavo.documents.source_reader import parse
from octavo.first_picture import FirstPicture
from octavo.server import import_sources, loader
from octavo.server.handlers.spaces import get_current, page_text
from octavo.server.page_texts import evaluate_text
from octavo.server.store import Store, UnusableDatabase, image_size
from octavo.settings import table
from octavo.tui.editing import page_form
from octavo.tui.reader import linked_files
from octavo.tui.render import diagrams, formulas
from octavo.tui.terminal.external_editor import read_note
from octavo.untrusted_input import is_too_deep, parse_json
from tests.deep_pages import DEEP_PAGES, LEVELS
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock, small_context

SOURCE = Path(__file__).parent.parent / "src" / "octavo"
LIST = "[" * LEVELS + "]" * LEVELS
OBJECT = '{"a":' * LEVELS + "1" + "}" * LEVELS
OPEN = "[" * LEVELS
INDENTED = "".join(" " * level + "a:\n" for level in range(300))
DASHES = "- " * LEVELS + "a"
LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 12)
)
DIGITS = "9" * 6000
HUGE = 5_000_001
"""Bytes: more than any kind of file may have."""
NESTED = (LIST, OBJECT, OPEN, "{" * LEVELS, DASHES, "? " * LEVELS, INDENTED, "(" * LEVELS, "!" * LEVELS, "a[" * LEVELS)


def nested_list(levels: int = LEVELS) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def nested_nodes(kind: str, holder: str = "nodes", levels: int = LEVELS) -> Any:
    node: Any = {"object": "block", "type": "paragraph", "nodes": [{"object": "text", "leaves": [{"text": "x"}]}]}
    for _ in range(levels):
        node = {"object": kind, "type": "link" if kind == "inline" else "hint", holder: [node]}
    return {"object": "document", "nodes": [node]}


def result_or_error(work: Callable[[], object], *failures: type[Exception]) -> str:
    """Return the result of `work` as text, or the message of its error."""
    try:
        return str(work())
    except failures as failure:
        return str(failure)


# Every parser, with ten thousand levels

TEXT_PARSERS: dict[str, Callable[[str], object]] = {
    "front matter": lambda text: result_or_error(
        lambda: front_matter.parse(f"a: {text}\n{text}"), front_matter.FrontMatterError
    ),
    "page": lambda text: [*parse(f"---\na: {text}\n---\n{text}").walk()],
    "source of a page": read_page,
    "diff": lambda text: diff(parse(text), parse(f"{text}\n\nb")),
    "merge": lambda text: merge(text, f"{text}\n\nb", f"c\n\n{text}"),
    "merge of front matter": lambda text: [
        merge(*sides) for sides in permutations([f"---\na: {text}{end}\n---\n# A\n" for end in ("", "b", "c")])
    ],
    "page as JSON": lambda text: document_text(to_json_document(text)),
    "expressions of a page": lambda text: evaluate_text(
        f'<code class="expression">{text[:900]}</code>{{% if expression="{text[:900]}" %}}a{{% endif %}}',
        {},
        keeps_claims=False,
    ),
    "table of contents": lambda text: summary_entries(Folder(Path("/"), Path("/")), text, Path("SUMMARY.md")),
    "YAML": lambda text: result_or_error(lambda: yaml_values.parse_yaml(text), yaml_values.YamlError),
    "specification": lambda text: result_or_error(lambda: openapi.read_specification(text), openapi.SpecificationError),
    "condition": lambda text: result_or_error(lambda: evaluate(text[:1000], {}), ConditionError),
    "JSON": lambda text: result_or_error(lambda: parse_json(text), ValueError),
    "value of the command line": lambda text: result_or_error(
        lambda: parse_values([f"a:={text}"], ArgumentFiles()), Failure
    ),
    "error of a server": lambda text: message_in(text.encode(), {}),
    "answer of a server": lambda text: parsed_response(content.GetPage, f'{{"id": "a", "document": {text}}}'.encode()),
    "HTML": lambda text: result_or_error(
        lambda: import_sources.read_html(text.replace("[", "<div>").replace("{", "<b>")).markdown(str),
        import_sources.ConversionFailure,
    ),
    "formula": lambda text: formulas.format_stacked(text[:2000], 80),
    "drawings": lambda text: [*diagrams.parse_drawings(text.encode() + b"\n")],
    "picture": lambda text: linked_files.parse_picture(text.encode() + b"\n"),
}
VALUE_PARSERS: dict[str, Callable[[Any], object]] = {
    "JSON page": lambda value: [*read_document(value).walk()],
    "words of a JSON page": document_text,
    "JSON page as markdown": json_to_markdown.to_markdown,
    "JSON page in an editor": document_to_markdown,
    "diff of JSON pages": lambda value: diff(read_document(value), parse("a")),
    "value made safe": lambda value: result_or_error(lambda: safe_json(value), ValueError),
    "schema": lambda value: Specification({"components": {"schemas": {"a": schema_of(value)}}}).schema("a"),
    "depth": lambda value: is_too_deep(value),
}
NODES: dict[str, Any] = {
    "lists": nested_list(),
    "blocks": nested_nodes("block"),
    "inlines": nested_nodes("inline"),
    "fragments": nested_nodes("block", "fragments"),
    "data": {"object": "document", "nodes": [{"object": "block", "type": "unknown", "data": {"a": nested_list()}}]},
}


def schema_of(value: Any) -> Any:
    """Return a schema of objects, lists and parts that is nested as deep as any value."""
    schema: Any = {"type": "object", "example": value}
    for level in range(LEVELS):
        schema = [{"properties": {"a": schema}}, {"items": schema}, {"allOf": [schema]}][level % 3]
    return schema


def with_deep_stack(work: Callable[[], object], frames: int = 200) -> object:
    """Return the result of `work`, called with as many frames on the stack as in an app."""
    return with_deep_stack(work, frames - 1) if frames else work()


@pytest.mark.before_release("HTML", "YAML", "diff", "merge of front matter")
@pytest.mark.parametrize("name", TEXT_PARSERS)
def test_text_parsers_handle_ten_thousand_levels(name: str) -> None:
    for text in NESTED:
        with_deep_stack(lambda text=text: TEXT_PARSERS[name](text))  # type: ignore[misc]  # mypy cannot infer the type of the default


@pytest.mark.long
@pytest.mark.parametrize("name", ["page", "source of a page", "diff", "merge", "page as JSON", "table of contents"])
def test_page_parsers_handle_ten_thousand_levels(name: str) -> None:
    for text in DEEP_PAGES.values():
        with_deep_stack(lambda text=text: TEXT_PARSERS[name](text))  # type: ignore[misc]  # mypy cannot infer the type of the default


@pytest.mark.parametrize("name", VALUE_PARSERS)
@pytest.mark.parametrize("nodes", NODES)
def test_value_parsers_handle_ten_thousand_levels(name: str, nodes: str) -> None:
    with_deep_stack(lambda: VALUE_PARSERS[name](NODES[nodes]))


# Every call that parses text

CALLS = {
    ("api/operation.py", "validate_json"): "answer of a server",
    ("api/reading.py", "from_json"): "answer of a server",
    ("client/responses.py", "from_json"): "error of a server",
    ("data/inbox_responses.py", "validate_json"): "rows of the inbox",
    ("server/app.py", "from_json"): "request: a row of ROWS",
    ("server/rest.py", "from_json"): "cursor: a row of ROWS",
    ("tui/reader/linked_files.py", "model_validate_json"): "picture",
    ("untrusted_input.py", "json.loads"): "JSON",
    ("untrusted_input.py", "tomllib.loads"): "settings: rows of ROWS",
    ("documents/yaml_values.py", "yaml.load"): "specification",
    ("documents/yaml_values.py", "get_single_node"): "YAML",
    ("documents/token_stream.py", "_Markdown"): "page",
    ("server/import_sources.py", "_Soup"): "HTML",
    ("server/import_sources.py", "mammoth.convert_to_html"): "Word document: a row of ROWS",
    ("tui/render/formula_boxes.py", "LatexWalker"): "formula",
    # Files that only Octavo writes.
    ("server/store.py", "json.loads"): "documents of the platform, bounded when they came",
    ("server/handlers/openapi_specs.py", "json.loads"): "a specification that was read before it was filed",
    ("server/handlers/uploads.py", "json.loads"): "an address that the platform signed",
    ("server/demo/register.py", "tomllib.loads"): "a file of the package",
    ("server/demo/history.py", "tomllib.loads"): "a file of the package",
    ("server/demo/library.py", "tomllib.loads"): "a file of the package",
    ("tui/terminal/bounded/draw_diagram.py", "json.load"): "what the app asks its own program",
    ("tui/terminal/bounded/decode_picture.py", "json.loads"): "what the app asks its own program",
    ("tui/resources/form_fields.py", "ast.parse"): "a file of the package",
}
"""Calls of parsers by module, and their names in the tables. The others have a reason."""

_PARSING = {
    *("json.load", "json.loads", "tomllib.load", "tomllib.loads", "yaml.load", "yaml.safe_load", "get_single_node"),
    *("from_json", "validate_json", "model_validate_json", "TypeAdapter.validate_json", "validate_strings"),
    *("BeautifulSoup", "_Soup", "HTMLParser", "MarkdownIt", "_Markdown", "LatexWalker", "mammoth.convert_to_html"),
    *("ast.parse", "ast.literal_eval", "literal_eval", "ElementTree.parse", "ElementTree.fromstring", "fromstring"),
    *(
        "pickle.load",
        "pickle.loads",
        "marshal.loads",
        "eval",
        "plistlib.loads",
        "csv.reader",
        "configparser.ConfigParser",
    ),
}


_LAST_NAMES = {each.rpartition(".")[2] for each in _PARSING}


def parsing_calls() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if not any(each in source for each in _LAST_NAMES):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and _last_name(node.func) in _LAST_NAMES:
                called = ast.unparse(node.func)
                if called in _PARSING or (called := called.rpartition(".")[2]) in _PARSING:
                    yield path.relative_to(SOURCE).as_posix(), called


def _last_name(called: ast.expr) -> str:
    match called:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def test_every_parsing_call_is_in_the_table() -> None:
    assert set(parsing_calls()) == set(CALLS)
    named = {each for each in CALLS.values() if each in TEXT_PARSERS}
    assert named >= {"page", "YAML", "JSON", "HTML", "formula", "specification", "answer of a server"}


# Shown text for damaged input


@dataclass(frozen=True)
class ReaderFolder:
    """The folder of a reader."""

    folder: Path

    def file(self, name: str, data: bytes) -> Path:
        """Return a private file with this content."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.write_bytes(data)
        path.chmod(0o600)
        return path


def parsed_response(kind: type[Operation[Any]], body: bytes) -> Any:
    """Return the response as the app reads it, or the message of its error."""
    try:
        return asyncio.run(parse_response(SPECS[kind], body, "the server"))
    except BadResponse as failure:
        return str(failure)


def reader_of_folder(name: str) -> Callable[[ReaderFolder, bytes], str]:
    """Return a reader of a folder with this file. The reader returns the problems and the text of the pages."""

    def read(place: ReaderFolder, data: bytes) -> str:
        place.file("docs/other.md", b"# Other\n\nThe other page.\n")
        place.file(f"docs/{name}", data)
        context = small_context(Clock())
        try:
            loaded = loader.load(context, place.folder / "docs", organization_id="acme", author_id="ada")
            revision = get_current(context, loaded.space_id)
            pages = [parse(page_text(context, page)) for page in page_trees.walk(revision["pages"])]
            assert "The other page." in "\n".join(block.plain() for page in pages for block in page.blocks)
            again = loader.load(context, place.folder / "docs", organization_id="acme", author_id="ada")
            assert again.revision_id == loaded.revision_id
        finally:
            context.store.close()
        shown = [f"{each.path} {each.message}" for each in loaded.problems]
        for page in pages:
            shown += [str(block.attrs.get("title", "")) + block.plain()[:200] for block in page.blocks[:3]]
        return "\n".join([*shown, f"variables {revision['variables']}"])

    return read


def reader_of_response(
    kind: type[Operation[Any]], body: Callable[[bytes], bytes]
) -> Callable[[ReaderFolder, bytes], str]:
    def read(place: ReaderFolder, data: bytes) -> str:
        answer = parsed_response(kind, body(data))
        if isinstance(answer, content.Page):
            words = "\n".join(block.plain() for block in read_document(answer.document).blocks)
            return f"{answer.title!r} {words} left out {answer.unreadable}"
        if isinstance(answer, ListPage):
            return f"{[each.body.text for each in answer.items]} left out {answer.unreadable}"
        return str(answer)

    return read


def read_settings(place: ReaderFolder, data: bytes) -> str:
    place.file("config.toml", data)
    folders = {f"OCTAVO_{name}_DIR": str(place.folder) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    return "\n".join(settings.read(folders).problems)


def read_profiles(place: ReaderFolder, data: bytes) -> str:
    found = profiles.read(place.file("profiles.toml", data))
    return f"{[*found.entries]} {found.problem}"


def read_accounts(place: ReaderFolder, data: bytes) -> str:
    place.file("accounts.json", data)
    access = profiles.Access("https://a.example", None, "env", SecretStr("a-key-of-somebody"))
    name = StorageNames(place.folder).name_of(access)
    assert StorageNames(place.folder).name_of(access) == name
    return ", ".join(sorted(each.name for each in place.folder.iterdir()))


def read_key(place: ReaderFolder, data: bytes) -> str:
    place.file("p.json", data)
    return result_or_error(lambda: TokenFiles(place.folder).get("https://a.example", "p"), StoreUnavailable)


def reader_of_state(statement: str, show: Callable[[StateDb], object]) -> Callable[[ReaderFolder, bytes], str]:
    """Return a reader of a row in the state file."""

    def read(place: ReaderFolder, data: bytes) -> str:
        StateDb(place.folder).close()
        with closing(sqlite3.connect(place.folder / "state.db")) as db, db:
            db.execute(statement, (data,))
        state = StateDb(place.folder)
        try:
            return f"{show(state)} {' '.join(state.notices)}"
        finally:
            state.close()

    return read


def queued_entries(state: StateDb) -> object:
    return OutboxEntries(state, state.now).all


def read_state_file(place: ReaderFolder, data: bytes) -> str:
    place.file("state.db", data)
    state = StateDb(place.folder)
    Drafts(state).save_now("here", "Typed")
    state.close()
    return " ".join(state.notices)


def read_cache_file(place: ReaderFolder, data: bytes) -> str:
    ResponseCache(place.folder).close()
    (path,) = place.folder.glob("cache-v*.db")
    for part in place.folder.glob("cache-v*"):
        part.unlink()
    path.write_bytes(data)
    cache = ResponseCache(place.folder)
    cache.flush()
    found = cache.get(SPACE)
    cache.close()
    return f"{found} {' '.join(cache.notices)}"


SPACE = spaces.Get(at=SpaceRef(space_id="a"))


def read_cached(place: ReaderFolder, data: bytes) -> str:
    cache = ResponseCache(place.folder)
    found = cache.decode(SPACE, data)
    cache.close()
    return str(found.title if found else None)


def read_library(place: ReaderFolder, data: bytes) -> str:
    return result_or_error(lambda: Store(place.file("platform.db", data)).setting("library"), UnusableDatabase)


def damaged_note(place: ReaderFolder, data: bytes) -> str:
    place.file("comment.md.json", data)
    return str(read_note(place.folder / "comment.md"))


def read_picture_of_screen(place: ReaderFolder, data: bytes) -> str:
    picture = FirstPicture(place.folder, "here", "dark")
    place.file(picture._path.name, data)
    return str(picture._read_rows())


def read_form_draft(place: ReaderFolder, data: bytes) -> str:
    page = content.Page(id="a", slug="as-before")
    return page_form.from_draft(page, data.decode("utf-8", "replace"))["slug"]


def read_specification(place: ReaderFolder, data: bytes) -> str:
    return asyncio.run(linked_files.parse_file(data, "pets.yaml")).error


def read_image(place: ReaderFolder, data: bytes) -> str:
    return asyncio.run(linked_files.scale_image(data, 10, 10, (0, 0, 0))).problem


def read_imported(kind: str) -> Callable[[ReaderFolder, bytes], str]:
    def read(place: ReaderFolder, data: bytes) -> str:
        if kind == "docx":
            return result_or_error(
                lambda: import_sources.convert_docx(data, "a").markdown, import_sources.ConversionFailure
            )
        return result_or_error(
            lambda: import_sources.read_html(data.decode("utf-8", "replace")).markdown(str),
            import_sources.ConversionFailure,
        )

    return read


def reader_of_request(method: str, url: str) -> Callable[[ReaderFolder, bytes], str]:
    """Return a reader that sends a request to the platform and returns its response."""

    def read(place: ReaderFolder, data: bytes) -> str:
        context = small_context(Clock())
        platform = Platform(context)
        try:
            ask = Ask(platform)
            where = url + quote(urlsafe_b64encode(data).decode()) if url.endswith("=") else url
            response = asyncio.run(ask.http(method, where, content=None if url.endswith("=") else data))
        finally:
            platform.close()
            context.store.close()
        return f"{response.status_code} {response.text}"

    return read


READERS: dict[str, Callable[[ReaderFolder, bytes], str]] = {
    "page": reader_of_folder("page.md"),
    "SUMMARY": reader_of_folder("SUMMARY.md"),
    "YAML settings of a folder": reader_of_folder(".gitbook.yaml"),
    "YAML variables": reader_of_folder(".gitbook/vars.yaml"),
    "included page": reader_of_folder(".gitbook/includes/a.md"),
    "image of a folder": reader_of_folder(".gitbook/assets/a.png"),
    "JSON page": reader_of_response(content.GetPage, lambda data: data),
    "comments": reader_of_response(
        comments.List, lambda data: b'{"items": [%s, {"id": "b", "body": {"markdown": "Yes."}}]}' % data
    ),
    "settings": read_settings,
    "profiles": read_profiles,
    "accounts": read_accounts,
    "key": read_key,
    "fact": reader_of_state(
        "INSERT INTO facts VALUES ('', 'a', CAST(? AS TEXT))", lambda state: state.get_value("a", "none")
    ),
    "draft": reader_of_state(
        "INSERT INTO drafts VALUES ('', 'here', 'x', CAST(? AS TEXT), 1, 9e99)",
        lambda state: len(Drafts(state).get("here") or ""),
    ),
    "queued comment": reader_of_state(
        "INSERT INTO outbox VALUES (1, 'a', '', 'queued', CAST(? AS TEXT))", queued_entries
    ),
    "sent comment": reader_of_state(
        "INSERT INTO sent VALUES ('a', '', 'r', 1, CAST(? AS TEXT))",
        lambda state: find_done_entry(state, "a"),
    ),
    "state file": read_state_file,
    "cache file": read_cache_file,
    "cached answer": read_cached,
    "library of the platform": read_library,
    "rows of the inbox": lambda _, data: str(inbox_responses.unpack_rows(data)),
    "note beside an editor's file": damaged_note,
    "picture of the first screen": read_picture_of_screen,
    "draft of a form": read_form_draft,
    "specification": read_specification,
    "image": read_image,
    "size of an image": lambda _, data: str(image_size(data)),
    "HTML to import": read_imported("html"),
    "Word document": read_imported("docx"),
    "request": reader_of_request("PUT", "/v1/orgs/acme/openapi/pets"),
    "cursor": reader_of_request("GET", "/v1/orgs?page="),
    "error of a server": lambda _, data: message_in(data, {}) or "no message",
}


def front(yaml: str) -> bytes:
    """Return a page with this front matter."""
    return f"---\n{yaml}\n---\n# Title\n".encode()


def page_of(document: str) -> bytes:
    return f'{{"id": "a", "title": "T", "document": {document}}}'.encode()


def nested_text(kind: str) -> str:
    """Return a JSON document with ten thousand nested nodes."""
    begin = f'{{"object": "{kind}", "type": "hint", "nodes": [{{"leaves": [{{"text": "x"}}]}}, '
    return '{"object": "document", "nodes": [' + begin * LEVELS + "{}" + "]}" * LEVELS + "]}"


def png() -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (4, 4)).save(out, "PNG")
    return out.getvalue()


def rows_for(*kinds: str, rows: Mapping[str, bytes], shown: str) -> Iterator[tuple[str, str, bytes, str]]:
    """Yield rows for several kinds of input that show the same text."""
    for kind in kinds:
        yield from ((kind, name, data, shown) for name, data in rows.items())


NOT_JSON = {
    "empty": b"",
    "NUL": b"\0",
    "binary": bytes(range(256)),
    "truncated": b'{"id": "a", "ti',
    "nested lists": LIST.encode(),
    "nested objects": OBJECT.encode(),
    "open lists": OPEN.encode(),
    "a list": b"[1]",
    "a text": b'"x"',
    "huge integer": b"[%s]" % DIGITS.encode(),
    "NaN": b"NaN",
    "beyond floats": b"1e9999",
    "5 MB": b"[" + b"1," * 2_500_000 + b"1]",
}
NOT_SQLITE = {"NUL": b"\0" * 5000, "binary": bytes(range(256)) * 20, "truncated": b"SQLite format 3\0 but no more"}
NOT_TOML: dict[str, tuple[bytes, str]] = {
    "NUL": (b"\0", "line 1: Octavo cannot read this line (invalid statement)"),
    "binary": (bytes(range(256)), "config.toml: it is not UTF-8."),
    "truncated": (b'theme = "da', "line 1: Octavo cannot read this line (unterminated string)"),
    "nested lists": (b"theme = " + LIST.encode(), "(it has too many levels)"),
    "open lists": (b"theme = " + OPEN.encode(), "(it has too many levels)"),
    "huge integer": (b"theme = " + DIGITS.encode(), "(a number in it has too many digits)"),
    "date out of range": (b"theme = 2024-99-99", "line 1: Octavo cannot read this line ("),
    "duplicate keys": (
        b'theme = "a"\ntheme = "b"',
        "line 2: Octavo cannot read this line (its name occurs twice in the file)",
    ),
    "5 MB": (b"a = [" + b"1," * 2_500_000 + b"]", "config.toml: it is larger than 1 MiB."),
}
CANNOT_READ = "has front matter that could not be read: it has more than 60 nested levels. The front matter is shown in the text of the page."
NOT_TEXT = {"NUL": b"\0", "binary": bytes(range(256)), "UTF-16": "# A".encode("utf-16")}

ROWS: list[tuple[str, str, bytes, str]] = [
    ("page", "empty", b"", "The other page."),
    *rows_for("page", rows=NOT_TEXT, shown="page.md is not text, so it is left out.\nvariables"),
    (
        "page",
        "invalid UTF-8",
        b"# \xff",
        "page.md is not UTF-8: characters that could not be read are shown as \ufffd.",
    ),
    ("page", "lone surrogate", b"# \xed\xa0\x80", "page.md is not UTF-8"),
    ("page", "5 MB", b"a" * HUGE, "page.md is larger than 5 MB, so it is left out.\nvariables"),
    ("page", "too many lines", b"a\n" * 250_000, "a\na\na"),
    ("page", "nested", DEEP_PAGES["quotes"].encode(), "> > > >"),
    ("page", "front matter of nested lists", front(f"a: {LIST}"), f"page.md {CANNOT_READ}"),
    (
        "page",
        "front matter of nested lists, as shown",
        front(f"a: {LIST}"),
        "Could not read the front matter: it has more",
    ),
    ("page", "front matter of nested lists, its text", front(f"a: {LIST}"), "a: [[[[["),
    ("page", "front matter that is indented", front(INDENTED), f"page.md {CANNOT_READ}"),
    (
        "page",
        "front matter of wrong types",
        front("title: [a]\nicon: {a: b}\ncover: [1]\nlayout: 2"),
        "Title\nvariables",
    ),
    ("page", "front matter said twice", front("title: a\ntitle: b"), "Title\nvariables"),
    ("page", "front matter with a cycle", front("a: &a [*a]"), "Title\nvariables"),
    ("page", "front matter of a billion laughs", front(LAUGHS), "Title\nvariables"),
    ("page", "front matter with a huge integer", front(f"cover: a.png\ncoverY: {DIGITS}"), "Title\nvariables"),
    ("page", "front matter with NaN", front("cover: a.png\ncoverY: nan"), "Title\nvariables"),
    ("page", "front matter with no date", front("date: 2024-99-99"), "Title\nvariables"),
    ("page", "front matter that does not end", b"---\ntitle: a\n", "title: a\nvariables"),
    ("page", "front matter of 4 MB", front("a: b\n" * 800_000), "---\na: b\na: b"),
    ("included page", "front matter of nested lists", front(f"a: {LIST}"), f".gitbook/includes/a.md {CANNOT_READ}"),
    *rows_for("included page", rows=NOT_TEXT, shown=".gitbook/includes/a.md is not text, so it is left out."),
    ("SUMMARY", "empty", b"", "The other page."),
    *rows_for("SUMMARY", rows=NOT_TEXT, shown="SUMMARY.md is not text, so it is left out."),
    ("SUMMARY", "invalid UTF-8", b"* [\xff](other.md)", "SUMMARY.md is not UTF-8"),
    ("SUMMARY", "5 MB", b"* [a](other.md)\n" + b"a" * HUGE, "SUMMARY.md is larger than 5 MB, so it is left out."),
    (
        "SUMMARY",
        "nested lists",
        b"* " * LEVELS + b"[a](other.md)",
        "SUMMARY.md has too many nested levels to be read completely.",
    ),
    ("SUMMARY", "front matter of nested lists", front(f"a: {LIST}"), "The other page."),
    ("SUMMARY", "a long path", b"* [a](" + b"a/" * LEVELS + b"a.md)", "does not exist, so its page is empty."),
    ("SUMMARY", "no address", b"* [a](http://[::1)\n", "The other page."),
    ("SUMMARY", "itself", b"* [a](SUMMARY.md)\n", "The other page."),
    ("YAML settings of a folder", "empty", b"", "The other page."),
    ("YAML settings of a folder", "NUL", b"\0", ".gitbook.yaml is not text, so it is left out."),
    (
        "YAML settings of a folder",
        "nested lists",
        b"root: " + LIST.encode(),
        ".gitbook.yaml could not be read: it has more than 60",
    ),
    (
        "YAML settings of a folder",
        "indented",
        INDENTED.encode(),
        ".gitbook.yaml could not be read: it has more than 60 nested levels.",
    ),
    ("YAML settings of a folder", "wrong types", b"root: [a]\nstructure: 1\n", "The other page."),
    ("YAML settings of a folder", "long name", b"root: " + b"a" * 5000, "which is not a folder inside this folder."),
    (
        "YAML settings of a folder",
        "outside",
        b"root: ../..",
        "sets the root ../.., which is not a folder inside this folder.",
    ),
    ("YAML settings of a folder", "duplicate keys", b"root: a\nroot: b", "sets the root b, which is not a folder"),
    ("YAML settings of a folder", "5 MB", b"a: b\n" * 1_100_000, ".gitbook.yaml is larger than 5 MB"),
    (
        "YAML variables",
        "nested lists",
        b"a: " + LIST.encode(),
        "vars.yaml could not be read: it has more than 60 nested levels.",
    ),
    ("YAML variables", "indented", INDENTED.encode(), "The space has no variables."),
    ("YAML variables", "cycle", b"a: &a [*a]", "variables {'a': '&a [*a]'}"),
    ("YAML variables", "NUL", b"\0", "vars.yaml is not text, so it is left out."),
    ("image of a folder", "damaged", bytes(range(256)), "The other page."),
    ("image of a folder", "5 MB", png() + b"\0" * HUGE, "a.png is larger than 5 MB, so it is left out."),
    *rows_for(
        "JSON page",
        rows={each: NOT_JSON[each] for each in ("NUL", "binary", "truncated", "open lists")},
        shown="did not return valid JSON.",
    ),
    ("JSON page", "empty", b"", "sent an empty response to content.GetPage."),
    ("JSON page", "a list", b"[1]", "Could not read the response from the server to content.GetPage"),
    ("JSON page", "nested lists", b'{"id": "a", "title": "T", "document": %s}' % LIST.encode(), "'T'"),
    ("JSON page", "nested blocks", page_of(nested_text("block")), "x"),
    ("JSON page", "nested inlines", page_of(nested_text("inline")), TOO_DEEP),
    ("JSON page", "nested pages", b'{"id": "a", "title": "T", "pages": [' * LEVELS + b"]}" * LEVELS, "'T'  left out 1"),
    ("JSON page", "huge integer", b'{"id": "a", "title": "T", "a": %s}' % DIGITS.encode(), "'T'"),
    ("JSON page", "NaN", b'{"id": "a", "title": NaN}', "left out 1"),
    ("JSON page", "lone surrogate", b'{"id": "a", "title": "\\ud800"}', "'\ufffd'"),
    ("JSON page", "invalid UTF-8", b'{"id": "a", "title": "\xff"}', "'\ufffd'"),
    ("JSON page", "duplicate keys", b'{"id": "a", "title": "b", "title": "c"}', "'c'"),
    ("JSON page", "date out of range", b'{"id": "a", "title": "T", "createdAt": "2024-99-99"}', "'T'  left out 1"),
    ("JSON page", "wrong type", b'{"id": "a", "title": ["T"], "pages": 5}', "left out 2"),
    ("comments", "nested document", b'{"id": "a", "body": {"document": %s}}' % LIST.encode(), "'Yes.'] left out 0"),
    ("comments", "huge integer", b'{"id": "a", "replies": %s}' % DIGITS.encode(), "'Yes.'] left out"),
    ("comments", "invalid UTF-8", b'{"id": "a", "body": {"markdown": "\xff"}}', "['\ufffd', 'Yes.'] left out 0"),
    ("comments", "no id", b"{}", "['Yes.'] left out 1"),
    ("comments", "null", b"null", "['Yes.'] left out 1"),
    ("comments", "nested lists", LIST.encode(), "['Yes.'] left out 1"),
    ("comments", "truncated", b'{"id": "a', "did not return valid JSON."),
    *(("settings", name, *row) for name, row in NOT_TOML.items()),
    ("settings", "200 mistakes", b"a = [\n" * 200, "line 200: Octavo cannot read this line"),
    ("settings", "200 duplicates", b"ascii = true\n" * 200, "line 200: Octavo cannot read this line"),
    ("settings", "a mistake in 50 000 lines", b"a\n" * 50_000, "Could not read "),
    ("settings", "empty", b"", ""),
    ("settings", "byte order mark", b'\xef\xbb\xbfascii = "d!"', "ascii must be true or false"),
    ("settings", "hexadecimal", b"ascii = 0x" + b"f" * 6000, "must be true or false, not"),
    ("settings", "4000 digits", b"undo_seconds = " + b"9" * 4000, "must be a number of seconds from 0 to 30, not"),
    ("settings", "NaN", b"undo_seconds = nan", "must be a number of seconds from 0 to 30, not"),
    ("settings", "long name", b'ca_file = "' + b"a" * 5000 + b'"', "but there is no such file."),
    ("settings", "nested names", b"theme" + b".a" * 1000 + b" = 1", "must be the name of a theme"),
    *(
        ("settings", f"nested names in {name}", name.encode() + b".a" * 1000 + b" = 1", name.partition(".")[0])
        for name in (*table.BY_NAME, "inbox.A.space", "inbox.A.reasons", "keys.'view.inbox'")
    ),
    (
        "settings",
        "wrong types",
        b"keys = 1\ninbox = []\n",
        "must be a section named [keys] that assigns keys to commands",
    ),
    *(("profiles", name, data, "Could not read the profiles: ") for name, (data, _) in NOT_TOML.items()),
    ("profiles", "wrong types", b"profiles = 1\ncurrent = []", "[]"),
    (
        "profiles",
        "wrong types in one",
        b"[profiles.a]\norigin = 1\nstore = []",
        "profile 'a': store must be one of keyring, file, env, session",
    ),
    *rows_for("accounts", rows=NOT_JSON, shown="accounts.unreadable"),
    *rows_for(
        "key", rows={each: NOT_JSON[each] for each in NOT_JSON if each != "5 MB"}, shown="does not contain an API key."
    ),
    ("key", "5 MB", b"a" * HUGE, "was not written by Octavo, so Octavo did not read it."),
    *rows_for(
        "fact", rows={each: NOT_JSON[each] for each in ("empty", "NUL", "truncated", "nested lists")}, shown="none"
    ),
    ("draft", "invalid UTF-8", b"\xff", "1"),
    ("draft", "NUL", b"a\0b", "3"),
    ("draft", "5 MB", b"a" * HUGE, str(HUGE)),
    *rows_for("queued comment", rows=NOT_JSON, shown="The change is kept in state.db as a."),
    *rows_for("sent comment", rows=NOT_JSON, shown="None"),
    *rows_for("state file", rows=NOT_SQLITE, shown="state.db was damaged. Octavo recovered 0 entries from the file"),
    *rows_for("cache file", rows=NOT_SQLITE, shown="The cache was damaged. Octavo will load everything"),
    *rows_for("library of the platform", rows=NOT_SQLITE, shown="could not read its database (file is not a database)"),
    *rows_for("cached answer", rows=NOT_JSON, shown="None"),
    *rows_for("rows of the inbox", rows=NOT_JSON, shown="()"),
    *rows_for("note beside an editor's file", rows=NOT_JSON, shown="None"),
    *rows_for("picture of the first screen", rows=NOT_JSON, shown="[]"),
    *rows_for("draft of a form", rows=NOT_JSON, shown="as-before"),
    *rows_for("error of a server", rows=NOT_JSON, shown="no message"),
    (
        "specification",
        "empty",
        b"",
        "Could not show pets.yaml as an OpenAPI specification. The file must contain a JSON or YAML object.",
    ),
    ("specification", "NUL", b"\0", "The file is not valid YAML: unacceptable character"),
    ("specification", "truncated", b'{"openapi": "3', "The file is not valid JSON: Unterminated string"),
    ("specification", "nested lists", LIST.encode(), "Could not read the file: it has more than 200 levels."),
    (
        "specification",
        "nested YAML",
        DASHES.encode(),
        "The file is not valid YAML: while increasing block level exceeded maximum",
    ),
    ("specification", "huge integer", b'{"a": %s}' % DIGITS.encode(), "a number in it has too many digits."),
    ("specification", "hexadecimal", b"a: 0x" + b"f" * 6000, "The file contains a number that is too large."),
    ("specification", "cycle", b"a: &a [*a]", "or more than 100 nested levels."),
    ("specification", "billion laughs", LAUGHS.encode(), "The file has more than 400000 values"),
    ("specification", "no boolean", b"openapi: !!bool x", "The file is not valid YAML: this is not a valid bool"),
    (
        "specification",
        "date out of range",
        b"openapi: !!timestamp 2024-99-99",
        "The file is not valid YAML: this is not a valid timestamp",
    ),
    ("specification", "invalid UTF-8", b'{"a": "\xff"}', "it has neither an openapi nor a swagger field."),
    ("specification", "wrong types", b"openapi: 3.0.0\ninfo: 1\npaths: 2", ""),
    ("specification", "5 MB", b"a" * HUGE, "The file is larger than the limit of 4 MiB."),
    *rows_for(
        "image", rows=NOT_TEXT | {"empty": b"", "truncated": png()[:30]}, shown="the image format is not supported."
    ),
    ("image", "damaged", png()[:45] + b"\xff" * 20, "Could not show the image: the file is damaged."),
    ("image", "5 MB", b"\x89PNG\r\n\x1a\n" + b"\0" * HUGE, "the image format is not supported."),
    *rows_for("size of an image", rows=NOT_TEXT | {"empty": b"", "truncated": png()[:20]}, shown="None"),
    ("HTML to import", "nested", b"<div>" * LEVELS, "is nested too deeply"),
    ("HTML to import", "5 MB", b"<p>a</p>" * 700_000, "is longer than 5 million characters"),
    ("HTML to import", "truncated", b'<p>a</p><p b="', "a"),
    *rows_for("Word document", rows=NOT_TEXT | {"empty": b"", "truncated": b"PK\3\4"}, shown="is not a Word document"),
    ("request", "empty", b"", '400 {"error":{"code":400,"message":"source is required."}}'),
    ("request", "a list", b"[1]", "The body must be a JSON object."),
    *rows_for(
        "request",
        rows={each: NOT_JSON[each] for each in ("NUL", "binary", "truncated")},
        shown="The body is not valid JSON",
    ),
    ("request", "nested lists", LIST.encode(), "400"),
    ("request", "nested specification", json.dumps({"source": {"text": LIST}}).encode(), "200"),
    ("request", "NaN", b'{"source": NaN}', "The body is not valid JSON"),
    ("request", "lone surrogate", b'{"source": {"text": "\\ud800"}}', "The body is not valid JSON"),
    ("request", "huge integer", b'{"source": %s}' % DIGITS.encode(), "number out of range"),
    ("request", "5 MB", b"[" + b"1," * 2_500_000 + b"1]", "413"),
    *rows_for(
        "cursor",
        rows={each: NOT_JSON[each] for each in ("NUL", "binary", "a list", "open lists", "huge integer", "NaN")},
        shown="page does not name a page in this list.",
    ),
]
"""Kind of input, its damage, its bytes, and a part of the shown text or response."""


@pytest.mark.before_release("page: front matter of 4 MB", "page: front matter said twice", "rows of the inbox: 5 MB")
@pytest.mark.parametrize(
    ("kind", "data", "shown"),
    [(kind, data, shown) for kind, _, data, shown in ROWS],
    ids=[f"{kind}: {name}" for kind, name, _, _ in ROWS],
)
def test_damaged_input_is_reported_and_other_input_is_read(tmp_path: Path, kind: str, data: bytes, shown: str) -> None:
    tmp_path.chmod(0o700)
    assert shown in READERS[kind](ReaderFolder(tmp_path), data)


def test_every_kind_of_input_has_rows() -> None:
    assert {kind for kind, *_ in ROWS} == set(READERS)
