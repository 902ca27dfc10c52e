"""The version of the service."""

from octavo.api.operation import Model, Operation
from octavo.api.text import SafeLine


class Service(Model):
    """The version of the server."""

    version: SafeLine
    build: SafeLine = ""


class Get(Operation[Service], get="/"):
    """Get the version of the service."""
