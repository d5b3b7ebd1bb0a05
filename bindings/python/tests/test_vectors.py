# SPDX-License-Identifier: Apache-2.0
"""Nearest neighbours of arrays, against slow exact references."""

import ctypes
import fractions
import gc
import logging
import multiprocessing
import pathlib
import pickle
import threading
import time

import numpy
import pyarrow
import pytest
import quern
import scipy.sparse
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

METRICS = ["l2", "sql2", "ip", "cosine", "l1", "linf"]


def exact_key(metric: str, a: list[fractions.Fraction], b: list[fractions.Fraction]) -> fractions.Fraction:
    """Rises with the distance of a from the query b, exactly."""
    if metric in ("l2", "sql2"):
        return sum(((x - y) ** 2 for x, y in zip(a, b)), fractions.Fraction())
    if metric == "l1":
        return sum((abs(x - y) for x, y in zip(a, b)), fractions.Fraction())
    if metric == "linf":
        return max(abs(x - y) for x, y in zip(a, b))
    product = sum((x * y for x, y in zip(a, b)), fractions.Fraction())
    if metric == "ip":
        return -product
    length = sum((x * x for x in a), fractions.Fraction())
    if length == 0 or all(y == 0 for y in b):
        return fractions.Fraction()  # distance 1, as of a product of 0
    return -(product * abs(product)) / length


def exact_order(metric: str, vectors: numpy.ndarray, query: numpy.ndarray) -> list[int]:
    b = [fractions.Fraction(float(y)) for y in query]
    keys = [exact_key(metric, [fractions.Fraction(float(x)) for x in row], b) for row in vectors]
    return sorted(range(len(keys)), key=lambda row: (keys[row], row))


shapes = st.tuples(st.integers(1, 12), st.integers(1, 6), st.integers(1, 3))
types = st.sampled_from(["float32", "float64", "float16", "int8", "uint8", "int16"])


@given(shapes, types, st.sampled_from(METRICS), st.integers(0, 2**32), st.integers(1, 15), st.booleans())
def test_ranking_is_the_exact_one(shape, dtype, metric, seed, k, scattered):
    rows, dimensions, count = shape
    random = numpy.random.default_rng(seed)
    least = 0 if dtype == "uint8" else -3  # few values: many ties
    x = random.integers(least, 4, (rows, dimensions)).astype(dtype)
    q = random.integers(least, 4, (count, dimensions)).astype(dtype)
    if scattered and dtype.startswith("float"):
        x, q = (random.standard_normal(a.shape).astype(dtype) for a in (x, q))
    distances, ids = quern.VectorSet(x, metric=metric, threads=1).search(q, k)
    assert distances.shape == ids.shape == (count, k)
    for query in range(count):
        expected = exact_order(metric, x, q[query])[:k]
        assert ids[query].tolist() == expected + [-1] * (k - len(expected))
        farthest = -numpy.inf if metric == "ip" else numpy.inf
        assert (distances[query, len(expected) :] == farthest).all()


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8"])
def test_distances_are_those_of_numpy(metric, dtype):
    random = numpy.random.default_rng(1)
    x, q = (random.integers(-9, 10, (n, 7)).astype(dtype) for n in (50, 6))
    distances, ids = quern.VectorSet(x, metric=metric).search(q, None)
    a, b = x.astype("f8")[ids], q.astype("f8")[:, None]
    expected = {
        "l2": numpy.sqrt(((a - b) ** 2).sum(2)),
        "sql2": ((a - b) ** 2).sum(2),
        "ip": (a * b).sum(2),
        "l1": abs(a - b).sum(2),
        "linf": abs(a - b).max(2),
        "cosine": 1 - (a * b).sum(2) / numpy.sqrt((a * a).sum(2) * (b * b).sum(2)),
    }[metric]
    narrow = metric != "l2" and (dtype == "float32" or metric == "cosine" and dtype != "float64")
    assert distances.dtype == (numpy.float32 if narrow else numpy.float64)
    numpy.testing.assert_allclose(distances, expected, rtol=1e-6, atol=1e-6)


