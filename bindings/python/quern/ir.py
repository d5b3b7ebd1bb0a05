# SPDX-License-Identifier: Apache-2.0
"""Collections of ir_datasets and measures of ir_measures.

A dataset is any object with `docs_iter`, `queries_iter` or `qrels_iter`, as `ir_datasets.load` returns it; its rows are
found by the names of their fields. Neither package is imported, but for `scored_documents` and `judgements`, whose rows
are of ir_measures: `pip install ir-measures`.

    import ir_datasets, quern
    from quern import ir

    dataset = ir_datasets.load("vaswani")
    store = quern.build(ir.documents(dataset), "vaswani.store", skip="all").store
    run = store.search_many(ir.topics(dataset))
    print(quern.evaluate(ir.qrels(dataset), run))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ._quern import Run, UsageError

if TYPE_CHECKING:
    from ir_measures import Qrel, ScoredDoc

__all__ = ["documents", "judgements", "qrels", "scored_documents", "topics"]

_ids = ("doc_id", "docno", "id")
_texts = ("text", "body", "contents", "abstract")
_queries = ("text", "query", "title")


def _iterator(dataset: Any, name: str) -> Iterator[Any]:
    method = getattr(dataset, name, None)
    if not callable(method):
        raise TypeError(f"{type(dataset).__name__} has no {name}() (expected a dataset as ir_datasets.load returns it)")
    rows: Iterator[Any] = iter(method())
    return rows


def _field(row: Any, names: tuple[str, ...], what: str) -> Any:
    for name in names:
        if hasattr(row, name):
            return getattr(row, name)
    fields = ", ".join(getattr(row, "_fields", ())) or "none"
    raise UsageError(f"{type(row).__name__} has no {what} (expected a field {', '.join(names)}; there are {fields})")


def documents(dataset: Any, text: str | None = None) -> Iterator[dict[str, str]]:
    """The documents of a dataset, in its order, as `quern.build` and `quern.dedup` take them: id, title and text.

    `text`: the field with the text. Default: what the dataset's `default_text` returns, without the title that it
    begins with; for rows without this method the first of text, body, contents, abstract. Reads one document at a
    time.

    Raises UsageError for rows without an id or a text.

        >>> from collections import namedtuple
        >>> from quern import ir
        >>> Doc = namedtuple("Doc", "doc_id title text")
        >>> class Dataset:
        ...     def docs_iter(self):
        ...         yield Doc("d1", "Mills", "Grain is ground in a mill.")
        >>> list(ir.documents(Dataset()))
        [{'id': 'd1', 'title': 'Mills', 'text': 'Grain is ground in a mill.'}]
    """
    for row in _iterator(dataset, "docs_iter"):
        title = str(getattr(row, "title", None) or "")
        if text is None and callable(getattr(row, "default_text", None)):
            whole = row.default_text()
            if not whole.startswith(title):
                title = ""  # it may stand anywhere in the text
            whole = whole[len(title) :].lstrip()
        else:
            whole = _field(row, _texts if text is None else (text,), "text")
        yield {"id": str(_field(row, _ids, "id")), "title": title, "text": str(whole or "")}


def topics(dataset: Any, text: str | None = None) -> dict[str, str]:
    """The queries of a dataset, in its order, by their ids, as `Store.search_many` takes them.

    `text`: the field with the query, for example "description" of TREC's topics. Default: what the dataset's
    `default_text` returns; for rows without this method the first of text, query, title.

    Raises UsageError for rows without an id or this field, and if an id occurs twice.

        >>> from collections import namedtuple
        >>> from quern import ir
        >>> Query = namedtuple("Query", "query_id text")
        >>> class Dataset:
        ...     def queries_iter(self):
        ...         yield Query("1", "grain mill")
        >>> ir.topics(Dataset())
        {'1': 'grain mill'}
    """
    queries: dict[str, str] = {}
    for row in _iterator(dataset, "queries_iter"):
        topic = str(_field(row, ("query_id", "qid", "id"), "id"))
        if topic in queries:
            raise UsageError(f"the topic {topic!r} occurs twice")
        if text is None and callable(getattr(row, "default_text", None)):
            queries[topic] = row.default_text()
        else:
            queries[topic] = str(_field(row, _queries if text is None else (text,), "query"))
    return queries


def qrels(dataset: Any) -> dict[str, dict[str, int]]:
    """The judgements of a dataset: topic to document to grade, as `quern.evaluate` takes them.

    Raises UsageError if a document is judged twice for a topic, as in judgements of subtopics.

        >>> from collections import namedtuple
        >>> from quern import ir
        >>> Judgement = namedtuple("Judgement", "query_id doc_id relevance iteration")
        >>> class Dataset:
        ...     def qrels_iter(self):
        ...         yield Judgement("1", "d1", 2, "0")
        >>> ir.qrels(Dataset())
        {'1': {'d1': 2}}
    """
    grades: dict[str, dict[str, int]] = {}
    for row in _iterator(dataset, "qrels_iter"):
        topic = str(_field(row, ("query_id", "qid"), "id of a topic"))
        document = str(_field(row, ("doc_id", "docno"), "id of a document"))
        of_topic = grades.setdefault(topic, {})
        if document in of_topic:
            raise UsageError(f"topic {topic!r}: the document {document!r} is judged twice")
        of_topic[document] = int(_field(row, ("relevance", "label"), "grade"))
    return grades


def _measures() -> Any:
    try:
        import ir_measures
    except ImportError as why:
        raise ImportError("this function of quern.ir needs ir_measures: pip install ir-measures") from why
    return ir_measures


def scored_documents(run: Any) -> Iterator[ScoredDoc]:
    """The rows of a run as `ir_measures.ScoredDoc`, topic by topic, in rank order.

    `run`: a `Run`, or what `Run` takes. The other way, `Run(rows)` takes such rows, as those of a dataset's
    `scoreddocs_iter`. Measures of ir_measures order by score, and equal scores by the id, as `quern.evaluate` does.

        >>> import quern
        >>> from quern import ir
        >>> list(ir.scored_documents(quern.Run({"1": {"d1": 2.5}})))
        [ScoredDoc(query_id='1', doc_id='d1', score=2.5)]
    """
    row_type = _measures().ScoredDoc
    table = (run if isinstance(run, Run) else Run(run)).table
    rows = zip(table["topic"], table["document"], table["score"], strict=True)
    return (row_type(str(topic), str(document), float(score)) for topic, document, score in rows)


def judgements(grades: Mapping[str, Mapping[str, int]]) -> Iterator[Qrel]:
    """Judgements, a dict of dicts (topic to document to grade), as `ir_measures.Qrel`.

        >>> from quern import ir
        >>> list(ir.judgements({"1": {"d1": 2}}))
        [Qrel(query_id='1', doc_id='d1', relevance=2, iteration='0')]
    """
    row_type = _measures().Qrel
    return (
        row_type(topic, document, grade) for topic, of_topic in grades.items() for document, grade in of_topic.items()
    )
