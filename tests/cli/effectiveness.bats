#!/usr/bin/env bats
# Published values of retrieval effectiveness, on the classic collections: needs QUERN_DATA and the sources.
load common

@test "MAP within .005 of published values, on six collections" {
    [ -e "${QUERN_SOURCE:-}/bench/run-effectiveness" ] || skip "needs the sources"
    [ -d "${QUERN_DATA:-}/ir/cacm" ] || skip "set QUERN_DATA to a folder of real data"
    local only=--published
    [ -z "${QUERN_LONG:-}" ] || only=
    QUERN_WORK=$PWD/work "$QUERN_SOURCE/bench/run-effectiveness" $only >table
    [ "$(grep -c '^| [a-z]* | [0-9]* | ' table)" -eq 12 ]
}
