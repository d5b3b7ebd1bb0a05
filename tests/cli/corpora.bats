#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2030,SC2031,SC2059,SC2154 # bash -c expands its own text; common and bats set $data, $stderr
# Every form of corpus, plain, compressed and from a pipe: what is read, and what is said of the rest.
load common

# built NAME CORPUS OPTION...: builds, and compares both the remarks and the documents with golden files.
built() {
    local name=$1 corpus=$2
    shift 2
    quern build "$corpus" -o store --skip all "$@" 2>said
    sed "s#$data/##g" said >said.short
    matches_golden "corpus.$name.said" said.short
    # The whole collection, in its order: a query of words that every document holds one of.
    quern search store apple bee bees tree pear りんご 蜜蜂 bienen -k all --typos never --quiet >rows
    matches_golden "corpus.$name.tsv" rows
}

@test "JSON lines" { built jsonl "$data/corpus.jsonl"; }
@test "TSV" { built tsv "$data/corpus.tsv"; }
@test "word lines, never guessed" { built lines "$data/corpus.lines" --input-format lines; }

# read_as CORPUS STATS: builds `store`, or skips while this form is only planned.
read_as() {
    run --separate-stderr quern build "$1" -o store --skip all --stats "$2"
    [[ $stderr != *"is not read yet"* ]] || skip "this form is not read yet"
    [ "$status" -eq 0 ]
    said=$stderr
}

documents() { # documents QUERY: ids and titles of all hits, in order of id
    quern search store "$1" -k all --quiet | cut -f 2,4 | LC_ALL=C sort
}

silent_about() { # silent_about WORD...: none of them is in the collection
    for word in "$@"; do
        run --separate-stderr quern search store "$word" --quiet
        echo "$word: $output"
        [ "$status" -eq 1 ]
    done
}

@test "a folder: HTML without markup; hidden and binary files are counted" {
    read_as "$data/garden" stats.json
    documents "apple bees Bienen" >rows
    grep -q $'^notes/bees.html\tBees & hives$' rows || skip "HTML is not read yet"
    [ "$(cut -f 1 rows | tr '\n' ' ')" = "autumn.md notes/bees.html notes/count.py notes/winter.txt spring.txt " ]
    silent_about secret never script doctype nbsp
    [ "$(quern search store "honey harvested" -k 1 --quiet | cut -f 2)" = notes/bees.html ]
    [[ $said == *"skipped 1 file: 1 .bin; 1 hidden file"* ]]
    [ "$(json stats.json "d['counts']['documents']")" -eq 5 ]
}

@test "a folder without documents: the reasons, by extension; the form folder reads it" {
    mkdir man
    for page in a b; do echo "$page" >"man/$page.xyz"; done
    echo "a,b" >man/table.csv
    printf '{\n  "name": "x"\n}\n' >man/package.json
    ends_with 3 quern build man -o store
    [[ $stderr == *"man: holds no documents; skipped 4 files: 2 .xyz, 1 .csv, 1 .json; --input-format folder reads"* ]]
    ln -s /nope man/link
    echo "honey" >man/README
    ends_with 0 quern build man -o store --skip all
    [[ $stderr == *"skipped 4 files: 2 .xyz, 1 .csv, 1 .json; 1 link that leads nowhere"* ]]
    ends_with 0 quern build man -o store --skip all --input-format folder --force
    [ "$(json store/stats.json "d['counts']['documents']")" -eq 5 ]
}

@test "TREC SGML: DOCNO without the spaces around it" {
    read_as "$data/corpus.trec" stats.json
    [ "$(documents "apple bees" | cut -f 1 | tr '\n' ' ')" = "TR-1 TR-2 " ]
    silent_about docno text
}

@test "wikiextractor output: its ids and titles, entities decoded" {
    read_as "$data/corpus.wikiextractor" stats.json
    [ "$(documents "apple bees")" = $'12\tApple tree\n25\tBee' ]
    silent_about amp curid doc
}

