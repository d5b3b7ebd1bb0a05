#!/usr/bin/env bats
# shellcheck disable=SC2154 # bats and common set $data, $stderr
# What a run holds in memory stays below --memory and 64 MB more, whatever it reads.
load common

# repeated TIMES TEXT: the text again and again, without line ends.
repeated() { python3 -c 'import sys; sys.stdout.write(sys.argv[2] * int(sys.argv[1]))' "$@"; }

# Each line: a budget, and a command over corpus.jsonl.
@test "every command that reads a corpus keeps to its budget" {
    endless_corpus | head -n 60000 >corpus.jsonl
    while read -r memory arguments; do
        rm -rf store words.dict
        # shellcheck disable=SC2086 # words of a command
        within "$memory" 0 $arguments --quiet
    done <<'END'
64M build corpus.jsonl -o store --skip all
64M build corpus.jsonl -o store --skip all --threads 8
64M dictionary corpus.jsonl -o words.dict
64M signature corpus.jsonl
END
}

# zipf DOCUMENTS WORDS: JSON lines whose words are as frequent as those of a language.
zipf() {
    awk -v documents="$1" -v words="$2" 'BEGIN {
        srand(7)
        for (d = 0; d < documents; ++d) {
            printf "{\"id\":\"%d\",\"text\":\"", d
            for (i = 0; i < words; ++i) printf "w%d%s", exp(10 * rand()), i % 20 == 19 ? ". " : " "
            print "\"}"
        }
    }'
}

same_but_statistics() { # same_but_statistics FOLDER OTHER
    diff -r --exclude=stats.json "$1" "$2"
}

@test "pairs of texts that need an edit distance take no more memory" {
    python3 -c 'import random
random.seed(7)
for i in range(4000):
    print("{\"id\":\"%d\",\"text\":\"%s\"}" % (i, "".join(random.sample("ab" * 15, 30))))' >corpus.jsonl # 8 million pairs, of equal counts
    quern dedup corpus.jsonl --threshold 0.09 --pairs roomy --quiet
    within 24M 0 dedup corpus.jsonl --threshold 0.09 --pairs tight --quiet --threads 2
    cmp roomy tight
}

@test "many old short texts are compared within little memory" {
    python3 -c 'import random
random.seed(5)
for i in range(603000):
    line = "".join(random.choices("abcdefghijklmnopqrstuvwxyz ", k=random.randint(20, 50)))
    print("{\"id\":\"%d\",\"text\":\"%s\"}" % (i, line))' >corpus.jsonl
    head -n 600000 corpus.jsonl >old.jsonl
    tail -n 3500 corpus.jsonl >new.jsonl # 500 of them are old
    quern dedup old.jsonl --store seen --threshold 0.01 -o kept.jsonl --quiet
    quern dedup new.jsonl --against seen --pairs roomy --quiet
    within 32M 0 dedup new.jsonl --against seen --pairs tight --quiet --threads 2
    cmp roomy tight
}

@test "words beyond memory are counted, weighted and compared on disk, with the same bytes" {
    zipf 1500 400 >corpus.jsonl
    quern words corpus.jsonl -o roomy --memory 1G --quiet
    within 8M 0 words corpus.jsonl -o tight --quiet
    same_but_statistics roomy tight
    json tight/stats.json 'd["counts"]["spilled_bytes"] > 1 << 20' | grep True
    json roomy/stats.json 'd["counts"]["spilled_bytes"]' | grep -x 0
    within 8M 0 words corpus.jsonl -o tight --force --quiet --threads 64 # more than there is memory for
    same_but_statistics roomy tight
    [ "$(json tight/stats.json 'd["threads"]')" -eq 2 ]
    quern words corpus.jsonl -o roomy --force --measure lsa --vectors 12 --lsa-of documents --memory 1G --quiet
    for threads in 1 8; do # what is counted against the budget does not depend on which thread does what
        within 8M 0 words corpus.jsonl -o tight --force --measure lsa --vectors 12 --lsa-of documents --quiet \
            --threads "$threads"
        same_but_statistics roomy tight
    done
}

