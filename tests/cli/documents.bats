#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031,SC2154 # bats sets $stderr
# Folders of people's documents: office documents, PDF, markup, and what of them cannot be read.
load common

# office FILE PART=TEXT...: a zip archive with these parts.
office() {
    python3 - "$@" <<'END'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as archive:
    for part in sys.argv[2:]:
        name, text = part.split("=", 1)
        archive.writestr(name, text)
END
}

odt() { # odt FILE PARAGRAPH
    office "$1" mimetype=application/vnd.oasis.opendocument.text "content.xml=<d><body><p>$2</p></body></d>"
}

# A program in place of pdftotext, in a folder of PATH before others: it shows the file's second line.
own_setup() {
    mkdir bin docs
    cat >bin/pdftotext <<'END'
#!/bin/sh
[ "$(sed -n 2p "$6")" = locked ] && { echo "Command Line Error: Incorrect password" >&2; exit 1; }
printf '<html><head>\n<title>Of a mill</title>\n</head>\n<body>\n<pre>\n'
sed -n 2p "$6"
printf '\f</pre>\n</body>\n</html>\n'
END
    chmod +x bin/pdftotext
    printf '%%PDF-1.4\nthe miller grinds barley\n' >docs/mill.pdf
    printf '%%PDF-1.4\nlocked\n' >docs/locked.pdf
    odt docs/letter.odt "dear miller, the millstone is worn"
    printf '# Notes\nSee [the list](sub/list.md) of *sacks*.\n' >docs/notes.md
    mkdir docs/sub
    echo "- one sack" >docs/sub/list.md
    export PATH=$PWD/bin:/usr/bin:/bin
}

@test "a folder of documents is read, what cannot be read is counted with the reason" {
    head -c 300 docs/letter.odt >docs/cut.odt
    printf '\320\317\021\340\241\261\032\341' >docs/old.doc
    printf 'W\0o\0r\0d\0D\0o\0c\0u\0m\0e\0n\0t\0' >>docs/old.doc
    ends_with 0 quern build docs -o store --skip all
    [[ $stderr == *"4 documents"* ]]
    [[ $stderr == *"skipped 3 files: 1 .doc (old Word format: save as .docx), 1 .odt (damaged), 1 .pdf (encrypted)"* ]]
    [ "$(quern search store "barley" --format tsv --quiet | cut -f 2)" = mill.pdf ]
    [ "$(quern search store "millstone" --format tsv --quiet | cut -f 2)" = letter.odt ]
    quern search store "barley" --quiet | grep -q "Of a mill"
    [ "$(quern export store --graph - --quiet)" = "notes.md	sub/list.md" ]
}

@test "PDF files: without pdftotext the advice, with --pdf never no process; doctor names the program" {
    ends_with 0 quern build docs -o with --skip all
    [[ $(quern doctor --format tsv) == *"PDF files	$PWD/bin/pdftotext"* ]]
    touch started
    printf '#!/bin/sh\nrm -f %s/started\nexit 1\n' "$PWD" >bin/pdftotext
    ends_with 0 quern build docs -o never --skip all --pdf never
    [[ $stderr == *"skipped 2 files: 2 .pdf (--pdf never)"* ]]
    [ -e started ]
    rm bin/pdftotext
    ends_with 0 /usr/bin/env PATH="$PWD/bin" "$QUERN" build docs -o without --skip all
    [[ $stderr == *"skipped 2 files: 2 .pdf (install poppler-utils to read them)"* ]]
    ends_with 3 /usr/bin/env PATH="$PWD/bin" "$QUERN" build docs/mill.pdf -o named
    [[ $stderr == *"install poppler-utils"* ]]
}

@test "an archive with two parts of one name is refused, whichever of them a program would show" {
    python3 -W ignore - <<'END'
import zipfile
with zipfile.ZipFile("docs/twice.odt", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
    for text in "shown", "hidden":
        archive.writestr("content.xml", f"<d><body><p>{text}</p></body></d>")
END
    ends_with 3 quern build docs/twice.odt -o store
    [[ $stderr == *"twice.odt: "*"has two entries of the name content.xml"* ]]
    ends_with 0 quern build docs -o store --skip all
    [[ $stderr == *".odt (damaged)"* ]]
}

@test "a byte-order mark is no part of any text; lines of subtitles may end with CR alone" {
    mkdir marked
    printf '\xef\xbb\xbf{\\rtf1 rye bread}' >marked/a.rtf
    printf '\xef\xbb\xbf# Rye\n\nrye *bread*\n' >marked/b.md
    printf '\xef\xbb\xbfrye bread' >marked/c.txt
    printf '\xef\xbb\xbf<title>Rye</title><p>rye bread' >marked/d.html
    printf '\xef\xbb\xbf1\n00:00:00,000 --> 00:00:01,000\nrye bread\n' >marked/e.srt
    printf '1\r00:00:00,000 --> 00:00:01,000\rrye bread\r' >marked/f.srt
    quern build marked -o store --skip all --quiet
    quern search store '"rye bread"' --quiet --format jsonl >hits
    [ "$(wc -l <hits)" -eq 6 ]
    [ "$(LC_ALL=C grep -c $'\xef\xbb\xbf' hits)" -eq 0 ]
    [ "$(grep -c '"snippet":"rye bread"' hits)" -ge 4 ]
}

@test "a file that is named is read, and rejected with the whole reason" {
    ends_with 0 quern build docs/letter.odt docs/mill.pdf -o store --skip all
    [[ $stderr == *"2 documents"* ]]
    ends_with 3 quern build docs/locked.pdf -o other
    [[ $stderr == *"locked.pdf: encrypted"* ]]
    ends_with 2 quern build docs -o other --pdf sometimes
}

@test "compressed lines that inflate without end stay within the memory, whatever packed them" {
    local packer name
    for packer in gzip zstd xz bzip2; do
        name=bomb.jsonl.$packer
        { echo '{"id":"a","text":"bran"}' && head -c 150M /dev/zero | tr '\0' ' ' && echo && echo '{"id":"b","text":"flour"}'; } |
            $packer -1 -c >"$name"
        [ "$(stat -c %s "$name")" -lt 3000000 ]
        within 48M 3 build "$name" -o store --skip all
        within 48M 0 build "$name" -o store --skip all --max-errors 1
        [ "$(quern search store 'bran flour' --quiet | cut -f 2 | sort | tr '\n' ' ')" = "a b " ]
        # Once more packed, it is no text.
        $packer -c "$name" >twice.jsonl
        ends_with 3 quern build twice.jsonl -o other
        rm -r store
    done
}

@test "archives that inflate without end stay within the memory" {
    python3 - <<'END'
import zipfile
with zipfile.ZipFile("docs/bomb.odt", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
    with archive.open("content.xml", "w", force_zip64=True) as part:
        part.write(b"<d><body><p>")
        for _ in range(200):
            part.write(b" " * (1 << 20))
with zipfile.ZipFile("docs/long.odt", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
    archive.writestr("content.xml", "<d><body><p>" + "flour and bran " * 4000000 + "</p></body></d>")
END
    within 64M 0 build docs -o store --skip all --max-errors 1
    [[ $stderr == *".odt (too large)"* ]]
}
