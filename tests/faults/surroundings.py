#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the program where something around it fails: a full disk, a signal, a closed or full output, an input that changes.

usage: surroundings.py [--sample] [--jobs N] [--size N] [--seed N] [--only TEXT] [--parts NAME,...]

QUERN and QUERN_FAULTS are as for walk_faults.py, whose scenarios these are. Parts:

- disk: the folder of the command, its folder for temporary files, or both, on a file system with little room (needs the right to
  mount, as root or in a namespace of its own). Exit code 0, or 4 with the file's name and "No space left on device";
- signals: SIGINT, SIGTERM or SIGHUP at a random moment. Exit code 0, or 130, 143 or 129;
- outputs: standard output is a pipe whose reader is gone (0), closed or /dev/full (4, if something was to be printed), standard
  error is closed; --output is /dev/full (4), /dev/null (0) or a folder (2);
- inputs: while the command reads them, a file is cut, emptied, lengthened, removed or replaced by another one; or a named pipe,
  a folder or an empty file is in its place. Any exit code of docs/commands.md but 70, no crash, no hang.

After each: every result is the old one or the new one, whole; no temporary file remains, unless the message says that the next run
removes or uses them, which then it must.
"""
import argparse
import concurrent.futures
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from scenarios import SCENARIOS, inputs
from walk_faults import QUERN, Walk, contents, own_folder, run, with_threads

PARTS = ("disk", "signals", "outputs", "inputs")
SAMPLED = ("build without stages", "filter", "search prints", "dedup makes a folder", "nearest", "words")
ROOM = (0, 0.1, 0.3, 0.6, 0.9, 1.2)  # parts of what the results take
SECONDS = 60


class Around(Walk):
    def __init__(self, scenario, base, size, chance):
        super().__init__(scenario, base)
        self.chance = chance
        self.prepare(size)
        self.usual = self.time_of_one()
        self.known_inputs = [word for word in scenario.command.split() if word in inputs(1) and "/" not in word]
        if scenario.given:
            self.known_inputs.append(scenario.given)

    def time_of_one(self):
        folder = self.fresh()
        begin = time.monotonic()
        run(folder, self.scenario.command, given=self.scenario.given)
        return time.monotonic() - begin

    def start(self, folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, command=None, ahead=(), temporary=None):
        command = command or self.scenario.command
        environment = dict(os.environ, QUERN_CACHE=os.path.join(folder, "cache"), TMPDIR=temporary or os.path.join(folder, "tmp"))
        given = open(os.path.join(folder, self.scenario.given), "rb") if self.scenario.given else subprocess.DEVNULL
        try:
            return subprocess.Popen([*ahead, QUERN, *with_threads(command)], cwd=folder, env=environment, stdin=given,
                                    stdout=stdout, stderr=stderr, text=True, errors="replace")
        finally:
            if given != subprocess.DEVNULL:
                given.close()

    def ended(self, what, process):
        """The finished process, or None with a complaint."""
        self.tries += 1
        try:
            out, said = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return self.fail(what, "does not end")
        done = subprocess.CompletedProcess(process.args, process.returncode, out or "", said or "")
        if done.returncode < 0 or done.returncode == 70 or "internal error" in done.stderr:
            return self.fail(what, f"exit code {done.returncode}", done)
        return done

    def expect(self, what, done, codes, text=None):
        if done is None:
            return False
        if done.returncode not in codes:
            self.fail(what, f"exit code {done.returncode}, expected {codes}", done)
            return False
        if done.returncode == 4 and text and text not in done.stderr:
            self.fail(what, f"the message does not say {text}", done)
        return True

    # Parts

    def signals(self, times):
        for number in range(times):
            which = self.chance.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
            folder = self.fresh()
            process = self.start(folder)
            time.sleep(self.chance.uniform(0.02, 1.0) * self.usual)
            process.send_signal(which)
            what = f"{which.name} {number}"
            done = self.ended_by_signal(what, process, which)
            if done is not None:
                self.look(folder, what, "signal", done)

    def ended_by_signal(self, what, process, which):
        self.tries += 1
        out, said = process.communicate(timeout=SECONDS)
        done = subprocess.CompletedProcess(process.args, process.returncode, out, said)
        if done.returncode == -which and not said:
            return None  # it came before the program's main()
        return done if self.expect(what, done, (self.scenario.code, 128 + which)) else None

    def outputs(self):
        gone, end = os.pipe()
        os.close(gone)
        with open("/dev/full", "wb") as full, os.fdopen(end, "wb") as pipe:
            for what, to, codes in (("a pipe without a reader", pipe, (0,)), ("/dev/full", full, (4,))):
                if not self.printed:
                    codes = (self.scenario.code,)
                folder = self.fresh()
                self.expect(what, self.ended(what, self.start(folder, stdout=to)), codes, "No space left on device")
        for what, closing in (("closed standard output", ">&-"), ("closed standard error", "2>&-")):
            folder = self.fresh()
            done = self.ended(what, self.start(folder, ahead=("sh", "-c", f'exec "$@" {closing}', "sh")))
            codes = (4,) if self.printed and closing == ">&-" else (self.scenario.code,)
            if self.expect(what, done, codes) and done.returncode == 0 and self.printed not in ("", done.stdout):
                self.fail(what, "prints something else", done)
        self.other_destinations()

    def other_destinations(self):
        words = self.scenario.command.split()
        if "-o" not in words:
            return
        at = words.index("-o") + 1
        is_folder = os.path.isdir(os.path.join(self.before, words[at])) or isinstance(self.new.get(words[at].rstrip("/")), dict)
        for to, codes in (("/dev/full", (4,)), ("/dev/null", (0, self.scenario.code)), ("folder", (2,)), ("/proc/none", (2, 4))):
            if is_folder or words[at].endswith("/") or words[at].endswith(".ibin"):
                codes = (0, 2, 4)
            elif words[0] == "model":
                codes = (2, 4)  # it is mapped
            elif to == "/dev/full" and self.new[words[at]] == b"":
                codes = (0,)
            command = " ".join(words[:at] + [to] + words[at + 1:])
            folder = self.fresh()
            done = self.ended(f"-o {to}", self.start(folder, command=command))
            if self.expect(f"-o {to}", done, codes) and done.returncode != 0 and self.leftovers(folder):
                self.fail(f"-o {to}", f"leaves {self.leftovers(folder)}", done)

    def inputs(self, times):
        for name in self.known_inputs:
            for how in (cut, empty, lengthen, remove, replace):
                for _ in range(times):
                    folder = self.fresh()
                    process = self.start(folder)
                    time.sleep(self.chance.uniform(0, 0.9) * self.usual)
                    how(os.path.join(folder, name))
                    self.changed(folder, f"{name}: {how.__name__}", self.ended(f"{name}: {how.__name__}", process))
            for kind in (fifo, folder_instead, empty) if name != self.scenario.given else ():
                folder = self.fresh()
                writer = kind(os.path.join(folder, name))
                done = self.ended(f"{name}: {kind.__name__}", self.start(folder))
                if writer:
                    writer.stop.set()
                self.changed(folder, f"{name}: {kind.__name__}", done)

    def changed(self, folder, what, done):
        """Results of other inputs are others; but there are none of a failed run, and no temporary files."""
        if done is None or done.returncode in (0, 1):
            return
        for result in self.scenario.results:
            if contents(os.path.join(folder, result)) not in (self.old[result], self.new[result]) and \
                    result not in self.scenario.stores:
                self.fail(what, f"{result} is neither the old one nor the new one", done)
        kept = "resumes from there" in done.stderr or "the next run removes temporary files" in done.stderr
        kept = kept or "--resume" in self.scenario.command
        if not kept and self.leftovers(folder):
            self.fail(what, f"leaves {self.leftovers(folder)}", done)

    def disk(self, options):
        made = run(self.fresh(), self.scenario.command, given=self.scenario.given)
        assert made.returncode == self.scenario.code, made.stderr
        size = sum(size_of(os.path.join(self.base, "tried", result)) for result in self.scenario.results)
        for where in ("results", "scratch", "both"):
            for part in ROOM:
                self.on_small_disk(where, int(part * size), options)

    def on_small_disk(self, where, room, options):
        what = f"{where} on a disk with {room} bytes"
        place = os.path.join(self.base, "tried")
        scratch = os.path.join(place, "tmp")
        elsewhere = tempfile.mkdtemp(dir=self.base)
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        mounted = scratch if where == "scratch" else place
        if where != "scratch":
            mount(place, 1 << 30)
        shutil.copytree(self.before, place, symlinks=True, dirs_exist_ok=True)
        if where == "scratch":
            mount(scratch, max(room, 1) // 4096 * 4096 + 4096)
        else:
            used = os.statvfs(place)
            taken = (used.f_blocks - used.f_bfree) * used.f_frsize
            subprocess.run(["mount", "-o", f"remount,size={taken + room // 4096 * 4096}", place], check=True)
        try:
            done = self.ended(what, self.start(place, command=self.scenario.command + options,
                                               temporary=elsewhere if where == "results" else scratch))
            if self.expect(what, done, (self.scenario.code, 4)):
                if done.returncode == 4 and "No space left on device" not in done.stderr and "disk" not in done.stderr and "/logs/" not in done.stderr:
                    self.fail(what, "the message does not name the cause", done)
                held = {r: contents(os.path.join(place, r)) for r in self.scenario.results}
                for result, now in held.items():
                    if now not in (self.old[result], self.new[result]) and result not in self.scenario.stores:
                        self.fail(what, f"{result} is neither the old one nor the new one", done)
                if done.returncode != 0 and any(now == self.new[r] != self.old[r] for r, now in held.items()) and \
                        "in place" not in done.stderr and not self.scenario.stores:
                    self.fail(what, "some results are there", done)
                kept = "resumes from there" in done.stderr or "next run removes" in done.stderr or "goes on" in done.stderr
                kept = kept or "--resume" in self.scenario.command
                left = self.leftovers(place) + [n for n in os.listdir(elsewhere)]
                if left and not kept:
                    self.fail(what, f"leaves {left}", done)
                self.messages.add(done.stderr.strip().splitlines()[-1] if done.returncode == 4 else "")
        finally:
            subprocess.run(["umount", mounted], check=True)
            shutil.rmtree(elsewhere, ignore_errors=True)

    messages = set()


def size_of(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(4096 + os.path.getsize(os.path.join(at, name)) for at, _, files in os.walk(path) for name in files)


def mount(folder, size):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=True)


def cut(path):
    os.truncate(path, os.path.getsize(path) // 2)


def empty(path):
    os.truncate(path, 0)


def lengthen(path):
    with open(path, "ab") as file:
        file.write(b"more\n" * 5000)


def remove(path):
    os.unlink(path)


def replace(path):
    with open(path + ".other", "wb") as file:
        file.write(b"\xff\x00{ not what was there\n" * 50)
    os.rename(path + ".other", path)
    with open(path + ".other", "wb"):  # its name is among the known ones
        pass
    os.unlink(path + ".other")


def folder_instead(path):
    os.unlink(path)
    os.mkdir(path)


class fifo(threading.Thread):
    """A named pipe in place of a file, which whoever opens it gets the bytes of."""

    def __init__(self, path):
        super().__init__(daemon=True)
        with open(path, "rb") as file:
            self.held = file.read()
        os.unlink(path)
        os.mkfifo(path)
        self.path, self.stop = path, threading.Event()
        self.start()

    def run(self):
        while not self.stop.is_set():
            try:
                end = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                self.stop.wait(0.01)
                continue
            try:
                os.set_blocking(end, True)
                os.write(end, self.held)
            except OSError:
                pass
            os.close(end)
            self.stop.wait(0.3)  # or the reader would find another writer instead of the end


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--size", type=int, default=1)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--messages", action="store_true", help="print those of full disks")
    parser.add_argument("--options", default="", help="for the commands on small disks, such as --memory=8M")
    asked = parser.parse_args()
    parts = asked.parts.split(",")
    if "disk" in parts and os.environ.get("QUERN_OWN_MOUNTS") is None:
        own = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
        if subprocess.run([*own, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False).returncode == 0:
            os.environ["QUERN_OWN_MOUNTS"] = "1"
            os.execvp("unshare", [*own, sys.executable, *sys.argv])
        print("no file system can be mounted here: the part 'disk' is left out")
        parts.remove("disk")
    scenarios = [s for s in SCENARIOS if asked.only in s.name and (not asked.sample or s.name in SAMPLED)]

    def turn(at):
        scenario = scenarios[at]
        counts = {}
        with own_folder() as base:
            around = Around(scenario, base, asked.size, random.Random(asked.seed * 1000 + at))
            for part in parts:
                before = around.tries
                if part == "disk" and scenario.results:
                    around.disk(" " + asked.options if asked.options else "")
                elif part == "signals":
                    around.signals(asked.times)
                elif part == "outputs":
                    around.outputs()
                elif part == "inputs":
                    around.inputs(max(asked.times // 3, 1))
                counts[part] = around.tries - before
        print(f"{scenario}: {counts}, {around.bad} complaints", flush=True)
        return counts, around.bad

    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        done = list(pool.map(turn, range(len(scenarios))))
    if asked.messages:
        print("\n".join(sorted(Around.messages)))
    for part in parts:
        print(f"{part}: {sum(counts.get(part, 0) for counts, _ in done)} tries")
    bad = sum(bad for _, bad in done)
    print(f"{len(scenarios)} scenarios, {bad} complaints")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
