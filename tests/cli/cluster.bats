#!/usr/bin/env bats
# shellcheck disable=SC2154,SC2016 # common and bats set $data, $stderr; scripts are written in single quotes
# Work in tasks over shards: the same bytes as the command alone, whatever happens to the workers.
load common

own_setup() {
    mkdir corpus
    python3 - <<'END'
import json, random
chance = random.Random(7)
words = "the of mill wheel river bread oven water time flour and to in it is stone a turn".split()
for shard in range(4):
    with open(f"corpus/s{shard}.jsonl", "w", encoding="utf-8") as file:
        for number in range([300, 40, 0, 900][shard] or 1):
            text = " ".join(chance.choice(words) for _ in range(chance.randrange(3, 90)))
            if chance.random() < .1:
                text += ".\nPlease enable JavaScript.\nWrite to joe@example.org."
            # Ids repeat in other files, and here and there within one.
            print(json.dumps({"id": f"d{number if chance.random() > .002 else 1}", "text": text, "more": shard}), file=file)
END
}

refused() { # refused TEXT ARGUMENT...
    local text=$1
    shift
    ends_with 2 quern "$@"
    says "$text"
}

rules=(--rules "length.min-words=20,c4.javascript" --mask emails)
filter() { quern filter corpus/s*.jsonl "${rules[@]}" "$@"; }

# repeated TIMES: the largest shard that many times, with ids of its own each time.
repeated() {
    for i in $(seq "$1"); do sed "s/\"id\": \"/&$i-/" corpus/s3.jsonl; done
}

# a_worker DRIVER: waits for a worker of this driver, and prints its process id. False where the driver ends before.
a_worker() {
    local process words
    while kill -0 "$1"; do
        for process in $(pgrep -P "$1"); do
            words=()
            mapfile -d '' words 2>/dev/null <"/proc/$process/cmdline" || continue
            if [ "${words[1]:-}" = task ]; then
                echo "$process"
                return 0
            fi
        done
        sleep 0.005
    done
    return 1
}

# with_a_kill ARGUMENT...: runs the command in tasks, as the job "job", and kills one of its workers. Runs it anew where all
# workers had ended before.
with_a_kill() {
    local driver worker
    for _ in $(seq 20); do
        rm -rf job
        "$QUERN" "$@" --force --cluster local:2 --share job 2>said &
        driver=$!
        if worker=$(a_worker $driver); then kill -KILL "$worker" || true; fi
        wait $driver
        if grep -q "was killed by signal 9 (Killed); it is started again" said; then return 0; fi
    done
    return 1
}

@test "filter: the same bytes for 1, 2, 3 and 5 shards" {
    filter -o whole.jsonl --removed whole.tsv --report whole.html --quiet
    [ -s whole.jsonl ]
    [ -s whole.tsv ]
    for shards in 1 2 3 5; do
        filter -o kept.jsonl --removed removed.tsv --report page.html --quiet --force --cluster local:2 \
            --share "job$shards" --shards "$shards"
        sha256sum <kept.jsonl | cmp - <(sha256sum <whole.jsonl)
        sha256sum <removed.tsv | cmp - <(sha256sum <whole.tsv)
        cmp page.html whole.html
        quern status "job$shards" | grep -qx "failed.0"
    done
    [ "$(find job5/tasks -name '*.json' | wc -l)" -gt "$(find job2/tasks -name '*.json' | wc -l)" ]
}

@test "filter: folders of files, one output for each, and a TSV that is changed" {
    mkdir tree && cp corpus/s0.jsonl corpus/s1.jsonl tree && printf 'The mill turns all day.' >tree/note.txt
    zstd -q corpus/s3.jsonl -o tree/s3.jsonl.zst
    quern filter tree --rules length.min-words=20 -o whole/ --removed whole.tsv --quiet
    quern filter tree --rules length.min-words=20 -o parts/ --removed parts.tsv --quiet --cluster local:1 --share job --shards 3
    cmp whole.tsv parts.tsv
    diff -r whole parts
    printf 'id\ttext\na\tWrite to joe@example.org.\nb\tnothing\n' >mail.tsv
    quern filter mail.tsv corpus/s1.jsonl --mask emails -o whole.jsonl --quiet
    quern filter mail.tsv corpus/s1.jsonl --mask emails -o parts.jsonl --quiet --cluster local:1 --share mail --shards 3
    cmp whole.jsonl parts.jsonl
}

@test "a switch that is off stays off in tasks" {
    mkdir linked
    cp corpus/s1.jsonl linked/
    ln -s "$PWD/corpus/s0.jsonl" linked/s0.jsonl
    quern filter linked "${rules[@]}" --follow-links=false -o alone.jsonl --quiet
    quern filter linked "${rules[@]}" --follow-links=false -o tasks.jsonl --quiet --cluster local:2 --share job
    cmp alone.jsonl tasks.jsonl
}

