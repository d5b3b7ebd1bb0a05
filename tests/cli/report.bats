#!/usr/bin/env bats
# quern build --report: the page holds what the run counted, and nothing of a document becomes markup.
load common

# page FILE EXPRESSION: the page is well-formed; evaluates a Python expression over its facts (name -> value), its headings, its
# tables (lists of rows of cells) and its whole text.
page() {
    python3 - "$@" <<'END'
import html.parser, sys


class reader(html.parser.HTMLParser):
    EMPTY = {"meta"}

    def __init__(self):
        super().__init__()
        self.open, self.tables, self.headings, self.text = [], [], [], ""

    def handle_starttag(self, tag, attributes):
        assert all(not name.startswith("on") and name not in ("src", "href") for name, _ in attributes), attributes
        assert tag not in ("script", "link", "img", "iframe"), tag
        if tag not in self.EMPTY:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "h2":
            self.headings.append("")

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data):
        self.text += data
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data
        if "h2" in self.open:
            self.headings[-1] += data


page = reader()
source = open(sys.argv[1], encoding="utf-8").read()
page.feed(source)
page.close()
assert not page.open, page.open
facts = {row[0]: row[1].replace(",", "") for table in page.tables for row in table if len(row) == 2}
tables, headings, text = page.tables, page.headings, page.text
print(eval(sys.argv[2]))
END
}

corpus() {
    cat >corpus.jsonl <<'END'
{"id": "a", "title": "The mill <b>&amp;</b>", "text": "the mill grinds the grain", "links": ["b", "c"]}
{"id": "b", "title": "</title><script>alert(1)</script>", "text": "the grain grows", "links": ["c", "nowhere"]}
{"id": "c", "text": "wind and water turn the mill", "links": ["a"]}
{"id": "a", "text": "the id again"}
{"id": "\u202e\u0007\"onload=x", "text": "'\"<>&"}
no document
END
}

@test "the page shows the same numbers as the statistics" {
    corpus
    build corpus.jsonl store --max-errors 50% --report page.html --stats stats.json
    [ "$(page page.html 'facts["documents"]')" = "$(json stats.json 'd["counts"]["documents"]')" ]
    [ "$(page page.html 'facts["words"]')" = "$(json stats.json 'd["counts"]["words"]')" ]
    [ "$(page page.html 'facts["distinct words"]')" = "$(json stats.json 'd["counts"]["vocabulary"]')" ]
    [ "$(page page.html 'facts["links"]')" = "$(json stats.json 'd["counts"]["links"]')" ]
    [ "$(page page.html 'facts["links to documents not here"]')" = 1 ]
    [ "$(page page.html 'facts["rejected"]')" = "$(json stats.json 'd["counts"]["rejected"]')" ]
    [ "$(page page.html 'facts["on disk"]')" = "$(json stats.json '"%.1f kB" % (d["counts"]["store_bytes"] / 1000)')" ]
    # Each stage of the record has its bar, and each file of the store.
    [ "$(json stats.json 'all(s["name"] in open("page.html").read() for s in d["stages"])')" = True ]
    [ "$(json store/store.json 'all(s in open("page.html").read() for s in d["sections"])')" = True ]
    # What the run was: once, at the beginning.
    [ "$(page page.html 'facts["made of"]')" = corpus.jsonl ]
    [ "$(page page.html 'facts["on"]' | cut -c -10)" = "$(date -u +%F)" ] || [ "$(date -u +%H%M)" -lt 5 ]
    [ "$(page page.html 'facts["by"]')" = "$(quern --version | sed 's/quern/Quern/')" ]
    grep -F '<h1>store</h1>' page.html
    # Words are counted as the store counts them.
    counted=$(quern count store mill --total --quiet | awk -F '\t' '{ print $3, $2 }')
    [ "$(page page.html '[" ".join(row[1:3]) for table in tables for row in table if row[0] == "mill"][0]')" = "$counted" ]
}

