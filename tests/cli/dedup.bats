#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154 # bash -c expands its own text; common and bats set $data, $stderr
# quern dedup: what it writes, where, and what it refuses.
load common

own_setup() {
    cat >corpus.jsonl <<'END'
{"id":"a","text":"The mill stands by the river, and its wheel turns day and night, grinding the corn of nine villages."}
{"id":"b",  "text":"Bread is flour, water, salt and time.", "more":1}
{"id":"c","text":"The mill stood by the river, and its wheel turns day and night, grinding the corn of nine villages."}
{"id":"d","text":"Bread is flour, water, salt and time!"}
{"id":"e","text":"Something else entirely"}
END
}

dedup() { quern dedup --quiet "$@"; }

@test "pairs: each once, the earlier document first, in the order of the corpus" {
    dedup corpus.jsonl >rows
    [ "$(cut -f 1-3 rows)" = $'a\tc\t3\nb\td\t1' ]
    [ "$(awk '{ printf "%.4f ", $4 }' rows)" = "0.0151 0.0135 " ]
    dedup corpus.jsonl --format jsonl | head -n 1 | grep -q '^{"id_a":"a","id_b":"c","distance":3,"rate":0.01'
    dedup corpus.jsonl --format table | head -n 1 | grep -q '^id_a *id_b *distance *rate$'
    dedup corpus.jsonl --pairs - | cmp - rows
}

@test "groups and kept documents, by every policy" {
    dedup corpus.jsonl --groups groups.tsv -o kept.jsonl
    cut -f 1-5 groups.tsv | diff <(printf '0\ta\t1\t\t\n0\tc\t0\ta\t3\n1\tb\t1\t\t\n1\td\t0\tb\t1\n') -
    [ "$(cut -f 6 groups.tsv | awk '{ printf "%.4f ", $1 }')" = "0.0000 0.0151 0.0000 0.0135 " ]
    dedup corpus.jsonl --rule connected --groups - | diff <(printf '0\ta\t1\n0\tc\t0\n1\tb\t1\n1\td\t0\n') -
    dedup corpus.jsonl --groups - --format jsonl | head -n 2 |
        diff <(printf '%s\n' '{"group":0,"id":"a","kept":1,"kept_id":null,"distance":null,"rate":null}' \
            '{"group":0,"id":"c","kept":0,"kept_id":"a","distance":3,"rate":0.01507537688442211}') -
    sed -n '1,2p;5p' corpus.jsonl | diff - kept.jsonl
    dedup corpus.jsonl --keep last -o - | diff <(sed -n '3,5p' corpus.jsonl) -
    dedup corpus.jsonl --keep shortest -o - | diff <(sed -n '2,3p;5p' corpus.jsonl) -
    # What is kept has no pair.
    [ -z "$(dedup kept.jsonl)" ]
}

# Each is near the one before it and the one after it, and no other.
chain() {
    local all name
    all=$(printf '%0100d' 0)
    for name in a b c d; do
        printf '{"id":"%s","text":"%s"}\n' $name "$all"
        all=${all%00000000}
        all=11111111$all
    done
}

@test "a chain removes no document that is unlike all that stay" {
    chain >chain.jsonl
    [ "$(dedup chain.jsonl | cut -f 1-3)" = $'a\tb\t8\nb\tc\t8\nc\td\t8' ]
    dedup chain.jsonl --groups groups.tsv -o - | diff <(sed -n '1p;3p' chain.jsonl) -
    diff <(printf '0\ta\t1\t\t\t\n0\tb\t0\ta\t8\t0.04\n1\tc\t1\t\t\t\n1\td\t0\tc\t8\t0.04\n') groups.tsv
    dedup chain.jsonl --rule connected -o - | diff <(head -n 1 chain.jsonl) -
    dedup chain.jsonl --keep last -o - | diff <(sed -n '2p;4p' chain.jsonl) -
    # The same with a list of pairs, another method, more threads and little memory.
    dedup chain.jsonl --groups - --pairs pairs.tsv | diff groups.tsv -
    dedup chain.jsonl --groups - --method exhaustive --threads 3 | diff groups.tsv -
    dedup chain.jsonl --groups - --memory 64M --unit char | diff groups.tsv -
    dedup chain.jsonl --report page.html
    grep -q '<th>rule</th><td>near-kept<' page.html
    grep -q '<b>a</b> · b (8, 0.0400)' page.html
}

