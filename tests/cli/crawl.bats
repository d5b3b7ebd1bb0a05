#!/usr/bin/env bats
# shellcheck disable=SC2154 # common and bats set $stderr
# Files of web crawls (WARC) and mail.
load common

# record TYPE URI CONTENT-TYPE <BLOCK: a record of WARC.
record() {
    cat >block
    printf 'WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\nWARC-Date: 2026-11-01T00:00:00Z\r\n' "$1" "$2"
    printf 'Content-Type: %s\r\nContent-Length: %s\r\n\r\n' "$3" "$(wc -c <block)"
    cat block
    printf '\r\n\r\n'
}

# page URI HTML [FIELD]: a record with a server's response.
page() {
    { printf 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n%s\r\n' "${3-}" && printf '%s' "$2"; } |
        record response "$1" "application/http; msgtype=response"
}

@test "a crawl compressed by records is built, searched, and ranked by its links" {
    {
        page http://a.org/ '<title>Home</title><p>bees and honey <a href="/hive#top">hive</a>' | gzip
        page http://a.org/hive '<title>Hive</title><p>bees live in a hive <a href="//b.org">b</a>' | gzip
        page http://b.org/ '<title>Other</title><p>apples <a href="http://a.org/hive">hive</a>' | gzip
        page http://a.org/ '<title>Home again</title><p>bees, honey and wax' | gzip
        record metadata http://a.org/ application/json <<<'{}' | gzip
    } >crawl.warc.gz
    quern build crawl.warc.gz -o store --threads 1 2>log
    grep -q '4 documents' log
    grep -q 'skipped 1 record: 1 metadata' log
    quern build crawl.warc.gz -o store2 --quiet --threads 2
    for file in store/*.section store/*.quern; do [ ! -e "$file" ] || cmp "$file" "store2/${file#store/}"; done
    [ "$(quern search store wax --quiet | cut -f 2,4)" = "http://a.org/#2	Home again" ]
    [ "$(quern pagerank store --quiet | head -1 | cut -f 1)" = http://a.org/hive ]
}

@test "a folder reads its crawl files as collections, and counts what is none" {
    mkdir crawls
    page http://a.org/1 '<p>one' | gzip >crawls/a.warc.gz
    page http://a.org/1 '<p>two' | zstd -q >crawls/b.warc.zst
    record conversion http://a.org/3 text/plain <<<'three' | gzip >crawls/c.warc.wet.gz
    printf '%%PDF-1.4\0' >crawls/d.pdf
    quern build crawls -o store 2>log
    [ "$(quern search store 'one two three' --quiet | cut -f 2 | sort | tr '\n' ' ')" = \
        "crawls/b.warc.zst:http://a.org/1 http://a.org/1 http://a.org/3 " ]
    grep -q 'skipped 1 file: 1 .pdf' log
}

@test "a damaged record of a crawl is named, and the records after it are read" {
    page http://a.org/1 '<p>one' | gzip >first
    page http://a.org/2 '<p>two' | gzip >second
    page http://a.org/3 '<p>three' | gzip >third
    head -c 60 second >cut_off
    cat first cut_off third >crawl.warc.gz
    ends_with 3 quern build crawl.warc.gz -o store
    [[ $stderr == *"gzip data are damaged at byte "*"; reading goes on at byte "* ]]
    quern build crawl.warc.gz -o store --max-errors 1 --quiet
    [ "$(quern search store 'one two three' --quiet | cut -f 2 | sort | tr '\n' ' ')" = "http://a.org/1 http://a.org/3 " ]
}

@test "a compressed page that grows beyond the memory is rejected" {
    head -c 256M /dev/zero | tr '\0' ' ' | gzip >bomb
    {
        { printf 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n' && cat bomb; } |
            record response http://a.org/bomb application/http
        page http://a.org/2 '<p>two'
        printf 'WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a/\r\nContent-Length: 2147483648\r\n\r\nHTTP/1.1'
    } >crawl.warc
    within 64M 3 build crawl.warc -o store
    within 64M 0 build crawl.warc -o store --max-errors 100%
    [[ $stderr == *"bytes a document that the memory allows"* ]]
    [ "$(quern search store two --quiet | cut -f 2)" = http://a.org/2 ]
}

@test "fields of crawls and mail are kept, and a name that no record has is an error" {
    page http://a.org/ '<p>one' >crawl.warc
    printf 'Message-ID: <3@b.org>\r\nFrom: a@b.org\r\nSubject: wax\r\n\r\nHow much wax makes one candle?\r\n' >3.eml
    quern build crawl.warc 3.eml -o store --quiet --keep-fields status,from
    quern search store one --quiet --format jsonl >rows
    grep -q '"fields":{"status":200}' rows
    grep -q '"fields":{"from":"a@b.org"}' rows
    ends_with 3 quern build crawl.warc -o store2 --keep-fields stat
    [[ $stderr == *'no record has a field "stat"'*'"status"'* ]]
}

@test "a file of metadata only says what it has" {
    record metadata http://a.org/ application/json <<<'{}' | gzip >crawl.warc.wat.gz
    ends_with 3 quern build crawl.warc.wat.gz -o store
    [[ $stderr == *"holds no documents; skipped 1 record: 1 metadata"* ]]
}

@test "mail is read from an mbox and from files of single messages" {
    mkdir mail
    cat >mail/list.mbox <<'END'
From a@b.org Mon Nov  2 10:00:00 2026
From: A <a@b.org>
Message-ID: <1@b.org>
Subject: =?utf-8?Q?Honig_f=C3=BCr_alle?=

We have honey.

From a@b.org Mon Nov  2 11:00:00 2026
From: C <c@b.org>
Message-ID: <2@b.org>
In-Reply-To: <1@b.org>
Subject: Re: honey

How much honey?

END
    printf 'Message-ID: <3@b.org>\r\nReferences: <1@b.org>\r\nSubject: wax\r\n\r\nAnd wax?\r\n' >mail/3.eml
    quern build mail -o store --quiet
    [ "$(quern search store wax --quiet | cut -f 2,4)" = "3@b.org	wax" ]
    [ "$(quern search store alle --quiet | cut -f 2,4)" = "1@b.org	Honig für alle" ]
    [ "$(quern pagerank store --quiet | head -1 | cut -f 1)" = 1@b.org ]
    # After a byte-order mark, too, the first line shows that it is an mbox.
    local marked
    { printf '\xef\xbb\xbf' && cat mail/list.mbox; } >utf8.mbox
    { printf '\xff\xfe' && iconv -f UTF-8 -t UTF-16LE mail/list.mbox; } >utf16.mbox
    for marked in utf8 utf16; do
        quern dedup $marked.mbox -o $marked.jsonl --quiet
        [ "$(json <(head -n 1 $marked.jsonl) 'd["id"], d["text"]')" = "('1@b.org', 'We have honey.')" ]
        [ "$(json <(tail -n 1 $marked.jsonl) 'd["id"], d["text"]')" = "('2@b.org', 'How much honey?')" ]
        quern dedup $marked.mbox -o named.jsonl --input-format mail --quiet --force
        cmp named.jsonl $marked.jsonl
    done
}
