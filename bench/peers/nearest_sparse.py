# SPDX-License-Identifier: Apache-2.0
"""nearest_sparse.py DIMENSIONS ENTRIES QUERY_ENTRIES ROUNDS: inner products of 100,000 sparse rows like those of
nearest_sparse_bench with 1, 16 and 128 queries, by scipy's product of CSR matrices, made dense, in float on one thread. Columns
are numbered anew before, since scipy has an array of all. Prints queries TAB median processor seconds TAB version."""

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
    return own // dimensions, own % dimensions, (0.1 + draw.random(len(own))).astype(numpy.float32)


def matrices(*sets):
    """Of (count, rows, columns, values), over the columns that occur."""
    used = numpy.unique(numpy.concatenate([columns for _, (_, columns, _) in sets]))
    return [scipy.sparse.csr_array((values, (numbers, numpy.searchsorted(used, columns))), shape=(count, len(used)))
            for count, (numbers, columns, values) in sets]


def main():
    dimensions, entries, query_entries, rounds = map(int, sys.argv[1:])
    whole = rows(100_000, dimensions, entries, 1)
    for queries in (1, 16, 128):
        matrix, requested = matrices((100_000, whole), (queries, rows(queries, dimensions, query_entries, 2)))
        requested = requested.T.tocsr()
        times = []
        for _ in range(rounds):
            begin = time.process_time()
            (matrix @ requested).toarray()
            times.append(time.process_time() - begin)
        print(f"{queries}\t{statistics.median(times):.6f}\t{scipy.__version__}", flush=True)


main()
