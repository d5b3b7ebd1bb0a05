# SPDX-License-Identifier: Apache-2.0
"""PageRank and HITS, against dense references and the program."""

import math
import pickle
import time

import numpy
import pandas
import polars
import pyarrow
import pytest
import quern
import scipy.sparse
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

STORAGES = ["auto", "coo", "csr", "ell", "brc", "brcp", "brcp-paper"]


def dense_ranks(nodes, src, dst, weights, damping, preference, dangling, tolerance):
    """The power method on a full matrix."""
    links = numpy.zeros((nodes, nodes))
    for a, b, w in zip(src, dst, weights):
        links[a, b] += w
    out = links.sum(1)
    chance = numpy.divide(links, out[:, None], out=numpy.zeros_like(links), where=out[:, None] > 0)
    v = preference / preference.sum()
    lost = {"uniform": numpy.full(nodes, 1 / nodes), "preference": v, "none": numpy.zeros(nodes)}[dangling]
    r = v
    for _ in range(10_000):
        step = damping * (chance.T @ r + r[out == 0].sum() * lost) + (1 - damping) * v
        if abs(step - r).sum() < tolerance:
            return step
        r = step
    raise AssertionError("the reference does not converge")


@given(
    st.integers(1, 12),
    st.integers(0, 30),
    st.sampled_from([0.0, 0.5, 0.85, 0.95]),
    st.sampled_from(["uniform", "preference", "none"]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_ranks_are_within_their_bound(nodes, links, damping, dangling, weighted, prefers, seed):
    random = numpy.random.default_rng(seed)
    src, dst = random.integers(0, nodes, (2, links))
    weights = random.integers(1, 9, links) / 4 if weighted else None
    preference = random.integers(0, 3, nodes).astype(float)
    preference[0] += 1
    graph = quern.Graph.from_edges(src, dst, weights, nodes=nodes)
    assert (graph.nodes, graph.links) == (nodes, links)
    found = graph.pagerank(
        damping=damping, dangling=dangling, tolerance=1e-9, personalize=preference if prefers else None, threads=1
    )
    v = preference if prefers else numpy.ones(nodes)
    true = dense_ranks(nodes, src, dst, numpy.ones(links) if weights is None else weights, damping, v, dangling, 1e-14)
    assert found.converged and found.change < 1e-9
    assert abs(found.ranks - true).sum() <= found.error + 1e-12
    expected = sorted(range(nodes), key=lambda node: (-found.ranks[node], node))
    assert found.order.tolist() == expected
    if dangling != "none":
        assert abs(math.fsum(found.ranks) - 1) <= found.error + 1e-12


@settings(max_examples=settings.default.max_examples // 5, deadline=None)
@given(st.integers(2, 10), st.integers(1, 30), st.integers(0, 2**32))
def test_hits_against_the_power_method(nodes, links, seed):
    random = numpy.random.default_rng(seed)
    src, dst = random.integers(0, nodes, (2, links))
    matrix = numpy.zeros((nodes, nodes))
    numpy.add.at(matrix, (src, dst), 1)
    found = quern.Graph.from_edges(src, dst, nodes=nodes).hits(tolerance=1e-10, max_iterations=5000, threads=1)
    if not found.converged:
        return
    h = numpy.full(nodes, 1 / nodes)
    for _ in range(found.iterations):
        a = matrix.T @ h
        a /= a.sum()
        h = matrix @ a
        h /= h.sum()
    numpy.testing.assert_allclose(found.ranks, a, atol=1e-6)
    numpy.testing.assert_allclose(found.hubs, h, atol=1e-6)
    assert found.table.columns == ["id", "authority", "hub"] and math.isnan(found.error)


@pytest.fixture
def edges():
    return numpy.random.default_rng(3).integers(0, 50, (2, 400))


def test_every_input_gives_the_same(edges, tmp_path):
    src, dst = edges
    texts = [[str(id) for id in ends] for ends in edges]
    numpy.savetxt(tmp_path / "edges.tsv", edges.T, fmt="%d", delimiter="\t")
    expected = quern.Graph.from_edges(src, dst).pagerank().fingerprint
    for graph in [
        quern.Graph.from_edges(src.tolist(), dst.tolist()),
        quern.Graph.from_edges(src.astype("int32"), dst.astype("uint32")),
        quern.Graph.from_edges(src.astype("uint8"), dst[::-1][::-1].astype("int16")),
        quern.Graph.from_edges(memoryview(src), dst),
        quern.Graph.from_edges(*texts),
        quern.Graph.from_edges(numpy.array(texts[0]), numpy.array(texts[1], dtype=object)),
        quern.Graph.from_edges(numpy.asfortranarray(edges.T)),
        quern.Graph.from_edges(pandas.DataFrame({"a": src, "b": dst})),
        quern.Graph.from_edges(pandas.DataFrame({"a": texts[0], "b": texts[1]})),
        quern.Graph.from_edges(polars.DataFrame({"a": src, "b": dst})),
        quern.Graph.from_edges(polars.DataFrame({"a": texts[0], "b": texts[1]})),
        quern.Graph.from_edges(list(zip(*edges.tolist()))),
        quern.Graph.from_edges([list(link) for link in zip(*texts)]),
        quern.Graph.from_edges(pyarrow.table({"a": src, "b": dst})),
        quern.Graph.from_edges(pyarrow.table({"a": texts[0], "b": texts[1]})),
        quern.Graph.from_edges(pyarrow.array(texts[0]), pyarrow.array(texts[1])),
        quern.Graph.from_edges(src, dst, nodes=50),
        quern.Graph.from_edges(src, dst, ids=range(50)),
        quern.Graph.from_scipy(scipy.sparse.coo_matrix((numpy.ones(400), (src, dst)), shape=(50, 50)).tocsr()),
        quern.Graph.from_file(tmp_path / "edges.tsv"),
        quern.Graph.from_file(str(tmp_path / "edges.tsv"), input_format="edges"),
    ]:
        if graph.links == 400:  # a matrix adds repeated entries up
            assert graph.pagerank().fingerprint == expected
        assert graph.nodes == 50 and list(graph.ids) == list(range(50))


@pytest.mark.parametrize("shift", [0, 2**33, 2**62])
def test_equal_to_the_program(edges, shift, tmp_path, command):
    ids = edges.astype("uint64") * 7 + shift
    weights = numpy.random.default_rng(1).integers(1, 90, 400) / 8
    path = tmp_path / "edges.tsv"
    path.write_text("".join(f"{a}\t{b}\t{w!r}\n" for a, b, w in zip(*ids.tolist(), weights.tolist())))
    (tmp_path / "seeds.tsv").write_text(f"{7 * edges[0, 0] + shift}\t2\n{7 * edges[0, 1] + shift}\t1.5\n")
    seeds = {int(ids[0, 0]): 2, int(ids[0, 1]): 1.5}
    graph, weighted = quern.Graph.from_edges(*ids), quern.Graph.from_edges(*ids, weights)
    for options, found in [
        ([], graph.pagerank()),
        (["--method", "hits"], graph.hits()),
        (["--weighted"], weighted.pagerank()),
        (["--weighted", "--method", "hits"], quern.Graph.from_file(path, weighted=True).hits()),
        (["--damping", "0.5", "--storage", "csr"], graph.pagerank(damping=0.5, storage="csr")),
        (["--storage", "brcp", "--precision", "f32"], graph.pagerank(storage="brcp", precision="f32")),
        (["--personalize", tmp_path / "seeds.tsv", "--dangling", "preference"],
         graph.pagerank(personalize=seeds, dangling="preference")),
        (["--warm", tmp_path / "seeds.tsv"], graph.pagerank(warm={**seeds, "not a node": 3})),
    ]:
        written = command("pagerank", path, "--format", "tsv", *options)
        assert found.fingerprint == xxhash.xxh3_64_hexdigest(written)


def test_names_as_in_a_file(tmp_path, command):
    src, dst = ["b", "a b", "é", "007"], ["a b", "Ω", "b", "7"]
    path = tmp_path / "edges.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in zip(src, dst)))
    graph = quern.Graph.from_edges(src, dst)
    assert graph.ids == sorted({*src, *dst}, key=str.encode)
    written = command("pagerank", path, "--format", "tsv")
    assert graph.pagerank().fingerprint == xxhash.xxh3_64_hexdigest(written)


@pytest.mark.parametrize("storage", STORAGES)
def test_storages(edges, storage):
    graph = quern.Graph.from_edges(*edges)
    exact = graph.pagerank(tolerance=1e-12)
    found = graph.pagerank(storage=storage, tolerance=1e-12)
    assert abs(found.ranks - exact.ranks).sum() <= found.error + exact.error


def test_results(edges):
    found = quern.Graph.from_edges(*edges).pagerank(device="cpu")
    assert found.table["id"].tolist() == found.order.tolist()
    assert (found.table["rank"] == found.ranks[found.order]).all()
    assert found[7] == found["7"] == found.ranks[7] and len(found) == 50
    with pytest.raises(KeyError):
        found[50]
    assert found.iterations > 0 and found.place.startswith("cpu") and found.hubs is None
    assert "rank" in repr(found) and "<table>" in found._repr_html_()
    assert polars.DataFrame(found.table).height == 50


def test_not_converged(edges):
    found = quern.Graph.from_edges(*edges).pagerank(max_iterations=2, tolerance=1e-12)
    assert not found.converged and found.iterations == 2 and found.error > 1e-4


def test_no_links():
    for graph in [quern.Graph.from_edges([], []), quern.Graph.from_edges(numpy.empty(0, "i4"), numpy.empty(0, "i4"))]:
        assert graph.nodes == 0 and graph.pagerank().ranks.shape == (0,) and graph.hits().ranks.shape == (0,)
    graph = quern.Graph.from_edges([], [], nodes=3)
    assert graph.pagerank().ranks.tolist() == pytest.approx([1 / 3] * 3)
    assert graph.hits().ranks.tolist() == [0, 0, 0]


class Networkx:
    """What from_networkx reads of a graph."""

    def __init__(self, nodes, edges, directed):
        self.nodes, self._edges, self._directed = nodes, edges, directed

    def edges(self, data):
        assert data
        return self._edges

    def is_directed(self):
        return self._directed


def test_networkx():
    edges = [("x", "y", {"w": 2}), ("y", "y", {}), ("z", "x", {"w": 0.5})]
    directed = quern.Graph.from_networkx(Networkx(["z", "y", "x", "alone"], edges, True), "w")
    assert (directed.ids, directed.links, directed.weighted) == (["z", "y", "x", "alone"], 3, True)
    plain = quern.Graph.from_edges([2, 1, 0], [1, 1, 2], [2.0, 1, 0.5], nodes=4).pagerank()
    assert (directed.pagerank().ranks == plain.ranks).all()
    assert quern.Graph.from_networkx(Networkx(["z", "y", "x", "alone"], edges, False)).links == 5


def test_lists_of_links():
    weighted = quern.Graph.from_edges([("a", "b", 1), ("a", "c", 2.5)])
    assert weighted.weighted and weighted.pagerank()["c"] > weighted.pagerank()["b"]
    assert quern.Graph.from_edges([]).links == 0
    with pytest.raises(TypeError, match="link 1 has 3 values, and the first has 2"):
        quern.Graph.from_edges([("a", "b"), ("a", "b", 1)])
    with pytest.raises(TypeError, match="or a list of pairs, got builtins.list alone"):
        quern.Graph.from_edges(["a", "b"])


def test_pickle(edges):
    for graph in [quern.Graph.from_edges(*edges), quern.Graph.from_edges(["a", "b"], ["b", "c"], [1, 2.5])]:
        again = pickle.loads(pickle.dumps(graph, 5))
        assert list(again.ids) == list(graph.ids)
        found = again.pagerank()
        assert found.fingerprint == graph.pagerank().fingerprint
        assert pickle.loads(pickle.dumps(found)).fingerprint == found.fingerprint
        hits = graph.hits()
        assert pickle.loads(pickle.dumps(hits)).fingerprint == hits.fingerprint


F = quern.Graph.from_edges


def test_a_series_of_pandas_goes_by_its_index() -> None:
    graph = quern.Graph.from_edges(["a", "b", "c", "c"], ["b", "c", "a", "b"])
    seeds = {"c": 1.0, "a": 0.5}
    for name in ("personalize", "warm"):
        expected = graph.pagerank(**{name: seeds}).fingerprint
        assert graph.pagerank(**{name: pandas.Series(seeds)}).fingerprint == expected
    in_order = graph.pagerank(personalize=pandas.Series([0.5, 0.0, 1.0], index=["a", "b", "c"]))
    assert in_order.fingerprint == graph.pagerank(personalize=numpy.array([0.5, 0.0, 1.0])).fingerprint
    with pytest.raises(quern.UsageError, match="'0' is not a node"):
        graph.pagerank(personalize=pandas.Series([0.5, 0.0, 1.0]))
    in_a_list = graph.pagerank(personalize=["c", "a"]).fingerprint
    for column in (numpy.array(["c", "a"]), pandas.Index(["c", "a"]), polars.Series(["c", "a"])):
        assert graph.pagerank(personalize=column).fingerprint == in_a_list


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: F([1, 2], [3]), quern.UsageError, "2 sources and 1 targets"),
        (lambda: F([1, -2], [3, 4]), quern.UsageError, r"src\[1\] is negative"),
        (lambda: F(numpy.int32([1, -2]), numpy.int32([3, 4])), quern.UsageError, r"src\[1\] is negative"),
        (lambda: F([1, 2], [3, 9], nodes=5), quern.UsageError, "link 1 from 2 to 9"),
        (lambda: F([1, 2], [3, 4], weights=[1, -2]), quern.UsageError, r"weights\[1\] is negative \(expected positive numbers\)"),
        (lambda: F([1, 2], [3, 4], weights=numpy.float16([1, 2])), TypeError, "float64, float32 or an integer type, got float16"),
        (lambda: F([1.0], [2.0]), TypeError, "whole numbers"),
        (lambda: F([True], [False]), TypeError, "whole numbers"),
        (lambda: F(numpy.zeros(2, ">i8"), numpy.zeros(2, "i8")), TypeError, "little-endian"),
        (lambda: F(numpy.zeros((2, 2), "i8"), numpy.zeros((2, 2), "i8")), TypeError, "one dimension"),
        (lambda: F(["a", 3], ["b", "c"]), TypeError, "position 1"),
        (lambda: F([3, "a"], [4, 5]), TypeError, "all ids to be texts, or all whole numbers .* got 'a' at position 1"),
        (lambda: F([3, None], [4, 5]), TypeError, "got None at position 1"),
        (lambda: F([2**64, 1], [4, 5]), TypeError, "below 2.64, got 18446744073709551616 at position 0"),
        (lambda: F([2**63, -1], [4, 5]), TypeError, "got -1 at position 1"),
        (lambda: F(["a", ""], ["b", "c"]), quern.InvalidInput, "empty"),
        (lambda: F(["a\tb"], ["c"]), quern.InvalidInput, "control character"),
        (lambda: F(["\ud800"], ["c"]), UnicodeEncodeError, "surrogates"),
        (lambda: F([1], [2], [0.0]), quern.UsageError, "link 0"),
        (lambda: F([1], [2], [math.nan]), quern.UsageError, "link 0"),
        (lambda: F([1], [2], [-1]), quern.UsageError, r"weights\[0\] is negative \(expected positive numbers"),
        (lambda: F([1], [2], numpy.ones(1, "f2")), TypeError, "weights: expected numbers of float64, float32 or an integer"),
        (lambda: F([1], [2], [math.inf]), quern.UsageError, "link 0"),
        (lambda: F([1], [2], [1.0, 2.0]), quern.UsageError, "2 for 1 links"),
        (lambda: F([0], [1], ids=["a", "a"]), quern.UsageError, "repeated"),
        (lambda: F([0], [1], ids=["a"]), quern.UsageError, "1 nodes"),
        (lambda: F([0], [1], ids=["a", 2.5]), TypeError, "texts or whole numbers"),
        (lambda: F([0], [1], ids=["a", "b"], nodes=3), quern.UsageError, "number of ids"),
        (lambda: F(5), TypeError, "frame"),
        (lambda: F(pandas.DataFrame({"a": [1]})), TypeError, "1 columns"),
        (lambda: F(pyarrow.table({"a": [1, None], "b": [1, 2]})), quern.UsageError, "missing values"),
        (lambda: F([1], [2], thread=3), TypeError, "did you mean threads"),
        (lambda: quern.Graph.from_scipy(scipy.sparse.csr_matrix((3, 4))), quern.UsageError, "3 rows and 4 columns"),
        (lambda: quern.Graph.from_scipy([[1]]), TypeError, "sparse matrix"),
        (lambda: quern.Graph.from_networkx(None), TypeError, "expected a graph of networkx, got NoneType"),
        (lambda: quern.Graph.from_file("no/such/file"), quern.UsageError, "no such file"),
    ],
)
def test_refused_graphs(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"damping": 1}, quern.UsageError, "damping: invalid value"),
        ({"damping": "x"}, quern.UsageError, "damping: invalid value"),
        ({"tolerance": 0}, quern.UsageError, "tolerance"),
        ({"storage": "dense"}, quern.UsageError, "storage"),
        ({"personalize": ["zzz"]}, quern.UsageError, "'zzz' is not a node"),
        ({"personalize": [1, 1]}, quern.UsageError, "repeated"),
        ({"personalize": {1: -1.0}}, quern.UsageError, "at least 0"),
        ({"personalize": {1: 0}}, quern.UsageError, "above 0"),
        ({"personalize": {1: "x"}}, quern.UsageError, "a number"),
        ({"personalize": numpy.ones(3)}, quern.UsageError, "3 values for 50 nodes"),
        ({"personalize": numpy.full(50, math.nan)}, quern.UsageError, "finite"),
        ({"dampings": 1}, TypeError, "did you mean damping"),
    ],
)
def test_refused_ranks(edges, options, error, words):
    graph = quern.Graph.from_edges(*edges, nodes=50)
    with pytest.raises(error, match=words):
        graph.pagerank(**options)


