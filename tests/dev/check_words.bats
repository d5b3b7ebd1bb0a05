#!/usr/bin/env bats
# The checker of words: a clean tree passes, and each kind of finding has its file and line.

setup() {
    tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree"/docs "$tree"/src "$tree"/tests
    git init -q "$tree"
    printf '%s\n' '| retired | in | write |' '| --- | --- | --- |' '| `gadget`, `gadgets` | names, text | tool |' \
        '| `most_` | names | max_ |' '| `_there` | names | device_ |' >"$tree/docs/vocabulary.md"
    echo 'int tool = 0;  // one tool' >"$tree/src/a.cpp"
}

finding() { # finding TEXT: exactly one line is printed, and it begins with this
    run "$QUERN_SOURCE/scripts/check-words" "$tree"
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ ${lines[0]} == "$1"* ]]
}

@test "a clean tree passes" {
    echo 'const char* s = "gadget"; int almost_there_yet = at_most_one();' >"$tree/src/b.cpp"
    printf '%s\n' 'A `gadget` in code.' '```' 'gadget' '```' >"$tree/docs/page.md"
    run "$QUERN_SOURCE/scripts/check-words" "$tree"
    [ "$status" -eq 0 ]
    [[ $output == *"3 files"* ]]
}

@test "a retired part of a name is found" {
    printf '\nint the_gadget_ = 0;\n' >"$tree/src/b.cpp"
    finding "src/b.cpp:2: the_gadget_: 'gadget' is retired: write tool"
}

@test "a retired beginning and end of a name are found" {
    echo 'int most_rows = 0;' >"$tree/src/b.cu"
    finding "src/b.cu:1: most_rows: 'most_' is retired: write max_"
    echo 'int rows_there = 0;' >"$tree/src/b.cu"
    finding "src/b.cu:1: rows_there: '_there' is retired: write device_"
}

@test "a retired word of a comment and of a page is found" {
    printf '/* two\n   Gadgets */\n' >"$tree/src/b.hpp"
    finding "src/b.hpp:2: 'Gadgets' is retired: write tool"
    rm "$tree/src/b.hpp"
    printf 'text\n\nA gadget.\n' >"$tree/docs/page.md"
    finding "docs/page.md:3: 'gadget' is retired"
}

@test "a test in another style of names is found" {
    echo 'TEST(names, AreWrong) {}' >"$tree/tests/names_test.cpp"
    finding "tests/names_test.cpp:1: names.AreWrong: tests are named in snake_case"
    rm "$tree/tests/names_test.cpp"
    echo 'TEST(names, are_right) {}' >"$tree/tests/names.cpp"
    finding "tests/names.cpp:1: a file of tests ends in _test"
}
