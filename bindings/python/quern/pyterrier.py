# SPDX-License-Identifier: Apache-2.0
"""Stores as indexes and retrievers of PyTerrier: `pip install python-terrier`. Java is not started.

    >>> from quern.pyterrier import Indexer
    >>> documents = [{"docno": "mill", "text": "Grain is ground."}, {"docno": "sea", "text": "Salt of the sea."}]
    >>> index = Indexer("docs.store", force=True).index(documents)
    >>> bm25 = index.bm25(k=10)
    >>> list(bm25.search("grain")["docno"])
    ['mill']
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _quern, _retrieval
from ._quern import Store, UsageError

try:
    import pandas as pd
    import pyterrier as pt
except ImportError as why:
    raise ImportError("quern.pyterrier needs PyTerrier: pip install python-terrier") from why

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["Index", "Indexer", "Retriever"]

_fields = ("title", "text")
_of_runs = ("threads", "memory", "gpu_memory", "device", "tmp", "progress")


class Retriever(pt.Transformer):
    """The documents of a store for topics: qid, query become qid, query, docno, score, rank.

    `store`: a `Store`, its path, or an `Index`. `k`: results per topic, or "all". `fields`: further columns of the
    results, of "title" and "text". `model`: default bm25, or impact for a store of weights. `options`: those of
    `Store.search_many`, whose defaults are the published models,
    without titles and phrases. The ranking is that of `quern search STORE --topics FILE`, to the last bit of the
    scores.

    Ranks begin at 0, as PyTerrier's do. A topic without hits has no rows; other columns of the topics that begin with q
    stay. `%` lowers `k`, after `compile`. `get_parameter` and `set_parameter` know the options that were given, so that
    `pt.GridSearch` can vary them. Raises UsageError for options out of range.

        >>> import pandas, quern
        >>> from quern.pyterrier import Retriever
        >>> texts = [("mill", "Grain is ground in a mill."), ("sea", "Salt of the sea.")]
        >>> store = quern.build(texts, "docs.store", force=True).store
        >>> topics = pandas.DataFrame({"qid": ["1", "2"], "query": ["sea salt", "grain"]})
        >>> found = Retriever(store, model="dirichlet", mu=200, fields=["text"])(topics)
        >>> found[["qid", "docno", "rank", "text"]].values.tolist()
        [['1', 'sea', 0, 'Salt of the sea.'], ['2', 'mill', 0, 'Grain is ground in a mill.']]
    """

    def __init__(
        self,
        store: Any,
        model: str | None = None,
        k: int | str = 1000,
        *,
        fields: Sequence[str] = (),
        **options: Any,
    ) -> None:
        super().__init__()
        self.store = _retrieval.store_of(store)
        self.fields = (fields,) if isinstance(fields, str) else tuple(fields)
        for field in self.fields:
            if field not in _fields:
                raise UsageError(f"fields: invalid value {field!r} (expected {' or '.join(_fields)})")
        self._options = {**options, "model": model or self.store.models[0], "k": k}
        self._check(self._options)

    def _check(self, options: Mapping[str, Any]) -> None:
        self.store.search("", **{name: value for name, value in options.items() if name not in _of_runs})

    @property
    def model(self) -> str:
        """The name of the ranking model."""
        return str(self._options["model"])

    @property
    def k(self) -> int | str:
        """Results per topic."""
        k: int | str = self._options["k"]
        return k

    def get_parameter(self, name: str) -> Any:
        """The value of an option that was given."""
        if name not in self._options:
            raise ValueError(f"{name} was not given to {self!r} (there are {', '.join(self._options)})")
        return self._options[name]

    def set_parameter(self, name: str, value: Any) -> None:
        """Another value for an option that was given."""
        self.get_parameter(name)
        changed = {**self._options, name: value}
        self._check(changed)
        self._options = changed

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """The results of the topics, in their order, each best first."""
        pt.validate.query_frame(inp, extra_columns=["query"])
        topics = inp[[name for name in inp.columns if name.startswith("q")]].reset_index(drop=True)
        rows: Any = {"topic": [], "document": [], "score": [], "rank": []}
        if len(topics):
            rows = self.store.search_many(list(zip(topics["qid"], topics["query"])), **self._options).table
        numbers = {str(topic): number for number, topic in enumerate(topics["qid"])}
        found = topics.iloc[[numbers[topic] for topic in rows["topic"]]].reset_index(drop=True)
        found["docno"] = pd.Series(rows["document"], dtype="str")
        found["score"] = pd.Series(rows["score"], dtype="float64")
        found["rank"] = pd.Series(rows["rank"], dtype="int64") - 1 + pt.model.FIRST_RANK
        if self.fields:
            documents = {docno: self.store.document(docno) for docno in dict.fromkeys(rows["document"])}
            for field in self.fields:
                found[field] = pd.Series([getattr(documents[docno], field) for docno in rows["document"]], dtype="str")
        return found

    def fuse_rank_cutoff(self, k: int) -> Retriever:
        """This retriever with at most `k` results per topic."""
        if self.k not in ("all", None) and int(self.k) <= k:
            return self
        options = {**self._options, "k": k}
        return Retriever(self.store, fields=self.fields, **options)

    def __repr__(self) -> str:
        options = {**self._options, **({"fields": self.fields} if self.fields else {})}
        return f"quern.pyterrier.Retriever({', '.join([repr(self.store.path), *_arguments(options)])})"


class Index(pt.Artifact):
    """A store as an artifact of PyTerrier: a sparse index of the format quern.

    The folder is opened at the first use of `store`. `build_package` makes an archive that `pt.Artifact.from_url`
    loads.

        >>> from quern.pyterrier import Index, Indexer
        >>> index = Indexer("docs.store", force=True).index([{"docno": "mill", "text": "Grain is ground."}])
        >>> index.retriever("ql", lambda_=0.4).model
        'ql'
        >>> len(Index("docs.store"))
        1
    """

    ARTIFACT_TYPE = "sparse_index"
    ARTIFACT_FORMAT = "quern"
    ARTIFACT_PACKAGE_HINT = "quern-engine"

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(os.fspath(path))
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        """The opened store."""
        if self._store is None:
            self._store = _quern.open(str(self.path))
        return self._store

    def retriever(self, model: str | None = None, k: int | str = 1000, **options: Any) -> Retriever:
        """A `Retriever` of this index."""
        return Retriever(self, model, k, **options)

    def bm25(self, k1: float = 0.9, b: float = 0.4, k: int | str = 1000, **options: Any) -> Retriever:
        """A `Retriever` with BM25."""
        return Retriever(self, "bm25", k, k1=k1, b=b, **options)

    def indexer(self, **options: Any) -> Indexer:
        """An `Indexer` that writes this folder."""
        return Indexer(str(self.path), **options)

    def __len__(self) -> int:
        return len(self.store)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"quern.pyterrier.Index({str(self.path)!r})"


class Indexer(pt.Indexer):
    """Builds the store of an index from dicts with docno, text and, if there is one, title.

    `path`: the folder to write. `options`: those of `quern.build`. An experiment needs the whole collection and only
    its index: the default of `skip` is "all", so that no near-duplicate is left out. `text_field` names another field
    than text.

        >>> from quern.pyterrier import Indexer
        >>> indexer = Indexer("docs.store", stem="porter", stop_words="lucene", force=True)
        >>> len(indexer.index([{"docno": "mill", "text": "Grain is ground."}]))
        1
    """

    def __init__(
        self, path: str | PathLike[str], *, skip: str | Sequence[str] | None = None, **options: Any
    ) -> None:
        super().__init__()
        if skip is None and not options.get("update"):
            skip = "all"
        self.path = os.fspath(path)
        self._options = {"text_field": "text", **options, "id_field": "docno", "skip": skip}

    def index_inputs(self) -> list[list[str]]:
        """The columns that `index` needs."""
        return [["docno", str(self._options["text_field"])]]

    def index(self, iter: Iterable[Mapping[str, Any]], **kwargs: Any) -> Index:
        """Builds the store, which appears complete or not at all, and returns its index.

        Raises UsageError for documents without a docno or text, InvalidInput if a docno occurs twice.
        """
        for name in kwargs:
            raise TypeError(f"index() takes no option {name}; options are given to Indexer")
        _quern.build(self._documents(iter), self.path, **self._options)
        return Index(self.path)

    def _documents(self, given: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        text = str(self._options["text_field"])
        title = str(self._options.get("title_field") or "title")
        for number, document in enumerate(given):
            for field in ("docno", text):
                if field not in document:
                    there = ", ".join(document) or "no fields"
                    raise UsageError(f"document {number} has no {field} (there are {there})")
            yield {name: document[name] for name in ("docno", title, text) if name in document}

    def __repr__(self) -> str:
        return f"quern.pyterrier.Indexer({', '.join([repr(self.path), *_arguments(self._options)])})"


def _arguments(options: Mapping[str, Any]) -> list[str]:
    return [f"{name}={value!r}" for name, value in options.items()]
