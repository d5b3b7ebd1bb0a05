#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2059,SC2154 # bash -c expands its own text; common and bats set $data, $stderr
# How the program behaves around its results: pipes, interruptions, full disks, determinism, records.
load common

same_store() { diff -r --exclude stats.json "$1" "$2"; }

@test "a closed pipe ends quietly with 0" {
    endless_corpus | head -n 20000 >large.jsonl
    build large.jsonl store
    # More than a pipe holds, to a reader that takes one line.
    run --separate-stderr bash -c '"$QUERN" search store word of document -k all --quiet | head -n 1 >/dev/null; exit "${PIPESTATUS[0]}"'
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
}

@test "closed standard files: messages go nowhere else, and lost results are an error" {
    local status=0
    "$QUERN" build "$data/corpus.jsonl" -o store --skip all --progress json <&- >&- 2>&-
    quern verify store
    "$QUERN" search store apple >&- 2>said || status=$?
    [ "$status" -eq 4 ]
    grep -q "standard output" said
    status=0
    "$QUERN" build - -o other --skip all <&- 2>said || status=$?
    [ "$status" -eq 4 ]
    [ ! -e other ]
}

# interrupted SIGNAL CODE: a build from an endless pipe ends when it is told to, and leaves nothing.
interrupted() {
    mkdir out scratch
    mkfifo pipe
    endless_corpus >pipe 2>/dev/null &
    local writer=$!
    "$QUERN" build - -o out/store --skip all --tmp scratch --memory 256M <pipe 2>said &
    local program=$! status=0
    at_work "$program"
    kill -"$1" "$program"
    wait "$program" || status=$?
    kill "$writer" 2>/dev/null || true
    echo "exit code $status; said: $(cat said)"
    [ "$status" -eq "$2" ]
    grep -q "interrupted" said
    if was_forced said; then
        build "$data/corpus.jsonl" out/store --tmp scratch
        rm -r out/store
    fi
    nothing_left out
    nothing_left scratch
}

@test "Ctrl-C: 130, nothing left" { interrupted INT 130; }
@test "SIGTERM: 143, nothing left" { interrupted TERM 143; }

@test "Ctrl-C while waiting for a pipe: 130" {
    mkdir out
    mkfifo pipe
    sleep 3600 >pipe 3>&- &
    local writer=$!
    "$QUERN" build - -o out/store --skip all <pipe 2>/dev/null 3>&- &
    local program=$! status=0
    at_work "$program"
    kill -INT "$program"
    wait "$program" || status=$?
    kill "$writer"
    [ "$status" -eq 130 ]
    [ ! -e out/store ]
    # What such an end leaves is known for what it is, and removed by the next run.
    build "$data/corpus.jsonl" out/store
    [ "$(ls -A out)" = store ]
}

@test "the second signal ends the program at once" {
    mkdir out
    mkfifo pipe
    sleep 3600 >pipe 3>&- &
    local writer=$!
    "$QUERN" build - -o out/store --skip all <pipe 2>said 3>&- &
    local program=$! status=0
    at_work "$program"
    kill -STOP "$program" # so that both come at the same moment, in any order
    kill -INT "$program"
    kill -TERM "$program"
    kill -CONT "$program"
    wait "$program" || status=$?
    kill "$writer"
    [ "$status" -eq 130 ] || [ "$status" -eq 143 ]
    [ ! -s said ]
    [ ! -e out/store ]
}

@test "the same signal at once again is no second one" { # as timeout sends it, to a process and to its group
    mkdir out
    mkfifo pipe
    sleep 3600 >pipe 3>&- &
    local writer=$!
    "$QUERN" build - -o out/store --skip all <pipe 2>said 3>&- &
    local program=$! status=0
    at_work "$program"
    # The program may end before the last of them comes.
    python3 -c 'import contextlib, os, sys
with contextlib.suppress(ProcessLookupError):
    for _ in range(50): os.kill(int(sys.argv[1]), 2)' "$program"
    wait "$program" || status=$?
    kill "$writer"
    [ "$status" -eq 130 ]
    grep -q "interrupted" said
    was_forced said || nothing_left out
}

