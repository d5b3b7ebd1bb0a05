#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Edits a folder at random, and compares build --sync with a build from nothing; kills --sync, and runs it again.

usage: sync_edits.py [--pages FOLDER] [--small N] [--edits N] [--rounds N] [--compare N] [--kills N] [--seed N] [--skip STAGES]

QUERN is the program. Without --pages a folder of --small small pages is made. The edits, in --rounds groups, are of seven kinds: a
page is added, changed, removed, renamed, moved to another folder, given another time, or other permissions (which change nothing).
After each group `build --sync`; and after every --compare-th one, the last one, and those below:

- `build --sync` and `build` of the folder give the same files, byte for byte, but stats.json and *.log;
- a second `build --sync` says that the store is up to date.

In --kills groups, chosen at random, `build --sync` is first killed (SIGKILL) after a random part of the time that it takes. The store
must then be the one before or the new one, byte for byte, `verify` must accept it, and the same command must end with 0, without a
temporary file beside it.
"""
import argparse
import collections
import filecmp
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

QUERN = os.environ["QUERN"]
WORDS = "mill stone quern grain water wheel wind flour bread oven river sluice miller dust sack cart horse road".split()
KINDS = ("add", "change", "remove", "rename", "move", "touch", "permit")


def is_of_the_store(name):
    return name != "stats.json" and not name.endswith(".log")


def files_of(folder):
    """Relative path to path of all files that a store has the same bytes in."""
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            if is_of_the_store(name):
                path = os.path.join(root, name)
                found[os.path.relpath(path, folder)] = path
    return found


def differences(one, two):
    a, b = files_of(one), files_of(two)
    return sorted(set(a) ^ set(b)) + [name for name in a.keys() & b.keys() if not filecmp.cmp(a[name], b[name], shallow=False)]


class Folder:
    def __init__(self, path, chance):
        self.path, self.chance = path, chance
        self.made = 0
        self.pages = sorted(os.path.join(root, name) for root, _, names in os.walk(path) for name in names
                            if name.endswith((".html", ".txt", ".md")))

    def text(self):
        return " ".join(self.chance.choice(WORDS) + str(self.chance.randrange(400)) for _ in range(self.chance.randrange(5, 120)))

    def write(self, page, text):
        if page.endswith(".html"):
            text = f"<html><head><title>{self.chance.choice(WORDS)}</title></head><body><p>{text}</p></body></html>"
        with open(page, "w") as out:
            out.write(text + "\n")

    def folders(self):
        return sorted({os.path.dirname(page) for page in self.pages} | {self.path, os.path.join(self.path, "new folder")})

    def take(self):
        return self.pages.pop(self.chance.randrange(len(self.pages)))

    def put(self, page):
        self.pages.append(page)
        self.pages.sort()

    def edit(self):
        """One edit; returns its kind and its page."""
        kind = self.chance.choice(KINDS)
        if kind == "add" or len(self.pages) < 5:
            self.made += 1
            page = os.path.join(self.chance.choice(self.folders()), f"new {self.made}{self.chance.choice(['.html', '.txt', '.md'])}")
            os.makedirs(os.path.dirname(page), exist_ok=True)
            self.write(page, self.text())
            self.put(page)
            return
        page = self.take()
        if kind == "remove":
            os.remove(page)
        elif kind in ("rename", "move"):
            self.made += 1
            folder = os.path.dirname(page) if kind == "rename" else self.chance.choice(self.folders())
            other = os.path.join(folder, f"named {self.made}{os.path.splitext(page)[1]}")
            os.makedirs(folder, exist_ok=True)
            os.rename(page, other)
            self.put(other)
        else:
            if kind == "change":
                with open(page, "r", errors="replace") as old:
                    before = old.read()
                mode = self.chance.randrange(3)
                if mode == 0:
                    self.write(page, self.text())
                elif mode == 1:
                    with open(page, "a") as out:
                        out.write(f"<p>{self.text()}</p>\n" if page.endswith(".html") else f"\n{self.text()}\n")
                else:
                    with open(page, "w") as out:
                        out.write(before.replace("the ", "this ", 3))
            elif kind == "touch":
                os.utime(page, (time.time(), time.time() - self.chance.randrange(1, 10**8)))
            else:
                os.chmod(page, self.chance.choice([0o600, 0o644, 0o664, 0o755]))
            self.put(page)


class Trial:
    def __init__(self, given, work):
        self.given, self.work = given, work
        self.chance = random.Random(given.seed)
        pages = os.path.join(work, "pages")
        if given.pages:
            shutil.copytree(given.pages, pages, symlinks=True)
            for root, folders, names in os.walk(pages):  # so that any of them can be edited
                for name in folders + names:
                    path = os.path.join(root, name)
                    if not os.path.islink(path):
                        os.chmod(path, 0o755 if os.path.isdir(path) else 0o644)
        else:
            os.makedirs(os.path.join(pages, "inner"))
            some = Folder(pages, self.chance)
            for i in range(given.small):
                some.write(os.path.join(pages, ["", "inner"][i % 2], f"page {i}{['.html', '.txt', '.md'][i % 3]}"), some.text())
        self.folder = Folder(pages, self.chance)
        self.store, self.fresh = os.path.join(work, "store"), os.path.join(work, "fresh")
        self.options = ["--skip", given.skip] if given.skip else []
        self.seconds = collections.Counter()

    def run(self, *command, code=0):
        begin = time.monotonic()
        done = subprocess.run([QUERN, *command], cwd=self.work, capture_output=True, text=True)
        if done.returncode != code:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
        return done.stderr, time.monotonic() - begin

    def sync_command(self):
        return ["build", "pages", "-o", "store", "--sync", *self.options]

    def build_fresh(self):
        _, seconds = self.run("build", "pages", "-o", "fresh", "--force", "--quiet", *self.options)
        self.seconds["build"] += seconds

    def settle(self):
        time.sleep(0.08)  # a file younger than 50 ms makes a store that is not known to be up to date

    def compare(self, what):
        different = differences(self.store, self.fresh)
        if different:
            sys.exit(f"{what}: other than a build from nothing: {', '.join(different)}")
        left = sorted(name for name in os.listdir(self.work) if name not in ("pages", "store", "fresh", "before"))
        if left:
            sys.exit(f"{what}: left {', '.join(left)}")

    def edit(self, edits):
        for _ in range(edits):
            self.folder.edit()
        self.settle()

    def sync(self):
        said, seconds = self.run(*self.sync_command())
        self.seconds["sync"] += seconds
        return said

    def check_whole(self, number):
        self.compare(f"round {number}")
        said, seconds = self.run(*self.sync_command())
        self.seconds["up to date"] += seconds
        if "up to date" not in said and "nothing" not in said:
            sys.exit(f"round {number}: a second --sync did not find the store up to date:\n{said}")

    def kill(self, number, usual):
        """Kills a `build --sync`, and runs it again; returns which store it left, whether it ran, whether the other one resumed."""
        before = os.path.join(self.work, "before")
        shutil.rmtree(before, ignore_errors=True)
        shutil.copytree(self.store, before)
        process = subprocess.Popen([QUERN, *self.sync_command(), "--quiet"], cwd=self.work)
        time.sleep(self.chance.uniform(0, 1.05 * usual))
        process.send_signal(signal.SIGKILL)
        ended = process.wait()
        now = "before" if not differences(self.store, before) else "new"
        if now == "new":
            different = differences(self.store, self.fresh)
            if different:
                sys.exit(f"round {number}: killed, the store is neither the one before nor the new one: {', '.join(different)}")
        self.run("verify", "store", "--quiet")
        return now, ended == -signal.SIGKILL, "resuming" in self.sync()


def main():
    parse = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parse.add_argument("--pages", help="a folder of pages to copy and edit")
    parse.add_argument("--small", type=int, default=60, help="pages of the folder that is made without --pages")
    parse.add_argument("--edits", type=int, default=60)
    parse.add_argument("--rounds", type=int, default=4)
    parse.add_argument("--compare", type=int, default=1, help="compare after every so many rounds")
    parse.add_argument("--kills", type=int, default=4)
    parse.add_argument("--seed", type=int, default=1)
    parse.add_argument("--skip", default="", help="stages to skip")
    given = parse.parse_args()
    if given.kills > given.rounds:
        parse.error("--kills: at most one a round")
    with tempfile.TemporaryDirectory(prefix="quern-sync-") as work:
        trial = Trial(given, work)
        print(f"{len(trial.folder.pages)} pages", flush=True)
        trial.settle()
        _, usual = trial.run(*trial.sync_command())
        with_kill = set(trial.chance.sample(range(1, given.rounds + 1), given.kills))
        found, compared = collections.Counter(), 0
        for number in range(1, given.rounds + 1):
            trial.edit(given.edits * number // given.rounds - given.edits * (number - 1) // given.rounds)
            whole = number % given.compare == 0 or number in with_kill or number == given.rounds
            if whole:
                trial.build_fresh()
            if number in with_kill:
                now, killed, resumed = trial.kill(number, usual)
                found[now] += 1
                found["killed"] += killed
                found["resumed"] += resumed
                print(f"round {number}: killed, the store {now}{', resumed' if resumed else ''}", flush=True)
            else:
                before = trial.seconds["sync"]
                trial.sync()
                usual = trial.seconds["sync"] - before
            if whole:
                trial.check_whole(number)
                compared += 1
                print(f"round {number}: equal", flush=True)
        print(f"{given.edits} edits in {given.rounds} rounds, {compared} compared, all equal; seconds for one: --sync "
              f"{trial.seconds['sync'] / max(1, given.rounds):.2f}, build {trial.seconds['build'] / max(1, compared):.2f}, "
              f"up to date {trial.seconds['up to date'] / max(1, compared):.3f}")
        print(f"{given.kills} kills ({found['killed']} before the end): {found['before']} left the store before, {found['new']} the new one; "
              f"{found['resumed']} builds went on with finished stages")


if __name__ == "__main__":
    main()
