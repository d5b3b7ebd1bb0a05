#!/usr/bin/env bats
# shellcheck disable=SC2154 # common and bats set $data, $output, $stderr
# quern words, similar, contexts, export: what they write, where, and what they refuse.
load common

own_setup() {
    cat >village.txt <<'END'
The miller drinks hot tea. The baker drinks hot coffee. The smith drinks cold water.

The baker pours hot tea into a cup. The smith pours hot coffee into a cup. A cup of tea costs a penny.

Cold milk stands in a jug. Cold water stands in a jug. A jug of milk costs a penny. A jug of water costs nothing.

The brown horse eats hay. The brown cow eats hay. The horse sleeps in the stable. The cow sleeps in the stable.
END
}

words() { quern words --quiet "$@"; }
space() { words village.txt -o village --stop-words en --min-count 2 "$@"; }

@test "neighbours: word and score, most similar first, in every format" {
    space
    quern similar village tea --quiet >rows
    grep -q '^coffee	' rows
    sort -s -t "$(printf '\t')" -k 2,2gr rows | cmp - rows
    [ "$(quern similar village tea --quiet -k 2)" = "$(head -n 2 rows)" ]
    [ "$(quern similar village tea --quiet -k=2)" = "$(head -n 2 rows)" ]
    quern similar village tea --quiet -o=named
    cmp named rows
    [ "$(quern similar village TEA --quiet)" = "$(cat rows)" ]
    quern similar village tea --quiet --format jsonl | grep -q '^{"word":"coffee","score":0.*}$'
    quern similar village tea --quiet -o file
    cmp file rows
    ends_with 2 quern similar village tea -o file
}

@test "the same bytes for every thread count, memory and method" {
    space --threads 1 --vectors 4
    words village.txt -o again --stop-words en --min-count 2 --vectors 4 --threads 3 --memory 64M --method compressed
    diff -r --exclude stats.json village again
    words village.txt -o again --force --stop-words en --min-count 2 --vectors 4 --method compressed --tile-bytes 32 --blocks 3 --block-threads 64
    diff -r --exclude stats.json village again
    space --force --columns 10
    words village.txt -o reduced --stop-words en --min-count 2 --columns 10 --method column-reduced
    diff -r --exclude stats.json village reduced
}

@test "further measures: the same scores from neighbours, pairs and longer lists" {
    for measure in jaccard weeds jensen-shannon skew; do
        words village.txt -o by --stop-words en --min-count 2 --measure $measure --top 3 --force --threads 1
        words village.txt -o again --stop-words en --min-count 2 --measure $measure --top 3 --force --threads 3 --memory 64M
        diff -r --exclude stats.json by again
        quern similar by tea -k 20 --all-words --quiet >rows
        [ "$(wc -l <rows)" -gt 3 ]
        quern similar by tea -k 3 --all-words --quiet | cmp - <(head -n 3 rows)
        cut -f 1 rows | sed 's/^/tea\t/' >pairs
        quern similar by --pairs pairs --quiet | cut -f 2,3 | cmp rows -
        awk -F '\t' '!($2 > 0 && $2 <= 1) { exit 1 }' rows
        quern contexts by tea coffee --quiet | grep -q .
    done
    # skew is not symmetric, the others are.
    [ "$(quern similar by tea --with cup --quiet | cut -f 2)" != "$(quern similar by cup --with tea --quiet | cut -f 2)" ]
    words village.txt -o by --stop-words en --min-count 2 --measure weeds --force
    [ "$(quern similar by tea --with cup --quiet | cut -f 2)" = "$(quern similar by cup --with tea --quiet | cut -f 2)" ]
    ends_with 2 quern words village.txt -o other --measure jaccard --method compressed
    says "compares words by lin or cosine only"
    [ ! -e other ]
}

@test "further measures on a GPU: the same bytes, or the reason for failure" {
    for measure in jaccard weeds jensen-shannon skew; do
        words village.txt -o by --stop-words en --min-count 2 --measure $measure --force --device cpu
        run --separate-stderr quern words village.txt -o gpu --stop-words en --min-count 2 --measure $measure --force \
            --quiet --device cuda
        if [ "$status" -eq 0 ]; then
            diff -r --exclude stats.json by gpu
        else
            [ "$status" -eq 4 ]
            says "CUDA was requested, but "
            [ ! -e gpu ]
        fi
    done
}

