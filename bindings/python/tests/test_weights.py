# SPDX-License-Identifier: Apache-2.0
"""Learned weights: vectors of words as documents and as queries; an index of another engine (CIFF)."""

import json

import pytest
import quern

VECTORS = [
    {"id": "p1", "title": "First", "vector": {"mill": 2.25, "grain": 1.5, "##ing": 0.125}, "lang": "en"},
    {"id": "p2", "title": "", "vector": {"mill": 0.5, "river": 3}, "lang": "de"},
    {"id": "p3", "title": "", "vector": {"river": 1, "grain": 0.75}, "lang": "en"},
]


def scores(hits):
    return [(hit.id, hit.score) for hit in hits]


def test_vectors_from_memory_are_those_of_the_file(tmp_path):
    (tmp_path / "passages.jsonl").write_text("".join(json.dumps(line) + "\n" for line in VECTORS))
    one = quern.build(iter(VECTORS), tmp_path / "one", keep_fields="all").store
    two = quern.build(tmp_path / "passages.jsonl", tmp_path / "two", keep_fields="all").store
    for section in (tmp_path / "one").glob("*.section"):
        if not section.name.startswith("field"):
            assert section.read_bytes() == (tmp_path / "two" / section.name).read_bytes(), section.name
    for store in (one, two):
        assert scores(store.search(weights={"mill": 0.5, "grain": 2})) == [("p1", 4.125), ("p3", 1.5), ("p2", 0.25)]
        assert scores(store.search(weights={"river": 1}, filter="lang = en")) == [("p3", 1.0)]
        assert scores(store.search("river mill^2")) == scores(store.search(weights={"river": 1, "mill": 2}))
        run = store.search_many({"q1": {"mill": 1, "river": 0.5}, "q2": "grain grain"})
        assert [(row["document"], row["score"]) for row in run.table.to_dicts()] == [
            ("p1", 2.25), ("p2", 2.0), ("p3", 0.5), ("p1", 3.0), ("p3", 1.5)
        ]


def test_what_is_refused(tmp_path):
    store = quern.build(VECTORS, tmp_path / "store").store
    with pytest.raises(quern.UsageError, match="expected a number of at least 0"):
        store.search(weights={"mill": -1})
    with pytest.raises(TypeError, match="must be a number"):
        store.search(weights={"mill": "heavy"})
    with pytest.raises(quern.UsageError, match="cannot be combined with a query"):
        store.search("mill", weights={"mill": 1})
    with pytest.raises(quern.UsageError, match="too large"):
        store.search(weights={"mill": 1e9})
    with pytest.raises(quern.UsageError, match="has no weights, as the first has"):
        quern.build([VECTORS[0], {"id": "x", "text": "words"}], tmp_path / "mixed")
    with pytest.raises(quern.Error, match="the weight of 'mill' is -2"):
        quern.build([{"id": "x", "vector": {"mill": -2}}], tmp_path / "negative")
    texts = quern.build([("a", "mill")], tmp_path / "texts").store
    with pytest.raises(quern.UsageError, match="requires a store of weights"):
        texts.search(weights={"mill": 1})
    with pytest.raises(quern.UsageError, match="only build reads them"):
        quern.dedup(VECTORS)


def test_models_of_a_store(tmp_path):
    weights = quern.build(VECTORS, tmp_path / "weights").store
    texts = quern.build([("a", "mill")], tmp_path / "texts").store
    assert weights.models == ["impact"]
    assert texts.models[0] == "bm25" and "impact" not in texts.models and "dirichlet" in texts.models
    for store, wrong, words in ((weights, "bm25", "ranked by the model impact only"),
                                (weights, "ql", "ranked by the model impact only"),
                                (texts, "impact", "needs a store of weights")):
        for search in (lambda: store.search("mill", model=wrong), lambda: store.search_many(["mill"], model=wrong),
                       lambda: store.explain("mill", store.ids[0], model=wrong)):
            with pytest.raises(quern.UsageError, match=words):
                search()
        for model in store.models:
            assert len(store.search("mill", model=model)) > 0
    assert scores(weights.search("mill", model="impact")) == scores(weights.search("mill"))


def test_an_index_of_a_store(tmp_path):
    first = quern.build([("a", "red apples, red pears"), ("b", "a red car")], tmp_path / "first").store
    quern.export(first, ciff=tmp_path / "first.ciff.gz")
    second = quern.build(tmp_path / "first.ciff.gz", tmp_path / "second").store
    assert scores(second.search("red pears")) == scores(first.search("red pears"))
    with pytest.raises(quern.UsageError, match="phrases need"):
        second.search('"red car"')