@settings(max_examples=settings.default.max_examples // 5, deadline=None)
@given(st.integers(1, 70), st.integers(1, 40), st.integers(0, 2**32))
def test_packed_bits(bits, rows, seed):
    random = numpy.random.default_rng(seed)
    x, q = random.integers(0, 2, (rows, bits)), random.integers(0, 2, (2, bits))
    packed, queries = (numpy.packbits(a.astype(bool), axis=1, bitorder="little") for a in (x, q))
    found = quern.VectorSet(packed, bits=bits, threads=1)
    assert (found.metric, found.dtype, found.shape) == ("hamming", "bits", (rows, bits))
    distances, ids = found.search(queries, None)
    expected = (x[None] != q[:, None]).sum(2)
    order = numpy.argsort(expected, axis=1, kind="stable")
    assert (ids == order).all() and (distances == numpy.take_along_axis(expected, order, 1)).all()
    assert (quern.VectorSet(packed, metric="hamming", threads=1).search(queries, None)[1] == order).all()


def test_bits_that_do_not_fit():
    packed = numpy.zeros((3, 2), "uint8")
    with pytest.raises(quern.UsageError, match="17 bits take 3"):
        quern.VectorSet(packed, bits=17)
    with pytest.raises(TypeError, match="uint8 for packed bits"):
        quern.VectorSet(packed.astype("int8"), bits=16)
    with pytest.raises(quern.InvalidInput, match="bits past its last dimension"):
        quern.VectorSet(packed + 255, bits=15)
    with pytest.raises(TypeError, match="packbits"):
        quern.VectorSet(packed.astype(bool))


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("metric", METRICS)
def test_sparse_rows(index, metric):
    random = numpy.random.default_rng(4)
    dense = (random.integers(-3, 4, (60, 30)) * (random.random((60, 30)) < 0.1)).astype("float32")
    dense[7] = 0
    rows = scipy.sparse.csr_matrix(dense)
    rows.indices, rows.indptr = rows.indices.astype(index), rows.indptr.astype(index)
    queries = scipy.sparse.csr_matrix(dense[:5])
    found = quern.VectorSet(rows, metric=metric)
    distances, ids = found.search(queries, None)
    for query in range(5):
        assert ids[query].tolist() == exact_order(metric, dense, dense[query])
    again = pickle.loads(pickle.dumps(found, 5))
    assert (again.search(queries, 9)[1] == ids[:, :9]).all()


def test_sparse_rows_that_are_wrong():
    rows = scipy.sparse.random(9, 9, 0.3, format="csr", random_state=1, dtype="float64")
    with pytest.raises(TypeError, match=r"x.astype\('float32'\)"):
        quern.VectorSet(rows)
    rows = rows.astype("float32")
    for other in (rows.tocsc(), rows.tocoo()):
        with pytest.raises(TypeError, match="tocsr"):
            quern.VectorSet(other)
    with pytest.raises(TypeError, match="sparse rows"):
        quern.VectorSet(rows).search(numpy.zeros((1, 9), "float32"))
    backwards = scipy.sparse.csr_matrix(
        (numpy.ones(2, "f4"), numpy.array([3, 1], "i4"), numpy.array([0, 2], "i4")), shape=(1, 9)
    )
    with pytest.raises(quern.InvalidInput, match="do not ascend"):
        quern.VectorSet(backwards)
    backwards.indices[:] = [-1, 1]
    with pytest.raises(quern.InvalidInput, match="past its last dimension"):
        quern.VectorSet(backwards)


# ---- Arrays of all kinds ----


def layouts() -> dict[str, object]:
    x = numpy.arange(60, dtype="float32").reshape(12, 5) % 7
    wide = numpy.zeros((24, 9), "float32")
    wide[::2, 2:7] = x
    read_only = x.copy()
    read_only.flags.writeable = False
    unaligned = numpy.frombuffer(b"\0" + x.tobytes(), "uint8")[1:].view("float32").reshape(12, 5)
    return {
        "plain": x,
        "fortran": numpy.asfortranarray(x),
        "rows and columns of a larger one": wide[::2, 2:7],
        "negative strides": x[::-1][::-1, ::-1][:, ::-1],
        "backwards in memory": x[::-1].copy()[::-1],
        "read-only": read_only,
        "unaligned": unaligned,
        "memoryview": memoryview(x),
        "array interface": Interface(x),
        "dlpack": Dlpack(x),
        "numpy by __array__": Array(x),
        "transposed": numpy.ascontiguousarray(x.T).T,
    }


class Interface:
    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__
        self.kept = array


class Dlpack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Array:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


@pytest.mark.parametrize("layout", list(layouts()))
def test_every_layout_gives_the_same(layout):
    x = layouts()["plain"]
    given_array = layouts()[layout]
    expected = quern.VectorSet(x).search(x, 5)
    found = quern.VectorSet(given_array)
    for queries in (x, given_array):
        distances, ids = found.search(queries, 5)
        assert (ids == expected.ids).all() and (distances == expected.distances).all()
    assert found.content == quern.VectorSet(x).content


@pytest.mark.parametrize(
    "changed",
    [{"shape": (-1, 5)}, {"data": (0, True)}, {"strides": (4,)}, {"typestr": ">f4"}, {"typestr": "|O8"}, {"mask": 1}],
    ids=str,
)
def test_wrong_interfaces(changed):
    x = numpy.ones((12, 5), "float32")
    wrong = Interface(x)
    wrong.__array_interface__ = {**x.__array_interface__, **changed}
    with pytest.raises(TypeError, match="^x: expected"):
        quern.VectorSet(wrong)


def test_columns_of_vectors():
    x = numpy.arange(24, dtype="float32").reshape(8, 3)
    lists = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(x.ravel()), 3)
    expected = quern.VectorSet(x[2:]).search(x[:2], 3)
    for column in (lists[2:], pyarrow.chunked_array([lists[2:5], lists[5:]]), pyarrow.table({"v": lists})["v"][2:]):
        assert quern.VectorSet(column).search(lists[:2], 3).fingerprint == expected.fingerprint
    with pytest.raises(TypeError, match="x: expected lists of numbers, got lists with nulls"):
        quern.VectorSet(pyarrow.array([[1, 2], None], pyarrow.list_(pyarrow.float32(), 2)))
    with pytest.raises(TypeError, match=r"expected numbers, or lists of one length, got list<item: int64>; cast them"):
        quern.VectorSet(pyarrow.array([[1, 2], [3, 4]]))
    with pytest.raises(TypeError, match=r"got objects; numpy.stack.x. makes one array of many"):
        quern.VectorSet(numpy.array([x[0], None], dtype=object))
    for texts in (numpy.array([["a", "bc"]]), numpy.array("colours.txt")):
        with pytest.raises(TypeError, match="or an integer type, got texts"):
            quern.VectorSet(texts)


