#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2059,SC2154 # bash -c expands its own text; common and bats set $data, $stderr
# A damaged store is refused, by the name of what is damaged: every file of it, flipped and cut.
load common

own_setup() { build "$data/garden" whole; }

flip() { # flip FILE OFFSET: inverts one byte
    local byte
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf "\\x$(printf %x $((255 - byte)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

name_of() { # the section a file holds
    case $1 in
    store.json) echo manifest ;;
    *) echo "${1%.section}" ;;
    esac
}

@test "a flipped byte anywhere is found, and the section is reported" {
    for file in whole/*.section whole/store.json; do
        file=${file#whole/}
        size=$(wc -c <"whole/$file")
        for offset in 0 $((size / 2)) $((size - 2)); do
            rm -rf hurt && cp -r whole hurt
            flip "hurt/$file" "$offset"
            cmp -s "whole/$file" "hurt/$file" && continue
            ends_with 5 quern verify hurt
            says "section $(name_of "$file"): "
        done
    done
}

@test "a truncated, empty or missing file is found, and the section is reported" {
    for file in whole/*.section; do
        file=${file#whole/}
        rm -rf hurt && cp -r whole hurt
        truncate -s $(($(wc -c <"whole/$file") / 2)) "hurt/$file"
        ends_with 5 quern verify hurt
        says "section $(name_of "$file"): "
        truncate -s 0 "hurt/$file"
        ends_with 5 quern verify hurt
        says "section $(name_of "$file"): "
        rm "hurt/$file"
        ends_with 5 quern verify hurt
        says "$(name_of "$file")"
    done
}

@test "search rejects damaged data that it must read, and never gives a wrong result" {
    quern search whole apple bees --quiet >right
    for file in whole/*.section whole/store.json; do
        file=${file#whole/}
        size=$(wc -c <"whole/$file")
        for offset in 0 $((size / 2)) $((size - 2)); do
            rm -rf hurt && cp -r whole hurt
            flip "hurt/$file" "$offset"
            run --separate-stderr quern search hurt apple bees --quiet
            echo "$file at $offset: $status $stderr"
            if [ "$status" -eq 0 ]; then
                diff right <(printf '%s\n' "$output") # the search did not need that file
            else
                [ "$status" -eq 5 ]
                [ -z "$output" ]
            fi
        done
    done
}
