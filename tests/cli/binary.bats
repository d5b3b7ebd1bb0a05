#!/usr/bin/env bats
# shellcheck disable=SC2154 # common and bats set $data, $stderr
# quern dedup and signature over files of bytes: images, programs, archives.
load common

own_setup() {
    mkdir -p in/deep
    head -c 3000 "$QUERN" >in/program
    { head -c 1000 "$QUERN"; printf 'XY'; tail -c +1003 in/program; } >in/deep/patched
    seq 1 500 | gzip -n >in/numbers.gz
    cp in/numbers.gz in/deep/numbers.copy
    printf 'a\0b' >in/.hidden
    : >in/empty
    seq 1 500 >in/numbers.txt
}

@test "every file that is not hidden is a document, its bytes as they are" {
    for option in --binary "--input-format binary"; do
        # shellcheck disable=SC2086 # two words
        quern dedup $option in --quiet >rows
        cut -f 1-3 rows | diff <(printf 'deep/numbers.copy\tnumbers.gz\t0\ndeep/patched\tprogram\t2\n') -
    done
    quern dedup --binary in --quiet --method exhaustive --unit byte | cmp rows -
    quern dedup --binary in --quiet --threads 1 --memory 64M | cmp rows -
    quern dedup --binary in --quiet --method signature | cut -f 1-2 | grep -q numbers
    quern dedup --binary in 2>&1 >/dev/null | grep -q "6 documents, 2 pairs"
    quern dedup --binary in 2>&1 >/dev/null | grep -q "1 hidden file"
}

@test "-o lists the paths of the files to keep, groups have ids" {
    quern dedup --binary in --quiet -o kept --groups groups
    printf '%s\n' in/deep/numbers.copy in/deep/patched in/empty in/numbers.txt | diff - kept
    cut -f 1-5 groups |
        diff <(printf '0\tdeep/numbers.copy\t1\t\t\n0\tnumbers.gz\t0\tdeep/numbers.copy\t0\n1\tdeep/patched\t1\t\t\n1\tprogram\t0\tdeep/patched\t2\n') -
    quern dedup --binary in --quiet -o - --prefer in/program,in/numbers.gz | tar -c -T - | tar -t |
        diff <(printf '%s\n' in/empty in/numbers.gz in/numbers.txt in/program) -
    touch $'in/line\nend'
    refused "a path with a line end cannot be written to a list of paths" dedup --binary in -o another
    [ ! -e another ]
}

@test "files named one by one, a pipe, against a set, into a store" {
    quern dedup --binary in/program in/deep/patched in/empty --quiet | cut -f 1-3 | diff <(printf 'program\tpatched\t2\n') -
    quern dedup --binary in/program <(cat in/program) --quiet | grep -q $'^program\t[0-9]*\t0\t0$'
    quern dedup --binary - in/program --quiet <in/program | cut -f 1-3 | diff <(printf -- '-\tprogram\t0\n') -
    quern dedup --binary in/deep --against in --quiet | cut -f 1-3 |
        diff <(printf 'deep/numbers.copy\tnumbers.copy\t0\ndeep/patched\tpatched\t0\nnumbers.gz\tnumbers.copy\t0\nprogram\tpatched\t2\n' | sort) <(sort -)
    quern dedup --binary in/deep --store seen --quiet -o first
    printf 'in/deep/%s\n' numbers.copy patched | diff - first
    quern dedup --binary in --store seen --quiet -o second
    printf 'in/%s\n' empty numbers.txt | diff - second
    quern verify seen --quiet
}

@test "words and characters of bytes are refused, before the work" {
    refused "method shingle compares words, and binary files have none" dedup --binary in --method shingle
    refused "expected unit byte" dedup --binary in --unit char
    refused "--binary and --input-format jsonl cannot be combined" dedup --binary in --input-format jsonl
    refused "--stream reads only JSON lines" dedup --stream --binary
    refused "(expected one of wikipedia" build in -o store --input-format binary
    refused "signatures are always of bytes" signature --binary in --unit byte
}

@test "signatures of files of bytes" {
    quern signature --binary in --quiet >rows
    cut -f 1 rows | diff <(printf '%s\n' deep/numbers.copy deep/patched empty numbers.gz numbers.txt program) -
    [ "$(grep -P '^deep/numbers.copy\t' rows | cut -f 2-)" = "$(grep -P '^numbers.gz\t' rows | cut -f 2-)" ]
    grep -qP '^empty\t1\t\t$' rows
    [ "$(quern signature --binary in/numbers.txt --quiet | cut -f 2-)" = "$(quern signature in/numbers.txt --quiet | cut -f 2-)" ]
    [ "$(quern signature --binary in/numbers.gz --quiet | cut -f 2-)" != "$(quern signature in/numbers.gz --quiet | cut -f 2-)" ]
}

@test "a file that cannot be read, or is too large, is an error that names it" {
    truncate -s 2147483648 in/large
    ends_with 3 quern dedup --binary in --memory 64G --quiet
    says "in/large: larger than the limit of 2147483647 bytes a document"
    ends_with 3 quern dedup --binary in --memory 1G --quiet # no memory is enough
    says "in/large: larger than the limit of 2147483647 bytes a document"
    truncate -s 1500000000 in/large
    ends_with 3 quern dedup --binary in --memory 1G --quiet
    says "bytes a document that the memory allows"
    truncate -s 2147483648 in/large
    quern dedup --binary in --memory 64G --quiet --max-errors 1 -o kept
    [ "$(wc -l <kept)" -eq 4 ]
}
