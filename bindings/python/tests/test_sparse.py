# SPDX-License-Identifier: Apache-2.0
"""Products of sparse matrices, against exact sums and the program."""

import fractions
import math
import pickle
import threading

import numpy
import pytest
import quern
import scipy.io
import scipy.sparse
import xxhash
from hypothesis import given
from hypothesis import strategies as st

EXACT = ["auto", "coo", "csr", "ell", "brcp"]


def rounded(sum_of: fractions.Fraction, dtype: str) -> float:
    """The nearest number of the type, ties to even."""
    if dtype == "float64":
        return float(sum_of)
    near = numpy.float32(float(sum_of))
    around = [numpy.nextafter(near, numpy.float32(-numpy.inf)), near, numpy.nextafter(near, numpy.float32(numpy.inf))]
    return float(min(around, key=lambda y: (abs(fractions.Fraction(float(y)) - sum_of), y.view("uint32") & 1)))


@given(
    st.integers(1, 8), st.integers(1, 8), st.integers(0, 40), st.sampled_from(["float64", "float32"]),
    st.sampled_from(EXACT), st.integers(0, 2**32),
)
def test_products_are_exact_sums_rounded_once(rows, columns, entries, dtype, storage, seed):
    random = numpy.random.default_rng(seed)
    row, column = random.integers(0, rows, entries), random.integers(0, columns, entries)
    value = (random.standard_normal(entries) * 2.0 ** random.integers(-30, 30, entries)).astype(dtype)
    x = (random.standard_normal(columns) * 2.0 ** random.integers(-30, 30, columns)).astype(dtype)
    matrix = quern.SparseMatrix((row, column, value), shape=(rows, columns))
    try:
        y = matrix.multiply(x, storage=storage, threads=1).y
    except quern.UsageError as refused:
        assert storage == "ell" and "padding" in str(refused)
        return
    assert y.dtype == dtype
    for i in range(rows):
        exact = sum(
            (
                fractions.Fraction(float(v)) * fractions.Fraction(float(x[c]))
                for r, c, v in zip(row, column, value)
                if r == i
            ),
            fractions.Fraction(),
        )
        assert y[i] == rounded(exact, dtype)


@pytest.fixture
def matrix():
    return scipy.sparse.random(200, 300, 0.05, format="csr", random_state=1)


@pytest.fixture
def x():
    return numpy.random.default_rng(0).standard_normal(300)


def test_every_input_gives_the_same(matrix, x, tmp_path):
    scipy.io.mmwrite(tmp_path / "m.mtx", matrix, precision=17)
    expected = quern.SparseMatrix(matrix).multiply(x)
    numpy.testing.assert_allclose(expected.y, matrix @ x, rtol=1e-12, atol=1e-14)
    coo = matrix.tocoo()
    wide = matrix.copy()
    wide.indices, wide.indptr = wide.indices.astype("int64"), wide.indptr.astype("int64")
    read_only = matrix.copy()
    read_only.data.flags.writeable = False
    backwards = matrix.copy()
    backwards.data = matrix.data[::-1].copy()[::-1]
    for other in [
        coo, matrix.tocsc(), matrix.tolil(), wide, read_only, backwards, scipy.sparse.csr_array(matrix),
        (coo.row, coo.col, coo.data), tmp_path / "m.mtx", str(tmp_path / "m.mtx"),
        quern.SparseMatrix(matrix).to_scipy(), pickle.loads(pickle.dumps(quern.SparseMatrix(matrix), 5)),
    ]:
        made = other if isinstance(other, quern.SparseMatrix) else quern.SparseMatrix(other, **(
            {"shape": (200, 300)} if isinstance(other, tuple) else {}))
        assert made.shape == (200, 300) and made.nnz == 3000 and made.dtype == "float64"
        assert made.multiply(x).fingerprint == expected.fingerprint
        assert (made @ x[::-1].copy()[::-1] == expected.y).all()