def test_errors_of_a_file(tmp_path):
    (tmp_path / "g.tsv").write_text("1\t2\n3\n")
    with pytest.raises(quern.InvalidInput) as raised:
        quern.Graph.from_file(tmp_path / "g.tsv")
    assert raised.value.line == 2 and raised.value.path == str(tmp_path / "g.tsv")


def test_ctrl_c(interrupt):
    random = numpy.random.default_rng(1)
    graph = quern.Graph.from_edges(*random.integers(0, 300_000, (2, 3_000_000)))
    interrupt(0.3)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        graph.pagerank(tolerance=1e-300, max_iterations=1_000_000, damping=0.999999, storage="csr")
    assert time.monotonic() - began < 0.8
    assert graph.pagerank(max_iterations=1).iterations == 1


def test_ids_beyond_64_bits_are_texts() -> None:
    ranks = quern.Graph.from_edges([0], [1], ids=[2**70, 5]).pagerank()
    assert ranks.ids == [str(2**70), "5"] and len(ranks.table) == 2
    assert pickle.loads(pickle.dumps(ranks)).fingerprint == ranks.fingerprint


def test_ranks_are_a_mapping():
    ranks = quern.Graph.from_edges(numpy.array([0, 1, 2]), numpy.array([1, 2, 0])).pagerank()
    assert dict(ranks) == {int(i): float(r) for i, r in zip(ranks.ids, ranks.ranks)}
    assert list(ranks) == ranks.keys() and len(ranks) == 3


