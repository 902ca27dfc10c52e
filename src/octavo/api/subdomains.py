"""Subdomains in the platform's own domain."""

from typing import Annotated, Literal

from pydantic import Field

from octavo.api.operation import Model, Operation
from octavo.api.text import IdOrObject, KnownValues, SafeLine, SubdomainName


class Target(Model):
    """The target of a subdomain: an organization, by ID."""

    type: Annotated[SafeLine, KnownValues("organization")] = ""
    organization: IdOrObject = None


class Subdomain(Model):
    """A subdomain and its target."""

    object: Literal["subdomain"] = "subdomain"
    subdomain: SafeLine
    target: Target = Field(default_factory=Target)
    is_active: bool = False


class Get(Operation[Subdomain], get="/subdomains/{subdomain}"):
    """Look up a subdomain."""

    subdomain: SubdomainName
