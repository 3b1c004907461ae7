"""Check where a result is to be written: no file goes over another unasked."""

from __future__ import annotations

import os
from pathlib import Path

from nn2poly.arguments import check_choice
from nn2poly.errors import InvalidInputError


def check_target(path: Path, endings: tuple[str, ...], *, force: bool) -> Path:
    """Refuse, before any work is done, a path that cannot or should not be written.

    Parameters
    ----------
    path
        The file to write.
    endings
        Those that are known, for example ``(".json", ".npz")``; none for any.
    force
        Overwrite a file that exists.

    Examples
    --------
    >>> check_target(Path("poly.jsn"), (".json", ".npz"), force=False)
    Traceback (most recent call last):
    ...
    nn2poly.errors.InvalidInputError: Unknown ending of the file to write.
      where: poly.jsn
      expected: one of '.json', '.npz'
      found: '.jsn' (str)
      remedy: did you mean '.json'?
    """
    if endings:
        _check_ending(path, endings)
    folder = path.parent
    if not folder.is_dir():
        found = "a file" if folder.exists() else "no such folder"
        raise _refusal(path, f"the folder {str(folder)!r}", found, f"make it: mkdir -p {folder}")
    if path.is_dir():
        raise _refusal(path, "the name of a file", "a folder", "add a file name")
    if path.exists() and not force:
        raise _refusal(
            path,
            "a name that is free",
            "a file of this name",
            "choose another name with -o, or add --force to overwrite it",
        )
    if not os.access(folder, os.W_OK):
        remedy = "choose another folder with -o"
        raise _refusal(path, "a folder that may be written", "no permission", remedy)
    return path


def _check_ending(path: Path, endings: tuple[str, ...]) -> None:
    try:
        check_choice(path.suffix.lower(), endings, name="ending of the file to write")
    except InvalidInputError as error:
        raise InvalidInputError(
            error.what,
            where=str(path),
            expected=error.expected,
            found=error.found if path.suffix else "no ending",
            remedy=error.remedy if "did you mean" in (error.remedy or "") else None,
        ) from error


def _refusal(path: Path, expected: str, found: str, remedy: str) -> InvalidInputError:
    return InvalidInputError(
        "The result cannot be written there.",
        where=str(path),
        expected=expected,
        found=found,
        remedy=remedy,
    )
