"""Where keys are kept: in the keyring of the system, or, when asked for, in a plain file of the owner's.

Every key is filed under its origin, so a changed base URL never gets the old key. All functions block, the
keyring for a limited time; the app calls them with `octavo.client.threads.aside`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import SecretStr

from octavo.client import keys
from octavo.client.private_files import NotPrivate, read_private, write_private
from octavo.client.threads import Overdue, within
from octavo.untrusted_input import parse_json

if TYPE_CHECKING:  # the library takes a quarter of a second to load, and finds its backends even more slowly
    from keyring.backend import KeyringBackend

T = TypeVar("T")

TRUSTED = frozenset(
    f"keyring.backends.{name}" for name in ("SecretService", "libsecret", "kwallet", "macOS", "Windows")
)
"""Modules of backends that encrypt. Others keep keys in clear, or nowhere."""
SECONDS = 3.0
PATIENT_SECONDS = 60.0
"""For an explicit sign-in, when a person is there to answer the prompt of the keyring."""


class StoreUnavailable(Exception):
    """The key cannot be kept or read there. The text is a sentence."""


class StoreTimeout(StoreUnavailable):
    """The store did not answer. It may still be the right one: nothing is kept elsewhere instead."""


class Keyring:
    """The keyring of the system: one key for each origin and profile name. All methods raise StoreUnavailable."""

    name = "keyring"
    """As profiles record it."""

    def __init__(self, *, trusted: Collection[str] = TRUSTED, seconds: float = SECONDS) -> None:
        """`seconds` is how long to wait for each call."""
        self._trusted = trusted
        self._seconds = seconds

    def patient(self) -> Keyring:
        """The same keyring, with time for a person to answer its prompt."""
        return Keyring(trusted=self._trusted, seconds=PATIENT_SECONDS)

    def get(self, origin: str, profile: str) -> SecretStr | None:
        """The key, or None when there is none."""
        found = self._ask(lambda backend: backend.get_password(_service(origin), profile))
        try:
            return keys.accept(found) if found else None
        except ValueError:
            raise StoreUnavailable(
                f"What the keyring holds for {origin} is not a key. Sign in again to replace it."
            ) from None

    def put(self, origin: str, profile: str, key: SecretStr) -> None:
        """Keep the key in place of any other."""

        def keep(backend: KeyringBackend) -> bool:
            backend.set_password(_service(origin), profile, key.get_secret_value())
            return backend.get_password(_service(origin), profile) == key.get_secret_value()

        if not self._ask(keep):
            raise StoreUnavailable("The keyring took the key but does not give it back, so it is not kept there.")

    def delete(self, origin: str, profile: str) -> bool:
        """Forget the key. False when there was none."""

        def forget(backend: KeyringBackend) -> bool:
            if backend.get_password(_service(origin), profile) is None:
                return False
            backend.delete_password(_service(origin), profile)
            return True

        return self._ask(forget)

    def title(self) -> str:
        """What the keyring is called, `SecretService`. Raises StoreUnavailable when there is none to trust."""
        return self._ask(lambda backend: type(backend).__module__.rpartition(".")[2])

    def _ask(self, question: Callable[[KeyringBackend], T]) -> T:
        try:
            return within(self._seconds, lambda: question(self._backend()))
        except Overdue:
            raise StoreTimeout(
                f"The keyring did not answer within {self._seconds:g} s: it is locked, or waits for you in a window. "
                "Unlock it and try again."
            ) from None
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001  # backends raise what they like, and may quote the key
            name = type(error).__name__
            raise StoreUnavailable(f"The keyring refused ({name}). Unlock or repair it, then try again.") from None

    def _backend(self) -> KeyringBackend:
        import keyring  # here, because it is slow to load and may not be needed at all

        chosen = keyring.get_keyring()
        # A chain would write to whichever comes first, and that may keep keys in clear.
        for backend in getattr(chosen, "backends", None) or [chosen]:
            if type(backend).__module__ in self._trusted:
                return backend  # type: ignore[no-any-return]  # the library does not say what its chain holds
        raise StoreUnavailable("This machine has no keyring that keeps keys encrypted.")


class KeyFiles:
    """The same in files in clear, one for each profile, for those who asked for it. Their owner alone can read them."""

    name = "file"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, origin: str, profile: str) -> SecretStr | None:
        path = self._path(profile)
        try:
            kept = parse_json(read_private(path))
            return keys.accept(kept["key"]) if kept["origin"] == origin else None
        except FileNotFoundError:
            return None
        except NotPrivate as error:
            raise StoreUnavailable(str(error)) from None
        except OSError as error:
            raise StoreUnavailable(f"{path} cannot be read ({error.strerror}). Check it, or sign in again.") from None
        except (ValueError, TypeError, KeyError, AttributeError):
            raise StoreUnavailable(f"{path} does not hold a key. Sign in again to replace it.") from None

    def put(self, origin: str, profile: str, key: SecretStr) -> None:
        path = self._path(profile)
        try:
            write_private(path, json.dumps({"origin": origin, "profile": profile, "key": key.get_secret_value()}))
        except OSError as error:
            raise StoreUnavailable(f"{path} cannot be written ({error.strerror}). Check its folder.") from None

    def delete(self, origin: str, profile: str) -> bool:
        path = self._path(profile)
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StoreUnavailable(f"{path} cannot be deleted ({error.strerror}). Delete it yourself.") from None
        return True

    def _path(self, profile: str) -> Path:
        return self._folder / f"{profile}.json"


Store = Keyring | KeyFiles
"""What keeps keys."""


def _service(origin: str) -> str:
    return f"octavo:{origin}"
