#!/usr/bin/env bats
# shellcheck disable=SC2154 # common and bats set $data, $stderr
# quern dedup -o DIR/: the manifest, and runs that are killed and resumed.
load common

own_setup() {
    mkdir in
    python3 - <<'PY'
import random
random.seed(5)
words = ["w%d" % i for i in range(3000)]
texts, number = [], 0
for shard in range(12):
    with open("in/s%02d.jsonl" % shard, "w") as out:
        for _ in range(60):
            if texts and random.random() < 0.2:
                text = random.choice(texts).replace("w1", "v1", 2)
            else:
                text = " ".join(random.choices(words, k=random.randint(50, 400)))
            texts.append(text)
            number += 1
            out.write('{"id":"%d","text":"%s"}\n' % (number, text))
PY
    for s in in/s?[14].jsonl; do gzip -n "$s"; done
    for s in in/s?[25].jsonl; do zstd -q --rm "$s"; done
    export TMPDIR=$PWD
}

plain() { # plain FILE: without its compression
    case $1 in *.gz) gzip -dc "$1" ;; *.zst) zstd -qdc "$1" ;; *) cat "$1" ;; esac
}

long_shard() { # long_shard DOCUMENTS: of 600 letters each, no two alike
    python3 -c '
import random, sys
random.seed(1)
for i in range(int(sys.argv[1])):
    print("{\"id\":\"x%d\",\"text\":\"%d %s\"}" % (i, i, random.randbytes(300).hex()))' "$1"
}

nothing_is_left() { [ -z "$(find . -maxdepth 1 -name '.out*')" ]; }

@test "the manifest lists every output with its size, checksum, documents and source" {
    quern dedup in -o out/ --quiet
    python3 - <<'PY'
import gzip, json, os
manifest = json.load(open("out/manifest.json"))
assert manifest["format"] == "quern kept documents" and manifest["version"] == 1
assert manifest["documents"] == 720 and 0 < manifest["kept"] < 720
assert manifest["parameters"]["threshold"] == "0.05"
outputs = manifest["outputs"]
assert [o["name"] for o in outputs] == sorted(n for n in os.listdir("out") if n != "manifest.json")
assert sum(o["documents"] for o in outputs) == 720
assert sum(o["kept"] for o in outputs) == manifest["kept"]
for o in outputs:
    assert o["bytes"] == os.path.getsize("out/" + o["name"])
    source = os.stat("in/" + o["name"])
    assert o["source"]["path"] == "in/" + o["name"] and o["source"]["bytes"] == source.st_size
    assert o["source"]["modified"].endswith(".%09dZ" % (source.st_mtime_ns % 10**9))
lines = sum(1 for _ in gzip.open("out/s01.jsonl.gz"))
assert lines == next(o["kept"] for o in outputs if o["name"] == "s01.jsonl.gz")
try:
    import xxhash
except ImportError:
    pass
else:
    for o in outputs:
        assert xxhash.xxh3_128_hexdigest(open("out/" + o["name"], "rb").read()) == o["xxh128"]
PY
    # The same for any number of threads.
    quern dedup in -o out1/ --quiet --threads 1 --memory 64M
    diff -r out out1
}

