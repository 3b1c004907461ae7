"""Signatures of files with a shared key (HMAC-SHA256): they tell who wrote a file.

The digest of a file tells damage; anybody can compute it again. A signature needs the key. It is
of the format, the version and the digest, which covers the body and all arrays.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Any

from nn2poly.errors import InvalidInputError, StorageError

# Shorter keys could be guessed: 128 bits, as NIST SP 800-107 asks of HMAC.
SHORTEST_KEY = 16


def check_key(key: object) -> bytes:
    """Return the key, refusing what is no key.

    Examples
    --------
    >>> len(check_key(bytes(32)))
    32
    """
    if isinstance(key, bytes | bytearray) and len(key) >= SHORTEST_KEY:
        return bytes(key)
    # What was passed is not repeated here: it may be a secret.
    is_bytes = isinstance(key, bytes | bytearray)
    raise InvalidInputError(
        "This cannot be the key of a signature.",
        where="key",
        expected=f"at least {SHORTEST_KEY} bytes",
        found=f"{len(key)} bytes" if is_bytes else type(key).__name__,  # type: ignore[arg-type]
        remedy="make one with secrets.token_bytes(32), and keep it where the file is not",
    )


def sign(kind: str, version: int, digest: str, key: bytes) -> str:
    """Sign a content by its digest.

    Examples
    --------
    >>> sign("nn2poly polynomial", 3, "00", bytes(32))[:8]
    '8b4f805d'
    """
    # The fields hold no line breaks, so that no two contents give the same text.
    text = f"{kind}\n{version}\n{digest}"
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def check_signature(kind: str, version: int, digest: Any, found: Any, key: bytes) -> None:
    """Refuse a file that is not signed with this key, in constant time.

    Raises
    ------
    StorageError
        When it has no signature, or another one.
    """
    if found is None:
        raise StorageError(
            "This file is not signed.",
            expected="a signature with the key that was given",
            found="no signature",
            remedy="ask its author to save it with key=…; or, if you trust it, load it without",
        )
    if not hmac.compare_digest(sign(kind, version, str(digest), key), found):
        raise StorageError(
            "The signature of this file does not fit the key.",
            expected="a file that was signed with this key, and not changed since",
            found="another signature",
            remedy="check that it is the author's key; else do not use the file",
        )


def is_signature(value: object) -> bool:
    """Tell whether a value of a header can be a signature at all.

    Examples
    --------
    >>> is_signature("ab" * 32), is_signature("x"), is_signature(None)
    (True, False, False)
    """
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None
