# SPDX-License-Identifier: Apache-2.0
"""nearest_approximate.py SPACE QUERIES ROUNDS: quern.VectorSet and FAISS's flat, IVF and HNSW indexes on the vectors of a word space, for
bench/run-nearest-approximate. Prints JSON."""

import gc
import json
import math
import statistics
import sys
import time
from pathlib import Path

import faiss
import numpy
import quern

K = 100


def resident():
    """Bytes that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def data(path, count):
    vectors = numpy.array(quern.Thesaurus.open(path).vectors)
    vectors = vectors[numpy.linalg.norm(vectors, axis=1) > 0]
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    chosen = numpy.random.default_rng(1).permutation(len(vectors))
    return numpy.ascontiguousarray(vectors[chosen[count:]]), numpy.ascontiguousarray(vectors[chosen[:count]])


def true_ids(base, queries):
    """By sums in double, ties by id."""
    wide = base.astype(numpy.float64)
    lengths = (wide**2).sum(axis=1)
    found = []
    for query in queries.astype(numpy.float64):
        rough = lengths - 2 * (wide @ query)
        near = numpy.sort(numpy.argpartition(rough, 4 * K)[: 4 * K])
        keys = ((wide[near] - query) ** 2).sum(axis=1)
        found.append(near[numpy.lexsort((near, keys))[:K]])
    return numpy.array(found)


def engines(base):
    """(name, function that makes a search(queries, k) -> ids, what to set before a search)."""
    rows, dimensions = base.shape
    lists = int(4 * math.sqrt(rows))

    def ours():
        held = quern.VectorSet(base, metric="sql2", threads=1, device="cpu", progress=False)
        return held, lambda asked, k: held.search(asked, k=k).ids

    def flat():
        held = faiss.IndexFlatL2(dimensions)
        held.add(base)
        return held, lambda asked, k: held.search(asked, k)[1]

    def ivf():
        held = faiss.IndexIVFFlat(faiss.IndexFlatL2(dimensions), dimensions, lists)
        held.train(base)
        held.add(base)
        return held, lambda asked, k: held.search(asked, k)[1]

    def hnsw():
        held = faiss.IndexHNSWFlat(dimensions, 32)
        held.hnsw.efConstruction = 200
        held.add(base)
        return held, lambda asked, k: held.search(asked, k)[1]

    def probes(count):
        return lambda held: setattr(held, "nprobe", count)

    def beam(width):
        return lambda held: setattr(held.hnsw, "efSearch", width)

    yield "Quern `auto`, exact", ours, [("", lambda held: None)]
    yield "FAISS `IndexFlatL2`, exact", flat, [("", lambda held: None)]
    yield f"FAISS IVF, {lists:,} lists", ivf, [(f", {n} probed", probes(n)) for n in (1, 8, 64)]
    yield "FAISS HNSW, M = 32", hnsw, [(f", efSearch {n}", beam(n)) for n in (16, 128, 512)]


def main():
    path, count, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    faiss.omp_set_num_threads(1)
    base, queries = data(path, count)
    truth = true_ids(base, queries)
    found = {}
    for name, make, settings in engines(base):
        gc.collect()
        before, begin = resident(), time.process_time()
        held, search = make()
        built = time.process_time() - begin
        for setting, apply in settings:
            apply(held)
            search(queries[:20], K)
            single, batch = [], []
            for _ in range(rounds):
                begin = time.process_time()
                for i in range(200):
                    search(queries[i : i + 1], 10)
                single.append((time.process_time() - begin) / 200)
                begin = time.process_time()
                ids = search(queries, K)
                batch.append((time.process_time() - begin) / count)
            ids = numpy.asarray(ids).reshape(count, K)
            few = numpy.vstack([numpy.asarray(search(queries[i : i + 1], 10)).reshape(1, 10) for i in range(count)])
            found[name + setting] = {
                "recall10": sum(len(set(a) & set(b)) for a, b in zip(few, truth[:, :10])) / few.size,
                "recall100": sum(len(set(a) & set(b)) for a, b in zip(ids, truth)) / ids.size,
                "query_us": 1e6 * statistics.median(single),
                "batch_us": 1e6 * statistics.median(batch),
                "build_s": built,
                "memory_mb": (resident() - before) / 1e6,
            }
        del held, search
    print(json.dumps({"rows": len(base), "faiss": faiss.__version__, "engines": found}))


if __name__ == "__main__":
    main()