def test_copies_are_noted(caplog):
    x = numpy.asfortranarray(numpy.ones((6, 5), "float32"))
    with caplog.at_level(logging.INFO, "quern"):
        quern.VectorSet(x)
    assert "not contiguous was copied" in caplog.text
    caplog.clear()
    with caplog.at_level(logging.INFO, "quern"):
        quern.VectorSet(numpy.ones((6, 5), "float32")[::2])  # rows may lie apart
    assert not caplog.text


def test_broadcast_rows():
    x = numpy.broadcast_to(numpy.float32([1, 2, 3]), (4, 3))
    assert quern.VectorSet(x).search(x[:1], 9).ids.tolist() == [[0, 1, 2, 3, -1, -1, -1, -1, -1]]


def bfloat16_capsule(bits: numpy.ndarray):
    """A DLPack capsule of uint16 whose type says bfloat16."""
    capsule = bits.__dlpack__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = pointer(capsule, b"dltensor")
    code = 8 + 4 + 4 + 4  # after data, device (type, id) and ndim
    ctypes.c_uint8.from_address(tensor + code).value = 4
    return capsule


def test_bfloat16_by_dlpack():
    class Tensor:
        def __init__(self, bits):
            self.bits = bits

        def __dlpack__(self, **options):
            return bfloat16_capsule(self.bits)

        def __dlpack_device__(self):
            return (1, 0)

    x = numpy.float32([[1, 2], [-3, 0.5], [4, 4], [1, 2]])
    bits = (x.view("uint32") >> 16).astype("uint16")
    found = quern.VectorSet(Tensor(bits))
    assert found.dtype == "bfloat16"
    expected = quern.VectorSet(x).search(x[:2], 4)
    assert (found.search(Tensor(bits[:2]), 4).ids == expected.ids).all()


