# SPDX-License-Identifier: Apache-2.0
"""Arguments and results in other processes: pools, Ray and Dask. Those of a missing library are skipped."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pickle

import numpy
import pytest
import quern

TEXTS = ["Salt comes from the sea.", "Bread wants time.", "Salt comes from the sea!", "Grain is ground in a mill."]


@pytest.fixture
def store(sample):
    return quern.build("wiki.xml", "wiki", skip="all").store


def search(store, topics):
    return store.search_many(topics, threads=1)


def ranks(graph, seed):
    return graph.pagerank(personalize=[seed], threads=1)


def near(vectors, queries):
    return vectors.search(queries, k=3)


def best(lists, k):
    return lists.top_k(k, threads=1)


def product(matrix, x):
    return matrix.multiply(x, threads=1).y


def clean(texts):
    return quern.dedup(texts, threads=1)


def calls(store):
    """A function, its arguments, and what two results have in common: everything that crosses a process."""
    sparse = pytest.importorskip("scipy.sparse")
    draw = numpy.random.default_rng(1)
    src, dst = draw.integers(0, 90, (2, 800))
    rows = draw.normal(size=(300, 16)).astype("float32")
    scores = -numpy.sort(-draw.random((3, 50)))
    lists = quern.RankedLists([(draw.permutation(50).astype("uint32"), of) for of in scores])
    fingerprint = lambda result: result.fingerprint  # noqa: E731
    return [
        (search, (store, {"1": "mill", "2": "rye bread"}), fingerprint),
        (ranks, (quern.Graph.from_edges(src, dst), int(src[0])), fingerprint),
        (near, (quern.VectorSet(rows, threads=1), rows[:5]), fingerprint),
        (best, (lists, 7), fingerprint),
        (product, (quern.SparseMatrix(sparse.random(50, 40, 0.2, random_state=2)), numpy.arange(40.0)), list),
        (clean, (TEXTS,), fingerprint),
    ]


def test_pools_of_processes(store):
    for start in ("spawn", "forkserver"):
        context = multiprocessing.get_context(start)
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
            for work, arguments, same in calls(store):
                assert same(pool.submit(work, *arguments).result(timeout=120)) == same(work(*arguments)), work.__name__


def test_results_are_pickled(store, sample):
    (sample / "eval.jsonl").write_text('{"text": "Grain is ground in a mill by the river every day of the year."}\n')
    run = store.search_many("topics.tsv")
    results = [
        quern.dedup(TEXTS), quern.dedup_parts("crawl.jsonl"), quern.filter(TEXTS, rules="c4"),
        quern.decontaminate(TEXTS, against="eval.jsonl"), quern.evaluate("judgements.txt", run), run,
        quern.compare("judgements.txt", [run, store.search_many("topics.tsv", model="dirichlet")]),
        quern.build(TEXTS, "other", skip="all"), store, store.search("mill"), quern.Graph.from_file("links.tsv").hits(),
        quern.SourceFolder("mill"),
    ]
    for result in results:
        again = pickle.loads(pickle.dumps(result))
        assert repr(again) == repr(result)
        if hasattr(result, "fingerprint"):
            assert again.fingerprint == result.fingerprint, result


def test_arrays_are_passed_out_of_band():
    draw = numpy.random.default_rng(3)
    rows = draw.normal(size=(500, 32)).astype("float32")
    graph = quern.Graph.from_edges(*draw.integers(0, 400, (2, 5000)))
    lists = quern.RankedLists([(draw.permutation(3000).astype("uint32"), -numpy.sort(-draw.random(3000)))])
    for whole in (quern.VectorSet(rows), graph, lists):
        arrays: list[pickle.PickleBuffer] = []
        small = pickle.dumps(whole, protocol=5, buffer_callback=arrays.append)
        assert len(small) < 6000 and sum(array.raw().nbytes for array in arrays) > 15_000
        assert repr(pickle.loads(small, buffers=arrays)) == repr(whole)


def test_ray(store, monkeypatch):
    ray = pytest.importorskip("ray", reason="needs ray")
    path = os.pathsep.join([os.path.dirname(os.path.dirname(quern.__file__)), os.path.dirname(__file__)])
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # it would leave a token in the home folder
    try:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": path}})
    except Exception as why:  # its services need ports and time of the machine
        pytest.skip(f"Ray does not start here: {why}")
    try:
        for work, arguments, same in calls(store):
            task = ray.remote(work)
            kept = ray.put(arguments[0])  # arrays lie in shared memory, read-only
            found = ray.get(task.remote(kept, *arguments[1:]), timeout=120)
            assert same(found) == same(work(*arguments)), work.__name__

        class Ranks:
            def __init__(self, graph):
                self.graph = graph

            def of(self, seed):
                return self.graph.pagerank(personalize=[seed], threads=1)

        graph = quern.Graph.from_file("links.tsv")
        actor = ray.remote(Ranks).remote(ray.put(graph))
        for seed in ("mill", "bakery"):
            assert ray.get(actor.of.remote(seed), timeout=120).fingerprint == ranks(graph, seed).fingerprint
    finally:
        ray.shutdown()


@pytest.mark.parametrize("processes", [True, False], ids=["processes", "threads"])
def test_dask(store, processes, monkeypatch):
    distributed = pytest.importorskip("dask.distributed", reason="needs dask[distributed]")
    folders = [os.path.dirname(os.path.dirname(quern.__file__)), os.path.dirname(__file__)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))  # of the workers
    with (
        distributed.LocalCluster(n_workers=2 if processes else 1, threads_per_worker=1 if processes else 2,
                                 processes=processes, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        for work, arguments, same in calls(store):
            kept = client.scatter(arguments[0], broadcast=True, hash=False)
            found = client.submit(work, kept, *arguments[1:]).result(timeout=120)
            assert same(found) == same(work(*arguments)), work.__name__