@test "--prefer: documents of these sources stay, then --keep decides" {
    chain | head -n 2 >one.jsonl
    mkdir two && chain | sed -n 3p >two/c.jsonl && chain | sed -n 4p >two/d.jsonl
    kept() { dedup one.jsonl two "$@" -o - | sed 's/{"id":"\(.\).*/\1/' | tr -d '\n'; }
    [ "$(kept)" = ac ]
    [ "$(kept --prefer two)" = ac ]
    [ "$(kept --prefer two/d.jsonl)" = ad ]
    [ "$(kept --prefer two/d.jsonl --keep last)" = bd ]
    [ "$(kept --prefer ./two/d.jsonl,one.jsonl)" = ad ]
    [ "$(kept --prefer two/d.jsonl --rule connected)" = d ]
    refused "no document comes from 'three' (expected" dedup one.jsonl two --prefer three
    refused "no document comes from 'two/e'" dedup one.jsonl two --prefer two/e
    refused "a name is empty" dedup one.jsonl two --prefer one.jsonl,
    refused "--prefer cannot be combined with --stream" dedup --stream --prefer -
}

@test "a store and a stream keep to earlier decisions" {
    chain >chain.jsonl
    for line in 1 2 3 4; do
        sed -n "${line}p" chain.jsonl | quern dedup - --quiet --store seen -o - >>kept
    done
    diff <(sed -n '1p;3p' chain.jsonl) kept
    quern dedup --stream --quiet <chain.jsonl | cut -f 1-4 |
        diff <(printf 'a\t0\t\t\nb\t1\ta\t8\nc\t0\t\t\nd\t1\tc\t8\n') -
    quern dedup --stream --quiet --rule connected --pairs pairs.tsv <chain.jsonl | cut -f 2 | tr -d '\n' | grep -qx 0111
    [ "$(wc -l <pairs.tsv)" -eq 3 ]
    quern verify seen --quiet | grep -q whole
    quern info seen | grep -q decisions
}

@test "with a file for one result, standard output stays empty" {
    [ -z "$(dedup corpus.jsonl --groups groups.tsv)" ]
    [ -n "$(dedup corpus.jsonl --report page.html)" ]
}

@test "TSV is written byte for byte, other formats as JSON lines" {
    printf 'x\tsome text that is long enough for it\r\ny\tsome text that is long enough for is\nz\t' >c.tsv
    dedup c.tsv -o - | cmp - <(printf 'x\tsome text that is long enough for it\r\nz\t\n')
    dedup "$data/garden" -o garden.jsonl
    grep -q '^{"id":"notes/bees.html","title":"Bees & hives","text":' garden.jsonl
    dedup garden.jsonl -o again.jsonl
    cmp garden.jsonl again.jsonl
}

@test "no near-duplicates: no rows, and 0" {
    head -n 2 corpus.jsonl >unlike.jsonl
    ends_with 0 quern dedup unlike.jsonl
    [ -z "$output" ]
    dedup unlike.jsonl -o - | cmp - unlike.jsonl
}

@test "the same for every thread count and memory budget" {
    endless_corpus | head -n 3000 >many.jsonl
    dedup many.jsonl --threshold 0.1 --groups once --threads 1
    dedup many.jsonl --threshold 0.1 --groups again --threads 3 --memory 64M
    [ -s once ]
    cmp once again
}

@test "every method runs" {
    for method in exhaustive signature shared-memory global-memory; do
        dedup corpus.jsonl --method $method | cut -f 1-3 | diff <(printf 'a\tc\t3\nb\td\t1\n') -
    done
    [ "$(dedup corpus.jsonl --method shingle --shingle 2 --similarity 0.8 | cut -f 1,2)" = $'a\tc\nb\td' ]
    # ét and té, ét and te: one of three shingles of two characters is in both.
    printf '{"id":"1","text":"\u00e9t\u00e9"}\n{"id":"2","text":"\u00e9te"}\n' >letters.jsonl
    dedup letters.jsonl --method shingle --shingle-unit char --shingle 2 --similarity 0.3 | cut -f 1-3 |
        diff <(printf '1\t2\t2\n') -
    refused "--shingle-unit requires --method shingle" dedup letters.jsonl --shingle-unit char
    # Texts without words are equal, which a message says.
    printf '{"id":"1","text":"\u6c34"}\n{"id":"2","text":"\u77f3"}\n{"id":"3","text":""}\n' >signs.jsonl
    run --separate-stderr quern dedup signs.jsonl --method shingle --tokens ascii
    [ "${#lines[@]}" -eq 3 ]
    [[ $stderr == *"2 texts have no words by these options for texts"* ]]
    [ "$(dedup corpus.jsonl --method simhash | cut -f 1-3)" = $'b\td\t0' ]
    # Words of medium frequency: those that two of the four have.
    for i in 1 2 3 4; do printf '{"id":"%d","text":"all x%d y%d z%d %s"}\n' $i $i $i $i "$([ $i -gt 2 ] && echo both have three)"; done >words.jsonl
    [ "$(dedup words.jsonl --method i-match | cut -f 1-4)" = $'3\t4\t0\t0' ]
    dedup corpus.jsonl --unit char | cut -f 3 | diff <(printf '3\n1\n') -
}

