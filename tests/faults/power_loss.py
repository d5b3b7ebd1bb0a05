#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what a power cut may leave of a command's results, at every moment of its run.

usage: power_loss.py [--again] [--only TEXT]

QUERN and QUERN_FAULTS are as for walk_faults.py, QUERN_TRACE_LIBRARY is the library tests/fakes/file_trace.cpp. Each scenario of
scenarios.py that writes is run once. The library records each call that makes, removes, renames or synchronises a file or folder, and what
a file held when it was synchronised. After each of these calls the power may fail. A file system then promises only what fsync(2) of files and folders
confirmed; what else it has kept differs. Three kinds are tried, each the worst in its way:

- synced: nothing else is kept;
- names: all changes of names are kept, but only the synchronised bytes of files;
- removals: removed names are gone at once, new ones come late.

In each case each result must be as it was before, or the new one, whole, byte for byte; a store that is added to in several steps
must pass `verify`. When the command has ended with 0, the results must be the new ones. With --again, the command is run again over
each of these states, and must then make everything and leave no temporary files. The model of the names is compared with the
folder at the end, so that no call is missed.
"""
import argparse
import os
import shutil
import sys

import walk_faults
from scenarios import SCENARIOS
from walk_faults import Walk, compared, contents, is_compared, own_folder

LIBRARY = os.environ["QUERN_TRACE_LIBRARY"]
KINDS = ("synced", "names", "removals")


class Node:
    """A file or folder: what it holds now, and what of it survives a power cut of each kind."""

    def __init__(self, is_folder):
        self.is_folder = is_folder
        self.bytes = b""  # of a file: those synchronised
        self.time = None  # of a file that was there before: its own
        self.entries = {}  # of a folder: name to node
        self.kept = {"synced": {}, "removals": {}}

    def entries_after(self, kind):
        return self.entries if kind == "names" else self.kept[kind]

    def sync(self):
        for kind in self.kept:
            self.kept[kind] = dict(self.entries)


class Disk:
    """The folder of a scenario, and what becomes of it by the calls of the log."""

    def __init__(self, folder):
        self.nodes = {}
        self.root = self.scan(folder)

    def scan(self, path):
        node = Node(os.path.isdir(path))
        self.nodes[os.lstat(path).st_ino] = node
        if node.is_folder:
            for name in os.listdir(path):
                node.entries[name] = self.scan(os.path.join(path, name))
            node.sync()
        else:
            with open(path, "rb") as file:
                node.bytes = file.read()
            node.time = os.stat(path).st_mtime_ns
        return node

    def remove(self, folder, name):
        node = folder.entries.pop(name)
        if folder.kept["removals"].get(name) is node:
            del folder.kept["removals"][name]

    def apply(self, call, parts, trace):
        """Returns whether the call was about this disk."""
        folder = self.nodes.get(int(parts[0]))
        if folder is None:
            return False
        if call in ("create", "mkdir", "link"):
            inode = int(parts[2])
            if call != "link":
                self.nodes[inode] = Node(call == "mkdir")
            folder.entries[parts[1]] = self.nodes[inode]
        elif call == "unlink":
            self.remove(folder, parts[1])
        elif call in ("rename", "exchange"):
            to, node = self.nodes[int(parts[2])], folder.entries.pop(parts[1])
            if call == "exchange":
                folder.entries[parts[1]] = to.entries[parts[3]]
            to.entries[parts[3]] = node
        elif call == "fsync":
            with open(os.path.join(trace, parts[1]), "rb") as copy:
                folder.bytes = copy.read()
        else:
            folder.sync()
        return True

    def after(self, kind, path):
        """What is found at a path, in the form of contents()."""
        node = self.root
        for name in path.split("/"):
            node = node.entries_after(kind).get(name) if node else None
        if node is None:
            return None
        if not node.is_folder:
            return compared(path, node.bytes)
        held, left = {}, [("", node)]
        while left:
            at, folder = left.pop()
            for name, inner in folder.entries_after(kind).items():
                if inner.is_folder:
                    held[at + name] = None
                    left.append((at + name + "/", inner))
                elif is_compared(name):
                    held[at + name] = compared(name, inner.bytes)
        return held

    def write(self, kind, to, node=None):
        """Writes a state into a folder of the real disk."""
        os.makedirs(to, exist_ok=True)
        for name, inner in (node or self.root).entries_after(kind).items():
            path = os.path.join(to, name)
            if inner.is_folder:
                self.write(kind, path, inner)
            else:
                with open(path, "wb") as file:
                    file.write(inner.bytes)
                if inner.time:
                    os.utime(path, ns=(inner.time, inner.time))

    def names(self, node=None, at=""):
        found = set()
        for name, inner in (node or self.root).entries.items():
            found.add(at + name)
            if inner.is_folder:
                found |= self.names(inner, at + name + "/")
        return found

    def state(self, kind, node=None):
        """A value that is equal for equal states."""
        node = node or self.root
        if not node.is_folder:
            return hash(node.bytes)
        return hash(tuple(sorted((name, self.state(kind, inner)) for name, inner in node.entries_after(kind).items())))


class Loss(Walk):
    """A run of a scenario, and the states that a power cut may leave of it."""

    def __init__(self, scenario, base, again):
        super().__init__(scenario, base)
        self.again, self.seen, self.calls = again, set(), 0

    def traced(self):
        folder = self.fresh()
        trace = os.path.join(self.base, "trace")
        os.mkdir(trace)
        disk = Disk(folder)
        extra = {"LD_PRELOAD": LIBRARY, "QUERN_TRACE": trace}
        done = walk_faults.run(folder, self.scenario.command, extra=extra, given=self.scenario.given)
        assert done.returncode == 0, done.stderr
        self.new = {r: contents(os.path.join(folder, r)) for r in self.scenario.results}
        there = {os.path.relpath(os.path.join(at, name), folder) for at, folders, files in os.walk(folder) for name in folders + files}
        log = os.path.join(trace, "log")
        lines = []
        if os.path.exists(log):
            with open(log, encoding="utf-8") as file:
                lines = [line.rstrip("\n").split("\t") for line in file]
        for number, (call, *parts) in enumerate(lines, 1):
            if disk.apply(call, parts, trace):
                self.calls += 1
                for kind in KINDS:
                    self.check(disk, kind, f"{kind}, after call {number}, {call} {' '.join(parts)}")
        for kind in KINDS:
            for result in self.scenario.results:
                if disk.after(kind, result) != self.new[result]:
                    self.fail(f"{kind}, at the end", f"{result} is not there, though the run said so")
        if disk.names() != there:
            self.fail("the trace", f"misses or adds {sorted(disk.names() ^ there)}")

    def check(self, disk, kind, when):
        state = disk.state(kind)
        if state in self.seen:
            return
        self.seen.add(state)
        self.tries += 1
        held = {r: disk.after(kind, r) for r in self.scenario.results}
        unclear = [r for r, what in held.items() if what not in (self.old[r], self.new[r])]
        for result in unclear:
            if result not in self.scenario.stores:
                return self.fail(when, f"{result} is neither the old one nor the new one")
        if not unclear and not self.again:
            return None
        folder = os.path.join(self.base, "tried")  # where the command ran: the name of a cache depends on it
        shutil.rmtree(folder, ignore_errors=True)
        disk.write(kind, folder)
        for result in unclear:
            if walk_faults.run(folder, f"verify {result}").returncode != 0:
                return self.fail(when, f"{result} is damaged")
        if not self.again or held == self.new or "cache" in self.scenario.left:  # to a cache, a copied folder is another one
            return None
        again = walk_faults.run(folder, self.scenario.command, given=self.scenario.given)
        if again.returncode != 0:
            return None if self.refuses(held, again) else self.fail(when, f"run again: exit code {again.returncode}", again)
        if {r: contents(os.path.join(folder, r)) for r in self.scenario.results} != self.new and not self.scenario.adds():
            self.fail(when, "run again: another result", again)
        if self.leftovers(folder):
            self.fail(when, f"run again: leaves {self.leftovers(folder)}", again)
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    total = bad = 0
    for scenario in SCENARIOS:
        if asked.only not in scenario.name or not scenario.results:
            continue
        with own_folder() as base:
            loss = Loss(scenario, base, asked.again)
            loss.prepare()
            loss.traced()
            print(f"{scenario}: {loss.calls} calls, {loss.tries} states, {loss.bad} complaints", flush=True)
            total, bad = total + loss.tries, bad + loss.bad
    print(f"{total} states, {bad} complaints")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