@pytest.mark.parametrize("method", ["get", "cpu"])
def test_arrays_of_a_gpu_are_copied_by_their_own_method(method, caplog):
    x = numpy.eye(3, dtype="float32")

    class Gpu:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **options):
            raise BufferError("on a GPU")

    setattr(Gpu, method, lambda self: x)
    with caplog.at_level(logging.INFO, "quern"):
        found = quern.VectorSet(Gpu(), device="cpu")
    assert found.search(Gpu(), 1).ids.tolist() == [[0], [1], [2]]
    assert "array of a GPU was copied" in caplog.text
    delattr(Gpu, method)
    with pytest.raises(TypeError, match="in the memory of the host"):
        quern.VectorSet(Gpu(), device="cpu")


class OnGpu:
    """The description of an array of a GPU; its numbers are the host's, and nobody reads them."""

    def __init__(self, array, **changed):
        self.array = array
        self.streams = []
        self.__cuda_array_interface__ = {**array.__array_interface__, "version": 3, "stream": 77, **changed}


class OnGpuByDlpack(OnGpu):
    def __init__(self, array, old=False):
        super().__init__(array)
        self.old = old

    def __dlpack_device__(self):
        return (2, 3)

    def __dlpack__(self, *, stream=None, **options):
        if self.old and options:
            raise TypeError("unknown argument")
        self.streams.append(stream)
        capsule = self.array.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        device = (ctypes.c_int32 * 2).from_address(pointer(capsule, b"dltensor") + 8)
        device[0], device[1] = 2, 3
        return capsule


def described(array) -> dict:
    return quern._quern._device_array(array)


def test_descriptions_of_arrays_of_a_gpu():
    x = numpy.arange(12, dtype="float32").reshape(4, 3)
    assert described(x) == {}
    found = described(OnGpu(x))
    assert found["address"] == x.ctypes.data and found["type"] == "float32" and found["shape"] == "(4, 3)"
    assert found["rows_in_order"] and found["after"] == "stream" and found["stream"] == 77
    assert described(OnGpu(x, stream=None))["after"] == "complete"
    assert described(OnGpu(x, stream=2))["after"] == "device"  # of this thread
    assert described(OnGpu(x, version=2))["after"] == "device"
    assert not described(OnGpu(x[:, :2]))["rows_in_order"]
    assert not described(OnGpu(numpy.asfortranarray(x)))["rows_in_order"]
    assert described(OnGpu(x.astype("int8")))["type"] == "int8"
    for changed in ({"mask": 1}, {"stream": 0}, {"typestr": "|O8"}, {"strides": (4,)}, {"data": (0, False)}):
        with pytest.raises(TypeError, match="^x: expected"):
            described(OnGpu(x, **changed))


@pytest.mark.parametrize("old", [False, True])
def test_dlpack_of_a_gpu_makes_the_default_stream_wait(old):
    x = numpy.arange(12, dtype="float16").reshape(4, 3)
    given = OnGpuByDlpack(x, old)
    found = described(given)
    assert given.streams == [1]
    assert found["address"] == x.ctypes.data and found["type"] == "float16" and found["device"] == 3
    assert found["after"] == "stream" and found["stream"] == 1 and found["rows_in_order"]


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_the_array_is_kept_and_not_copied(device):
    """A set adds no more than a tenth of its array to the resident memory; on a GPU, the pinned memory of transfers, whose
    size is fixed, comes to it."""
    staging = 0 if device == "cpu" else 64 << 20  # docs/places.md

    def resident() -> int:
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * 4096

    x = numpy.random.default_rng(1).standard_normal((400_000, 100), dtype="float32")  # 160 MB
    small = quern.VectorSet(x[:1000], device=device)
    small.search(x[0], 10)
    before = resident()
    found = quern.VectorSet(x, device=device)
    distances, ids = found.search(x[5], 10)
    assert resident() - before < x.nbytes / 10 + (staging if found.record["place"].startswith("cuda") else 0)
    assert ids[0] == 5
    del x
    gc.collect()
    assert found.search(numpy.zeros(100, "float32"), 3).ids.shape == (3,)


