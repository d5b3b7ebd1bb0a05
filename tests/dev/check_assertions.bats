#!/usr/bin/env bats
# The checker of assertions: tests that check something pass, and each kind of finding has its file, line and test.
bats_require_minimum_version 1.5.0

setup() {
    tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree"/tests/cli
    git init -q "$tree"
    cd "$tree/tests" || return 1
    printf '%s\n' '#include "helper.hpp"' 'TEST(sums, are_right) {' '    EXPECT_EQ(1 + 1, 2);' '}' >a_test.cpp
}

clean() {
    run "$QUERN_SOURCE/scripts/check-assertions" "$tree"
    echo "$output" # shown when the test fails
    [ "$status" -eq 0 ]
}

finding() { # finding TEXT: exactly one line is printed, and it is this
    run "$QUERN_SOURCE/scripts/check-assertions" "$tree"
    echo "$output" # shown when the test fails
    [ "$status" -eq 1 ]
    [ "${#lines[@]}" -eq 1 ]
    [ "${lines[0]}" = "$1" ]
}

@test "assertions in the body, in a helper, in the helper of a helper and in an included file pass" {
    printf '%s\n' 'struct checker {' '    checker() { ASSERT_TRUE(true); }' '};' >helper.hpp
    cat >>a_test.cpp <<'END'
void same(int a, std::vector<int> b = {}) { EXPECT_EQ(a, b.size()); }
void all_same(int a) { same(a); }
TEST(sums, in_a_helper) { same(1); }
TEST_F(sums, in_the_helper_of_a_helper) { all_same(2); }
TYPED_TEST(sums, in_an_included_class) { const checker one; }
TEST(sums, in_a_lambda) {
    const auto lambda = [](int a) { EXPECT_EQ(a, 1); };
    lambda(1);
}
RC_GTEST_PROP(sums, of_a_property, (int a, int b)) {
    RC_ASSERT(a + b == b + a);
}
END
    clean
}

@test "a test of GoogleTest or rapidcheck that checks nothing is found" {
    printf '%s\n' '// EXPECT_EQ(1, 1)' 'TEST(sums, are_made) {' '    const char* s = "EXPECT_EQ {";  // ASSERT_TRUE' '}' >b_test.cpp
    finding 'tests/b_test.cpp:2: sums.are_made checks nothing'
    printf '%s\n' 'RC_GTEST_PROP(sums, of_two, (int a, int b)) {' '    a + b;' '}' >b_test.cpp
    finding 'tests/b_test.cpp:1: sums.of_two checks nothing'
}

@test "a helper that only another file has is none" {
    echo 'void same() { EXPECT_TRUE(true); }' >other_test.cpp
    echo 'TEST(sums, call) { same(); }' >b_test.cpp
    finding 'tests/b_test.cpp:1: sums.call checks nothing'
}

@test "checks of bats, by commands and helpers, pass" {
    echo 'says() { grep -q "$1" said; }' >cli/common.bash
    sed 's/^|//' >cli/a.bats <<'END'
|load common
|@test "a command" { diff a b; }
|@test "a helper" {
|    says word
|    run ! grep word said
|    [ -e a ] && skip
|    [ -e a ] && [ -e b ]
|}
|@test "Python" {
|    python3 -c 'assert 1 + 1 == 2'
|}
END
    clean
}

@test "a test of bats that checks nothing is found" {
    printf '%s\n' '@test "made" {' '    quern build corpus -o store' '}' >cli/a.bats
    finding 'tests/cli/a.bats:1: "made" checks nothing'
}

@test "a command of bats whose failure is ignored is found, in a helper too" {
    printf '%s\n' '@test "made" {' '    ! grep -q word said' '    [ -e store ]' '}' >cli/a.bats
    finding 'tests/cli/a.bats:2: a command that begins with ! does not fail a test: write run !'
    printf '%s\n' 'made() {' '    [ -e one ] && [ -e other ]' '    [ -e store ]' '}' '@test "made" { made; }' >cli/a.bats
    finding 'tests/cli/a.bats:2: a check in front of && does not fail a test: write two lines'
}

@test "tests of unittest pass with an assertion or a helper that has one, and are found without" {
    cat >a.py <<'END'
class Sums(unittest.TestCase):
    def same(self, a):
        self.assertEqual(a, 1)

    def test_in_a_helper(self):
        self.same(1)
END
    clean
    printf '%s\n' '' '    def test_nothing(self):' '        print(1)' >>a.py
    finding 'tests/a.py:8: Sums.test_nothing checks nothing'
}

@test "this repository is clean" {
    run "$QUERN_SOURCE/scripts/check-assertions"
    [ "$status" -eq 0 ]
}
