# SPDX-License-Identifier: Apache-2.0
"""Jobs of `quern plan` under Ray: each task file runs as one Ray task on any node that sees the folder of the job.

Needs Ray 2.59 or newer (`pip install "quern-engine[ray]"`), and Quern on every node. The results are those of the command alone, byte for
byte. `quern COMMAND … --cluster ray --share DIR` calls this module; so can a program:

    quern.cluster.run_job("/lustre/job", address="auto", num_cpus=8)
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from . import _program

__all__ = ["JobSummary", "TaskError", "run_job"]

_STOP_SECONDS = 2.0
_LOCK_SECONDS = 180.0  # file systems drop the locks of a lost node after a while: NFS 4 after 90 s
_PR_SET_PDEATHSIG = 1


class TaskError(RuntimeError):
    """A task failed. `exit_code` is that of the program, `task` the number of the task."""

    def __init__(self, task: int, exit_code: int, reason: str) -> None:
        super().__init__(f"task {task} failed with exit code {exit_code}: {reason}")
        self.task, self.exit_code, self.reason = task, exit_code, reason

    def __reduce__(self) -> tuple[Any, ...]:
        return TaskError, (self.task, self.exit_code, self.reason)


class _Killed(RuntimeError):
    """The program was killed by a signal: Ray tries the task again."""


@dataclasses.dataclass(frozen=True)
class JobSummary:
    """What run_job() did."""

    tasks: int  #: of the job, also those that were not needed
    ran: int  #: of these, in this call
    seconds: float
    nodes: int  #: that ran some of them


def _said(log: bytes) -> str:
    lines = log.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else "no message"


def _run_program(command: Sequence[str], sees_gpus: bool) -> tuple[int, str]:
    """Runs a program to its end; returns its exit code and its last message. It ends when the task is cancelled, and when this
    process dies: whoever runs the task again must not find it at work."""
    environment = os.environ if sees_gpus else {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    library, parent = ctypes.CDLL(None), os.getpid()

    def end_with_parent() -> None:
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(128 + signal.SIGTERM)

    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               env=environment, preexec_fn=end_with_parent)
    try:
        log = process.communicate()[1]
    finally:
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_SECONDS)
            process.kill()
            process.wait()
    return process.returncode, _said(log)


def _run_task(file: str, task: int, program: str | None, arguments: Sequence[str], sees_gpus: bool) -> str:
    """Runs one task file in a process of this node; returns the node's name. Waits while a lost node still has its lock."""
    last = time.monotonic() + _LOCK_SECONDS
    while True:
        code, said = _run_program([program or _program.path(), "task", file, "--quiet", *arguments], sees_gpus)
        if code != 2 or f"task {task} is running" not in said or time.monotonic() > last:
            break
        time.sleep(1)
    if code < 0 or code > 128:
        raise _Killed(f"the worker of task {task} was killed (exit code {code}): {said}")
    if code != 0:
        raise TaskError(task, code, said)
    return os.uname().nodename


def _gpus_of(folder: str) -> int:
    """The GPUs that a task needs by the --device of the planned command: those up to the last it names, 1 for cuda and cuda:all."""
    with open(os.path.join(folder, "plan.json"), encoding="utf-8") as file:
        arguments = json.load(file)["request"]["arguments"]
    for argument in arguments:
        if argument == "--":
            break
        if isinstance(argument, str) and argument.startswith("--device=cuda"):
            numbers = [int(number) for number in argument.partition(":")[2].split(",") if number.isdecimal()]
            return max(numbers, default=0) + 1
    return 0


def _tasks_of(folder: str, program: str) -> list[dict[str, Any]]:
    """The rows of `quern status --tasks`."""
    shown = subprocess.run([program, "status", folder, "--tasks", "--format", "jsonl"], capture_output=True, check=False)
    if shown.returncode != 0:
        raise ValueError(_said(shown.stderr))
    return [json.loads(line) for line in shown.stdout.splitlines()]


