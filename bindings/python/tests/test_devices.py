# SPDX-License-Identifier: Apache-2.0
"""The same results on a GPU as on the CPU. Skipped where there is no GPU."""

import gc
import logging
import pickle
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
    # The paper's methods compare all pairs by characters, on the CPU too.
    for count, options in ((20_000, {}), (20_000, {"threshold": 0.1}), (8_000, {"method": "signature"}),
                           (1_000, {"method": "shared-memory"})):
        texts = made_texts(count)
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
    on_host = quern.VectorSet(x, device="cuda").search(x[:50], k=5)
    assert isinstance(on_host.ids, numpy.ndarray) and (on_host.ids == expected.ids).all()
    vectors = quern.VectorSet(x.cuda())
    assert vectors.record["place"].startswith("cuda:0")
    assert vectors.record["tile_bytes"] == 0
    found = vectors.search(x[:50].cuda(), k=5)
    ids, distances = torch.from_dlpack(found.ids), torch.from_dlpack(found.distances)
    assert ids.device.type == "cuda" and ids.data_ptr() == found.ids.__cuda_array_interface__["data"][0]
    assert (ids.cpu().numpy() == expected.ids).all() and (distances.cpu().numpy() == expected.distances).all()
    assert found.fingerprint == expected.fingerprint
    assert isinstance(vectors.search(x[:50].numpy(), k=5).ids, numpy.ndarray)
    assert quern.VectorSet(x.numpy(), device="cuda").search(x[:50].cuda(), k=5).ids.device == "cuda:0"
    assert vectors.search(x[0].cuda(), k=5).ids.shape == (5,)
    assert vectors.search(x[:0].cuda(), k=5).ids.shape == (0, 5)
    assert vectors.content == quern.VectorSet(x.numpy(), device="cpu").content


def on_gpu(array):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(array).cuda()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8", "int16"])
@pytest.mark.parametrize("metric", ["l2", "ip", "cosine", "l1", "linf"])
def test_vectors_on_the_gpu(dtype, metric):
    draw = numpy.random.default_rng(1)
    values = draw.normal(size=(20_000, 97)) * 20
    values[5000:9000] = values[:40].repeat(100, axis=0)  # ties
    x = (numpy.abs(values) if dtype == "uint8" else values).astype(dtype)
    queries = numpy.concatenate([x[:30], x[5000:5170]])
    on_cpu, there = quern.VectorSet(x, metric=metric, device="cpu"), quern.VectorSet(on_gpu(x), metric=metric)
    for some, k in ((queries, 20), (queries[:2], 700), (queries[:2], None), (queries[0], 3)):
        expected, found = on_cpu.search(some, k), there.search(on_gpu(some), k)
        assert found.ids.dtype == expected.ids.dtype and found.distances.dtype == expected.distances.dtype
        assert (found.ids.get() == expected.ids).all() and (found.distances.get() == expected.distances).all()
        assert found.fingerprint == expected.fingerprint
    radius = float(on_cpu.search(queries[0], 50).distances[-1])
    expected, found = on_cpu.range_search(queries[:5], radius), there.range_search(on_gpu(queries[:5]), radius)
    for one, other in zip(expected, found):
        assert one.dtype == other.dtype and (numpy.asarray(other) == one).all()
    assert found.fingerprint == expected.fingerprint


def test_bits_on_the_gpu():
    draw = numpy.random.default_rng(2)
    x = draw.integers(0, 256, (3000, 12), "uint8")
    expected = quern.VectorSet(x, bits=96, device="cpu").search(x[:9], 40)
    found = quern.VectorSet(on_gpu(x), bits=96).search(on_gpu(x[:9]), 40)
    assert (found.ids.get() == expected.ids).all() and (found.distances.get() == expected.distances).all()


def test_arrays_of_cupy():
    cupy = pytest.importorskip("cupy")
    x = numpy.random.default_rng(3).normal(size=(7000, 33)).astype("float32")
    expected = quern.VectorSet(x, device="cpu").search(x[:70], 9)

    class Interface:  # without DLPack
        def __init__(self, array):
            self.array = array

        @property
        def __cuda_array_interface__(self):
            return self.array.__cuda_array_interface__

    for wrap in (lambda array: array, Interface):
        found = quern.VectorSet(wrap(cupy.asarray(x))).search(wrap(cupy.asarray(x[:70])), 9)
        ids, distances = cupy.asarray(found.ids), cupy.from_dlpack(found.distances)
        assert ids.data.ptr == found.ids.__cuda_array_interface__["data"][0]
        assert distances.data.ptr == found.distances.__cuda_array_interface__["data"][0]
        assert (ids.get() == expected.ids).all() and (distances.get() == expected.distances).all()
    shifted = cupy.asarray(x)[3:]  # at no multiple of sixteen bytes
    assert (quern.VectorSet(shifted).search(x[:70], 9).ids == quern.VectorSet(x[3:]).search(x[:70], 9).ids).all()