@test "second order: words by the neighbours that they share" {
    space --top 6
    quern similar village tea --second-order --all-words -k all --quiet >rows
    [ -s rows ]
    # Lin's measure of the two lists, from the exported neighbours.
    quern export village --graph graph.tsv --quiet
    awk -F '\t' -v OFS='\t' '
        NR == FNR { weight[$1, $2] = $3; sum[$1] += $3; next }
        { shared = 0
          for (key in weight) { split(key, pair, SUBSEP)
            if (pair[1] == "tea" && (($1, pair[2]) in weight)) shared += weight[key] + weight[$1, pair[2]] }
          d = $2 - shared / (sum["tea"] + sum[$1]); if (d * d > 1e-13 || shared == 0) exit 1 }' graph.tsv rows
    [ "$(quern similar village tea --second-order --quiet -k 2 --all-words)" = "$(head -n 2 rows)" ]
    first=$(head -n 1 rows | cut -f 1)
    [ "$(quern similar village tea --second-order --with "$first" --quiet)" = "$(head -n 1 rows)" ]
    words village.txt -o lonely --stop-words en --min-count 2 --top 0
    ends_with 2 quern similar lonely tea --second-order
    says "stores no neighbours to compare by"
}

@test "the score of two words, of a file of pairs; neighbours within a list" {
    space
    score=$(quern similar village tea --with coffee --quiet | cut -f 2)
    [ "$score" = "$(quern similar village tea --quiet | awk '$1 == "coffee" { print $2 }')" ]
    printf 'tea\tcoffee\nTea\tunicorn\nthe\ttea\ntea\ttea\textra\n' >pairs
    quern similar village --pairs pairs --quiet >scored
    printf 'tea\tcoffee\t%s\nTea\tunicorn\tnan\nthe\ttea\tnan\ntea\ttea\t1\n' "$score" | diff - scored
    quern similar village --pairs - --quiet <pairs | cmp - scored
    printf 'coffee\nhorse\nunicorn\n' >list
    [ "$(quern similar village tea --within list --quiet 2>said | cut -f 1)" = coffee ]
    grep -q '1 word not in the vocabulary' said
    printf '\n\r\ntea coffee\n' >bad
    ends_with 3 quern similar village --pairs bad
    says 'bad:3'
}

@test "lists from other systems: a byte order mark, CR, empty lines" {
    space
    printf '\xef\xbb\xbftea\tcoffee\r\n\r\ntea\thorse\r\n' >pairs
    printf 'tea\tcoffee\ntea\thorse\n' >plain
    quern similar village --pairs plain --quiet >expected
    quern similar village --pairs pairs --quiet | cmp - expected
    printf '\xef\xbb\xbfcoffee\r\n' >list
    [ "$(quern similar village tea --within list --quiet | cut -f 1)" = coffee ]
}

@test "1: no similar words or no shared contexts, with a message" {
    printf 'a b a b a b a b a b a b\n' >two.txt
    words two.txt -o two
    ends_with 1 quern similar two a
    says "no similar word found"
    ends_with 1 quern contexts two a b
    says "share no context"
}

@test "several words: plus and minus, in every spelling" {
    space
    quern similar village tea +milk -hot --quiet >rows
    run ! grep -qE '^(tea|milk|hot)	' rows
    quern similar village --quiet -- -hot milk +tea | cmp - rows
    [ "$(quern similar village tea -hot -k2 --quiet | wc -l)" -le 2 ]
    ends_with 1 quern similar village tea -unicorn
    says "'unicorn' is not in the vocabulary"
}

@test "contexts of one word, and of two" {
    space --relation position
    quern contexts village hot --quiet >rows
    grep -q '^+1	tea	' rows
    grep -q '^-1	drinks	' rows
    [ "$(quern contexts village hot -k 1 --quiet)" = "$(head -n 1 rows)" ]
    quern contexts village tea coffee --quiet >both
    awk -F '\t' 'NF != 4 || $3 <= 0 || $4 <= 0 { exit 1 }' both
    grep -q '^-1	hot	' both
    refused "expected one or two" contexts village a b c
}

