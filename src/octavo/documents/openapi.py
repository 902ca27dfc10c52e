"""Descriptions of interfaces, OpenAPI 3 and 2.0, as a page shows them: operations, their parameters and schemas.

They are written by strangers: whatever is no object, no list or no text where one is expected is passed over, references
that lead in a circle end where they begin it, and schemas are as deep and as large as one can read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from octavo.documents.openapi_schemas import (
    MAX_ITEMS,
    Definitions,
    Field,
    SchemaReader,
    example,
    first_items,
    line_of,
    list_of,
    object_of,
    text_of,
)
from octavo.documents.yaml_values import MAX_NUMBER_BITS, core_loader
from octavo.untrusted_input import BeyondLimit, parse_json

METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")
_LONGEST_CURL, _LONGEST_URL = 6000, 2000


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something a request says beside its body. `place` is path, query, header or cookie."""

    place: str
    field: Field


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent or answered: its media type and what it is made of."""

    media: str
    schema: Field | None
    required: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer. `status` is 200, 4XX or default."""

    status: str
    description: str
    bodies: tuple[Body, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """One request that an interface takes, or sends (a webhook: its path is its name)."""

    method: str
    path: str
    summary: str = ""
    description: str = ""
    deprecated: bool = False
    server: str = ""
    parameters: tuple[Parameter, ...] = ()
    bodies: tuple[Body, ...] = ()
    responses: tuple[Response, ...] = ()
    security: tuple[str, ...] = ()
    """Ways to say who one is, one of which is wanted, in words."""
    curl: str = ""
    """A command that sends it. Empty for webhooks."""


@dataclass(frozen=True, eq=False)
class Specification:
    """A description that was read; or why it could not be, in `trouble`."""

    spec: Mapping[str, Any] = field(default_factory=dict)
    trouble: str = ""

    @property
    def title(self) -> str:
        info = object_of(self.spec.get("info"))
        return " ".join(part for part in (line_of(info.get("title")), line_of(info.get("version"))) if part)

    def operation(self, method: str, path: str) -> Operation | None:
        """The operation of a path. Paths that differ only in the names of their parameters are one."""
        paths = object_of(self.spec.get("paths"))
        found = paths.get(path)
        if not isinstance(found, dict):
            found = next((item for key, item in paths.items() if _path_pattern(key) == _path_pattern(path)), None)
            path = next((key for key in paths if _path_pattern(key) == _path_pattern(path)), path)
        item = self._resolved(found)
        # It becomes a word of a command: whoever wrote the page and the description could make a command of it.
        said = item.get(method.lower()) if method.lower() in METHODS else None
        return self._operation(method, path, item, said) if isinstance(said, dict) else None

    def webhook(self, name: str, method: str) -> Operation | None:
        """What the interface sends under a name."""
        item = self._resolved(object_of(self.spec.get("webhooks")).get(name))
        said = item.get(method.lower()) or next((item[each] for each in METHODS if each in item), None)
        return self._operation(method, name, item, said, sent=True) if isinstance(said, dict) else None

    def schema(self, name: str) -> Field | None:
        """A named schema."""
        for place in ("components/schemas", "definitions"):
            reference = {"$ref": f"#/{place}/{name.replace('~', '~0').replace('/', '~1')}"}
            definitions = Definitions(self.spec)
            if definitions.follow(reference)[0]:
                return SchemaReader(definitions).field(name, reference, False)
        return None

    def every(self) -> Iterator[tuple[str, str]]:
        """The method and path of every operation, in the order of the description."""
        for path, item in object_of(self.spec.get("paths")).items():
            for method in METHODS:
                if isinstance(object_of(item).get(method), dict):
                    yield method, line_of(path)

    # Reading

    def _operation(
        self, method: str, path: str, item: Mapping[str, Any], said: Mapping[str, Any], *, sent: bool = False
    ) -> Operation:
        reading = SchemaReader(Definitions(self.spec))
        named = [each for place in (item, said) for each in list_of(place.get("parameters"))[:MAX_ITEMS]]
        given = [self._resolved(each) for each in named[:MAX_ITEMS]]
        by_name = {(line_of(each.get("in")), line_of(each.get("name"))): each for each in given}
        parameters = [
            _parameter(reading, each) for each in by_name.values() if each.get("in") not in ("body", "formData")
        ]
        bodies = tuple(_bodies(reading, self._resolved(said.get("requestBody"))))
        bodies += tuple(self._old_body(reading, list(by_name.values()), said))
        responses = [
            self._response(reading, status, self._resolved(each))
            for status, each in first_items(said.get("responses")).items()
        ]
        server = "" if sent else self._server(item, said)
        security = self._security(said)
        made = Operation(
            method.lower(),
            line_of(path),
            line_of(said.get("summary") or item.get("summary")),
            text_of(said.get("description") or item.get("description")),
            said.get("deprecated") is True,
            server,
            tuple(parameters),
            bodies,
            tuple(responses),
            security,
        )
        return made if sent else _with_curl(made, self, said, by_name)

    def _response(self, reading: SchemaReader, status: str, said: Mapping[str, Any]) -> Response:
        bodies = tuple(replace(body, description="") for body in _bodies(reading, said))
        return Response(line_of(status), reading.words(said.get("description")), bodies)

    def _old_body(
        self, reading: SchemaReader, given: list[Mapping[str, Any]], said: Mapping[str, Any]
    ) -> Iterator[Body]:
        """Bodies as version 2.0 has them: among the parameters."""
        media = next((line_of(each) for each in list_of(said.get("consumes") or self.spec.get("consumes"))), "")
        for each in given:
            if each.get("in") == "body":
                schema = reading.field("", each.get("schema"), each.get("required") is True)
                yield Body(
                    media or "application/json",
                    schema,
                    each.get("required") is True,
                    reading.words(each.get("description")),
                )
        form = [_parameter(reading, each).field for each in given if each.get("in") == "formData"]
        if form:
            yield Body(media or "application/x-www-form-urlencoded", Field("", "object", children=tuple(form)))

    def _server(self, *places: Mapping[str, Any]) -> str:
        for place in (*reversed(places), self.spec):
            for server in list_of(place.get("servers")):
                url = line_of(object_of(server).get("url"))
                for name, variable in first_items(object_of(server).get("variables")).items():
                    # What one brings may hold the names of others: it grows without end if it may.
                    default = line_of(object_of(variable).get("default"))
                    url = url.replace(f"{{{line_of(name)}}}", default)[:_LONGEST_URL]
                if url:
                    return url.rstrip("/")
        if host := line_of(self.spec.get("host")):
            schemes = [line_of(each) for each in list_of(self.spec.get("schemes"))] or ["https"]
            return f"{schemes[0]}://{host}{line_of(self.spec.get('basePath'))}".rstrip("/")
        return ""

    def _security(self, said: Mapping[str, Any]) -> tuple[str, ...]:
        wanted = said["security"] if "security" in said else self.spec.get("security")
        return tuple(
            " and ".join(self._scheme(line_of(name)) for name in first_items(each)) or "no authentication"
            for each in list_of(wanted)[:MAX_ITEMS]
            if isinstance(each, dict)
        )

    def _scheme(self, name: str) -> str:
        scheme = self.scheme(name)
        match scheme.get("type"):
            case "http" if scheme.get("scheme"):
                kind = (
                    f"{line_of(scheme['scheme']).capitalize()} token"
                    if scheme["scheme"] == "bearer"
                    else line_of(scheme["scheme"]).capitalize()
                )
                return f"{kind} in the Authorization header"
            case "basic":
                return "Basic authentication in the Authorization header"
            case "apiKey":
                return f"API key in {line_of(scheme.get('in'))} {line_of(scheme.get('name'))}"
            case "oauth2" | "openIdConnect" as kind:
                return f"{'OAuth 2' if kind == 'oauth2' else 'OpenID Connect'} ({name})"
        return name

    def scheme(self, name: str) -> Mapping[str, Any]:
        """A way to say who one is, by its name."""
        known = object_of(object_of(self.spec.get("components")).get("securitySchemes"))
        return self._resolved((known or object_of(self.spec.get("securityDefinitions"))).get(name))

    def _resolved(self, value: Any) -> Mapping[str, Any]:
        return Definitions(self.spec).follow(value)[0]


def _parameter(schemas: SchemaReader, said: Mapping[str, Any]) -> Parameter:
    schema = said.get("schema", said)
    content = next(iter(object_of(said.get("content")).values()), None)
    schema = object_of(content).get("schema", schema) if content is not None else schema
    made = schemas.field(line_of(said.get("name")), schema, said.get("required") is True)
    description = schemas.words(said.get("description")) or made.description
    children = made.children if schema is not said else ()
    return Parameter(
        line_of(said.get("in")),
        Field(made.name, made.type, made.required, description, made.note, said.get("deprecated") is True, children),
    )


def _bodies(schemas: SchemaReader, said: Mapping[str, Any]) -> Iterator[Body]:
    required, description = said.get("required") is True, schemas.words(said.get("description"))
    for media, content in list(object_of(said.get("content")).items())[:8]:
        schema = object_of(content).get("schema")
        yield Body(
            line_of(media), schemas.field("", schema, required) if schema is not None else None, required, description
        )
    if "schema" in said and "in" not in said:
        yield Body("application/json", schemas.field("", said["schema"], False))


def _with_curl(
    made: Operation, of: Specification, said: Mapping[str, Any], given: Mapping[Any, Mapping[str, Any]]
) -> Operation:
    """An operation with a command that sends it."""
    query = [f"{quote(each.field.name)}=" for each in made.parameters if each.place == "query" and each.field.required]
    server = "https://…" if made.server.startswith("-") else made.server or "https://…"  # no option of the command
    address = f"{server}{made.path}" + (f"?{'&'.join(query)}" if query else "")
    words = [f"curl{'' if made.method == 'get' else f' -X {made.method.upper()}'} {_shell_quote(address)}"]
    wanted = list_of(said["security"] if "security" in said else of.spec.get("security"))
    for name in first_items(next((each for each in wanted if isinstance(each, dict)), {})):
        scheme = of.scheme(line_of(name))
        if scheme.get("type") == "http" and scheme.get("scheme") == "bearer":
            words.append('-H "Authorization: Bearer $TOKEN"')
        elif scheme.get("type") in ("http", "basic"):
            words.append('-u "$USER:$PASSWORD"')
        elif scheme.get("type") == "apiKey" and scheme.get("in") == "header":
            words.append(f'-H {_shell_quote(line_of(scheme.get("name")) + ": ")}"$KEY"')
        elif scheme.get("type") in ("oauth2", "openIdConnect"):
            words.append('-H "Authorization: Bearer $TOKEN"')
    words += [
        f"-H {_shell_quote(f'{each.field.name}: ')}"
        for each in made.parameters
        if each.place == "header" and each.field.required
    ]
    if made.bodies:
        body = made.bodies[0]
        words.append(f"-H {_shell_quote(f'Content-Type: {body.media}')}")
        if body.schema is not None and "json" in body.media:
            words.append(f"-d {_shell_quote(json.dumps(example(body.schema), indent=2, ensure_ascii=False))}")
    curl = " \\\n  ".join(words)
    return replace(made, curl=curl if len(curl) <= _LONGEST_CURL else " \\\n  ".join(words[:-1]))


def _shell_quote(text: str) -> str:
    """Words of a shell that mean nothing but themselves."""
    return "'" + text.replace("'", "'\\''") + "'"


def _path_pattern(path: Any) -> str:
    return "/".join("{}" if part.startswith("{") else part for part in str(path).strip("/").split("/"))


Json = dict[str, Any]

MAX_LENGTH = 4 << 20
"""The most characters of a specification."""
MAX_VALUES = 400_000
MAX_DEPTH = 100


class SpecificationError(Exception):
    """This is no OpenAPI specification: sentences that say why."""

    def __init__(self, *sentences: str) -> None:
        super().__init__(" ".join(sentences))
        self.sentences = sentences


def read_specification(text: str) -> Json:
    """The specification that a text is, as JSON. Raises Unreadable."""
    value = read_value(text)
    if not isinstance(value, dict):
        raise SpecificationError("The file is not an object. An OpenAPI specification has openapi, info, and paths.")
    if wrong := list(_missing_parts(value)):
        raise SpecificationError(*wrong)
    return value


def read_value(text: str) -> Any:
    """The value that a text of JSON or YAML is, as JSON. Raises Unreadable."""
    if len(text) > MAX_LENGTH:
        raise SpecificationError(f"The file is larger than the limit of {MAX_LENGTH >> 20} MiB.")
    return _JsonConverter().of(_parse(text))


def _parse(text: str) -> Any:
    try:
        return parse_json(text)
    except BeyondLimit as error:
        raise SpecificationError(f"Could not read the file: {error}.") from None
    except ValueError as error:
        if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
            raise SpecificationError(f"The file is not valid JSON: {error}.") from None
    # Only whoever brings YAML pays for what reads it.
    import yaml

    try:
        return yaml.load(text, core_loader())
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SpecificationError(f"The file is not valid YAML: {' '.join(str(error).split())[:300]}.") from None


class _JsonConverter:
    """Makes values JSON. YAML may hold dates, keys that are no text, and the same value in many places."""

    def __init__(self) -> None:
        self._count = 0

    def of(self, value: Any, depth: int = 0) -> Any:
        self._count += 1
        if self._count > MAX_VALUES or depth > MAX_DEPTH:
            raise SpecificationError(
                f"The file has more than {MAX_VALUES} values, or more than {MAX_DEPTH} nested levels."
            )
        if isinstance(value, dict):
            return {_name(key): self.of(each, depth + 1) for key, each in value.items()}
        if isinstance(value, list | tuple | set):
            return [self.of(each, depth + 1) for each in value]
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return None
        if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
            raise SpecificationError("The file contains a number that is too large.")
        return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _name(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _missing_parts(value: Json) -> list[str]:
    wrong = []
    said = value.get("openapi", value.get("swagger"))
    if not str(said).startswith(("2.0", "3.")):
        wrong.append('Neither `openapi: 3.x` nor `swagger: "2.0"` is set.')
    info = value.get("info")
    if not (isinstance(info, dict) and isinstance(info.get("title"), str)):
        wrong.append("info.title is missing.")
    parts = ("paths", "webhooks", "components") if str(said).startswith("3.1") else ("paths",)
    if not any(isinstance(value.get(part), dict) for part in parts):
        wrong.append(f"{' or '.join(parts)} is missing.")
    return wrong
