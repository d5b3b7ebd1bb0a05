# SPDX-License-Identifier: Apache-2.0
"""quern.langchain and quern.llama_index against `Store.search`."""

from __future__ import annotations

import asyncio
import pickle

import pytest
import quern

QUERIES = ["stones turned by hand", "flour ground in a mill", '"rye bread"', "zzzz", ""]


@pytest.fixture
def store(sample):
    return quern.build(sample / "mill", "mill.store").store


def langchain():
    pytest.importorskip("langchain_core", reason="needs langchain-core")
    from quern.langchain import Retriever

    def rows(found):
        return [(d.id, d.page_content, d.metadata["score"], d.metadata["rank"], d.metadata["title"]) for d in found]

    return Retriever, lambda retriever, query: rows(retriever.invoke(query))


def llama_index():
    pytest.importorskip("llama_index.core", reason="needs llama-index-core")
    from quern.llama_index import Retriever

    def rows(found):
        return [(n.node_id, n.text, n.score, n.metadata["rank"], n.metadata["title"]) for n in found]

    return Retriever, lambda retriever, query: rows(retriever.retrieve(query))


@pytest.fixture(params=[langchain, llama_index], ids=["langchain", "llama_index"])
def library(request):
    return request.param()


def expected(store, query, content="text", **options):
    return [(h.id, store.document(h.id).text if content == "text" else str(h.snippet), h.score, h.rank, str(h.title))
            for h in store.search(query, **options)]


@pytest.mark.parametrize("options", [{}, {"k": 2}, {"model": "dirichlet", "mu": 50}, {"k": "all", "title_weight": 0}])
@pytest.mark.parametrize("content", ["text", "snippet"])
def test_results_are_those_of_search(store, library, options, content):
    Retriever, found = library
    retriever = Retriever(store, content=content, **options)
    assert any(expected(store, query) for query in QUERIES)
    for query in QUERIES:
        assert found(retriever, query) == expected(store, query, content, **options)


def test_a_path_is_opened(store, library):
    Retriever, found = library
    assert found(Retriever("mill.store"), QUERIES[0]) == expected(store, QUERIES[0])


def test_texts_are_plain_str(store, library):
    Retriever, found = library
    for row in found(Retriever(store, content="snippet"), QUERIES[0]):
        assert [type(value) for value in row] == [str, str, float, int, str]


def test_equal_texts_stay(tmp_path, library):
    Retriever, found = library
    store = quern.build([(str(n), "the same grain") for n in range(4)], tmp_path / "s", skip="all").store
    assert [row[0] for row in found(Retriever(store), "grain")] == ["0", "1", "2", "3"]


def test_wrong_arguments(store, library):
    Retriever, _ = library
    with pytest.raises(TypeError, match="did you mean model"):
        Retriever(store, modle="ql")
    with pytest.raises(quern.UsageError, match="k: invalid value '0'"):
        Retriever(store, k=0)
    with pytest.raises(quern.UsageError, match="content: invalid value 'body' .expected one of text, snippet"):
        Retriever(store, content="body")
    with pytest.raises(TypeError, match="store must be a quern.Store or the path of one, not int"):
        Retriever(3)
    with pytest.raises(quern.UsageError, match="no.such"):
        Retriever("no.such")


def test_langchain_batches_chains_and_options_of_a_call(store):
    Retriever, rows = langchain()
    retriever = Retriever(store, k=2, name="mill", tags=["t"])
    assert retriever.get_name() == "mill" and retriever.tags == ["t"]
    found = retriever.batch(QUERIES[:3] * 20)
    assert [[d.id for d in one] for one in found] == [[h.id for h in store.search(q, k=2)] for q in QUERIES[:3]] * 20
    assert [d.id for d in retriever.invoke(QUERIES[0], k=1, model="ql")] == [
        h.id for h in store.search(QUERIES[0], k=1, model="ql")]
    assert retriever.invoke(QUERIES[0], content="snippet")[0].page_content == store.search(QUERIES[0])[0].snippet
    with pytest.raises(quern.UsageError, match="content"):
        retriever.invoke(QUERIES[0], content="body")
    assert asyncio.run(retriever.ainvoke(QUERIES[0])) == retriever.invoke(QUERIES[0])
    chain = retriever | (lambda documents: [d.metadata["id"] for d in documents])
    assert chain.invoke(QUERIES[0]) == [h.id for h in store.search(QUERIES[0], k=2)]
    from langchain_core.load import dumpd

    assert dumpd(retriever.invoke(QUERIES[0])[0])["kwargs"]["metadata"]["rank"] == 1
    assert pickle.loads(pickle.dumps(retriever)).invoke(QUERIES[1]) == retriever.invoke(QUERIES[1])


def test_llama_index_shows_models_the_title_and_text_alone(store):
    Retriever, _ = llama_index()
    from llama_index.core.schema import MetadataMode, QueryBundle

    retriever = Retriever(store, k=2)
    node = retriever.retrieve(QueryBundle(QUERIES[0]))[0].node
    assert node.get_content(metadata_mode=MetadataMode.LLM) == f"title: {node.metadata['title']}\n\n{node.text}".strip()
    assert asyncio.run(retriever.aretrieve(QUERIES[0])) == retriever.retrieve(QUERIES[0])
