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
    value: float  #: nearest: a coordinate of a row, compared with a coordinate of a query
    entry: float  #: nearest: a neighbour of a task, merged
    write: float  #: a byte written to the share and forced to the disk, on this machine
    place: float | None = None  #: n-grams: an occurrence, counted
    token: float | None = None  #: n-grams: bytes of text of a word, with the space before it
    link: float | None = None  #: PageRank: a link, in one step
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
    """What a stage costs. `nodes`: that work in it; `is_planned`: the program has no such tasks yet."""

    name: str
    tasks: int
    nodes: int
    seconds: float
    cpu_seconds: float  #: of processors, or of GPUs
    traffic: float  #: bytes over the network, to and from the share
    memory: float  #: of the node that needs most
    is_planned: bool = False
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
    """Threads that a stage on one node gains from: reading corpora was measured with up to 16."""
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
        serial("plan", cluster, text * rates.checksum, text, memory),
        spread_out("judge", cluster, slots, tasks, rates, text * (rates.checksum + rates.judge) + verdicts * rates.write,
                   text + verdicts, memory * cluster.cores // threads),
        serial("end: check", cluster, (text + verdicts) * rates.checksum, text + verdicts, memory),
        serial("end: apply, write", cluster, text * rates.filter_end, again + text * kept, memory, end_threads(cluster)),
    ]


def blocks_for(cluster: Cluster, places: int, text: float, documents: float, threshold: float, spread: float) -> int:
    """So many that a place has about four tasks with work, and two blocks take a quarter of its memory."""
    with_work = math.log((1 + threshold) / (1 - threshold)) / (spread * math.sqrt(math.pi))  # of the pairs of blocks, about
    by_work = math.sqrt(8 * places / min(with_work, 1))
    by_memory = 8 * (text + documents * SKETCH) * places / cluster.nodes / cluster.memory
    return max(math.ceil(by_work), math.ceil(by_memory), 1)


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
        blocks = blocks_for(cluster, cluster.nodes * (on_node or cluster.cores // threads), text, documents, threshold, spread)
    scale, all_lengths = (documents / len(lengths)) ** 2, math.fsum(lengths)
    pairs = {key: count * scale for key, count in allowed_pairs(lengths, blocks, threshold).items()}
    sizes = [0.0] * blocks  # bytes
    for rank, length in enumerate(lengths):
        sizes[block_of(rank, len(lengths), blocks)] += length * text / all_lengths
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
        serial("plan", cluster, text * rates.checksum, text, rates.peak),
        Stage("read, sort by length", 1, 1, rates.task + first + (text + made) / one_node(cluster),
              text * (rates.checksum + rates.distinct), text + made, held),
        Stage("compare blocks", tasks, min(cluster.nodes, tasks), makespan(each, slots.count), gpu if on_gpus else cpu, traffic,
              memory * min(slots.count // cluster.nodes, tasks), is_gpu=on_gpus),
        serial("end: check", cluster, (text + made) * rates.checksum, text + made, rates.peak),
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
        serial("plan", cluster, (vectors + asked) * rates.checksum, vectors + asked, memory),
        spread_out("rank rows", cluster, slots, tasks, rates,
                   tasks * (vectors + asked) * rates.checksum + rows * queries * dimensions * rates.value,
                   tasks * (vectors + asked + part) + found, memory * cluster.cores // threads),
        serial("end: check", cluster, (vectors + asked + found) * rates.checksum, vectors + asked + found, memory),
        serial("end: merge", cluster, found / ENTRY * rates.entry, 0, found / tasks),
    ]


def ngram_stages(cluster: Cluster, rates: Rates, places: float, bytes_each: float = 10) -> list[Stage]:
    """Planned, by ranges of first words: every n-gram of one length is one entry of `bytes_each`, front-coded, which moves once."""
    if rates.place is None or rates.token is None:
        raise ValueError("no rates place and token (simulate-cluster measure writes them)")
    tasks = 4 * cluster.nodes * cluster.cores
    slots = Slots.of(cluster, 1, tasks)
    text = places * rates.token
    moved = places * bytes_each
    spilled = 2 * moved / (cluster.disk * cluster.nodes)  # written and read once on the disks of the nodes
    emit = spread_out("read, cut by first words", cluster, slots, tasks, rates, text * rates.distinct + moved * rates.write, text + moved,
                      4 * moved / tasks * cluster.cores, is_planned=True)
    count = spread_out("sort, count", cluster, slots, tasks, rates, places * rates.place, moved, 4 * moved / tasks * cluster.cores,
                       is_planned=True)
    return [serial("plan", cluster, text * rates.checksum, text, rates.peak, is_planned=True), emit,
            dataclasses.replace(count, seconds=count.seconds + spilled)]


def rank_stages(cluster: Cluster, rates: Rates, links: float, nodes: float, damping: float = 0.85, tolerance: float = 1e-5) -> list[Stage]:
    """Planned, by rows: a node of the cluster has the links to its rows, and every step gathers all ranks, of 8 bytes."""
    if rates.link is None:
        raise ValueError("no rate link (simulate-cluster measure writes it)")
    steps = math.ceil(math.log(tolerance) / math.log(damping))  # the change shrinks by the damping at least
    stored, vector = 2 * 8 * links, 8 * nodes
    bandwidth = min(cluster.network, cluster.share / cluster.nodes)
    cut = Stage("cut by rows", cluster.nodes, cluster.nodes, 3 * stored / cluster.nodes / bandwidth, links * rates.link,
                3 * stored, stored / cluster.nodes, is_planned=True)
    each = links * rates.link / (cluster.nodes * cluster.cores) + vector * (cluster.nodes - 1) / cluster.nodes / cluster.network
    return [cut, Stage(f"{steps} steps", steps * cluster.nodes, cluster.nodes, steps * each, steps * links * rates.link,
                       steps * vector * (cluster.nodes - 1), links * 4 / cluster.nodes + 3 * vector, is_planned=True)]