@test "simhash: the same pairs in any order of documents" {
    endless_corpus | head -n 300 >many.jsonl
    tac many.jsonl >turned.jsonl
    pairs() { dedup "$1" --method simhash --hamming 12 | awk -F'\t' '{ print ($1 < $2 ? $1 " " $2 : $2 " " $1), $3 }' | sort; }
    [ -n "$(pairs many.jsonl)" ]
    diff <(pairs many.jsonl) <(pairs turned.jsonl)
}

@test "a report is one page without external resources" {
    dedup corpus.jsonl --report page.html >/dev/null
    grep -q '<del>stands</del>' page.html
    grep -q '<ins>stood</ins>' page.html
    run ! grep -qE '<script|https?:|src=|@import' page.html
    refused "page.html exists; --force" dedup corpus.jsonl --report page.html
    dedup corpus.jsonl --report page.html --force >/dev/null
}

@test "a store: only the new part is compared and written, each once" {
    head -n 2 corpus.jsonl >monday.jsonl
    tail -n 3 corpus.jsonl >tuesday.jsonl
    dedup monday.jsonl --store seen -o - | cmp - monday.jsonl
    dedup tuesday.jsonl --store seen --pairs pairs.tsv -o new.jsonl
    cut -f 1-3 pairs.tsv | diff <(printf 'a\tc\t3\nb\td\t1\n') -
    tail -n 1 corpus.jsonl | cmp - new.jsonl
    dedup tuesday.jsonl --store seen --pairs again.tsv -o - | cmp - new.jsonl
    cmp pairs.tsv again.tsv
    refused "threshold 0.05 (now 0.1)" dedup tuesday.jsonl --store seen --threshold 0.1
    refused "is inside the input seen" dedup tuesday.jsonl --store seen -o seen/out
    [ -z "$(compgen -G '.seen*')" ]
}

@test "info and verify accept a store" {
    dedup corpus.jsonl --store seen --threshold 0.1 >/dev/null
    quern info seen | head -n 9 | diff - <(printf '%s\t%s\n' kind duplicates format_version 2 method edit-rate threshold 0.1 unit byte documents 5 text_bytes 296 pairs 2 shards 1)
    quern verify seen --quiet | grep -q $'^seen\twhole\t[0-9]'
    refused "is inside the store" build corpus.jsonl -o x --stats seen/000000.stats.json
    printf 'X' | dd of=seen/000000.pairs.section bs=1 seek=3 conv=notrunc status=none
    ends_with 5 quern verify seen
    says "000000.pairs"
}

@test "a damaged store: 5, and the section is reported" {
    dedup corpus.jsonl --store seen >/dev/null
    printf 'X' | dd of=seen/000000.texts.section bs=1 seek=20 conv=notrunc status=none
    ends_with 5 quern dedup corpus.jsonl --store seen
    says "000000.texts"
}

@test "against a corpus, a store, and a store of build" {
    head -n 2 corpus.jsonl >old.jsonl
    tail -n 3 corpus.jsonl >new.jsonl
    dedup old.jsonl --store seen >/dev/null
    build old.jsonl built
    for old in old.jsonl seen built; do
        dedup new.jsonl --against $old -o - | cmp - <(tail -n 1 corpus.jsonl)
    done
    refused "cannot be combined" dedup new.jsonl --against old.jsonl --store seen
    refused "no/such: no such" dedup new.jsonl --against no/such
    refused "as --against" dedup built
}

