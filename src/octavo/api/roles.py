"""Roles and default access levels."""

from __future__ import annotations

from typing import Annotated, Literal

from octavo.api.text import KnownValues, SafeLine

Role = Literal["admin", "create", "edit", "review", "comment", "read"]
"""A role in a request. None stands for a guest."""

RoleName = Annotated[SafeLine, KnownValues("admin", "create", "edit", "review", "comment", "read")]
"""A role in a response."""

DefaultLevel = Role | Literal["inherit"]
"""The default access of a space or collection in a request. None stands for no access."""

DefaultLevelName = Annotated[SafeLine, KnownValues("admin", "create", "edit", "review", "comment", "read", "inherit")]
"""The default access of a space or collection in a response."""