@test "1: an unknown word, with similar spellings" {
    space
    ends_with 1 quern similar village hosre
    says "'hosre' is not in the vocabulary; did you mean horse?"
    [ -z "$output" ]
    ends_with 1 quern contexts village hosre
    ends_with 1 quern similar village tea --with hosre
    ends_with 1 quern similar village the
    says "stop word"
    ends_with 1 quern similar village "two words"
}

@test "exports: NumPy, word2vec, TSV, GraphML, words" {
    space --vectors 3 --export neighbours.tsv --report page.html
    n=$(quern info village --format tsv --quiet | awk -F '\t' '$1 == "words_of_the_space" { print $2 }')
    quern export village --vectors v.npy --words w.tsv --graph g.tsv --quiet
    quern export village --vectors v.txt --graph g.graphml --quiet
    cmp g.tsv neighbours.tsv
    [ "$(wc -l <w.tsv)" -eq "$n" ]
    [ "$(head -n 1 v.txt)" = "$n 3" ]
    [ "$(awk 'NR > 1 && NF != 4' v.txt)" = "" ]
    python3 -c '
import struct, sys, xml.etree.ElementTree as tree
n = int(sys.argv[1])
b = open("v.npy", "rb").read()
assert b[:6] == b"\x93NUMPY" and len(b) == 128 + 12 * n, len(b)
rows = [line.split() for line in open("v.txt")][1:]
for i, row in enumerate(rows):
    for x, y in zip(row[1:], struct.unpack_from("<3f", b, 128 + 12 * i)):
        assert struct.unpack("<f", struct.pack("<f", float(x)))[0] == y
g = tree.parse("g.graphml").getroot()
ns = "{http://graphml.graphdrawing.org/xmlns}"
assert len(g.findall(f".//{ns}node")) == n
assert len(g.findall(f".//{ns}edge")) == len(open("g.tsv").readlines())
' "$n"
    run ! grep -qE '<script|https?:|src=|@import' page.html
    grep -q '<b>tea</b>' page.html
    ends_with 2 quern export village --vectors v.npy
    refused "expected the ending .npy or .txt" export village --vectors v.bin
    refused "nothing to export" export village
    space --force
    refused "has no vectors" export village --vectors w.npy
    [ ! -e w.npy ]
}

@test "info, verify; nothing is written into a space" {
    space
    quern info village --quiet >rows
    [ "$(head -n 1 rows)" = $'kind\twords' ]
    grep -q '^window	3$' rows
    quern verify village --quiet | grep -q '^village	whole	'
    refused "is inside the" similar village tea -o village/rows
    printf 'x' | dd of=village/contexts.section bs=1 seek=3 conv=notrunc status=none
    ends_with 5 quern verify village
    says "contexts"
    ends_with 5 quern contexts village tea
    sed -i 's/"version": 1/"version": 9/' village/space.json
    ends_with 5 quern similar village tea
    says "version 9"
}

@test "triples, with invalid lines" {
    printf 'eat\tobj\tbread\t4\nbake\tobj\tbread\t9\nride\tobj\thorse\t9\nride\tobj\tcow\nnonsense\n' >t.tsv
    ends_with 3 quern words t.tsv --input-format triples -o t --min-count 1
    says "t.tsv:5"
    [ ! -e t ]
    quern words t.tsv --input-format triples -o t --min-count 1 --max-errors 1 2>said
    grep -q '4 triples, ' said
    [ "$(quern similar t eat --quiet | cut -f 1)" = bake ]
    [ "$(quern contexts t eat --quiet | cut -f 1,2)" = $'obj\tbread' ]
    gzip -c t.tsv | words - --input-format triples -o piped --min-count 1 --max-errors 1
    diff -r --exclude stats.json t piped
}