@test "the stages of a build spill to disk and give the same store" {
    zipf 600 400 >corpus.jsonl
    quern build corpus.jsonl -o roomy --skip duplicates --memory 1G --quiet
    within 6M 0 build corpus.jsonl -o tight --skip duplicates --quiet
    same_but_statistics roomy tight
    for statistics in stats.json thesaurus/stats.json; do
        json "tight/$statistics" 'd["counts"]["spilled_bytes"] > 1 << 17' | grep True
        json "roomy/$statistics" 'd["counts"]["spilled_bytes"]' | grep -x 0
    done
}

@test "frequent words of many sorted runs are chosen within little memory, for words and for collocations" {
    awk 'BEGIN {
        for (d = 0; d < 6000; ++d) {
            printf "{\"id\":\"%d\",\"text\":\"", d
            for (i = 0; i < 1000; ++i) printf "w%d ", (n++ * 7919) % 60000
            print "\"}"
        }
    }' >corpus.jsonl # each word is in most runs, of some 8,000 words: 6 million numbers of words
    quern collocations corpus.jsonl --window 1 --vocabulary 30000 -k 1 -o roomy --quiet --memory 1G
    within 16M 0 collocations corpus.jsonl --window 1 --vocabulary 30000 -k 1 -o tight --quiet
    cmp roomy tight
}

# few_words DOCUMENTS: JSON lines that have most of the same 64 words. So each row of words by documents is long.
few_words() {
    awk -v documents="$1" 'BEGIN {
        srand(7)
        for (d = 0; d < documents; ++d) {
            printf "{\"id\":\"%d\",\"text\":\"", d
            for (w = 0; w < 64; ++w) if (rand() < 0.8) printf "w%d ", w
            print "\"}"
        }
    }'
}

@test "scratch files of words and of the stages of a build are mapped, and count as memory" {
    few_words 6000 >few.jsonl
    for i in $(seq 20); do sed "s/\"id\":\"/&$i-/" few.jsonl; done >corpus.jsonl # 6.1 million entries: 49 MB, and 49 MB turned over
    within 32M 0 words corpus.jsonl -o space --measure lsa --vectors 12 --lsa-of documents --quiet
    within 16M 0 build corpus.jsonl -o store --skip duplicates --quiet
}

@test "scratch files of n-grams are mapped, and count as memory" {
    zipf 1000 1000 >some.jsonl
    for i in $(seq 7); do sed "s/\"id\":\"/&$i-/" some.jsonl; done >corpus.jsonl
    quern ngrams corpus.jsonl --order 2 --min-count 50 -o roomy --memory 2G --quiet
    within 16M 0 ngrams corpus.jsonl --order 2 --min-count 50 -o tight --quiet
    cmp roomy tight
}

@test "long n-grams of a mapped text, compared and written here and there, take no more memory" {
    zipf 1000 1000 >some.jsonl
    for i in $(seq 20); do sed "s/\"id\":\"/&$i-/" some.jsonl; done >corpus.jsonl # 80 MB of numbers of words, and 80 MB of positions
    quern ngrams some.jsonl --order 5 --totals once --quiet --memory 1G
    within 16M 0 ngrams corpus.jsonl --order 5 --min-count 20 --totals tight --quiet
    awk -F '\t' '{ print $1 "\t" 20 * $2 }' once | cmp - tight
}

@test "n-grams of very many short sentences fit, and take no more memory" {
    awk 'BEGIN {
        srand(7)
        for (d = 0; d < 8000; ++d) {
            printf "{\"id\":\"%d\",\"text\":\"", d
            for (i = 0; i < 375; ++i) printf "w%d%s", exp(6 * rand()), i % 3 == 2 ? "! " : " "
            print "\"}"
        }
    }' >corpus.jsonl # a million sentences, of which a piece of the n-grams has no room for the ends
    quern ngrams corpus.jsonl --order 3 --sentences --totals roomy --quiet --memory 2G
    within 16M 0 ngrams corpus.jsonl --order 3 --sentences --totals tight --quiet --threads 16 --stats stats.json
    cmp roomy tight
    [ "$(json stats.json "d['counts']['pieces']")" -gt 1 ]
}