def test_memory_map(tmp_path):
    x = numpy.random.default_rng(1).integers(-9, 9, (500, 8)).astype("int16")
    numpy.save(tmp_path / "x.npy", x)
    expected = quern.VectorSet(x).search(x[:9], 7)
    for given_array in (numpy.load(tmp_path / "x.npy", mmap_mode="r"), tmp_path / "x.npy", str(tmp_path / "x.npy")):
        found = quern.VectorSet(given_array)
        assert (found.search(x[:9], 7).ids == expected.ids).all()
        assert found.search(tmp_path / "x.npy", 1).ids.tolist() == quern.VectorSet(x).search(x, 1).ids.tolist()


# ---- Errors ----


@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
        (numpy.zeros((2, 2), ">f4"), TypeError, "little-endian"),
        (numpy.zeros((2, 2), "c8"), TypeError, "numbers of"),
        (numpy.zeros((2, 2), "int32"), TypeError, "astype"),
        (numpy.zeros((2, 2), "U3"), TypeError, "numbers of"),
        (numpy.zeros((2, 2), "O"), TypeError, "numbers of"),
        (numpy.zeros((2, 2, 2), "f4"), TypeError, "shape"),
        (numpy.zeros(3, "f4"), TypeError, "one dimension"),
        (numpy.float32(3), TypeError, "shape"),
        (numpy.zeros((3, 0), "f4"), quern.UsageError, "no dimensions"),
        ([[1.0]], TypeError, "got list"),
        (None, TypeError, "got NoneType"),
        (7, TypeError, "got int"),
        (numpy.ma.masked_array(numpy.zeros((2, 2), "f4")), TypeError, "mask"),
        (numpy.float32([[1, 2], [numpy.nan, 0]]), quern.InvalidInput, "row 1"),
        (numpy.float64([[1, 2], [0, numpy.inf]]), quern.InvalidInput, "row 1"),
        ("no/such/file.npy", quern.UsageError, "no such file"),
    ],
    ids=str,
)
def test_refused_vectors(x, error, words):
    with pytest.raises(error, match=words):
        quern.VectorSet(x)


def test_refused_searches():
    found = quern.VectorSet(numpy.zeros((4, 3), "f4"))
    zeros = numpy.zeros((1, 3), "f4")
    for queries, options, error, words in [
        (zeros.astype("f8"), {}, TypeError, "float32 as the vectors"),
        (zeros[:, :2], {}, quern.UsageError, "expected 3"),
        (zeros + numpy.nan, {}, quern.InvalidInput, "query 0"),
        (zeros, {"k": 0}, quern.UsageError, "k: invalid value"),
        (zeros, {"k": -1}, quern.UsageError, "k: invalid value"),
        (zeros, {"k": 2.5}, quern.UsageError, "k: invalid value"),
        (zeros, {"k": 10**13}, quern.OutOfMemory, "rankings"),
        (zeros, {"radius": float("nan")}, quern.UsageError, "radius"),
        (zeros, {"radius": "2"}, quern.UsageError, r"radius: invalid value '2' \(expected a number"),
        (zeros, {"allow": [4]}, quern.UsageError, "4 vectors"),
        (zeros, {"allow": [-1]}, quern.UsageError, "negative"),
        (zeros, {"allow": [0.5]}, TypeError, "whole numbers"),
        (zeros, {"allow": numpy.ones(3, bool)}, quern.UsageError, "mask of 3"),
        (zeros, {"allow": numpy.ones((2, 2), bool)}, TypeError, "one dimension"),
    ]:
        with pytest.raises(error, match=words):
            found.search(queries, **options)
    assert found.search(zeros).ids.tolist() == [[0, 1, 2, 3] + [-1] * 6]
    with pytest.raises(TypeError, match="did you mean metric"):
        quern.VectorSet(zeros, metrik="l2")
    with pytest.raises(quern.UsageError, match="expected one of l2"):
        quern.VectorSet(zeros, metric="euclid")
    with pytest.raises(quern.UsageError, match="hamming"):
        quern.VectorSet(zeros, metric="hamming")


