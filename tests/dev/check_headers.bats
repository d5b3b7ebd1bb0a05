#!/usr/bin/env bats
# The checker itself: a header that lacks an include is caught; with --since, where it or what it includes has changed.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir -p scripts include/quern/base src/io
    cp "$QUERN_SOURCE/scripts/check-headers" scripts
    header include/quern/base/id.hpp 'using id = unsigned;'
    header src/io/file.hpp '#include "quern/base/id.hpp"' 'id file();'
    header src/io/files.hpp '#include "io/file.hpp"' 'id files();'
    header src/io/other.hpp 'int other();'
}

header() { # header PATH LINE...
    printf '%s\n' '#pragma once' "${@:2}" >"$1"
}

commit() {
    git init -q
    git add .
    git -c user.name=name -c user.email=mail commit -qm all
}

check() { # check CODE OPTION...
    local code=$1
    shift
    run scripts/check-headers "$@"
    echo "$output" # shown when the test fails
    [ "$status" -eq "$code" ]
}

@test "every header is checked, and one that lacks an include is named" {
    check 0
    [[ $output == *"4 headers compile alone"* ]]
    header src/io/bad.hpp 'id bad();'
    check 123
    [[ $output == *"src/io/bad.hpp:1: does not compile alone"* ]]
    check 0 src/io/other.hpp
    [[ $output == *"1 headers compile alone"* ]]
}

@test "a public header that includes a private one is named" {
    header include/quern/base/bad.hpp '#include "io/file.hpp"'
    check 123
    [[ $output == *"include/quern/base/bad.hpp:1: does not compile alone"* ]]
}

@test "since a commit: the changed headers, and those that include them through others" {
    commit
    check 0 --since HEAD
    [[ $output == *"no header changed since HEAD"* ]]
    header src/io/new.hpp 'int made();'
    check 0 --since HEAD
    [[ $output == *"1 headers compile alone"* ]]
    header src/io/file.hpp 'unsigned file();'
    check 123 --since HEAD
    [[ $output == *"src/io/files.hpp:1: does not compile alone"* && $output != *"src/io/file.hpp:1: does"* ]]
    header src/io/files.hpp 'unsigned files();'
    check 0 --since HEAD
    [[ $output == *"3 headers compile alone"* ]]
}

@test "headers that have not begun in time are skipped and counted" {
    commit
    header include/quern/base/id.hpp 'using id = long;'
    QUERN_UNTIL=1 check 0 --since HEAD
    [[ $output == *"skipped 3 headers of 3"* && $output == *"0 headers compile alone"* ]]
    QUERN_UNTIL=4000000000 check 0 --since HEAD
    [[ $output != *"skipped"* && $output == *"3 headers compile alone"* ]]
}

@test "since a commit: a header that includes one that is gone" {
    commit
    rm src/io/file.hpp
    check 123 --since HEAD
    [[ $output == *"src/io/files.hpp:1: does not compile alone"* ]]
}

@test "an option that does not exist is refused" {
    check 2 --before HEAD
    [[ $output == *"usage: check-headers"* ]]
}
