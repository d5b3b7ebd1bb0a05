#!/usr/bin/env bats
# docs/commands.md is what the program says of itself.
load common

@test "docs/commands.md is up to date" {
    [ -e "${QUERN_SOURCE:-}/docs/commands.md" ] || skip "needs the sources"
    QUERN=$QUERN "$QUERN_SOURCE/scripts/make-command-docs" >commands.md
    diff -u "$QUERN_SOURCE/docs/commands.md" commands.md
}