def test_none():
    empty = quern.VectorSet(numpy.zeros((0, 3), "f4"))
    one = numpy.zeros((1, 3), "f4")
    assert empty.search(one, 2).ids.tolist() == [[-1, -1]]
    assert empty.search(one, None).ids.shape == (1, 0)
    found = quern.VectorSet(one)
    assert found.search(numpy.zeros((0, 3), "f4"), 4).ids.shape == (0, 4)
    assert found.range_search(numpy.zeros((0, 3), "f4"), 1.0).lims.tolist() == [0]
    assert found.search(one, allow=[]).ids.tolist() == [[-1] * 10]


# ---- Searches ----


def test_one_vector():
    x = numpy.eye(4, dtype="float32")
    found = quern.VectorSet(x)
    distances, ids = found.search(x[2], 3)
    assert distances.shape == ids.shape == (3,) and ids.tolist() == [2, 0, 1]
    assert found.search(x[2], None).ids.shape == (4,)
    assert distances.flags.writeable


@settings(max_examples=settings.default.max_examples // 5, deadline=None)
@given(st.integers(1, 200), st.integers(0, 2**32), st.sampled_from(["l2", "ip", "cosine", "l1"]))
def test_allowed_and_radius(rows, seed, metric):
    random = numpy.random.default_rng(seed)
    x, q = (random.integers(-4, 5, (n, 3)).astype("float32") for n in (rows, 3))
    found = quern.VectorSet(x, metric=metric, threads=1)
    mask = random.random(rows) < 0.5
    whole = found.search(q, None)
    radius = float(numpy.median(whole.distances))
    if metric == "cosine":  # reported with fewer bits than compared
        radius = float(numpy.nextafter(numpy.float32(radius), numpy.float32(2)))
    by_mask, by_ids = (found.search(q, None, allow=a, radius=radius) for a in (mask, numpy.flatnonzero(mask)))
    lims, distances, ids = found.range_search(q, radius, allow=mask)
    assert lims.dtype == ids.dtype == numpy.int64
    for query in range(3):
        within = whole.distances[query] >= radius if metric == "ip" else whole.distances[query] <= radius
        kept = [int(i) for i, near in zip(whole.ids[query], within) if near and mask[i]]
        assert [i for i in by_mask.ids[query] if i >= 0] == [i for i in by_ids.ids[query] if i >= 0] == kept
        assert ids[lims[query] : lims[query + 1]].tolist() == kept


def test_equal_to_the_program(tmp_path, command):
    random = numpy.random.default_rng(3)
    kinds = [("float32", "l2"), ("float32", "ip"), ("float64", "cosine"), ("int8", "sql2"), ("uint8", "l2")]
    for dtype, metric in kinds:
        x, q = (random.integers(0, 120, (n, 6)).astype(dtype) for n in (80, 9))
        numpy.save(tmp_path / "x.npy", x)
        numpy.save(tmp_path / "q.npy", q)
        files = ("nearest", tmp_path / "x.npy", "--queries", tmp_path / "q.npy", "--metric", metric)
        found = quern.VectorSet(x, metric=metric)
        radius = float(numpy.median(found.search(q, None).distances))
        for options, result in [
            (("-k", 7), found.search(q, 7)),
            (("-k", "all"), found.search(q, "all")),
            (("-k", 100), found.search(q, 100)),
            (("--radius", radius), found.range_search(q, radius)),
        ]:
            written = command(*files, *options, "--format", "tsv")
            assert result.fingerprint == xxhash.xxh3_64_hexdigest(written)


def test_record():
    x = numpy.random.default_rng(1).standard_normal((500, 4), dtype="float32")
    found = quern.VectorSet(x, device="cpu")
    found.search(x[:2])
    assert found.record["place"].startswith("cpu") and found.record["distances"] >= 1000
    assert repr(found) == "VectorSet(500 vectors of 4 float32, metric='l2')"
    assert len(found) == 500 and found.names == []


def test_words(tmp_path):
    (tmp_path / "w.txt").write_text("red 1 0\ngreen 0 1\nblue 1 1\n")
    assert quern.VectorSet(tmp_path / "w.txt").names == ["red", "green", "blue"]


def test_ctrl_c_and_afterwards(interrupt):
    x = numpy.random.default_rng(1).standard_normal((200_000, 96), dtype="float32")
    found = quern.VectorSet(x)
    expected = found.search(x[:3], 4)
    interrupt(0.3)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        found.search(x, 50)
    assert time.monotonic() - began < 0.3 + 0.5
    again = found.search(x[:3], 4)
    assert (again.ids == expected.ids).all()


def test_ctrl_c_while_another_thread_searches(interrupt):
    x = numpy.random.default_rng(1).standard_normal((200_000, 96), dtype="float32")
    found = quern.VectorSet(x, device="cpu")
    ended = threading.Event()

    def search_on() -> None:
        while not ended.is_set():
            found.search(x[:2_000], 5)

    other = threading.Thread(target=search_on)
    other.start()
    time.sleep(0.2)
    interrupt(0.2)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        found.search(x[:40_000], 5)
    assert time.monotonic() - began < 0.2 + 0.5
    ended.set()
    other.join()


def test_threads_search_one_set():
    x = numpy.random.default_rng(1).standard_normal((5000, 16), dtype="float32")
    found = quern.VectorSet(x)
    expected = found.search(x[:40], 5).ids
    wrong: list[int] = []

    def work(first: int) -> None:
        for query in range(first, 40, 4):
            if (found.search(x[query], 5).ids != expected[query]).any():
                wrong.append(query)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def search_in_child(found: "quern.VectorSet", queries: numpy.ndarray, connection) -> None:
    connection.send(found.search(queries, 3).ids.tolist())


def test_fork():
    x = numpy.random.default_rng(1).standard_normal((500, 8), dtype="float32")
    found = quern.VectorSet(x, device="cpu")  # CUDA does not survive a fork
    expected = found.search(x[:4], 3).ids.tolist()
    ours, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=search_in_child, args=(found, x[:4], theirs))
    child.start()
    assert ours.poll(30) and ours.recv() == expected
    child.join()


