"""The memory that is left is read from each system's own files, and refusals name the numbers."""

from __future__ import annotations

import ctypes
import os
from types import SimpleNamespace

import pytest

from nn2poly import memory
from nn2poly.errors import TooManyTermsError
from nn2poly.memory import available_bytes, check_terms, human_bytes

MEMINFO = "MemTotal:  4000 kB\nMemFree:  100 kB\nMemAvailable:  3000 kB\n"


def linux(tmp_path, **files):
    """Write a fake root with /proc/meminfo and the given files."""
    for name, text in {"proc/meminfo": MEMINFO, **files}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return memory._linux_bytes(tmp_path)


def version_2(group, *, limit, usage, stat=""):
    base = f"sys/fs/cgroup{group}"
    return {
        f"{base}/memory.max": f"{limit}\n",
        f"{base}/memory.current": f"{usage}\n",
        f"{base}/memory.stat": stat,
    }


def version_1(group, *, limit, usage, stat=""):
    base = f"sys/fs/cgroup/memory{group}"
    return {
        f"{base}/memory.limit_in_bytes": f"{limit}\n",
        f"{base}/memory.usage_in_bytes": f"{usage}\n",
        f"{base}/memory.stat": stat,
    }


def test_linux_without_groups_has_what_meminfo_says(tmp_path):
    assert linux(tmp_path) == 3000 * 1024


def test_a_version_2_limit_leaves_the_limit_less_the_usage(tmp_path):
    files = {"proc/self/cgroup": "0::/app\n", **version_2("/app", limit=1_000_000, usage=400_000)}
    assert linux(tmp_path, **files) == 600_000


def test_a_version_1_limit_leaves_the_limit_less_the_usage(tmp_path):
    groups = "5:devices:/\n4:cpu,memory:/app\n0::/\n"
    files = {"proc/self/cgroup": groups, **version_1("/app", limit=1_000_000, usage=300_000)}
    assert linux(tmp_path, **files) == 700_000


def test_the_limit_of_a_parent_group_binds(tmp_path):
    files = {
        "proc/self/cgroup": "0::/pod/app\n",
        **version_2("/pod/app", limit="max", usage=100),
        **version_2("/pod", limit=1_000, usage=400),
    }
    assert linux(tmp_path, **files) == 600


def test_a_group_path_of_the_host_falls_back_to_the_mounted_root(tmp_path):
    files = {"proc/self/cgroup": "0::/docker/0a1b\n", **version_2("", limit=1_000, usage=100)}
    assert linux(tmp_path, **files) == 900


@pytest.mark.parametrize(
    ("make", "line", "field"),
    [(version_2, "0::/app", "inactive_file"), (version_1, "4:memory:/app", "total_inactive_file")],
)
def test_cached_file_pages_do_not_count_as_used(tmp_path, make, line, field):
    stat = f"anon 100\n{field} 250\nactive_file 7\n"
    files = {"proc/self/cgroup": line, **make("/app", limit=1_000, usage=400, stat=stat)}
    assert linux(tmp_path, **files) == 850


def test_no_limit_and_unreadable_limits_leave_what_meminfo_says(tmp_path):
    files = {
        "proc/self/cgroup": "4:memory:/app\n0::/app\nnonsense\n",
        **version_2("/app", limit="max", usage=400),
        **version_1("/app", limit=2**63 - 4096, usage=400),
    }
    assert linux(tmp_path, **files) == 3000 * 1024


def test_a_group_above_its_limit_has_nothing_left(tmp_path):
    files = {"proc/self/cgroup": "0::/app\n", **version_2("/app", limit=1_000, usage=1_400)}
    assert linux(tmp_path, **files) == 0


def test_a_system_without_meminfo_is_not_read_as_linux(tmp_path):
    assert memory._linux_bytes(tmp_path) is None


def test_windows_is_asked_for_available_physical_memory(monkeypatch):
    def answer(pointer):
        assert pointer._obj.length == 64  # the size that Windows insists on
        pointer._obj.available_physical = 123_456
        return 1

    kernel = SimpleNamespace(GlobalMemoryStatusEx=answer)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    assert memory._windows_bytes() == 123_456


def test_a_failing_windows_call_gives_nothing(monkeypatch):
    kernel = SimpleNamespace(GlobalMemoryStatusEx=lambda pointer: 0)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    assert memory._windows_bytes() is None


def sysconf_of(values):
    def sysconf(name):
        if name not in values:
            raise ValueError(name)
        return values[name]

    return sysconf


def test_macos_counts_all_pages_because_it_does_not_count_the_free_ones(monkeypatch):
    values = {"SC_PHYS_PAGES": 10, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", sysconf_of(values), raising=False)
    assert memory._sysconf_bytes() == 40_960


def test_free_pages_are_preferred_to_all_pages(monkeypatch):
    values = {"SC_PHYS_PAGES": 10, "SC_AVPHYS_PAGES": 3, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(os, "sysconf", sysconf_of(values), raising=False)
    assert memory._sysconf_bytes() == 12_288


def test_when_nothing_can_be_read_there_are_4_gib(monkeypatch):
    monkeypatch.setattr(memory, "_linux_bytes", lambda: None)
    monkeypatch.setattr(memory, "_windows_bytes", lambda: None)
    monkeypatch.setattr(os, "sysconf", sysconf_of({}), raising=False)
    assert available_bytes() == 4 * 2**30


def test_this_machine_has_between_a_megabyte_and_a_petabyte():
    assert 1e6 < available_bytes() < 1e15


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (1_234_567_890, "1.2 GB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (5 * 10**18, "5.0 EB"),
        (10**40, "1.0e+40 B"),
        (13 * 10**5000, "1.3e+5001 B"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_sizes_are_written_for_people(size, text):
    assert human_bytes(size) == text


@pytest.fixture
def ten_thousand_bytes(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 10_000)


@pytest.mark.usefixtures("ten_thousand_bytes")
def test_terms_up_to_80_percent_of_memory_pass_and_one_byte_more_is_refused():
    check_terms(1_000, 8_000, what="A polynomial", remedy="lower max_order")
    with pytest.raises(TooManyTermsError) as caught:
        check_terms(1_234_567, 8_001, what="A polynomial of order 3", remedy="lower max_order")
    error = caught.value
    assert error.what == (
        "A polynomial of order 3 has 1,234,567 terms and needs 8.0 kB of memory; "
        "10.0 kB is available, of which at most 80 % is used."
    )
    assert error.remedy == "lower max_order"
    assert (error.n_terms, error.n_bytes) == (1_234_567, 8_001)


@pytest.mark.usefixtures("ten_thousand_bytes")
@pytest.mark.parametrize(
    ("n_terms", "text"),
    [(13 * 10**29, "1.3e+30 terms"), (10**5000, "1.0e+5000 terms"), (10**13, "10,000,000,000,000")],
    ids=["1.3e30", "1e5000", "1e13"],
)
def test_astronomical_counts_are_written_in_powers_of_ten(n_terms, text):
    with pytest.raises(TooManyTermsError, match="needs") as caught:
        check_terms(n_terms, 8 * n_terms, what="A polynomial", remedy="lower max_order")
    assert text in str(caught.value)