@test "the thesis's preset, with further options" {
    space --preset thesis
    asked() { quern info village --quiet | grep -E "^(discount|gaps|measure|relation|window-end)	" | cut -f 2 | tr '\n' ' '; }
    [ "$(asked)" = "0 keep lin position sentence " ]
    space --force --preset thesis --relation none --discount 0.5
    [ "$(asked)" = "0.5 keep lin none sentence " ]
    space --force
    [ "$(asked)" = "0.95 close lin none paragraph " ]
}

@test "all scores as an array" {
    space --top all
    n=$(quern info village --quiet | awk -F '\t' '$1 == "words_of_the_space" { print $2 }')
    [ "$(stat -c %s village/similarities.npy)" -eq $((128 + 8 * n * n)) ]
    quern verify village --quiet
}

@test "lsa, of both matrices" {
    space --measure lsa --vectors 4
    quern similar village tea --quiet -k 100 >mi
    [ -s mi ]
    cp village.txt second.txt
    mkdir both && mv village.txt second.txt both
    words both -o documents --stop-words en --measure lsa --lsa-of documents --lsa-measure pearson --min-count 2 --vectors 2
    [ -s documents/vectors.section ]
}

@test "too little input, and other errors" {
    echo "one" >one.txt
    ends_with 3 quern words one.txt -o space --min-count 1
    says "too little for a thesaurus"
    [ ! -e space ]
    space
    refused "village exists; --force" words village.txt -o village
    mkdir home
    refused "not a word space" words village.txt -o home --force
    refused "--output is required" words village.txt
    refused "unknown language" words village.txt -o x --language xx
    refused "--window" words village.txt -o x --window 0
    refused "expected one of" words village.txt -o x --measure euclid
    refused "column-reduced needs" words village.txt -o x --method column-reduced
    refused "requires --method compressed" words village.txt -o x --method column-reduced --columns 9 --blocks 4
    refused "requires --method compressed or column-reduced" words village.txt -o x --block-threads 64
    refused "from 0 to 1024" words village.txt -o x --method compressed --block-threads 1025
    refused "not a word space" similar "$data/garden" tea
    refused "no such word space" similar nowhere tea
    refused "WORD or --pairs is required" similar village
    refused "cannot be combined with" similar village tea --pairs x
    quern build village.txt -o store --skip all --quiet
    refused "is a store without a thesaurus; quern words store -o SPACE" similar store tea
    refused "both go to" words village.txt -o x --export f --report f
}

@test "--stats reports the time of each stage" {
    space --stats s.json
    [ "$(json s.json '"read" in [s["name"] for s in d["stages"]] and "similar" in [s["name"] for s in d["stages"]]')" = True ]
    [ "$(json s.json 'd["counts"]["vocabulary"] > 5 and d["counts"]["documents"] == 1')" = True ]
    quern similar village tea --quiet --stats s.json
    [ "$(json s.json 'd["counts"]["neighbours"] > 0')" = True ]
}

@test "--top 0 stores no neighbours, and every result is the same" {
    space
    words village.txt -o bare --stop-words en --min-count 2 --top 0
    quern similar village tea -k 5 --quiet >stored
    quern similar bare tea -k 5 --quiet >computed
    cmp stored computed
    printf 'tea\tbread\nbread\tmill\n' >pairs
    cmp <(quern similar village --pairs pairs --quiet) <(quern similar bare --pairs pairs --quiet)
    [ ! -s bare/neighbours.section ] || [ "$(json bare/space.json 'd["neighbours"]')" = 0 ]
    ends_with 2 quern words village.txt -o other --top 0 --export - --quiet
    quern words village.txt -o vectors --stop-words en --min-count 2 --top 0 --measure lsa --vectors 3 --quiet
    [ -n "$(quern similar vectors tea -k 3 --quiet)" ]
}