@test "a Wikipedia dump: only prose, namespaces skipped, redirects resolved" {
    read_as "$data/wiki.xml" stats.json
    [ "$(documents "bee apple")" = $'Apple_tree\tApple tree\nBee\tBee' ]
    silent_about infobox nested book cell wikitable picture jpg hidden ref category article
    # Apple tree -> Bee twice, once through the redirect; Bee -> Apple tree; "spring" is not here.
    [ "$(json stats.json "[d['counts'][k] for k in ('documents', 'redirects', 'links', 'dangling_links', 'rejected')]")" = \
        "[2, 1, 3, 1, 0]" ]
    [[ $said == *"skipped "*namespace* ]]
}

same_store() { # same_store A B: byte for byte, the record of the run excepted
    diff -r --exclude stats.json "$1" "$2"
}

compressed() { # compressed PROGRAM SUFFIX
    command -v "$1" >/dev/null || skip "needs $1"
    build "$data/corpus.jsonl" plain
    "$1" -c "$data/corpus.jsonl" >"corpus.$2"
    build "corpus.$2" packed
    same_store plain packed
    mv "corpus.$2" corpus.jsonl # told from the content, not from the name
    build corpus.jsonl renamed
    same_store plain renamed
    "$1" -c "$data/corpus.jsonl" | quern build - -o piped --skip all --quiet
    same_store plain piped
}

@test "a byte-order mark is no part of a corpus, whatever its form" {
    local form
    mkdir marked
    printf '{"id":"a","text":"rye bread"}\n' >marked/jsonl
    printf 'a\trye bread\n' >marked/tsv
    printf 'id,text\na,rye bread\n' >marked/csv
    printf '<DOC>\n<DOCNO>a</DOCNO>\nrye bread\n</DOC>\n' >marked/trec
    printf '<doc id="a" url="u" title="t">\nt\n\nrye bread\n</doc>\n' >marked/wikiextractor
    printf '<mediawiki><siteinfo></siteinfo><page><title>a</title><ns>0</ns><revision><text>rye bread</text></revision></page></mediawiki>\n' \
        >marked/wikipedia
    for form in jsonl tsv csv trec wikiextractor wikipedia; do
        sed -i '1s/^/\xef\xbb\xbf/' "marked/$form"
        build "marked/$form" "$form.store"
        [ "$(quern search "$form.store" '"rye bread"' --quiet | cut -f 2)" = a ]
    done
    printf '\xef\xbb\xbfrye\nbread\n' >marked/lines
    build marked/lines lines.store --input-format lines
    [ "$(quern search lines.store '"rye bread"' --quiet | cut -f 2)" = 0 ]
}

@test "CSV by its name and heading, with a second record that is broken" {
    mkdir tables
    printf 'id,text\n1,a,b\n2,rye bread\n' >tables/a.csv
    ends_with 0 quern build tables/a.csv -o named --skip all --max-errors 1
    [[ $stderr == *"a.csv:2: 3 fields, where the heading has 2"* ]]
    ends_with 0 quern build tables -o inside --skip all --max-errors 1
    [ "$(quern search inside rye --quiet | cut -f 2)" = 2 ]
    printf 'id|text\n1|rye bread\n' >tables/b.csv
    ends_with 3 quern build tables/b.csv -o other --skip all
    [[ $stderr == *'found "id|text"; it has bars where CSV has commas or semicolons'* ]]
}

