#!/usr/bin/env bats
# The check of the documentation, on pages made for it.
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir -p scripts docs/sample docs/part
    cp "$QUERN_SOURCE/scripts/check-docs" scripts/
    printf '# Front\n[a page](docs/a.md), [its part](docs/a.md#a-part-of-it), [a folder](docs/part)\n' >README.md
    printf '# A\n## A part, of `it`\n[up](#a), `[no link](nowhere)`\n```sh\n[none](here)\n```\n' >docs/a.md
    echo '# Part' >docs/part/README.md
}

check() { run --separate-stderr env -u QUERN python3 scripts/check-docs; }

says() {
    echo "said: $output"
    [ "$status" -eq 1 ]
    [[ $output == *"$1"* ]]
}

@test "pages without dead links" {
    check
    [ "$status" -eq 0 ]
    [[ $output == *"3 pages"* ]]
}

@test "a link to a missing file" {
    echo '[gone](b.md)' >>docs/a.md
    check
    says "docs/a.md:7: dead link b.md (no such file)"
}

@test "a link to a missing heading" {
    echo '[gone](a.md#another)' >>docs/a.md
    check
    says "docs/a.md:7: dead link: docs/a.md has no heading another"
}

@test "a page that no link reaches" {
    echo '# Lost' >docs/lost.md
    check
    says "docs/lost.md:1: links from README.md do not reach this page"
}

@test "a failing command, and one with unexpected output" {
    printf '```sh run\nfalse\n```\n' >>docs/a.md
    check
    says "failed (exit 1)"
    printf '# Part\n```sh run\necho one\n```\n\n```text output\ntwo\n```\n' >docs/part/README.md
    check
    says "unexpected output"
}

@test "a page with commands to type begins with a block that sets up their folder, and the block is run" {
    mkdir -p build/release/bin docs/how-to
    printf '#!/bin/sh\necho it is $1\n' >build/release/bin/quern
    chmod +x build/release/bin/quern
    echo text >docs/sample/notes
    echo '[how](how-to/b.md)' >>docs/a.md
    printf '# B\n```sh run\ncat notes\n```\n' >docs/how-to/b.md
    check
    says "docs/how-to/b.md:2: no block 'sh begin'"
    printf '# B\n```sh begin\ncp -r docs/sample try && cd try\n```\n```sh run\nquern here\n```\n' >docs/how-to/b.md
    check
    says "docs/how-to/b.md:5: failed (exit 127)"
    printf '# B\n```sh begin\nexport PATH=$PWD/build/release/bin:$PATH\ncp -r docs/sample try && cd try\n```\n' >docs/how-to/b.md
    printf '```sh run\ncat notes; quern here\n```\n```text output\ntext\nit is here\n```\n' >>docs/how-to/b.md
    check
    [ "$status" -eq 0 ]
}
