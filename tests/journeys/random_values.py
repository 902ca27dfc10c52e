"""Random values that a JSON schema allows, with a few missing, unknown, unusual and wrong values."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from octavo.api.openapi_document import document
from tests.documents.expensive_pages import EXPENSIVE_PAGES
from tests.documents.json_pages import PAIRS
from tests.journeys.hostile_library import HOSTILE

Json = Any

SAMPLES = Path(__file__).parents[1] / "api" / "samples"
_IDS_PER_KIND = 12
"""Number of ids of each kind, except in long lists."""
_WORDS = [
    "tide",
    "harbour",
    "lantern",
    "pilot",
    "chart",
    "current",
    "mooring",
    "vessel",
    "owner",
    "anchor",
    "reef",
    "spring",
    "neap",
    "buoy",
]
_UNUSUAL_TEXTS = (
    *("", " ", "\t", "\n", "a\nb\r\nc", "\x00", "\x1b[2J", HOSTILE, "[/x]", "[bold", "%1B]52;c;aGk=%07", "&#27;[31m"),
    *("\u202eevil\u2066", "\u200b", "\ufeff", "\u0301" * 40, "e\u0301", "\U0001f468\u200d\U0001f469\u200d\U0001f467"),
    *("\U0001f1e9\U0001f1ea", "日本語の題名", "עברית", "العربية", "ไทย", "\ufffd", "\ue000", "<b>x</b>", "{{x}}"),
    *("{% hint %}", "$octavo-note", "${}", "\\", "'\"`", "..", "../..", "/", "null", "0", "-1", "W" * 400, "宽" * 300),
    *("word " * 400, "x" * 5000, "💥" * 120),
)
_UNUSUAL_TIMES = (
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z", "2038-01-19T03:14:08+14:00"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "2026-02-28T24:00:00Z", "2016-12-31T23:59:60Z"),
    "2025-06-01T12:00:00",
)
_NUMBERS = (0, 0, 0, 1, 2, 3, 7, 12, 99, 100, 1000, 123456789, 2**31, 2**53, -1, -7)
_UNUSUAL_IDS = (
    "",
    ".",
    "..",
    "a/b",
    "a b",
    "pending-1",
    "é",
    "x" * 129,
    "x" * 300,
    "%2e%2e",
    "a?b#c",
    "\x07",
    HOSTILE,
    "#head",
)
_KINDS = {
    **dict.fromkeys(
        ("revisionInitial", "revisionMerged", "revisionMergedAncestor", "lastVersion", "parents"), "revision"
    ),
    **dict.fromkeys(("createdBy", "postedBy", "reviewer", "requestedBy", "resolvedBy", "user"), "user"),
    **dict.fromkeys(("pagereference", "targetpage", "pagehit", "pages"), "page"),
    **dict.fromkeys(("comment", "commentreply", "reply"), "comment"),
    "filereference": "file",
    "targetnode": "node",
}


def kind_of(name: str) -> str:
    """Return the kind of item that the name of a field, model or path parameter refers to. All ids of a kind come
    from one set."""
    short = name.removesuffix("Id") if name != "Id" else name
    return _KINDS.get(short) or _KINDS.get(short.lower()) or short.lower()


class Values:
    """Random values for one response."""

    def __init__(self, random: Random, host: str, names: dict[str, str], longest: int = 10_000) -> None:
        """`names` has the path parameters of the request by kind of item. The response refers to these items.
        `longest` is the length of the few very long lists."""
        self._random, self._host, self._names, self._longest = random, host, names, longest
        self._lean = False
        """True to create only required fields, as in a list of thousands of items."""
        self._wild = random.random() < 0.25
        """True if a few values may have a wrong type."""
        self._budget = 4000
        """Number of values that may still be created. At zero, all values become as short as possible."""

    def answer(self, schema: Json, page: str = "") -> bytes:
        """Return the body of a response, which may be one page of a list."""
        name = schema.get("$ref", "").rpartition("/")[2]
        if name.startswith("ListPage_"):
            return json.dumps(self._list_page(_definition(name), page)).encode()
        value = self._value(schema, kind_of(name), 0)
        if isinstance(value, dict) and name and self._random.random() < 0.96:
            own = self._names.get(kind_of(name)) or next(reversed(self._names.values()), None)
            if own is not None and "id" in value:
                value["id"] = own
        return json.dumps(value).encode()

    def _list_page(self, described: Json, page: str) -> Json:
        random = self._random
        many = random.random()
        number = (
            0 if many < 0.12 else random.randint(1, 6) if many < 0.7 else random.randint(7, 60) if many < 0.99 else -1
        )
        items = described["properties"]["items"]["items"]
        kind = kind_of(items.get("$ref", "").rpartition("/")[2])
        found = [self._value(items, kind, 1) for _ in range(max(0, number))]
        if number < 0:
            self._lean = True
            few = [self._value(items, kind, 1) for _ in range(40)]
            found = [
                {**each, "id": f"{kind}-{index}"} if isinstance(each := few[index % 40], dict) else each
                for index in range(self._longest)
            ]
        elif random.random() < 0.85:
            first = random.choice((0, 0, 0, 3)) + (
                60 * int(page.removeprefix("c") or 0) if page.startswith("c") and page[1:].isdecimal() else 0
            )
            for index, each in enumerate(found):
                if isinstance(each, dict) and "id" in each and random.random() < 0.97:
                    each["id"] = f"{kind}-{first + index}"
        answered: Json = {"items": found}
        number_of_page = int(page[1:]) if page[:1] == "c" and page[1:].isdecimal() else 0
        if random.random() < 0.3 / (1 + number_of_page / 3):
            answered["next"] = {
                "page": random.choice((f"c{number_of_page + 1}",) * 8 + (page or "c1", self.words() or "c"))
            }
        elif random.random() < 0.2:
            answered["next"] = None
        if random.random() < 0.7:
            answered["count"] = random.choice((len(found), len(found), len(found) + 60, 0, -1, 1.5, None))
        if "stats" in described["properties"] and random.random() < 0.5:
            answered["stats"] = self._value(described["properties"]["stats"], "stats", 1)
        return answered

    def _value(self, schema: Json, name: str, depth: int) -> Json:
        self._budget -= 1
        random = self._random
        if self._wild and random.random() < 0.01:
            return self.anything()
        if "$ref" in schema:
            model = schema["$ref"].rpartition("/")[2]
            return self._value(_definition(model), kind_of(model), depth)
        if choices := schema.get("anyOf") or schema.get("oneOf"):
            return self._value(self._choice(choices), name, depth)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return (
                random.choice(schema["enum"])
                if random.random() < 0.93
                else random.choice(("tidal", "", "NEW", "a b", HOSTILE))
            )
        match schema.get("type"):
            case "object":
                return self._object(schema, name, depth)
            case "array":
                return [self._value(schema.get("items", {}), name, depth + 1) for _ in range(self._length(depth))]
            case "string":
                return self._string(schema, name)
            case "integer":
                return (
                    random.choice(_NUMBERS)
                    if random.random() < 0.97
                    else random.choice((2**63, 10**30, 10**400, 1.5, 3.0))
                )
            case "number":
                return random.choice((*_NUMBERS, 0.5, -0.1, 1e300))
            case "boolean":
                return random.random() < 0.6
            case "null":
                return None
            case _:
                return self._value_without_schema(name)

    def _choice(self, choices: list[Json]) -> Json:
        others = [each for each in choices if each.get("type") != "null"]
        if len(others) < len(choices) and (self._random.random() < 0.15 or self._lean or self._budget < 0):
            return {"type": "null"}
        return self._random.choice(others)

    def _object(self, schema: Json, name: str, depth: int) -> Json:
        random, required = self._random, schema.get("required", ())
        found: dict[str, Json] = {}
        for each, described in schema.get("properties", {}).items():
            may_miss = each not in required
            if (may_miss and (self._lean or self._budget < 0 or random.random() < 0.12)) or random.random() < 0.005:
                continue
            # Other servers omit fields, so every field except the id may be missing.
            if each != "id" and not may_miss and random.random() < 0.03:
                continue
            found[each] = self._id(name) if each == "id" else self._value(described, each, depth + 1)
        if random.random() < 0.05:
            found["somethingNew"] = self.anything()
        if isinstance(schema.get("additionalProperties"), dict):
            for _ in range(self._length(depth)):
                found[self.words()] = self._value(schema["additionalProperties"], name, depth + 1)
        return found

    def _length(self, depth: int) -> int:
        if self._lean or self._budget < 0 or depth > 6:
            return 0
        return self._random.choice((0, 0, 1, 1, 2, 3, 5, 8, 30) if depth < 4 else (0, 0, 0, 1, 2))

    def _id(self, kind: str) -> str:
        random = self._random
        if random.random() < 0.012:
            return random.choice(_UNUSUAL_IDS)
        if kind == "user" and random.random() < 0.1:
            return "anonymous:" + random.choice(_WORDS)
        own = self._names.get(kind)
        return own if own is not None and random.random() < 0.5 else f"{kind}-{random.randrange(_IDS_PER_KIND)}"

    def _string(self, schema: Json, name: str) -> str:
        random = self._random
        if schema.get("format") == "date-time":
            if random.random() < 0.06:
                return random.choice(_UNUSUAL_TIMES)
            return f"2026-{random.randint(1, 12):02}-{random.randint(1, 28):02}T{random.randrange(24):02}:{random.randrange(60):02}:07Z"
        if schema.get("pattern", "").startswith("^[A-Za-z0-9_-]"):
            return self._id(kind_of(name))
        if name in ("page", "space", "revision", "node"):
            return self._id(name)
        if name in ("markdown", "text", "body"):
            return self.markdown()
        if name in ("emoji", "icon") and random.random() < 0.8:
            return random.choice(("1f30a", "1f468-200d-1f469", "anchor", "zzz", "110000", "d800", "1f1e9-1f1ea", ""))
        if name.lower().endswith(("url", "href")) or name in ("app", "published", "location", "public", "logo"):
            return random.choice(
                (
                    f"{self._host}/{self.words()}",
                    f"{self._host}/x.png",
                    "/x",
                    "javascript:x",
                    "",
                    "http://[::1",
                    HOSTILE,
                )
            )
        if name in ("path", "slug") and random.random() < 0.8:
            return "/".join(random.choice(_WORDS) for _ in range(random.randint(1, 3)))
        return self.words()

    def words(self) -> str:
        """Return a short text, which usually consists of words."""
        random = self._random
        if not self._lean and random.random() < 0.2:
            return random.choice(_UNUSUAL_TEXTS)
        return " ".join(random.choice(_WORDS) for _ in range(random.choice((1, 2, 2, 3, 4, 9)))).capitalize()

    def markdown(self) -> str:
        """Return Markdown with random blocks. A few texts are huge or broken."""
        random = self._random
        if self._lean or self._budget < 0 or random.random() < 0.1:
            return self.words()
        if random.random() < 0.03:
            return random.choice(list(EXPENSIVE_PAGES.values()))(random.choice((30, 300)))
        number = random.choice((1, 1, 2, 3, 6, 12, 25)) if random.random() < 0.97 else 800
        parts = [self._block() for _ in range(number)]
        whole = "\n\n".join(parts)
        return whole[: random.randrange(len(whole) + 1)] if random.random() < 0.1 else whole

    def _block(self) -> str:
        random = self._random
        if random.random() < 0.3:
            return f"{'#' * random.randint(1, 6)} {self.words()}" if random.random() < 0.5 else self.words()
        markdown = random.choice(PAIRS)[1]
        if random.random() < 0.15:
            words = markdown.split(" ")
            words[random.randrange(len(words))] = self.words()
            markdown = " ".join(words)
        return markdown

    def _value_without_schema(self, name: str) -> Json:
        """Return a value for a field without a schema. The value resembles the samples that have this field."""
        random = self._random
        if name in ("document", "description") and random.random() < 0.9:
            nodes = [node for _ in range(random.randint(0, 8)) for node in random.choice(PAIRS)[2]]
            return self._with_changes({"object": "document", "data": {"schemaVersion": 9}, "nodes": nodes}, 0.004)
        known = _sample_values().get(name)
        if known and random.random() < 0.9:
            return self._with_changes(random.choice(known), 0.05)
        return self.anything()

    def _with_changes(self, value: Json, often: float) -> Json:
        """Return `value` with a few random changes. `often` is the share of values that change."""
        random = self._random
        if random.random() < often:
            return self.anything()
        if isinstance(value, dict):
            return {each: self._with_changes(inner, often) for each, inner in value.items() if random.random() > often}
        if isinstance(value, list):
            return [
                self._with_changes(each, often) for each in value for _ in range(1 if random.random() > often else 2)
            ]
        if isinstance(value, str) and random.random() < often * 3:
            return self.words()
        return value

    def anything(self, depth: int = 0) -> Json:
        """Return any JSON value."""
        random = self._random
        match random.randrange(9 if depth < 3 else 7):
            case 0:
                return None
            case 1:
                return random.random() < 0.5
            case 2:
                return random.choice((*_NUMBERS, 0.5, 2**63, -(10**30), 10**400))
            case 3 | 4:
                return self.words()
            case 5:
                return []
            case 6:
                return {}
            case 7:
                return [self.anything(depth + 1) for _ in range(random.randint(1, 4))]
            case _:
                names = (
                    "id",
                    "type",
                    "title",
                    "page",
                    "before",
                    "after",
                    "kind",
                    "object",
                    "nodes",
                    "data",
                    self.words(),
                )
                return {random.choice(names): self.anything(depth + 1) for _ in range(random.randint(1, 4))}


def _definition(name: str) -> Json:
    return document()["components"]["schemas"][name]


@cache
def _sample_values() -> dict[str, list[Json]]:
    """Return all values in the samples, by field name."""
    found: dict[str, list[Json]] = defaultdict(list)

    def walk(value: Json) -> None:
        if isinstance(value, dict):
            for name, inner in value.items():
                found[name].append(inner)
                walk(inner)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    for path in sorted(SAMPLES.glob("*.json")):
        walk(json.loads(path.read_text(encoding="utf-8")))
    return found
