# SPDX-License-Identifier: Apache-2.0
"""Real small runs of the program: the rates of model.Rates, and whole jobs to compare with the prediction.

Corpora are made here, the same for the same arguments: texts of 2 KB on average with log-normal lengths, of the sentences of a
file or of made ones, 1 % edited copies. Everything runs in a folder of the caller. Standard library only.
"""

from __future__ import annotations

import array
import json
import os
import platform
import random
import re
import statistics
import struct
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from model import allowed_pairs, block_of

MEAN, SPREAD, THRESHOLD = 2048, 0.65, 0.05
RULES = ("--rules", "gopher-repetition,gopher-quality,c4,fineweb")


def made_sentences(chance: random.Random, count: int = 4000) -> list[str]:
    """Words by Zipf's law, of letters drawn at random."""
    words = ["".join(chance.choices("etaoinshrdlucmfwyp", k=chance.randrange(2, 10))) for _ in range(5000)]
    weights = [1 / (rank + 3) for rank in range(len(words))]
    return [" ".join(chance.choices(words, weights, k=chance.randrange(6, 28))).capitalize() + "." for _ in range(count)]


def sentences_of(articles: Path, limit: int = 60_000) -> list[str]:
    """Of the texts of JSON lines."""
    found: list[str] = []
    with articles.open(encoding="utf-8") as lines:
        for line in lines:
            for sentence in re.split(r"(?<=[.!?])\s+", json.loads(line)["text"]):
                if 20 <= len(sentence) <= 400:
                    found.append(" ".join(sentence.split()))
            if len(found) >= limit:
                break
    return found


def write_corpus(files: Sequence[Path], documents: int, sentences: Sequence[str], seed: int) -> list[int]:
    """Equal parts in `files`. Returns the lengths of the distinct texts in bytes, ascending."""
    chance = random.Random(seed)
    texts: list[str] = []
    for _ in range(documents):
        if texts and chance.random() < 0.01:
            letters = list(chance.choice(texts))
            for _ in range(int(len(letters) * chance.uniform(0, 0.06))):
                letters[chance.randrange(len(letters))] = chance.choice("etaoin ")
            texts.append("".join(letters))
            continue
        wanted = chance.lognormvariate(0, SPREAD) * MEAN / 2.718281828 ** (SPREAD**2 / 2)
        parts, length = [], 0.0
        while length < wanted:
            parts.append(chance.choice(sentences))
            length += len(parts[-1]) + 1
        texts.append(" ".join(parts)[: max(int(wanted), 1)])
    for number, file in enumerate(files):
        begin, end = documents * number // len(files), documents * (number + 1) // len(files)
        with file.open("w", encoding="utf-8") as out:
            for i in range(begin, end):
                out.write(json.dumps({"id": f"d{i}", "text": texts[i]}, ensure_ascii=False) + "\n")
    return sorted(len(text.encode()) for text in set(texts))


def write_vectors(file: Path, rows: int, dimensions: int, seed: int) -> None:
    """As .fbin: two counts, then float32."""
    chance = random.Random(seed)
    with file.open("wb") as out:
        out.write(struct.pack("<II", rows, dimensions))
        for _ in range(rows):
            out.write(array.array("f", [chance.gauss(0, 1) for _ in range(dimensions)]).tobytes())


def write_links(file: Path, nodes: int, links: int, seed: int) -> None:
    chance = random.Random(seed)
    with file.open("w", encoding="ascii") as out:
        for _ in range(links):
            out.write(f"{chance.randrange(nodes)}\t{int(nodes * chance.random() ** 3)}\n")


