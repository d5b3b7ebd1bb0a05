# SPDX-License-Identifier: Apache-2.0
"""Jobs under Ray: with a stand-in that runs tasks here, and with Ray itself where it is installed and starts."""

from __future__ import annotations

import os
import pathlib
import stat
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest
import quern.cluster


@pytest.fixture
def job(sample: pathlib.Path, command: Callable[..., bytes]) -> pathlib.Path:
    """A plan of several tasks, and whole.jsonl, the result of the command alone."""
    rules = ["filter", "crawl.jsonl", "--rules", "length.min-words=12", "--quiet", "-o"]
    command(*rules, "whole.jsonl")
    command("plan", *rules, "kept.jsonl", "--share", "job", "--shards", "3")
    return sample / "job"


class RayError(Exception):
    """As Ray wraps what a task raised."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class FakeRay(types.ModuleType):
    """Runs a task when its result is asked for, as often as its options allow."""

    __version__ = "2.60.0"

    def __init__(self) -> None:
        super().__init__("ray")
        self.cancelled: list[Any] = []
        self.runs = 0
        self.options: dict[str, Any] = {}
        self.is_up = False

    def is_initialized(self) -> bool:
        return self.is_up

    def init(self, **_: object) -> None:
        self.is_up = True

    def shutdown(self) -> None:
        self.is_up = False

    def remote(self, function: Callable[..., str]) -> Any:
        owner = self

        class Remote:
            def options(self, **options: Any) -> Any:
                owner.options = options
                return self

            def remote(self, *arguments: Any) -> tuple[Any, ...]:
                return (function, arguments)

        return Remote()

    def nodes(self) -> list[dict[str, Any]]:
        return [{"Alive": True, "Resources": {"CPU": 1.0, "memory": float(1 << 30)}}]

    def wait(self, references: list[Any], num_returns: int) -> tuple[list[Any], list[Any]]:
        return references[-num_returns:], references[:-num_returns]

    def get(self, reference: tuple[Any, ...]) -> Any:
        function, arguments = reference
        function_arguments = (*arguments[:3], tuple(arguments[3]), *arguments[4:])
        for left in reversed(range(self.options["max_retries"] + 1)):
            self.runs += 1
            try:
                return function(*function_arguments)
            except Exception as failure:
                if not left or not isinstance(failure, tuple(self.options["retry_exceptions"])):
                    raise RayError(failure) from failure
        return None

    def cancel(self, reference: Any, force: bool) -> None:
        self.cancelled.append(reference)


class HashableList(list[str]):
    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay()
    original = fake.remote

    def remote(function: Callable[..., str]) -> Any:
        made = original(function)
        inner = made.remote
        made.remote = lambda *arguments: inner(*arguments[:3], HashableList(arguments[3]), *arguments[4:])
        return made

    fake.remote = remote  # type: ignore[method-assign]
    monkeypatch.setitem(sys.modules, "ray", fake)
    return fake


def test_runs_what_is_missing_then_finishes(job: pathlib.Path, program: str, ray: FakeRay) -> None:
    steps: list[tuple[int, int]] = []
    summary = quern.cluster.run_job(job, num_cpus=1, memory=1 << 28, program=program, finish=True,
                                    progress=lambda done, all_: steps.append((done, all_)))
    assert steps == [(1, 3), (2, 3), (3, 3)]
    assert (summary.tasks, summary.ran, summary.nodes) == (3, 3, 1)
    assert pathlib.Path("kept.jsonl").read_bytes() == pathlib.Path("whole.jsonl").read_bytes()
    assert ray.options["num_cpus"] == 1 and ray.options["memory"] == 1 << 28 and not ray.is_up
    assert quern.cluster.run_job(job, program=program).ran == 0
    assert ray.runs == 3


def test_warns_where_no_node_is_large_enough(job: pathlib.Path, program: str, ray: FakeRay) -> None:
    with pytest.warns(UserWarning, match="no node of the Ray cluster has 8 CPUs for a task"):
        quern.cluster.run_job(job, "auto", num_cpus=8, program=program)


def test_warns_where_no_node_has_the_memory(job: pathlib.Path, program: str, ray: FakeRay) -> None:
    with pytest.warns(UserWarning, match="no node of the Ray cluster has 1 CPUs and 2 GiB of memory for a task"):
        quern.cluster.run_job(job, "auto", memory=2 << 30, program=program)


def test_refuses_more_than_this_machine_has(job: pathlib.Path, program: str, ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Ray runs on this machine alone, no node can be added."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(ValueError, match="a task asks for 1 CPUs and 2 GiB of memory, more than Ray has on this machine"):
        quern.cluster.run_job(job, memory=2 << 30, program=program)
    assert not ray.is_up and ray.runs == 0


def test_a_task_has_its_part_of_a_nodes_memory(job: pathlib.Path, program: str, ray: FakeRay, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the node where it is least, among those that are large enough."""
    each = [{"CPU": 4.0, "memory": float(8 << 30)}, {"CPU": 16.0, "memory": float(16 << 30)}, {"CPU": 1.0, "memory": float(1 << 20)}]
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": True, "Resources": resources} for resources in each])
    quern.cluster.run_job(job, num_cpus=2, program=program)
    assert ray.options["memory"] == int(0.9 * (2 << 30))


