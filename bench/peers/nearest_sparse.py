# SPDX-License-Identifier: Apache-2.0
"""nearest_sparse.py DIMENSIONS ENTRIES QUERY_ENTRIES ROUNDS: inner products of 100,000 sparse rows like those of
nearest_sparse_bench with 1, 16 and 128 queries, by scipy's product of CSR matrices, made dense, in float on one thread. Prints
queries TAB median processor seconds."""

import statistics
import sys
import time

import numpy
import scipy
import scipy.sparse


def rows(count, dimensions, entries, seed):
    draw = numpy.random.default_rng(seed)
    lengths = (entries * (0.5 + draw.random(count))).astype(numpy.int64)
    columns = (draw.random(lengths.sum()) ** 4 * dimensions).astype(numpy.int64)
    own = numpy.unique(numpy.repeat(numpy.arange(count), lengths) * dimensions + columns)
    values = (0.1 + draw.random(len(own))).astype(numpy.float32)
    return scipy.sparse.csr_array((values, (own // dimensions, own % dimensions)), shape=(count, dimensions))


def main():
    dimensions, entries, query_entries, rounds = map(int, sys.argv[1:])
    matrix = rows(100_000, dimensions, entries, 1)
    for queries in (1, 16, 128):
        requested = rows(queries, dimensions, query_entries, 2).T.tocsr()
        times = []
        for _ in range(rounds):
            begin = time.process_time()
            (matrix @ requested).toarray()
            times.append(time.process_time() - begin)
        print(f"{queries}\t{statistics.median(times):.6f}\t{scipy.__version__}", flush=True)


main()
