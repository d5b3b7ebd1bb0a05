# SPDX-License-Identifier: Apache-2.0
"""faiss_flat.py BASE.fbin QUERIES.fbin THREADS: FAISS's exact search (IndexFlatL2), for bench/run-nearest, which queries it
in turn with the others (input lines: see bench/nearest_bench.cpp). knn: the default, which multiplies matrices if queries
times dimensions are 128,000 (1.15); blas: from 20 queries on, like earlier versions."""

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
    usual = faiss.cvar.distance_compute_blas_threshold
    print("ready", flush=True)
    for line in sys.stdin:
        way, first, count, k, *path = line.split()
        faiss.cvar.distance_compute_blas_threshold = 20 if way == "blas" else usual
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
