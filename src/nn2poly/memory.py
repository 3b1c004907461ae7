"""How much memory there is, and a clear refusal before it runs out."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path, PurePosixPath

from nn2poly.errors import InvalidInputError, TooManyTermsError

__all__ = ["FILE_MEMORY", "available_bytes", "check_terms", "file_allowance", "human_bytes"]

# Where the system does not tell: what a small laptop has free (taste).
_FALLBACK = 4 * 2**30
# What reading a file may take unless the variable gives another number of bytes: 256 MiB, or 32
# times its size where that is more. Small files stay far from filling a machine (measured: a
# process with PyTorch in it stays under 1 GB), and an honest model takes up to about 10 times.
FILE_MEMORY = "NN2POLY_FILE_MEMORY"
_LEAST_ALLOWANCE, _TIMES_ITS_SIZE = 2**28, 32
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")

# Version of cgroups: mount point, limit, usage, and the reclaimable part in memory.stat.
_CGROUP_FILES = {
    1: ("sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    2: ("sys/fs/cgroup", "memory.max", "memory.current", ""),
}


def available_bytes() -> int:
    """Return the memory that can be allocated now, in bytes; never raises.

    Linux: ``MemAvailable``, capped by what the control groups (containers) still allow.
    Windows: available physical memory. Elsewhere: free physical pages or, where the system
    does not count them (macOS), all of them. If nothing can be read: 4 GiB.

    Examples
    --------
    >>> available_bytes() > 0
    True
    """
    for read in (_linux_bytes, _windows_bytes, _sysconf_bytes):
        found = read()
        if found is not None:
            return found
    return _FALLBACK


def file_allowance(file_bytes: int) -> int:
    """Return how many bytes reading a file of this size may take.

    The environment variable ``NN2POLY_FILE_MEMORY`` replaces the rule.

    Examples
    --------
    >>> human_bytes(file_allowance(1000)), human_bytes(file_allowance(10**8))
    ('268.4 MB', '3.2 GB')
    """
    given = os.environ.get(FILE_MEMORY)
    if given is None:
        return max(_LEAST_ALLOWANCE, _TIMES_ITS_SIZE * file_bytes)
    try:
        return int(float(given))
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            "The limit of memory for files cannot be read.",
            where=f"environment variable {FILE_MEMORY}",
            expected="a number of bytes, for example 8e9",
            found=given,
        ) from error


def human_bytes(n_bytes: int) -> str:
    """Write a size in decimal units.

    Examples
    --------
    >>> human_bytes(512), human_bytes(1_234_567_890), human_bytes(10**40)
    ('512 B', '1.2 GB', '1.0e+40 B')
    """
    if n_bytes < 1000:
        return f"{n_bytes} B"
    for power, unit in enumerate(_UNITS):
        # 999.95 kB and more would round to 1000.0 kB.
        if n_bytes < 999.95 * 1000**power:
            return f"{n_bytes / 1000**power:.1f} {unit}"
    return f"{Decimal(n_bytes):.1e} B"


def check_terms(n_terms: int, n_bytes: int, *, what: str, remedy: str) -> None:
    """Refuse what needs more than 80 % of the memory that can be allocated now.

    Parameters
    ----------
    n_terms, n_bytes
        Number of terms and the memory for them; integers of any size.
    what
        Subject of the sentence, for example ``"A polynomial of order 3 in 784 features"``.
    remedy
        What to do instead.

    Raises
    ------
    TooManyTermsError
        When ``n_bytes`` is too much.

    Examples
    --------
    >>> check_terms(10, 80, what="A polynomial of order 3 in 2 features", remedy="lower max_order")
    """
    available = available_bytes()
    if 5 * n_bytes <= 4 * available:
        return
    raise TooManyTermsError(
        f"{what} has {_count(n_terms)} terms and needs {human_bytes(n_bytes)} of memory; "
        f"{human_bytes(available)} is available, of which at most 80 % is used.",
        n_terms=n_terms,
        n_bytes=n_bytes,
        remedy=remedy,
    )


def _count(n: int) -> str:
    # Decimal has no largest exponent worth fearing; float stops at 1e308, str(int) at 4,300 digits.
    return f"{n:,}" if n < 10**15 else f"{Decimal(n):.1e}"


def _linux_bytes(root: Path = Path("/")) -> int | None:
    """Return MemAvailable capped by the control groups, or None off Linux."""
    available = _field(root / "proc/meminfo", "MemAvailable:")
    if available is None:
        return None
    return max(0, min([available * 1024, *_cgroup_rooms(root)]))


def _cgroup_rooms(root: Path) -> Iterator[int]:
    """Yield what is left under each memory limit on the path of this process's groups."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if number == "0" or "memory" in controllers.split(","):
            version = 2 if number == "0" else 1
            path = PurePosixPath(group.lstrip("/"))
            # A limit on any ancestor binds; in a container the path may exist only outside.
            for folder in (path, *path.parents):
                yield from _room(root, version, folder)


def _room(root: Path, version: int, folder: PurePosixPath) -> Iterator[int]:
    mount, limit_file, usage_file, prefix = _CGROUP_FILES[version]
    group = root / mount / folder
    limit, usage = _number(_text(group / limit_file)), _number(_text(group / usage_file))
    if limit is not None and usage is not None:
        # Cached file pages count as usage, but the kernel gives them back on demand.
        yield limit - usage + (_field(group / "memory.stat", f"{prefix}inactive_file") or 0)


def _windows_bytes() -> int | None:
    windll = getattr(ctypes, "windll", None)
    if windll is None:
        return None
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    try:
        succeeded = windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
    except (AttributeError, OSError):
        return None
    return int(status.available_physical) if succeeded else None


class _MemoryStatus(ctypes.Structure):
    """Windows' MEMORYSTATUSEX."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        ("total_physical", ctypes.c_uint64),
        ("available_physical", ctypes.c_uint64),
        ("total_page_file", ctypes.c_uint64),
        ("available_page_file", ctypes.c_uint64),
        ("total_virtual", ctypes.c_uint64),
        ("available_virtual", ctypes.c_uint64),
        ("available_extended_virtual", ctypes.c_uint64),
    )


def _sysconf_bytes() -> int | None:
    for pages in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES"):
        try:
            found = os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, OSError, ValueError):
            continue
        if found > 0:
            return found
    return None


def _field(path: Path, name: str) -> int | None:
    """Return the number after ``name`` in a file of lines ``name number …``."""
    for line in _text(path).splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == name:
            return _number(words[1])
    return None


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isdecimal() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