@pytest.mark.parametrize("library", ["torch", "cupy", "interface"])
def test_the_work_of_the_stream_comes_first(library):
    torch, cupy = pytest.importorskip("torch"), pytest.importorskip("cupy")
    x = numpy.random.default_rng(4).normal(size=(4000, 32)).astype("float32")
    expected = quern.VectorSet(x, device="cpu").search(x[:40], 5)
    quern.VectorSet(on_gpu(x)).search(on_gpu(x[:40]), 5)  # CUDA is awake
    late = 400_000_000  # cycles: some tenths of a second
    spin = cupy.RawKernel(
        'extern "C" __global__ void spin(long long n) { const long long t = clock64(); while (clock64() - t < n); }',
        "spin",
    )
    spin((1,), (1,), (1,))
    if library == "torch":
        source, queries = torch.from_numpy(x).cuda(), torch.from_numpy(x[:40]).cuda()
        to, to_queries = torch.full_like(source, 7), torch.full_like(queries, 9)
        torch.cuda.synchronize()
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda._sleep(late)
            to.copy_(source)
            vectors = quern.VectorSet(to)
            torch.cuda._sleep(late)
            to_queries.copy_(queries)
            found = vectors.search(to_queries, 5)
            ids = torch.from_dlpack(found.ids) + 0
            assert (ids.cpu().numpy() == expected.ids).all()
    else:

        class Interface:
            def __init__(self, array):
                self.__cuda_array_interface__ = array.__cuda_array_interface__

        wrap = Interface if library == "interface" else lambda array: array
        source, queries = cupy.asarray(x), cupy.asarray(x[:40])
        to, to_queries = cupy.full_like(source, 7), cupy.full_like(queries, 9)
        cupy.cuda.Device().synchronize()
        with cupy.cuda.Stream(non_blocking=True):
            spin((1,), (1,), (late,))
            to[...] = source
            vectors = quern.VectorSet(wrap(to))
            spin((1,), (1,), (late,))
            to_queries[...] = queries
            found = vectors.search(wrap(to_queries), 5)
            ids = cupy.asarray(found.ids) + 0
            assert (ids.get() == expected.ids).all()
    assert (found.distances.get() == expected.distances).all()


def test_the_vectors_are_not_copied_and_kept():
    torch = pytest.importorskip("torch")
    x = torch.randn(4_000_000, 64, device="cuda")  # a gigabyte
    expected = x[5].clone()
    torch.cuda.synchronize()
    before = torch.cuda.mem_get_info()[0]
    vectors = quern.VectorSet(x)
    ids = vectors.search(x[:1], 10).ids
    assert before - torch.cuda.mem_get_info()[0] < x.nbytes / 2
    address = x.data_ptr()
    del x
    gc.collect()
    torch.cuda.empty_cache()
    assert ids.get()[0][0] == 0
    assert vectors.search(expected, 1).ids.get().tolist() == [5]
    assert vectors._source.data_ptr() == address
    found = vectors.search(expected, 3)
    ids, distances = torch.from_dlpack(found.ids), cupy_of(found.distances)
    kept = ids.cpu().tolist()
    del vectors, found
    gc.collect()
    assert ids.cpu().tolist() == kept and distances.get()[0] == 0


def cupy_of(array):
    return pytest.importorskip("cupy").asarray(array)


def test_what_lies_otherwise_is_refused(caplog):
    torch = pytest.importorskip("torch")
    x = torch.randn(300, 16, device="cuda")
    for wrong in (x[:, :8], x[::2], x.T):
        with pytest.raises(TypeError, match=r"x: expected rows one directly after .* x.contiguous\(\)"):
            quern.VectorSet(wrong)
    vectors = quern.VectorSet(x)
    with pytest.raises(TypeError, match="queries: expected rows one directly after"):
        vectors.search(x[:, ::2], 1)
    with pytest.raises(TypeError, match="queries: expected float32 as the vectors, got float16"):
        vectors.search(x[:3].half(), 1)
    with pytest.raises(TypeError, match="got int64; convert them"):
        quern.VectorSet(x.long())
    bad = x.clone()
    bad[217, 3] = float("nan")
    with pytest.raises(quern.InvalidInput, match="row 217 has a value that is not finite") as refused:
        quern.VectorSet(bad)
    assert refused.value.position == 217
    with pytest.raises(quern.UsageError, match="the vectors lie on cuda:0, but cuda:9 was requested"):
        quern.VectorSet(x, device="cuda:9")
    with caplog.at_level(logging.INFO, "quern"):
        found = quern.VectorSet(x, device="cpu").search(x[:2], 1)
    assert "x: the array of a GPU was copied to the host" in caplog.text
    assert isinstance(found.ids, numpy.ndarray) and found.ids.tolist() == [[0], [1]]


