#!/usr/bin/env bats
# shellcheck disable=SC2016 # scripts are written in single quotes
# What befalls a distributed job: a worker or the driver is killed, a worker is slow, the shared disk is full. The result is the
# same, or there is an error and nothing half-written under a final name; and the same command goes on.
load common

own_setup() {
    python3 - <<'END'
import json, random
chance = random.Random(5)
words = "the of mill wheel river bread oven water time flour and to in it is stone a turn".split()
with open("small.jsonl", "w", encoding="utf-8") as small:
    for number in range(1500):
        text = " ".join(chance.choices(words, k=chance.randrange(30, 300)))
        small.write(json.dumps({"id": f"d{number}", "text": text if number % 9 else text[: len(text) // 2]}) + "\n")
END
    rules=(--rules "gopher-repetition,gopher-quality,c4,fineweb")
}

# a_large_corpus: large.jsonl, work for seconds.
a_large_corpus() {
    local i
    for i in $(seq 30); do sed "s/\"id\": \"/&$i-/" small.jsonl; done >large.jsonl
}

# on_a_small_disk SIZE SCRIPT: runs the script where the folder disk/ holds SIZE; `grow SIZE` makes it larger.
on_a_small_disk() {
    local own=(unshare --mount)
    [ "$(id -u)" -eq 0 ] || own=(unshare --mount --map-root-user)
    mkdir -p disk
    "${own[@]}" mount -t tmpfs none disk 2>/dev/null || skip "no file system can be mounted here"
    {
        printf '%s\n' 'set -euo pipefail' 'grow() { mount -o remount,size="$1" disk; }' "mount -t tmpfs -o size=$1 none disk"
        declare -f nothing_half_written
        printf '%s\n' "$2"
    } >script
    "${own[@]}" bash script
}

# nothing_half_written JOB: every result is listed by its task, and no temporary files are there.
nothing_half_written() {
    local result
    [ -z "$(find "$1" -name '.*')" ]
    for result in "$1"/results/*; do
        case $result in
        */\*) ;; # there are none
        *.json) python3 -m json.tool "$result" >/dev/null ;;
        *) grep -q "\"${result##*.}\"" "${result%.*}.json" ;;
        esac
    done
}

# a_worker DRIVER: waits for a worker of this driver that has begun, and prints its process id.
a_worker() {
    local process
    for _ in $(seq 2000); do
        for process in $(pgrep -P "$1"); do
            if tr '\0' ' ' <"/proc/$process/cmdline" 2>/dev/null | grep -q '^[^ ]*quern task '; then
                echo "$process"
                return 0
            fi
        done
        sleep 0.005
    done
    return 1
}

gone() { # gone PROCESS: it has ended, within some seconds
    for _ in $(seq 200); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.05
    done
    return 1
}

done_tasks() { find job/results -name '*.json' -printf '%p %T@ %i\n' 2>/dev/null | sort; }

@test "dedup: a shared disk that is full at the plan, at the texts and at the pairs" {
    quern dedup small.jsonl -o whole.jsonl --quiet
    on_a_small_disk 24k '
        # Each size has room for more of the job than the one before.
        failures=0
        for size in 24k 100k 400k 1m 1500k 2m 3m 6m; do
            grow $size
            status=0
            "$QUERN" dedup small.jsonl -o kept.jsonl --cluster local:2 --share disk/job --shards 6 --quiet 2>said || status=$?
            [ $status -ne 0 ] || break
            cat said
            [ $status -eq 4 ]
            grep -q "disk/job.*No space left on device" said
            [ ! -e kept.jsonl ]
            [ ! -d disk/job/results ] || nothing_half_written disk/job
            failures=$((failures + 1))
        done
        [ $status -eq 0 ]
        [ $failures -ge 3 ]
        nothing_half_written disk/job
        "$QUERN" status disk/job | grep -qx "failed.0"'
    sha256sum <kept.jsonl | cmp - <(sha256sum <whole.jsonl)
}

@test "filter: a shared disk that is full at the verdicts" {
    quern filter small.jsonl "${rules[@]}" -o whole.jsonl --quiet
    on_a_small_disk 20k '
        command=("$QUERN" filter small.jsonl --rules gopher-repetition,gopher-quality,c4,fineweb -o kept.jsonl --cluster local:2)
        status=0
        "${command[@]}" --share disk/job --shards 2 --quiet 2>said || status=$?
        cat said
        [ $status -eq 4 ]
        grep -q "disk/job.*No space left on device" said
        [ ! -e kept.jsonl ]
        [ ! -d disk/job/results ] || nothing_half_written disk/job
        grow 20m
        "${command[@]}" --share disk/job --shards 2 --quiet'
    cmp kept.jsonl whole.jsonl
}

@test "the disk of the output is full at the end: the results of the tasks stay" {
    quern dedup small.jsonl -o whole.jsonl --quiet
    on_a_small_disk 100k '
        status=0
        "$QUERN" dedup small.jsonl -o disk/kept.jsonl --cluster local:2 --share job --shards 3 --quiet 2>said || status=$?
        cat said
        [ $status -eq 4 ]
        grep -q "disk/.*No space left on device" said
        [ -z "$(ls -A disk)" ]
        before=$(stat -c %n,%y,%i job/results/*)
        grow 20m
        "$QUERN" finish job --quiet
        [ "$(stat -c %n,%y,%i job/results/*)" = "$before" ]
        cp disk/kept.jsonl kept.jsonl'
    cmp kept.jsonl whole.jsonl
}

@test "a driver that is killed takes its workers with it, and the same command goes on at once" {
    a_large_corpus
    local work=(filter large.jsonl "${rules[@]}" -o kept.jsonl --cluster "local:2" --share job --shards 6 --quiet)
    quern filter large.jsonl "${rules[@]}" -o whole.jsonl --quiet
    "$QUERN" "${work[@]}" &
    local driver=$! worker before line
    for _ in $(seq 2000); do # until a task is done
        [ -z "$(done_tasks)" ] || break
        sleep 0.005
    done
    worker=$(a_worker $driver)
    kill -KILL $driver
    wait $driver || true
    [ ! -e kept.jsonl ]
    before=$(done_tasks)
    [ -n "$before" ]
    quern "${work[@]}"
    gone "$worker"
    cmp kept.jsonl whole.jsonl
    # What was done was not done again.
    while read -r line; do grep -qxF "$line" <(done_tasks); done <<<"$before"
    nothing_half_written job
}

@test "a slow worker: the others go on, its task is refused elsewhere, and the result is the same" {
    a_large_corpus
    quern filter large.jsonl "${rules[@]}" -o whole.jsonl --quiet
    "$QUERN" filter large.jsonl "${rules[@]}" -o kept.jsonl --cluster local:2 --share job --shards 5 --quiet &
    local driver=$! worker task
    worker=$(a_worker $driver)
    task=$(tr '\0' '\n' <"/proc/$worker/cmdline" | sed -n 3p)
    for _ in $(seq 2000); do # until it has its lock
        [ ! -s "job/states/$(basename "$task" .json).running" ] || break
        sleep 0.005
    done
    kill -STOP "$worker"
    for _ in $(seq 1200); do
        [ "$(quern status job | sed -n 's/^done.//p')" -lt 4 ] || break
        sleep 0.05
    done
    quern status job | cmp - <(printf 'done\t4\nrunning\t1\nwaiting\t0\nfailed\t0\n')
    ends_with 2 quern task "$task"
    says "is running on $(uname -n), process $worker"
    [ ! -e kept.jsonl ]
    kill -CONT "$worker"
    wait $driver
    cmp kept.jsonl whole.jsonl
}

@test "a task whose process is killed in the middle counts for nothing" {
    a_large_corpus
    quern plan filter large.jsonl "${rules[@]}" -o kept.jsonl --share job --shards 2 --quiet
    "$QUERN" task job/tasks/0000.json --quiet &
    local worker=$!
    for _ in $(seq 2000); do
        [ ! -s job/states/0000.running ] || break
        sleep 0.005
    done
    kill -KILL $worker
    wait $worker || true
    [ -z "$(done_tasks)" ]
    quern status job | cmp - <(printf 'done\t0\nrunning\t0\nwaiting\t2\nfailed\t0\n')
    quern resume job --cluster local:2 --quiet
    cmp kept.jsonl <(quern filter large.jsonl "${rules[@]}" -o - --quiet)
    nothing_half_written job
}

@test "a share that goes away in mid-run: an error, and the same command goes on once it is back" {
    a_large_corpus
    quern filter large.jsonl "${rules[@]}" -o whole.jsonl --quiet
    on_a_small_disk 200m '
        mkdir seen
        mount --bind disk seen # as a folder of another machine
        command=("$QUERN" filter large.jsonl --rules gopher-repetition,gopher-quality,c4,fineweb -o kept.jsonl --cluster local:2)
        "${command[@]}" --share seen/job --shards 6 --quiet 2>said &
        for _ in $(seq 2000); do # until a task is done
            [ -z "$(find disk/job/results -name "*.json" 2>/dev/null)" ] || break
            sleep 0.005
        done
        kill -STOP $! # so that it does not begin the other tasks before
        umount --lazy seen
        kill -CONT $!
        status=0
        wait $! || status=$?
        cat said
        [ $status -eq 4 ]
        grep -q "seen/job.*\(is gone\|No such file\)" said
        [ ! -e kept.jsonl ]
        mount --bind disk seen
        done=$(stat -c %n,%y,%i seen/job/results/*)
        [ -n "$done" ]
        "${command[@]}" --share seen/job --shards 6 --quiet
        while read -r each; do stat -c %n,%y,%i seen/job/results/* | grep -qxF "$each"; done <<<"$done"
        nothing_half_written seen/job'
    cmp kept.jsonl whole.jsonl
}