@test "a hundred shards give what one file gives" {
    mkdir many
    for s in in/*; do plain "$s"; done >one.jsonl
    split -n l/100 -d -a 2 --additional-suffix=.jsonl one.jsonl many/p
    for i in $(seq -w 1 3 99); do gzip -n "many/p$i.jsonl"; done
    for i in $(seq -w 2 3 99); do zstd -q --rm "many/p$i.jsonl"; done
    [ "$(find many -type f | wc -l)" -eq 100 ]
    quern dedup one.jsonl -o kept.jsonl --groups groups.tsv --quiet
    quern dedup 'many/*' -o out/ --groups of_shards.tsv --quiet
    for s in many/*; do plain "out/${s#many/}"; done | cmp - kept.jsonl
    cmp groups.tsv of_shards.tsv
    quern dedup many -o joined.jsonl --quiet
    cmp joined.jsonl kept.jsonl
    build one.jsonl store
    build 'many/*' of_shards
    rm -f store/stats.json of_shards/stats.json
    diff -r store of_shards
}

@test "kill -9 at random moments, then --resume: the same bytes, and nothing is left" {
    quern dedup in --threshold 0.1 -o whole/ --quiet
    local trials=3 kills=0
    [ -z "${QUERN_LONG:-}" ] || trials=20
    for _ in $(seq "$trials"); do
        rm -rf out
        until_done 300 dedup in --threshold 0.1 -o out/ --resume
        diff -r whole out
        nothing_is_left
    done
    echo "$kills kills"
    [ $kills -gt 0 ]
}

@test "finished files are not written again" {
    # Killed while it writes the last shard, which is large and compressed.
    long_shard 40000 | zstd -q >in/z.jsonl.zst
    "$QUERN" dedup 'in/*' -o out/ --method signature --quiet &
    local process=$!
    for _ in $(seq 3000); do
        work=$(find . -maxdepth 1 -name '.out.quern-??????')
        if [ -n "$work" ] && [ "$(wc -l 2>/dev/null <"$work/finished")" -ge 12 ]; then break; fi
        kill -0 $process 2>/dev/null || break
        sleep 0.01
    done 2>/dev/null
    kill -KILL $process 2>/dev/null || true
    wait $process || true
    [ ! -e out ] || skip "the run was too fast to be killed"
    [ -e "$work/finished" ]
    local inode
    inode=$(stat -c %i "$work/folder/s00.jsonl")
    # A half-written file, and one whose bytes are not those that were written.
    echo half >"$work/folder/half.jsonl"
    echo more >>"$work/folder/s03.jsonl"
    quern dedup 'in/*' -o out/ --method signature --resume 2>said
    grep -q 'continuing an interrupted run' said
    [ "$(stat -c %i out/s00.jsonl)" = "$inode" ]
    [ ! -e out/half.jsonl ]
    quern dedup 'in/*' -o whole/ --method signature --quiet
    diff -r whole out
    nothing_is_left
}


leftover() { # a killed run: its hidden folder, made by hand from one that fails
    "$QUERN" dedup in -o out/ --resume --quiet 2>/dev/null &
    local process=$!
    for _ in $(seq 2000); do
        [ -e "$(echo .out.quern-??????/request.json)" ] && break
        sleep 0.005
    done
    kill -KILL $process
    wait $process || true
    [ -e out ] && skip "the run was too fast to be killed"
    [ -e "$(echo .out.quern-??????/request.json)" ]
}

@test "another request is refused, and its difference is named" {
    leftover
    refused "threshold was 0.05 and is 0.2 now" dedup in -o out/ --resume --threshold 0.2
    refused "keep was first and is longest now" dedup in -o out/ --resume --keep longest
    refused "ids was scoped and is generate now" dedup in -o out/ --resume --ids generate
    cp -r in other && rm other/s00.jsonl
    refused "other/ was not read" dedup other -o out/ --resume
    mv in/s03.jsonl kept.jsonl
    refused "in/s03.jsonl was read, and is not an input now" dedup in -o out/ --resume
    { cat kept.jsonl && echo '{"id":"new","text":"a new one"}'; } >in/s03.jsonl
    refused "in/s03.jsonl was changed" dedup in -o out/ --resume
    rm in/s03.jsonl && mv kept.jsonl in/s03.jsonl
    ls -d .out.quern-??????
    quern dedup in -o out/ --resume --quiet
    nothing_is_left
}

@test "without --resume an interrupted run is given up; a finished one is complete" {
    leftover
    quern dedup in -o out/ 2>said
    grep -q 'an interrupted run is given up' said
    nothing_is_left
    quern dedup in -o out/ --resume 2>said
    grep -q 'out/ is complete already' said
    quern dedup in -o other/ --groups groups.tsv --quiet --resume
    quern dedup in -o other/ --groups groups.tsv --resume 2>said
    grep -q 'other/ is complete already' said
    refused "out exists and is not empty" dedup in -o out/ --resume --threshold 0.2
    refused "out exists and is not empty" dedup in -o out/
}

@test "--resume needs a folder, and no store" {
    refused "--resume requires --output DIR/" dedup in -o out.jsonl --resume
    refused "--resume requires --output DIR/" dedup in --resume
    refused "--resume and --store cannot be combined" dedup in -o out/ --resume --store seen
    refused "requires --level document" dedup in --level line -o out/ --resume
    [ ! -e seen ]
}

@test "an interrupted run keeps what it has with --resume alone" {
    long_shard 20000 >in/long.jsonl
    for option in "" --resume; do
        # shellcheck disable=SC2086 # none or one option
        "$QUERN" dedup 'in/*' -o out/ --method signature $option 2>said &
        local process=$!
        for _ in $(seq 3000); do
            ls .out.quern-??????/000000.json >/dev/null 2>&1 && break
            kill -0 $process 2>/dev/null || break
            sleep 0.01
        done
        kill -TERM $process
        wait $process || [ $? -eq 143 ]
        [ ! -e out ]
        if [ -z "$option" ]; then
            was_forced said || [ -z "$(find . -maxdepth 1 -name '.out.*')" ]
        fi
    done
    quern dedup 'in/*' -o out/ --method signature --resume --quiet
    nothing_is_left
}

@test "one run at a time writes a folder" {
    leftover
    exec {lock}>.out.quern-lock
    flock "$lock"
    refused "another run is writing to out" dedup in -o out/ --resume
}

@test "a folder with the manifest.json of another program is refused" {
    mkdir out
    for manifest in '[]' '["a"]' '5' null '' '{}' '{"format":1}' '{"format":"quern kept documents","request":5}'; do
        echo "$manifest" >out/manifest.json
        for option in "" --resume; do
            # shellcheck disable=SC2086 # none or one option
            refused "out exists and is not empty (expected a new or an empty folder" dedup in -o out/ $option
        done
    done
}