def test_pickle(tmp_path):
    x = numpy.random.default_rng(1).integers(0, 9, (300, 8)).astype("float32")
    found = quern.VectorSet(x, metric="l1", threads=1)
    expected = found.search(x[:4], 3)
    buffers: list[pickle.PickleBuffer] = []
    text = pickle.dumps(found, 5, buffer_callback=buffers.append)
    assert len(text) < 1000 and sum(b.raw().nbytes for b in buffers) == x.nbytes
    for again in (pickle.loads(text, buffers=buffers), pickle.loads(pickle.dumps(found))):
        assert again.metric == "l1" and (again.search(x[:4], 3).ids == expected.ids).all()
    result = pickle.loads(pickle.dumps(expected))
    assert result.fingerprint == expected.fingerprint and (result.ids == expected.ids).all()

    numpy.save(tmp_path / "x.npy", x)
    text = pickle.dumps(quern.VectorSet(tmp_path / "x.npy"))
    assert len(text) < 1000
    assert (pickle.loads(text).search(x[:4], 3).ids == quern.VectorSet(x).search(x[:4], 3).ids).all()
    numpy.save(tmp_path / "x.npy", x + 1)
    with pytest.raises(quern.InvalidInput, match="have changed"):
        pickle.loads(text)


def test_progress():
    x = numpy.random.default_rng(1).standard_normal((20_000, 64), dtype="float32")
    seen: list[str] = []
    found = quern.VectorSet(x, progress=lambda stage, done, total, unit: seen.append(unit))
    found.search(x[:2000], 5)
    assert "queries" in seen


def test_no_search_within_a_search():
    x = numpy.random.default_rng(1).standard_normal((20_000, 64), dtype="float32")
    found: list[quern.VectorSet] = []

    def listener(stage, done, total, unit):
        if found:
            found[0].search(x[0])

    found.append(quern.VectorSet(x, progress=listener))
    with pytest.raises(quern.UsageError, match="progress listener"):
        found[0].search(x[:2000], 5)