@test "plan, tasks in any order, finish" {
    filter -o whole.jsonl --quiet
    quern plan filter corpus/s*.jsonl "${rules[@]}" -o kept.jsonl --share job --shards 3 --quiet
    [ ! -e kept.jsonl ]
    refused "tasks are not done, the first of them task 0; quern resume" finish job
    [ ! -e kept.jsonl ]
    tasks=(job/tasks/*.json)
    for ((i = ${#tasks[@]} - 1; i >= 0; --i)); do (cd / && quern task "$BATS_TEST_TMPDIR/${tasks[i]}" --quiet --threads 1); done
    quern status job | cmp - <(printf 'done\t%d\nrunning\t0\nwaiting\t0\nfailed\t0\n' ${#tasks[@]})
    quern status job --tasks --format jsonl | head -n 1 | sed -E 's/, [0-9.e-]+ s"/, S s"/' |
        cmp - <(printf '{"task":0,"phase":0,"kind":"judge","state":"done","note":"%s, cpu, S s"}\n' "$(uname -n)")
    python3 - job/results/*.json <<'END'
import json, os, sys
for file in sys.argv[1:]:
    ran = json.load(open(file))["ran"]
    assert ran["host"] == os.uname().nodename and ran["device"] == "cpu" and ran["gpus"] == [], ran
    assert 0 < ran["seconds"] < 600 and 0 <= ran["processor_seconds"] < 600, ran
END
    (cd / && quern finish "$BATS_TEST_TMPDIR/job" --quiet)
    cmp kept.jsonl whole.jsonl
}

@test "a task that is done is not run again; one with damaged results is" {
    quern plan filter corpus/s*.jsonl "${rules[@]}" -o kept.jsonl --share job --shards 3 --quiet
    quern task job/tasks/0000.json --quiet
    before=$(stat -c %y,%i job/results/0000.verdicts)
    quern task job/tasks/0000.json 2>said
    grep -q "task 0 was done already" said
    [ "$(stat -c %y,%i job/results/0000.verdicts)" = "$before" ]
    printf X | dd of=job/results/0000.verdicts bs=1 seek=9 conv=notrunc status=none
    ends_with 0 quern task job/tasks/0000.json
    says "task 0 is done"
    quern resume job --quiet
    cmp kept.jsonl <(filter -o - --quiet)
    # The same command goes on from what is done.
    before=$(stat -c %y,%i job/results/*)
    rm kept.jsonl
    quern resume job --quiet
    [ "$(stat -c %y,%i job/results/*)" = "$before" ]
}

@test "results that were damaged after their task are noticed at the end" {
    quern plan filter corpus/s*.jsonl "${rules[@]}" -o kept.jsonl --share job --shards 3 --quiet
    for task in job/tasks/*.json; do quern task "$task" --quiet; done
    printf X | dd of=job/results/0001.verdicts bs=1 seek=9 conv=notrunc status=none
    ends_with 5 quern finish job
    says "0001.verdicts does not match its checksum"
    [ ! -e kept.jsonl ]
    quern resume job --quiet
    cmp kept.jsonl <(filter -o - --quiet)
}

@test "a worker that is killed is started again, and the result is the same" {
    repeated 60 >slow.jsonl
    quern filter slow.jsonl "${rules[@]}" -o whole.jsonl --quiet
    with_a_kill filter slow.jsonl "${rules[@]}" -o kept.jsonl --shards 3
    cmp kept.jsonl whole.jsonl
    quern status job | grep -qx "failed.0"
    [ -z "$(find job -name '.*quern*')" ]
}

@test "Ctrl-C stops the workers, and the same command goes on" {
    repeated 100 >slow.jsonl
    setsid "$QUERN" filter slow.jsonl "${rules[@]}" -o kept.jsonl --cluster local:2 --share job --shards 4 2>said &
    local driver=$! worker
    worker=$(a_worker $driver)
    kill -INT $driver
    ends=0
    wait $driver || ends=$?
    [ $ends -eq 130 ]
    [ ! -e kept.jsonl ]
    for _ in $(seq 100); do
        kill -0 "$worker" 2>/dev/null || break
        sleep 0.05
    done
    run kill -0 "$worker"
    [ "$status" -ne 0 ]
    quern filter slow.jsonl "${rules[@]}" -o kept.jsonl --cluster local:2 --share job --shards 4 --quiet
    cmp kept.jsonl <(quern filter slow.jsonl "${rules[@]}" -o - --quiet)
}

@test "a worker that fails ends the job with its message and exit code" {
    quern plan filter corpus/s*.jsonl "${rules[@]}" -o kept.jsonl --share job --shards 3 --quiet
    echo '{"id":"new","text":"a new one"}' >>corpus/s0.jsonl
    ends_with 2 quern resume job
    says "corpus/s0.jsonl was changed since the plan"
    quern status job --tasks | grep -q $'^0\t0\tjudge\tfailed\tcorpus/s0.jsonl was changed'
    [ ! -e kept.jsonl ]
}

@test "damaged plans and tasks, other versions, other folders" {
    quern plan filter corpus/s*.jsonl "${rules[@]}" -o kept.jsonl --share job --shards 3 --quiet
    refused "has the plan of another command or other options" plan filter corpus/s*.jsonl --mask emails -o kept.jsonl --share job --shards 3
    cp job/plan.json plan
    echo '{' >job/plan.json
    ends_with 5 quern status job
    says "is not the JSON of a plan"
    sed 's/"shards": 3/"shards": 4/' plan >job/plan.json
    ends_with 5 quern finish job
    says "does not match its checksum"
    cp plan job/plan.json
    cp job/tasks/0001.json job/tasks/0002.json
    ends_with 5 quern task job/tasks/0002.json
    says "is task 1 under another name"
    refused "has no plan.json" status corpus
    refused "expected a task, DIR/tasks/NNNN.json" task job/tasks/9999.json
    python3 - <<'END'
import json
text = open("job/tasks/0000.json").read()
open("job/tasks/0000.json", "w").write(text.replace('"quern": "', '"quern": "0.'))
END
    ends_with 5 quern task job/tasks/0000.json
    mkdir other && touch other/mine
    refused "other has other files, such as mine" plan filter corpus --mask emails --share other
    refused "corpus/s0.jsonl is not a folder" plan filter corpus --mask emails --share corpus/s0.jsonl
}

@test "invalid requests are refused" {
    refused "this command is not distributed; those that are: filter, nearest" search x y --cluster local:2
    refused "quern search is not distributed (expected one of filter, nearest" plan search x y
    refused "--cluster requires --share" filter corpus --mask emails --cluster local:2
    refused "--share requires --cluster" filter corpus --mask emails --share job
    refused "--shards requires --cluster" filter corpus --mask emails --shards 2
    refused "expected local:N, slurm, mpi or ray" filter corpus --mask emails --share job --cluster local:no
    refused "standard input cannot be cut into shards" filter - --mask emails --share job --cluster local:2
    refused "a distributed run is not resumed by --resume" filter corpus --mask emails --share job --cluster local:2 -o kept/ --resume
    [ ! -e job ]
}

@test "a share that cannot be written, or is full, is an error, and nothing is half-written" {
    ends_with 4 quern filter corpus --mask emails -o kept.jsonl --cluster local:2 --share /proc/job
    says "/proc/job: cannot create the folder"
    refused "no/such" filter corpus --mask emails -o kept.jsonl --cluster local:2 --share no/such/job
    run bash -c 'ulimit -f 0; "$QUERN" filter corpus --mask emails -o kept.jsonl --cluster local:2 --share job 2>&1'
    echo "$output"
    [ "$status" -eq 4 ]
    [[ $output == *"cannot write"* ]]
    [ ! -e kept.jsonl ]
    [ ! -e job/plan.json ]
    [ -z "$(find job -type f)" ]
    quern filter corpus --mask emails -o kept.jsonl --cluster local:2 --share job --quiet
    cmp kept.jsonl <(quern filter corpus --mask emails -o - --quiet)
}

@test "a full disk at a task is an error, and nothing is half-written" {
    quern plan filter corpus/s3.jsonl --mask emails -o kept.jsonl --share job --shards 1 --quiet
    (
        ulimit -f 1
        ends_with 4 quern task job/tasks/0000.json
    )
    [ -z "$(find job/results -type f)" ]
    quern status job | grep -qx "done.0"
    quern resume job --quiet
    cmp kept.jsonl <(quern filter corpus/s3.jsonl --mask emails -o - --quiet)
}

@test "the scripts of Slurm and MPI run the same tasks" {
    filter -o whole.jsonl --quiet
    mkdir bin
    # Stands for Slurm: runs the jobs of an array at once, in the order of their submission.
    cat >bin/sbatch <<'END'
#!/bin/bash
set -euo pipefail
echo "$@" >>"$SUBMITTED"
script=${*: -1}
last=$(sed -n 's/^#SBATCH --array=0-//p' "$script")
[ -z "$FULL" ] || ulimit -f 0 # no file can be written
for ((i = 0; i <= ${last:-0}; ++i)); do SLURM_ARRAY_TASK_ID=$i bash "$script" >&2; done
echo "$RANDOM;cluster"
END
    cat >bin/mpirun <<'END'
#!/bin/bash
set -euo pipefail
[ -z "$FULL" ] || ulimit -f 0
for ((i = 0; i < 3; ++i)); do OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_SIZE=3 bash "${*: -1}"; done
END
    chmod +x bin/*
    export PATH=$PWD/bin:$PATH SUBMITTED=$PWD/submitted
    for launcher in slurm mpi; do
        filter -o kept.jsonl --force --cluster $launcher --share "on $launcher" --shards 5 2>said
        case $launcher in
        slurm) script="on slurm/slurm/submit.sh" end="on slurm/slurm/finish.sh" ;;
        mpi) script="on mpi/mpi/run.sh" end="on mpi/mpi/run.sh" ;;
        esac
        grep -q -- " finish .* --threads [0-9]* --memory [0-9]*M\?$" "$end"
        grep -q "$script" said
        [ ! -e kept.jsonl ]
        shellcheck "on $launcher/$launcher"/*.sh
        FULL=yes run "$script" -n 3
        echo "$output"
        [ "$status" -ne 0 ]
        [[ $output == *"cannot write"* ]]
        [ ! -e kept.jsonl ]
        [ -z "$(find "on $launcher/results" -type f)" ]
        FULL='' "$script" -n 3
        cmp kept.jsonl whole.jsonl
        rm kept.jsonl
    done
    grep -q -- "--dependency=afterok:[0-9]* -n 3 .*finish.sh" submitted
}

@test "a document too large for a worker: the --memory that is named is enough for all of them" {
    python3 -c 'print("\n".join(f"{i:x}" for i in range(300_000)))' >large.txt
    for command in "64M decontaminate --against large.txt -o kept" "40M filter --rules length.min-words=1 -o kept" \
        "64M ngrams --order 2 --totals kept"; do
        read -r small name arguments <<<"$command"
        # shellcheck disable=SC2086 # words of a command
        run_within() { quern "$name" large.txt --input-format folder $arguments --quiet --cluster local:3 --share "$1" --memory "$2"; }
        ends_with 3 run_within "small $name" "$small"
        enough=$(grep -o -- "--memory [0-9]*M is enough" <<<"$stderr" | grep -o "[0-9]*M")
        run_within "large $name" "$enough"
        rm kept
        ends_with 3 quern "$name" large.txt --input-format folder ${arguments} --quiet --memory "$small" # alone
        alone=$(grep -o -- "--memory [0-9]*M is enough" <<<"$stderr" | grep -o "[0-9]*M")
        [ "${enough%M}" -gt $((2 * ${alone%M})) ]
    done
    # Too large for a worker alone.
    filter_large() { quern filter large.txt --input-format folder --rules length.min-words=1 --quiet "$@"; }
    ends_with 2 filter_large -o workers --cluster local:3 --share job --memory 64M
    says "make a plan in another folder, with more --memory if no folder was changed"
    filter_large -o alone --memory 64M
}

vectors() {
    python3 - <<'END'
import random, struct
chance = random.Random(3)
def npy(name, rows, kind, size):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }" % (kind, len(rows), len(rows[0]))
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(name, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        for row in rows: f.write(struct.pack("<%d%s" % (len(row), size), *row))
rows = [[chance.choice([0, .1, .3, 1, 1e-6, 1 / 3]) for _ in range(5)] for _ in range(1000)]
npy("floats.npy", rows, "<f4", "f")
npy("query.npy", rows[:20] + [[0] * 5], "<f4", "f")
npy("bytes.npy", [[chance.randrange(4) for _ in range(5)] for _ in range(1000)], "|u1", "B")
npy("bytequery.npy", [[chance.randrange(4) for _ in range(5)] for _ in range(20)], "|u1", "B")
with open("sparse.mtx", "w") as f:
    cells = [(i + 1, j + 1, chance.choice([.5, 1, 1 / 3])) for i in range(300) for j in range(6) if chance.random() < .4]
    print("%%MatrixMarket matrix coordinate real general\n300 6", len(cells), file=f)
    for cell in cells: print(*cell, file=f)
END
    seq 3 7 900 >allowed.txt
}

@test "nearest: the same bytes for 1, 2, 3 and 5 shards, ties and all" {
    vectors
    check() { # check SHARDS NAME ARGUMENT...
        local numbers=$1 name=$2
        shift 2
        quern nearest "$@" -o whole.tsv --quiet --force
        [ -s whole.tsv ]
        for shards in $numbers; do
            quern nearest "$@" -o parts.tsv --quiet --force --cluster local:2 --share "$name$shards" --shards "$shards"
            sha256sum <parts.tsv | cmp - <(sha256sum <whole.tsv)
        done
    }
    check "1 2 3 5" floats-l2 floats.npy --queries query.npy -k 50
    for metric in sql2 ip cosine l1; do
        check 3 "floats-$metric" floats.npy --queries query.npy --metric $metric -k 50
    done
    check "1 5" bytes bytes.npy --queries bytequery.npy -k 40
    check 2 all floats.npy --queries query.npy -k all
    check "1 5" radius floats.npy --queries query.npy --radius 0.7
    check 5 allowed floats.npy --queries query.npy --allow allowed.txt -k 30
    check "1 3" sparse sparse.mtx --queries sparse.mtx --metric cosine -k 20
}

@test "nearest: matrices and recall" {
    vectors
    quern nearest bytes.npy --queries bytequery.npy -k 10 -o whole.ibin --quiet
    quern nearest bytes.npy --queries bytequery.npy -k 10 -o parts.ibin --truth whole.ibin --cluster local:2 --share job 2>said
    grep -q "recall@10: 1 " said
    cmp whole.ibin parts.ibin
    cmp whole.fbin parts.fbin
}

@test "dedup: the same bytes for 1, 2, 3 and 5 shards" {
    python3 - <<'END'
import json, random
chance = random.Random(11)
words = [f"word{i}" for i in range(60)]
with open("near.jsonl", "w") as first, open("other.jsonl", "w") as second:
    texts = []
    for i in range(600):
        kind = chance.random()
        if kind < .6 or not texts: text = " ".join(chance.choice(words) for _ in range(chance.randrange(0, 60)))
        elif kind < .75: text = chance.choice(texts)  # an equal one
        else:
            letters = list(chance.choice(texts))
            for _ in range(chance.randrange(1, 12)):
                if letters: letters[chance.randrange(len(letters))] = chance.choice("aé中 ")
            text = "".join(letters)
        texts.append(text)
        print(json.dumps({"id": f"d{i % 450}", "text": text}), file=first if i < 450 else second)
END
    check() { # check SHARDS NAME OPTION...
        local numbers=$1 name=$2
        shift 2
        quern dedup near.jsonl other.jsonl "$@" -o kept.jsonl --groups groups.tsv --quiet --force
        quern dedup near.jsonl other.jsonl "$@" --pairs pairs.tsv --report page.html --quiet --force
        [ -s pairs.tsv ]
        [ -s groups.tsv ]
        for shards in $numbers; do
            quern dedup near.jsonl other.jsonl "$@" -o p-kept.jsonl --groups p-groups.tsv --quiet --force --cluster local:2 \
                --share "$name$shards" --shards "$shards"
            sha256sum <p-kept.jsonl | cmp - <(sha256sum <kept.jsonl)
            sha256sum <p-groups.tsv | cmp - <(sha256sum <groups.tsv)
        done
        quern dedup near.jsonl other.jsonl "$@" --pairs p-pairs.tsv --report p-page.html --quiet --cluster local:2 \
            --share "$name-pairs" --shards 6 --force
        cmp pairs.tsv p-pairs.tsv
        cmp page.html p-page.html
    }
    check "1 2 3 5" auto
    check 3 wide --threshold 0.3 --keep longest
    check 2 letters --unit char --rule connected
    check "1 5" all --method exhaustive
    quern status all5 --tasks | cut -f 2,3 | sort | uniq -c | grep -q "6 1.compare"
}

@test "dedup: a worker that is killed, folders of outputs, invalid requests" {
    mkdir tree
    repeated 30 >tree/a.jsonl
    cp corpus/s0.jsonl tree/b.jsonl
    quern dedup tree -o whole/ --quiet
    with_a_kill dedup tree -o parts/ --shards 6
    diff -r whole parts
    refused "the method simhash is not distributed (expected auto, exhaustive or shingle)" dedup tree --method simhash --cluster local:2 --share no
    refused "(expected the corpus alone)" dedup tree --against corpus --cluster local:2 --share no
    refused "(expected the corpus alone)" dedup tree --store seen --cluster local:2 --share no
    refused "only whole documents of a corpus are distributed" dedup tree --level line --cluster local:2 --share no
    [ ! -e no ]
    [ ! -e seen ]
}

@test "dedup by shingles: the same bytes for 1, 2, 3 and 5 shards" {
    # Near ones, equal ones, the same words in another order, without words, with fewer words than a shingle.
    python3 - <<'END'
import json, random
chance = random.Random(12)
words = [f"word{i}" for i in range(300)]
with open("near.jsonl", "w") as first, open("other.jsonl", "w") as second:
    texts = []
    for i in range(700):
        kind = chance.random()
        if kind < .5 or not texts: text = [chance.choice(words) for _ in range(chance.choice([0, 2, 3, 40, 90, 200]))]
        elif kind < .65: text = chance.choice(texts)
        else:
            text = list(chance.choice(texts))
            for _ in range(chance.randrange(1, 4)):
                if text: text[chance.randrange(len(text))] = chance.choice(words)
            if chance.random() < .3: text += text[:20]
        texts.append(text)
        print(json.dumps({"id": f"d{i}", "text": " ".join(text)}), file=first if i < 500 else second)
END
    check() { # check SHARDS NAME OPTION...
        local numbers=$1 name=$2
        shift 2
        local dedup=(dedup near.jsonl other.jsonl --method shingle --quiet --force "$@")
        quern "${dedup[@]}" -o kept.jsonl --groups groups.tsv
        quern "${dedup[@]}" --pairs pairs.tsv --report page.html
        [ "$(wc -l <pairs.tsv)" -gt 100 ]
        [ -s groups.tsv ]
        for shards in $numbers; do
            quern "${dedup[@]}" -o p-kept.jsonl --groups p-groups.tsv --cluster local:2 --share "$name$shards" --shards "$shards"
            sha256sum <p-kept.jsonl | cmp - <(sha256sum <kept.jsonl)
            sha256sum <p-groups.tsv | cmp - <(sha256sum <groups.tsv)
        done
        quern "${dedup[@]}" --pairs p-pairs.tsv --report p-page.html --cluster local:2 --share "$name-pairs" --shards 6
        cmp pairs.tsv p-pairs.tsv
        cmp page.html p-page.html
    }
    check "1 2 3 5" usual
    check 5 low --similarity 0.3 --shingle 2 --keep longest
    check 3 connected --rule connected --keep last
    check 2 letters --shingle-unit char --shingle 9 --similarity 0.6
    quern status usual5 --tasks | cut -f 2,3 | sort | uniq -c | grep -q "6 1.compare"
    echo "word1 word2" >stop.txt
    check 3 stop --stop-words stop.txt
    quern plan dedup near.jsonl --method shingle --stop-words stop.txt -o late.jsonl --share late --shards 2 --quiet
    echo word3 >>stop.txt
    refused "stop.txt was changed since the plan" task late/tasks/0000.json
    [ ! -e late.jsonl ]
}

@test "dedup by shingles: a worker that is killed, folders of outputs" {
    mkdir tree
    repeated 30 >tree/a.jsonl
    cp corpus/s0.jsonl tree/b.jsonl
    quern dedup tree --method shingle -o whole/ --quiet
    with_a_kill dedup tree --method shingle -o parts/ --shards 6
    diff -r whole parts
}

@test "ngrams: the same bytes for 1, 2, 3 and 5 shards" {
    echo "the mill river bread oven" >vocabulary.txt
    quern dictionary corpus/s1.jsonl -o known.dictionary --quiet
    check() { # check SHARDS NAME OPTION...
        local numbers=$1 name=$2
        shift 2
        quern ngrams corpus/s*.jsonl "$@" --totals whole.tsv --arpa whole.arpa --quiet --force
        [ -s whole.tsv ]
        grep -qx '.2-grams:' whole.arpa
        for shards in $numbers; do
            quern ngrams corpus/s*.jsonl "$@" --totals parts.tsv --arpa parts.arpa --quiet --force --cluster local:2 \
                --share "$name$shards" --shards "$shards"
            sha256sum <parts.tsv | cmp - <(sha256sum <whole.tsv)
            sha256sum <parts.arpa | cmp - <(sha256sum <whole.arpa)
        done
        quern status "${name}5" --tasks | grep -q $'\tcount\tdone\t'
    }
    check "1 2 3 5" pairs --order 2
    check "1 5" kneser --order 3 --sentences --smoothing kneser-ney --prune '0 0 1' --limit-vocabulary vocabulary.txt
    check "3 5" rare --order 5 --min-count 2 --smoothing absolute
    check "2 5" known --order 3 --dictionary known.dictionary
    quern ngrams corpus --order 3 --only --totals whole.tsv --quiet --force
    quern ngrams corpus --order 3 --only --totals - --quiet --cluster local:2 --share folder --shards 4 | cmp - whole.tsv
}

@test "ngrams: a worker that is killed, the same message, invalid requests" {
    repeated 40 >slow.jsonl
    quern ngrams slow.jsonl --order 3 --arpa whole.arpa 2>alone
    with_a_kill ngrams slow.jsonl --order 3 --arpa parts.arpa --shards 3
    cmp whole.arpa parts.arpa
    tail -n 1 alone | cmp - <(tail -n 1 said)
    printf 'the <s> mill\n\n<unk> river\n' >marks.txt
    quern ngrams marks.txt slow.jsonl --sentences --tokenized --totals whole.tsv 2>alone
    quern ngrams marks.txt slow.jsonl --sentences --tokenized --totals parts.tsv --cluster local:2 --share marks --shards 2 2>said
    cmp whole.tsv parts.tsv
    grep "2 words of the texts were excluded" alone | cmp - <(grep excluded said)
    refused "rows of documents are not distributed (expected --totals or --arpa, without --output)" ngrams corpus --cluster local:2 --share no
    refused "rows of documents are not distributed" ngrams corpus --totals t.tsv -o - --cluster local:2 --share no
    refused "(expected --ids scoped or generate)" ngrams corpus --totals t.tsv --ids global --cluster local:2 --share no
    [ ! -e no ]
    [ ! -e t.tsv ]
    echo "the mill" >vocabulary.txt
    quern plan ngrams corpus/s0.jsonl --sentences --smoothing kneser-ney --limit-vocabulary vocabulary.txt --arpa t.arpa \
        --share words --shards 2 --quiet
    echo river >>vocabulary.txt
    refused "vocabulary.txt was changed since the plan" task words/tasks/0000.json
}

# some_items: evaluation sets with parts of the documents, items/ and more.jsonl.
some_items() {
    mkdir items
    python3 - <<'END'
import json, random
chance = random.Random(5)
texts = [json.loads(line)["text"] for shard in (0, 3) for line in open(f"corpus/s{shard}.jsonl")]
for name, number in [("items/questions.jsonl", 80), ("more.jsonl", 20)]:
    with open(name, "w", encoding="utf-8") as file:
        for i in range(number):
            words = chance.choice(texts).split()
            begin = chance.randrange(len(words))
            text = " ".join(words[begin:begin + chance.randrange(1, 20)])
            print(json.dumps({"id": f"{name[0]}{i}", "text": text}), file=file)
END
}

@test "decontaminate: the same bytes for 1, 2, 3 and 5 shards" {
    some_items
    decontaminate() { quern decontaminate corpus/s*.jsonl --against items --against more.jsonl --ngram 5 --quiet --force "$@"; }
    decontaminate -o whole.jsonl --matches whole.tsv --report whole.html
    [ -s whole.jsonl ]
    [ "$(wc -l <whole.tsv)" -gt 50 ]
    for shards in 1 2 3 5; do
        decontaminate -o kept.jsonl --matches matches.tsv --report page.html --cluster local:2 --share "job$shards" --shards "$shards"
        sha256sum <kept.jsonl | cmp - <(sha256sum <whole.jsonl)
        sha256sum <matches.tsv | cmp - <(sha256sum <whole.tsv)
        cmp page.html whole.html
    done
    quern status job5 --tasks | grep -q $'\tscan\tdone\t'
    refused "standard input cannot be read by every task" decontaminate corpus --against - --cluster local:2 --share no
    refused "standard input cannot be cut into shards" decontaminate - --against items --cluster local:2 --share no
    [ ! -e no ]
    quern plan decontaminate corpus/s0.jsonl --against more.jsonl -o kept2.jsonl --share late --shards 2 --quiet
    echo '{"id":"new","text":"a new one"}' >>more.jsonl
    refused "more.jsonl was changed since the plan" task late/tasks/0000.json
    [ ! -e kept2.jsonl ]
}

@test "decontaminate: a worker that is killed, folders of outputs, the same message, and no --resume" {
    some_items
    mkdir tree
    repeated 60 >tree/a.jsonl
    cp corpus/s0.jsonl tree/b.jsonl
    decontaminate=(decontaminate tree --against items --against more.jsonl --ngram 5)
    quern "${decontaminate[@]}" -o whole/ --matches whole.tsv 2>alone
    with_a_kill "${decontaminate[@]}" -o parts/ --matches parts.tsv --shards 3
    diff -r whole parts
    cmp whole.tsv parts.tsv
    tail -n 1 alone | cmp - <(tail -n 1 said)
    refused "a distributed run is not resumed by --resume" "${decontaminate[@]}" -o no/ --resume --cluster local:2 --share no-job
    refused "a distributed run is not resumed by --resume" plan "${decontaminate[@]}" -o no/ --resume --share no-job
    [ ! -e no ]
    [ ! -e no-job ]
}

@test "words: the same bytes for 1, 2, 3 and 5 shards" {
    # Many words, of skewed frequencies.
    python3 - <<'END'
import json, random
chance = random.Random(3)
with open("many.jsonl", "w", encoding="utf-8") as file:
    for number in range(600):
        topic = chance.randrange(30)
        words = [f"w{int(1200 * chance.random() ** 3)}" if chance.random() < .6 else f"t{topic}x{chance.randrange(12)}" for _ in range(200)]
        print(json.dumps({"id": number, "text": " ".join(words)}), file=file)
END
    printf 'eat\tobj\tbread\t4\nbake\tobj\tbread\t9\nride\tobj\thorse\t9\nride\tobj\tcow\nlead\tobj\thorse\t5\nlead\tsubj\tman\n' >parsed.tsv
    check() { # check SHARDS NAME ARGUMENT...
        local numbers=$1 name=$2
        shift 2
        quern words "$@" -o whole --export whole.tsv --quiet --force
        [ -s whole.tsv ]
        for shards in $numbers; do
            quern words "$@" -o parts --export parts.tsv --quiet --force --cluster local:2 --share "$name$shards" --shards "$shards"
            sha256sum <parts.tsv | cmp - <(sha256sum <whole.tsv)
            diff -r -x stats.json whole parts
        done
    }
    check "1 2 3 5" lin many.jsonl --top 7
    quern status lin5 --tasks | cut -f 2,3 | sort | uniq -c | grep -q "5 1.compare"
    check 3 cosine many.jsonl corpus/s0.jsonl --measure cosine --columns 300 --method column-reduced --relation position
    check 5 few many.jsonl --vocabulary 60 --top 30
    check "1 2" triples parsed.tsv --input-format triples --min-count 1
    check 3 jaccard corpus/s3.jsonl --measure jaccard --top 4
    check 2 skew corpus/s3.jsonl --measure skew --top 4
    refused "vectors of words are not distributed" words many.jsonl -o space --vectors 10 --cluster local:2 --share no
    refused "(expected --top K)" words many.jsonl -o space --top 0 --cluster local:2 --share no
    refused "standard input cannot be cut into shards" words - -o space --cluster local:2 --share no
    quern build corpus -o store --quiet
    refused "a store is not distributed" words store -o space --cluster local:2 --share no
    refused "vectors of words are not distributed" words many.jsonl -o space --measure lsa --cluster local:2 --share no
    refused "(expected --top K)" words many.jsonl -o space --top all --cluster local:2 --share no
    [ ! -e no ]
    [ ! -e space ]
}

@test "words: a worker that is killed, a changed list, a page" {
    repeated 40 >slow.jsonl
    echo "the" >stop.txt
    quern words slow.jsonl -o whole --stop-words stop.txt --report whole.html --quiet
    with_a_kill words slow.jsonl -o parts --stop-words stop.txt --report parts.html --shards 3
    diff -r -x stats.json whole parts
    [ -s whole.html ]
    [ -s parts.html ]
    quern plan words corpus -o space --stop-words stop.txt --share late --shards 2 --quiet
    echo "of" >>stop.txt
    refused "stop.txt was changed since the plan" task late/tasks/0000.json
    [ ! -e space ]
}

# a_graph NODES LINKS: links.txt, with names, weights, nodes without links out.
a_graph() {
    python3 - "$1" "$2" <<'END'
import random, sys
chance = random.Random(2)
nodes, links = int(sys.argv[1]), int(sys.argv[2])
with open("links.txt", "w", encoding="utf-8") as file:
    for _ in range(links):
        print(f"n{int(.8 * nodes * chance.random() ** 2)}\tn{int(nodes * chance.random() ** 3)}\t{chance.randrange(1, 9)}", file=file)
with open("seeds.tsv", "w", encoding="utf-8") as file:
    for i in range(5):
        print(f"n{7 * i}\t{i + 1}", file=file)
END
}

@test "pagerank: the same bytes for 1, 2, 3 and 5 shards" {
    a_graph 3000 20000
    check() { # check SHARDS NAME OPTION...
        local numbers=$1 name=$2
        shift 2
        quern pagerank links.txt "$@" -o whole.tsv --max-iterations 7 --force 2>alone
        [ -s whole.tsv ]
        for shards in $numbers; do
            quern pagerank links.txt "$@" -o parts.tsv --max-iterations 7 --force --cluster local:2 --share "$name$shards" --shards "$shards" 2>said
            sha256sum <parts.tsv | cmp - <(sha256sum <whole.tsv)
            cmp <(grep iteration said) <(grep iteration alone)
        done
    }
    check "1 2 3 5" plain --tolerance 1e-2 # ends after 5 iterations
    grep -q ": 5 iterations" alone
    check 2 seeds --personalize seeds.tsv --dangling preference --tolerance 1e-2
    check "1 3" weighted --weighted
    cp whole.tsv earlier.tsv
    check 5 warm --warm earlier.tsv --damping 0.5 --tolerance 1e-3
    quern status plain5 --tasks | cut -f 2,3 | grep -c "^1.step" | grep -qx 5
    # 5 steps, and one that finds that the iteration has ended; the seventh is not run.
    quern status plain5 | cmp - <(printf 'done\t31\nrunning\t0\nwaiting\t0\nfailed\t0\nunneeded\t5\n')
    [ ! -e plain5/results/0031.json ]
    quern task plain5/tasks/0031.json 2>said
    grep -q "task 31 is not needed" said
    [ ! -e plain5/results/0031.json ]
    rm plain5/states/*.ended # as if the workers had died before they wrote that: the seventh step finds it again
    quern resume plain5 --quiet --force
    quern pagerank links.txt --tolerance 1e-2 --quiet | cmp - parts.tsv
    quern status plain5 | cmp - <(printf 'done\t36\nrunning\t0\nwaiting\t0\nfailed\t0\n')
    # Only the last two steps keep what they computed.
    [ "$(find weighted3/results -name '*.state-*' ! -name '*.begin-*' | wc -l)" -eq 6 ]
    quern pagerank links.txt -o whole.json --format jsonl --max-iterations 3 --quiet
    quern plan pagerank links.txt -o parts.json --format jsonl --max-iterations 3 --share steps --shards 2 --quiet
    [ ! -e parts.json ]
    quern status steps | cmp - <(printf 'done\t0\nrunning\t0\nwaiting\t3\nfailed\t0\npossible\t4\n')
    for task in steps/tasks/*.json; do quern task "$task" --quiet; done
    quern finish steps --quiet
    cmp parts.json whole.json
}

@test "pagerank: a worker that is killed, a changed list, invalid requests" {
    a_graph 10000 100000
    quern pagerank links.txt -o whole.tsv --max-iterations 5 --quiet
    with_a_kill pagerank links.txt -o parts.tsv --max-iterations 5 --shards 3
    cmp parts.tsv whole.tsv
    quern plan pagerank links.txt --personalize seeds.tsv -o late.tsv --share late --shards 2 --quiet
    echo n1 >>seeds.tsv
    refused "seeds.tsv was changed since the plan" task late/tasks/0000.json
    # What the command alone refuses, a task refuses alike.
    echo nobody >list
    ends_with 3 quern pagerank links.txt --personalize list -o late.tsv --cluster local:2 --share wrong
    says "'nobody' is not a node of the graph"
    [ ! -e late.tsv ]
    refused "hits is not distributed" pagerank links.txt --method hits --cluster local:2 --share no
    refused "expected the storage auto" pagerank links.txt --storage csr --cluster local:2 --share no
    refused "standard input cannot be read by every task" pagerank - --cluster local:2 --share no
    refused "expected at most 128" pagerank links.txt --cluster local:2 --share no --shards 129
    quern build corpus -o store --quiet
    refused "the links of a store are not distributed" pagerank store --cluster local:2 --share no
    [ ! -e no ]
}

@test "--cluster ray without Ray says what is missing" {
    mkdir bin
    printf '#!/bin/sh\necho "No module named quern" >&2\nexit 1\n' >bin/python
    chmod +x bin/python
    QUERN_PYTHON=$PWD/bin/python refused "expected a Python with quern-engine[ray]" filter corpus --mask emails -o kept.jsonl --cluster ray --share job
    QUERN_PYTHON=/no/python refused "could not be started" filter corpus --mask emails -o kept.jsonl --cluster ray --share job
    [ ! -e kept.jsonl ]
    # Any program that runs the tasks can take its place.
    printf '#!/bin/sh\nfor task in "$3"/tasks/*.json; do "$5" task "$task" --quiet || exit; done\n' >bin/python
    QUERN_PYTHON=$PWD/bin/python quern filter corpus --mask emails -o kept.jsonl --cluster ray --share job --quiet
    cmp kept.jsonl <(quern filter corpus --mask emails -o - --quiet)
}
