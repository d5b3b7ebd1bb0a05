# SPDX-License-Identifier: Apache-2.0
"""Typical uses, for mypy --strict (test_package.py); never run."""

from __future__ import annotations

import pathlib
from typing import Any, assert_type

import numpy

import quern


def tables() -> None:
    found = quern.doctor(threads=2, memory="1G", device="cpu", tmp=pathlib.Path("/tmp"), progress=False)
    assert_type(found, quern.Table)
    assert_type(len(found), int)
    assert_type(found.columns, list[str])
    assert_type(found.to_dicts(), list[dict[str, Any]])
    for row in found:
        assert_type(row, dict[str, Any])
        print(row["subject"], row["value"])


def progress(stage: str, done: int, total: int, unit: str) -> None:
    print(f"{stage}: {done} of {total} {unit}")


def parameters() -> None:
    with quern.config(threads=2, memory="1G"):
        quern.doctor(progress=progress)


def searches(store: quern.Store) -> None:
    hits = store.search("mill", k="all", model="ql", lambda_=0.4, explain=True)
    assert_type(hits, quern.Hits)
    for hit in hits:
        assert_type(hit, quern.Hit)
        assert_type(hit.snippet.mark("<b>", "</b>"), str)
        print(hit.rank, hit.id, hit.score, hit.explanation)
    assert_type(hits.corrected, str | None)
    assert_type(store.document("mill").text, str)
    assert_type([name for name in store.ids], list[str])
    run = store.search_many({"t1": "mill"}, threads=2)
    assert_type(run, quern.Run)
    run.write(pathlib.Path("mine.run"), overwrite=True)
    assert_type(quern.evaluate("qrels.txt", run, measures=["map"]).mean, dict[str, float])
    assert_type(quern.fuse([run, "other.run"], rule="rrf", constant=10), quern.Run)
    result = quern.build(["Grain."], "store", skip="all", stem="porter")
    assert_type(result.store, quern.Store)
    assert_type(store.count("mill").count, int)


def errors() -> int:
    try:
        quern.doctor()
    except quern.InvalidInput as why:
        return why.line
    except quern.DamagedStore as why:
        print(why.section)
    except (quern.UsageError, quern.OutOfMemory, quern.DeviceError, quern.StorageError) as why:
        return why.exit_code
    except quern.Error:
        raise
    return 0


def words(path: pathlib.Path) -> None:
    thesaurus = quern.Thesaurus.build(["Salt comes from the sea."], path, window=2, measure="cosine", stop_words="en")
    assert_type(thesaurus, quern.Thesaurus)
    assert_type(thesaurus.similar("salt", k=3), quern.Table)
    assert_type(thesaurus.similar(positive=["salt"], negative="sea"), quern.Table)
    assert_type(thesaurus.score("salt", "sea"), float)
    assert_type("salt" in thesaurus, bool)
    assert_type(quern.Thesaurus.open(path).words, list[str])
    dictionary = quern.Dictionary.build(path, path / "d", min_count=2)
    assert_type(dictionary["salt"], int)
    assert_type(dictionary.prefix("s"), range)
    assert_type(list(dictionary), list[str])
    try:
        dictionary.frequency("pepper")
    except quern.UnknownWord as why:
        assert_type(why.near, tuple[str, ...])


def ngrams(path: pathlib.Path) -> None:
    rows = quern.ngrams(path, order=2, smoothing="dirichlet", mu=10, dictionary=path / "d")
    assert_type(rows, quern.NgramTable)
    assert_type(rows.to_dicts(), list[dict[str, Any]])
    model = quern.NgramModel.fit(path, order=3, lambda_=0.3)
    assert_type(model.table(2), quern.Table)
    model.to_arpa(path / "m.arpa", overwrite=True)


def near_duplicates() -> None:
    result = quern.dedup(["Salt comes from the sea.", "Salt comes from the sea!"], threshold=0.1, threads=2)
    assert_type(result, quern.DedupResult)
    assert_type(result.pairs, quern.Table)
    assert_type(result.dropped, int)
    assert_type(result.fingerprint, str)
    print(result.keep.tolist(), result.groups["id"])
    quern.Deduplicator(threshold=0.1).fit_filter(["Salt"])


def vectors() -> None:
    rows = numpy.zeros((10, 4), dtype=numpy.float32)
    near = quern.VectorSet(rows, metric="cosine").search(rows[:2], k=3)
    assert_type(near, quern.Neighbors)
    print(near.ids.shape)


def graphs() -> None:
    graph = quern.Graph.from_edges(numpy.array([0, 1]), numpy.array([1, 0]))
    ranks = graph.pagerank(damping=0.9, dangling="uniform")
    assert_type(ranks, quern.LinkRanks)
    assert_type(ranks.converged, bool)
    print(ranks.ranks.sum())
