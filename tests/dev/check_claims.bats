#!/usr/bin/env bats
# The checker of claims: a clean tree passes, and each kind of finding has its line.

setup() {
    tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree"/docs "$tree"/tests
    printf '%s\n' '# A' '## What it promises' '- **Fast.** It takes' '  0.14 s.' >"$tree/README.md"
    printf '%s\n' '# Results' '## search: times' '| 0.1408 |' '## other' '| 7.5 |' >"$tree/docs/results.md"
    echo 'TEST(search, finds_all) {}' >"$tree/tests/a_test.cpp"
    claims '| `README.md` | It takes 0.14 s. | `tests/a_test.cpp` `finds_all`, [times](results.md#search-times) |'
}

claims() { printf '%s\n' '| page | claim | backed by |' '| --- | --- | --- |' "$@" >"$tree/docs/claims.md"; }

finding() { # finding TEXT: exactly one line is printed, and it has this
    run "$QUERN_SOURCE/scripts/check-claims" "$tree"
    echo "$output"
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ ${lines[0]} == docs/claims.md:*"$1"* ]]
}

@test "a clean tree passes" {
    run "$QUERN_SOURCE/scripts/check-claims" "$tree"
    [ "$status" -eq 0 ]
    [[ $output == *"1 claims"* ]]
}

@test "a claim that its page no longer has is found" {
    sed -i 's/Fast/Quick/; s/takes/needs/' "$tree/README.md"
    run "$QUERN_SOURCE/scripts/check-claims" "$tree"
    [ "$status" -eq 1 ]
    [[ $output == *"README.md does not say 'It takes 0.14 s.'"* ]]
}

@test "a test that does not exist is found" {
    sed -i 's/finds_all/finds_most/' "$tree/tests/a_test.cpp"
    finding "tests/a_test.cpp has no test 'finds_all'"
}

@test "a file that does not exist is found" {
    claims '| `README.md` | It takes 0.14 s. | `tests/b_test.cpp`, [times](results.md#search-times) |'
    finding "no file tests/b_test.cpp"
}

@test "a section that does not exist is found" {
    claims '| `README.md` | It takes 0.14 s. | `tests/a_test.cpp`, [times](results.md#times) |'
    finding "no section results.md#times"
}

@test "a number that the section does not have is found" {
    claims '| `README.md` | It takes 0.14 s. | [other](results.md#other) |'
    finding "its number 0.14 is not in the section"
}

@test "a claim without a test is found" {
    claims '| `README.md` | It takes 0.14 s. | `README.md` |'
    finding "nothing backs it"
}

@test "a promise of README.md without a claim is found" {
    echo '- **Small.** It is small.' >>"$tree/README.md"
    finding "no claim of 'Small. It is small.…'"
}
