"""Reads OpenAPI 3 and 2.0 specifications: operations with their parameters and schemas.

Specifications are untrusted input. Values of an unexpected type are skipped, circular references are cut where they
repeat, and the depth and size of schemas are limited.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from octavo.documents.json_inline import as_object
from octavo.documents.openapi_schemas import (
    MAX_ITEMS,
    ReferenceResolver,
    SchemaField,
    SchemaReader,
    as_line,
    as_list,
    as_text,
    example,
    first_items,
)
from octavo.documents.yaml_values import MAX_NUMBER_BITS, YamlError, load_yaml
from octavo.untrusted_input import LimitExceededError, parse_json

METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")
_MAX_CURL, _MAX_URL = 6000, 2000


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation. `location` is path, query, header or cookie."""

    location: str
    field: SchemaField


@dataclass(frozen=True, slots=True)
class Body:
    """The content of a request or response: its media type and schema."""

    media_type: str
    schema: SchemaField | None
    required: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class Response:
    """A response of an operation. `status` is a code such as 200 or 4XX, or default."""

    status: str
    description: str
    bodies: tuple[Body, ...] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation or a webhook. The path of a webhook is its name."""

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
    """The ways to authenticate, as text. A request needs one of them."""
    curl: str = ""
    """A curl command that sends the request. Empty for webhooks."""


@dataclass(frozen=True, eq=False)
class Specification:
    """An OpenAPI specification. If it could not be read, `error` is the error message."""

    spec: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""

    @property
    def title_with_version(self) -> str:
        info = as_object(self.spec.get("info"))
        return " ".join(part for part in (as_line(info.get("title")), as_line(info.get("version"))) if part)

    def operation(self, method: str, path: str) -> Operation | None:
        """Return the operation for a method and path. None if there is none. Names of path parameters may differ."""
        paths = as_object(self.spec.get("paths"))
        path_item = paths.get(path)
        if not isinstance(path_item, dict):
            path_item = next((item for key, item in paths.items() if _path_pattern(key) == _path_pattern(path)), None)
            path = next((key for key in paths if _path_pattern(key) == _path_pattern(path)), path)
        item = self._resolve(path_item)
        # The method becomes part of the curl command, so an unknown method could inject a command.
        raw = item.get(method.lower()) if method.lower() in METHODS else None
        return self._operation(method, path, item, raw) if isinstance(raw, dict) else None

    def webhook(self, name: str, method: str) -> Operation | None:
        """Return the webhook `name` for `method`, or else for its first method. None for an unknown webhook."""
        item = self._resolve(as_object(self.spec.get("webhooks")).get(name))
        methods = [each for each in METHODS if isinstance(item.get(each), dict)]
        verb = method.lower() if method.lower() in methods else next(iter(methods), None)
        return self._operation(verb, name, item, item[verb], is_webhook=True) if verb is not None else None

    def schema(self, name: str) -> SchemaField | None:
        """Return the schema with a name. None if there is no such schema."""
        for section in ("components/schemas", "definitions"):
            reference = {"$ref": f"#/{section}/{name.replace('~', '~0').replace('/', '~1')}"}
            resolver = ReferenceResolver(self.spec)
            if resolver.resolve(reference)[0]:
                return SchemaReader(resolver).read_field(name, reference, False)
        return None

    def operations(self) -> Iterator[tuple[str, str]]:
        """Yield the method and path of every operation, in the order of the specification."""
        for path, item in as_object(self.spec.get("paths")).items():
            for method in METHODS:
                if isinstance(as_object(item).get(method), dict):
                    yield method, as_line(path)

    def _operation(
        self, method: str, path: str, item: Mapping[str, Any], raw: Mapping[str, Any], *, is_webhook: bool = False
    ) -> Operation:
        reader = SchemaReader(ReferenceResolver(self.spec))
        raw_items = [each for container in (item, raw) for each in as_list(container.get("parameters"))[:MAX_ITEMS]]
        parameters_raw = [self._resolve(each) for each in raw_items[:MAX_ITEMS]]
        by_name = {(as_line(each.get("in")), as_line(each.get("name"))): each for each in parameters_raw}
        parameters = [
            _parameter(reader, each) for each in by_name.values() if each.get("in") not in ("body", "formData")
        ]
        bodies = tuple(_bodies(reader, self._resolve(raw.get("requestBody"))))
        bodies += tuple(self._swagger_bodies(reader, list(by_name.values()), raw))
        responses = [
            self._response(reader, status, self._resolve(each), self._media_type(raw, "produces", "application/json"))
            for status, each in first_items(raw.get("responses")).items()
        ]
        server = "" if is_webhook else self._server_url(item, raw)
        security = self._security(raw)
        operation = Operation(
            method.lower(),
            as_line(path),
            as_line(raw.get("summary") or item.get("summary")),
            as_text(raw.get("description") or item.get("description")),
            raw.get("deprecated") is True,
            server,
            tuple(parameters),
            bodies,
            tuple(responses),
            security,
        )
        return operation if is_webhook else _with_curl(operation, self, raw)

    def _response(self, reader: SchemaReader, status: str, raw: Mapping[str, Any], media_type: str) -> Response:
        """Return a response of an operation. `media_type` is the media type of its schema in OpenAPI 2.0."""
        bodies = [replace(body, description="") for body in _bodies(reader, raw)]
        if "schema" in raw:
            bodies.append(Body(media_type, reader.read_field("", raw["schema"], False)))
        return Response(as_line(status), reader.read_description(raw.get("description")), tuple(bodies))

    def _media_type(self, raw: Mapping[str, Any], name: str, default: str) -> str:
        """Return the media type in the field `name` of the operation, else of the specification, else `default`."""
        media_type = next((as_line(each) for each in as_list(raw.get(name) or self.spec.get(name))), "")
        return media_type or default

    def _swagger_bodies(
        self, reader: SchemaReader, parameters_raw: list[Mapping[str, Any]], raw: Mapping[str, Any]
    ) -> Iterator[Body]:
        for each in parameters_raw:
            if each.get("in") == "body":
                schema = reader.read_field("", each.get("schema"), each.get("required") is True)
                yield Body(
                    self._media_type(raw, "consumes", "application/json"),
                    schema,
                    each.get("required") is True,
                    reader.read_description(each.get("description")),
                )
        form_fields = [_parameter(reader, each).field for each in parameters_raw if each.get("in") == "formData"]
        if form_fields:
            media_type = self._media_type(raw, "consumes", "application/x-www-form-urlencoded")
            yield Body(media_type, SchemaField("", "object", children=tuple(form_fields)))

    def _server_url(self, *levels: Mapping[str, Any]) -> str:
        for level in (*reversed(levels), self.spec):
            for server in as_list(level.get("servers")):
                url = as_line(as_object(server).get("url"))
                for name, variable in first_items(as_object(server).get("variables")).items():
                    # Defaults can name other variables, so the URL could grow without limit.
                    default = as_line(as_object(variable).get("default"))
                    url = url.replace(f"{{{as_line(name)}}}", default)[:_MAX_URL]
                if url:
                    return url.rstrip("/")
        if host := as_line(self.spec.get("host")):
            schemes = [as_line(each) for each in as_list(self.spec.get("schemes"))] or ["https"]
            return f"{schemes[0]}://{host}{as_line(self.spec.get('basePath'))}".rstrip("/")
        return ""

    def _security(self, raw: Mapping[str, Any]) -> tuple[str, ...]:
        requirements = raw["security"] if "security" in raw else self.spec.get("security")
        return tuple(
            " and ".join(self._scheme(as_line(name)) for name in first_items(each)) or "no authentication"
            for each in as_list(requirements)[:MAX_ITEMS]
            if isinstance(each, dict)
        )

    def _scheme(self, name: str) -> str:
        scheme = self.scheme(name)
        match scheme.get("type"):
            case "http" if scheme.get("scheme"):
                token = " token" if _is_bearer(scheme) else ""
                return f"{as_line(scheme['scheme']).capitalize()}{token} in the Authorization header"
            case "basic":
                return "Basic authentication in the Authorization header"
            case "apiKey":
                return f"API key in {as_line(scheme.get('in'))} {as_line(scheme.get('name'))}"
            case "oauth2" | "openIdConnect" as kind:
                return f"{'OAuth 2' if kind == 'oauth2' else 'OpenID Connect'} ({name})"
        return name

    def scheme(self, name: str) -> Mapping[str, Any]:
        """Return the security scheme with a name. Empty if there is none."""
        schemes = as_object(as_object(self.spec.get("components")).get("securitySchemes"))
        return self._resolve((schemes or as_object(self.spec.get("securityDefinitions"))).get(name))

    def _resolve(self, value: Any) -> Mapping[str, Any]:
        return ReferenceResolver(self.spec).resolve(value)[0]


def _parameter(schemas: SchemaReader, raw: Mapping[str, Any]) -> Parameter:
    schema = raw.get("schema", raw)
    content = next(iter(as_object(raw.get("content")).values()), None)
    schema = as_object(content).get("schema", schema) if content is not None else schema
    schema_field = schemas.read_field(as_line(raw.get("name")), schema, raw.get("required") is True)
    description = schemas.read_description(raw.get("description")) or schema_field.description
    schema_field = replace(schema_field, description=description, deprecated=raw.get("deprecated") is True)
    return Parameter(as_line(raw.get("in")), schema_field)


def _bodies(schemas: SchemaReader, raw: Mapping[str, Any]) -> Iterator[Body]:
    required, description = raw.get("required") is True, schemas.read_description(raw.get("description"))
    for media_type, content in list(as_object(raw.get("content")).items())[:8]:
        schema = as_object(content).get("schema")
        yield Body(
            as_line(media_type),
            schemas.read_field("", schema, required) if schema is not None else None,
            required,
            description,
        )


def _with_curl(operation: Operation, specification: Specification, raw: Mapping[str, Any]) -> Operation:
    query = [
        f"{quote(parameter.field.name)}="
        for parameter in operation.parameters
        if parameter.location == "query" and parameter.field.required
    ]
    url = f"{_absolute_url(operation.server)}{operation.path}" + (f"?{'&'.join(query)}" if query else "")
    words = [f"curl{'' if operation.method == 'get' else f' -X {operation.method.upper()}'} {_shell_quote(url)}"]
    requirements = as_list(raw["security"] if "security" in raw else specification.spec.get("security"))
    for name in first_items(next((each for each in requirements if isinstance(each, dict)), {})):
        scheme = specification.scheme(as_line(name))
        if scheme.get("type") == "http" and _is_bearer(scheme):
            words.append('-H "Authorization: Bearer $TOKEN"')
        elif scheme.get("type") in ("http", "basic"):
            words.append('-u "$USER:$PASSWORD"')
        elif scheme.get("type") == "apiKey" and scheme.get("in") == "header":
            words.append(f'-H {_shell_quote(as_line(scheme.get("name")) + ": ")}"$KEY"')
        elif scheme.get("type") in ("oauth2", "openIdConnect"):
            words.append('-H "Authorization: Bearer $TOKEN"')
    words += [
        f"-H {_shell_quote(f'{parameter.field.name}: ')}"
        for parameter in operation.parameters
        if parameter.location == "header" and parameter.field.required
    ]
    if operation.bodies:
        body = operation.bodies[0]
        words.append(f"-H {_shell_quote(f'Content-Type: {body.media_type}')}")
        if body.schema is not None and "json" in body.media_type:
            words.append(f"-d {_shell_quote(json.dumps(example(body.schema), indent=2, ensure_ascii=False))}")
    curl = " \\\n  ".join(words)
    return replace(operation, curl=curl if len(curl) <= _MAX_CURL else " \\\n  ".join(words[:-1]))


def _absolute_url(server: str) -> str:
    """Return a server URL for a curl command. `…` stands for a missing host, or for a URL with a leading hyphen."""
    if server.startswith("//"):
        return f"https:{server}"
    if server.startswith("/"):
        return f"https://…{server}"
    # With a leading hyphen, the URL would be an option of curl.
    return "https://…" if server.startswith("-") else server or "https://…"


def _is_bearer(scheme: Mapping[str, Any]) -> bool:
    return as_line(scheme.get("scheme")).lower() == "bearer"


def _shell_quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _path_pattern(path: Any) -> str:
    return "/".join("{}" if part.startswith("{") else part for part in str(path).strip("/").split("/"))


Json = dict[str, Any]

MAX_LENGTH = 4 << 20
"""Maximum number of characters of an OpenAPI specification."""
MAX_VALUES = 400_000
MAX_DEPTH = 100


class SpecificationError(Exception):
    """Raised for a file that is not a valid OpenAPI specification, with the reasons as sentences."""

    def __init__(self, *sentences: str) -> None:
        super().__init__(" ".join(sentences))
        self.sentences = sentences


def read_specification(text: str) -> Json:
    """Parse an OpenAPI specification in JSON or YAML, and return it as JSON. Raises SpecificationError."""
    value = read_value(text)
    if not isinstance(value, dict):
        raise SpecificationError("The file is not an object. An OpenAPI specification has openapi, info, and paths.")
    if errors := _missing_parts(value):
        raise SpecificationError(*errors)
    return value


def read_value(text: str) -> Any:
    """Parse a JSON or YAML text, and return its value with only JSON types. Raises SpecificationError."""
    if len(text) > MAX_LENGTH:
        raise SpecificationError(f"The file is larger than the limit of {MAX_LENGTH >> 20} MiB.")
    return _JsonConverter().convert(_parse(text))


def _parse(text: str) -> Any:
    try:
        return parse_json(text)
    except LimitExceededError as error:
        raise SpecificationError(f"Could not read the file: {error}.") from None
    except ValueError as error:
        if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
            raise SpecificationError(f"The file is not valid JSON: {error}.") from None
    try:
        return load_yaml(text)
    except YamlError as error:
        raise SpecificationError(f"The file is not valid YAML: {str(error)[:300]}.") from None


class _JsonConverter:
    """Converts YAML values to JSON. Raises SpecificationError for too many values or levels."""

    def __init__(self) -> None:
        self._count = 0

    def convert(self, value: Any, depth: int = 0) -> Any:
        self._count += 1
        if self._count > MAX_VALUES or depth > MAX_DEPTH:
            raise SpecificationError(
                f"The file has more than {MAX_VALUES} values, or more than {MAX_DEPTH} nested levels."
            )
        if isinstance(value, dict):
            return {_name(key): self.convert(each, depth + 1) for key, each in value.items()}
        if isinstance(value, list | tuple | set):
            return [self.convert(each, depth + 1) for each in value]
        if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
            return None
        if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
            raise SpecificationError("The file contains a number that is too large.")
        return value if value is None or isinstance(value, str | int | float | bool) else str(value)


def _name(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _missing_parts(value: Json) -> list[str]:
    errors = []
    raw = value.get("openapi", value.get("swagger"))
    if not str(raw).startswith(("2.0", "3.")):
        errors.append('Neither `openapi: 3.x` nor `swagger: "2.0"` is set.')
    info = value.get("info")
    if not (isinstance(info, dict) and isinstance(info.get("title"), str)):
        errors.append("info.title is missing.")
    parts = ("paths",) if str(raw).startswith(("2.0", "3.0")) else ("paths", "webhooks", "components")
    if not any(isinstance(value.get(part), dict) for part in parts):
        errors.append(f"{' or '.join(parts)} is missing.")
    return errors
