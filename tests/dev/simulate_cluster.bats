#!/usr/bin/env bats
# shellcheck disable=SC2154 # bats sets $stderr
# The simulator of clusters: formulas against numbers worked out by hand and against brute force, what it refuses, the table of the
# documentation, and a real measurement of small runs.
bats_require_minimum_version 1.5.0

setup() {
    simulate=$QUERN_SOURCE/bench/simulate-cluster
    export PYTHONPATH=$QUERN_SOURCE/bench/cluster PYTHONDONTWRITEBYTECODE=1
    cd "$BATS_TEST_TMPDIR" || return 1
}

refused() { # refused TEXT ARGUMENT...
    run --separate-stderr "$simulate" "${@:2}"
    echo "$status $stderr" # shown when the test fails
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [[ $stderr == "simulate-cluster: "*"$1"* ]]
}

rates() { # rates FILE: of round numbers
    python3 - "$1" <<'END'
import json, sys
values = dict(task=0.5, checksum=1e-9, judge=1e-7, filter_end=1e-8, distinct=2e-8, block=1e-8, pair=1e-8, dedup_end=1e-8, value=1e-9,
              entry=1e-7, write=0, place=1e-6, token=6, count_bytes=2, word_end=1e-8, merge=4e-8, link_read=1e-7, link=1e-8, step_byte=1e-10,
              rank=1e-6, shingle_words=0.7, shingle_read=1e-8, shingle=1e-7, shingle_memory=4, verdict_bytes=0, peak=1e9)
json.dump({"rates": {name: {"value": value} for name, value in values.items()}}, open(sys.argv[1], "w"))
END
}