@pytest.mark.parametrize(("gpus", "seen"), [(None, ""), (1, "7")])
def test_a_task_without_a_gpu_sees_none(job: pathlib.Path, program: str, ray: FakeRay, monkeypatch: pytest.MonkeyPatch, gpus: int | None,
                                        seen: str) -> None:
    """--device auto would take one that Ray has given to another task."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    monkeypatch.setattr(ray, "nodes", lambda: [{"Alive": True, "Resources": {"CPU": 1.0, "GPU": 1.0, "memory": float(1 << 30)}}])
    noting = job.parent / "noting-quern"
    noting.write_text(f"""#!/bin/bash
[ "$1" != task ] || echo "$CUDA_VISIBLE_DEVICES" >>"{job.parent}/gpus"
exec "{program}" "$@"
""", encoding="utf-8")
    noting.chmod(0o755)
    assert quern.cluster.run_job(job, num_gpus=gpus, program=str(noting)).ran == 3
    assert (job.parent / "gpus").read_text(encoding="utf-8").splitlines() == [seen] * 3


def test_a_killed_worker_is_tried_again(job: pathlib.Path, program: str, ray: FakeRay) -> None:
    dying = job.parent / "dying"
    dying.write_text(f'#!/bin/bash\nif [ "$1" = task ] && mkdir killed-$$ && [ "$(ls -d killed-* | wc -l)" -le 2 ]; then\n'
                     f'kill -KILL $$\nfi\nexec {program} "$@"\n')
    dying.chmod(dying.stat().st_mode | stat.S_IXUSR)
    quern.cluster.run_job(job, program=str(dying), finish=True)
    assert ray.runs == 5
    assert pathlib.Path("kept.jsonl").read_bytes() == pathlib.Path("whole.jsonl").read_bytes()


def test_a_failed_task_cancels_the_others(job: pathlib.Path, program: str, ray: FakeRay) -> None:
    with open("crawl.jsonl", "a", encoding="utf-8") as corpus:
        corpus.write("\n")
    with pytest.raises(quern.cluster.TaskError, match="crawl.jsonl was changed since the plan") as failed:
        quern.cluster.run_job(job, program=program, finish=True)
    assert failed.value.exit_code == 2
    assert len(ray.cancelled) == 3 and ray.runs == 1 and not ray.is_up
    assert not os.path.exists("kept.jsonl")


def test_says_what_is_missing(job: pathlib.Path, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="has no plan.json"):
        quern.cluster.run_job(job.parent, program=program)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match="Ray is not installed"):
        quern.cluster.run_job(job, program=program)
    old = FakeRay()
    old.__version__ = "2.9.3"
    monkeypatch.setitem(sys.modules, "ray", old)
    with pytest.raises(ImportError, match=r"2\.9\.3 is too old"):
        quern.cluster.run_job(job, program=program)


def test_under_ray_itself(job: pathlib.Path, program: str) -> None:
    ray = pytest.importorskip("ray")
    try:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    except Exception as why:
        pytest.skip(f"Ray does not start here: {why}")
    try:
        assert quern.cluster.run_job(job, program=program, finish=True).ran == 3
    finally:
        ray.shutdown()
    assert pathlib.Path("kept.jsonl").read_bytes() == pathlib.Path("whole.jsonl").read_bytes()