@test "n-grams of many threads take no more memory" {
    zipf 3000 400 >corpus.jsonl
    quern ngrams corpus.jsonl --quiet --threads 2 --memory 1G -o roomy.tsv
    within 64M 0 ngrams corpus.jsonl --quiet --threads 64 -o tight.tsv
    cmp roomy.tsv tight.tsv
}

@test "a model of n-grams by many threads takes no more memory" {
    zipf 3000 1000 >corpus.jsonl
    quern ngrams corpus.jsonl --order 3 --arpa roomy.arpa --quiet --threads 2 --memory 1G
    within 64M 0 ngrams corpus.jsonl --order 3 --arpa tight.arpa --quiet --threads 64
    cmp roomy.arpa tight.arpa
}

@test "a document that is too large: the memory that is named is enough" {
    repeated 500000 "a " >letters.txt
    repeated 1000000 "!" >symbols.txt
    repeated 400000 "x-ray mill " >words.txt
    repeated 400000 $'a line\n' >lines.txt
    repeated 500000 "中文" >chinese.txt
    python3 - <<'END'
import json
for name in ("letters", "symbols", "words", "lines", "chinese"):
    with open(name + ".txt", encoding="utf-8") as text, open(name + ".jsonl", "w", encoding="utf-8") as out:
        print(json.dumps({"id": name, "text": text.read() * 2}, ensure_ascii=False), file=out)
END
    for rules in gopher-quality gopher-repetition fineweb c4; do
        for document in letters symbols words lines chinese; do
            memory=2M
            for step in 1 2 3; do
                ends_with 3 quern filter "$document.jsonl" --rules "$rules" -o kept.jsonl --force --quiet --memory "$memory" || break
                [[ $stderr =~ --memory\ ([0-9]+M)\ is\ enough ]]
                memory=${BASH_REMATCH[1]}
            done
            echo "$rules $document: $memory after $step"
            [ "$memory" != 2M ]
            within "$memory" 0 filter "$document.jsonl" --rules "$rules" -o kept.jsonl --force --quiet
        done
    done
}

@test "documents of one letter take no more memory" {
    yes a | head -n 1500000 >lines.txt
    yes $'a\n' | head -n 1000000 >paragraphs.txt
    for form in lines paragraphs; do
        within 64M 0 filter "$form.txt" --input-format "text-$form" --rules length.min-characters=1 -o kept.txt --force --quiet
    done
}

@test "the ids of many short documents take no more memory" {
    seq 500000 | awk '{ print "{\"id\":\"" $1 "\",\"text\":\"one two\"}" }' >corpus.jsonl
    within 32M 0 dictionary corpus.jsonl -o words.dict --quiet
    within 64M 0 ngrams corpus.jsonl -o rows.tsv --quiet
}

@test "a graph larger than memory: the reported requirement suffices" {
    awk 'BEGIN { for (i = 0; i < 400000; ++i) print i % 50000, i * 7919 % 49999 }' >graph
    local memory
    for memory in 3M 6M 9M; do
        ends_with 4 "$QUERN" pagerank graph -o ranks --threads 2 --memory "$memory"
        says "graph: a graph of "
        says " MiB of memory; ${memory%M} MiB are free"
    done
    says "400,000 links and 50,000 nodes needs "
    memory=$(sed -E 's/.* needs ([0-9.]+) MiB of memory.*/\1/' <<<"$stderr")
    quern pagerank graph -o ranks --threads 2 --memory "$(awk -v m="$memory" 'BEGIN { print int(m * 1048576) }')" --quiet
}

@test "lists of neighbours larger than memory go to disk, with the same bytes" {
    zipf 1500 100 >corpus.jsonl # some 7,000 words: lists of 34 MB
    quern words corpus.jsonl -o roomy --top 400 --min-count 3 --memory 1G --quiet
    within 16M 0 words corpus.jsonl -o tight --top 400 --min-count 3 --quiet
    same_but_statistics roomy tight
}