@test "an interrupted rebuild keeps the old store" {
    build "$data/corpus.jsonl" store
    cp -r store before
    mkfifo pipe
    endless_corpus >pipe 2>/dev/null &
    local writer=$!
    "$QUERN" build - -o store --skip all --force <pipe 2>/dev/null &
    local program=$! status=0
    at_work "$program"
    kill -TERM "$program"
    wait "$program" || status=$?
    kill "$writer" 2>/dev/null || true
    [ "$status" -eq 143 ]
    diff -r before store
}

@test "a full disk: 4, with the file's name, and nothing half-written" {
    endless_corpus | head -n 100000 >large.jsonl
    mkdir full
    mount -t tmpfs -o size=1m tmpfs full 2>/dev/null || skip "needs the right to mount"
    run --separate-stderr quern build large.jsonl -o full/store --skip all
    left=$(ls -A full)
    umount full
    echo "exit code $status; said: $stderr; left: $left"
    [ "$status" -eq 4 ]
    says "No space left on device"
    [ -z "$left" ]
}

@test "the same bytes for every number of threads and every memory budget" {
    endless_corpus | head -n 30000 >large.jsonl
    build large.jsonl one --threads 1
    build large.jsonl two --threads 2
    same_store one two
    build large.jsonl many --threads 7 --memory 4G
    same_store one many
    build large.jsonl small --threads 2 --memory 48M
    same_store one small
    quern search one word17 document --quiet -k all >first
    quern search small word17 document --quiet -k all --threads 1 | cmp - first
}

@test "the same bytes wherever the corpus is" {
    mkdir -p elsewhere/deeper
    cp -r "$data/garden" elsewhere/deeper/garden
    build "$data/garden" one
    (cd elsewhere && build deeper/garden ../two)
    same_store one two
}

@test "a memory budget is kept" {
    if grep -q -e __asan_init -e __tsan_init "$QUERN"; then skip "sanitizers need memory of their own"; fi
    endless_corpus | head -n 500000 >large.jsonl
    quern build large.jsonl -o store --skip all --quiet --memory 96M --stats stats.json
    peak=$(json stats.json "d['peak_memory_bytes']")
    echo "peak $peak"
    [ "$peak" -le $((96 << 20)) ]
}

@test "results of many topics keep to the memory budget" {
    if grep -q -e __asan_init -e __tsan_init "$QUERN"; then skip "sanitizers need memory of their own"; fi
    endless_corpus | head -n 40000 >large.jsonl
    build large.jsonl store
    for i in $(seq 60); do printf '%d\tword and document %d\n' "$i" "$i"; done >topics
    quern search store --topics topics -k all --memory 64M --run small.run --quiet --stats stats.json
    peak=$(json stats.json "d['peak_memory_bytes']")
    echo "peak $peak"
    [ "$peak" -le $((64 << 20)) ]
    [ "$(wc -l <small.run)" -gt 2000000 ]
    quern search store --topics topics -k all --memory 4G --threads 3 --quiet | cmp - small.run
}

@test "an invalid query line does not end an interactive session" {
    printf '{"id":"1","text":"a pie of apple"}\n{"id":"2","text":"a pear"}\n' >corpus.jsonl
    build corpus.jsonl store
    {
        echo apple
        head -c 300000 /dev/zero | sed 's/\x00/a /g' # more words than a query may hold, in fewer bytes than a line may
        echo
        head -c 3000000 /dev/zero | tr '\0' x # more bytes than a line may hold
        echo
        echo pear
    } >lines
    quern search store --quiet <lines >hits 2>said
    [ "$(cut -f 1 hits | uniq | tr '\n' ' ')" = "0 3 " ]
    grep -q "warning: query 1 was skipped: too many words in a query (at most 262144)" said
    grep -q "warning: query 2 was skipped: the query is too long (at most 1,048,576 bytes)" said
    printf 'apple' | quern search store --quiet | cut -f 1 | grep -q 0 # without an end of line
    ends_with 2 bash -c 'echo apple | "$QUERN" search store --stem porter' # but bad options do end it
}