@test "the last task ends when it should, and pairs are counted as by brute force" {
    python3 - <<'END'
import itertools, model, random
assert model.makespan([3, 1, 1, 1], 2) == 3 and model.makespan([1, 1, 1, 3], 2) == 4 and model.makespan([], 2) == 0
assert model.makespan([2] * 7, 3) == model.makespan_of_equal(2, 7, 3) == 6
chance = random.Random(1)
for threshold, blocks, texts in itertools.product((0.01, 0.05, 0.4), (1, 2, 7), (1, 7, 200)):
    lengths = sorted(chance.uniform(1, 900) for _ in range(texts))
    edges = [texts * b // blocks for b in range(blocks + 1)]
    block = [max(b for b in range(blocks) if edges[b] <= i) for i in range(texts)]
    slow = {}
    for i, j in itertools.combinations(range(texts), 2):
        if lengths[j] - lengths[i] < threshold * (lengths[j] + lengths[i]):
            slow[block[i], block[j]] = slow.get((block[i], block[j]), 0) + 1
    assert model.allowed_pairs(lengths, blocks, threshold) == slow, (threshold, blocks, texts)
shares = [sum(model.allowed_pairs(model.quantiles(n, 2048, 0.65), 9, 0.05).values()) / n**2 for n in (2000, 4000)]
assert all(abs(share / 0.0436 - 1) < 0.02 for share in shares), shares  # that of the measured set of 400,000 documents
END
}

@test "costs that were added up are taken apart again" {
    python3 - <<'END'
import measure
near = lambda found, wanted: all(abs(a - b) <= 1e-9 * max(abs(b), 1e-9) for a, b in zip(found, wanted, strict=True))
rows = [(a, b, 3e-9 * a + 2e-8 * b) for a, b in ((1e6, 5e7), (2e6, 1e7), (3e6, 9e7), (1e6, 0))]
assert near(measure.two_costs(rows), (3e-9, 2e-8)), measure.two_costs(rows)
assert near(measure.two_costs([(1e6, 0, 3.0)]), (3e-6, 0))
x, y = measure.two_costs([(1e6, 1e6, 1.0), (2e6, 1e6, 0.5), (1e6, 3e6, 3.0)])
assert x == 0 and y > 0  # no cost is negative
END
}

@test "filter: the seconds of each stage, by hand" {
    rates rates.json
    echo '{"name": "two", "nodes": 2, "cores": 4, "memory_gb": 100, "network_gbit": 8, "disk_gb_s": 1, "share_gb_s": 1.6}' >two.json
    "$simulate" predict --rates rates.json --cluster two.json --work filter-1e8 --json >found.json
    python3 - <<'END'
import json
stages = {each["name"]: each for each in json.load(open("found.json"))[0]["stages"]}
text = 204.8e9
near = lambda a, b: abs(a / b - 1) < 1e-9
# One node reads 1 GB/s, and has 4 threads.
assert near(stages["plan"]["seconds"], 204.8 / 4 + 204.8)
# 32 tasks on 8 slots: 4 rounds, each task with an eighth of 1.6 GB/s.
each = 0.5 + 101e-9 * text / 32 + text / 32 / 0.2e9
assert stages["judge"]["tasks"] == 32 and near(stages["judge"]["seconds"], 4 * each)
assert near(stages["judge"]["cpu_seconds"], 101e-9 * text + 16) and near(stages["judge"]["traffic"], text)
# What does not fit the memory is read again, and four fifths are written.
assert near(stages["end: apply, write"]["seconds"], 1e-8 * text / 4 + 1.8 * text / 1e9)
END
}

@test "more nodes: stages on all of them shrink, those on one do not" {
    rates rates.json
    for nodes in 4 8; do
        echo "{\"name\": \"n\", \"nodes\": $nodes, \"cores\": 32, \"memory_gb\": 128, \"network_gbit\": 1000, \"disk_gb_s\": 9, \"share_gb_s\": 1000}" >$nodes.json
        "$simulate" predict --rates rates.json --cluster $nodes.json --json >found$nodes.json
    done
    python3 - <<'END'
import json
four, eight = (json.load(open(f"found{n}.json")) for n in (4, 8))
assert [work["work"] for work in four] == [work["work"] for work in eight] and len(four) == 10
for a, b in zip(four, eight, strict=True):
    for s, t in zip(a["stages"], b["stages"], strict=True):
        share = t["seconds"] / s["seconds"]
        if s["name"] == "end: merge":  # of the lists of twice as many tasks
            assert 1.9 < share < 2.1, (a["work"], share)
        else:
            assert abs(share - 1) < 0.02 if s["nodes"] == 1 else 0.4 < share < 0.85, (a["work"], s["name"], share)
END
}

@test "what is refused" {
    rates rates.json
    refused "no cluster 'none'" predict --rates rates.json --cluster none
    refused "no work 'sort'" predict --rates rates.json --work sort
    refused "not a file of rates" predict --rates none.json
    echo '{"rates": {"task": {"value": 1}}}' >few.json
    refused "no rate 'block'" predict --rates few.json
    sed 's/"pair"/"pears"/' rates.json >other.json
    refused "unknown rate 'pears'" predict --rates other.json
    sed 's/"value": 0.5/"value": -1/' rates.json >negative.json
    refused "rate task: -1" predict --rates negative.json
    echo '{"name": "x", "nodes": 0, "cores": 4, "memory_gb": 1, "network_gbit": 1, "disk_gb_s": 1, "share_gb_s": 1}' >x.json
    refused "nodes: 0" predict --rates rates.json --cluster x.json
    echo '{"name": "x", "knots": 1}' >x.json
    refused "unknown 'knots'" predict --rates rates.json --cluster x.json
    echo '{"name": "x", "nodes": 1}' >x.json
    refused "no 'cores'" predict --rates rates.json --cluster x.json
    echo '{' >x.json
    refused "not JSON" predict --rates rates.json --cluster x.json
    echo '{"text": ""}' >empty.jsonl
    refused "no sentences" measure --sentences empty.jsonl
}

@test "the tables of docs/cluster_plan.md are what it predicts with the rates that it names" {
    local page=$QUERN_SOURCE/docs/cluster_plan.md
    shown() { sed -n "/^<!-- $1 -->\$/,/^<!-- end -->\$/p" "$page" | sed '1d;$d' | tee shown.md | grep -q '^|'; }
    shown 'simulate-cluster predict'
    "$simulate" predict | diff -u shown.md -
    shown 'simulate-cluster predict --stages'
    "$simulate" predict --stages --cluster '64 × 64 cores' | diff -u shown.md -
    shown 'simulate-cluster rates'
    "$simulate" rates | diff -u shown.md -
}

@test "rates are measured, and jobs run beside their prediction" {
    "$simulate" measure --documents 500 --folder . -o rates.json
    [ "$(ls)" = rates.json ]
    python3 - <<'END'
import json
found = json.load(open("rates.json"))
assert all(each["unit"] and each["source"] for each in found["rates"].values())
# Seconds are differences of times, so those of a busy machine may be 0; bytes are not.
assert all(each["value"] >= 0 for each in found["rates"].values())
assert all(found["rates"][name]["value"] > 0 for name in ("write", "verdict_bytes", "peak", "shingle_words", "token", "count_bytes"))
END
    "$simulate" check --rates rates.json --documents 500 --folder . --workers 2 --turns 1 >table
    [ "$(grep -c '^| .*local:2' table)" -eq 6 ]
    grep -q '^Error of the processors: ' table
    [ "$(echo *)" = "rates.json table" ]
    QUERN=/bin/false run "$simulate" measure --documents 10 --folder .
    [ "$status" -eq 1 ]
}