@test "a store's thesaurus is queried like a space, and its texts make other spaces" {
    mkdir many
    for copy in 1 2 3 4 5 6; do
        awk -v RS= -v copy=$copy '{ print > ("many/" NR "-" copy ".txt") }' village.txt
    done
    quern build many -o store --skip duplicates,ranks --quiet
    quern similar store tea -k 3 --quiet >rows
    [ "$(wc -l <rows)" -eq 3 ]
    quern similar store/thesaurus tea -k 3 --quiet | cmp - rows
    quern contexts store tea coffee --quiet | grep -q hot
    ends_with 1 quern similar store hosre
    says "did you mean horse"
    quern words store -o of_store --stop-words en --quiet
    quern words many -o of_texts --stop-words en --quiet
    diff -r --exclude stats.json of_store of_texts
    refused "must be the only input" words store many -o both
    refused "is a store" words store --input-format jsonl -o both
    refused "is inside the" words store -o store/space

    quern verify store --quiet
    quern info store --quiet | grep -q '^thesaurus.bytes'
    quern info store --quiet | grep -q '^vectors.unit.32767$'
    quern build many -o again --skip duplicates,ranks --quiet --threads 1
    diff -r --exclude stats.json store again
    quern build many -o again --skip duplicates,ranks --quiet --force
    diff -r --exclude stats.json store again
    printf x | dd of=store/thesaurus/words.section bs=1 seek=3 conv=notrunc status=none
    ends_with 5 quern verify store
    says words
    rm -r again/thesaurus
    ends_with 5 quern verify again
    says thesaurus
    ends_with 5 quern similar again tea
}

# A build keeps where paragraphs end, and takes the words from the index. Words of titles and fields do not count; of a long
# text the ends are found again.
@test "a build makes the thesaurus of the texts from the words of the index" {
    python3 - <<'END' >tagged.jsonl
import json, random
random.seed(5)
def text(words):
    return "".join(f"t{random.randrange(9)}n{random.randrange(40) * random.randrange(40) // 40}"
                   + (".\n\n" if w % 13 == 12 else " the " if w % 5 == 4 else " ") for w in range(words))
for d in range(120):
    words = 60000 if d == 50 else 0 if d == 70 else random.randrange(200)
    print(json.dumps({"id": str(d), "title": text(3) if d % 7 else "", "tag": text(2), "text": text(words)}))
END
    [ "$(sed -n 51p tagged.jsonl | wc -c)" -gt 300000 ]
    for stop_words in none en; do
        for how in "--threads 1" "--threads 3 --memory 64M" "--threads 2 --index-fields tag"; do
            quern build tagged.jsonl -o tagged --skip duplicates,ranks --stop-words $stop_words $how --quiet --force
            quern words tagged -o of_texts --stop-words $stop_words --vectors 100 --lsa-of documents --lsa-words 16777216 --quiet --force
            diff -r --exclude stats.json tagged/thesaurus of_texts
        done
    done
}

@test "stop words are not neighbours, unless requested" {
    python3 - <<'END' >beasts.jsonl
import json
for i in range(60):
    text = " ".join(f"The {('horse', 'donkey', 'mule')[(i + j) % 3]} of the {('miller', 'baker', 'smith')[(i + j // 2) % 3]} drinks from the {('well', 'river')[j % 2]}."
                    for j in range(8))
    print(json.dumps({"id": str(i), "text": text}))
END
    quern words beasts.jsonl -o space --quiet
    quern similar space of --all-words --quiet | cut -f 1 | grep -qx the
    for word in of horse; do
        quern similar space "$word" --quiet | cut -f 1 >near
        [ -s near ]
        run ! grep -qxE 'the|of|from' near
    done
    # What is left is as it was.
    quern similar space horse --all-words --quiet | grep -vE '^(the|of|from)	' >expected
    quern similar space horse --quiet | cmp - expected
    printf 'the\nmule\n' >list
    quern similar space of --within list --quiet | cut -f 1 | grep -qx the
    # A word that is a stop word of another language alone stays ("war").
    sed 's/donkey/war/g' beasts.jsonl >war.jsonl
    quern words war.jsonl -o war --quiet
    quern similar war horse --quiet | cut -f 1 | grep -qx war
    # Without a list of the language, or with few of its words, nothing is a stop word.
    sed -E 's/\b([Tt]he|of|from)\b/zz\1/g' beasts.jsonl >none.jsonl
    quern words none.jsonl -o none --quiet
    quern similar none zzof --quiet | cut -f 1 | grep -qx zzthe
}
