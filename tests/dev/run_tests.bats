#!/usr/bin/env bats
# The options that reach each test program of a bundle; no failure is lost.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir -p bin tools
    cp "$QUERN_SOURCE/scripts/run-tests" .
    program plain 'true'
    program places ': --sizes=small'
    # A checker that runs what it is given, and fails for one tool where it is told to.
    printf '#!/bin/sh\necho "$@" >>said\necho "========= ERROR SUMMARY: 0 errors"\n[ "$2" != "$BROKEN" ]\n' >tools/compute-sanitizer
    chmod +x tools/compute-sanitizer
    PATH=$PWD/tools:$PATH
}

program() { # program NAME COMMAND
    printf '#!/bin/sh\necho "%s $*" >>said\n%s\n' "$1" "$2" >"bin/test_$1"
    chmod +x "bin/test_$1"
}

@test "options of places go only to the programs that accept them" {
    run ./run-tests --device=cuda --sizes=small
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "2 passed, 0 failed" ]
    [ "$(cat said)" = "$(printf '%s\n' 'places --gtest_brief=1 --device=cuda --sizes=small' 'plain --gtest_brief=1')" ]
}

@test "only the named programs run, also from another folder" {
    cd / && run "$OLDPWD/run-tests" plain
    [ "$status" -eq 0 ]
    [ "$(cat "$BATS_TEST_TMPDIR/said")" = "plain --gtest_brief=1" ]
}

@test "a failure is counted and ends with 1; an unknown option with 2" {
    program broken 'exit 3'
    run ./run-tests
    [ "$status" -eq 1 ]
    [[ $output == *"FAILED: broken"*"2 passed, 1 failed"* ]]
    run ./run-tests --devise=cuda
    [ "$status" -eq 2 ]
}

@test "--check runs the four tools over the programs with places" {
    run ./run-tests --check
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "4 passed, 0 failed" ]
    [ "$(grep -c 'bin/test_places --device=cuda --sizes=small' said)" -eq 4 ]
    [ "$(grep -c plain said)" -eq 0 ]
    BROKEN=initcheck run ./run-tests --check
    [ "$status" -eq 1 ]
    [[ $output == *"FAILED: places under initcheck"*"3 passed, 1 failed"* ]]
    [ -e check/places.initcheck ] && [ ! -e check/places.memcheck ]
}

@test "--check that checks nothing fails" {
    run ./run-tests --check plain
    [ "$status" -eq 1 ]
}
