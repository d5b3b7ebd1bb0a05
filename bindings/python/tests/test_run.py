# SPDX-License-Identifier: Apache-2.0
"""How a call behaves: Ctrl-C, progress, messages, threads, fork, exceptions, shared parameters."""

import logging
import multiprocessing
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

import pytest
import quern

LETTERS = random.Random(0)
WORDS = ["".join(LETTERS.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(2000)]


def made_texts(count: int, words: int = 200, seed: int = 1) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=words)) for _ in range(count)]


@pytest.mark.parametrize("as_generator", [False, True])
def test_ctrl_c_ends_a_run_soon(interrupt, as_generator):
    texts = made_texts(3000)
    documents = (text for _ in range(1000) for text in texts) if as_generator else texts
    interrupt(0.7)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        quern.dedup(documents, method="exhaustive", threshold=0.4, progress=False)
    assert time.monotonic() - start < 0.7 + 1.5  # the aim is half a second; a busy machine needs more


def test_an_interrupted_run_leaves_no_output(interrupt, tmp_path):
    output = tmp_path / "kept.jsonl"
    interrupt(0.5)
    with pytest.raises(KeyboardInterrupt):
        quern.dedup(made_texts(6000), method="exhaustive", threshold=0.4, output=output, progress=False, tmp=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_progress_tells_the_stages():
    seen = []
    quern.dedup(made_texts(3000), progress=lambda *now: seen.append(now))
    assert {stage for stage, _, _, _ in seen} >= {"groups"}
    for stage, done, total, unit in seen:
        assert stage and unit and done >= 0 and total >= 0


def test_an_exception_of_the_listener_ends_the_run():
    def listener(*now):
        raise ZeroDivisionError("in the listener")

    with pytest.raises(ZeroDivisionError, match="in the listener"):
        quern.dedup(made_texts(5000), progress=listener)


def test_progress_bar_and_its_absence(capfd):
    quern.dedup(made_texts(1000), progress=True)
    assert capfd.readouterr().err
    quern.dedup(made_texts(1000), progress=False)
    out, err = capfd.readouterr()
    assert out == "" and err == ""
    quern.dedup(made_texts(1000))  # not a terminal
    out, err = capfd.readouterr()
    assert out == "" and err == ""
    with pytest.raises(TypeError, match="progress"):
        quern.dedup(["a"], progress="yes")


def test_an_exception_of_a_generator_is_raised_as_it_is():
    def documents():
        yield "one"
        raise LookupError("in the generator")

    with pytest.raises(LookupError, match="in the generator"):
        quern.dedup(documents())


def test_a_generator_runs_on_the_calling_thread():
    seen = set()

    def documents():
        for text in made_texts(3000, words=30):
            seen.add(threading.get_ident())
            yield text

    quern.dedup(documents(), threads=4)
    assert seen == {threading.get_ident()}


def test_threads_do_not_block_each_other_and_agree():
    texts = made_texts(1500)
    expected = quern.dedup(texts, threads=1).fingerprint
    found = []
    workers = [threading.Thread(target=lambda: found.append(quern.dedup(texts).fingerprint)) for _ in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 6


def test_the_interpreter_runs_on_during_a_call():
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.01)

    other = threading.Thread(target=tick)
    other.start()
    quern.dedup(made_texts(600), method="exhaustive", threshold=0.1)
    stop.set()
    other.join()
    assert max(b - a for a, b in zip(ticks, ticks[1:])) < 1.0


def _in_child(queue, texts):
    queue.put(quern.dedup(texts).fingerprint)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(method):
    texts = made_texts(1000)
    expected = quern.dedup(texts).fingerprint  # the parent has had threads before it forks
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(queue, texts))
    child.start()
    try:
        assert queue.get(timeout=60) == expected
    finally:
        child.join(10)
        assert child.exitcode == 0


def test_import_needs_nothing_but_the_standard_library():
    code = "import sys, quern; print(*sorted(m for m in ('numpy', 'pyarrow', 'pandas', 'tqdm') if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_messages_go_to_logging(caplog, tmp_path):
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"id":"1","text":"good"}\n' * 1 + '{"id":"2","text":"bad \\ud800"}\n')
    with caplog.at_level(logging.INFO, logger="quern"):
        result = quern.dedup(broken, max_errors="50%")
    assert result.documents + result.counts["rejected"] == 2
    assert all(record.name == "quern" for record in caplog.records)