@test "neighbours by vectors that memory cannot hold are refused before words are counted" {
    zipf 1500 400 >corpus.jsonl
    ends_with 4 quern words corpus.jsonl -o space --measure lsa --vectors 50 --top 1000 --memory 64M
    says "a space of 13820 words with 1000 neighbours each needs 199.8 MiB of memory; 64 MiB are free"
    [ ! -e space ]
}

@test "a run larger than memory is evaluated topic by topic" {
    awk 'BEGIN {
        for (t = 0; t < 500; ++t)
            for (r = 1; r <= 1000; ++r) print t, "Q0", "document-" (t * 7919 + r * 104729) % 1000003, r, 1000 - r, "tag"
    }' >run # 18 MB
    awk '$4 % 50 == 7 { print $1, 0, $3, $4 % 3 }' run >qrels
    local measures='map,nDCG@10,RBP,ERR@20,P(judged_only=true)@10'
    quern evaluate qrels run --per-topic -m "$measures" -o roomy --quiet --memory 1G
    within 4M 0 evaluate qrels run --per-topic -m "$measures" -o tight --quiet
    cmp roomy tight
    [ "$peak" -lt 45 ]
    sort -k 3,3 -s run >mixed # hardly two lines of a topic follow each other
    within 32M 0 evaluate qrels mixed --per-topic -m "$measures" -o tight --force --quiet
    cmp roomy tight
}

@test "judgements and topics of a run that are larger than memory are refused with what suffices" {
    awk 'BEGIN { for (d = 0; d < 300000; ++d) print 1, 0, "document-" d, d % 2 }' >qrels
    awk '{ print 1, "Q0", $3, NR, -NR, "tag" }' qrels >run
    head -n 1000 qrels >few
    within 4M 4 evaluate qrels run
    [[ $stderr =~ "the judgements of qrels needs "([0-9]+) ]]
    within $((BASH_REMATCH[1] + 1))M 4 evaluate qrels run # the topic comes on top of the judgements
    [[ $stderr =~ "the longest topic of run, with all judgements, needs "([0-9]+) ]]
    within $((BASH_REMATCH[1] + 1))M 0 evaluate qrels run --quiet
    head -n 1000 qrels >few
    within 4M 4 evaluate few run
    [[ $stderr =~ "the longest topic of run, with all judgements, needs "([0-9]+) ]]
    within $((BASH_REMATCH[1] + 1))M 0 evaluate few run --quiet
}

@test "topics of runs that are fused are as many at once as fit, and one that does not fit is refused" {
    awk 'BEGIN { for (t = 0; t < 8; ++t) for (r = 1; r <= 60000; ++r) print t, "Q0", "document-" r * 7, r, 60000 - r, "tag" }' >run
    awk '{ print $1, $2, $3 "x", $4, $5, $6 }' run >other
    quern fuse run other -o roomy --quiet --memory 2G
    within 24M 4 fuse run other -o tight # for the lines alone
    within 40M 4 fuse run other -o tight
    [[ $stderr =~ "the longest topic, with the lines of all runs, needs "([0-9]+) ]]
    within $((BASH_REMATCH[1] + 1))M 0 fuse run other -o tight --threads 8 --quiet
    cmp roomy tight
}

@test "vectors and words that are mapped take no more memory, wherever they are read" {
    python3 - <<'END'
import os, struct

for name, rows in ("vectors.fbin", 200_000), ("queries.fbin", 100):
    values = bytearray(os.urandom(rows * 400))
    values[3::4] = b"\x3f" * (rows * 100)  # numbers from 0.5 to 2
    open(name, "wb").write(struct.pack("<II", rows, 100) + values)
END
    within 8M 0 nearest vectors.fbin --queries queries.fbin -o near.tsv --quiet # 80 MB
    quern nearest vectors.fbin --queries queries.fbin -o roomy.tsv --memory 1G --quiet
    cmp near.tsv roomy.tsv
    seq 100000 | awk 'BEGIN { for (i = 0; i < 300; ++i) text = text i % 100 " " } { print "{\"id\":\"" $1 "\",\"text\":\"" text "\"}" }' >corpus.jsonl
    within 24M 0 dedup corpus.jsonl --method shingle --groups groups.tsv --quiet # 120 MB of numbers of words
}

