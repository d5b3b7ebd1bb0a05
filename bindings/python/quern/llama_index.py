# SPDX-License-Identifier: Apache-2.0
"""Stores as retrievers of LlamaIndex: `pip install llama-index-core`.

    >>> import quern
    >>> from quern.llama_index import Retriever
    >>> texts = [("mill", "Grain is ground in a mill."), ("sea", "Salt comes from the sea.")]
    >>> store = quern.build(texts, "docs.store", force=True).store
    >>> Retriever(store).retrieve("grain")[0].text
    'Grain is ground in a mill.'
"""

from __future__ import annotations

from typing import Any

from . import _retrieval

try:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as why:
    raise ImportError("quern.llama_index needs LlamaIndex: pip install llama-index-core") from why

__all__ = ["Retriever"]

_of_machines = ["id", "score", "rank"]


class Retriever(BaseRetriever):
    """The best documents of a store for a query, as `NodeWithScore` of LlamaIndex, best first.

    `store`: a `Store` or its path. `k`: number of documents. `content`: what a node has, the "text" of the document
    or the "snippet", the passage that matches best. `options`: those of `Store.search`; `callback_manager` is
    LlamaIndex's.

    A node has the id of the hit, and in `metadata` id, title, score and rank (from 1); of these a language model and
    an embedding see only the title. Order and scores are those of `Store.search`. Raises UsageError for options out
    of range.

        >>> import quern
        >>> from quern.llama_index import Retriever
        >>> texts = [("mill", "Grain is ground in a mill."), ("sea", "Salt comes from the sea.")]
        >>> retriever = Retriever(quern.build(texts, "docs.store", force=True).store, k=3)
        >>> [found] = retriever.retrieve("salt")
        >>> found.node_id, found.metadata["rank"]
        ('sea', 1)
    """

    def __init__(
        self, store: Any, k: int | str = 10, content: str = "text", *, callback_manager: Any = None, **options: Any
    ) -> None:
        self.store = _retrieval.store_of(store)
        self.content = content
        self.options = {**options, "k": k}
        _retrieval.check(self.store, content, self.options)
        super().__init__(callback_manager=callback_manager)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(
                    id_=found.id,
                    text=found.text,
                    metadata={"id": found.id, "title": found.title, "score": found.score, "rank": found.rank},
                    excluded_llm_metadata_keys=_of_machines,
                    excluded_embed_metadata_keys=_of_machines,
                ),
                score=found.score,
            )
            for found in _retrieval.passages(self.store, query_bundle.query_str, self.content, self.options)
        ]
