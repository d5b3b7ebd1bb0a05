# SPDX-License-Identifier: Apache-2.0
"""quern.ir with small datasets, and the numbers of ir_measures against those of `quern.evaluate`."""

from __future__ import annotations

import random
import sys
from collections import namedtuple
from typing import NamedTuple

import pytest
import quern
from quern import ir


class Doc(NamedTuple):
    doc_id: str
    title: str
    body: str

    def default_text(self) -> str:
        return f"{self.title} {self.body}"


class UrlDoc(NamedTuple):
    doc_id: str
    url: str
    title: str
    body: str

    def default_text(self) -> str:
        return f"{self.url} {self.title} {self.body}"


Plain = namedtuple("Plain", "doc_id text")
Topic = namedtuple("Topic", "query_id title description")
Judgement = namedtuple("Judgement", "query_id doc_id relevance iteration")
Scored = namedtuple("Scored", "query_id doc_id score")


class Dataset:
    def __init__(self, docs=(), queries=(), judged=(), scored=()):
        self.docs_iter = lambda: iter(docs)
        self.queries_iter = lambda: iter(queries)
        self.qrels_iter = lambda: iter(judged)
        self.scoreddocs_iter = lambda: iter(scored)


def test_documents_of_several_kinds():
    docs = [Doc("a", "Mills", "Grain is ground."), Doc("b", "", "Salt."), Plain("c", "Bread."),
            UrlDoc("d", "u", "T", "B")]
    assert list(ir.documents(Dataset(docs))) == [
        {"id": "a", "title": "Mills", "text": "Grain is ground."},
        {"id": "b", "title": "", "text": "Salt."},
        {"id": "c", "title": "", "text": "Bread."},
        {"id": "d", "title": "", "text": "u T B"},
    ]
    assert [row["text"] for row in ir.documents(Dataset(docs[:2]), text="body")] == ["Grain is ground.", "Salt."]
    with pytest.raises(quern.UsageError, match="Plain has no text .expected a field body; there are doc_id, text"):
        list(ir.documents(Dataset(docs), text="body"))
    with pytest.raises(quern.UsageError, match="Topic has no text"):
        list(ir.documents(Dataset([Topic("1", "t", "d")])))
    with pytest.raises(TypeError, match=r"dict has no docs_iter"):
        next(ir.documents({}))


def test_documents_are_read_one_at_a_time():
    read = []

    class Endless:
        def docs_iter(self):
            for number in range(10**9):
                read.append(number)
                yield Plain(str(number), "text")

    documents = ir.documents(Endless())
    assert next(documents)["id"] == "0" and len(read) == 1


def test_topics():
    queries = [Topic("2", "grain mill", "How is grain ground?"), Topic("1", "salt", "Where from?")]
    assert list(ir.topics(Dataset(queries=queries)).items()) == [("2", "grain mill"), ("1", "salt")]
    assert ir.topics(Dataset(queries=queries), text="description")["1"] == "Where from?"
    with pytest.raises(quern.UsageError, match="the topic '2' occurs twice"):
        ir.topics(Dataset(queries=[queries[0], queries[0]]))
    with pytest.raises(quern.UsageError, match="no query .expected a field narrative"):
        ir.topics(Dataset(queries=queries), text="narrative")


def test_qrels():
    judged = [Judgement("1", "a", 2, "0"), Judgement("1", "b", -1, "0"), Judgement("2", "a", 0, "0")]
    assert ir.qrels(Dataset(judged=judged)) == {"1": {"a": 2, "b": -1}, "2": {"a": 0}}
    with pytest.raises(quern.UsageError, match="topic '1': the document 'a' is judged twice"):
        ir.qrels(Dataset(judged=[judged[0], Judgement("1", "a", 1, "1")]))


def test_a_dataset_from_documents_to_measures(sample, tmp_path):
    docs = [Doc("mill", "Mills", "Grain is ground."), Doc("sea", "Sea", "Salt comes from it.")]
    dataset = Dataset(docs, [Topic("1", "grain", "")], [Judgement("1", "mill", 1, "0")], [Scored("1", "sea", 2.0)])
    store = quern.build(ir.documents(dataset), tmp_path / "store", skip="all").store
    run = store.search_many(ir.topics(dataset))
    assert quern.evaluate(ir.qrels(dataset), run).mean["map"] == 1
    assert quern.evaluate(dataset.qrels_iter(), run).mean["map"] == 1
    assert quern.Run(dataset.scoreddocs_iter()).to_dict() == {"1": {"sea": 2.0}}


def test_measures_of_ir_measures_are_equal():
    measures = pytest.importorskip("ir_measures", reason="needs ir-measures")
    chance = random.Random(3)
    documents = [f"d{number}" for number in range(200)]
    grades = {f"t{t}": {d: chance.randrange(4) for d in chance.sample(documents, 50)} for t in range(300)}
    run = quern.Run({t: {d: chance.randrange(30) / 8 for d in chance.sample(documents, 120)} for t in grades})
    expected = quern.evaluate(grades, run)
    names = {
        "map": measures.AP, "ndcg_cut_10": measures.nDCG @ 10, "P_10": measures.P @ 10,
        "recall_1000": measures.R @ 1000, "recip_rank": measures.RR,
    }
    found = {}
    for value in measures.iter_calc(list(names.values()), ir.judgements(grades), ir.scored_documents(run)):
        found[value.query_id, str(value.measure)] = value.value
    assert found == {(row["topic"], str(m)): row[name] for row in expected.topics for name, m in names.items()}
    assert len(found) == 5 * 300
    assert all(isinstance(row, measures.ScoredDoc) for row in ir.scored_documents(run))
    assert quern.Run(ir.scored_documents(run)) == run
    assert ir.scored_documents({"t": {"d": 1}}).__next__() == measures.ScoredDoc("t", "d", 1.0)


def test_ir_datasets_rows(monkeypatch, tmp_path):
    monkeypatch.setenv("IR_DATASETS_HOME", str(tmp_path / "home"))
    datasets = pytest.importorskip("ir_datasets", reason="needs ir-datasets")
    from ir_datasets.formats import GenericDoc, GenericQuery, TrecDoc, TrecQrel, TrecQuery

    docs = [GenericDoc("a", "Grain."), TrecDoc("b", "Salt.", "<DOC>Salt.</DOC>")]
    assert [(row["id"], row["text"]) for row in ir.documents(Dataset(docs))] == [("a", "Grain."), ("b", "Salt.")]
    queries = [GenericQuery("1", "grain"), TrecQuery("2", "salt", "Where is salt from?", "")]
    assert ir.topics(Dataset(queries=queries)) == {"1": "grain", "2": "salt"}
    assert ir.qrels(Dataset(judged=[TrecQrel("1", "a", 1, "0")])) == {"1": {"a": 1}}
    (tmp_path / "docs.tsv").write_text("d1\tgrain mill\nd2\tsalt\n")
    (tmp_path / "qrels").write_text("1 0 d1 2\n")
    (tmp_path / "queries.tsv").write_text("1\tmill\n")
    dataset = datasets.create_dataset(docs_tsv=str(tmp_path / "docs.tsv"), queries_tsv=str(tmp_path / "queries.tsv"),
                                      qrels_trec=str(tmp_path / "qrels"))
    assert ir.topics(dataset) == {"1": "mill"} and ir.qrels(dataset) == {"1": {"d1": 2}}
    assert [row["id"] for row in ir.documents(dataset)] == ["d1", "d2"]


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(ImportError, match="pip install ir-measures"):
        ir.scored_documents({"t": {"d": 1}})
