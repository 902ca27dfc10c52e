"""Stores tokens (API keys) in the keyring of the system. If the user wants it, they are stored in files that only their
owner can read.

A token is stored with the origin of its server, so that it is not sent to another server. All functions block, so the
app calls them in a thread.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pydantic import SecretStr

from octavo.api.safety import safe_line
from octavo.client.profiles import parse_token
from octavo.concurrency import Overdue, run_with_timeout
from octavo.private_files import NotPrivate, read_private, write_private
from octavo.untrusted_input import parse_json

if TYPE_CHECKING:  # lazy: keyring loads in 0.25 s, and then searches for its backends
    from keyring.backend import KeyringBackend

T = TypeVar("T")

TRUSTED_BACKENDS = frozenset(
    f"keyring.backends.{name}" for name in ("SecretService", "libsecret", "kwallet", "macOS", "Windows")
)
"""Modules of keyring backends that encrypt tokens. Other backends are not used."""
TIMEOUT = 3.0
"""Default seconds to wait for the keyring."""
LONG_TIMEOUT = 60.0
"""Seconds to wait for a keyring that may ask for its password."""
STILL_WAITING = (
    f"The keyring has not responded yet. If a window asks for the password of the keyring, type the password there "
    f"(Octavo waits {LONG_TIMEOUT:g} s)."
)


class StoreUnavailable(Exception):
    """A token store cannot be used. The message says why, and what the user can do."""

    def __init__(self, cause: str, step: str = "") -> None:
        """`step` is a sentence that says what the user can do. Empty if `cause` already says so."""
        super().__init__(f"{cause} {step}".rstrip())
        self.cause, self.step = cause, step


class StoreTimeout(StoreUnavailable):
    """Raised if a token store does not respond in time. Do not try another store: the first may still do its work."""


class Keyring:
    """Stores tokens in the keyring of the system. A method that cannot use the keyring raises StoreUnavailable."""

    name = "keyring"
    """Name of this store in the profiles file."""

    def __init__(
        self,
        *,
        trusted: Collection[str] = TRUSTED_BACKENDS,
        timeout: float = TIMEOUT,
        report: Callable[[str], object] | None = None,
    ) -> None:
        """`trusted` are the modules of allowed backends. After `timeout` seconds, calls raise StoreTimeout. If
        `timeout` is longer than `TIMEOUT`, `report` is called after `TIMEOUT` with a sentence for the user."""
        self._trusted = trusted
        self._timeout = timeout
        self._report = report

    def with_longer_timeout(self, report: Callable[[str], object] | None = None) -> Keyring:
        """Return a keyring that waits up to `LONG_TIMEOUT`, so that the user can enter its password. After `TIMEOUT`,
        `report` is called with a sentence for the user."""
        return Keyring(trusted=self._trusted, timeout=LONG_TIMEOUT, report=report or self._report)

    def get(self, origin: str, profile: str) -> SecretStr | None:
        """Return the token of a profile. None if no token is stored. Raises StoreUnavailable."""
        password = self._run(lambda backend: backend.get_password(_service(origin), profile))
        try:
            return parse_token(password) if password else None
        except ValueError:
            raise StoreUnavailable(
                f"The keyring entry for {origin} is not an API key.", "Sign in again to replace it."
            ) from None

    def put(self, origin: str, profile: str, token: SecretStr) -> None:
        """Store the token of a profile in place of an earlier token. Raises StoreUnavailable."""

        def store(backend: KeyringBackend) -> bool:
            backend.set_password(_service(origin), profile, token.get_secret_value())
            return backend.get_password(_service(origin), profile) == token.get_secret_value()

        if not self._run(store):
            raise StoreUnavailable(
                "Octavo could not read the API key back from the keyring, so the API key is not stored there."
            )

    def delete(self, origin: str, profile: str) -> None:
        """Delete the token of a profile. Do nothing if no token is stored."""

        def delete_if_stored(backend: KeyringBackend) -> None:
            if backend.get_password(_service(origin), profile) is not None:
                backend.delete_password(_service(origin), profile)

        self._run(delete_if_stored)

    def how_to_delete(self, origin: str, profile: str) -> str:
        """Return a sentence that says how the user can delete the token without Octavo."""
        if sys.platform == "darwin":
            return f"To delete the API key, run: security delete-generic-password -s {_service(origin)} -a {profile}"
        if sys.platform == "win32":
            return f"Delete {_service(origin)} in the Credential Manager."
        return f"To delete the API key after you unlock the keyring, run: secret-tool clear service {_service(origin)} username {profile}"

    def title(self) -> str:
        """Return the name of the keyring in use, such as `SecretService`. Raises StoreUnavailable."""
        return self._run(lambda backend: type(backend).__module__.rpartition(".")[2])

    def _run(self, function: Callable[[KeyringBackend], T]) -> T:
        try:
            return run_with_timeout(
                self._timeout, lambda: self._run_with_backend(function), delay=TIMEOUT, on_delay=self._report_waiting
            )
        except Overdue:
            raise StoreTimeout(
                f"The keyring did not respond within {self._timeout:g} s. It may be locked, or a window may be asking for its password.",
                _UNLOCK_COMMAND,
            ) from None

    def _run_with_backend(self, function: Callable[[KeyringBackend], T]) -> T:
        try:
            return function(self._backend())
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001  # a backend may raise anything, with the key in its message
            name = type(error).__name__
            if name in _LOCKED_ERRORS:
                raise StoreUnavailable("The keyring is locked.", _UNLOCK_COMMAND) from None
            failed = StoreUnavailable(
                f"The keyring failed ({name}).", f"Check that you can open the keyring in {_KEYRING_APP}."
            )
            raise _unreachable_error() or failed from None

    def _report_waiting(self) -> None:
        if self._report is not None:
            self._report(STILL_WAITING)

    def _backend(self) -> KeyringBackend:
        import keyring  # lazy: it is slow to load, and many runs need no token

        preferred_backend = keyring.get_keyring()
        # A chain of backends would write to its first backend, which may store plain text.
        for backend in getattr(preferred_backend, "backends", None) or [preferred_backend]:
            if type(backend).__module__ in self._trusted:
                return backend  # type: ignore[no-any-return]  # the library has no types
        if why := _unreachable_error():
            raise why
        from keyring.backends import SecretService, fail  # lazy: loads keyring

        if isinstance(preferred_backend, fail.Keyring) and sys.platform not in _WITHOUT_DBUS:
            # The Secret Service may have started later. keyring searches only once.
            return SecretService.Keyring()  # type: ignore[no-untyped-call]  # the library has no types
        raise StoreUnavailable("This computer has no encrypted keyring to store API keys in.")


_BACKEND_VARIABLE = "PYTHON_KEYRING_BACKEND"
_LOCKED_ERRORS = ("KeyringLocked", "LockedException", "PromptDismissedException")
_WITHOUT_DBUS = ("darwin", "win32")
_KEYRING_APP = (
    "Keychain Access"
    if sys.platform == "darwin"
    else "Credential Manager"
    if sys.platform == "win32"
    else "your keyring app (for example Passwords and Keys, or KWalletManager)"
)
"""Name of the program in which users can open the keyring."""
_UNLOCK_COMMAND = (
    "Run: security unlock-keychain"
    if sys.platform == "darwin"
    # `read -rs` hides the password, which gnome-keyring-daemon would show. `printf` adds no line break.
    else f'Unlock the keyring in {_KEYRING_APP}; over SSH, run: read -rs p; printf %s "$p" | gnome-keyring-daemon --replace --unlock'
)


def _unreachable_error() -> StoreUnavailable | None:
    if variable := os.environ.get(_BACKEND_VARIABLE):
        cause = f"The environment variable {_BACKEND_VARIABLE} names {safe_line(variable)[:60]}, which is not an encrypted keyring."
        return StoreUnavailable(cause, f"Unset {_BACKEND_VARIABLE}.")
    if sys.platform in _WITHOUT_DBUS:
        return None
    from keyring.backends import SecretService  # lazy: loads keyring

    try:
        SecretService.Keyring.priority  # noqa: B018  # reading it asks whether the service can be reached
    except Exception as error:  # noqa: BLE001  # D-Bus may raise anything
        message = str(error)
    else:
        return None
    start = "Start Octavo from your desktop, or in a dbus-run-session with a keyring service."
    if "DBUS_SESSION_BUS_ADDRESS" not in os.environ:
        bus = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}") / "bus"
        cause = "This session has no D-Bus session bus, which is common over SSH."
        return StoreUnavailable(
            cause, f"Run: export DBUS_SESSION_BUS_ADDRESS=unix:path={bus}" if bus.exists() else start
        )
    if "neither running nor activatable" in message:
        return StoreUnavailable(
            "No keyring service is running.", "Start a keyring service, such as gnome-keyring-daemon."
        )
    cause = "The D-Bus session bus (DBUS_SESSION_BUS_ADDRESS) does not respond."
    return StoreUnavailable(cause, start)


class TokenFiles:
    """Stores each token in a file, without encryption. Only the owner of the files can read them."""

    name = "file"

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, origin: str, profile: str) -> SecretStr | None:
        path = self._path(profile)
        try:
            record = parse_json(read_private(path))
            return parse_token(record["key"]) if record["origin"] == origin else None
        except FileNotFoundError:
            return None
        except NotPrivate as error:
            cause, _, step = str(error).rpartition(". ")
            raise StoreUnavailable(f"{cause}.", step) from None
        except OSError as error:
            raise StoreUnavailable(
                f"{path} cannot be read ({error.strerror}).", "Check the file, or sign in again."
            ) from None
        except (ValueError, TypeError, KeyError, AttributeError):
            raise StoreUnavailable(f"{path} does not contain an API key.", "Sign in again to replace it.") from None

    def put(self, origin: str, profile: str, token: SecretStr) -> None:
        path = self._path(profile)
        try:
            write_private(path, json.dumps({"origin": origin, "profile": profile, "key": token.get_secret_value()}))
        except OSError as error:
            raise StoreUnavailable(
                f"Could not write to {path} ({error.strerror}). Check the permissions of its folder."
            ) from None

    def delete(self, origin: str, profile: str) -> None:
        path = self._path(profile)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"Could not delete {path} ({error.strerror}). Delete the file yourself.") from None

    def _path(self, profile: str) -> Path:
        return self._folder / f"{profile}.json"


Store = Keyring | TokenFiles


def _service(origin: str) -> str:
    return f"octavo:{origin}"