@test "against a set with the same ids" {
    head -n 2 corpus.jsonl >old.jsonl
    printf '{"id":"a","text":"Bread is flour, water, salt and time?"}\n{"id":"b","text":"nothing of the kind"}\n' >new.jsonl
    dedup new.jsonl --against old.jsonl --groups - -o kept | cut -f 1-5 | diff <(printf '0\tb\t1\t\t\n0\ta\t0\tb\t1\n') -
    tail -n 1 new.jsonl | cmp - kept
    dedup --stream --against old.jsonl <new.jsonl | cut -f 1-4 | diff <(printf 'a\t1\tb\t1\nb\t0\t\t\n') -
    # Within the corpus an id is still one document's.
    { cat new.jsonl new.jsonl; } >twice.jsonl
    ends_with 3 quern dedup twice.jsonl --against old.jsonl
    says 'twice.jsonl:3: duplicate id "a"'
}

@test "a stream answers each line immediately" {
    mkfifo questions answers
    "$QUERN" dedup --stream --quiet <questions >answers 3>&- &
    exec 8>questions 9<answers
    local expected=$'a 0 b 0 c 1 d 1 e 0' got=""
    while IFS= read -r line; do
        printf '%s\n' "$line" >&8
        IFS=$'\t' read -r -t 10 id count _ <&9
        got+="$id $count "
    done <corpus.jsonl
    exec 8>&- 9<&-
    wait $!
    [ "$got" = "$expected " ]
}

@test "a stream: all pairs in a file, memory reported, invalid lines answered" {
    { cat corpus.jsonl; echo nonsense; } | quern dedup --stream --max-errors 1 --pairs pairs.tsv --stats stats.json >rows 2>said
    [ "$(wc -l <rows)" -eq 6 ]
    sed -n 3p rows | grep -q $'^c\t1\ta\t3\t0.01'
    sed -n 6p rows | grep -q $'^\t\t\t\t$'
    grep -q 'warning: -:6: malformed JSON' said
    cut -f 1-3 pairs.tsv | diff <(printf 'a\tc\t3\nb\td\t1\n') -
    grep -q 'in memory for them' said
    [ "$(json stats.json "d['counts']['memory_bytes'] > 0")" = True ]
    quern dedup --stream --quiet --format jsonl <corpus.jsonl | sed -n 1p | grep -qx '{"id":"a","duplicates":0,"nearest":null,"distance":null,"rate":null}'
    ends_with 3 bash -c 'echo nonsense | "$QUERN" dedup --stream'
    refused "reads standard input" dedup corpus.jsonl --stream
    refused "they need all documents" dedup --stream -o kept
    refused "cannot compare a stream" dedup --stream --method simhash
    quern dedup --stream --method shingle --shingle 2 --quiet <corpus.jsonl | cut -f 1-3 | sed -n 3,4p |
        diff <(printf 'c\t1\ta\nd\t1\tb\n') -
    refused "reads only JSON lines" dedup --stream --input-format tsv
    refused "needs all rows" dedup --stream --format table
    refused "dedup of a stream runs on cpu only" dedup --stream --method signature --device cuda
    printf '\xEF\xBB\xBF' | cat - corpus.jsonl | quern dedup --stream --quiet | head -n 1 | grep -q $'^a\t0'
}

@test "a stream with a store adds to it" {
    head -n 2 corpus.jsonl | quern dedup --stream --quiet --store seen >/dev/null
    tail -n 3 corpus.jsonl | quern dedup --stream --quiet --store seen | cut -f 1,3 | diff <(printf 'c\ta\nd\tb\ne\t\n') -
    dedup corpus.jsonl --store seen | cut -f 1-3 | diff <(printf 'a\tc\t3\nb\td\t1\n') -
}

@test "Ctrl-C in the middle leaves no file, and a usable store" {
    mkdir out scratch
    mkfifo pipe
    endless_corpus >pipe 2>/dev/null &
    local writer=$!
    "$QUERN" dedup - -o out/kept --groups out/groups --store out/seen --tmp scratch --quiet <pipe 2>said &
    local program=$! status=0
    at_work "$program"
    kill -INT "$program"
    wait "$program" || status=$?
    kill "$writer" 2>/dev/null || true
    [ "$status" -eq 130 ]
    grep -q "interrupted" said
    if was_forced said; then
        dedup corpus.jsonl -o out/kept --groups out/groups --store out/seen --tmp scratch
        rm out/kept out/groups
    fi
    nothing_left scratch
    rm -rf out/seen
    nothing_left out
}

