# SPDX-License-Identifier: Apache-2.0
"""Search, near-duplicates, n-grams and ranks of text, exact, with the same bits on every machine.

Clean a corpus      filter, dedup, dedup_parts, decontaminate, Deduplicator, DuplicateStream, signatures
Search              build, merge, open, Store, Run, evaluate, compare, fuse, export, SourceFolder
Words and n-grams   Thesaurus, collocations, Dictionary, ngrams, NgramModel, ngram_likelihood, LanguageModel, perplexity
Arrays and graphs   VectorSet, NearestNeighbors, Graph, SparseMatrix, RankedLists, top_k
For all calls       config (threads, memory, device ...), doctor (what this machine offers), Error

help(quern.dedup) shows the parameters of a function. Other libraries: quern.pyterrier, quern.ir, quern.langchain,
quern.llama_index.
"""

# What the compiled module lacks: signatures, and pickles of results
from . import _kept as _kept
from . import _signatures

# How a call behaves
from ._config import config
from ._quern import (
    DamagedStore,
    DeviceError,
    Error,
    InvalidInput,
    OutOfMemory,
    StorageError,
    Table,
    UsageError,
    __version__,
    doctor,
)

# Near-duplicates and training data
from ._deduplicator import Deduplicator
from ._quern import (
    DecontaminateResult,
    DedupResult,
    DuplicateStream,
    FilterResult,
    PartsResult,
    decontaminate,
    dedup,
    dedup_parts,
    filter,
    filter_rules,
    signatures,
)

# Stores, search and runs
from ._quern import (
    BuildResult,
    Comparison,
    Evaluation,
    Hit,
    Hits,
    Ids,
    Run,
    SourceFolder,
    Store,
    build,
    compare,
    evaluate,
    export,
    fuse,
    merge,
    open,
)
from ._store import Counts, Document, MarkedText, SourceDocument, SourceImage

# Vectors, graphs and lists
from ._quern import DeviceArray, Graph, LinkRanks, Product, RankedLists, SparseMatrix, TopK, VectorSet, top_k
from ._vectors import Neighbors, NearestNeighbors, RangeNeighbors

# Words and n-grams
from ._quern import (
    Dictionary,
    LanguageModel,
    NgramModel,
    NgramTable,
    Thesaurus,
    UnknownWord,
    collocations,
    ngram_likelihood,
    ngrams,
    perplexity,
)

__all__ = [
    "BuildResult",
    "Comparison",
    "Counts",
    "DamagedStore",
    "DecontaminateResult",
    "DedupResult",
    "Deduplicator",
    "DeviceArray",
    "DeviceError",
    "Dictionary",
    "Document",
    "DuplicateStream",
    "Error",
    "Evaluation",
    "FilterResult",
    "Graph",
    "Hit",
    "Hits",
    "Ids",
    "InvalidInput",
    "LanguageModel",
    "LinkRanks",
    "MarkedText",
    "NearestNeighbors",
    "Neighbors",
    "NgramModel",
    "NgramTable",
    "OutOfMemory",
    "PartsResult",
    "Product",
    "RangeNeighbors",
    "RankedLists",
    "Run",
    "SourceDocument",
    "SourceFolder",
    "SourceImage",
    "SparseMatrix",
    "StorageError",
    "Store",
    "Table",
    "Thesaurus",
    "TopK",
    "UnknownWord",
    "UsageError",
    "VectorSet",
    "__version__",
    "build",
    "collocations",
    "compare",
    "config",
    "decontaminate",
    "dedup",
    "dedup_parts",
    "doctor",
    "evaluate",
    "export",
    "filter",
    "filter_rules",
    "fuse",
    "merge",
    "ngram_likelihood",
    "ngrams",
    "perplexity",
    "open",
    "signatures",
    "top_k",
]

_signatures.add_to(globals())
