#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills the program (SIGKILL) at random moments, and looks at what is left.

usage: kills.py [--kills N] [--jobs N] [--size N] [--seed N] [--only TEXT]

QUERN is the program, QUERN_FAULTS as for walk_faults.py. Those of scenarios.py that write something
take turns, N kills in all. Each is killed after a random part of the time that it takes. Then:

- each result is as it was before, or is the new one, whole, byte for byte; a store that is added to in several steps passes `verify`;
- the same command again ends with 0 and has made everything;
- no temporary file remains.
"""
import argparse
import concurrent.futures
import os
import random
import subprocess
import sys
import time

from scenarios import SCENARIOS
from walk_faults import QUERN, Walk, contents, own_folder, run, with_threads


class Kills(Walk):
    def __init__(self, scenario, base, size):
        super().__init__(scenario, base)
        self.prepare(size)
        self.killed = self.found_old = self.found_new = 0
        self.usual = []
        for _ in range(3):
            folder = self.fresh()
            begin = time.monotonic()
            run(folder, scenario.command, given=scenario.given)
            self.usual.append(time.monotonic() - begin)

    def kill(self, number, part):
        """Kills the command after this part of its usual time."""
        folder = self.fresh()
        environment = dict(os.environ, QUERN_CACHE=os.path.join(folder, "cache"), TMPDIR=os.path.join(folder, "tmp"))
        when = f"kill {number}"
        with open(os.path.join(folder, self.scenario.given) if self.scenario.given else os.devnull, "rb") as given:
            process = subprocess.Popen([QUERN, *with_threads(self.scenario.command)], cwd=folder, env=environment, stdin=given,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(part * sorted(self.usual)[1])
        process.kill()
        self.killed += process.wait() < 0
        self.tries += 1
        held = {r: contents(os.path.join(folder, r)) for r in self.scenario.results}
        self.found_new += held == self.new
        self.found_old += held == self.old
        for result, what in held.items():
            if what in (self.old[result], self.new[result]):
                continue
            if result not in self.scenario.stores:
                return self.fail(when, f"{result} is neither the old one nor the new one")
            if run(folder, f"verify {result}").returncode != 0:
                return self.fail(when, f"{result} is damaged")
        again = run(folder, self.scenario.command, given=self.scenario.given)
        if again.returncode != 0:
            return None if self.refuses(held, again) else self.fail(when, f"run again: exit code {again.returncode}", again)
        if "is up to date" in again.stderr or "is complete already" in again.stderr:
            return None  # it made nothing, and so looked for no leftovers
        if {r: contents(os.path.join(folder, r)) for r in self.scenario.results} != self.new and not self.scenario.adds():
            self.fail(when, "run again: another result", again)
        if self.leftovers(folder):
            self.fail(when, f"run again: leaves {self.leftovers(folder)}", again)
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--size", type=int, default=200, help="of the inputs; 1: 12 documents")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    scenarios = [s for s in SCENARIOS if s.results and asked.only in s.name]

    def turn(at):
        chance = random.Random(asked.seed * 1000 + at)
        share = asked.kills // len(scenarios) + (at < asked.kills % len(scenarios))
        with own_folder() as base:
            kills = Kills(scenarios[at], base, asked.size)
            for number in range(1, share + 1):
                kills.kill(number, chance.uniform(0, 1.05))
        print(f"{scenarios[at]}: {kills.tries} kills, {kills.killed} before the end; {kills.found_old} found the old results, "
              f"{kills.found_new} the new ones; {kills.bad} complaints", flush=True)
        return kills.tries, kills.killed, kills.bad

    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        tries, killed, bad = map(sum, zip(*pool.map(turn, range(len(scenarios)))))
    print(f"{tries} kills, {killed} before the end, {bad} complaints")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