# ---- What calls keep ----


def same(found, expected):
    return (found.fingerprint == expected.fingerprint and found.iterations == expected.iterations
            and found.change == expected.change and found.converged == expected.converged)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_graph_is_arranged_once(edges, weighted):
    weights = numpy.arange(1.0, 401) if weighted else None
    kept = quern.Graph.from_edges(*edges, weights)
    calls = [lambda graph: graph.pagerank(), lambda graph: graph.pagerank(personalize=[3, 7], tolerance=1e-9),
             lambda graph: graph.hits(), lambda graph: graph.pagerank(warm=numpy.arange(1.0, 51), dangling="none"),
             lambda graph: graph.pagerank(storage="csr"), lambda graph: graph.pagerank(storage="brcp"),
             lambda graph: graph.hits(tolerance=1e-9), lambda graph: graph.pagerank(threads=1)]
    assert kept.kept_bytes == 0
    for call in calls + calls[::-1]:
        assert same(call(kept), call(quern.Graph.from_edges(*edges, weights)))
    kept.hits()
    assert kept.kept_bytes > 4 * kept.links  # the links, reversed
    assert pickle.loads(pickle.dumps(kept)).kept_bytes == 0
    kept.release()
    assert kept.kept_bytes == 0
    assert same(kept.pagerank(), quern.Graph.from_edges(*edges, weights).pagerank())
    with pytest.raises(quern.UsageError, match="damping"):
        kept.pagerank(damping=1)
    assert same(kept.hits(), quern.Graph.from_edges(*edges, weights).hits())


