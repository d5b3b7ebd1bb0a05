# SPDX-License-Identifier: Apache-2.0
"""page_rank.py PEER FILE: reads a list of links, two integers a line, and ranks its nodes with α = 0.85 up to an L1
change of 1e-5, with PEER (igraph, graphblas, networkx, scipy); prints one JSON object: seconds to read, to rank,
iterations if the peer reports them, and the best node."""

import json
import sys
import time


def text_columns(path):
    """numpy's fastest reader of two columns."""
    import numpy

    return numpy.loadtxt(path, dtype=numpy.int64, comments=None)


def igraph(path):
    import igraph as library

    graph = library.Graph.Read_Edgelist(path, directed=True)
    yield
    ranks = graph.pagerank(damping=0.85)  # PRPACK; it has no tolerance to set
    yield None, max(range(len(ranks)), key=ranks.__getitem__)


def networkx(path):
    import networkx as library

    graph = library.read_edgelist(path, create_using=library.MultiDiGraph, nodetype=int)
    yield
    ranks = library.pagerank(graph, alpha=0.85, tol=1e-5 / len(graph), max_iter=1000)  # it stops at n times tol
    yield None, max(ranks, key=ranks.get)


def scipy(path):
    import numpy
    import scipy.sparse

    links = text_columns(path)
    n = int(links.max()) + 1
    out = numpy.bincount(links[:, 0], minlength=n)
    matrix = scipy.sparse.csr_array((1.0 / out[links[:, 0]], (links[:, 1], links[:, 0])), shape=(n, n))
    yield
    ranks, dangling = numpy.full(n, 1 / n), out == 0
    for iteration in range(1, 1001):
        following = 0.85 * (matrix @ ranks + ranks[dangling].sum() / n) + 0.15 / n
        change = numpy.abs(following - ranks).sum()
        ranks = following
        if change < 1e-5:
            break
    yield iteration, int(ranks.argmax())


def graphblas(path):
    import graphblas as library
    import numpy

    library.init("suitesparse")
    links = text_columns(path)
    n = int(links.max()) + 1
    matrix = library.Matrix.from_coo(links[:, 1], links[:, 0], 1.0, nrows=n, ncols=n, dtype="FP64")
    yield
    # As LAGraph's: contributions are divided by the degree first, then added along a plus_second semiring.
    out = numpy.bincount(links[:, 0], minlength=n)
    degree = library.Vector.from_dense(numpy.where(out > 0, out, 1).astype(float))
    ranks, dangling = numpy.full(n, 1 / n), out == 0
    for iteration in range(1, 1001):
        sent = library.Vector.from_dense(ranks).ewise_mult(degree, "truediv").new()
        product = library.Vector("FP64", n)
        product << 0.0
        product(accum="plus") << matrix.mxv(sent, "plus_second")
        following = 0.85 * (product.to_dense() + ranks[dangling].sum() / n) + 0.15 / n
        change = numpy.abs(following - ranks).sum()
        ranks = following
        if change < 1e-5:
            break
    yield iteration, int(ranks.argmax())


def main():
    peer, path = sys.argv[1:]
    work = globals()[peer](path)
    begin = time.monotonic()
    next(work)
    read = time.monotonic()
    iterations, best = next(work)
    print(json.dumps({"read": read - begin, "rank": time.monotonic() - read, "iterations": iterations, "best": best}))


main()