class Program:
    """Runs quern in a folder; every run returns its seconds and the seconds of processor."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.folder = program, folder
        self.peak = 0  #: bytes of the largest run so far

    def __call__(self, *arguments: object, threads: int = 1) -> tuple[float, float]:
        words = [str(self.program), *map(str, arguments), "--threads", str(threads), "--quiet"]
        begin = time.perf_counter()
        process = subprocess.Popen(words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert process.stderr is not None
        said = process.stderr.read()
        process.stderr.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(words)}: exit code {process.returncode}: {said.decode(errors='replace').strip()}")
        self.peak = max(self.peak, usage.ru_maxrss * 1024)
        return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


def job(run: Program, name: str, shards: int, *command: object) -> dict[str, list[tuple[float, float]]]:
    """A job by its steps, one after the other: plan, tasks, finish."""
    share = run.folder / name
    steps = {"plan": [run("plan", *command, "--force", "--share", share, "--shards", shards)]}
    steps["tasks"] = [run("task", task) for task in sorted((share / "tasks").iterdir())]
    steps["finish"] = [run("finish", share, "--force")]
    return steps


def two_costs(rows: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """x, y >= 0 with the least sum of squares of a x + b y - cost over rows (a, b, cost)."""
    aa, bb, ab = (sum(r[i] * r[j] for r in rows) for i, j in ((0, 0), (1, 1), (0, 1)))
    ac, bc = (sum(r[i] * r[2] for r in rows) for i in (0, 1))
    if (denominator := aa * bb - ab * ab) > 1e-12 * aa * bb:
        x, y = (bb * ac - ab * bc) / denominator, (aa * bc - ab * ac) / denominator
        if x >= 0 and y >= 0:
            return x, y
    alone = [(ac / aa if aa else 0.0, 0.0), (0.0, bc / bb if bb else 0.0)]
    return min(alone, key=lambda c: sum((r[0] * c[0] + r[1] * c[1] - r[2]) ** 2 for r in rows))


def write_rate(folder: Path, size: int = 64 << 20) -> float:
    """Seconds a byte, written to a new file and forced to the disk."""
    piece, file = os.urandom(1 << 20), folder / "written"
    begin = time.perf_counter()
    with file.open("wb") as out:
        for _ in range(size >> 20):
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    taken = time.perf_counter() - begin
    file.unlink()
    return taken / size


def machine() -> dict:
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {"processor": model, "cores": len(os.sched_getaffinity(0)), "python": platform.python_version(),
            "load": round(os.getloadavg()[0], 2)}


def rates(program: Path, folder: Path, sentences: Sequence[str], documents: int, say: Callable[[str], None]) -> dict:
    """All rates, each with its unit and how it was measured."""
    run = Program(program, folder)
    found: dict[str, dict] = {}

    def put(name: str, value: float, unit: str, source: str) -> None:
        found[name] = {"value": float(f"{max(value, 0):.4g}"), "unit": unit, "source": source}
        say(f"{name}: {value:.4g} {unit}")

    small, large = folder / "small.jsonl", folder / "large.jsonl"
    write_corpus([small], 1, sentences, 1)
    lengths = write_corpus([large], documents, sentences, 2)
    size = large.stat().st_size
    sized = f"{documents:,} documents, {size / 1e6:.0f} MB, one thread"
    put("write", write_rate(folder), "s/byte", "64 MiB written to a file and forced to the disk")

    tiny = [job(run, f"tiny{i}", 1, "filter", small, *RULES, "-o", "kept") for i in range(5)]
    of_tiny = {step: (statistics.median(t[step][0][0] for t in tiny), statistics.median(t[step][0][1] for t in tiny)) for step in tiny[0]}
    task_cpu = of_tiny["tasks"][1]
    put("task", task_cpu, "s", "quern task of filter with one document: median of 5")

    steps = job(run, "filter", 1, "filter", large, *RULES, "-o", "kept")
    checksum = (steps["plan"][0][1] - of_tiny["plan"][1]) / size
    put("checksum", checksum, "s/byte", f"quern plan filter, less that of one document: {sized}")
    put("judge", (steps["tasks"][0][1] - task_cpu) / size - checksum, "s/byte", f"quern task, rules of FineWeb, less its checksum: {sized}")
    put("filter_end", (steps["finish"][0][1] - of_tiny["finish"][1]) / size - checksum, "s/byte", f"quern finish, less its checksums: {sized}")
    results = sum(f.stat().st_size for f in (folder / "filter" / "results").glob("*.verdicts"))
    put("verdict_bytes", results / documents, "bytes/document", "size of the results")
    put("peak", run.peak, "bytes", "the largest of these runs")

    blocks = 4
    steps = job(run, "dedup", blocks * (blocks + 1) // 2, "dedup", large, "-o", "kept")
    first, compared = steps["tasks"][0][1], steps["tasks"][1:]
    put("distinct", (first - task_cpu) / size - checksum, "s/byte", f"the task of quern dedup that reads, less its checksum: {sized}")
    put("dedup_end", (steps["finish"][0][1] - of_tiny["finish"][1]) / size - 2 * checksum, "s/byte", f"quern finish of dedup, less its checksums: {sized}")
    pairs, rows = allowed_pairs(lengths, blocks, THRESHOLD), []
    sizes = [0.0] * blocks
    for rank, length in enumerate(lengths):
        sizes[block_of(rank, len(lengths), blocks)] += length
    order = [(a, b) for a in range(blocks) for b in range(a, blocks)]
    for (a, b), (_, cpu) in zip(order, compared, strict=True):
        mine = sizes[a] + (sizes[b] if b != a else 0)
        if (a, b) in pairs:
            rows.append((mine, float(pairs[a, b]), cpu - task_cpu - mine * checksum))
    block, pair = two_costs(rows)
    by = f"least squares over {len(rows)} tasks of quern dedup with {sum(pairs.values()):,} pairs that lengths allow: {sized}"
    put("block", block, "s/byte", by)
    put("pair", pair, "s/pair", by)

    run.peak = 0
    steps = job(run, "shingle", 3, "dedup", large, "--method", "shingle", "-o", "kept")
    words_bytes = sum(f.stat().st_size for f in (folder / "shingle" / "results").glob("0000.*") if f.suffix != ".json")
    put("shingle_words", words_bytes / size, "bytes/byte", f"size of the blocks of quern dedup --method shingle: {sized}")
    put("shingle_read", (steps["tasks"][0][1] - task_cpu) / size - checksum, "s/byte", f"the task of quern dedup --method shingle that reads, less its checksum: {sized}")
    joined = sum(cpu for _, cpu in steps["tasks"][1:]) - 3 * task_cpu
    put("shingle", joined / (3 * words_bytes) - checksum, "s/byte", f"3 tasks that join 2 blocks, for each byte that each of them reads, less its checksum: {sized}")
    put("shingle_memory", run.peak / words_bytes, "bytes/byte", "the largest of these runs, over the size of the blocks")

    vectors, queries, dimensions, count, k = min(20_000, 20 * documents), 400, 128, 8, 100
    write_vectors(folder / "rows.fbin", vectors, dimensions, 3)
    write_vectors(folder / "queries.fbin", queries, dimensions, 4)
    write_vectors(folder / "row.fbin", 64, dimensions, 5)
    command = ("--queries", "queries.fbin", "-k", k, "-o", "near.tsv")
    before = job(run, "nearest1", 1, "nearest", "row.fbin", *command)
    steps = job(run, "nearest", count, "nearest", "rows.fbin", *command)
    all_bytes = (vectors + queries) * dimensions * 4
    cpu = sum(cpu for _, cpu in steps["tasks"]) - count * (before["tasks"][0][1] + all_bytes * checksum)
    how = f"{vectors:,} rows, {dimensions} dimensions, {queries} queries, k = {k}, one thread"
    put("value", cpu / (vectors * queries * dimensions), "s/product", f"{count} tasks of quern nearest, less their checksums: {how}")
    merged = steps["finish"][0][1] - of_tiny["finish"][1] - all_bytes * checksum
    put("entry", merged / (queries * k * count), "s/entry", f"quern finish of nearest, {count} lists a query, all written: {how}")

    words = sum(len(re.findall(r"\w+", json.loads(line)["text"])) for line in large.read_text(encoding="utf-8").splitlines())
    places, order = words - 4 * documents, 5
    ends, sizes_of = [], []
    for length in (1, order):
        steps = job(run, f"ngrams{length}", 1, "ngrams", large, "--order", length, "--only", "--totals", "counts.tsv")
        sizes_of.append(sum(f.stat().st_size for f in (folder / f"ngrams{length}" / "results").iterdir()))
        ends.append(steps["finish"][0][1] - of_tiny["finish"][1] - (size + sizes_of[-1]) * checksum)
    put("token", size / places, "bytes/n-gram", f"of the corpus, for each n-gram of {order} words: {sized}")
    put("place", (steps["tasks"][0][1] - task_cpu - size * checksum) / places, "s/n-gram", f"the task of quern ngrams --order {order} --only, less its checksum: {sized}")
    put("count_bytes", sizes_of[1] / places, "bytes/n-gram", "size of the results")
    merge = max((ends[1] - ends[0]) / (sizes_of[1] - sizes_of[0]), 0)
    put("word_end", (ends[0] - sizes_of[0] * merge) / size, "s/byte", f"quern finish of ngrams of one word, less its checksums: {sized}")
    put("merge", merge, "s/byte", f"quern finish of ngrams of {order} words, less that of one word, for each byte of results: {sized}")

    blocks, rows, reads, ends, of_graph, empty_step = 2, [], [], [], [], 0.0
    for nodes, links in ((100, 1000), (2 * documents, 100 * documents), (30 * documents, 40 * documents)):
        write_links(folder / "links.tsv", nodes, links, 6)
        steps = job(run, f"ranks{nodes}", blocks, "pagerank", "links.tsv", "--tolerance", "1e-300", "--max-iterations", 10, "-o", "ranks.tsv")
        # The steps in which a node sends 4 bytes.
        step = statistics.median(sum(cpu for _, cpu in steps["tasks"][at:at + blocks]) for at in range(1 + 2 * blocks, 1 + 10 * blocks, blocks))
        if nodes == 100:
            empty_step = step
            continue
        begin, all_nodes = (folder / "links.tsv").stat().st_size, sum(1 for _ in (folder / "ranks.tsv").open(encoding="ascii"))
        made = sum(f.stat().st_size for f in (folder / f"ranks{nodes}" / "results").iterdir())
        reads.append((steps["tasks"][0][1] - task_cpu - begin * checksum) / links)
        ends.append((steps["finish"][0][1] - of_tiny["finish"][1] - (begin + made) * checksum) / all_nodes)
        moved = blocks * 4 * all_nodes + 4 * links + 52 * all_nodes
        rows.append((float(links), float(moved), step - empty_step - (moved - 20 * all_nodes) * checksum))
        of_graph.append(f"{links:,} links of {all_nodes:,} nodes")
    how = f"quern pagerank in {blocks} blocks, {' and '.join(of_graph)}, one thread"
    link, byte = two_costs(rows)
    put("link_read", max(reads), "s/link", f"the task that reads, less its checksum, the larger of two: {how}")
    put("link", link, "s/link", f"least squares over a step each, less one of a small graph: {how}; larger graphs miss the caches")
    put("step_byte", byte, "s/byte", f"least squares over a step each, less one of a small graph: {how}")
    put("rank", ends[1], "s/node", f"quern finish, less its checksums, of the graph with more nodes: {how}")
    return found


def whole_job(run: Program, name: str, workers: int, shards: int, threads: int, *command: object) -> tuple[float, float]:
    """Seconds, and those of processors, of `quern COMMAND --cluster local:N`."""
    return run(*command, "--force", "--cluster", f"local:{workers}", "--share", run.folder / name, "--shards", shards, threads=threads)