def test_other_resources_arrange_a_graph_anew(edges):
    graph = quern.Graph.from_edges(*edges)
    graph.hits()
    kept = graph.kept_bytes
    graph.pagerank()
    assert graph.kept_bytes >= kept  # the reversed links are still there
    graph.pagerank(threads=1)
    assert graph.kept_bytes < kept
    with pytest.raises(quern.OutOfMemory):
        quern.Graph.from_edges(*numpy.random.default_rng(1).integers(0, 100_000, (2, 1_000_000))).hits(memory="2M")


def test_graphs_take_turns_and_survive_a_fork(edges, in_threads_and_a_fork):
    graph = quern.Graph.from_edges(*edges)
    ranks, hubs = graph.pagerank().fingerprint, graph.hits().fingerprint
    in_threads_and_a_fork(lambda: all(
        graph.pagerank(device="cpu").fingerprint == ranks and graph.hits(device="cpu").fingerprint == hubs
        for _ in range(20)))


def test_no_call_from_the_progress_of_a_call(edges):
    graph = quern.Graph.from_edges(*edges)
    said = []

    def listen(*_):
        try:
            graph.pagerank()
        except quern.UsageError as error:
            said.append(str(error))

    graph.pagerank(storage="csr", tolerance=1e-300, max_iterations=200_000, progress=listen)
    assert said and all("a call of this graph is running on this thread" in text for text in said)
