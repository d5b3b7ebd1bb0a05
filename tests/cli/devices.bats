#!/usr/bin/env bats
# shellcheck disable=SC2154 # common and bats set $data, $stderr
# One program for machines with a GPU, without one, and with a driver that fails: it starts, works, and says why.
load common

# with_driver FILE COMMAND...: FILE stands where the loader looks for NVIDIA's driver first.
with_driver() {
    mkdir -p driver
    cp "$1" driver/libcuda.so.1
    LD_LIBRARY_PATH=$PWD/driver "${@:2}"
}

finding() { # finding SUBJECT: its value and note, from a table on standard input
    awk -F '\t' -v subject="$1" '$1 == subject { print $2 ": " $3 }'
}

works_on_the_cpu() { # works_on_the_cpu DRIVER
    with_driver "$1" "$QUERN" build "$data/corpus.jsonl" -o store --skip all --force 2>said
    [ "$(grep -c device said)" -eq 0 ]
    with_driver "$1" "$QUERN" build "$data/corpus.jsonl" -o store --force 2>said
    grep -q "index: done on cpu" said
    with_driver "$1" "$QUERN" search store apple --quiet >hits
    quern search store apple --device cpu --quiet >expected
    [ -s hits ]
    cmp hits expected
}

@test "a machine without a driver: everything works on the CPU, and doctor names the missing part" {
    : >no-driver
    with_driver no-driver "$QUERN" doctor --format tsv >table
    [[ $(finding CUDA <table) == "none: there is no NVIDIA driver: "* ]]
    [[ $(finding device <table) == "cpu: "* ]]
    works_on_the_cpu no-driver
}

@test "a driver that fails: everything works on the CPU, and doctor names the failure" {
    fake=$(dirname "$QUERN")/../lib/libfake_libcuda.so
    [ -e "$fake" ] || skip "needs the tests' fake driver"
    with_driver "$fake" "$QUERN" doctor --format tsv >table
    [[ $(finding "CUDA driver" <table) == "13.2: "* ]]
    [[ $(finding "GPU cuda:1" <table) == "Fake Two, 32.0 GiB, compute capability 9.1: not usable: "* ]]
    [[ $(finding device <table) == "cpu: "* ]]
    FAKE_CUDA=none with_driver "$fake" "$QUERN" doctor --format tsv >table
    [ "$(finding CUDA <table)" = "none: there is an NVIDIA driver but no GPU that this process may use" ]
    works_on_the_cpu "$fake"
}

@test "doctor shows the effect of --device and --gpu-memory" {
    : >no-driver
    for device in cuda cuda:3 cuda:all; do
        with_driver no-driver "$QUERN" doctor --format tsv --device "$device" --gpu-memory 2G >table
        [[ $(finding device <table) == "none: CUDA was requested, but "*"would be refused" ]]
    done
    quern doctor --format tsv --device cpu >table
    [[ $(finding device <table) == "cpu: requested: "* ]]
    [[ $(finding primitives <table) == "cpu"* ]]
}

@test "--device is read once, from the command line or a configuration" {
    echo 'device = "cuda:0"' >c.toml
    : >no-driver
    ends_with 4 with_driver no-driver "$QUERN" build "$data/corpus.jsonl" -o store --config c.toml
    [ ! -e store ]
    says "CUDA was requested, but "
    ends_with 0 quern build "$data/corpus.jsonl" -o store --config c.toml --device cpu --stats s.json
    [ "$(json s.json "d['device'], d['device_reason']")" = "('cpu', 'requested')" ]
    for wrong in cuda:-1 cuda:1024 cuda: gpu ''; do
        ends_with 2 quern search store apple --device "$wrong"
        says "(expected auto, cpu, cuda, cuda:N, cuda:N,M (different GPUs) or cuda:all)"
    done
}

@test "the workers of a job share the GPUs" {
    fake=$(dirname "$QUERN")/../lib/libfake_libcuda.so
    [ -e "$fake" ] || skip "needs the tests' fake driver"
    unset CUDA_VISIBLE_DEVICES
    gpus_seen() { # gpus_seen ARGUMENT...: CUDA_VISIBLE_DEVICES of the workers of a dedup
        local driver process children words
        LD_LIBRARY_PATH=$PWD/driver "$QUERN" dedup lines.txt -o kept.txt --force --cluster local:2 --share "job$*" --shards 10 --quiet "$@" &
        driver=$!
        while kill -0 $driver 2>/dev/null; do
            read -ra children <"/proc/$driver/task/$driver/children" || true # it ends without a newline
            for process in "${children[@]}"; do
                { mapfile -d '' words <"/proc/$process/cmdline"; } 2>/dev/null || continue
                [ "${words[1]-}" = task ] || continue # it is still a copy of the driver
                { tr '\0' '\n' <"/proc/$process/environ"; } 2>/dev/null | sed -n 's/^CUDA_VISIBLE_DEVICES=//p'
            done
        done 2>/dev/null | sort -u
        wait $driver
    }
    with_driver "$fake" true
    seq -s ' ' 1 40 | awk '{ for (i = 0; i < 2000; ++i) { $(i % 40 + 1) = i * 7919; print } }' >lines.txt
    gpus_seen >seen
    cmp seen <(printf '0\n1\n')
    CUDA_VISIBLE_DEVICES=5,3 gpus_seen --device auto >seen
    cmp seen <(printf '3\n5\n')
    [ -z "$(gpus_seen --device cpu)" ]
}