def test_estimators_and_pickles_of_the_gpu():
    torch = pytest.importorskip("torch")
    x = torch.randn(500, 16, device="cuda")
    vectors = quern.VectorSet(x)
    neighbors = vectors.as_sklearn()
    distances, ids = neighbors.kneighbors(x[:3], 2)
    assert isinstance(ids, numpy.ndarray) and (ids[:, 0] == [0, 1, 2]).all() and (distances[:, 0] == 0).all()
    assert neighbors.kneighbors(n_neighbors=2)[1].shape == (500, 2)
    assert neighbors.radius_neighbors(x[:3], 1e-3)[1][2].tolist() == [2]
    found = vectors.search(x[:3], 4)
    assert repr(found.ids) == "DeviceArray(shape=(3, 4), dtype=int64, device='cuda:0')"
    copy = pickle.loads(pickle.dumps(found))
    assert isinstance(copy.ids, numpy.ndarray) and copy.fingerprint == found.fingerprint
    again = pickle.loads(pickle.dumps(vectors))
    assert again.content == vectors.content and again.search(x[:3].cpu(), 4).fingerprint == found.fingerprint


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


# ---- Sparse matrices ----


def made_matrix(seed=5, dtype="float64"):
    sparse = pytest.importorskip("scipy.sparse")
    return sparse.random(3000, 2000, 0.01, format="csr", random_state=seed, dtype=dtype)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_products_stay_on_the_gpu(dtype):
    torch = pytest.importorskip("torch")
    rows, x = made_matrix(dtype=dtype), numpy.random.default_rng(6).standard_normal(2000).astype(dtype)
    expected = quern.SparseMatrix(rows).multiply(x, device="cpu")
    matrix = quern.SparseMatrix(rows)
    first, second = matrix.multiply(on_gpu(x)), matrix.multiply(on_gpu(x), repeat=2)
    for found in (first, second):
        assert isinstance(found.y, quern.DeviceArray) and found.y.device == "cuda:0" and str(found.y.dtype) == dtype
        assert found.place.startswith("cuda:0") and found.fingerprint == expected.fingerprint
        assert (torch.from_dlpack(found.y).cpu().numpy() == expected.y).all()
    assert first.conversion_seconds > 0 and second.conversion_seconds == 0 and len(second.seconds) == 2
    assert matrix.kept_bytes == second.bytes
    assert isinstance(matrix @ on_gpu(x), quern.DeviceArray)
    on_host = matrix.multiply(x, device="cuda")
    assert isinstance(on_host.y, numpy.ndarray) and (on_host.y == expected.y).all()
    assert isinstance(matrix.multiply(on_gpu(x), device="cpu").y, numpy.ndarray)
    with pytest.raises(quern.UsageError, match="x: 1999 values"):
        matrix.multiply(on_gpu(x[1:]))
    with pytest.raises(TypeError, match="adjacent|one directly after the other"):
        matrix.multiply(on_gpu(numpy.repeat(x, 2))[::2])


def test_matrices_of_the_gpu():
    rows, x = made_matrix(), numpy.random.default_rng(7).standard_normal(2000)
    expected = quern.SparseMatrix(rows).multiply(x, device="cpu").y
    torch = pytest.importorskip("torch")
    tensor = torch.sparse_csr_tensor(*(torch.from_numpy(a) for a in (rows.indptr, rows.indices, rows.data)), rows.shape)
    assert ((quern.SparseMatrix(tensor.cuda()) @ on_gpu(x)).get() == expected).all()
    cupy_sparse = pytest.importorskip("cupyx.scipy.sparse")
    assert ((quern.SparseMatrix(cupy_sparse.csr_matrix(rows)) @ on_gpu(x)).get() == expected).all()


