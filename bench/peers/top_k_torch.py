# SPDX-License-Identifier: Apache-2.0
"""PyTorch's topk on the data of top_k_cuda_bench, measured in the same way, in the same lines."""
import torch

CALLS, REPEATS = 20, 9


def microseconds(call):
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    each = []
    for _ in range(REPEATS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(CALLS):
            call()
        end.record()
        end.synchronize()
        each.append(begin.elapsed_time(end) * 1000 / CALLS)
    return sorted(each)[REPEATS // 2]


def keys_of(kind, n):
    if kind == "uniform":
        return torch.rand(n, device="cuda")
    if kind == "all equal":
        return torch.ones(n, device="cuda")
    if kind == "16 distinct":
        return torch.randint(16, (n,), device="cuda").float()
    share = torch.arange(n, device="cuda", dtype=torch.float32) / n
    return share if kind == "rising" else 1 - share


def report(kind, rows, columns, k, keys):
    us = microseconds(lambda: torch.topk(keys, k))
    print(kind, rows, columns, k, "PyTorch " + torch.__version__.split("+")[0], f"{us:.1f}", sep="\t", flush=True)


def main():
    for n in 5_000_000, 100_000_000:
        for kind in "uniform", "all equal", "rising", "falling", "16 distinct":
            keys = keys_of(kind, n)
            for k in 1, 100, 1000, 10_000, 100_000, 1_000_000:
                if kind == "uniform" or k in (100, 10_000):
                    report(kind, 1, n, k, keys)
    for rows, columns, k in ((1_000_000, 32, 5), (100_000, 512, 10), (10_000, 5000, 100), (1024, 100_000, 100),
                             (1024, 100_000, 1000), (100, 1_000_000, 100), (8, 10_000_000, 1000),
                             (1000, 20_000, 10_000)):
        report("uniform", rows, columns, k, torch.rand(rows, columns, device="cuda"))


main()
