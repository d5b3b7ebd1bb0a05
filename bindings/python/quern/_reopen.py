# SPDX-License-Identifier: Apache-2.0
"""What pickles of objects that are backed by files call. The stubs have no private names, so they are found by name."""

from __future__ import annotations

from ._quern import Dictionary, Thesaurus


def dictionary(path: str, checksum: str) -> Dictionary:
    """The same dictionary, opened again."""
    again: Dictionary = getattr(Dictionary, "_reopen")(path, checksum)
    return again


def thesaurus(path: str, checksum: str) -> Thesaurus:
    """The same thesaurus, opened again."""
    again: Thesaurus = getattr(Thesaurus, "_reopen")(path, checksum)
    return again
