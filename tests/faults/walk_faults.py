#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets each system call of the program fail in turn, and looks at what is left.

usage: walk_faults.py [--sample] [--only TEXT] [--calls NAME,...]

QUERN is the program, QUERN_FAULTS the library tests/fakes/fault_injection.cpp. Each scenario is run once without a fault, for
what it makes and for how often it makes each call; then with the Nth call of a name failing. After each:

- the exit code is 0, or 4 with a message that names the cause (3 where one file of a folder cannot be read);
- each result is as it was before, or is the new one, whole: byte for byte what a run without a fault makes;
- the same command again ends with 0 and has made everything (unless the message says that all is in place already);
- no temporary file remains.

With --sample, of some scenarios and calls the first N and the last two are taken; that is what the tests run.
"""
import argparse
import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time

QUERN = os.environ["QUERN"]
FAULTS = os.environ["QUERN_FAULTS"]

# What each call fails with.
CODES = {
    "open": errno.EMFILE, "read": errno.EIO, "write": errno.ENOSPC, "fsync": errno.EIO, "close": errno.EIO,
    "rename": errno.EIO, "link": errno.EIO, "mkdir": errno.ENOSPC, "ftruncate": errno.EIO, "fallocate": errno.ENOSPC,
    "unlink": errno.EIO, "mmap": errno.ENOMEM, "fstat": errno.EIO, "flock": errno.ENOLCK, "thread": errno.EAGAIN,
}


def documents(count):
    return "".join(
        '{"id":"%d","title":"t%d","text":"%s","links":["t%d"]}\n'
        % (i, i, " ".join("word%d" % (i * j % 23) for j in range(1, 30)), (i + 1) % 12)
        for i in range(count))


def inputs(size):
    """Name to text of the inputs; `size` multiplies those of a file."""
    return {"docs.jsonl": documents(12 * size), "graph.tsv": "".join("%d\t%d\n" % (i, (i * 7 + 3) % 20) for i in range(20 * size)),
            "others.jsonl": "".join('{"id":"o%d","text":"other words %d about word%d and more"}\n' % (i, i, i) for i in range(5 * size)),
            "folder/a.txt": "word3 in a file\n", "folder/b.txt": "another word4\n"}


class Scenario:
    """A command, what is there before it, and what it makes."""

    def __init__(self, name, command, results, before=(), left=(), stores=()):
        self.name, self.command, self.results, self.before = name, command, results, before
        self.left = set(left)  # names beside the inputs and results that may be there
        self.stores = set(stores)  # results that are added to in several steps, each of which leaves a whole store

    def __str__(self):
        return self.name

    def adds(self):
        """Whether the command adds to what is there, so that a second run finds all of it."""
        return self.name.endswith(("adds", "to a store", "makes a store"))


SCENARIOS = [
    Scenario("build", "build docs.jsonl -o st", ["st"]),
    Scenario("build over another", "build docs.jsonl -o st --force", ["st"], ["build others.jsonl -o st"]),
    Scenario("build --sync", "build folder -o st --sync", ["st"], ["build folder -o st", "append more words to folder/a.txt"]),
    Scenario("build adds", "build others.jsonl -o st --update", ["st"], ["build docs.jsonl -o st"]),
    Scenario("merge over another", "merge one two -o st --force", ["st"],
             ["build docs.jsonl -o one", "build others.jsonl -o two --skip all", "build docs.jsonl -o st"]),
    Scenario("build with a report and statistics",
             "build docs.jsonl -o st --skip all --report build.html --stats s.json --force", ["st", "build.html"], left=["s.json"]),
    Scenario("words", "words docs.jsonl -o sp --min-count 1", ["sp"]),
    Scenario("dictionary", "dictionary docs.jsonl -o d.dict --force", ["d.dict"], ["dictionary others.jsonl -o d.dict"]),
    Scenario("dedup makes a store", "dedup docs.jsonl --store du -o kept.jsonl --pairs p.tsv --groups g.tsv --force",
             ["du", "kept.jsonl", "p.tsv", "g.tsv"], stores=["du"]),
    Scenario("dedup adds to a store", "dedup others.jsonl --store du -o kept.jsonl --force", ["du", "kept.jsonl"],
             ["dedup docs.jsonl --store du -o kept.jsonl"], stores=["du"]),
    Scenario("filter",
             "filter docs.jsonl --rules gopher-repetition,length.min-words=3 --mask emails -o kept.jsonl --removed m.tsv --report r.html --force",
             ["kept.jsonl", "m.tsv", "r.html"], ["filter others.jsonl --rules length.min-words=3 -o kept.jsonl --removed m.tsv"]),
    Scenario("filter makes a folder", "filter docs.jsonl folder --rules length.min-words=3 -o kept/", ["kept"]),
    Scenario("decontaminate",
             "decontaminate docs.jsonl --against others.jsonl --ngram 2 --overlap 0.1 -o kept.jsonl --matches m.tsv --report r.html --force",
             ["kept.jsonl", "m.tsv", "r.html"], ["decontaminate others.jsonl --against docs.jsonl -o kept.jsonl --matches m.tsv"]),
    Scenario("dedup lists pairs", "dedup docs.jsonl folder -o kept.jsonl --pairs p.tsv --force", ["kept.jsonl", "p.tsv"]),
    Scenario("dedup makes a folder", "dedup docs.jsonl folder -o kept/", ["kept"]),
    Scenario("decontaminate makes a folder",
             "decontaminate docs.jsonl folder --against others.jsonl --ngram 2 --overlap 0.1 -o kept/ --matches m.tsv --force",
             ["kept", "m.tsv"]),
    Scenario("dedup of shards goes on", "dedup docs.jsonl others.jsonl folder -o kept/ --resume", ["kept"]),
    Scenario("dedup of bytes makes a folder", "dedup --binary docs.jsonl folder -o kept/", ["kept"]),
    Scenario("search makes a cache", "search folder word3 -o hits.tsv --force", ["hits.tsv"], left=["cache"]),
    Scenario("search writes hits", "search st word3 -o hits.tsv --force", ["hits.tsv"],
             ["build docs.jsonl -o st", "search st word2 -o hits.tsv"]),
    Scenario("ngrams", "ngrams docs.jsonl -o n.tsv --totals t.tsv --arpa a.arpa --order 2 --force",
             ["n.tsv", "t.tsv", "a.arpa"]),
    Scenario("pagerank", "pagerank graph.tsv -o ranks.tsv.gz --force", ["ranks.tsv.gz"], ["pagerank graph.tsv -o ranks.tsv.gz"]),
    Scenario("export", "export st --ciff c.ciff --documents docs.tsv --force", ["c.ciff", "docs.tsv"],
             ["build docs.jsonl -o st"]),
    Scenario("verify", "verify st", [], ["build docs.jsonl -o st"]),
]

SAMPLED = ("build over another", "dedup adds to a store", "search makes a cache", "pagerank", "verify")
SAMPLED_CALLS = ["open", "write", "fsync", "rename", "mmap", "thread"]


def run(folder, command, fault=None, log=None, extra=None):
    if command.startswith("append "):  # append TEXT to FILE
        text, name = command.removeprefix("append ").split(" to ")
        with open(os.path.join(folder, name), "a", encoding="utf-8") as file:
            file.write(text + "\n")
        time.sleep(0.08)  # a file younger than 50 ms makes a store that is not known to be up to date
        return subprocess.CompletedProcess(command, 0)
    environment = dict(os.environ, QUERN_CACHE=os.path.join(folder, "cache"), TMPDIR=os.path.join(folder, "tmp"), **(extra or {}))
    for name in ("QUERN_FAULT", "QUERN_FAULT_LOG"):
        environment.pop(name, None)
    if log:
        environment["QUERN_FAULT_LOG"] = log
        environment["LD_PRELOAD"] = FAULTS
        if fault:
            environment["QUERN_FAULT"] = fault
    return subprocess.run([QUERN] + command.split() + ["--threads", "2"], cwd=folder, env=environment, text=True,
                          capture_output=True, timeout=120, check=False)


def is_compared(name):
    """Records of the run itself differ from run to run."""
    return name != "stats.json" and not name.endswith(".log")


def compared(path, held):
    """What a file holds. The report of a build has the times of its stages, so that only its end is compared."""
    return held.rstrip()[-7:] if path.endswith("build.html") else held


def contents(path):
    """What a file or folder holds."""
    if not os.path.lexists(path):
        return None
    if os.path.isfile(path):
        with open(path, "rb") as file:
            return compared(path, file.read())
    held = {}
    for folder, folders, files in os.walk(path):
        for name in filter(is_compared, files):
            full = os.path.join(folder, name)
            with open(full, "rb") as file:
                held[os.path.relpath(full, path)] = compared(full, file.read())
        for name in folders:
            held[os.path.relpath(os.path.join(folder, name), path)] = None
    return held


class Walk:
    def __init__(self, scenario, base):
        self.scenario, self.base = scenario, base
        self.before = os.path.join(base, "before")
        self.log = os.path.join(base, "log")
        self.tries = self.bad = 0

    def fail(self, fault, problem, done=None):
        self.bad += 1
        said = done.stderr.strip().splitlines()[-1:] if done else ""
        print(f"{self.scenario}: {fault}: {problem} {said}", flush=True)

    def fresh(self, name):
        folder = os.path.join(self.base, name)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.before, folder, symlinks=True)
        return folder

    def prepare(self, size=1):
        os.makedirs(os.path.join(self.before, "folder"))
        os.makedirs(os.path.join(self.before, "tmp"))
        for name, text in inputs(size).items():
            with open(os.path.join(self.before, name), "w", encoding="utf-8") as file:
                file.write(text)
        for command in self.scenario.before:
            done = run(self.before, command)
            assert done.returncode == 0, done.stderr
        self.old = {r: contents(os.path.join(self.before, r)) for r in self.scenario.results}
        folder = self.fresh("sound")
        done = run(folder, self.scenario.command, log=self.log)
        assert done.returncode == 0, done.stderr
        self.new = {r: contents(os.path.join(folder, r)) for r in self.scenario.results}
        self.names = set(os.listdir(folder))
        with open(self.log, encoding="utf-8") as file:
            return {line.split()[0]: int(line.split()[1]) for line in file if line != "fired\n"}

    def refuses(self, held, done):
        """Whether a run refused to replace what is in place: all results, or without --force one of them."""
        made = [held[r] == self.new[r] != self.old[r] for r in held]
        return done.returncode == 2 and (all(made) or any(made) and "--force" not in self.scenario.command)

    def leftovers(self, folder):
        found = [n for n in os.listdir(folder) if n not in self.names and n not in self.scenario.left]
        found += ["tmp/" + n for n in os.listdir(os.path.join(folder, "tmp"))]
        for inner, folders, files in os.walk(folder):
            if inner != folder:
                found += [os.path.join(os.path.relpath(inner, folder), n) for n in folders + files
                          if ".quern-" in n or n.endswith(".new")]
        return found

    def try_one(self, call, at):
        fault = f"{call}:{at}:{CODES[call]}"
        folder = self.fresh("tried")
        if os.path.exists(self.log):
            os.unlink(self.log)
        self.tries += 1
        try:
            done = run(folder, self.scenario.command, fault, self.log)
        except subprocess.TimeoutExpired:
            return self.fail(fault, "does not end")
        fired = os.path.exists(self.log)
        cause = "cannot start a thread" if call == "thread" else os.strerror(CODES[call])
        one_of_a_folder = done.returncode == 3 and f"cannot be read: {cause}" in done.stderr
        if done.returncode not in (0, 4) and not one_of_a_folder:
            return self.fail(fault, f"exit code {done.returncode}", done)
        if done.returncode == 4 and not fired:
            return self.fail(fault, "failed though nothing was made to fail", done)
        if done.returncode == 4 and cause not in done.stderr and "out of memory" not in done.stderr:
            self.fail(fault, "the message does not name the cause", done)
        held = {r: contents(os.path.join(folder, r)) for r in self.scenario.results}
        for result, what in held.items():
            if what == self.new[result] or (done.returncode != 0 and what == self.old[result]):
                continue
            if done.returncode == 0 or result not in self.scenario.stores:
                self.fail(fault, f"{result} is neither the old one nor the new one", done)
            elif run(folder, f"verify {result}").returncode != 0:
                self.fail(fault, f"{result} is damaged", done)
        if done.returncode == 0:  # it could do without
            if call != "unlink" and self.leftovers(folder):
                self.fail(fault, f"leaves {self.leftovers(folder)}", done)
            return None
        in_place = "is written and in place" in done.stderr
        kept = "resumes from there" in done.stderr
        if call != "unlink" and not kept and self.leftovers(folder):
            self.fail(fault, f"leaves {self.leftovers(folder)}", done)
        try:
            again = run(folder, self.scenario.command)
        except subprocess.TimeoutExpired:
            return self.fail(fault, "does not end when run again")
        if again.returncode != 0 and not (in_place and held == self.new):
            self.fail(fault, f"run again: exit code {again.returncode}", again)
        elif {r: contents(os.path.join(folder, r)) for r in self.scenario.results} != self.new and \
                not self.scenario.adds():
            self.fail(fault, "run again: another result", again)
        if self.leftovers(folder):
            self.fail(fault, f"run again: leaves {self.leftovers(folder)}", again)
        return None

    def walk(self, sample, calls):
        counts = self.prepare()
        for call in calls:
            count = counts[call] + (2 if call == "thread" else 0)
            chosen = range(1, count + 1)
            if sample:
                chosen = sorted({n for n in (1, count - 1, count) if 1 <= n <= count})
            for at in chosen:
                self.try_one(call, at)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--calls", default="")
    asked = parser.parse_args()
    calls = asked.calls.split(",") if asked.calls else SAMPLED_CALLS if asked.sample else list(CODES)
    tries = bad = 0
    for scenario in SCENARIOS:
        if asked.only not in scenario.name or asked.sample and scenario.name not in SAMPLED:
            continue
        with tempfile.TemporaryDirectory() as base:
            walk = Walk(scenario, base)
            walk.walk(asked.sample, calls)
            print(f"{scenario}: {walk.tries} faults, {walk.bad} complaints", flush=True)
            tries, bad = tries + walk.tries, bad + walk.bad
    print(f"{tries} faults, {bad} complaints")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