@pytest.mark.parametrize("storage", [*EXACT, "brc", "brcp-paper"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_storages(matrix, x, storage, dtype):
    m = quern.SparseMatrix(matrix.astype(dtype))
    found = m.multiply(x.astype(dtype), storage=storage, repeat=3)
    exact = m @ x.astype(dtype)
    numpy.testing.assert_allclose(found.y, exact, rtol=1e-4 if dtype == "float32" else 1e-10, atol=1e-6)
    if storage in EXACT:
        assert (found.y == exact).all()
    assert len(found.seconds) == 3 and found.bytes > 0
    assert storage == "auto" or found.storage == storage


def test_equal_to_the_program(matrix, x, tmp_path, command):
    scipy.io.mmwrite(tmp_path / "m.mtx", matrix, precision=17)
    (tmp_path / "x.txt").write_text("".join(f"{v!r}\n" for v in x.tolist()))
    m = quern.SparseMatrix(tmp_path / "m.mtx")
    written = command("spmv", tmp_path / "m.mtx", "--vector", tmp_path / "x.txt", "--format", "tsv")
    assert m.multiply(x).fingerprint == xxhash.xxh3_64_hexdigest(written)
    narrow = quern.SparseMatrix(matrix.astype("float32")).multiply(x.astype("float32"))
    options = ("--vector", tmp_path / "x.txt", "--precision", "f32", "--format", "tsv")
    written = command("spmv", tmp_path / "m.mtx", *options)
    assert narrow.fingerprint == xxhash.xxh3_64_hexdigest(written)


def test_infinite_values():
    values = numpy.array([1.0, math.nan, math.inf, -math.inf])
    m = quern.SparseMatrix((numpy.array([0, 1, 2, 2]), numpy.array([0, 1, 0, 1]), values))
    y = m @ numpy.array([math.inf, 1.0])
    assert y[0] == math.inf and math.isnan(y[1]) and math.isnan(y[2])


def test_empty():
    m = quern.SparseMatrix(scipy.sparse.csr_matrix((0, 4)))
    assert (m @ numpy.ones(4)).shape == (0,) and m.nnz == 0
    assert (quern.SparseMatrix(scipy.sparse.csr_matrix((4, 2))) @ numpy.ones(2)).tolist() == [0] * 4
    empty = numpy.empty(0, "int64")
    assert quern.SparseMatrix((empty, empty, numpy.empty(0))).shape == (0, 0)


def test_shares_memory(matrix):
    m = quern.SparseMatrix(matrix)
    assert numpy.shares_memory(m.data, matrix.data) and numpy.shares_memory(m.to_scipy().data, matrix.data)
    assert numpy.shares_memory(m.indices, matrix.indices) and not m.data.flags.writeable
    assert repr(m) == "SparseMatrix(200 x 300, 3,000 entries of float64)"


def raw(matrix, **changed):
    class Rows:
        shape, indptr, indices, data = matrix.shape, matrix.indptr, matrix.indices, matrix.data

    for name, value in changed.items():
        setattr(Rows, name, value)
    return Rows()


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda m: quern.SparseMatrix(3), TypeError, "expected a path"),
        (lambda m: quern.SparseMatrix(m.toarray()), TypeError, "expected a path"),
        (lambda m: quern.SparseMatrix(m.astype("int64")), TypeError, "float64 or float32"),
        (lambda m: quern.SparseMatrix(m.astype("complex128")), TypeError, "numbers of"),
        (lambda m: quern.SparseMatrix(raw(m, data=m.data.astype(">f8"))), TypeError, "little-endian"),
        (lambda m: quern.SparseMatrix(raw(m, indptr=m.indptr[:-1])), quern.UsageError, "indptr"),
        (lambda m: quern.SparseMatrix(raw(m, indptr=m.indptr[::-1])), quern.UsageError, "indptr"),
        (lambda m: quern.SparseMatrix(raw(m, indptr=m.indptr - 1)), quern.UsageError, "negative"),
        (lambda m: quern.SparseMatrix(raw(m, indices=m.indices[:-1])), quern.UsageError, "2999 indices"),
        (lambda m: quern.SparseMatrix(raw(m, indices=m.indices - 300)), quern.UsageError, "not a column below 300"),
        (lambda m: quern.SparseMatrix(raw(m, shape=(200, 3))), quern.UsageError, "not a column below 3"),
        (lambda m: quern.SparseMatrix(m, shape=(1, 1)), quern.UsageError, "shape"),
        (lambda m: quern.SparseMatrix((numpy.array([0]), numpy.array([9]), numpy.ones(1)), shape=(2, 2)),
         quern.UsageError, r"\(0, 9\), outside"),
        (lambda m: quern.SparseMatrix("no/such.mtx"), quern.UsageError, "no such file"),
        (lambda m: quern.SparseMatrix(m) @ numpy.ones(3), quern.UsageError, "300 columns"),
        (lambda m: quern.SparseMatrix(m) @ numpy.ones(300, "float32"), TypeError, "float64 as the matrix"),
        (lambda m: quern.SparseMatrix(m) @ numpy.ones((300, 1)), TypeError, "one dimension"),
        (lambda m: quern.SparseMatrix(m).multiply(numpy.ones(300), storage="dense"), quern.UsageError, "storage"),
        (lambda m: quern.SparseMatrix(m).multiply(numpy.ones(300), repeat=0), quern.UsageError, "repeat"),
    ],
)
def test_refused(matrix, make, error, words):
    with pytest.raises(error, match=words):
        make(matrix)


