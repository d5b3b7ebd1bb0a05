# SPDX-License-Identifier: Apache-2.0
"""What the tests share. QUERN: the program; QUERN_SOURCE: the tree of the project; QUERN_LONG=1: 1000 random cases of a test instead of
100."""

import os
import pathlib
import subprocess
import threading
import time
from collections.abc import Callable

import pytest

try:
    from hypothesis import HealthCheck, settings
except ModuleNotFoundError:  # the environment of Ray has none, and its tests have no random cases
    pass
else:
    cases = 1000 if os.environ.get("QUERN_LONG") else 100
    # A busy machine makes tests slower, and never fail.
    settings.register_profile("quern", max_examples=cases, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("quern")


@pytest.fixture(scope="session")
def program() -> str:
    return os.environ["QUERN"]


@pytest.fixture(scope="session")
def source() -> pathlib.Path:
    return pathlib.Path(os.environ["QUERN_SOURCE"])


@pytest.fixture
def sample(source: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A copy of docs/sample, which is the current folder."""
    import shutil

    folder = tmp_path / "sample"
    shutil.copytree(source / "docs" / "sample", folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="session")
def command(program: str) -> Callable[..., bytes]:
    """Runs the program and returns its standard output."""

    def run(*arguments: object, stdin: bytes = b"") -> bytes:
        done = subprocess.run([program, *map(str, arguments)], input=stdin, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    return run


@pytest.fixture
def in_threads_and_a_fork() -> Callable[..., None]:
    """in_threads_and_a_fork(check, in_child=check): check() is true in four threads at once, in_child() in a forked child."""

    def run(check: Callable[[], bool], in_child: Callable[[], bool] | None = None) -> None:
        results: list[bool] = []
        threads = [threading.Thread(target=lambda: results.append(check())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [True] * 4
        child = os.fork()
        if child == 0:
            os._exit(0 if (in_child or check)() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    return run


@pytest.fixture
def interrupt() -> Callable[[float], None]:
    """interrupt(seconds): Ctrl-C for this process, after a while."""
    import signal

    def start(seconds: float) -> None:
        def send() -> None:
            time.sleep(seconds)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=send, daemon=True).start()

    return start