@test "a Matrix Market graph larger than memory is refused before its entries are read" {
    printf '%s\n' "%%MatrixMarket matrix coordinate pattern general" "50000 50000 4000000" "no entry" >graph.mtx
    ends_with 4 "$QUERN" pagerank graph.mtx -o ranks --threads 2 --memory 64M
    says "graph.mtx: a graph of 4,000,000 links and 50,000 nodes needs 81.1 MiB of memory; 64 MiB are free"
}

# large_document FORM: one of 6 MB in that form, and a small one behind it.
large_document() {
    python3 - "$1" <<'END'
import sys

form = sys.argv[1]
text = "some words of a long text, and more of them. " * 135_000
around = {
    "jsonl": ('{"id":"large","text":"', '"}\n', '{"id":"small","text":"kept"}\n'),
    "tsv": ("large\t", "\n", "small\tkept\n"),
    "text-lines": ("", "\n", "kept\n"),
    "trec": ("<DOC>\n<DOCNO>large</DOCNO>\n<TEXT>", "</TEXT>\n</DOC>\n", "<DOC>\n<DOCNO>small</DOCNO>\nkept</DOC>\n"),
    "wikiextractor": ('<doc id="large" url="u" title="T">\nT\n\n', "\n</doc>\n",
                      '<doc id="small" url="u" title="S">\nS\n\nkept\n</doc>\n'),
    "wikipedia": ("<mediawiki><siteinfo></siteinfo><page><title>Large</title><ns>0</ns><revision><text>",
                  "</text></revision></page>\n",
                  "<page><title>Small</title><ns>0</ns><revision><text>kept</text></revision></page></mediawiki>\n"),
}
if form == "lines":
    sys.stdout.write(text.replace(" ", "\n") + "\n\n" + "kept\n\n")
else:
    before, after, small = around[form]
    sys.stdout.write(before + text + after + small)
END
}

@test "a document that does not fit is rejected and reported, in every format and compression, and the run continues" {
    while IFS=: read -r form pack; do
        large_document "$form" | $pack >packed
        rm -rf store
        within 32M 0 build packed -o store --input-format "$form" --skip all --max-errors 1 --threads 4
        [[ $stderr == *"packed:1: "*"memory"* || $stderr == *"a page of more than"* ]] || {
            echo "$form, $pack: $stderr"
            return 1
        }
        [ "$(quern search store kept --quiet | wc -l)" -eq 1 ]
    done <<'END'
jsonl:cat
jsonl:gzip -1
jsonl:bzip2 -1
jsonl:zstd -q -1
jsonl:xz -0
tsv:cat
trec:zstd -q -1
wikiextractor:cat
wikipedia:bzip2 -1
lines:cat
text-lines:cat
END
    rm -rf store
    large_document jsonl >corpus
    within 256M 0 build corpus -o store --skip all # where it fits, it is read
    [ "$(quern search store kept --quiet | wc -l)" -eq 1 ]
    [ "$(quern search store "long text" --quiet | wc -l)" -eq 1 ]
}

@test "one bad file of a folder does not end the run, whatever the budget and the compression" {
    mkdir folder
    echo "a small one" >folder/a.txt
    echo "the last one" >folder/z.txt
    repeated 24500000 "large file " >folder/large.txt # 269 MB
    gzip -1 -c folder/large.txt >folder/packed.txt.gz
    truncate -s 1T folder/sparse.txt
    printf '\x28\xb5\x2f\xfd\x00\xa8\x09\x00\x00x' >folder/window.txt.zst # a frame that asks for a window of 2 GiB
    for memory in 128M 4G; do
        rm -rf store
        within "$memory" 0 build folder -o store --skip all --max-errors 100%
        [[ $stderr == *"large.txt: larger than the"* && $stderr == *"packed.txt.gz: larger than the"* ]]
        [ "$(quern search store small --quiet | wc -l)" -eq 1 ]
        [ "$(quern search store last --quiet | wc -l)" -eq 1 ]
    done
}