def test_errors_of_a_file(tmp_path):
    (tmp_path / "m.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n")
    with pytest.raises(quern.InvalidInput) as raised:
        quern.SparseMatrix(tmp_path / "m.mtx")
    assert raised.value.line == 3


# ---- What products keep ----


def test_a_matrix_is_converted_once(matrix):
    ours, x = quern.SparseMatrix(matrix), numpy.arange(300.0)
    assert ours.kept_bytes == 0
    first = ours.multiply(x, storage="csr")
    kept = ours.kept_bytes
    assert first.conversion_seconds > 0 and kept == first.bytes
    second = ours.multiply(x[::-1], storage="csr")
    assert second.conversion_seconds == 0 and ours.kept_bytes == kept
    assert (second.y == quern.SparseMatrix(matrix).multiply(x[::-1].copy(), storage="csr").y).all()
    assert ours.multiply(x, storage="coo").conversion_seconds > 0  # another format
    assert ours.multiply(x, storage="coo", threads=1).conversion_seconds > 0  # other resources
    assert ours.multiply(x, storage="coo", threads=1, repeat=3).conversion_seconds == 0
    ours.release()
    assert ours.kept_bytes == 0
    assert ours.multiply(x, storage="coo", threads=1).conversion_seconds > 0
    assert pickle.loads(pickle.dumps(ours)).kept_bytes == 0


def test_a_conversion_that_fails_leaves_nothing(matrix):
    wide = scipy.sparse.csr_array((numpy.ones(3000), (numpy.zeros(3000, int), numpy.arange(3000))), shape=(3000, 3000))
    ours, x = quern.SparseMatrix(wide), numpy.ones(3000)
    for _ in range(2):
        with pytest.raises(quern.UsageError, match="padding"):
            ours.multiply(x, storage="ell")
        assert ours.kept_bytes == 0
    assert (ours @ x)[0] == 3000


def test_threads_take_turns(matrix):
    ours = quern.SparseMatrix(matrix)
    vectors = numpy.random.default_rng(1).standard_normal((64, 300))
    expected = [ours @ x for x in vectors]
    found = [None] * len(vectors)

    def work(begin):
        for i in range(begin, len(vectors), 4):
            found[i] = ours.multiply(vectors[i], storage=EXACT[i % len(EXACT)]).y

    threads = [threading.Thread(target=work, args=(begin,)) for begin in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((y == e).all() for y, e in zip(found, expected))


def test_tensors_of_torch_by_rows(matrix):
    torch = pytest.importorskip("torch")
    tensor = torch.sparse_csr_tensor(matrix.indptr, matrix.indices, matrix.data, size=matrix.shape)
    ours = quern.SparseMatrix(tensor)
    assert ours.shape == (200, 300) and ours.nnz == matrix.nnz
    x = numpy.random.default_rng(2).standard_normal(300)
    assert (ours @ torch.from_numpy(x) == quern.SparseMatrix(matrix) @ x).all()
