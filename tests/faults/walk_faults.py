#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets each system call and allocation of the program fail in turn, and looks at what is left.

usage: walk_faults.py [--sample] [--each N] [--most N] [--jobs N] [--only TEXT] [--calls NAME,...]

QUERN is the program, QUERN_FAULTS the library tests/fakes/fault_injection.cpp. Each scenario (scenarios.py) is run once without a
fault, for what it makes and for the calls it makes; then with one call failing. Calls that come from the same places of the
program are one site: of each site the first, the last and others in between are tried, --each of them. After each:

- the exit code is 0, or 4 with a message that names the cause (3 where one file of a folder cannot be read);
- each result is as it was before, or is the new one, whole: byte for byte what a run without a fault makes; so is what was printed
  if the exit code is 0;
- the same command again ends with 0 and has made everything (unless the message says that all is in place already);
- no temporary file remains. The message for an allocation that nothing could catch says that the next run removes them.

With --sample, of some scenarios and calls the first and the last two are taken, and some allocations; that is what the tests run.
"""
import argparse
import concurrent.futures
import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from scenarios import SCENARIOS, inputs

QUERN = os.environ["QUERN"]
FAULTS = os.environ["QUERN_FAULTS"]

# What each call fails with.
CODES = {
    "open": errno.EMFILE, "read": errno.EIO, "write": errno.ENOSPC, "fsync": errno.EIO, "close": errno.EIO,
    "rename": errno.EIO, "link": errno.EIO, "mkdir": errno.ENOSPC, "ftruncate": errno.EIO, "fallocate": errno.ENOSPC,
    "unlink": errno.EIO, "mmap": errno.ENOMEM, "fstat": errno.EIO, "flock": errno.ENOLCK, "thread": errno.EAGAIN,
    "stat": errno.EIO, "readdir": errno.EIO, "pipe": errno.EMFILE, "memory": errno.ENOMEM,
}
REMOVAL = ("unlink", "open", "readdir")  # of temporary files: those that remain are removed by a later run
OUT_OF_MEMORY = ("out of memory", " of memory; ", os.strerror(errno.ENOMEM))


SAMPLED_ALLOCATIONS = 12
SAMPLED = ("build over another", "dedup adds to a store", "search makes a cache", "pagerank", "verify")
SAMPLED_CALLS = ["open", "write", "fsync", "rename", "mmap", "thread", "memory"]


def run(folder, command, fault=None, log=None, extra=None, given=None):
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
    with open(os.path.join(folder, given) if given else os.devnull, "rb") as file:
        return subprocess.run([QUERN] + with_threads(command), cwd=folder, env=environment, text=True, stdin=file,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, errors="replace", timeout=60, check=False)


def is_compared(name):
    """Records of the run itself differ from run to run; temporary files are looked for by leftovers()."""
    return name != "stats.json" and not name.endswith(".log") and ".quern-" not in name


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
        folders[:] = filter(is_compared, folders)
        for name in filter(is_compared, files):
            full = os.path.join(folder, name)
            with open(full, "rb") as file:
                held[os.path.relpath(full, path)] = compared(full, file.read())
        for name in folders:
            held[os.path.relpath(os.path.join(folder, name), path)] = None
    return held


def chosen_of(numbers, each):
    """The first, the last and others in between, evenly."""
    count = min(each, len(numbers))
    return [numbers[0]] if count == 1 else [numbers[i * (len(numbers) - 1) // (count - 1)] for i in range(count)]


def own_folder():
    """A temporary folder, in memory if the system offers that: on a disk fsync takes most of the time."""
    memory = "/dev/shm"
    there = "TMPDIR" not in os.environ and os.path.isdir(memory) and os.access(memory, os.W_OK)
    return tempfile.TemporaryDirectory(dir=memory if there else None)


def with_threads(command):
    """The words of a command, with its number of threads if it has one."""
    return command.split() + ([] if command.startswith(("man", "status", "info", "plan")) else ["--threads", "2"])


class Walk:
    def __init__(self, scenario, base):
        self.scenario, self.base = scenario, base
        self.before = os.path.join(base, "before")
        self.log, self.sites = os.path.join(base, "log"), os.path.join(base, "sites")
        self.tries = self.bad = self.known = 0

    def fail(self, fault, problem, done=None):
        self.bad += 1
        said = done.stderr.strip().splitlines()[-1:] if done else ""
        print(f"{self.scenario}: {fault}: {problem} {said}", flush=True)

    def fresh(self):
        """The folder of the scenario as it is before the command. It always has the same name, for what names it by its path."""
        folder = os.path.join(self.base, "tried")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.before, folder, symlinks=True)
        return folder

    def prepare(self, size=1):
        folder = os.path.join(self.base, "tried")
        os.makedirs(os.path.join(folder, "folder"))
        os.makedirs(os.path.join(folder, "tmp"))
        for name, held in inputs(size).items():
            with open(os.path.join(folder, name), "wb") as file:
                file.write(held if isinstance(held, bytes) else held.encode())
        for command in self.scenario.before:
            done = run(folder, command)
            assert done.returncode == 0, done.stderr
        os.rename(folder, self.before)
        self.old = {r: contents(os.path.join(self.before, r)) for r in self.scenario.results}
        folder = self.fresh()
        done = run(folder, self.scenario.command, log=self.log, extra={"QUERN_FAULT_SITES": self.sites}, given=self.scenario.given)
        assert done.returncode == self.scenario.code, done.stderr
        self.new = {r: contents(os.path.join(folder, r)) for r in self.scenario.results}
        self.names, self.printed = set(os.listdir(folder)), done.stdout
        return self.calls_of()

    def calls_of(self):
        """Call to site to the numbers of its calls."""
        found = {call: {} for call in CODES}
        with open(self.sites, encoding="utf-8") as file:
            for line in file:
                call, number, site = line.split()
                found[call].setdefault(site, []).append(int(number))
        return found

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
        folder = self.fresh()
        if os.path.exists(self.log):
            os.unlink(self.log)
        self.tries += 1
        try:
            done = run(folder, self.scenario.command, fault, self.log, given=self.scenario.given)
        except subprocess.TimeoutExpired:
            return self.fail(fault, "does not end")
        fired = os.path.exists(self.log)
        causes = ("cannot start a thread",) if call == "thread" else (os.strerror(CODES[call]),)
        if call in ("memory", "mmap"):
            causes = OUT_OF_MEMORY
        one_of_a_folder = done.returncode == 3 and any(f"cannot be {what}: {cause}" in done.stderr for what in ("read", "listed")
                                                       for cause in causes)
        if done.returncode == -signal.SIGABRT and "Fatal glibc error" in done.stderr:
            return None  # the C library itself ends the program, with its own message, where it cannot register a thread-local
        if done.returncode not in (self.scenario.code, 4) and not one_of_a_folder:
            return self.fail(fault, f"exit code {done.returncode}", done)
        if done.returncode == 4 and not fired:
            return self.fail(fault, "failed though nothing was made to fail", done)
        in_a_log = "/logs/" in done.stderr  # of a worker, if its last line could not be read
        if done.returncode == 4 and not in_a_log and not any(cause in done.stderr for cause in (*causes, "out of memory")):
            self.fail(fault, "the message does not name the cause", done)
        return self.look(folder, fault, call, done)

    def look(self, folder, fault, call, done):
        """At what the command has left, and at what the same command makes then."""
        ended = done.returncode == self.scenario.code
        held = {r: contents(os.path.join(folder, r)) for r in self.scenario.results}
        if ended and done.stdout != self.printed and "--stream" not in self.scenario.command:
            self.fail(fault, "prints something else", done)
        for result, what in held.items():
            if what == self.new[result] or (not ended and what == self.old[result]):
                continue
            if ended or result not in self.scenario.stores:
                self.fail(fault, f"{result} is neither the old one nor the new one", done)
            elif what is not None and run(folder, f"verify {result}").returncode != 0:
                self.fail(fault, f"{result} is damaged", done)
        if ended:  # it could do without
            if call not in REMOVAL and self.leftovers(folder):
                self.fail(fault, f"leaves {self.leftovers(folder)}", done)
            return None
        in_place = "is written and in place" in done.stderr
        kept = "resumes from there" in done.stderr or "the next run removes temporary files" in done.stderr
        kept = kept or "--resume" in self.scenario.command  # who says so wants what is finished to be kept
        if call != "unlink" and not kept and self.leftovers(folder):
            self.fail(fault, f"leaves {self.leftovers(folder)}", done)
        try:
            again = run(folder, self.scenario.command, given=self.scenario.given)
        except subprocess.TimeoutExpired:
            return self.fail(fault, "does not end when run again")
        if again.returncode != self.scenario.code:
            if not (in_place and held == self.new) and not self.refuses(held, again):
                self.fail(fault, f"run again: exit code {again.returncode}", again)
        elif {r: contents(os.path.join(folder, r)) for r in self.scenario.results} != self.new and \
                not self.scenario.adds():
            self.fail(fault, "run again: another result", again)
        if self.leftovers(folder):
            self.fail(fault, f"run again: leaves {self.leftovers(folder)}", again)
        return None

    def walk(self, sample, calls, each, most):
        found = self.prepare()
        for call in calls:
            numbers = sorted(n for site in found[call].values() for n in site)
            count = numbers[-1] if numbers else 0
            if sample and call == "memory":
                chosen = set(chosen_of(sorted(site[0] for site in found[call].values()), SAMPLED_ALLOCATIONS))
            elif sample:
                chosen = {n for n in (1, count - 1, count) if 1 <= n <= count}
            else:
                chosen = {n for site in found[call].values() for n in chosen_of(site, each)}
                chosen = set(chosen_of(sorted(chosen), most)) if chosen else chosen
            if call == "thread":
                chosen |= {count + 1, count + 2}
            self.known += count
            for at in sorted(chosen):
                self.try_one(call, at)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--each", type=int, default=3, help="calls of a site")
    parser.add_argument("--most", type=int, default=300, help="faults of one call in a scenario, spread over its sites")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--calls", default="")
    asked = parser.parse_args()
    calls = asked.calls.split(",") if asked.calls else SAMPLED_CALLS if asked.sample else list(CODES)
    scenarios = [s for s in SCENARIOS if asked.only in s.name and (not asked.sample or s.name in SAMPLED)]

    def turn(scenario):
        with own_folder() as base:
            walk = Walk(scenario, base)
            walk.walk(asked.sample, calls, asked.each, asked.most)
            print(f"{scenario}: {walk.tries} faults of {walk.known} calls, {walk.bad} complaints", flush=True)
            return walk.tries, walk.bad

    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        tries, bad = map(sum, zip(*pool.map(turn, scenarios)))
    print(f"{tries} faults in {len(scenarios)} scenarios, {bad} complaints")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
