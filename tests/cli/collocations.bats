#!/usr/bin/env bats
# shellcheck disable=SC2154 # common sets $data
# quern collocations: numbers by hand, orders, positions, the same bytes everywhere, invalid requests.
load common

own_setup() {
    cat >tea.txt <<'END'
strong tea strong tea strong tea strong coffee

powerful car powerful car powerful car

strong car
END
}

collocations() { quern collocations --quiet "$@"; }

@test "counts and measures by hand, in every format" {
    # Neighbours: strong and tea 6 times, strong and coffee 1, powerful and car 5, strong and car 1; from both sides 26.
    collocations tea.txt --window 1 --min-count 1 --min-both 1 --word tea >rows
    [ "$(cut -f 1-6 rows)" = $'tea\tstrong\t*\t6\t6\t8' ]
    awk -F '\t' '
        function near(a, b) { return (a - b) ^ 2 < 1e-18 }
        function cell(o, e) { return o == 0 ? 0 : o * log(o / e) }
        {
            f = 6; r = 6; c = 8; n = 26; e = r * c / n
            ll = 2 * (cell(f, e) + cell(r - f, r * (n - c) / n) + cell(c - f, (n - r) * c / n) + \
                cell(n - r - c + f, (n - r) * (n - c) / n))
            exit !(near($7, log(f / e) / log(2)) && near($8, ll) && near($9, 14 + log(2 * f / (r + c)) / log(2)) && \
                near($10, (f - e) / sqrt(f)))
        }' rows
    collocations tea.txt --window 1 --min-count 1 --min-both 1 --word tea --format jsonl |
        grep -q '^{"word":"tea","collocate":"strong","position":"\*","count":6,"of_word":6,"of_collocate":8,"mi":'
    collocations tea.txt --window 1 --min-count 1 --min-both 1 --word tea -o file
    cmp rows file
    ends_with 2 quern collocations tea.txt -o file
}

@test "the order of a word's collocates, how many, and how often at least" {
    c() { collocations tea.txt --window 1 --min-count 1 --word strong "$@" | cut -f 2 | paste -sd ' '; }
    [ "$(c --min-both 1 --by frequency)" = "tea car coffee" ]
    [ "$(c --min-both 1 --by frequency -k 2)" = "tea car" ]
    # The only coffee is next to strong, as every tea is; of six cars one, fewer than by chance.
    [ "$(c --min-both 1 --by mi)" = "tea coffee car" ]
    [ "$(c --min-both 1 --by log-likelihood)" = "tea coffee car" ]
    [ "$(c --min-both 2)" = tea ]
    [ "$(c --min-both 1 -k all)" = "$(c --min-both 1)" ]
}

@test "positions are separate" {
    collocations tea.txt --window 1 --min-count 1 --min-both 1 --word tea --relation position >rows
    [ "$(cut -f 1-6 rows)" = $'tea\tstrong\t+1\t3\t3\t3\ntea\tstrong\t-1\t3\t3\t5' ]
}

@test "all words of a corpus: the same bytes for any threads and memory, and from a store" {
    all=(--min-count 2 --max-errors 100% --stop-words en)
    collocations "$data/corpus.jsonl" "${all[@]}" --min-both 2 >rows
    [ -s rows ]
    collocations "$data/corpus.jsonl" "${all[@]}" --min-both 2 --threads 3 --memory 64M | cmp rows -
    collocations "$data/corpus.jsonl" "${all[@]}" --min-both 2 --window 2 --relation position --threads 1 >positions
    collocations "$data/corpus.jsonl" "${all[@]}" --min-both 2 --window 2 --relation position --threads 3 | cmp positions -
    quern build "$data/corpus.jsonl" -o store --skip all --max-errors 100% --quiet
    collocations store --min-count 2 --stop-words en --min-both 2 | cmp rows -
    # A pair counts as often from either side.
    awk -F '\t' '{ count[$1 " " $2] = $4 } END { for (p in count) { split(p, w, " "); q = w[2] " " w[1]
        if (q in count && count[q] != count[p]) exit 1 } }' rows
}

@test "words go through the text options; unknown ones are named" {
    collocations tea.txt --min-count 1 --min-both 1 --word TEA | cut -f 1 | grep -qx tea
    quern collocations tea.txt --min-count 1 --min-both 1 --word tea --word unicorn 2>message >rows
    grep -q 'unicorn is not in the vocabulary' message
    [ -s rows ]
    ends_with 1 quern collocations tea.txt --min-count 1 --word unicorn --quiet
    ends_with 2 quern collocations tea.txt --min-count 1 --word 'green tea'
    says "'green tea' is more than one word"
    ends_with 2 quern collocations tea.txt --min-count 1 --stop-words en --word the
    says "a stop word or too short"
}

@test "invalid requests are refused" {
    ends_with 2 quern collocations
    ends_with 2 quern collocations tea.txt --by luck
    says "expected one of frequency, mi, log-likelihood, log-dice, t-score"
    ends_with 2 quern collocations tea.txt --window 0
    ends_with 2 quern collocations tea.txt --device cuda
    ends_with 3 quern collocations tea.txt --min-count 100
    says "of 5 distinct words none occurs at least 100 times"
    quern build tea.txt -o store --skip all --quiet
    ends_with 2 quern collocations store tea.txt
    says "must be the only input"
}
