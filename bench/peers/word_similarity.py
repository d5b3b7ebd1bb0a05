# SPDX-License-Identifier: Apache-2.0
"""The 20 most similar words of every word with sparse_dot_topn and scipy, on a matrix that stands in files.

    word_similarity.py PREFIX THREADS [PEER…]

Prints: peer, measure, threads, rows done, milliseconds for all rows. Peers multiply; what the measure adds to the
product is prepared before and not counted. lin: M = A [A > 0]ᵀ, whose entries' sums M + Mᵀ the peers leave to their
caller: it is counted as one product all the same. scipy has one thread and no top n; its product of all rows does not
fit memory, so some rows are done and the time is scaled to all.
"""

import sys
import time

import numpy
import scipy.sparse


def read(prefix):
    offsets = numpy.fromfile(prefix + ".offsets", dtype=numpy.uint64).astype(numpy.int64)
    columns = numpy.fromfile(prefix + ".columns", dtype=numpy.uint32).astype(numpy.int64)
    weights = numpy.fromfile(prefix + ".weights", dtype=numpy.float32)
    shape = (len(offsets) - 1, int(columns.max()) + 1)
    return scipy.sparse.csr_matrix((weights, columns, offsets), shape=shape)


def factors(matrix, measure):
    if measure == "lin":
        ones = matrix.copy()
        ones.data[:] = 1
        return matrix, ones.T.tocsr()
    norms = numpy.sqrt(matrix.multiply(matrix).sum(axis=1)).A1
    norms[norms == 0] = 1
    unit = scipy.sparse.diags(1 / norms).astype(numpy.float32) @ matrix
    return unit, unit.T.tocsr()


def with_sparse_dot_topn(left, right, threads):
    from sparse_dot_topn import sp_matmul_topn

    start = time.perf_counter()
    sp_matmul_topn(left, right, top_n=20, n_threads=threads, sort=True)
    return left.shape[0], time.perf_counter() - start


def with_scipy(left, right, _):
    # Every 64th row: rows of all lengths, in the proportion of the whole.
    part = left[::64]
    start = time.perf_counter()
    for begin in range(0, part.shape[0], 256):
        product = part[begin:begin + 256] @ right
        for row in range(product.shape[0]):
            scores = product.data[product.indptr[row]:product.indptr[row + 1]]
            if len(scores) > 20:
                numpy.argpartition(scores, -20)
    return part.shape[0], (time.perf_counter() - start) * left.shape[0] / part.shape[0]


def main():
    prefix, threads = sys.argv[1], int(sys.argv[2])
    peers = {"sparse_dot_topn": with_sparse_dot_topn, "scipy": with_scipy}
    wanted = sys.argv[3:] or list(peers)
    matrix = read(prefix)
    for measure in ("lin", "cosine"):
        left, right = factors(matrix, measure)
        for peer in wanted:
            rows, seconds = peers[peer](left, right, threads)
            print(peer, measure, threads if peer != "scipy" else 1, rows, f"{1000 * seconds:.1f}", sep="\t", flush=True)


main()