@test "errors: values, outputs over inputs, two results in one file" {
    refused "expected a number above 0, up to 0.5" dedup corpus.jsonl --threshold 0.6
    refused "decimal" dedup corpus.jsonl --threshold -1
    refused "(expected one of auto" dedup corpus.jsonl --method minhash
    refused "from 1 to 1000" dedup corpus.jsonl --signature-length 0
    refused "whole number" dedup corpus.jsonl --cut x
    refused "similarity" dedup corpus.jsonl --similarity 1.1
    refused "is an input" dedup corpus.jsonl -o corpus.jsonl --force
    refused "is an input" dedup corpus.jsonl --report ./corpus.jsonl --force
    refused "both go to ./out" dedup corpus.jsonl --pairs out --groups ./out
    refused "both go to standard output" dedup corpus.jsonl --pairs - --groups -
    refused "--report cannot go to standard output" dedup corpus.jsonl --report -
    refused "CORPUS is required" dedup
    refused "cpu only" dedup corpus.jsonl --method simhash --device cuda
    refused "cannot work in batches" dedup corpus.jsonl --method i-match --store seen
    refused "both go to" dedup corpus.jsonl --stats out -o out
    refused "can be given only once" dedup - -
    refused "can be given only once" dedup - --against -
    refused "can be given only once" dedup --stream --against -
    refused "--store: the name is empty" dedup corpus.jsonl --store ""
    touch there
    refused "there exists; --force" dedup corpus.jsonl -o there
    [ ! -e seen ] && [ ! -e out ]
}

@test "3: bad input beyond --max-errors, and no result" {
    echo '{"id":"a","text":"again"}' >>corpus.jsonl
    ends_with 3 quern dedup corpus.jsonl -o kept --store seen
    says 'corpus.jsonl:6: duplicate id "a"'
    [ ! -e kept ]
    [ ! -e seen ]
    dedup corpus.jsonl --max-errors 1 -o kept
    [ -e kept ]
}

@test "--stats records stages, counts and the device" {
    dedup corpus.jsonl --stats stats.json >/dev/null
    [ "$(json stats.json "[s['name'] for s in d['stages']]")" = "['read', 'compare', 'groups', 'write']" ]
    [ "$(json stats.json "d['counts']['pairs'], d['counts']['groups'], d['counts']['dropped'], d['counts']['documents']")" = "(2, 2, 2, 5)" ]
    [ "$(json stats.json "d['device'] in ('cpu', 'cuda:0')")" = True ]
}

@test "several sets to compare with, of every kind, each with its own ids" {
    head -n 1 corpus.jsonl >one.jsonl
    sed -n 2p corpus.jsonl | sed 's/"id":"b"/"id":"a"/' >two.jsonl
    mkdir three && echo "Something else entirely!" >three/e.txt
    tail -n 3 corpus.jsonl >new.jsonl
    printf 'a\tc\na\td\ne.txt\te\n' >expected
    dedup new.jsonl --against one.jsonl --against two.jsonl --against three | cut -f 1,2 | diff expected -
    [ -z "$(dedup new.jsonl --against one.jsonl --against two.jsonl --against three -o -)" ]
    # Stores count as sets, wherever they stand; the second is copied.
    dedup one.jsonl --store seen_one >/dev/null
    dedup two.jsonl --store seen_two >/dev/null
    build two.jsonl built
    for second in seen_two built; do
        dedup new.jsonl --against seen_one --against $second --against three | cut -f 1,2 | diff expected -
        dedup new.jsonl --against three --against seen_one --against $second | cut -f 1,2 | sort | diff expected -
        dedup new.jsonl --method shingle --shingle 2 --similarity 0.5 --against seen_one --against $second | cut -f 1,2 |
            diff <(head -n 2 expected) -
    done
    dedup --stream --against one.jsonl --against seen_two --against three <new.jsonl | cut -f 1-3 |
        diff <(printf 'c\t1\ta\nd\t1\ta\ne\t1\te.txt\n') -
    refused "no such file" dedup new.jsonl --against one.jsonl --against absent
    refused "given only once" dedup - --against one.jsonl --against -
    printf '[dedup]\nagainst = ["one.jsonl", "two.jsonl"]\n' >options.toml
    dedup new.jsonl --config options.toml | cut -f 1,2 | diff <(head -n 2 expected) -
}

@test "a corpus or a set without documents is an error" {
    mkdir nothing pictures && : >empty.jsonl && printf '\x89PNG\r\n\x1a\n\0\0' >pictures/a.png
    for empty in nothing pictures empty.jsonl /dev/null; do
        ends_with 3 quern dedup "$empty" --quiet -o kept.jsonl
        says "$empty: holds no documents"
        [ ! -e kept.jsonl ]
        ends_with 3 quern dedup corpus.jsonl --against corpus.jsonl --against "$empty" --quiet
        says "$empty: holds no documents"
        ends_with 3 quern dedup --stream --against "$empty" --quiet <corpus.jsonl
        says "$empty: holds no documents"
    done
    ends_with 3 quern dedup empty.jsonl --store seen --quiet
    [ ! -e seen ]
    ends_with 0 quern dedup --stream --quiet </dev/null
}