def test_exceptions_mirror_the_exit_codes(tmp_path):
    codes = {
        quern.UsageError: 2, quern.InvalidInput: 3, quern.StorageError: 4, quern.OutOfMemory: 4, quern.DeviceError: 4,
        quern.DamagedStore: 5,
    }
    for error, code in codes.items():
        assert issubclass(error, quern.Error) and error.exit_code == code and error.__module__ == "quern"
    assert issubclass(quern.UsageError, ValueError) and issubclass(quern.InvalidInput, ValueError)
    assert issubclass(quern.StorageError, OSError) and issubclass(quern.OutOfMemory, MemoryError)

    with pytest.raises(quern.UsageError, match="no such file"):
        quern.dedup(tmp_path / "missing.jsonl")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    with pytest.raises(quern.InvalidInput):
        quern.dedup(empty)
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": \n' * 5)
    with pytest.raises(quern.InvalidInput) as caught:
        quern.dedup(bad, format="jsonl")
    assert caught.value.path == str(bad) and caught.value.line == 1 and len(caught.value.rejected) >= 1


def test_device_errors():
    with pytest.raises((quern.DeviceError, quern.UsageError)):
        quern.dedup(["a", "b"], device="cuda:1000")
    with pytest.raises(quern.UsageError, match="invalid device"):
        quern.dedup(["a", "b"], device="gpu")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"threads": -1}, quern.UsageError, "threads: invalid value '-1'"),
        ({"threads": 1.5}, quern.UsageError, "threads: invalid value 1.5"),
        ({"threads": True}, quern.UsageError, "threads"),
        ({"memory": "many"}, quern.UsageError, "memory: invalid size 'many'"),
        ({"memory": 0}, quern.UsageError, "memory"),
        ({"tmp": "/no/such/folder"}, quern.UsageError, "tmp: /no/such/folder is not a folder"),
        ({"threshold": 2}, quern.UsageError, "threshold: invalid value '2'"),
        ({"threshold": None, "keep": "best"}, quern.UsageError, "keep: invalid value 'best' .expected one of first"),
        ({"treshold": 0.1}, TypeError, "did you mean threshold"),
        ({"list_pairs": 1}, quern.UsageError, "list_pairs: invalid value 1 .expected True or False"),
    ],
)
def test_values_are_checked(arguments, error, message):
    with pytest.raises(error, match=message):
        quern.dedup(["a text", "another"], **arguments)


def test_numpy_numbers_are_numbers():
    import numpy

    result = quern.dedup(["a text", "a tent"], threshold=numpy.float64(0.2), threads=numpy.int32(1),
                         list_pairs=numpy.bool_(True))
    assert len(result.pairs) == 1


def test_config_gives_values_to_calls(tmp_path):
    with quern.config(threads=1, memory="512M", tmp=tmp_path):
        assert quern.dedup(["a", "b"]).statistics["threads"] == 1
        with quern.config(threads=2):
            assert quern.dedup(["a", "b"]).statistics["threads"] == 2
        assert quern.dedup(["a", "b"], threads=2).statistics["threads"] == 2
    with pytest.raises(TypeError, match="config"):
        with quern.config(thread=1):
            pass


def test_the_same_result_with_little_memory_and_any_threads(tmp_path):
    texts = made_texts(3000) + made_texts(50)
    expected = quern.dedup(texts).fingerprint
    for threads in (1, 3):
        assert quern.dedup(texts, threads=threads, memory="64M", tmp=tmp_path).fingerprint == expected
    assert os.listdir(tmp_path) == []


def test_paths_of_any_kind(tmp_path):
    corpus = tmp_path / "c.jsonl"
    corpus.write_text('{"id":"1","text":"one"}\n{"id":"2","text":"one"}\n')
    for path in (corpus, str(corpus), [corpus], str(tmp_path / "*.jsonl")):
        assert quern.dedup(path).dropped == 1
    with pytest.raises(quern.UsageError, match="no file matches"):
        quern.dedup(str(tmp_path / "*.tsv"))
    with pytest.raises(quern.Error, match="no record has a field .body. ..text_field"):
        quern.dedup(pathlib.Path(corpus), text_field="body")


def test_an_array_is_no_whole_number() -> None:
    import numpy

    with pytest.raises(TypeError, match="integer"):
        quern.dedup(["a text"], threads=numpy.array([2.5]))