@test "--stats records the run" {
    quern build "$data/corpus.jsonl" -o store --skip all --quiet --stats build.json --threads 2
    [ "$(json build.json 'sorted(d)')" = \
        "['counts', 'device', 'device_reason', 'peak_memory_bytes', 'seconds', 'stages', 'threads']" ]
    [ "$(json build.json "d['counts']['documents'], d['counts']['vocabulary'] > 20, d['threads'], d['device']")" = \
        "(6, True, 2, 'cpu')" ]
    [ "$(json build.json "all(s['seconds'] >= 0 and s['name'] for s in d['stages']) and len(d['stages']) > 2")" = True ]
    quern search store apple --quiet --stats search.json --device cpu
    [ "$(json search.json "d['counts']['hits'], d['device_reason']")" = "(3, 'requested')" ]
    quern search store pear --quiet --stats search.json # a record is replaced
    [ "$(json search.json "d['counts']['hits']")" -eq 1 ]
    quern search store --topics "$data/topics.tsv" --run out.run --quiet --stats topics.json
    [ "$(json topics.json "d['counts']['queries']")" -eq 3 ]
    quern evaluate "$data/qrels.txt" out.run --quiet --stats evaluate.json
    [ "$(json evaluate.json "d['counts']['topics']")" -eq 2 ]
    quern verify store --stats verify.json
    [ "$(json verify.json "d['stages'][0]['bytes'] > 1000")" = True ]
}

@test "an operation without a choice of device mentions it only in its statistics" {
    ends_with 0 quern build "$data/corpus.jsonl" -o store --skip all --stats stats.json
    [[ $stderr != *"device"* ]]
    [ "$(json stats.json "d['device'], d['device_reason']")" = "('cpu', 'an index runs on cpu only')" ]
    ends_with 0 quern search store apple
    [ -z "$stderr" ]
    ends_with 0 quern search store apple --device cpu
    [ -z "$stderr" ]
    ends_with 0 quern search store apple --quiet
    [ -z "$stderr" ]
}

@test "--progress json: one object a line, in order, to the end" {
    endless_corpus | head -n 50000 >large.jsonl
    quern build large.jsonl -o store --skip all --quiet --progress json 2>lines
    python3 - "$(wc -c <large.jsonl)" <<'END'
import json, sys
stages = []
last = {}
for line in open("lines"):
    d = json.loads(line)
    assert {"stage", "done", "total", "unit", "seconds"} <= set(d), d
    if d["stage"] not in stages: stages.append(d["stage"])
    assert stages[-1] == d["stage"], "stages mix"
    assert d["done"] >= last.get(d["stage"], 0), "it went backwards"
    last[d["stage"]] = d["done"]
    assert d["total"] is None or d["done"] <= d["total"], d
assert "read" in stages, stages
assert last["read"] == int(sys.argv[1]), last
END
}

# stages_in FILE: the stages of --progress json, each once, in order; fails where one comes again or goes backwards.
stages_in() {
    python3 - "$1" <<'END'
import json, sys
stages, last = [], {}
for line in open(sys.argv[1]):
    d = json.loads(line)
    assert {"stage", "done", "total", "unit", "seconds"} <= set(d), d
    if d["stage"] not in stages: stages.append(d["stage"])
    assert stages[-1] == d["stage"], (stages, d)
    assert d["done"] >= last.get(d["stage"], 0), d
    last[d["stage"]] = d["done"]
    assert d["total"] is None or d["done"] <= d["total"], d
print(*stages, sep="\n")
END
}

