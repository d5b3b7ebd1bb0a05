#!/usr/bin/env bats
# quern completion: what the shells themselves complete.

setup() {
    : "${QUERN:?the program to test}"
    cd "$BATS_TEST_TMPDIR" || return 1
    for shell in bash zsh fish; do "$QUERN" completion $shell >"script.$shell"; done
    mkdir -p work/folder
    touch 'work/file one.txt'
}

commands() { "$QUERN" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'; }
options_of() { "$QUERN" "$1" --help-all | grep -oE '^ {2,6}-(-[a-z0-9-]+|[a-zA-Z](, --[a-z0-9-]+)?)' | tr -d ' ' | tr , '\n' | sort -u; }

in_bash() { # in_bash WORD...: what bash offers for the last word after quern
    bash --norc -c 'source script.bash; COMP_WORDS=(quern "$@"); COMP_CWORD=$#; _quern; printf "%s\n" "${COMPREPLY[@]}"' - "$@"
}

# shellcheck disable=SC2016 # fish expands it
in_fish() { fish -N -c 'source script.fish; complete -C $argv[1]' "$1" | cut -f 1; }

has() { command -v "$1" >/dev/null || skip "$1 is not installed"; }

@test "the scripts are correct in their shells" {
    for shell in bash zsh fish; do
        command -v $shell >/dev/null || continue
        run $shell -n "script.$shell"
        [ "$status" -eq 0 ]
        [ -z "$output" ]
    done
}

@test "bash offers every command, and every option of each" {
    diff -u <({ commands; echo help; } | sort) <(in_bash '' | sort)
    commands | while read -r name; do
        diff -u <(options_of "$name") <(in_bash "$name" - | sort -u) || { echo "quern $name"; return 1; }
    done
}

@test "zsh has every option of each command" {
    commands | while read -r name; do
        sed -n "/^    $name)\$/,/^        ;;\$/p" script.zsh | grep -oE "(\)|\*|')--?[a-zA-Z0-9-]+[=+]?\[" | tr -d ")*'[=+" | sort -u >found
        diff -u <(options_of "$name") found || { echo "quern $name"; return 1; }
    done
}

@test "fish offers every command, and every option of each" {
    has fish
    diff -u <(commands | sort) <(in_fish 'quern ' | sort)
    commands | while read -r name; do
        diff -u <(options_of "$name" | grep -e --) <(in_fish "quern $name --" | sort -u) || { echo "quern $name"; return 1; }
    done
}

# An option whose invalid value is refused with "expected one of ..." completes to exactly these names.
@test "the values offered are those that the program accepts" {
    printf 'a\tb\n' >x
    checked=0
    for words in "build x -o s --skip" "build x -o s --input-format" "build x -o s --ids" "build x -o s --tokens" "build x -o s --stem" \
        "search x a --model" "search x a --format" "search x a --correct" "dedup x --method" "dedup x --unit" "dedup x --keep" \
        "dedup x --rule" "dedup x --level" "words x -o s --measure" "words x -o s --relation" "pagerank x --dangling" \
        "pagerank x --storage" "spmv x --precision" "nearest x --queries x --metric" "fuse x --aggregate" \
        "fuse x --normalize" "topk x --aggregate" "ngrams x --smoothing" "build x -o s --progress" "completion"; do
        # shellcheck disable=SC2086
        run "$QUERN" $words '?'
        [ "$status" -eq 2 ]
        [[ $output =~ "expected one of "([a-z0-9+, -]*) ]] || { echo "$words: $output"; return 1; }
        IFS=', ' read -ra expected <<<"${BASH_REMATCH[1]}"
        # shellcheck disable=SC2086
        diff -u <(printf '%s\n' "${expected[@]}" | sort) <(in_bash $words '' | sort) || { echo "$words"; return 1; }
        checked=$((checked + 1))
    done
    [ "$checked" -eq 25 ]
}

press_tab() { # press_tab SHELL: types lines with tabs into the shell, and compares what they become
    has "$1"
    has python3
    cd work || return 1
    "$BATS_TEST_DIRNAME/press_tab.py" "$1" ../"script.$1" $'quern bui\t' $'quern build --sk\t' $'quern build --skip ranks,the\t' \
        $'quern search s --model=two\t' $'quern search s --format j\t' $'quern build fi\t' $'quern build -o fi\t' $'quern dedup --tmp fo\t' \
        $'quern man decon\t' $'quern build -- --sk\t' $'quern build --threads f\t' $'quern doctor f\t' \
        $'quern dedup x --against a --agai\t' $'quern plan fil\t' $'quern plan dedup x --keep lo\t' | sed 's:/>:>:' >../found
    cat >../expected <<'END'
<build>
<build><--skip>
<build><--skip><ranks,thesaurus>
<search><s><--model=two-stage>
<search><s><--format><jsonl>
<build><file one.txt>
<build><-o><file one.txt>
<dedup><--tmp><folder>
<man><decontaminate>
<build><--><--sk>
<build><--threads><f>
<doctor><f>
<dedup><x><--against><a><--against>
<plan><filter>
<plan><dedup><x><--keep><longest>
END
    diff -u ../expected ../found
}

@test "Tab in bash" { press_tab bash; }

@test "Tab in zsh" { press_tab zsh; }

@test "values and files in fish" {
    has fish
    cd work || return 1
    mv ../script.fish .
    [ "$(in_fish 'quern build --skip ranks,th')" = ranks,thesaurus ]
    [ "$(in_fish 'quern search s --model=two')" = --model=two-stage ]
    [ "$(in_fish 'quern search s --format j')" = jsonl ]
    [ "$(in_fish 'quern build fi')" = 'file one.txt' ]
    [ "$(in_fish 'quern dedup --tmp fo')" = folder/ ]
    [ -z "$(in_fish 'quern dedup --tmp fi')" ]
    [ "$(in_fish 'quern man decon')" = decontaminate ]
    [ -z "$(in_fish 'quern build --threads f')" ]
    [ -z "$(in_fish 'quern doctor f')" ]
    [ "$(in_fish 'quern plan fil')" = filter ]
    [ "$(in_fish 'quern plan dedup x --keep lo')" = longest ]
}

@test "another shell is refused" {
    run "$QUERN" completion tcsh
    [ "$status" -eq 2 ]
    [[ $output == *"invalid value 'tcsh' (expected one of bash, zsh, fish)"* ]]
}
