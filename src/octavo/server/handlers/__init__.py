"""Handlers of the operations that are not plain REST, in one module for each subject."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from octavo.api.operation import Operation

_MODULE_OF_AREA = {
    "adaptive_schema": "sites",
    "collections": "spaces",
    "fonts": "uploads",
    "imports": "uploads",
    "invites": "access",
    "mcp_servers": "sites",
    "openapi": "openapi_specs",
    "pdf": "uploads",
    "permissions": "access",
    "redirects": "sites",
    "reviews": "comments",
    "share_links": "sites",
    "sso": "organizations",
    "storage": "uploads",
    "subdomains": "organizations",
    "system": "organizations",
    "teams": "organizations",
    "translations": "organizations",
    "urls": "links",
    "users": "organizations",
}
"""Modules with the handlers of an area, if the names differ."""


def load_for(operation: type[Operation[Any]]) -> None:
    """Import the module with the handlers of an operation. The import registers the handlers."""
    area = operation.__module__.rpartition(".")[2]
    import_module(f"{__name__}.{_MODULE_OF_AREA.get(area, area)}")


def load() -> None:
    """Import all handler modules."""
    for subject in iter_modules(__path__, f"{__name__}."):
        import_module(subject.name)