@test "--progress json: every stage of a command is reported" {
    endless_corpus | head -n 3000 >large.jsonl
    quern dedup large.jsonl -o kept.jsonl --groups groups.tsv --quiet --progress json 2>lines
    [ "$(stages_in lines | tr '\n' ' ')" = "read compare groups write groups write documents " ]
    quern dedup large.jsonl --method shingle --pairs pairs.tsv --quiet --progress json 2>lines
    stages_in lines >stages
    for stage in read shingles compare groups; do grep -qx "$stage" stages; done
    quern words large.jsonl -o space --quiet --progress json 2>lines
    stages_in lines >stages
    for stage in read vocabulary count weigh write similar commit; do grep -qx "$stage" stages; done
    quern dictionary large.jsonl -o words.dict --quiet --progress json 2>lines
    [ "$(stages_in lines | tr '\n' ' ')" = "read choose write " ]
    printf 'a b\nb c\nc a\nc b\n' >graph.txt
    quern pagerank graph.txt -o ranks.tsv --quiet --progress json 2>lines
    [ "$(stages_in lines | tr '\n' ' ')" = "reading graph rank write " ]
    grep '"stage":"rank"' lines | tail -n 1 | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["unit"] == "iterations" and d["done"] > 3 and 0 < d["change"] < 1e-4, d'
}

@test "progress continues while a stage reports nothing" {
    endless_corpus | head -n 30000 >large.jsonl
    : >lines
    said_again() { [ "$(tail -n 2 lines | grep -o '"stage":"read","done":[0-9]*' | uniq -d | wc -l)" -eq 1 ]; }
    {
        cat large.jsonl
        for ((tries = 0; tries < 1200; ++tries)); do
            if said_again; then break; fi
            sleep 0.1
        done
    } | quern signature - --quiet --progress json -o s.tsv 2>lines
    [ "$(grep -o '"stage":"read","done":[0-9]*' lines | uniq -d | wc -l)" -ge 1 ]
    stages_in lines >/dev/null
    tail -n 1 lines | python3 -c 'import json, sys; d = json.load(sys.stdin); assert d["seconds"] > 0.9, d'
}

@test "no progress without a terminal in a short run" {
    SECONDS=0
    quern build "$data/corpus.jsonl" -o store --skip all --device cpu 2>said
    [ "$SECONDS" -ge 9 ] || [ "$(wc -l <said)" -eq 1 ] # the summary
    quern build "$data/corpus.jsonl" -o other --skip all --device cpu --progress never --quiet 2>said
    [ ! -s said ]
}

@test "on a terminal progress is one line that is erased" {
    command -v script >/dev/null || skip "needs script(1) of util-linux"
    endless_corpus | head -n 400000 >large.jsonl
    SHELL=/bin/sh script -qec "stty cols 70; '$QUERN' build large.jsonl -o store --skip all --device cpu" /dev/null </dev/null >seen
    grep -q $'\rread .*%.* of .*MiB' seen # it was there
    # What stays on the screen after every "return and clear to the end of line": the summary alone.
    sed 's/.*\r\x1b\[K//; s/\r$//' seen | tail -n 1 | grep -q '^quern build: 400,000 documents'
}

@test "--config sets options, and the command line overrides them" {
    cat >quern.toml <<'END'
# for every command
quiet = true
threads = 1
[search]
k = 2
format = "jsonl"
[build]
stem = "porter"
force = true
END
    quern build "$data/corpus.jsonl" -o store --skip all --config quern.toml
    [ "$(quern info store | awk '$1 == "stem" { print $2 }')" = porter ]
    quern build "$data/corpus.jsonl" -o store --skip all --config quern.toml --stem none
    [ "$(quern info store | awk '$1 == "stem" { print $2 }')" = none ]
    [[ $(quern search store apple --config quern.toml) == '{"rank":1,'* ]]
    [ "$(quern search store apple --config quern.toml | wc -l)" -eq 2 ]
    [ "$(quern search store apple --config quern.toml -k 1 | wc -l)" -eq 1 ]
    [[ $(quern search store apple --config=quern.toml --format tsv) == 1$'\t'* ]]
    printf '[build]\nstemm = "porter"\n' >wrong.toml
    ends_with 2 quern build "$data/corpus.jsonl" -o new --skip all --config wrong.toml
    says "wrong.toml:2: 'stemm' is not an option of quern build; did you mean 'stem'?"
    for line in 'bogus = 3' '[search]\nbogus = 3' '[serch]\nk = 3' '[evaluate]\nk = 3' 'config = "x"' '[a.b]\nk = 3'; do
        printf "$line\n" >wrong.toml # also where another command is meant
        ends_with 2 quern build "$data/corpus.jsonl" -o new --skip all --config wrong.toml
        says "' is not a"
    done
    gzip -c "$data/corpus.jsonl" >wrong.toml # no text at all
    ends_with 2 quern build "$data/corpus.jsonl" -o new --skip all --config wrong.toml
    [ ! -e new ]
    printf 'threads = many\n' >wrong.toml
    ends_with 2 quern build "$data/corpus.jsonl" -o new --skip all --config wrong.toml
    says "--threads: invalid value 'many' (expected all or a whole number"
}

