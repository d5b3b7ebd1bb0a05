# SPDX-License-Identifier: Apache-2.0
"""Stores as retrievers of LangChain: `pip install langchain-core`.

    >>> import quern
    >>> from quern.langchain import Retriever
    >>> texts = [("mill", "Grain is ground in a mill."), ("sea", "Salt comes from the sea.")]
    >>> store = quern.build(texts, "docs.store", force=True).store
    >>> Retriever(store).invoke("grain")[0].page_content
    'Grain is ground in a mill.'
"""

from __future__ import annotations

from typing import Any

from . import _retrieval

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError as why:
    raise ImportError("quern.langchain needs LangChain: pip install langchain-core") from why

__all__ = ["Retriever"]


class Retriever(BaseRetriever):
    """The best documents of a store for a query, as `Document` of LangChain, best first.

    `store`: a `Store` or its path. `k`: number of documents. `content`: what `page_content` has, the "text" of the
    document or the "snippet", the passage that matches best. `options`: those of `Store.search`; `name`, `tags` and
    `metadata` are LangChain's. Options of one call go to `invoke`.

    A document has the `id` of the hit, and in `metadata` id, title, score and rank (from 1). Order and scores are
    those of `Store.search`. `batch` runs its queries at the same time. Raises UsageError for options out of range.

        >>> import quern
        >>> from quern.langchain import Retriever
        >>> texts = [("mill", "Grain is ground in a mill."), ("sea", "Salt comes from the sea.")]
        >>> retriever = Retriever(quern.build(texts, "docs.store", force=True).store, k=3)
        >>> [found] = retriever.invoke("salt", model="dirichlet")
        >>> found.metadata["id"], found.metadata["rank"]
        ('sea', 1)
        >>> [len(found) for found in retriever.batch(["grain", "salt", "bread"])]
        [1, 1, 0]
    """

    store: Any
    k: Any = 10
    content: str = "text"
    options: dict[str, Any] = {}

    def __init__(self, store: Any, k: int | str = 10, content: str = "text", **options: Any) -> None:
        known = [name for name in options if name in BaseRetriever.model_fields]
        fields: dict[str, Any] = {name: options.pop(name) for name in known}
        opened = _retrieval.store_of(store)
        _retrieval.check(opened, content, {**options, "k": k})
        fields.update(store=opened, k=k, content=content, options=options)
        super().__init__(**fields)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        content = options.pop("content", self.content)
        _retrieval.check_content(content)
        options = {"k": self.k, **self.options, **options}
        return [
            Document(
                id=found.id,
                page_content=found.text,
                metadata={"id": found.id, "title": found.title, "score": found.score, "rank": found.rank},
            )
            for found in _retrieval.passages(self.store, query, content, options)
        ]
