#!/usr/bin/env bats
# quern man: a page for the program and one for each command, complete and in correct roff.

setup() {
    : "${QUERN:?the program to test}"
    cd "$BATS_TEST_TMPDIR" || return 1
    export SOURCE_DATE_EPOCH=1700000000
}

commands() { "$QUERN" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }

pages() { # writes all of them
    "$QUERN" man >quern.1
    commands | while read -r name; do "$QUERN" man "$name" >"quern-$name.1"; done
}

# The names of the options at the beginning of an entry of a help page, one a line.
options_of() { "$QUERN" "$1" --help-all | grep -oE '^ {2,6}-(-[a-z0-9-]+|[a-zA-Z](, --[a-z0-9-]+)?)' | tr -d ' ' | tr , '\n' | sort -u; }

@test "every option of every command stands in its page, as the head of an entry" {
    pages
    [ "$(commands | wc -l)" -gt 20 ]
    commands | while read -r name; do
        options_of "$name" >expected
        [ "$(wc -l <expected)" -gt 9 ]
        # An entry is a line with .TP, then its head: names in bold.
        sed -n '/^\.TP$/{n;p}' "quern-$name.1" | grep -o '\\fB\\-[^ ]*\\fR' | sed 's/\\f[BR]//g; s/\\//g' | sort -u >found
        diff -u expected found || { echo "quern $name"; return 1; }
        grep -q "^\\\\fBquern\\\\-$name\\\\fR(1),\?$" quern.1
    done
}

@test "groff and mandoc find nothing wrong in any page" {
    command -v man >/dev/null || command -v mandoc >/dev/null || skip "neither man nor mandoc is installed"
    pages
    for page in *.1; do
        if command -v mandoc >/dev/null; then mandoc -Tlint -W warning "$page"; fi
        command -v man >/dev/null && man --version >/dev/null 2>&1 || continue
        MANROFFSEQ='' MANWIDTH=80 man --warnings -l "$page" >/dev/null 2>warnings
        [ ! -s warnings ] || { echo "$page: $(cat warnings)"; return 1; }
    done
}

@test "a page shows what the help page says" {
    command -v mandoc >/dev/null || skip "mandoc is not installed"
    "$QUERN" man search | mandoc -Tascii -O width=78 | col -b >page
    # All words of an option's help, hyphens and dashes included, in order.
    tr -s ' \n\t' '   ' <page | grep -qF -- '--lambda X ql, two-stage: weight of the document model, 1 - X of the collection model. [above 0, below 1; default: 0.5]'
    grep -qF 'QUERN-SEARCH(1)' page
    grep -qF '2023-11-14' page
}

@test "the same page at any time and place; the day only from SOURCE_DATE_EPOCH" {
    "$QUERN" man build >first
    (cd / && TZ=Asia/Tokyo LC_ALL=C COLUMNS=20 "$QUERN" man build) >second
    cmp first second
    unset SOURCE_DATE_EPOCH
    "$QUERN" man build | grep -q '^\.TH QUERN-BUILD 1 "" "quern [0-9.a-z-]*" "Quern Manual"$'
    SOURCE_DATE_EPOCH=0 "$QUERN" man build | grep -q '"1970-01-01"'
}

@test "an unknown command, two commands, an invalid day" {
    run "$QUERN" man serch
    [ "$status" -eq 2 ]
    [[ $output == *"unknown command 'serch'; did you mean search?"* ]]
    run "$QUERN" man build search
    [ "$status" -eq 2 ]
    [[ $output == *"unexpected argument 'search'"* ]]
    for day in yesterday -1 99999999999999999999 253402300800; do
        SOURCE_DATE_EPOCH=$day run "$QUERN" man
        [ "$status" -eq 2 ]
        [[ $output == *"SOURCE_DATE_EPOCH: invalid value '$day'"* ]]
    done
}
