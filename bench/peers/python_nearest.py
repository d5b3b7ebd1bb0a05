# SPDX-License-Identifier: Apache-2.0
"""python_nearest.py ROWS DIMENSIONS THREADS ROUNDS: quern.VectorSet and FAISS's flat indexes on the same array and queries, in turns, for
bench/run-python. Prints JSON."""

import importlib.metadata
import json
import statistics
import sys
import time

import numpy
import quern

K, SINGLES, BATCH = 10, 50, 256


def clustered(rows, dimensions):
    """Vectors of length 1 around 256 centres, and queries like them."""
    chance = numpy.random.default_rng(20261)
    centres = chance.standard_normal((256, dimensions), dtype=numpy.float32)
    vectors = centres[chance.integers(0, 256, rows + BATCH)]
    vectors += 0.6 * chance.standard_normal((rows + BATCH, dimensions), dtype=numpy.float32)
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    return numpy.ascontiguousarray(vectors[:rows]), numpy.ascontiguousarray(vectors[rows:])


def uniform(rows, dimensions):
    chance = numpy.random.default_rng(20262)
    return (chance.random((rows, dimensions), dtype=numpy.float32), chance.random((BATCH, dimensions), dtype=numpy.float32))


KINDS = {"clusters": clustered, "uniform": uniform}


def exact_ids(vectors, queries, metric):
    """By sums in double, ties by id: products choose 64 candidates, of which sums of differences or products decide."""
    wide, asked = vectors.astype(numpy.float64), queries.astype(numpy.float64)
    rough = -(asked @ wide.T)
    if metric != "ip":
        rough = 2 * rough + (wide ** 2).sum(axis=1)
    found = []
    for query, row in zip(asked, rough):
        candidates = numpy.sort(numpy.argpartition(row, 64)[:64])
        near = wide[candidates]
        keys = -(near * query).sum(axis=1) if metric == "ip" else ((near - query) ** 2).sum(axis=1)
        found.append(candidates[numpy.lexsort((candidates, keys))[:K]])
    return numpy.array(found)


def main():
    rows, dimensions, threads, rounds = map(int, sys.argv[1:])
    try:
        import faiss

        faiss.omp_set_num_threads(threads)
        usual = faiss.cvar.distance_compute_blas_threshold
    except ImportError:
        faiss = None
    found = []
    for kind, metric, index_name in (("clusters", "sql2", "IndexFlatL2"), ("clusters", "ip", "IndexFlatIP"), ("uniform", "sql2", "IndexFlatL2")):
        vectors, queries = KINDS[kind](rows, dimensions)
        ours = quern.VectorSet(vectors, metric=metric, threads=threads, device="cpu", progress=False)
        engines = {"quern": ours.search}
        if faiss:
            index = getattr(faiss, index_name)(dimensions)
            index.add(vectors)

            def by_products(asked, k, index=index):
                faiss.cvar.distance_compute_blas_threshold = 20
                answer = index.search(asked, k)
                faiss.cvar.distance_compute_blas_threshold = usual
                return answer

            engines |= {"faiss": index.search, "products": by_products}
        parts = {"single": [queries[i:i + 1] for i in range(SINGLES)], "batch": [queries]}
        times = {"single": {}, "batch": {}}
        for turn in range(rounds + 1):
            for way, asked in parts.items():
                for name, search in engines.items():
                    if name == "products" and way == "single":
                        continue
                    time.sleep(0.02)  # until the threads of the other stop spinning
                    taken = []
                    for part in asked:
                        begin = time.perf_counter()
                        search(part, K)
                        taken.append((time.perf_counter() - begin) / len(part))
                    if turn > 0:
                        times[way].setdefault(name, []).append(statistics.median(taken))
        truth = exact_ids(vectors, queries, metric)
        same = {}
        for way, asked in parts.items():
            for name in times[way]:
                ids = numpy.concatenate([engines[name](part, K)[1] for part in asked])
                same.setdefault(way, {})[name] = int((ids == truth[:len(ids)]).all(axis=1).sum())
        found.append({"kind": kind, "index": index_name, "times": times, "same": same})
        print(f"  {threads} threads, {kind}, {metric}: {same}", file=sys.stderr, flush=True)
    print(json.dumps({"version": importlib.metadata.version("faiss-cpu") if faiss else None, "rows": rows, "dimensions": dimensions,
                      "threads": threads, "found": found, "k": K, "singles": SINGLES, "batch": BATCH}))


main()
