#!/usr/bin/env bats
# quern ngrams: the n-grams of every document, their counts and likelihoods.
load common

own_setup() {
    printf 'b\nx\na\n\nb\nx\na\nb\nx\nb\nx\na\n\nc\n' >words
    printf '{"id":"one","title":"Left out","text":"The cat and the hat."}\n{"id":"two","text":"The cat, the CAT!"}\n' >corpus.jsonl
}

@test "rows by document, n and words, with their counts" {
    golden ngrams.tsv quern ngrams words --input-format lines --counts --quiet
    [ "$(quern ngrams words --input-format lines --only --quiet | cut -f 2 | sort -u)" = 3 ]
    [ "$(quern ngrams corpus.jsonl --order 2 --quiet | grep -P '^two\t2\t')" = "two	2	cat the	1	1	0.75
two	2	the cat	2	3	0.875" ]
}

@test "JSON lines and tables" {
    [ "$(quern ngrams corpus.jsonl --order 1 --format jsonl --quiet | head -n 1)" = \
        '{"doc":"one","n":1,"words":"and","f(d)":1,"f(C)":1,"P":0.15555555555555556}' ]
    run quern ngrams corpus.jsonl --order 1 --format table --measure bm25 --quiet
    [[ ${lines[0]} == "doc "*" P" ]]
}

@test "the same rows whatever the method, the threads and the memory" {
    quern ngrams corpus.jsonl --order 4 --counts --quiet >auto
    for method in strings dictionary suffix-sigma; do
        quern ngrams corpus.jsonl --order 4 --counts --method "$method" --quiet | cmp - auto
    done
    quern ngrams corpus.jsonl --order 4 --counts --threads 1 --memory 32M --quiet | cmp - auto
    quern ngrams corpus.jsonl --order 4 --counts -o made --quiet
    cmp made auto
    quern ngrams - --order 4 --counts --quiet <corpus.jsonl | cmp - auto
}

@test "a saved dictionary: other words are unknown, reported and counted" {
    printf '{"id":"1","text":"the hat of another"}\n' >other.jsonl
    quern dictionary other.jsonl -o known --quiet
    run --separate-stderr quern ngrams corpus.jsonl --dictionary known --order 2 --stats stats
    [ "$status" -eq 0 ]
    [[ $stderr == *"2 documents, 9 words, 4 distinct, 4 unknown (44.44%)"* ]]
    [[ $output == *"one	2	the <unk>	1	3	"* ]]
    [ "$(json stats 'd["counts"]["unknown"], d["counts"]["with_unknown_2"], d["measures"]["unknown_share_2"]')" = "(4, 6, 0.8571428571428571)" ]
    ends_with 2 quern ngrams corpus.jsonl --dictionary known --stem porter
    says "other text options"
    ends_with 2 quern ngrams corpus.jsonl --dictionary known --method strings
    ends_with 5 quern ngrams corpus.jsonl --dictionary corpus.jsonl
    ends_with 2 quern ngrams corpus.jsonl --dictionary missing
}

@test "one long document: the counts of its words and sentences" {
    for i in {1..45000}; do echo 'The cat can see the hat. A dog sat on the mat and ran off again, as it does every day in May.'; done >lines.txt
    tr '\n' ' ' <lines.txt >line.txt # 4.3 MB, so that it is cut
    head -n 1 lines.txt | quern ngrams - --input-format folder --order 2 --totals one --quiet
    quern ngrams line.txt --order 2 --totals line --quiet
    cmp <(awk -F '\t' -v OFS='\t' '{ print $1, $2 * 45000 }' one) <(grep -v '^may the' line)
    grep -qP '^may the\t44999$' line
    quern ngrams lines.txt --order 2 --totals lines --tokenized --quiet --threads 1
    quern ngrams line.txt --order 2 --totals - --tokenized --quiet --threads 5 | cmp - lines
    sed 's/.*/{"text":"&"}/' lines.txt >lines.jsonl
    for options in --tokenized ""; do
        # shellcheck disable=SC2086 # words
        quern ngrams lines.jsonl --order 2 --sentences --totals documents $options --quiet --force
        # shellcheck disable=SC2086
        quern ngrams lines.txt --order 2 --sentences --totals - $options --quiet --threads 3 | cmp - documents
    done
}

@test "counts and a model of the collection" {
    run --separate-stderr quern ngrams corpus.jsonl --order 2 --totals totals --arpa model
    [ "$status" -eq 0 ]
    [ -z "$output" ]
    [ "$(head -n 5 totals)" = "and	1
cat	3
hat	1
the	4
and the	1" ]
    golden ngrams.arpa cat model
    quern ngrams corpus.jsonl --order 2 --totals again -o rows --quiet
    cmp again totals
    [ -s rows ]
    ends_with 2 quern ngrams corpus.jsonl --totals totals
    says "exists"
    quern ngrams corpus.jsonl --order 2 --totals totals --force --quiet
    cmp again totals
    # To standard output, and compressed: the same.
    quern ngrams corpus.jsonl --order 2 --totals - --quiet | cmp - totals
    quern ngrams corpus.jsonl --order 2 --arpa model.gz --totals totals.zst --quiet
    quern ngrams corpus.jsonl --order 2 --arpa - --quiet >plain
    gzip -dc model.gz | cmp - plain
    zstd -dcq totals.zst | cmp - totals
    quern ngrams corpus.jsonl --order 2 --totals - -o rows --force --quiet | cmp - totals
}

@test "impossible requests" {
    ends_with 2 quern ngrams
    ends_with 2 quern ngrams missing
    ends_with 2 quern ngrams corpus.jsonl --order 0
    ends_with 2 quern ngrams corpus.jsonl --order 33
    ends_with 2 quern ngrams corpus.jsonl --lambda 1.5
    ends_with 2 quern ngrams corpus.jsonl --mu -1
    ends_with 2 quern ngrams corpus.jsonl --min-count 0
    ends_with 2 quern ngrams corpus.jsonl --measure tfidf
    ends_with 2 quern ngrams corpus.jsonl --method suffix-sigma --device cuda
    ends_with 2 quern ngrams corpus.jsonl -o corpus.jsonl --force
    ends_with 2 quern ngrams corpus.jsonl --totals corpus.jsonl --force
    ends_with 2 quern ngrams corpus.jsonl --only --arpa model
    ends_with 2 quern ngrams corpus.jsonl --totals - --arpa -
    says "two kinds of results cannot both go to standard output"
    ends_with 2 quern ngrams corpus.jsonl --totals - -o -
    printf '{"id":1,"text":"a"}\n{"id":1,"text":"b"}\n' >repeated.jsonl
    ends_with 3 quern ngrams repeated.jsonl --totals made -o rows
    ends_with 5 quern ngrams corpus.jsonl --dictionary <(printf x)
    [ ! -e model ] && [ ! -e made ] && [ ! -e rows ]
}

@test "words that an ARPA file cannot contain are skipped and reported, and narrow spaces separate words" {
    printf 'two words\nfine\nfine\n' >verbatim
    run --separate-stderr quern ngrams verbatim --input-format lines --order 2 --arpa model --quiet --stats stats
    [ "$status" -eq 0 ]
    [ "$(json stats 'd["counts"]["model_words_left_out"]')" -eq 1 ]
    run --separate-stderr quern ngrams verbatim --input-format lines --order 2 --arpa other
    [[ "$stderr" == *"lacks 1 word that the format cannot hold"*"'two words'"* ]]
    grep -q $'\tfine fine' model
    run ! grep -q 'two words' model
    printf '{"id":"1","text":"rund 12\\u202f256 Menschen"}\n' >narrow.jsonl
    quern ngrams narrow.jsonl --arpa narrow --quiet
    grep -q $'\t12 256' narrow
}

@test "titles count as words if requested, in rows and dictionaries" {
    [ "$(quern ngrams corpus.jsonl --titles --order 2 --quiet | cut -f 1,3,4 | grep -P '^one\t(left|out the)')" = "one	left	1
one	left out	1
one	out the	1" ]
    quern dictionary corpus.jsonl -o with --titles --quiet
    quern dictionary corpus.jsonl -o without --quiet
    [ "$(quern info with --quiet | grep -cE '^(titles	1|words	6)$')" -eq 2 ]
    [ "$(quern info without --quiet | grep -cE '^(titles	0|words	4)$')" -eq 2 ]
}

@test "titles of documents without text, beside a long document" {
    python3 - >titles.jsonl <<'END'
print('{"id":"a","title":"first","text":""}')
print('{"id":"b","text":"' + "hello world " * 400000 + '"}')
print('{"id":"c","title":"second","text":""}\n{"id":"d","title":"third","text":"hello"}')
END
    [ "$(quern ngrams titles.jsonl --titles --order 1 --totals - --quiet)" = "first	1
hello	400001
second	1
third	1
world	400000" ]
}

@test "few words in many documents, within little memory" {
    { printf '0\ta b a\n'; seq 400000 | sed 's/$/\t/'; } >few.tsv
    quern ngrams few.tsv --order 2 --totals expected --quiet
    quern ngrams few.tsv --order 2 --totals found --memory 16M --quiet
    cmp expected found
    [ "$(wc -l <found)" -eq 4 ]
}

@test "a reader that closes the pipe, and an interruption" {
    quern ngrams corpus.jsonl --quiet | head -n 1 >/dev/null
    endless_corpus | ( ! timeout -s INT 2 "$QUERN" ngrams - -o made --totals counts --quiet )
    [ ! -e made ] && [ ! -e counts ]
}

@test "a model of sentences with Kneser-Ney smoothing" {
    printf 'the cat sat\nthe cat ran\n\nthe dog sat\n' >text.txt
    quern ngrams text.txt --tokenized --sentences --order 3 --smoothing kneser-ney --arpa model.arpa --totals totals 2>message
    grep -q '0.5, 1 and 1.5 are used' message
    grep -qP '^<s> </s>\t1$' totals
    grep -qP '^<s>\t4$' totals
    [ "$(sed -n 2,4p model.arpa)" = $'ngram 1=8\nngram 2=9\nngram 3=8' ]
    grep -qP '^0\t<s>\t' model.arpa
    quern ngrams text.txt --tokenized --sentences --order 3 --smoothing kneser-ney --arpa - --prune '0 0 1' --quiet >pruned.arpa
    [ "$(sed -n 4p pruned.arpa)" = 'ngram 3=1' ]
    quern perplexity model.arpa text.txt --tokenized --sentences --quiet | awk -F '\t' '$5 > 10 { exit 1 }'
    ends_with 2 quern ngrams text.txt --smoothing kneser-ney --arpa -
    says "kneser-ney needs sentences"
    ends_with 2 quern ngrams text.txt --smoothing kneser-ney
    ends_with 2 quern ngrams text.txt --sentences
    says "rows are those of documents"
    ends_with 2 quern ngrams text.txt --tokenized --tokens ascii
    says "it cannot be combined with text options"
    ends_with 2 quern ngrams text.txt --prune '0 1' --arpa -
    says "--prune requires --smoothing kneser-ney"
    ends_with 2 quern ngrams text.txt --sentences --smoothing kneser-ney --min-count 2 --arpa -
    says "kneser-ney needs the counts of all n-grams, so --min-count must be 1"
}

# KenLM's lmplz (QUERN_LMPLZ, or in PATH) makes the same model from the same text.
@test "the model is that of lmplz" {
    lmplz=${QUERN_LMPLZ:-$(command -v lmplz || true)}
    [ -n "$lmplz" ] || skip "no lmplz"
    awk 'BEGIN { srand(4); for (s = 0; s < 3000; s++) { line = ""; n = int(rand() * 15)
        for (i = 0; i < n; i++) line = line " w" int(exp(rand() * rand() * 7)); print line } print "a last word" }' >text.txt
    for arguments in '1' '3' '5' '4 --prune 0 0 1 2'; do
        order=${arguments%% *} prune=${arguments#* --prune }
        # shellcheck disable=SC2086 # several arguments
        "$lmplz" -o $arguments --text text.txt --arpa theirs.arpa -S 64M -T . --discount_fallback 2>lmplz.log
        [ "$prune" != "$arguments" ] || prune=0
        quern ngrams text.txt --tokenized --sentences --smoothing kneser-ney --order "$order" --prune "$prune" --arpa ours.arpa \
            --quiet --force
        awk -F '\t' 'NF < 2 { next } NR == FNR { p[$2] = $1; b[$2] = $3; n++; next }
            { m++; if (!($2 in p) || (p[$2] - $1) ^ 2 > 1e-10 || (b[$2] - $3) ^ 2 > 1e-10) { print; exit 1 } }
            END { if (n != m) exit 1 }' theirs.arpa ours.arpa
    done
}
