# SPDX-License-Identifier: Apache-2.0
"""Search, near-duplicates, n-grams and ranks of text, exact, with the same bits on every machine."""

from ._config import config
from ._deduplicator import Deduplicator
from ._quern import (
    DamagedStore,
    DecontaminateResult,
    DedupResult,
    DeviceError,
    DuplicateStream,
    Error,
    InvalidInput,
    OutOfMemory,
    PartsResult,
    StorageError,
    Table,
    UsageError,
    __version__,
    decontaminate,
    dedup,
    dedup_parts,
    doctor,
    signatures,
)

__all__ = [name for name in dir() if not name.startswith("_")]
from ._quern import VectorSet
from ._quern import Graph, LinkRanks, Product, SparseMatrix, TopK, VectorSet, top_k
from ._vectors import Neighbors, NearestNeighbors, RangeNeighbors
from ._quern import BuildResult, Evaluation, Hit, Hits, Ids, Run, Store, build, evaluate, fuse, open
from ._store import Counts, Document, MarkedText
__all__ = [
    "DamagedStore",
    "DecontaminateResult",
    "DedupResult",
    "Deduplicator",
    "DeviceError",
    "DuplicateStream",
    "Error",
    "InvalidInput",
    "OutOfMemory",
    "PartsResult",
    "StorageError",
    "Table",
    "UsageError",
    "__version__",
    "config",
    "decontaminate",
    "dedup",
    "dedup_parts",
    "doctor",
    "signatures",
]
