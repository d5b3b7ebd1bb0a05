# SPDX-License-Identifier: Apache-2.0
"""Ranked lists for pickle and people."""

from __future__ import annotations

import functools
from typing import Any

from . import _quern


def reduce(lists: Any, weights: Any, floors: Any, objects: int | None) -> tuple[Any, ...]:
    """Arrays, which protocol 5 passes out of band."""
    return functools.partial(_quern.RankedLists, weights=weights, floors=floors, objects=objects), (lists,)


def text_of(lists: Any) -> str:
    return f"RankedLists({len(lists):,} lists, {lists.entries:,} entries, {lists.objects:,} objects)"