def _ray() -> Any:
    try:
        import ray
    except ImportError as missing:
        raise ImportError('Ray is not installed (expected ray 2.59 or newer: pip install "quern-engine[ray]")') from missing
    if tuple(int(part) for part in ray.__version__.split(".")[:2]) < (2, 59):
        raise ImportError(f"Ray {ray.__version__} is too old (expected 2.59 or newer)")
    return ray


def _resources(ray: Any) -> list[dict[str, float]]:
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def _memory_share(ray: Any, num_cpus: float) -> int | None:
    """Nine tenths of the part of a node's memory that a task has by its CPUs, on the node where it is least; None if Ray does not know it.
    Ray counts what is free when a node starts, so one that is added later may have a little less, and still gets tasks."""
    shares = [node["memory"] * num_cpus / node["CPU"] for node in _resources(ray) if node.get("CPU", 0) >= max(num_cpus, 1e-4) and "memory" in node]
    return int(0.9 * min(shares)) if shares and num_cpus > 0 else None


def _warn_of_small_nodes(ray: Any, wanted: dict[str, float], can_grow: bool = True) -> None:
    """Ray lets a task wait for a node that is large enough, also where none ever comes. An error if none can come."""
    if any(all(node.get(name, 0) >= count for name, count in wanted.items()) for node in _resources(ray)):
        return
    texts = [f"{count / 2**30:.3g} GiB of memory" if name == "memory" else f"{count:g} {name}s" for name, count in wanted.items() if count]
    if not can_grow:
        raise ValueError(f"a task asks for {' and '.join(texts)}, more than Ray has on this machine (give fewer by num_cpus= and memory=, "
                         "or --threads and --memory; docs/how-to/ray.md)")
    warnings.warn(f"no node of the Ray cluster has {' and '.join(texts)} for a task; the tasks wait until one is added", stacklevel=3)


def _run_phase(ray: Any, remote: Any, numbers: list[int], submit: Callable[[Any, int], Any],
               told: Callable[[], None]) -> set[str]:
    """Runs the tasks of one phase; the first failure cancels the others."""
    waiting = {submit(remote, number): number for number in numbers}
    nodes: set[str] = set()
    try:
        while waiting:
            ready, _ = ray.wait(list(waiting), num_returns=1)
            for done in ready:
                nodes.add(ray.get(done))
                del waiting[done]
                told()
    except BaseException as failure:
        for each in waiting:
            with contextlib.suppress(Exception):
                ray.cancel(each, force=False)
        cause = getattr(failure, "cause", None)
        if isinstance(cause, (TaskError, _Killed)):
            raise cause from None
        raise
    return nodes


