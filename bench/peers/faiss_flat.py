# SPDX-License-Identifier: Apache-2.0
"""faiss_flat.py BASE.fbin QUERIES.fbin THREADS: FAISS's exact search (IndexFlatL2), for bench/run-nearest, which asks it
in turn with the others (retrieval.py has the questions). A single query it computes with one thread; queries in batches
of 20 and more it multiplies with a BLAS."""

import sys
import time

import faiss
import numpy


def read(path):
    rows, dimensions = numpy.fromfile(path, dtype=numpy.uint32, count=2)
    return numpy.fromfile(path, dtype=numpy.float32, offset=8).reshape(rows, dimensions)


def main():
    queries = read(sys.argv[2])
    faiss.omp_set_num_threads(int(sys.argv[3]))
    base = read(sys.argv[1])
    index = faiss.IndexFlatL2(base.shape[1])
    index.add(base)
    del base
    print("ready", flush=True)
    for line in sys.stdin:
        _, first, count, k, *path = line.split()
        asked = queries[int(first):int(first) + int(count)]
        begin = time.perf_counter()
        distances, ids = index.search(asked, int(k))
        taken = time.perf_counter() - begin
        if path:
            with open(path[0], "wb") as out:
                ids.astype(numpy.uint32).tofile(out)
                distances.astype(numpy.float64).tofile(out)
        print(f"{1000 * taken:.4f}", flush=True)


main()
