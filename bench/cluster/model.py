# SPDX-License-Identifier: Apache-2.0
"""What a job would cost on a cluster: the formulas of docs/cluster_plan.md. Nothing here runs or measures; rates come from a file.

A stage is a number of tasks on the slots of the cluster. A task takes

    rates.task + cpu / threads + (read + written) / bandwidth     seconds,

where bandwidth is its part of the network of its node and of the shared file system, while all slots work. Computing and transfer
are added, as if they never overlapped. The tasks of a stage start in their order, each on the first free slot (makespan()); a
stage ends with its last task, and the next one begins then. Standard library only.
"""

from __future__ import annotations

import bisect
import dataclasses
import heapq
import math
import statistics
from collections.abc import Sequence

SKETCH, POSITION, PAIR, ID = 80, 8, 24, 60  # bytes: text_sketch, length and first equal, duplicate_pair, an id (docs/dedup.md)
ENTRY = 12  # bytes of a neighbour in the results of a task: id and distance
SORTED = 24  # bytes of an n-gram that a task sorts: its words, its count


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Nodes alike. Bytes, and bytes a second."""

    name: str
    nodes: int
    cores: int  #: of a node
    memory: float  #: of a node
    network: float  #: of a node, in each direction
    disk: float  #: scratch of a node
    share: float  #: the shared file system, all nodes together
    gpus: int = 0  #: of a node

    @classmethod
    def from_dict(cls, given: dict) -> Cluster:
        """In the units of a description: memory_gb, network_gbit, disk_gb_s, share_gb_s."""
        known = {"name", "nodes", "cores", "memory_gb", "network_gbit", "disk_gb_s", "share_gb_s", "gpus"}
        if unknown := sorted(set(given) - known):
            raise ValueError(f"unknown {unknown[0]!r} in a cluster (expected {', '.join(sorted(known))})")
        if missing := sorted(known - {"gpus"} - set(given)):
            raise ValueError(f"no {missing[0]!r} in a cluster (expected {', '.join(sorted(known))})")
        for name, value in given.items():
            if name != "name" and (not isinstance(value, (int, float)) or value < 0 or (value == 0 and name != "gpus")):
                raise ValueError(f"{name}: {value!r} in a cluster (expected a number above 0)")
        return cls(given["name"], int(given["nodes"]), int(given["cores"]), given["memory_gb"] * 1e9, given["network_gbit"] / 8 * 1e9,
                   given["disk_gb_s"] * 1e9, given["share_gb_s"] * 1e9, int(given.get("gpus", 0)))


@dataclasses.dataclass(frozen=True)
class Rates:
    """Seconds of processor, measured by `simulate-cluster measure` unless `source` says otherwise. None: not measured."""

    task: float  #: a task besides its work: process, plan, locks, results on the disk
    checksum: float  #: a byte of an input or result, to check it
    judge: float  #: filter: a byte of text, read and judged by the rules
    filter_end: float  #: filter: a byte of text, read, its verdict applied, and written
    distinct: float  #: dedup: a byte of text, read, sketched, grouped with its equals and written to a block
    block: float  #: dedup: a byte of the two blocks of a task, mapped and sketched
    pair: float  #: dedup: a pair of texts whose lengths can match
    dedup_end: float  #: dedup: a byte of text, read, and its groups and kept documents written
    shingle_words: float  #: dedup by shingles: bytes of the blocks for a byte of text
    shingle_read: float  #: dedup by shingles: a byte of text, read and written to a block as words
    shingle: float  #: dedup by shingles: a byte of the blocks of a task, joined
    shingle_memory: float  #: dedup by shingles: memory of a task for a byte of its blocks
    value: float  #: nearest: a coordinate of a row, compared with a coordinate of a query
    entry: float  #: nearest: a neighbour of a task, merged
    write: float  #: a byte written to the share and forced to the disk, on this machine
    token: float  #: n-grams: bytes of a corpus for each word
    place: float  #: n-grams: an occurrence, read, counted and written
    count_bytes: float  #: n-grams: results of the tasks for each occurrence
    word_end: float  #: n-grams: a byte of text, read at the end
    merge: float  #: n-grams: a byte of results, merged and written as counts
    link_read: float  #: PageRank: a link, read and written to its block
    link: float  #: PageRank: a link, in one step
    step_byte: float  #: PageRank: a byte that a step reads or writes, besides its checksum
    rank: float  #: PageRank: a node, sorted and written at the end
    gpu_pair: float | None = None  #: dedup: as `pair`, seconds of one GPU
    verdict_bytes: float = 24  #: filter: results of a task for a document
    peak: float = 5e8  #: bytes of memory of a task that reads documents

    @classmethod
    def from_dict(cls, given: dict) -> Rates:
        names = {field.name for field in dataclasses.fields(cls)}
        values = {name: entry["value"] for name, entry in given.items()}
        if unknown := sorted(set(values) - names):
            raise ValueError(f"unknown rate {unknown[0]!r} (expected {', '.join(sorted(names))})")
        needed = {field.name for field in dataclasses.fields(cls) if field.default is dataclasses.MISSING}
        if missing := sorted(needed - set(values)):
            raise ValueError(f"no rate {missing[0]!r} (simulate-cluster measure writes all)")
        for name, value in values.items():
            if not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
                raise ValueError(f"rate {name}: {value!r} (expected a number of 0 or more)")
        return cls(**values)


@dataclasses.dataclass(frozen=True)
class Stage:
    """What a stage costs. `nodes`: that work in it."""

    name: str
    tasks: int
    nodes: int
    seconds: float
    cpu_seconds: float  #: of processors, or of GPUs
    traffic: float  #: bytes over the network, to and from the share
    memory: float  #: of the node that needs most
    is_gpu: bool = False


def makespan(seconds: Sequence[float], slots: int) -> float:
    """When the last task ends, if each starts, in this order, on the slot that is free first."""
    if slots < 1:
        raise ValueError("no slots (expected 1 or more)")
    free = [0.0] * min(slots, len(seconds))
    for each in seconds:
        heapq.heapreplace(free, free[0] + each)
    return max(free, default=0.0)


def makespan_of_equal(seconds: float, tasks: int, slots: int) -> float:
    return math.ceil(tasks / slots) * seconds


def quantiles(documents: int, mean: float, spread: float) -> list[float]:
    """Lengths of log-normal texts, ascending: the middles of equal shares of them. `spread`: the deviation of their logarithms."""
    normal = statistics.NormalDist(math.log(mean) - spread**2 / 2, spread)
    return [math.exp(normal.inv_cdf((i + 0.5) / documents)) for i in range(documents)]


def block_of(text: int, texts: int, blocks: int) -> int:
    """The block of the text with this rank by length: blocks are [texts * b // blocks, texts * (b + 1) // blocks)."""
    return ((text + 1) * blocks - 1) // texts


def allowed_pairs(lengths: Sequence[float], blocks: int, threshold: float) -> dict[tuple[int, int], int]:
    """Pairs of texts that the lengths (ascending) allow, by blocks (a <= b): (long - short) < threshold * (long + short)."""
    found: dict[tuple[int, int], int] = {}
    limit = (1 + threshold) / (1 - threshold)
    texts = len(lengths)
    for i, length in enumerate(lengths):
        end = bisect.bisect_left(lengths, length * limit, i + 1)
        a, at = block_of(i, texts, blocks), i + 1
        while at < end:
            b = block_of(at, texts, blocks)
            stop = min(end, texts * (b + 1) // blocks)
            found[a, b] = found.get((a, b), 0) + stop - at
            at = stop
    return found


@dataclasses.dataclass(frozen=True)
class Slots:
    """Places for tasks: `count` in all, of `threads` cores each; `bandwidth` of one while all of them read."""

    count: int
    threads: int
    bandwidth: float
    slowdown: float = 1  #: of processors, where more threads run than there are cores

    @classmethod
    def of(cls, cluster: Cluster, threads: int, tasks: int, memory: float = 0, on_node: int | None = None) -> Slots:
        """`on_node` on each node, or as many as its cores and its memory allow; no more are active than there are tasks."""
        if on_node is None:
            on_node = max(cluster.cores // threads, 1)
            if memory > 0:
                on_node = min(on_node, max(int(cluster.memory // memory), 1))
        count = on_node * cluster.nodes
        active = min(count, tasks)
        busy = math.ceil(active / cluster.nodes)  # on the fullest node
        return cls(count, threads, min(cluster.network / busy, cluster.share / active), max(busy * threads / cluster.cores, 1))


def one_node(cluster: Cluster) -> float:
    """Bytes a second that one node, alone, reads from the share."""
    return min(cluster.network, cluster.share)


def serial(name: str, cluster: Cluster, cpu: float, traffic: float, memory: float, threads: int = 1, **more: bool) -> Stage:
    """A stage on one node, of `threads` of its cores."""
    return Stage(name, 1, 1, cpu / threads + traffic / one_node(cluster), cpu, traffic, memory, **more)


def end_threads(cluster: Cluster) -> int:
    """Threads that a stage on one node gains from: reading corpora was measured with up to 16. Checksums have as many, by pieces of 64 MiB."""
    return min(cluster.cores, 16)


def spread_out(name: str, cluster: Cluster, slots: Slots, tasks: int, rates: Rates, cpu: float, traffic: float, memory: float,
               **more: bool) -> Stage:
    """A stage of equal tasks; cpu, traffic: of all of them."""
    each = slots.slowdown * (rates.task + cpu / tasks / slots.threads) + traffic / tasks / slots.bandwidth
    return Stage(name, tasks, min(cluster.nodes, tasks), makespan_of_equal(each, tasks, slots.count), cpu + tasks * rates.task, traffic,
                 memory, **more)


def filter_stages(cluster: Cluster, rates: Rates, text: float, documents: float, kept: float = 0.8, threads: int = 1,
                  tasks: int | None = None, on_node: int | None = None) -> list[Stage]:
    """`quern filter --cluster`: `text` bytes in at least as many files as tasks, of which a share `kept` stays."""
    tasks = tasks or max(4 * cluster.nodes * cluster.cores // threads, 1)
    slots = Slots.of(cluster, threads, tasks, rates.peak, on_node)
    again = text if text > cluster.memory / 2 else 0  # what was checked is read again, unless the system still holds it
    verdicts = documents * rates.verdict_bytes
    memory = rates.peak + verdicts / tasks
    return [
        serial("plan", cluster, text * rates.checksum, text, memory, end_threads(cluster)),
        spread_out("judge", cluster, slots, tasks, rates, text * (rates.checksum + rates.judge) + verdicts * rates.write,
                   text + verdicts, memory * cluster.cores // threads),
        serial("end: check", cluster, (text + verdicts) * rates.checksum, text + verdicts, memory, end_threads(cluster)),
        serial("end: apply, write", cluster, text * rates.filter_end, again + text * kept, memory, end_threads(cluster)),
    ]


def block_sizes(lengths: Sequence[float], blocks: int, text: float) -> list[float]:
    """Bytes of the blocks of texts with these lengths (ascending), of `text` in all."""
    sizes, all_lengths = [0.0] * blocks, math.fsum(lengths)
    for rank, length in enumerate(lengths):
        sizes[block_of(rank, len(lengths), blocks)] += length * text / all_lengths
    return sizes


def blocks_for(cluster: Cluster, lengths: Sequence[float], on_node: int, text: float, documents: float, threshold: float,
               spread: float) -> int:
    """So many that a slot has about four tasks with work, and that its memory holds the two largest blocks."""
    with_work = math.log((1 + threshold) / (1 - threshold)) / (spread * math.sqrt(math.pi))  # of the pairs of blocks, about
    blocks = max(math.ceil(math.sqrt(8 * on_node * cluster.nodes / min(with_work, 1))), 1)
    while blocks < len(lengths) / 4:
        if 2 * (max(block_sizes(lengths, blocks, text)) + documents / blocks * SKETCH) * on_node <= cluster.memory:
            break
        blocks = math.ceil(blocks * 1.1)
    return blocks


def dedup_stages(cluster: Cluster, rates: Rates, text: float, documents: float, *, threshold: float = 0.05, spread: float = 0.65,
                 blocks: int | None = None, threads: int = 1, sample: int = 8000, lengths: Sequence[float] | None = None,
                 kept: float = 0.99, on_gpus: bool = False, on_node: int | None = None) -> list[Stage]:
    """`quern dedup --cluster`, method auto. `lengths`: ascending; those of a log-normal sample if they are not given."""
    if on_gpus and (not cluster.gpus or rates.gpu_pair is None):
        raise ValueError("no GPUs in the cluster, or no rate gpu_pair")
    if on_gpus:
        on_node, threads = cluster.gpus, max(cluster.cores // cluster.gpus, 1)
    if lengths is None:
        lengths = quantiles(sample, text / documents, spread)
    if blocks is None:
        blocks = blocks_for(cluster, lengths, on_node or max(cluster.cores // threads, 1), text, documents, threshold, spread)
    scale = (documents / len(lengths)) ** 2
    pairs = {key: count * scale for key, count in allowed_pairs(lengths, blocks, threshold).items()}
    sizes = block_sizes(lengths, blocks, text)
    positions = documents * 2 * POSITION  # in the blocks: positions, lengths, ends
    tasks = blocks * (blocks + 1) // 2
    memory = 2 * max(sizes) + 2 * documents / blocks * SKETCH
    slots = Slots.of(cluster, threads, tasks, memory, on_node)
    each, cpu, traffic, gpu = [], tasks * rates.task, 0.0, 0.0
    for a in range(blocks):
        for b in range(a, blocks):
            read = sizes[a] + (sizes[b] if b != a else 0) + positions / blocks * (2 if b != a else 1)
            work, compared = read * rates.checksum, pairs.get((a, b), 0)
            work += read * rates.block if compared else 0
            on_gpu = compared * rates.gpu_pair if on_gpus else 0
            work += 0 if on_gpus else compared * rates.pair
            each.append(slots.slowdown * (rates.task + work / threads) + on_gpu + read / slots.bandwidth)
            cpu, gpu, traffic = cpu + work, gpu + on_gpu, traffic + read
    held = documents * (SKETCH + ID + 2 * POSITION)
    again = text if text > cluster.memory / 2 else 0
    made = text + positions + documents * POSITION
    first = text * (rates.checksum + rates.distinct) / end_threads(cluster) + made * rates.write
    return [
        serial("plan", cluster, text * rates.checksum, text, rates.peak, end_threads(cluster)),
        Stage("read, sort by length", 1, 1, rates.task + first + (text + made) / one_node(cluster),
              text * (rates.checksum + rates.distinct), text + made, held),
        Stage("compare blocks", tasks, min(cluster.nodes, tasks), makespan(each, slots.count), gpu if on_gpus else cpu, traffic,
              memory * min(slots.count // cluster.nodes, tasks), is_gpu=on_gpus),
        serial("end: check", cluster, (text + made) * rates.checksum, text + made, rates.peak, end_threads(cluster)),
        serial("end: groups, write", cluster, text * rates.dedup_end, again + text * kept, held, end_threads(cluster)),
    ]


def shingle_stages(cluster: Cluster, rates: Rates, text: float, documents: float, *, blocks: int | None = None, threads: int = 1,
                   kept: float = 0.99, on_node: int | None = None) -> list[Stage]:
    """`quern dedup --method shingle --cluster`: blocks of equal numbers of words, so many that each slot has about four tasks and that its
    memory holds two of them."""
    words = text * rates.shingle_words
    places = on_node or max(cluster.cores // threads, 1)
    if blocks is None:
        by_work = math.sqrt(8 * places * cluster.nodes)
        by_memory = 2 * words * rates.shingle_memory * places / cluster.memory
        blocks = max(math.ceil(by_work), math.ceil(by_memory), 1)
    tasks = blocks * (blocks + 1) // 2
    slots = Slots.of(cluster, threads, tasks, 0, on_node)
    joined = words * blocks  # each block is read by so many tasks
    held = documents * (ID + 2 * POSITION)
    again = text if text > cluster.memory / 2 else 0
    return [
        serial("plan", cluster, text * rates.checksum, text, rates.peak, end_threads(cluster)),
        serial("read, cut into words", cluster, text * (rates.checksum + rates.shingle_read), text + words, held, end_threads(cluster)),
        spread_out("join blocks", cluster, slots, tasks, rates, joined * (rates.checksum + rates.shingle), joined,
                   2 * words / blocks * rates.shingle_memory * min(places, tasks)),
        serial("end: check", cluster, (text + words) * rates.checksum, text + words, rates.peak, end_threads(cluster)),
        serial("end: groups, write", cluster, text * rates.dedup_end, again + text * kept, held, end_threads(cluster)),
    ]


def nearest_stages(cluster: Cluster, rates: Rates, rows: float, dimensions: int, queries: int, k: int, threads: int = 1,
                   tasks: int | None = None, value_bytes: int = 4, on_node: int | None = None) -> list[Stage]:
    """`quern nearest --cluster`: every task checks the whole file of vectors, then reads its rows; so few large tasks are best."""
    tasks = tasks or max(cluster.nodes * cluster.cores // threads, 1)
    vectors = rows * dimensions * value_bytes
    asked = queries * dimensions * value_bytes
    found = float(queries) * k * tasks * ENTRY
    memory = vectors / tasks + asked + queries * k * ENTRY
    slots = Slots.of(cluster, threads, tasks, memory, on_node)
    part = vectors / tasks if vectors > cluster.memory / 2 else 0  # read again after the check
    return [
        serial("plan", cluster, (vectors + asked) * rates.checksum, vectors + asked, memory, end_threads(cluster)),
        spread_out("rank rows", cluster, slots, tasks, rates,
                   tasks * (vectors + asked) * rates.checksum + rows * queries * dimensions * rates.value,
                   tasks * (vectors + asked + part) + found, memory * cluster.cores // threads),
        serial("end: check", cluster, (vectors + asked + found) * rates.checksum, vectors + asked + found, memory, end_threads(cluster)),
        serial("end: merge", cluster, found / ENTRY * rates.entry, 0, found / tasks),
    ]


def ngram_stages(cluster: Cluster, rates: Rates, places: float, threads: int = 1, tasks: int | None = None,
                 on_node: int | None = None) -> list[Stage]:
    """`quern ngrams --totals --only --cluster`: `places` n-grams of one length in at least as many files as tasks. What does not fit the
    memory of a slot is written to the disk of its node and read again."""
    tasks = tasks or max(4 * cluster.nodes * cluster.cores // threads, 1)
    text, results = places * rates.token, places * rates.count_bytes
    wanted = rates.peak + places / tasks * SORTED
    slots = Slots.of(cluster, threads, tasks, 0, on_node)
    on_each = max(slots.count // cluster.nodes, 1)
    memory = min(wanted, 0.75 * cluster.memory / on_each)
    count = spread_out("count", cluster, slots, tasks, rates, text * rates.checksum + places * rates.place + results * rates.write,
                       text + results, memory * min(on_each, tasks))
    if memory < wanted:
        count = dataclasses.replace(count, seconds=count.seconds + 2 * places * SORTED / cluster.disk / cluster.nodes)
    again = text if text > cluster.memory / 2 else 0
    end = (text * rates.word_end + results * rates.merge) / end_threads(cluster)
    return [
        serial("plan", cluster, text * rates.checksum, text, rates.peak, end_threads(cluster)),
        count,
        serial("end: check", cluster, (text + results) * rates.checksum, text + results, rates.peak, end_threads(cluster)),
        Stage("end: read, merge", 1, 1, end + (again + 2 * results) / one_node(cluster), text * rates.word_end + results * rates.merge,
              again + 2 * results, rates.peak),
    ]


def planned_steps(damping: float = 0.85, tolerance: float = 1e-5) -> int:
    """Phases of a plan of PageRank after the first: the most that the iteration can take."""
    return math.ceil(math.log(tolerance / 2) / math.log(damping + (1 - damping) / 16)) + 3


def rank_stages(cluster: Cluster, rates: Rates, links: float, nodes: float, *, steps: int | None = None, blocks: int | None = None,
                link_bytes: float | None = None, threads: int | None = None, on_node: int | None = None) -> list[Stage]:
    """`quern pagerank --cluster` of a list of links: one task reads it; then each step has a task for each block, by default one a node."""
    steps = planned_steps() if steps is None else steps
    blocks = blocks or min(cluster.nodes, 128)
    name = len(f"{nodes - 1:.0f}")
    text = links * (link_bytes or 2 * (name + 1))
    fixed, state = 4 * links + 16 * nodes, 16 * nodes  # of all blocks: links, offsets and degrees; ranks and residuals
    made = fixed + state + 8 * nodes + (8 + name) * nodes
    slots = Slots.of(cluster, threads or cluster.cores, blocks, 0, on_node or 1)
    moved = blocks * 4 * nodes + fixed + state + 20 * nodes  # read and written in a step
    read = moved - 20 * nodes
    step = spread_out("a step", cluster, slots, blocks, rates, read * rates.checksum + moved * rates.step_byte + links * rates.link, moved,
                      8 * nodes + (24 * nodes + fixed) / blocks)
    left = text + made + 20 * nodes
    return [
        serial("plan", cluster, text * rates.checksum, text, rates.peak, end_threads(cluster)),
        serial("read the graph", cluster, rates.task + text * rates.checksum + links * rates.link_read, text + made,
               12 * links + 40 * nodes),
        dataclasses.replace(step, name=f"{steps} steps", tasks=steps * blocks, seconds=steps * step.seconds,
                            cpu_seconds=steps * step.cpu_seconds, traffic=steps * step.traffic),
        serial("end: check", cluster, left * rates.checksum, left, rates.peak, end_threads(cluster)),
        serial("end: sort, write", cluster, nodes * rates.rank, nodes * (name + 25), 40 * nodes),
    ]