@test "TSV among other formats is written as JSON lines, so that the output is readable" {
    printf 'x\tA line of TSV with "quotes" in it\r\n{"y"\tone that looks like JSON\n' >c.tsv
    mkdir folder && echo "A text in a folder" >folder/z.txt
    dedup corpus.jsonl c.tsv folder -o kept
    python3 - kept <<'END'
import json, sys
kept = [json.loads(line) for line in open(sys.argv[1], newline='\n')]
assert [d['id'] for d in kept] == ['a', 'b', 'e', 'x', '{"y"', 'z.txt'], kept
assert kept[3]['text'] == 'A line of TSV with "quotes" in it', kept[3]
assert kept[1]['more'] == 1
END
    sed -n '1,2p;5p' corpus.jsonl | cmp - <(head -n 3 kept) # lines of JSON lines stay what they are
    dedup kept -o again
    cmp kept again
    dedup c.tsv c.tsv --input-format tsv --max-errors 2 -o - | cmp - c.tsv # TSV alone stays TSV
}

@test "options that the method ignores are errors, except those of a file for all commands" {
    refused "--similarity requires --method shingle; auto ignores it" dedup corpus.jsonl --similarity 0.3
    refused "--hamming requires --method simhash" dedup corpus.jsonl --method shingle --hamming 2
    refused "--threshold requires --method auto" dedup corpus.jsonl --method simhash --threshold 0.1
    refused "--signature-length requires --method signature" dedup corpus.jsonl --signature-length=64
    refused "--stem requires --method shingle, simhash, i-match" dedup corpus.jsonl --stem porter
    printf 'stem = "porter"\nthreshold = 0.1\n' >options.toml
    dedup corpus.jsonl --config options.toml >rows
    dedup corpus.jsonl --threshold 0.1 | cmp - rows
    dedup corpus.jsonl --method shingle --config options.toml
}

@test "a repeated option is an error; the command line overrides a file, a section overrides its top level" {
    refused "--pairs is given twice" dedup corpus.jsonl --pairs one --pairs two
    refused "--threshold is given twice" dedup corpus.jsonl --threshold 0.1 --threshold=0.1
    refused "-o, --output is given twice" dedup corpus.jsonl -o one --output two
    refused "--topics is given twice" search store --topics one --topics two
    printf 'threshold = 0.4\nkeep = "last"\n[dedup]\nthreshold = 0.01\n' >options.toml
    [ -z "$(dedup corpus.jsonl --config options.toml)" ]
    [ "$(dedup corpus.jsonl --config options.toml --threshold 0.05 | wc -l)" -eq 2 ]
    dedup corpus.jsonl --config options.toml --threshold 0.05 -o - | diff <(sed -n '3,5p' corpus.jsonl) -
    printf 'a\tb\n' >x.tsv
    quern dedup x.tsv --quiet --quiet
}

@test "the page shows its origin: inputs, sets, rejected documents, the program" {
    head -n 1 corpus.jsonl >'test<set>.jsonl'
    { tail -n 4 corpus.jsonl; echo "no JSON"; } >new.jsonl
    dedup new.jsonl --against 'test<set>.jsonl' --max-errors 1 --report page.html
    for row in "corpus</th><td>new.jsonl<" "compared with</th><td>test&lt;set&gt;.jsonl<" "rejected documents</th><td>1<" \
        "made by</th><td>Quern $(quern --version | cut -d ' ' -f 2)<"; do
        grep -qF "$row" page.html
    done
}

# Memory that is only reserved counts against such a limit.
@test "a limit of the process's own memory leaves room for the work" {
    awk 'BEGIN { srand(5); for (d = 0; d < 20000; ++d) { printf "{\"id\":\"%d\",\"text\":\"", d
        for (w = 0; w < 8; ++w) printf "w%d ", int(rand() * 5000)
        print "\"}" } }' >many.jsonl
    quern dedup many.jsonl --pairs all.tsv --quiet
    (ulimit -d 150000 && quern dedup many.jsonl --pairs limited.tsv --quiet)
    cmp all.tsv limited.tsv
}
