"""The allocator of the C library, as far as it can be told anything: glibc's. Where there is another nothing is told."""

from __future__ import annotations

from functools import cache

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
"""Of mallopt(3)."""
_LARGE = 128 * 1024


def use_one_arena() -> None:
    """Have all threads take memory from one place and fill its holes. Each of up to sixteen would have its own, with its
    own holes; a thread that runs keeps the one it has, so this comes before the first is started."""
    _call("mallopt", _M_ARENA_MAX, 1)


def keep_large_blocks_apart() -> None:
    """Have large blocks laid apart from the small: what is between two of them is not given back."""
    _call("mallopt", _M_MMAP_THRESHOLD, _LARGE)


def trim() -> None:
    """Give the system what is free between what is not: else every peak stays, and the next is laid beside it."""
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    if found := _function(name):
        from _ctypes import call_function

        call_function(found, arguments)


@cache
def _function(name: str) -> int:
    """Where it is, or 0. What `ctypes` is made of finds it in 1 ms; `ctypes` itself takes three to load, of a start."""
    try:
        from _ctypes import dlopen, dlsym

        return dlsym(dlopen(None, 0), name)  # type: ignore[arg-type]  # None is this process
    except (ImportError, OSError):
        return 0
