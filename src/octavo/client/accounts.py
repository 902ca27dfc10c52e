"""Assigns storage names to accounts. Cached responses, drafts and queued writes are stored under these names.

The token of a profile belongs to the account that signed in. For any other token, such as one from the environment,
only the server knows the account. Until the server names the account, such a token has its own storage name. If the
server names an account that has no storage name yet, the account gets the storage name of the token.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from octavo.client.private_files import private_folder, read_private, write_private
from octavo.untrusted_input import parse_json

if TYPE_CHECKING:
    from octavo.client.profiles import Access

FILE = "accounts.json"


class Accounts:
    """The storage names of all accounts: the names under which the data of an account is stored. They are in a private
    file, which has salted digests instead of tokens. If the file cannot be written, the names are valid for this run
    only."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._salt = secrets.token_hex(32)
        self._keys: dict[str, str] = {}
        """Storage names by digest of the token."""
        self._users: dict[str, str] = {}
        """Storage names by user and origin."""
        self._earlier_names: dict[str, list[str]] = {}
        """Earlier storage names by the current storage name of the account. Data may still be stored under them."""
        self._is_stored = self._read()

    def name_of(self, access: Access) -> str:
        """Return the storage name of an account."""
        if access.key is not None:
            if not self._is_stored:
                self._change(lambda: None)  # stores the salt, so that the next run computes the same digests
            stamp = self._digest(access)
            return self._keys.get(stamp, f"{access.origin} key {stamp}")
        if access.profile is None or not access.profile.user_id:
            return f"{access.origin} {access.name}"
        user = _user_key(access, access.profile.user_id)
        if user not in self._users:
            self._change(lambda: self._users.setdefault(user, user))
        return self._users[user]

    def earlier_names_of(self, name: str) -> tuple[str, ...]:
        """Return the earlier storage names of the account with this storage name."""
        return tuple(self._earlier_names.get(name, ()))

    def record_user(self, access: Access, user_id: str) -> None:
        """Store which user a token belongs to, after the server has named the user."""
        if access.key is None or not user_id:
            return
        user, stamp, here = _user_key(access, user_id), self._digest(access), self.name_of(access)
        if self._keys.get(stamp) == self._users.get(user, ""):
            return

        def note() -> None:
            is_of_another = here in (name for each, name in self._users.items() if each != user)
            name = self._users.setdefault(user, user if is_of_another else here)
            self._keys[stamp] = name
            if name != here and not is_of_another:
                self._earlier_names[name] = [*self._earlier_names.get(name, ()), here]

        self._change(note)

    def _digest(self, access: Access) -> str:
        assert access.key is not None
        said = f"{access.origin} {access.key.get_secret_value()}".encode()
        return hashlib.blake2b(said, key=bytes.fromhex(self._salt), digest_size=16).hexdigest()

    def _read(self) -> bool:
        try:
            kept: dict[str, Any] = parse_json(read_private(self._path))
            salt, keys, users, left = (kept[each] for each in ("salt", "keys", "users", "left"))
            if not (len(bytes.fromhex(salt)) == 32 and all(isinstance(each, dict) for each in (keys, users, left))):
                return False
        except (OSError, ValueError, TypeError, KeyError):
            return False
        self._salt, self._keys, self._users, self._earlier_names = salt, keys, users, left
        return True

    def _change(self, change: Callable[[], object]) -> None:
        try:
            private_folder(self._path.parent)
            lock_file = os.open(self._path.with_suffix(".lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError:
            change()
            return
        try:
            fcntl.flock(lock_file, fcntl.LOCK_EX)
            if not self._read() and self._path.exists():  # another process may have changed the file
                os.replace(self._path, self._path.with_suffix(".unreadable"))
            change()
            known = {"salt": self._salt, "keys": self._keys, "users": self._users, "left": self._earlier_names}
            write_private(self._path, json.dumps(known))
            self._is_stored = True
        except OSError:
            return  # not writable: the names last for this run only
        finally:
            os.close(lock_file)


def _user_key(access: Access, user_id: str) -> str:
    return f"{access.origin} user {user_id}"