def run_job(
    folder: str | os.PathLike[str],
    address: str | None = None,
    *,
    num_cpus: float = 1,
    num_gpus: float | None = None,
    memory: int | None = None,
    max_retries: int = 3,
    progress: Callable[[int, int], None] | None = None,
    finish: bool = False,
    program: str | None = None,
) -> JobSummary:
    """Runs the tasks of a job that are not done, phase by phase.

    folder: of `quern plan --share`; every node sees it and the inputs under the same paths.
    address: of the cluster ("auto": a running one); None: RAY_ADDRESS if it is set, else Ray starts on this machine. Ray that this
        process has started already is used as it is.
    num_cpus, memory: of each task: what Ray reserves, and what the task uses. Memory in bytes; None: nine tenths of the part
        of a node's memory that num_cpus is of its cores.
    num_gpus: of each task; Ray gives it GPUs of its own, which it numbers from 0. None: 1 if the planned command has --device cuda or
        cuda:all, one more than the highest N of cuda:N, else none: the task then sees no GPU, and --device auto takes the CPU.
    max_retries: times that a task is tried again whose worker or node dies.
    progress: called with the numbers of done tasks and of all, without later steps of an iteration, which may not be needed.
    finish: runs `quern finish` on this machine at the end.
    program: the program on all nodes; None: that of the package.

    Raises ValueError (no plan, another version), TaskError for a task that fails, after the others were cancelled, ImportError without
    Ray, and what Ray raises.
    """
    start = time.monotonic()
    here = os.path.abspath(os.fspath(folder))
    own = program or _program.path()
    rows = _tasks_of(here, own)
    done, ran = sum(row["state"] == "done" for row in rows), 0
    nodes: set[str] = set()
    if any(row["state"] not in ("done", "unneeded") for row in rows):
        ray = _ray()
        is_ours = not ray.is_initialized()
        is_here = is_ours and address is None and "RAY_ADDRESS" not in os.environ
        if is_ours:
            ray.init(address=address, include_dashboard=False if is_here else None, log_to_driver=False)
        try:
            wanted_gpus = _gpus_of(here)
            gpus = wanted_gpus if num_gpus is None else num_gpus
            sees_gpus = gpus > 0 or wanted_gpus > 0  # else --device auto would take one that other tasks have reserved
            memory = _memory_share(ray, num_cpus) if memory is None else memory
            _warn_of_small_nodes(ray, {"CPU": num_cpus, "GPU": gpus, "memory": memory or 0}, not is_here)
            arguments = ["--threads", str(max(int(num_cpus), 1))]
            if memory is not None:
                arguments += ["--memory", str(memory)]
            remote = ray.remote(_run_task).options(num_cpus=num_cpus, num_gpus=gpus, memory=memory, max_retries=max_retries,
                                                   retry_exceptions=[_Killed])

            def submit(task: Any, number: int) -> Any:
                return task.remote(os.path.join(here, "tasks", f"{number:04}.json"), number, program, arguments, sees_gpus)

            def told() -> None:
                nonlocal done, ran
                done, ran = done + 1, ran + 1
                if progress is not None:
                    progress(done, sum(row["state"] not in ("possible", "unneeded") for row in rows))

            phase = -1
            while missing := [row for row in rows if row["phase"] > phase and row["state"] not in ("done", "unneeded")]:
                phase = missing[0]["phase"]
                nodes |= _run_phase(ray, remote, [row["task"] for row in missing if row["phase"] == phase], submit, told)
                if any(row["state"] == "possible" for row in rows):  # the phase may have been the last
                    rows = _tasks_of(here, own)
        finally:
            if is_ours:
                ray.shutdown()
    if finish:
        ended = subprocess.run([own, "finish", here, "--quiet"], stderr=subprocess.PIPE, check=False)
        if ended.returncode != 0:
            raise ValueError(_said(ended.stderr))
    return JobSummary(len(rows), ran, time.monotonic() - start, len(nodes))


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m quern.cluster", description="Runs the tasks of a job of quern plan under Ray.")
    parser.add_argument("folder", help="the folder of the job")
    parser.add_argument("--address", help="of the Ray cluster (default: RAY_ADDRESS, else Ray starts here)")
    parser.add_argument("--cpus", type=float, default=1, help="of each task")
    parser.add_argument("--gpus", type=float, help="of each task (default: 1 if the command has --device cuda, else none)")
    parser.add_argument("--memory", type=int, help="bytes of each task (default: nine tenths of its part of a node's memory, by its CPUs)")
    parser.add_argument("--program", help="quern on all nodes (default: that of the package)")
    parser.add_argument("--finish", action="store_true", help="make the results of the command at the end")
    given = parser.parse_args()
    warnings.formatwarning = lambda message, *_, **__: f"quern.cluster: {message}\n"
    try:
        summary = run_job(given.folder, given.address, num_cpus=given.cpus, num_gpus=given.gpus, memory=given.memory,
                          program=given.program, finish=given.finish, progress=lambda done, all_: print(f"{done} of {all_} tasks", file=sys.stderr))
    except TaskError as failure:
        print(f"quern.cluster: {failure}", file=sys.stderr)
        return failure.exit_code
    except (ImportError, ValueError, _Killed, OSError) as failure:
        print(f"quern.cluster: {failure}", file=sys.stderr)
        return 4
    print(f"{summary.tasks} tasks, {summary.ran} of them in {summary.seconds:.1f} s on {summary.nodes} nodes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(_main())
