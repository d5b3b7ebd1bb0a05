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

@test "pages whose links lead somewhere" {
    check
    [ "$status" -eq 0 ]
    [[ $output == *"3 pages"* ]]
}

@test "a link to a file that is not there" {
    echo '[gone](b.md)' >>docs/a.md
    check
    says "docs/a.md:7: the link b.md leads nowhere"
}

@test "a link to a heading that is not there" {
    echo '[gone](a.md#another)' >>docs/a.md
    check
    says "docs/a.md:7: docs/a.md has no heading another"
}

@test "a page that no link leads to" {
    echo '# Lost' >docs/lost.md
    check
    says "docs/lost.md:1: no link leads here from README.md"
}

@test "a command that fails, and one that prints something else" {
    printf '```sh run\nfalse\n```\n' >>docs/a.md
    check
    says "failed (exit 1)"
    printf '# Part\n```sh run\necho one\n```\n\n```text output\ntwo\n```\n' >docs/part/README.md
    check
    says "and not"
}

@test "a page to type from says first where its commands run, and that is run" {
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