@test "rejected documents are shown with line and reason" {
    corpus
    build corpus.jsonl store --max-errors 50% --report page.html
    page page.html '[row for table in tables for row in table if row[0].startswith("corpus.jsonl:")]' >rows
    grep -F "['corpus.jsonl:4', 'rejected', 'duplicate id \"a\"; first used in corpus.jsonl:1']" rows
    grep -F "'corpus.jsonl:6', 'rejected'" rows
}

@test "document content never becomes markup" {
    corpus
    build corpus.jsonl store --max-errors 50% --report page.html
    run ! grep -qE '<script|<b>&amp;|onload="' page.html
    run ! grep -qP '[\x00-\x08\x0b\x0c\x0e-\x1f]|\xe2\x80\xae' page.html
    run ! grep -qE 'https?://[^w]|src=|url\(|@import' page.html
}

@test "documents are ordered by link rank" {
    corpus
    quern build corpus.jsonl -o store --max-errors 50% --report page.html --quiet
    quern pagerank store --quiet >ranks
    page page.html '"\n".join(f"{row[1]}\t{row[2]}" for table in tables for row in table if row[0].isdigit() and len(row) == 4)' >shown
    [ "$(wc -l <shown)" -eq 4 ]
    # Titles and ids stand side by side; ranks are shown with six digits.
    paste shown <(cut -f 2 ranks) | awk -F '\t' '{ d = $2 - $3; if (d * d > 1e-12) exit 1 }'
    head -n 1 shown | grep -F "$(head -n 1 ranks | cut -f 1)"
}

@test "copies are listed with the kept document, most copies first" {
    cat >copies.jsonl <<'END'
{"id": "one", "text": "The mill at the bridge grinds rye on Mondays, wheat on all other days."}
{"id": "alone", "text": "Rye bread wants time; wheat rises fast, and oats do not rise."}
{"id": "x<y", "text": "A quern is a pair of stones, and one of them is turned by hand."}
{"id": "uno", "title": "<i>copy</i>", "text": "The mill at the bridge grinds rye on Sundays, wheat on all other days."}
{"id": "eins", "text": "The mill at the bridge grinds rye on Mondays, wheat on all other days."}
{"id": "x>y", "text": "A quern is a pair of stones, and one of them is turned by hand."}
END
    quern build copies.jsonl -o store --report page.html --stats stats.json --quiet
    page page.html '[row for table in tables if table[0][:2] == ["kept", "copies"] for row in table[1:]]' >rows
    [ "$(cat rows)" = "[['one', '2', '<i>copy</i> uno (2) · eins (0)'], ['x<y', '1', 'x>y (0)']]" ]
    [ "$(page page.html 'facts["near-duplicates left out"]')" = "$(json stats.json 'd["counts"]["copies"]')" ]
    page page.html text | grep '3 documents were left out as copies of 2 that were kept.*--skip duplicates keeps them all'
}

@test "parts that the store lacks are omitted" {
    printf '{"id": "1", "text": "one"}\n' >small.jsonl
    build small.jsonl store --report page.html
    page page.html headings >headings
    run ! grep -E 'Near-duplicates|links lead|not read' headings
    grep 'Lengths of documents' headings
}

@test "the page is the same except for time, memory and threads" {
    corpus
    build corpus.jsonl store --max-errors 50% --report page.html --threads 1
    build corpus.jsonl again --max-errors 50% --report other.html --threads 2
    without_cost() { sed -e '/<h2>Time/,/<h2>Sizes/d' -e '/<div class="run">/,/<\/div>/d' -e '/<title>/d' -e '/<h1>/d' "$1"; }
    diff <(without_cost page.html) <(without_cost other.html)
}

@test "the page is neither store, input nor standard output, and is not overwritten without --force" {
    corpus
    ends_with 2 quern build corpus.jsonl -o store --max-errors 50% --report -
    says "--report cannot go to standard output"
    ends_with 2 quern build corpus.jsonl -o store --max-errors 50% --report corpus.jsonl
    echo mine >page.html
    ends_with 2 quern build corpus.jsonl -o store --max-errors 50% --report page.html
    [ "$(cat page.html)" = mine ]
    [ ! -e store ]
    build corpus.jsonl store --max-errors 50% --report page.html --force
    page page.html headings
}
