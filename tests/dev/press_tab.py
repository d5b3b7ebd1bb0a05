#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""press_tab.py SHELL SCRIPT LINE...: types each line into an interactive shell that has loaded the completion, presses Tab
where the line has a tab, and Enter at its end; prints what each command line had become, one argument in <> each.

The program is a function that prints its arguments, so no screen has to be read.
"""
import os
import pty
import select
import sys
import time

SET_UP = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source {0}; quern() {{ printf '<%s>' \"$@\"; echo @END; }}"),
    "zsh": (["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -u -D; source {0}; "
                                 "quern() {{ printf '<%s>' \"$@\"; echo @END; }}"),
}
SECONDS = 60  # on a busy machine


def read_until(terminal, mark, count):
    """Everything the terminal shows until `mark` has appeared `count` times."""
    seen, end = b"", time.monotonic() + SECONDS
    while seen.count(mark) < count:
        ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
        if not ready:
            sys.exit(f"press_tab: no {mark!r} within {SECONDS} s; seen: {seen[-2000:]!r}")
        seen += os.read(terminal, 65536)
    return seen


def main(shell, script, lines):
    command, set_up = SET_UP[shell]
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM="dumb", PS1="$ ", ZDOTDIR="/nonexistent", HISTFILE="")
        os.execvp(command[0], command)
    os.write(terminal, (set_up.format(script) + "; printf 'REA''DY\\n'\n").encode())
    read_until(terminal, b"READY", 1)
    for line in lines:
        os.write(terminal, line.encode())
        time.sleep(0.05)
        os.write(terminal, b"\n")
        seen = read_until(terminal, b"@END", 1).decode(errors="replace")
        shown = [part for part in seen.splitlines() if part.endswith("@END")]
        print(shown[-1][shown[-1].index("<"):-len("@END")])
    os.write(terminal, b"exit\n")
    os.close(terminal)
    os.waitpid(child, 0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