@test "lines that end with CR alone are refused, not read as one" {
    printf 'id,text\r1,rye bread\r2,salt\r' >old.csv
    printf 'id\ttext\r1\trye bread\r2\tsalt\r' >old.tsv
    printf '{"id":"1","text":"rye"}\r{"id":"2","text":"salt"}\r' >old.jsonl
    local file
    for file in old.csv old.tsv old.jsonl; do
        ends_with 3 quern build $file -o none --skip all
        [[ $stderr == *"$file"*"lines end with CR alone (expected LF or CRLF; tr '"* ]]
        tr '\r' '\n' <$file >new.${file#old.}
        quern build new.${file#old.} -o store --skip all --force --quiet
    done
    ends_with 3 quern build old.tsv -o none --input-format tsv --skip all
    ends_with 3 quern dedup old.csv --input-format text-lines
    mkdir old
    cp old.tsv old
    echo rye >old/a.txt
    ends_with 0 quern build old -o store --skip all --force
    [[ $stderr == *"skipped 1 file: 1 .tsv"* ]]
    printf 'rye\rbread' >prose.txt # one document
    quern build prose.txt -o store --skip all --force --quiet
}

@test "CSV with semicolons, as where a comma is in numbers" {
    printf 'id;text;price\n1;"rye; bread";3,50\n2;"rye; bread";4\n3;"two\n""lines""";7\n' >shop.csv
    quern build shop.csv -o store --keep-fields price --skip all --quiet
    [ "$(quern search store lines --quiet | cut -f 2)" = 3 ]
    quern search store rye --format jsonl --quiet | grep -q '"fields":{"price":"3,50"}'
    quern dedup shop.csv -o kept.csv --quiet
    printf 'id;text;price\n1;"rye; bread";3,50\n3;"two\n""lines""";7\n' | diff - kept.csv
    # As Excel writes it.
    printf '\xef\xbb\xbfsep=;\r\nid;text\r\n1;"rye; bread"\r\n2;"rye; bread"\r\n3;sour, dough\r\n' >excel.csv
    quern dedup excel.csv -o out.csv --quiet
    grep -v '^2' excel.csv | cmp - out.csv
    quern filter excel.csv --rules length.max-words=1 --removed removed -o out.csv --force --quiet
    [ "$(cut -f 1 removed | tr '\n' ' ')" = "1 2 3 " ]
    quern filter shop.csv excel.csv --mask ips -o folder/ --quiet
    cmp folder/excel.csv excel.csv
    quern dedup shop.csv --level line --min-length 3 -o lines.csv --quiet
    diff lines.csv kept.csv
    printf 'id;text\n1;"rye; bread"\n2;"rye; bread\nmore"\n' >lines.csv
    quern dedup lines.csv --level line --min-length 3 -o parts.csv --quiet
    printf 'id;text\n1;"rye; bread"\n2;"more"\n' | diff - parts.csv
}

@test "gzip" { compressed gzip gz; }
@test "bzip2" { compressed bzip2 bz2; }
@test "zstd" { compressed zstd zst; }
@test "xz" { compressed xz xz; }

@test "standard input is JSON lines" {
    build "$data/corpus.jsonl" plain
    quern build - -o piped --skip all --quiet <"$data/corpus.jsonl"
    same_store plain piped
}

@test "a text from a pipe is read once and completely" {
    quern build <(echo "honey from one pipe") -o piped --skip all --quiet
    quern search piped "honey pipe" --quiet | grep -q "honey from one pipe"
}

@test "several inputs form one collection, in the order given" {
    quern build "$data/corpus.jsonl" "$data/garden" -o store --skip all --quiet
    [ "$(quern info store | awk '$1 == "documents" { print $2 }')" -eq 11 ]
}

@test "search on a corpus builds a store once and finds it again" {
    ends_with 0 quern search "$data/corpus.jsonl" apple
    [ "${#lines[@]}" -eq 3 ]
    [[ $stderr == *"building a store in $QUERN_CACHE/"* ]]
    first=$output
    ends_with 0 quern search "$data/corpus.jsonl" apple
    [[ $stderr == *"using the store kept in $QUERN_CACHE/"* ]]
    [ "$output" = "$first" ]
}

@test "the cache notices a changed corpus and other text options" {
    cp "$data/corpus.jsonl" mine.jsonl
    quern search mine.jsonl apple --quiet
    echo '{"id": "new", "text": "Another apple."}' >>mine.jsonl
    [ "$(quern search mine.jsonl apple --quiet | wc -l)" -eq 4 ]
    ends_with 0 quern search mine.jsonl apples --stem porter
    [[ $stderr == *"building a store"* ]]
    [ "${#lines[@]}" -eq 4 ]
}

@test "the cache notices texts of the same size, and of the same time" {
    for i in 1 2 3 4; do
        echo "an apple of basket $i" >basket.txt
        [ "$(quern search basket.txt "apple $i" --quiet | grep -c "basket $i")" -eq 1 ]
    done
    touch -d 2020-02-02 basket.txt
    quern search basket.txt apple --quiet
    echo "an apple of basket 9" >new.txt
    touch -d 2020-02-02 new.txt
    mv new.txt basket.txt
    quern search basket.txt apple --quiet | grep "basket 9"
    ends_with 0 quern search basket.txt apple
    [[ $stderr == *"using the store kept in"* ]]
}

@test "the cache folder follows XDG_CACHE_HOME, then HOME" {
    unset QUERN_CACHE
    XDG_CACHE_HOME=$PWD/xdg quern search "$data/corpus.jsonl" apple --quiet
    [ -d xdg/quern ]
    env -u XDG_CACHE_HOME HOME="$PWD/home" "$QUERN" search "$data/corpus.jsonl" apple --quiet
    [ -d home/.cache/quern ]
}

@test "rejected documents are reported with file and line, the first ten and a count" {
    { cat "$data/corpus.jsonl"; for i in $(seq 12); do echo "broken $i"; done; } >mixed.jsonl
    ends_with 0 quern build mixed.jsonl -o store --skip all --max-errors 12
    [[ $stderr == *"warning: mixed.jsonl:7: "* ]]
    [[ $stderr == *"… and 2 more"* ]]
    [[ $stderr == *"12 rejected"* ]]
    [ "$(grep -c 'warning: mixed.jsonl:' <<<"$stderr")" -eq 10 ]
    [ "$(json store/stats.json "d['counts']['rejected']")" -eq 12 ]
}

@test "a truncated file keeps the documents before the cut" {
    command -v gzip >/dev/null || skip "needs gzip"
    for i in $(seq 2000); do echo "{\"id\": $i, \"text\": \"apple number $((i * 7919 % 2003))\"}"; done >many.jsonl
    gzip -c many.jsonl >many.gz
    head -c $(($(wc -c <many.gz) / 2)) many.gz >cut.gz
    ends_with 0 quern build cut.gz -o store --skip all --max-errors 5
    [[ $stderr == *"cut.gz"* ]]
    documents=$(json store/stats.json "d['counts']['documents']")
    [ "$documents" -gt 500 ] && [ "$documents" -lt 1500 ]
}

# A corpus in FILE.gz, FILE.bz2, … that ends within its data; 10,000 documents, so that one is far below 1 %.
cut_corpora() {
    awk 'BEGIN { for (i = 0; i < 10000; ++i) printf "{\"id\":\"d%d\",\"text\":\"apple %d of the tree %d\"}\n", i, i * 7919 % 10007, i * i % 9973 }' >many.jsonl
    for pack in "gzip gz" "bzip2 bz2 -1" "zstd zst" "xz xz"; do
        read -r program suffix level <<<"$pack"
        command -v "$program" >/dev/null || continue
        "$program" -c $level many.jsonl >whole.$suffix
        head -c $(($(wc -c <whole.$suffix) * 3 / 4)) whole.$suffix >cut.$suffix
    done
}

@test "an input that ends within its data fails the run, whatever its share" {
    cut_corpora
    for cut in cut.*; do
        ends_with 3 quern build "$cut" -o store --skip all --quiet
        says "$cut:"
        says "data are truncated at byte"
        says "the rest is lost (--max-errors 100% continues with what could be read)"
        [ ! -e store ]
        ends_with 0 quern build "$cut" -o store --skip all --max-errors 100% --quiet
        documents=$(json store/stats.json "d['counts']['documents']")
        [ "$documents" -gt 1000 ]
        [ "$documents" -lt 10000 ]
        [[ $stderr == *"the rest is lost"*" rejected, 1 kept in part, 0 repaired"* ]]
        rm -r store
        # Whoever names a limit has it kept: it counts as one, and the line in which it ends as another.
        ends_with 0 quern dedup "$cut" -o kept.jsonl --max-errors 2 --quiet
        rm kept.jsonl
        ends_with 3 quern dedup "$cut" -o none.jsonl --max-errors 0 --quiet
        [ ! -e none.jsonl ]
    done
}

@test "every command that reads a corpus rejects an incomplete one" {
    cut_corpora
    mkdir folder && cp cut.gz folder/part.jsonl.gz && head -n 5000 many.jsonl >first.jsonl
    head -n 5 many.jsonl | sed 's/"d/"x/' >new.jsonl
    for command in "dedup cut.gz" "dedup folder" "dedup first.jsonl --against cut.gz" "dedup --stream --against cut.gz" \
        "dedup cut.gz --store seen" "signature cut.gz" "ngrams cut.gz" "words cut.gz -o space" "dictionary cut.gz -o dictionary" \
        "search cut.gz apple"; do
        # shellcheck disable=SC2086 # a command line
        ends_with 3 bash -c "\"$QUERN\" $command --quiet <new.jsonl"
        says "gzip data are truncated at byte"
        says "--max-errors 100%"
    done
    [ ! -e space ]
    [ ! -e dictionary ]
    ends_with 0 bash -c "\"$QUERN\" dedup --stream --against cut.gz --max-errors 100% --quiet <new.jsonl"
}

@test "wrong bytes in a complete file: reported as such, not as a loss" {
    cut_corpora
    python3 - <<'END'
import bz2, gzip, shutil, subprocess
def wrong(source, target, at):
    data = bytearray(open(source, 'rb').read())
    data[at] ^= 1
    open(target, 'wb').write(data)
wrong('whole.gz', 'wrong.gz', -8)  # of the checksum
data = open('wrong.gz', 'rb').read()
open('followed.gz', 'wb').write(data + gzip.compress(b'{"id":"z","text":"behind"}\n'))
if shutil.which('zstd'):
    subprocess.run(['zstd', '-q', '--check', 'many.jsonl', '-o', 'checked.zst'], check=True)
    wrong('checked.zst', 'wrong.zst', -1)
END
    for wrong in wrong.*; do
        ends_with 3 quern dedup "$wrong" -o kept.jsonl --quiet
        says "everything was read, but parts are wrong"
        [[ $stderr != *lost* ]]
        ends_with 0 quern dedup "$wrong" -o kept.jsonl --quiet --threshold 0.001 --max-errors 100%
        cmp kept.jsonl many.jsonl
        rm kept.jsonl
    done
    ends_with 3 quern dedup followed.gz --quiet
    says "the rest is not read"
}

@test "a dump without its end is incomplete; a truncated file of a folder is one document" {
    head -n 20 "$data/wiki.xml" >part.xml
    ends_with 3 quern build part.xml -o store --skip all --quiet
    says "the dump ends"
    mkdir texts
    for i in $(seq 200); do echo "apple $i" >"texts/$i.txt"; done
    head -c 3000000 /dev/urandom | base64 >long.txt
    gzip -c long.txt | head -c 1000000 >texts/long.txt.gz
    ends_with 0 quern build texts -o store --skip all --quiet
    [[ $stderr == *"long.txt.gz: gzip data are truncated"*"(kept in part)"* ]]
}

@test "errors that fail the run: the first ten, then the summary; no message advises dropping documents" {
    { seq 40 | sed 's/.*/{"id":"same","text":"word &"}/'; } >same.jsonl
    ends_with 3 quern build same.jsonl -o store --quiet
    [ "$(grep -c 'warning: same.jsonl:[0-9]*: duplicate id "same"' <<<"$stderr")" -eq 10 ]
    says 'same.jsonl:2: duplicate id "same"; first used in same.jsonl:1 (the first of 39 rejected or cut among 40 documents, more than the 1% of --max-errors; 39 of them repeat an id: --ids generate gives every record the id FILE:LINE)'
    [[ $stderr != *"lets that pass"* ]]
    echo '{"id":"a"}' >one.jsonl
    ends_with 3 quern build one.jsonl -o store --quiet
    says "(the first of 1 rejected or cut among 1 document, more than the 1% of --max-errors)"
    build same.jsonl generated --ids generate
    [ "$(json generated/store.json 'd["documents"]')" -eq 40 ]
    ends_with 3 quern build same.jsonl -o store --quiet --max-errors 3
    says "--max-errors 3 allows no more"
    ends_with 0 quern build same.jsonl -o store --quiet --skip all --max-errors 39
    head -n 2 same.jsonl >two.jsonl
    ends_with 3 quern dedup two.jsonl # a single one is said once
    [ "$(grep -c "duplicate id" <<<"$stderr")" -eq 1 ]
}

@test "links out of a folder are followed only with --follow-links, by every command" {
    mkdir -p away/deep inside/own
    echo "secret of another house" >away/secret.txt
    echo "deeper secret" >away/deep/more.txt
    echo "own garden" >inside/own/garden.txt
    ln -s "$PWD/away/secret.txt" inside/secret.txt
    ln -s "$PWD/away/deep" inside/deep
    ln -s "$PWD/inside" away/deep/back
    ln -s own/garden.txt inside/again.txt
    quern build inside -o store 2>said
    grep -q "2 links that lead out of the folder" said
    ends_with 1 quern search store secret
    quern build inside -o linked --follow-links --quiet
    [ "$(quern search linked secret --quiet | cut -f 2 | LC_ALL=C sort | tr '\n' ' ')" = "deep/more.txt secret.txt " ]
    [ "$(quern search linked garden --quiet | wc -l)" -eq 1 ]
    for command in "dedup" "words -o space" "dictionary -o dictionary" "ngrams" "signature" "search"; do
        read -ra words <<<"$command"
        query=()
        [ "$command" != search ] || query=(secret)
        "$QUERN" "${words[0]}" inside "${query[@]}" "${words[@]:1}" --stats without --force >rows 2>said || true
        run ! grep -q secret rows
        rm -rf space dictionary
        "$QUERN" "${words[0]}" inside "${query[@]}" "${words[@]:1}" --stats with --follow-links --force >rows 2>said || true
        [ "$(json without "d['counts']['documents']")" -eq 1 ]
        [ "$(json with "d['counts']['documents']")" -eq 3 ]
        rm -rf space dictionary
    done
    ln -s "$PWD/away" named # what is named is read
    quern build named -o of_named --quiet
    ends_with 0 quern search of_named secret
}

@test "outputs of private files are private" {
    umask 022
    mkdir secret open
    echo "a private word" >secret/letter.txt
    echo "a public word" >open/letter.txt
    chmod 600 secret/letter.txt
    modes() { find "$@" -printf '%m\n' | sort -u | tr '\n' ' '; }
    quern search secret private --quiet >hits
    quern search open public --quiet >>hits
    [ "$(modes "$QUERN_CACHE" -type d)" = "700 " ] # a cache is private whatever it was made of
    [ "$(modes "$QUERN_CACHE" -type f)" = "600 " ]
    quern build secret -o kept --report report.html --stats stats --quiet
    [ "$(modes kept -type d)" = "700 " ]
    [ "$(modes kept report.html stats -type f)" = "600 " ]
    quern search kept private --quiet -o rows # what is read of a private store
    quern dictionary secret -o words --quiet
    printf '{"id":"1","text":"word"}\n' >secret.jsonl && chmod 600 secret.jsonl
    quern dictionary - -o piped --quiet <secret.jsonl
    [ "$(modes piped)" = "600 " ]
    quern dedup secret -o documents --store seen --quiet
    [ "$(modes rows words documents seen -type f)" = "600 " ]
    touch old # open to all, replaced by what is not
    quern dictionary secret -o old --quiet --force
    [ "$(modes old)" = "600 " ]
    # A link to private files counts where it is followed.
    ln -s "$PWD/secret/letter.txt" open/link.txt
    quern build open -o linked --follow-links --quiet
    [ "$(modes linked)" = "600 700 " ]

    echo "more words" >more.txt
    quern build more.txt -o kept --update --quiet # its private documents stay
    [ "$(modes kept)" = "600 700 " ]

    quern build open -o shared --quiet
    [ "$(modes shared -type d)" = "755 " ]
    [ "$(modes shared -type f)" = "644 " ]
    chmod 640 open/letter.txt
    quern build open -o grouped --quiet
    [ "$(modes grouped -type d)" = "750 " ]
    [ "$(modes grouped -type f)" = "640 " ]
    chmod 644 open/letter.txt
    umask 027 # and a mask of the user's stays
    quern build open -o masked --quiet
    [ "$(modes masked)" = "640 750 " ]
}
