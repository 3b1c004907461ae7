"""`Store`: the folder of results. Every file in it is whole, or not there."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from nn2poly.errors import NN2PolyError, StorageError
from nn2poly.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row: TypeAlias = dict[str, Any]
Tables: TypeAlias = dict[str, list[Row]]

# Enough to tell results apart, few enough to read.
DIGITS = 8
# Units are hidden, for site builders and version control to pass over.
RECORD, UNITS = "run.json", ".units"
# What follows the name of a table that holds seconds and bytes, which no seed decides.
TIMINGS = "_timings"


class ResultsError(NN2PolyError):
    """The folder of results cannot be written, or holds something else."""


@dataclass(frozen=True)
class Store:
    """A folder of tables (CSV), figures (PNG and PDF), a record of the runs, and units of work.

    A run that is interrupted, or a disk that is full, leaves nothing half-written.

    Parameters
    ----------
    folder
        Made when the first file is written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store = Store(Path(folder))
    ...     store.write_table("terms", [{"p": 2, "terms": 6}])
    ...     store.read_table("terms")
    [{'p': '2', 'terms': '6'}]
    """

    folder: Path

    def check(self) -> None:
        """Make the folder and try to write in it, before any work is done.

        Raises
        ------
        ResultsError
            When that is not possible.
        """
        self._write(".writable", b"")
        (self.folder / ".writable").unlink()

    def write_table(self, name: str, rows: Sequence[Row]) -> None:
        """Write rows as CSV, numbers with eight significant digits, None as nothing."""
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)
        self._write(f"{name}.csv", text.getvalue().encode())

    def read_table(self, name: str) -> list[dict[str, str]]:
        """Read a table as it was written: every cell is text."""
        path = self.folder / f"{name}.csv"
        if not path.exists():
            raise ResultsError(
                f"There is no table {name!r} among the results.",
                where=str(path),
                remedy="run the experiment that makes it: nn2poly reproduce NAME",
            )
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def write_figure(self, name: str, figure: Figure) -> None:
        """Write a figure as PNG and PDF, without dates: equal figures are equal files."""
        for kind, metadata in (("png", {"Software": None}), ("pdf", {"CreationDate": None})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=160, metadata=metadata)
            self._write(f"{name}.{kind}", buffer.getvalue())

    def read_record(self) -> dict[str, Any]:
        """Read what was run here: by experiment, its seed, settings and versions."""
        path = self.folder / RECORD
        return _read_json(path) if path.exists() else {}

    def write_record(self, name: str, record: Mapping[str, Any]) -> None:
        """Add one experiment's run to the record."""
        records = {**self.read_record(), name: dict(record)}
        self._write(RECORD, _json(dict(sorted(records.items()))))

    def read_unit(self, experiment: str, key: str, fingerprint: str) -> dict[str, Any] | None:
        """Give a finished unit of work, or None; one of other settings does not count."""
        path = self.folder / UNITS / experiment / f"{key}.json"
        found = _read_json(path) if path.exists() else {}
        return found if found.get("fingerprint") == fingerprint else None

    def unit_seconds(self, experiment: str) -> list[Row]:
        """Tell how long each finished unit took, by the clock and by the processor."""
        # Without the hidden files of units that are being written.
        paths = sorted((self.folder / UNITS / experiment).glob("[!.]*.json"))
        kept = {path.stem: _read_json(path) for path in paths}
        return [
            {"unit": key, **{k: unit[k] for k in ("seconds", "processor_seconds")}}
            for key, unit in kept.items()
        ]

    def write_unit(self, experiment: str, key: str, unit: Mapping[str, Any]) -> None:
        """Keep a finished unit of work: plain data with its fingerprint and seconds."""
        self._write(f"{UNITS}/{experiment}/{key}.json", json.dumps(unit).encode())
        if not (ignore := self.folder / UNITS / ".gitignore").exists():
            self._write(str(ignore.relative_to(self.folder)), b"*\n")

    def _write(self, name: str, content: bytes) -> None:
        path = self.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, content)
        except (OSError, StorageError) as error:
            raise ResultsError(
                "The results cannot be written.",
                where=str(path),
                expected="a folder that may be written to, and room on the disk",
                found=error.found if isinstance(error, StorageError) else error.strerror,
                remedy="choose another folder: --out DIR; what is finished is kept",
            ) from error


def fingerprint(*parts: Any) -> str:
    """Give a short hash of plain data, the same in every run.

    Examples
    --------
    >>> fingerprint("terms", {"p": 3}) == fingerprint("terms", {"p": 3})
    True
    >>> len(fingerprint(1))
    16
    """
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.{DIGITS}g}" if isinstance(value, float) else value


def _json(data: Any) -> bytes:
    return (json.dumps(data, indent=2, sort_keys=True) + "\n").encode()


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise ResultsError(
            "A file among the results cannot be read.",
            where=str(path),
            found=str(error),
            remedy="delete the file; what is missing is computed again",
        ) from error
