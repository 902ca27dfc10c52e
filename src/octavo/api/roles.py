"""Roles and default access levels."""

from __future__ import annotations

from typing import Annotated, Literal

from octavo.api.text import KnownValues, SafeLine

Role = Literal["admin", "create", "edit", "review", "comment", "read"]
"""A role in a request. In an organization, None makes the member a guest. In a space or collection, None removes
the role."""

RoleName = Annotated[SafeLine, KnownValues("admin", "create", "edit", "review", "comment", "read")]
"""A role in a response."""

DefaultLevel = Role | Literal["inherit"]
"""The default access of a space or collection in a request. Where a field accepts None, None gives no access."""

DefaultLevelName = Annotated[SafeLine, KnownValues("admin", "create", "edit", "review", "comment", "read", "inherit")]
"""The default access of a space or collection in a response."""