# ---- The estimator ----


@settings(max_examples=settings.default.max_examples // 5, deadline=None)
@given(st.integers(2, 30), st.integers(0, 2**32), st.sampled_from(["euclidean", "manhattan", "chebyshev"]))
def test_estimator(rows, seed, metric):
    from scipy.spatial.distance import cdist

    random = numpy.random.default_rng(seed)
    x, q = (random.integers(-3, 4, (n, 2)).astype("float64") for n in (rows, 4))
    k = int(random.integers(1, rows))
    names = {"manhattan": "cityblock"}
    table = cdist(q, x, names.get(metric, metric))
    neighbors = quern.NearestNeighbors(n_neighbors=k, metric=metric, n_jobs=1).fit(x)
    distances, ids = neighbors.kneighbors(q)
    assert (ids == numpy.argsort(table, 1, kind="stable")[:, :k]).all()
    numpy.testing.assert_allclose(distances, numpy.sort(table, 1)[:, :k], rtol=1e-9)
    own = cdist(x, x, names.get(metric, metric))
    numpy.fill_diagonal(own, numpy.inf)
    itself = neighbors.kneighbors(n_neighbors=k)
    numpy.testing.assert_allclose(itself[0], numpy.sort(own, 1)[:, :k], rtol=1e-9)
    assert (itself[1] != numpy.arange(rows)[:, None]).all()
    graph = neighbors.kneighbors_graph(q, mode="distance")
    assert graph.shape == (4, rows) and graph.nnz == 4 * k
    within = neighbors.radius_neighbors(q, radius=2.0)
    for query in range(4):
        assert set(within[1][query]) == set(numpy.flatnonzero(table[query] <= 2.0))
    assert neighbors.radius_neighbors_graph(q, 2.0).sum() == (table <= 2).sum()


def test_estimator_conventions():
    neighbors = quern.NearestNeighbors(n_neighbors=2, metric="cosine")
    assert neighbors.get_params() == {
        "n_neighbors": 2,
        "radius": 1.0,
        "metric": "cosine",
        "method": "auto",
        "n_jobs": None,
    }
    assert neighbors.set_params(radius=2.0) is neighbors
    with pytest.raises(ValueError, match="invalid parameter 'k'"):
        neighbors.set_params(k=3)
    with pytest.raises(ValueError, match="not fitted"):
        neighbors.kneighbors([[1.0]])
    assert repr(neighbors) == "NearestNeighbors(n_neighbors=2, radius=2.0, metric='cosine')"
    with pytest.raises(ValueError, match="1D array"):
        neighbors.fit([1.0, 2.0])
    with pytest.raises(ValueError, match="n_neighbors <= n_samples_fit"):
        neighbors.fit([[1.0], [2.0]]).kneighbors(n_neighbors=2)
    with pytest.raises(ValueError, match="does not hold"):
        quern.NearestNeighbors().fit(numpy.zeros((9, 1), "uint8")).kneighbors([[0.5]])
    again = pickle.loads(pickle.dumps(neighbors))
    assert again.kneighbors([[1.0]], 1)[1].tolist() == [[0]]
    of_set = quern.VectorSet(numpy.eye(3)).as_sklearn()
    assert of_set.kneighbors([[0, 1, 0]], 1, return_distance=False).tolist() == [[1]]


def test_a_shape_beyond_memory_is_refused() -> None:
    few = numpy.zeros(4, dtype="float32")

    class Described:
        def __init__(self, *shape: int) -> None:
            self.__array_interface__ = {
                "shape": shape,
                "typestr": "<f4",
                "data": (few.ctypes.data, True),
                "strides": (0, 4),
                "version": 3,
            }

    for shape in ((2**31, 2**31), (2**61, 4)):
        with pytest.raises(quern.UsageError, match="cannot have the shape"):
            quern.VectorSet(Described(*shape))
    assert quern.VectorSet(Described(3, 4)).shape == (3, 4)
