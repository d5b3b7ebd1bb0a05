# SPDX-License-Identifier: Apache-2.0
"""spmv_scipy.py FILE.mtx: scipy's product of a matrix with a vector of ones, in float and in double, one thread (scipy's
maximum). Prints one JSON object: median seconds of each."""

import json
import statistics
import sys
import time

import numpy
import scipy.io
import scipy.sparse


def main():
    matrix = scipy.sparse.csr_array(scipy.io.mmread(sys.argv[1]))
    found = {}
    for name, kind in (("f32", numpy.float32), ("f64", numpy.float64)):
        converted, ones = matrix.astype(kind), numpy.ones(matrix.shape[1], dtype=kind)
        times = []
        for _ in range(20):
            begin = time.perf_counter()
            converted @ ones
            times.append(time.perf_counter() - begin)
        found[name] = statistics.median(times)
    print(json.dumps(found))


main()