@test "a word in square brackets is an ordinary word" {
    build "$data/corpus.jsonl" store
    [ "$(quern search store "[apple, honey]" --quiet | wc -l)" -eq "$(quern search store apple honey --quiet | wc -l)" ]
    cp "$data/corpus.jsonl" "[a,b]"
    build "[a,b]" bracketed
    same_store store bracketed
}

@test "words that begin with a dash follow --" {
    build "$data/corpus.jsonl" store
    [ "$(quern search store --quiet -- -apple | wc -l)" -eq 3 ]
}

@test "a moved store gives the same results" {
    build "$data/corpus.jsonl" store
    quern search store apple --quiet >before
    mkdir other && mv store other/place
    quern search other/place apple --quiet | cmp - before
}

# Bytes that a terminal obeys, or that turn its direction: ESC, CSI of C1 (in UTF-8 and as a byte), an override, an isolate, a mark.
hostile=$'a\x1b[2Jb\xc2\x9b2Jc\xe2\x80\xaed\xe2\x81\xa6e\xe2\x80\x8ff'
commands() { LC_ALL=C grep -caP '\x1b\[2J|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae\x8e\x8f]|\xe2\x81[\xa6-\xa9]|\xd8\x9c' "$@"; }

@test "messages never contain terminal control sequences" {
    mkdir folder
    echo text >folder/good.txt
    printf 'cut short' | zstd -q -c | head -c 12 >"folder/$hostile.txt.zst"
    quern build folder -o store --max-errors 1 2>said
    grep -q "a \[2Jb" said # it is named
    [ "$(commands said)" -eq 0 ]
    run --separate-stderr quern search store "$hostile" --like "$hostile"
    [ "$(commands <<<"$stderr")" -eq 0 ]
    run --separate-stderr quern build "$hostile" -o new
    [ "$(commands <<<"$stderr")" -eq 0 ]
    run --separate-stderr quern "$hostile"
    [ "$(commands <<<"$stderr")" -eq 0 ]
    run --separate-stderr quern search store text --format "$hostile"
    [ "$(commands <<<"$stderr")" -eq 0 ]
}

@test "results never contain control sequences on a terminal; files and pipes get them unchanged" {
    command -v script >/dev/null || skip "needs script(1) of util-linux"
    python3 - "$hostile" <<'END' >corpus.jsonl
import json, sys
print(json.dumps({"id": "one " + sys.argv[1], "title": "Title " + sys.argv[1], "text": "apple " + sys.argv[1] + " pie"}, ensure_ascii=False))
END
    quern build corpus.jsonl -o store --quiet
    for form in tsv jsonl table; do
        SHELL=/bin/sh script -qec "'$QUERN' search store apple --format $form --quiet" /dev/null </dev/null >seen
        grep -q "apple" seen
        [ "$(commands seen)" -eq 0 ]
    done
    SHELL=/bin/sh script -qec "'$QUERN' dedup corpus.jsonl -o - --quiet" /dev/null </dev/null >seen
    grep -q "apple" seen
    [ "$(commands seen)" -eq 0 ]
    quern search store apple --quiet | LC_ALL=C grep -qP '\xc2\x9b2J'
    quern search store apple --quiet -o rows
    LC_ALL=C grep -qP '\xe2\x80\xae' rows
    [ "$(quern dedup corpus.jsonl -o - --quiet)" = "$(cat corpus.jsonl)" ]
}
