# SPDX-License-Identifier: Apache-2.0
"""The same results on a GPU as on the CPU. Skipped where there is no GPU."""

import random

import numpy
import pytest
import quern


def _has_gpu() -> bool:
    try:
        quern.dedup(["one", "two"], device="cuda")
    except (quern.DeviceError, quern.UsageError):
        return False
    return True


pytestmark = pytest.mark.skipif(not _has_gpu(), reason="there is no GPU, or Quern was built without CUDA")

chance = random.Random(7)
WORDS = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(5000)]


def made_texts(count: int) -> list[str]:
    texts = [" ".join(chance.choices(WORDS, k=150)) for _ in range(count)]
    for i in range(0, count, 20):
        copy = list(texts[i])
        for _ in range(i % 60):
            copy[chance.randrange(len(copy))] = chance.choice("xyz")
        texts.append("".join(copy))
    return texts


def test_near_duplicates():
    texts = made_texts(20_000)
    for options in ({}, {"threshold": 0.1}, {"method": "signature"}, {"method": "shared-memory"}):
        on_gpu = quern.dedup(texts, device="cuda", **options)
        assert on_gpu.statistics["device"].startswith("cuda")
        assert on_gpu.pair_count > 0
        assert on_gpu.fingerprint == quern.dedup(texts, device="cpu", **options).fingerprint


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8"])
@pytest.mark.parametrize("metric", ["l2", "ip", "cosine", "l1", "linf"])
def test_nearest_neighbours(dtype, metric):
    draw = numpy.random.default_rng(1)
    values = draw.normal(size=(20_000, 96)) * 20
    x = (numpy.abs(values) if dtype == "uint8" else values).astype(dtype)
    queries = x[:200] if dtype.startswith(("int", "uint")) else (x[:200] + 1).astype(dtype)
    on_cpu = quern.VectorSet(x, metric=metric, device="cpu").search(queries, k=20)
    on_gpu = quern.VectorSet(x, metric=metric, device="cuda").search(queries, k=20)
    assert (on_cpu.ids == on_gpu.ids).all() and (on_cpu.distances == on_gpu.distances).all()
    assert on_cpu.fingerprint == on_gpu.fingerprint


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    x = torch.randn(5000, 64, generator=torch.Generator().manual_seed(1))
    expected = quern.VectorSet(x.numpy(), device="cpu").search(x[:50].numpy(), k=5)
    for given, queries in ((x, x[:50]), (x.cuda(), x[:50].cuda())):
        found = quern.VectorSet(given, device="cuda").search(queries, k=5)
        ids = numpy.asarray(found.ids.cpu() if hasattr(found.ids, "cpu") else found.ids)
        assert (ids == expected.ids).all()


def test_page_rank_and_hits():
    draw = numpy.random.default_rng(2)
    src, dst = draw.integers(0, 50_000, 400_000), draw.integers(0, 50_000, 400_000) ** 2 % 50_000
    graph = quern.Graph.from_edges(src, dst)
    assert graph.pagerank(device="cuda").fingerprint == graph.pagerank(device="cpu").fingerprint
    assert graph.hits(device="cuda").fingerprint == graph.hits(device="cpu").fingerprint


def test_sparse_products():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    matrix = scipy_sparse.random(20_000, 20_000, density=1e-3, format="csr", random_state=3)
    x = numpy.random.default_rng(4).normal(size=20_000)
    on_cpu = quern.SparseMatrix(matrix).multiply(x, storage="csr", device="cpu")
    on_gpu = quern.SparseMatrix(matrix).multiply(x, storage="csr", device="cuda")
    assert (on_cpu.y == on_gpu.y).all()


def test_rank_aggregation():
    draw = numpy.random.default_rng(5)
    lists = []
    for _ in range(4):
        ids = draw.permutation(100_000).astype("uint32")
        lists.append((ids, numpy.sort(draw.random(100_000))[::-1].copy()))
    assert quern.top_k(lists, k=50, device="cuda").fingerprint == quern.top_k(lists, k=50, device="cpu").fingerprint


def test_search_in_batches(tmp_path):
    texts = made_texts(5000)
    store = quern.build(texts, tmp_path / "store", skip=["duplicates", "ranks", "thesaurus", "vectors"]).store
    topics = {str(i): " ".join(chance.choices(WORDS, k=3)) for i in range(500)}
    on_gpu = store.search_many(topics, k=100, device="cuda")
    assert on_gpu.fingerprint == store.search_many(topics, k=100, device="cpu").fingerprint
