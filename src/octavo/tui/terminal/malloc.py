"""Settings of the memory allocator of glibc. With other C libraries, the functions do nothing."""

from __future__ import annotations

from functools import cache

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
"""Parameters of mallopt(3)."""
_LARGE = 128 * 1024
"""Smallest large block, in bytes."""


def use_one_arena() -> None:
    """Let all threads allocate from one arena, which fragments less. Call it before the first thread starts."""
    _call("mallopt", _M_ARENA_MAX, 1)


def keep_large_blocks_apart() -> None:
    """Map large blocks separately from small ones, so that freed blocks can be returned to the system."""
    _call("mallopt", _M_MMAP_THRESHOLD, _LARGE)


def trim() -> None:
    """Return free memory to the system. Otherwise the process stays as large as its peak."""
    _call("malloc_trim", 0)


def _call(name: str, *arguments: int) -> None:
    if found := _function(name):
        from _ctypes import call_function

        call_function(found, arguments)


@cache
def _function(name: str) -> int:
    """Return the address of a function of the C library, or 0. `_ctypes` loads in 1 ms, `ctypes` in 3 ms."""
    try:
        from _ctypes import dlopen, dlsym

        return dlsym(dlopen(None, 0), name)  # type: ignore[arg-type]  # None is this process
    except (ImportError, OSError):
        return 0
