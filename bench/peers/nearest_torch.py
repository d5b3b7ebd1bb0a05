# SPDX-License-Identifier: Apache-2.0
"""Nearest neighbours by PyTorch on the shapes of nearest_cuda_bench, with the same output lines. One query: squared distances by direct
differences if they fit memory (int16, uint8: in pieces, as float32), and also by |x|² − 2·x·q of float16; then a stable
sort of everything. Many queries: products of float16 matrices, piece by piece, and topk. Its ties are in any order, and
float16 products lose digits: only times are compared."""
import torch

REPEATS = 9


def seconds(call):
    for _ in range(2):
        call()
    torch.cuda.synchronize()
    each = []
    for _ in range(REPEATS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        each.append(begin.elapsed_time(end) / 1000)
    return sorted(each)[REPEATS // 2]


def vectors(kind, rows, dimensions):
    if kind == "float16":
        return torch.rand(rows, dimensions, device="cuda", dtype=torch.float16) * 2 - 1
    kinds = {"int16": (torch.int16, 4096), "uint8": (torch.uint8, 256)}
    return torch.randint(0, kinds[kind][1], (rows, dimensions), device="cuda", dtype=kinds[kind][0])


def line(what, kind, rows, dimensions, queries, who, *measured):
    print(what, kind, rows, dimensions, queries, who, 32, *(f"{s:.7f}" for s in measured), sep="\t", flush=True)


def by_differences(x, q):
    pieces = [((x[i:i + 500_000].float() - q.float()) ** 2).sum(1) for i in range(0, len(x), 500_000)]
    return torch.cat(pieces)


def one_query(name):
    for kind, dimensions in (("int16", 128), ("float16", 128), ("uint8", 256)):
        x = vectors(kind, 5_000_000, dimensions)
        q = x[12345].clone()
        ways = [("differences", lambda: by_differences(x, q))]
        if kind == "float16":
            squares = (x.float() ** 2).sum(1).half()
            ways.append(("product", lambda: squares - 2 * (x @ q)))
        for way, distances in ways:
            d = distances()
            both = seconds(lambda: torch.sort(distances(), stable=True))
            sorting = seconds(lambda: torch.sort(d, stable=True))
            copying = seconds(lambda: torch.sort(d, stable=True)[1].cpu()) - sorting
            alone = seconds(distances)
            line("table", f"{kind} sql2", len(x), dimensions, 1, f"{name}, {way}", alone, both - alone, copying, both + copying)
        del x


def many_queries(name):
    x, q = vectors("float16", 5_000_000, 128), vectors("float16", 1024, 128)
    squares = (x.float() ** 2).sum(1).half()

    def search():
        best, ids = [], []
        for i in range(0, len(x), 250_000):
            scores = 2 * (q @ x[i:i + 250_000].T) - squares[i:i + 250_000]
            top = torch.topk(scores, 100)
            best.append(top.values)
            ids.append(top.indices + i)
        top = torch.topk(torch.cat(best, 1), 100)
        return top.values, torch.cat(ids, 1).gather(1, top.indices)

    line("search", "float16 sql2", len(x), 128, 1024, f"{name}, top 100", seconds(search))


def main():
    name = "PyTorch " + torch.__version__.split("+")[0]
    one_query(name)
    many_queries(name)


main()
