# SPDX-License-Identifier: Apache-2.0
"""Jobs on a Ray cluster of three logical nodes on this machine, next to a head without cores: one node is killed while it runs a
task, and another is added. The results have the bytes of the command alone. QUERN_LONG=1: for 1, 2, 3 and 5 shards, else for 3."""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import quern.cluster

ray = pytest.importorskip("ray", reason="needs ray")

SHARDS = (1, 2, 3, 5) if os.environ.get("QUERN_LONG") else (3,)
# The memory is given, as Ray takes what is free when a node starts: on a busy machine the node that is added would have too little
# for a task, whose share is that of the nodes before.
NODE = {"num_cpus": 1, "object_store_memory": 100 << 20, "memory": 1 << 30}
PATIENCE = 120.0

# (arguments, outputs, the first task that is held until a node was killed)
COMMANDS: dict[str, tuple[list[str], list[str], int]] = {
    "filter": (["filter", "crawl", "--rules", "length.min-words=20,gopher-repetition", "--mask", "emails", "-o", "OUT.jsonl", "--removed", "OUT.tsv"],
               ["jsonl", "tsv"], 0),
    "nearest": (["nearest", "rows.fbin", "--queries", "queries.fbin", "-k", "20", "-o", "OUT.tsv"], ["tsv"], 0),
    "decontaminate": (["decontaminate", "crawl", "--against", "items.jsonl", "--ngram", "5", "-o", "OUT.jsonl", "--matches", "OUT.tsv"],
                      ["jsonl", "tsv"], 0),
    "ngrams": (["ngrams", "crawl", "--order", "3", "--totals", "OUT.tsv", "--arpa", "OUT.arpa"], ["tsv", "arpa"], 0),
    "words": (["words", "crawl", "--top", "5", "-o", "OUT.words", "--export", "OUT.tsv"], ["tsv"], 1),
    "pagerank": (["pagerank", "links.tsv", "--max-iterations", "4", "-o", "OUT.tsv"], ["tsv"], 1),
    "dedup": (["dedup", "crawl", "-o", "OUT.jsonl", "--groups", "OUT.groups"], ["jsonl", "groups"], 1),
    "shingles": (["dedup", "crawl", "--method", "shingle", "--similarity", "0.5", "-o", "OUT.jsonl", "--groups", "OUT.groups"],
                 ["jsonl", "groups"], 1),
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray._private import services
    from ray.cluster_utils import Cluster

    services.wait_for_node.__defaults__ = (180,)  # seconds, instead of 30: other tests run at the same time
    os.environ["RAY_AUTH_MODE"] = "disabled"  # else it leaves a token in the home folder
    made = None
    try:
        made = Cluster(initialize_head=True, head_node_args={**NODE, "num_cpus": 0, "include_dashboard": False})
        for _ in range(3):
            made.add_node(**NODE)
        ray.init(address=made.address, log_to_driver=False)
        made.wait_for_nodes()
    except Exception as why:  # its services need ports, memory and time of the machine
        if made is not None:
            made.shutdown()
        pytest.skip(f"Ray does not start here: {why}")
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def here(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Small inputs with near-duplicates, equal texts, ties of distances."""
    chance = random.Random(4)
    words = "the of mill wheel river bread oven water time flour and to in it is stone a turn".split()
    texts: list[str] = []
    for _ in range(600):
        if texts and chance.random() < 0.2:
            letters = list(chance.choice(texts))
            for _ in range(chance.randrange(4)):
                letters[chance.randrange(len(letters))] = chance.choice("aé ")
            texts.append("".join(letters))
        else:
            texts.append(" ".join(chance.choices(words, k=chance.randrange(5, 90))) + " joe@mills.org" * (chance.random() < 0.1))
    (tmp_path / "crawl").mkdir()
    for part in range(6):
        lines = [json.dumps({"id": f"d{i}", "text": text}) for i, text in enumerate(texts) if i % 6 == part]
        (tmp_path / "crawl" / f"part{part}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    parts = [text.split()[3:3 + chance.randrange(2, 12)] for text in chance.sample(texts, 80)]
    items = [json.dumps({"id": f"q{i}", "text": " ".join(part)}) for i, part in enumerate(parts)]
    (tmp_path / "items.jsonl").write_text("\n".join(items) + "\n", encoding="utf-8")
    links = [f"n{chance.randrange(300)}\tn{chance.randrange(400)}" for _ in range(3000)]
    (tmp_path / "links.tsv").write_text("\n".join(links) + "\n", encoding="utf-8")
    for name, rows in (("rows", 700), ("queries", 15)):
        values = [float(chance.randrange(3)) for _ in range(rows * 4)]
        (tmp_path / f"{name}.fbin").write_bytes(struct.pack(f"<II{rows * 4}f", rows, 4, *values))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def held_program(folder: pathlib.Path, program: str, first: int) -> str:
    """The program, whose tasks from `first` on note their process in held/ and wait until the file `go` is there."""
    (folder / "held").mkdir(exist_ok=True)
    script = folder / "held-quern"
    script.write_text(f"""#!/bin/bash
if [ "$1" = task ] && number=$(basename "$2" .json) && [ $((10#$number)) -ge {first} ]; then
    echo "$number" >"{folder}/held/.$$" && mv "{folder}/held/.$$" "{folder}/held/$$"
    until [ -e "{folder}/go" ]; do sleep 0.02; done
fi
exec "{program}" "$@"
""", encoding="utf-8")
    script.chmod(0o755)
    return str(script)


def parent_of(process: int) -> int:
    """0 if it has ended."""
    try:
        state, parent = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[:2]
    except OSError:
        return 0
    return 0 if state == "Z" else int(parent)


def node_of(cluster: Any, process: int) -> Any:
    """The node whose raylet is an ancestor of the process, or None."""
    raylets = {each.process.pid: node for node in cluster.worker_nodes for kind, all_ in node.all_processes.items() if kind == "raylet"
               for each in all_}
    while process > 1:
        if process in raylets:
            return raylets[process]
        process = parent_of(process)
    return None


def until(found: Callable[[], Any]) -> Any:
    last = time.monotonic() + PATIENCE
    while time.monotonic() < last:
        if value := found():
            return value
        time.sleep(0.05)
    raise AssertionError("nothing happened for two minutes")


def held(cluster: Any, folder: pathlib.Path) -> dict[int, Any]:
    """The nodes of the processes that wait."""
    running = {int(file.name): node_of(cluster, int(file.name)) for file in (folder / "held").glob("[0-9]*")}
    return {process: node for process, node in running.items() if node is not None}


def sums(outputs: list[str], name: str) -> dict[str, str]:
    return {end: hashlib.sha256(pathlib.Path(f"{name}.{end}").read_bytes()).hexdigest() for end in outputs}


def plan_of(command: Callable[..., bytes], kind: str, shards: int) -> list[str]:
    """Makes the result of the command alone, and the plan of the same."""
    arguments, outputs, _ = COMMANDS[kind]
    command(*(each.replace("OUT", "alone") for each in arguments), "--quiet")
    assert all(os.path.getsize(f"alone.{end}") for end in outputs)
    command("plan", *(each.replace("OUT", "together") for each in arguments), "--share", "job", "--shards", shards, "--quiet")
    return outputs


@pytest.mark.parametrize("shards", SHARDS)
@pytest.mark.parametrize("kind", COMMANDS)
def test_a_node_is_killed_and_one_is_added(cluster: Any, here: pathlib.Path, command: Callable[..., bytes], program: str, kind: str,
                                           shards: int) -> None:
    outputs = plan_of(command, kind, shards)
    first = COMMANDS[kind][2]
    slow = held_program(here, program, first)
    ended: list[Any] = []

    def work() -> None:
        try:
            ended.append(quern.cluster.run_job("job", program=slow, finish=True))
        except BaseException as failure:
            ended.append(failure)

    runner = threading.Thread(target=work)
    runner.start()
    planned = json.loads((here / "job" / "plan.json").read_text(encoding="utf-8"))["tasks"][first:]
    tasks = sum(task["phase"] == planned[0]["phase"] for task in planned)  # that run at once: of one step of PageRank
    waiting = until(lambda: ended or (now if len(now := held(cluster, here)) >= min(tasks, 3) else None))
    assert not ended, ended
    lost, victim = next(iter(waiting.items()))
    cluster.remove_node(victim, allow_graceful=False)
    until(lambda: not parent_of(lost))  # the program does not outlive its node
    added = cluster.add_node(**NODE)
    if tasks >= 3:  # it gets work while the others are busy
        until(lambda: ended or any(node is added for node in held(cluster, here).values()))
    (here / "go").touch()
    runner.join(PATIENCE)
    assert ended and isinstance(ended[0], quern.cluster.JobSummary), ended
    assert not pathlib.Path("together." + outputs[0]).samefile("alone." + outputs[0])
    assert sums(outputs, "together") == sums(outputs, "alone")
    assert not list((here / "job").rglob(".*"))


def test_a_stopped_worker_holds_only_its_own_task(cluster: Any, here: pathlib.Path, command: Callable[..., bytes], program: str) -> None:
    """Others take the rest meanwhile. Nothing starts its task elsewhere."""
    outputs = plan_of(command, "filter", 5)
    slow, tasks = held_program(here, program, 0), len(list((here / "job" / "tasks").iterdir()))
    with concurrent.futures.ThreadPoolExecutor() as pool:
        ended = pool.submit(quern.cluster.run_job, "job", program=slow, finish=True)
        stopped = next(iter(until(lambda: ended.done() or held(cluster, here))))
        os.kill(stopped, signal.SIGSTOP)
        (here / "go").touch()
        until(lambda: ended.done() or len(list((here / "job" / "results").glob("*.json"))) >= tasks - 1)
        assert not ended.done(), ended.result()
        assert not os.path.exists("together.jsonl")
        os.kill(stopped, signal.SIGCONT)
        assert ended.result(PATIENCE).ran == tasks
    assert sums(outputs, "together") == sums(outputs, "alone")
    assert len(list((here / "held").glob("[0-9]*"))) == tasks


def test_each_task_has_its_gpu(cluster: Any, here: pathlib.Path, command: Callable[..., bytes], program: str) -> None:
    """By the --device of the planned command. The two GPUs are only counted by Ray: the tasks run on the CPU."""
    outputs = plan_of(command, "nearest", 3)
    for arguments, gpus in (([], 0), (["--device", "cpu"], 0), (["--device", "cuda"], 1), (["--device", "cuda:all"], 1), (["--device", "cuda:0,2"], 3)):
        command("plan", "dedup", "crawl", "-o", "no.jsonl", *arguments, "--share", f"gpus-{'-'.join(arguments)}", "--quiet")
        assert quern.cluster._gpus_of(f"gpus-{'-'.join(arguments)}") == gpus
    with pytest.warns(UserWarning, match="no node of the Ray cluster has 1 CPUs and 2 GPUs"):
        quern.cluster._warn_of_small_nodes(ray, {"CPU": 1, "GPU": 2})
    node = cluster.add_node(**{**NODE, "num_cpus": 2, "num_gpus": 2})
    noting = here / "noting-quern"
    noting.write_text(f"""#!/bin/bash
echo "$CUDA_VISIBLE_DEVICES" >>"{here}/gpus"
exec "{program}" "$@"
""", encoding="utf-8")
    noting.chmod(0o755)
    tasks = len(list((here / "job" / "tasks").iterdir()))
    try:
        assert quern.cluster.run_job("job", num_gpus=1, program=str(noting)).ran == tasks
    finally:
        cluster.remove_node(node)
    seen = [line for line in (here / "gpus").read_text().splitlines() if line]
    assert len(seen) >= tasks and set(seen) <= {"0", "1"}
    command("finish", "job", "--quiet")
    assert sums(outputs, "together") == sums(outputs, "alone")


def test_a_driver_is_killed_and_started_again(cluster: Any, here: pathlib.Path, command: Callable[..., bytes], program: str) -> None:
    outputs = plan_of(command, "dedup", 3)
    slow = held_program(here, program, 2)
    words = [sys.executable, "-m", "quern.cluster", "job", "--address", cluster.address, "--program", slow, "--finish"]
    driver = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    waiting = until(lambda: held(cluster, here))
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    until(lambda: not any(parent_of(process) for process in waiting))
    assert not os.path.exists("together.jsonl")
    (here / "go").touch()
    done = {file: file.stat().st_mtime_ns for file in (here / "job" / "results").glob("*.json")}
    assert done
    summary = quern.cluster.run_job("job", program=slow, finish=True)
    assert summary.ran == summary.tasks - len(done)
    assert sums(outputs, "together") == sums(outputs, "alone")
    assert all(file.stat().st_mtime_ns == at for file, at in done.items())


def test_the_commands_of_the_page(cluster: Any, here: pathlib.Path, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """--cluster ray, as docs/how-to/ray.md has it: the program starts Python, which finds the cluster in RAY_ADDRESS."""
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    monkeypatch.setenv("QUERN_PYTHON", sys.executable)
    words = [program, "dedup", "crawl", "-o", "clean.jsonl", "--quiet"]
    said = subprocess.run([*words, "--cluster", "ray", "--share", "job", "--shards", "6", "--threads", "1", "--memory", "256M"],
                          capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    subprocess.run([*words[:3], "-o", "alone.jsonl", "--quiet"], check=True)
    assert pathlib.Path("clean.jsonl").read_bytes() == pathlib.Path("alone.jsonl").read_bytes()
