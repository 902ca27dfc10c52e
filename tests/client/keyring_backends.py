"""Storage backends for the keyring library."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

HERE = frozenset({__name__})
"""For `Keyring(trusted=HERE)`, which trusts the backends of this module."""


class Memory(KeyringBackend):
    """Stores passwords in memory."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # the library has no types
        self.kept: dict[tuple[str, str], str] = {}
        self.calls: list[str] = []

    def get_password(self, service: str, username: str) -> str | None:
        self.calls.append("get")
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.calls.append("set")
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        self.calls.append("delete")
        if self.kept.pop((service, username), None) is None:
            raise PasswordDeleteError("not found")


class Forgetful(Memory):
    """Returns other passwords than the stored ones."""

    def get_password(self, service: str, username: str) -> str | None:
        return "gb_api_somebody_elses"


class Locked(Memory):
    """Refuses, and quotes its arguments in the error."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("locked")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked(f"cannot keep {password}")


class Waiting(Memory):
    """Blocks, as at a prompt without an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.answered = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.answered.wait()
        return super().get_password(service, username)

    def set_password(self, service: str, username: str, password: str) -> None:
        self.answered.wait()
        super().set_password(service, username, password)


class Prompting(Memory):
    """Calls `meanwhile` while the user enters the password of the keyring to store or delete a token."""

    def __init__(self, meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self.meanwhile = meanwhile

    def set_password(self, service: str, username: str, password: str) -> None:
        self.meanwhile()
        super().set_password(service, username, password)

    def delete_password(self, service: str, username: str) -> None:
        self.meanwhile()
        super().delete_password(service, username)


class Chain(KeyringBackend):
    """Tries several backends in order, as the chain of the library does."""

    priority = 10

    def __init__(self, backends: Iterable[KeyringBackend]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # the library has no types
        self.backends = list(backends)

    def get_password(self, service: str, username: str) -> str | None:
        return next((found for each in self.backends if (found := each.get_password(service, username))), None)

    def set_password(self, service: str, username: str, password: str) -> None:
        self.backends[0].set_password(service, username, password)

    def delete_password(self, service: str, username: str) -> None:
        self.backends[0].delete_password(service, username)


def untrusted_backend(kind: type[Memory]) -> Memory:
    """Return a backend of an untrusted module, such as one that stores plain text."""
    module: dict[str, Any] = {"__module__": "keyrings.alt.file"}
    made: Memory = type("PlaintextKeyring", (kind,), module)()
    return made