@test "highly compressed input takes no more memory with more threads" {
    mkdir folder
    repeated 24000000 "one word " | gzip -1 >folder/1.txt.gz # 216 MB
    for i in 2 3 4 5 6 7 8; do cp folder/1.txt.gz "folder/$i.txt.gz"; done
    echo kept >folder/kept.txt
    for threads in 1 2 4 8; do
        rm -rf store
        within 100M 0 build folder -o store --skip all --max-errors 100% --threads "$threads"
        [ "$(quern search store kept --quiet | wc -l)" -eq 1 ]
    done
}

@test "characters that expand to many take no more memory" {
    python3 -c 'print(chr(0xFDFA) * 2_000_000, end="")' >text
    zstd -q text
    [ "$(wc -c <text.zst)" -lt 5000 ]
    while read -r memory command; do
        # shellcheck disable=SC2086 # words of a command
        within "$memory" 0 $command --input-format folder --quiet
    done <<'END'
128M build text.zst -o store --skip all
128M dictionary text.zst -o words.dict
256M ngrams text.zst --order 2
END
}

@test "pages of many tags, nested or not, take no more memory" {
    mkdir folder
    { repeated 1 "<html><body>" && repeated 1000000 "<b><p>" && echo x; } >folder/flat.html
    repeated 150000 "<i>a</i>" >folder/many.html
    repeated 200000 "<div id=a class=b><a href=c>" >folder/deep.html
    echo "<p>kept</p>" >folder/small.html
    within 64M 0 build folder -o store --skip all
    [[ $stderr == *"4 documents"* ]]
    [ "$(quern search store kept --quiet | wc -l)" -eq 1 ]
}

@test "values and marks recorded by parsers take no more memory" {
    { repeated 1 '{"id":"1","text":"kept","more":[' && repeated 3000000 '1,' && echo '1]}'; } >values.jsonl
    within 64M 0 build values.jsonl -o store --skip all
    { repeated 1 '{"id":"1","text":"kept","links":[' && repeated 2000000 '1,' && echo '1]}' && echo '{"id":"2","text":"kept"}'; } >links.jsonl
    within 64M 0 build links.jsonl -o store --skip all --max-errors 1 --force
    [[ $stderr == *"links.jsonl:1: the links of a document needs"* ]]
    { repeated 1 "<mediawiki><page><title>A</title><ns>0</ns><revision><text>" && repeated 1000000 "{{a" &&
        echo "</text></revision></page><page><title>B</title><ns>0</ns><revision><text>kept</text></revision></page></mediawiki>"; } >wiki.xml
    within 64M 0 build wiki.xml -o store --skip all --max-errors 1 --force
    [[ $stderr == *"wiki.xml:1: a page needs"* ]]
    [ "$(quern search store kept --quiet | wc -l)" -eq 1 ]
}

@test "distinct words, and a very long one, are counted before they are stored" {
    python3 -c 'print("\n".join(f"{i:x}" for i in range(1_000_000)))' >different.txt
    repeated 5000000 x >long.txt
    for file in different.txt long.txt; do
        within 64M 3 build "$file" -o store --skip all --input-format folder --force
        [[ $stderr == *"work on the document needs"* ]]
        within 1G 0 build "$file" -o store --skip all --input-format folder --force
    done
    head -c 2000000 different.txt >some.txt
    within 64M 3 ngrams some.txt --input-format folder --sentences --totals counts
    enough=$(grep -o -- "--memory [0-9]*M is enough" <<<"$stderr" | grep -o "[0-9]*M")
    [ "${enough%M}" -lt 200 ]
    within "$enough" 0 ngrams some.txt --input-format folder --sentences --totals counts
}

@test "the minimum memory is reported before the work" {
    echo '{"id":"1","text":"x"}' >corpus.jsonl
    for command in "build corpus.jsonl -o store" "dictionary corpus.jsonl -o words.dict" "ngrams corpus.jsonl" "dedup corpus.jsonl" \
        "signature corpus.jsonl" "words corpus.jsonl -o space"; do
        # shellcheck disable=SC2086 # words of a command
        ends_with 4 quern $command --memory 1000K
        says "reading a corpus needs"
    done
    [ ! -e store ] && [ ! -e words.dict ] && [ ! -e space ]
}
