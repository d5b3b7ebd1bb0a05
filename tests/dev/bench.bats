#!/usr/bin/env bats
# The page of results: sections measured here, sections from another machine, and sections that cannot be measured here.
bats_require_minimum_version 1.5.0

setup() {
    tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree/scripts" "$tree/bench" "$tree/docs"
    cp "$QUERN_SOURCE/scripts/bench" "$tree/scripts/"
    cd "$tree"
    export QUERN_COMMIT=abc123 QUERN_COMPILER='a compiler'
    script mill 'echo "## Mill"; echo; echo 1 bag'
    script cuda-mill 'echo "## Mill on a GPU"; echo; echo 100 bags'
    mkdir gpu no_gpu
    printf '#!/bin/sh\necho NVIDIA Windmill\n' >gpu/nvidia-smi
    printf '#!/bin/sh\nexit 9\n' >no_gpu/nvidia-smi
    chmod +x gpu/nvidia-smi no_gpu/nvidia-smi
}

script() { # script NAME COMMANDS
    printf '#!/bin/sh\n%s\n' "$2" >"bench/run-$1"
    chmod +x "bench/run-$1"
}
on() { # on gpu|no_gpu ARGUMENT...
    PATH=$PWD/$1:$PATH run scripts/bench "${@:2}"
}

@test "sections name commit, machine and compiler" {
    on gpu
    [ "$status" -eq 0 ]
    grep -q '^\*Commit abc123, .*NVIDIA Windmill; a compiler\*$' docs/results.md
    [ "$(grep -c '^<!-- bench/run-' docs/results.md)" -eq 2 ]
}

@test "without a GPU its benchmarks are skipped visibly and keep their sections" {
    on gpu
    script mill 'echo "## Mill"; echo; echo 2 bags'
    on no_gpu
    [ "$status" -eq 0 ]
    [[ $output == *"cuda-mill skipped: no GPU found"* ]]
    grep -q '^2 bags$' docs/results.md
    grep -q '^100 bags$' docs/results.md
    on no_gpu cuda-mill
    [ "$status" -eq 1 ]
}

@test "a section measured elsewhere is inserted into the page" {
    on no_gpu mill
    mkdir elsewhere
    cp -r scripts bench elsewhere
    (cd elsewhere && PATH=$tree/gpu:$PATH scripts/bench --print cuda-mill >../section.md)
    [ ! -e elsewhere/docs ]
    on no_gpu --insert section.md
    [ "$status" -eq 0 ]
    grep -q '^1 bag$' docs/results.md
    grep -q '^100 bags$' docs/results.md
    grep -q 'NVIDIA Windmill' docs/results.md
}

@test "a file without a section is rejected" {
    on no_gpu mill
    cp docs/results.md before
    echo '## nothing of ours' >file.md
    on no_gpu --insert file.md
    [ "$status" -eq 1 ]
    sed 's/run-mill/run-hill/' docs/results.md >file.md
    on no_gpu --insert file.md
    [ "$status" -eq 1 ]
    cmp before docs/results.md
}

@test "a peer that cannot be fetched is reported, and no other takes its place" {
    cp "$QUERN_SOURCE/scripts/peer" scripts/
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=url.file:///nowhere/.insteadOf GIT_CONFIG_VALUE_0=https://github.com/
    for turn in 1 2; do
        run --separate-stderr scripts/peer libsais
        [ "$status" -eq 4 ]
        [ -z "$output" ]
        [[ $stderr == *"peer: cannot fetch or build libsais"* ]]
    done
    run scripts/peer windmill
    [ "$status" -eq 2 ]
}

@test "the summary has the numbers of the sections, and is that of the page" {
    cp "$QUERN_SOURCE"/bench/{summary,goals}.* "$QUERN_SOURCE"/bench/run-* bench/
    cp "$QUERN_SOURCE/docs/results.md" docs/
    scripts/bench --summary
    diff "$QUERN_SOURCE/docs/results.md" docs/results.md
    sed -i 's/^| 2 | lbzip2 | [0-9.]* | [0-9.]* /| 2 | lbzip2 | 1.5 | 6.0 /' docs/results.md
    scripts/bench --summary
    grep -q '^| .Decoding bzip2, two threads.* | CPU | 1.5 s | 6.0 s, lbzip2 | 4.00× |' docs/results.md
    sed -i 's/^| 2 | lbzip2 /| 3 | lbzip2 /' docs/results.md
    run scripts/bench --summary
    [ "$status" -eq 1 ]
    [[ $output == *"Decoding bzip2, two threads: section bz2: no cell in column"* ]]
    ! grep -q 'Decoding bzip2' docs/results.md
}

@test "a goal that a section reaches is said to be reached" {
    cp "$QUERN_SOURCE"/bench/{summary,goals}.* "$QUERN_SOURCE"/bench/run-* bench/
    cp "$QUERN_SOURCE/docs/results.md" docs/
    typing='^| .First hits while typing'
    sed -i 's/^| 200 | [0-9.]* \(| [0-9.]* | [0-9.]* | [0-9.]* |\)$/| 200 | 50.1 \1/' docs/results.md
    scripts/bench --summary
    grep "$typing" docs/results.md | grep -q '| 50 ms | 50.1 ms | the browser'
    sed -i 's/^| 200 | 50.1 /| 200 | 49.9 /' docs/results.md
    scripts/bench --summary
    grep "$typing" docs/results.md | grep -q '| 50 ms | 49.9 ms | reached |$'
}

@test "stale sections: days, commit, and the commits since that changed the benchmark or what it measures" {
    mkdir -p src/ops/mill src/io
    printf '#include "ops/mill/stones.hpp"\n' >bench/mill_bench.cpp
    script mill 'echo "## Mill"; : "$QUERN_BIN/mill_bench"'
    git init -q . && git config user.name m && git config user.email m@m
    save() { git add -A && git commit -q -m "$1"; }
    touch src/ops/mill/stones.hpp
    save first
    QUERN_COMMIT=$(git rev-parse --short=12 HEAD) PATH=$PWD/no_gpu:$PATH run scripts/bench mill
    [ "$status" -eq 0 ]
    echo >src/io/other && save 'nothing that is measured'
    run --separate-stderr scripts/bench --stale
    [ "$status" -eq 0 ]
    [[ ${lines[1]} == 0$'\t'mill$'\t'*$'\t'0$'\t'0$'\t'src/ops/mill ]]
    echo >src/ops/mill/stones.hpp && save stones
    echo '# slower' >>bench/run-mill && save 'the script'
    echo '// faster' >>bench/mill_bench.cpp && save 'the program'
    run --separate-stderr scripts/bench --stale
    [[ ${lines[1]} == 0$'\t'mill$'\t'*$'\t'2$'\t'1$'\t'src/ops/mill ]]
}