def test_a_product_waits_for_the_stream_of_its_vector():
    torch, cupy = pytest.importorskip("torch"), pytest.importorskip("cupy")
    rows, x = made_matrix(), numpy.random.default_rng(8).standard_normal(2000)
    matrix = quern.SparseMatrix(rows)
    expected = matrix.multiply(x, device="cpu").y
    matrix @ on_gpu(x)  # it stays there, and CUDA is awake
    spin = cupy.RawKernel(
        'extern "C" __global__ void spin(long long n) { const long long t = clock64(); while (clock64() - t < n); }',
        "spin",
    )
    given, late = on_gpu(x), torch.zeros(2000, dtype=torch.float64, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        with cupy.cuda.ExternalStream(stream.cuda_stream):
            spin((1,), (1,), (400_000_000,))
        late.copy_(given)
        assert ((matrix @ late).get() == expected).all()


def test_ranked_lists_of_the_gpu():
    draw = numpy.random.default_rng(9)
    lists = [(draw.permutation(5000).astype("int64"), -numpy.sort(-draw.random(5000).astype("float32"))) for _ in range(3)]
    expected = quern.top_k(lists, k=20, device="cpu")
    found = quern.top_k([(on_gpu(ids), on_gpu(scores)) for ids, scores in lists], k=20)
    assert found.fingerprint == expected.fingerprint and found.place.startswith("cuda:0")


# ---- Graphs and lists that stay ----


def test_language_models(tmp_path):
    texts = made_texts(2_000)
    arpa, compact = tmp_path / "a.arpa", tmp_path / "a.model"
    quern.NgramModel.fit(texts[::2], order=3, smoothing="absolute").to_arpa(arpa)
    quern.LanguageModel.make_compact(arpa, compact)
    for model in (arpa, compact):
        on_cpu, on_gpu = (quern.perplexity(model, texts, device=device) for device in ("cpu", "cuda"))
        for column in ("words", "unknown", "log10", "perplexity", "bits_per_byte"):
            assert (on_cpu[column] == on_gpu[column]).all()
    limit = float(numpy.median(on_cpu["perplexity"]))
    kept = [quern.filter(texts, perplexity=compact, below=limit, device=device).fingerprint for device in ("cpu", "cuda")]
    assert kept[0] == kept[1]


@pytest.mark.parametrize("weighted", [False, True])
def test_graphs_stay_on_the_gpu(weighted):
    draw = numpy.random.default_rng(10)
    src, dst = draw.integers(0, 50_000, 400_000), draw.integers(0, 50_000, 400_000) ** 2 % 50_000
    weights = draw.integers(1, 100, 400_000).astype("float64") if weighted else None
    on_cpu, kept = quern.Graph.from_edges(src, dst, weights), quern.Graph.from_edges(src, dst, weights)
    seeds = on_cpu.ids[:7].tolist()
    calls = [lambda graph, **on: graph.pagerank(**on), lambda graph, **on: graph.pagerank(personalize=seeds, **on),
             lambda graph, **on: graph.hits(**on), lambda graph, **on: graph.pagerank(storage="csr", **on)]
    for call in calls + calls[::-1]:
        found = call(kept, device="cuda")
        assert found.place.startswith("cuda:0") and found.fingerprint == call(on_cpu, device="cpu").fingerprint
    left = kept.kept_bytes
    assert left > 4 * kept.links
    kept.pagerank(device="cuda")
    assert kept.kept_bytes == left
    kept.release()
    assert kept.kept_bytes == 0
    assert kept.pagerank(device="cuda").fingerprint == on_cpu.pagerank(device="cpu").fingerprint


def test_graphs_of_the_gpu():
    draw = numpy.random.default_rng(11)
    src, dst = draw.integers(0, 900, 9000), draw.integers(0, 900, 9000)
    expected = quern.Graph.from_edges(src, dst).pagerank(device="cpu")
    graph = quern.Graph.from_edges(on_gpu(src), on_gpu(dst))
    preference = numpy.arange(1.0, graph.nodes + 1)
    assert graph.pagerank().fingerprint == expected.fingerprint
    assert graph.pagerank(personalize=on_gpu(preference)).fingerprint == graph.pagerank(personalize=preference).fingerprint


def test_ranked_lists_stay_on_the_gpu():
    draw = numpy.random.default_rng(12)
    lists = [(draw.permutation(100_000).astype("uint32"), -numpy.sort(-draw.random(100_000).astype("float32")))
             for _ in range(4)]
    kept = quern.RankedLists([(on_gpu(ids.astype("int64")), on_gpu(scores)) for ids, scores in lists])
    for k in (1, 50, 100_000):
        for options in ({}, {"score": "rrf"}, {"method": "segmented"}, {"score": "min"}):
            found = kept.top_k(k, device="cuda", **options)
            expected = quern.top_k(lists, k, device="cpu", **options)
            assert found.place.startswith("cuda:0") and found.fingerprint == expected.fingerprint
    assert kept.kept_bytes >= 4 * 100_000 * 8
    with pytest.raises(quern.UsageError, match="runs on cpu only"):
        kept.top_k(5, method="nra", device="cuda")
    assert kept.top_k(5, method="nra", device="cpu").fingerprint == kept.top_k(5, device="cuda").fingerprint
    kept.release()
    assert kept.kept_bytes == 0
    rising = quern.RankedLists([(numpy.array([1, 2], "uint32"), numpy.array([0.25, 0.5]))])
    with pytest.raises(quern.InvalidInput, match=r"lists\[0\], position 1: the score is greater"):
        rising.top_k(1, device="cuda")
