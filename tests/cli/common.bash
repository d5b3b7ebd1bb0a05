# Shared by the tests of the program: where it is, a folder of its own for each test, golden files.
# QUERN_UPDATE_GOLDEN=1 rewrites the golden files from what the program prints; read the difference before
# committing it.
bats_require_minimum_version 1.5.0

setup() {
    : "${QUERN:?the program to test}"
    data=$BATS_TEST_DIRNAME/data
    golden_folder=$BATS_TEST_DIRNAME/golden
    export QUERN_CACHE=$BATS_TEST_TMPDIR/cache
    unset COLUMNS
    cd "$BATS_TEST_TMPDIR" || return 1
    if declare -F own_setup >/dev/null; then own_setup; fi
}

quern() { "$QUERN" "$@"; }

# golden NAME COMMAND...: the command succeeds and prints, on standard output, exactly tests/cli/golden/NAME.
golden() {
    local name=$1
    shift
    "$@" >actual
    matches_golden "$name" actual
}

matches_golden() { # matches_golden NAME FILE
    if [ -n "${QUERN_UPDATE_GOLDEN:-}" ]; then
        mkdir -p "$(dirname "$golden_folder/$1")"
        cp "$2" "$golden_folder/$1"
    fi
    diff -u "$golden_folder/$1" "$2"
}

# ends_with CODE COMMAND...: the command ends with this exit code; $output and $stderr hold what it said. An error is
# one line that begins with the program's name.
ends_with() {
    local code=$1
    shift
    run --separate-stderr "$@"
    echo "exit code $status, expected $code; said: $stderr" # shown when the test fails
    [ "$status" -eq "$code" ]
}

# within MEMORY CODE ARGUMENT...: "quern ARGUMENT... --memory MEMORY" ends with the code, as ends_with has it, and what it
# holds in memory stays below the budget and 64 MB more, whatever it maps; $peak is the most it had, in MB.
within() {
    local memory=$1 code=$2 budget
    shift 2
    ends_with "$code" "$BATS_TEST_DIRNAME/peak_memory" peak_kib "$QUERN" "$@" --memory "$memory" || return 1
    peak=$(($(cat peak_kib) >> 10))
    budget=$(($(numfmt --from=iec "$memory") >> 20))
    echo "peak $peak MB within $memory: $*" # shown when the test fails
    if grep -q -e __asan_init -e __tsan_init "$QUERN"; then return 0; fi # sanitizers need memory of their own
    [ "$peak" -lt $((budget + 64)) ]
}

says() { # says TEXT: the last message holds the text
    [[ ${stderr_lines[-1]} == "quern"*": "*"$1"* ]] || {
        echo "said: $stderr"
        return 1
    }
}

refused() { # refused TEXT COMMAND...: exit code 2, nothing on standard output, and the reason
    local text=$1
    shift
    ends_with 2 quern "$@"
    [ -z "$output" ]
    says "$text"
}

build() { # build CORPUS STORE OPTION...: quietly, the index alone
    local corpus=$1 store=$2
    shift 2
    quern build "$corpus" -o "$store" --skip all --quiet "$@"
}

# json FILE EXPRESSION: evaluates a Python expression over the parsed file, as `d`.
json() { python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$@"; }

# endless_corpus: JSON lines without end, all different.
endless_corpus() {
    awk 'BEGIN { for (i = 0;; ++i) printf "{\"id\":\"d%d\",\"text\":\"word%d and word%d of document %d\"}\n", i, i % 9973, i % 101, i }'
}

# at_work PROCESS: waits until the program handles signals and, usually, has begun its work.
at_work() {
    local handled tries
    for ((tries = 0; tries < 1200; ++tries)); do
        if [ "/proc/$1/exe" -ef "$QUERN" ]; then
            handled=$(sed -n 's/^SigCgt:\s*//p' "/proc/$1/status")
            if ((0x$handled & 1 << 14)); then # SIGTERM, 15
                sleep 0.5
                return 0
            fi
        fi
        sleep 0.1
    done
    echo "process $1 never handled signals"
    return 1
}

# was_forced FILE: the message of an interrupted program says that the machine was too busy to let it end in order, so its
# temporary files are still there.
was_forced() { grep -q "the next run removes temporary files" "$1"; }

nothing_left() { # nothing_left FOLDER: no file but those that were there before, hidden ones included
    [ -z "$(ls -A "$1")" ] || {
        ls -lA "$1"
        return 1
    }
}

# until_done MOST_MS ARGUMENT...: runs "quern ARGUMENT... --quiet" again until it ends with 0, and kills the first four tries at
# random moments, up to MOST_MS milliseconds after their start. Counts them in $kills; $said has the last message.
until_done() {
    local most=$1 attempt process pause code
    shift
    said=
    for attempt in $(seq 20); do
        : >until_done.said # for a process that is killed before it opens the file
        "$QUERN" "$@" --quiet 2>until_done.said 3>&- &
        process=$!
        if [ "$attempt" -lt 5 ]; then
            pause=$((RANDOM % most))
            [ "$kills" -gt 0 ] || pause=$((pause % 20)) # the first one comes before the end for certain
            sleep "$((pause / 1000)).$(printf %03d $((pause % 1000)))"
            kill -KILL $process 2>/dev/null || true
        fi
        code=0
        wait $process || code=$?
        [ $code -ne 137 ] || kills=$((kills + 1)) # one that had ended takes the signal, too
        said=$(<until_done.said)
        rm until_done.said
        [ $code -ne 0 ] || return 0
        [ $code -eq 137 ] || break
    done
    echo "exit code $code; said: $said"
    return 1
}
