# SPDX-License-Identifier: Apache-2.0
"""Shared by the run-NAME scripts: paths, access to peers, measurement of runs.

Standard library only. A peer that is not available is None, and becomes the row "not available here".
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "bench" / "peers"
BIN = Path(os.environ.get("QUERN_BIN", ROOT / "build" / "release" / "bin"))
QUERN = Path(os.environ.get("QUERN", BIN / "quern"))
TANTIVY = "tantivy==0.27.0"


def say(message):
    print(f"  {message}", file=sys.stderr, flush=True)


def work_folder(name):
    """The folder of data and indexes, kept between runs."""
    folder = Path(os.environ.get("QUERN_WORK", ROOT / "build" / "bench" / name))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def need_corpus():
    """The measured collection: JSON lines, zstd-compressed."""
    folder = os.environ.get("QUERN_DATA")
    path = Path(folder) / "wikischools.jsonl.zst" if folder else None
    if not path or not path.exists():
        raise SystemExit("no wikischools.jsonl.zst in QUERN_DATA; set QUERN_DATA to a folder that has it")
    return path


def decompress(corpus, folder):
    """The peers read plain JSON lines, before their clocks start."""
    plain = folder / "corpus.jsonl"
    subprocess.run(["zstd", "-q", "-d", "-f", corpus, "-o", plain], check=True)
    return plain


def plain_corpus(folder):
    """The measured collection as it is, where QUERN_DATA has it so; else decompressed."""
    plain = Path(os.environ.get("QUERN_DATA", "")) / "wikischools.jsonl"
    return plain if plain.exists() else decompress(need_corpus(), folder)


def built_from_source(name):
    """The folder of a peer that scripts/peer fetches and builds, or None."""
    maker = ROOT / "scripts" / "peer"
    if not maker.exists():  # a machine with only the benchmarks
        return None
    made = subprocess.run([maker, name], stdout=subprocess.PIPE, text=True)
    return Path(made.stdout.strip()) if made.returncode == 0 else None


def tantivy_python():
    """A Python that has tantivy, or None."""
    made = subprocess.run([ROOT / "scripts" / "venv", TANTIVY], stdout=subprocess.PIPE, text=True)
    return made.stdout.strip() if made.returncode == 0 else None


def compile_xapian(name, folder):
    """The peer's program, or None. Xapian is GPL, so this is not part of our redistributable build: it is
    compiled where it runs."""
    if not shutil.which("xapian-config"):
        say("libxapian-dev is not installed")
        return None
    flags = subprocess.run(["xapian-config", "--cxxflags", "--libs"], check=True, capture_output=True, text=True)
    program = folder / name
    subprocess.run(["c++", "-std=c++20", "-O3", PEERS / f"{name}.cpp", "-o", program, *flags.stdout.split()], check=True)
    return program


def run(command, cores=None):
    """Runs to the end on `cores` cores; returns its cost (with the names of run-build's rows) and its output."""
    chosen = sorted(os.sched_getaffinity(0))[-cores:] if cores else None
    pin = (lambda: os.sched_setaffinity(0, chosen)) if chosen else None
    begin = time.monotonic()
    with subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, preexec_fn=pin) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - begin
    if process.returncode != 0:
        raise SystemExit(f"exit {process.returncode}: {' '.join(map(str, command))}")
    taken = {
        "seconds": seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "memory_bytes": usage.ru_maxrss * 1024,
    }
    return taken, output.decode()


def run_peer(command, cores=None):
    """A peer prints its own measurements as one JSON object."""
    return json.loads(run(command, cores)[1])


def folder_bytes(folder):
    return sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file())


def peak_memory_bytes():
    """Peak resident set of this process so far (Linux)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def medians_of_passes(queries, seconds_of, passes):
    """Each query's median; every pass runs all queries."""
    seconds = [[] for _ in queries]
    for _ in range(passes):
        for times, query in zip(seconds, queries):
            times.append(seconds_of(query))
    return [median(times) for times in seconds]


def median(values):
    return statistics.median(values)


def table(head, rows):
    """Markdown; the first column to the left, numbers to the right."""
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def megabytes(count):
    return f"{count / 1e6:.1f}"
