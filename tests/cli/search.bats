#!/usr/bin/env bats
# shellcheck disable=SC2154 # common and bats set $data, $stderr
# What a query can say: quotes, histories, why.
load common

own_setup() { build "$data/corpus.jsonl" store; }

ids() { quern search store "$@" --quiet | cut -f 2 | LC_ALL=C sort | tr '\n' ' '; }

@test "text in quotes must occur, words adjacent and in order" {
    [ "$(ids 'apple flowers')" = "3 a1 f6 " ]
    [ "$(ids '"apple flowers"')" = "a1 f6 " ]
    [ "$(ids '"Apple, FLOWERS!" bees')" = "a1 f6 " ]
    [ "$(ids 'bees "honey"')" = "b2 " ]
    [ "$(ids '"apple flowers')" = "3 a1 f6 " ] # no closing quote: text
    [ "$(ids '"apple flowers"' --phrases off)" = "3 a1 f6 " ]
    [ "$(ids '"apple trees" "visit the apple"' --model dirichlet)" = "a1 f6 " ]
}

@test "a phrase scores as one word, by every model" {
    for model in bm25 ql dirichlet two-stage; do
        golden "search.phrase.$model.tsv" quern search store '"apple trees" bees' --quiet --model "$model"
    done
}

@test "a phrase that no document contains is reported" {
    ends_with 1 quern search store 'bees "hive bees"'
    says 'no document contains "hive bees"'
    ends_with 1 quern search store '"apple zebra"'
    says "no document contains zebra"
    ends_with 1 quern search store '""'
    says "contains no word"
}

@test "quotes in topics are text, unless phrases are requested" {
    printf '1\t"apple flowers"\n' >topics
    [ "$(quern search store --topics topics --quiet | wc -l)" -eq 3 ]
    [ "$(quern search store --topics topics --quiet --phrases on | wc -l)" -eq 2 ]
}

@test "n-grams: weights, models, an index of pairs" {
    quern search store apple trees bloom --quiet --model ql >plain
    quern search store apple trees bloom --quiet --model ql --order 1 | cmp - plain
    quern search store apple trees bloom --quiet --model ql --order 3 >ngrams
    run diff plain ngrams
    [ "$status" -eq 1 ]
    quern search store apple trees bloom --quiet --model ql --order 3 --order-weights '0.1 0.05' | cmp - ngrams
    run diff ngrams <(quern search store apple trees bloom --quiet --model ql --order 3 --order-weights 0.5)
    [ "$status" -eq 1 ]
    quern search store apple trees bloom --quiet --model dirichlet --order 2 >dirichlet
    quern search store apple trees bloom --quiet --model two-stage --order 2 >two-stage
    seq 80 | sed 's/.*/{"id":"&","text":"apple trees bloom"}/' >many.jsonl
    quern build many.jsonl -o pairs --ngrams --skip all --quiet
    quern build many.jsonl -o words --skip all --quiet
    cmp <(quern search pairs apple trees bloom -k all --model ql --order 3 --quiet) \
        <(quern search words apple trees bloom -k all --model ql --order 3 --quiet)
    quern verify pairs --quiet
    quern info pairs --format tsv | grep -qxP 'stages\tngrams'
    ends_with 2 quern build many.jsonl -o pairs --update --ngrams
    says "--ngrams cannot be combined with --update"
    ends_with 2 quern search store apple --model ql --order 2 --order-weights 0
    says "order_weights: invalid value '0'"
    ends_with 2 quern search store apple --model ql --order-weights 0.1
    says "--order-weights requires --order above 1"
    ends_with 2 quern search store apple --model dirichlet --order 2 --order-model history
    says "with histories requires the model ql"
}

@test "words after histories" {
    golden search.order.tsv quern search store apple trees bloom --quiet --model ql --order 3 --order-model history
    quern search store apple trees bloom --quiet --model ql >plain
    quern search store apple trees bloom --quiet --model ql --order 1 | cmp - plain
    run diff plain <(quern search store apple trees bloom --quiet --model ql --order 2 --order-model history)
    [ "$status" -eq 1 ]
    ends_with 2 quern search store apple --order 2
    says "--model ql"
    ends_with 2 quern search store apple --model ql --order 0
    ends_with 2 quern search store apple --model ql --order 33
    ends_with 2 quern search store apple --phrases maybe
}

@test "explanations: a column, a list, rows of a table" {
    golden search.explain.tsv quern search store '"apple trees"' bees --quiet --explain
    golden search.explain.table quern search store '"apple trees"' bees --quiet --explain --format table
    golden search.explain.jsonl quern search store bees visit the --quiet --explain --format jsonl --model ql --order 3 --order-model history
    quern search store '"apple trees"' bees --quiet | cmp - <(quern search store '"apple trees"' bees --quiet --explain | cut -f 1-5)
}

@test "explanations add up to the score" {
    for options in '--model bm25' '--model ql' '--model ql --order 3' '--model ql --order 3 --order-model history' '--model dirichlet --mu 7' '--model two-stage'; do
        # shellcheck disable=SC2086 # options are several words
        quern search store 'bees bees visit the "apple flowers" hive' --quiet --explain --format jsonl -k all $options >hits
        python3 - hits <<'PYTHON'
import json, sys
hits = [json.loads(line) for line in open(sys.argv[1])]
assert hits
for hit in hits:
    terms = hit["explanation"]
    assert terms and sum(term["score"] for term in terms) == hit["score"], hit
    for term in terms:
        assert sum(term[key] for key in ("part", "background", "length_part", "title_part")) == term["score"], term
PYTHON
    done
}

@test "explanations are rejected for a TREC run" {
    ends_with 2 quern search store --topics "$data/topics.tsv" --explain
    says "--format"
    ends_with 2 quern search store --topics "$data/topics.tsv" --explain --run out.run --format tsv
    quern search store --topics "$data/topics.tsv" --explain --format jsonl --quiet | grep -q '"explanation":\[{"term":'
    printf 'apple\n' | quern search store --quiet --explain --format jsonl | grep -q '"explanation":\[{"term":"apple"'
}

# A store of which every document is about one of three things; links lead to the first of each.
whole_store() {
    python3 - >things.jsonl <<'PYTHON'
import json, random
random.seed(5)
things = ["mill wheel stone grain flour", "boat sail river wind oar", "bread oven dough crust yeast"]
for number in range(90):
    words = things[number % 3].split()
    text = " ".join(random.choice(words) for _ in range(40)) + "."
    print(json.dumps({"id": f"d{number}", "title": f"page {number}", "text": text, "links": [f"d{number % 3}"] * (number > 2)}))
PYTHON
    quern build things.jsonl -o whole --quiet --skip duplicates
}

@test "links are a prior" {
    whole_store
    quern search whole "wheel river" --quiet -k all --explain --format jsonl >alone
    quern search whole "wheel river" --quiet -k all --explain --format jsonl --prior 2 >joined
    quern pagerank whole --quiet >ranks
    python3 - alone joined ranks <<'PYTHON'
import json, math, sys
alone, joined = ([json.loads(line) for line in open(path)] for path in sys.argv[1:3])
ranks = {id: float(rank) for id, rank in (line.split() for line in open(sys.argv[3]))}
words = {hit["id"]: hit["score"] for hit in alone}
assert len(joined) == len(alone) > 10 and {hit["id"] for hit in joined[:2]} == {"d0", "d1"}, joined[:2]
for hit in joined:
    prior = hit["explanation"][-1]
    assert prior["list"] == "prior" and prior["weight"] == 2 and abs(prior["value"] - 90 * ranks[hit["id"]]) < 1e-9
    assert abs(prior["score"] - 2 * math.log(prior["value"])) < 1e-8
    assert words[hit["id"]] + prior["score"] == hit["score"] == sum(term["score"] for term in hit["explanation"])
assert joined == sorted(joined, key=lambda hit: (-hit["score"], int(hit["id"][1:])))
PYTHON
    quern search whole wheel --quiet -k 1 --prior 2 --explain --format table | grep -q 'link rank .* times the average'
    ends_with 2 quern search whole wheel --prior -1
    ends_with 2 quern search whole wheel --prior many
}

@test "similar words expand the query" {
    whole_store
    quern search whole "wheel nothing" --quiet -k all --explain --format jsonl --expand 2 --expand-weight 0.5 >hits
    python3 - hits <<'PYTHON'
import json, sys
hits = [json.loads(line) for line in open(sys.argv[1])]
assert len(hits) >= 29
for hit in hits:
    similar = [term for term in hit["explanation"] if term["similar_to"]]
    assert len(similar) == 2 and all(term["similar_to"] == "wheel" and 0 < term["weight"] <= 0.5 for term in similar)
    assert {term["term"] for term in similar} < {"mill", "stone", "grain", "flour"}, similar
    assert sum(term["score"] for term in hit["explanation"]) == hit["score"]
PYTHON
    quern search whole wheel --quiet -k 1 --expand 1 --explain --format table | grep -q 'similar to wheel'
    ends_with 2 quern search whole wheel --expand 2 --expand-weight 0
    ends_with 0 quern search whole wheel --expand 20
    ends_with 2 quern search whole wheel --expand 21
    says "at most 20 similar words per word"
    printf '1\twheel\n' >topics
    ends_with 2 quern search whole --topics topics --expand 21 --run out.run
    [ ! -e out.run ]
}

@test "documents like one, with words and without" {
    whole_store
    quern search whole --like d7 --quiet -k 29 | cut -f 2 >nearest
    [ "$(grep -c . nearest)" -eq 29 ]
    run grep -qx d7 nearest
    [ "$status" -eq 1 ]
    [ "$(sed 's/d//' nearest | awk '$1 % 3 != 1' | wc -l)" -eq 0 ] # all about boats
    quern search whole bread --like d7 --like-weight 3 --quiet -k all --explain --format jsonl >hits
    python3 - hits <<'PYTHON'
import json, sys
hits = [json.loads(line) for line in open(sys.argv[1])]
assert len(hits) == 89
for hit in hits:
    assert sum(term["score"] for term in hit["explanation"]) == hit["score"]
    assert hit["explanation"][-1]["list"] == "like" and hit["explanation"][-1]["term"] == "d7"
PYTHON
    printf '1\tbread\n' >topics
    quern search whole --topics topics --like d7 --like-weight 3 --quiet --threads 2 | awk '{print $3, $5}' >run
    python3 -c 'import json; [print(h["id"], h["score"]) for h in map(json.loads, open("hits"))]' | cmp - run
    ends_with 2 quern search whole --like nowhere
    says "has no document 'nowhere'"
    [[ $stderr != *"did you mean"* ]]
    ends_with 2 quern search whole --like D7
    says "has no document 'D7'; did you mean 'd7'?"
    printf '{"id":"rare","text":"zyx wvu"}\n' | quern build - -o whole --update --quiet
    ends_with 1 quern search whole --like rare
    says "nothing found: 'rare' has no vector, or no other document has one"
    for option in --prior --expand-weight --like-weight --title-weight --k1; do
        ends_with 2 quern search whole bread "$option" -1
        says "$option: "
    done
}

@test "weights of fields change the ranking, and scores add up" {
    printf '%s\n' '{"id":"a","title":"Mill","text":"of wind and water"}' \
        '{"id":"b","title":"Boat","text":"a mill, another mill and a third mill"}' >titled.jsonl
    quern build titled.jsonl -o titled --quiet --skip all
    quern search titled mill --quiet --field-weights title=10 | cut -f 2 | paste -s -d ' ' >found
    quern search titled mill --quiet --field-weights body=10 | cut -f 2 | paste -s -d ' ' >>found
    printf '%s\n' 'a b' 'b a' | cmp - found
    quern search titled 'mill water' --quiet --field-weights title=2 --field-b text=1 --explain --format jsonl >hits
    python3 - hits <<'PYTHON'
import json, sys
for hit in map(json.loads, open(sys.argv[1])):
    assert sum(term["score"] for term in hit["explanation"]) == hit["score"]
PYTHON
    ends_with 2 quern search titled mill --field-weights titel=2
    says "unknown field 'titel' (expected title or text)"
    ends_with 2 quern search titled mill --field-weights title=2 --model ql
    says "weights of fields need the model bm25"
    ends_with 2 quern search titled mill --field-weights title=2 --title-weight 1
    says "--title-weight has no effect with --field-weights"
}

@test "words and vectors: kept by the build, or given with the search; by topics" {
    printf '%s\n' '{"id":"a","text":"a cat on a sofa"}' '{"id":"b","text":"kittens sleep"}' '{"id":"c","text":"the market fell"}' >pets.jsonl
    printf '%s\n' '{"id":"c","vector":[-0.1,0.9]}' '{"id":"a","vector":[0.9,0.2]}' '{"id":"b","vector":[1,0]}' >pets.vectors.jsonl
    quern build pets.jsonl -o pets --vectors pets.vectors.jsonl --quiet
    quern verify pets --quiet
    quern search pets cat --query-vector '[1,0]' --quiet -k all --total --format jsonl >hits
    python3 - hits <<'PYTHON'
import json, sys
hits = [json.loads(line) for line in open(sys.argv[1])]
assert [hit["id"] for hit in hits] == ["a", "b", "c"] and hits[0]["total"] == 3
assert abs(hits[0]["score"] - (1 / 61 + 1 / 62)) < 1e-15 and hits[1]["score"] == 1 / 61
PYTHON
    quern build pets.jsonl -o plain_pets --quiet
    quern search plain_pets cat --vectors pets.vectors.jsonl --query-vector '[1,0]' --quiet -k all --total --format jsonl | cmp - hits
    printf '1\tcat\n2\tfell\n' >topics
    printf '%s\n' '{"id":2,"vector":[1,0]}' '{"id":"1","vector":[0,1]}' >topics.jsonl
    quern search pets --topics topics --query-vector topics.jsonl --quiet --threads 2 | awk '{print $1, $3}' | paste -s -d ' ' >run
    printf '1 a 1 c 1 b 2 c 2 b 2 a\n' | cmp - run
    ends_with 2 quern search plain_pets cat --query-vector '[1,0]'
    says "has no vectors of documents"
    ends_with 2 quern search pets cat --query-vector '[1,0,0]'
    says "a query vector of 3 numbers"
    ends_with 2 quern search pets cat --query-vector '[1,x]'
    ends_with 2 quern search pets cat --fusion sum
    says "--fusion requires --query-vector"
    ends_with 2 quern build pets.jsonl -o pets --update
    says "keeps vectors of its documents"
    ends_with 2 quern build pets.jsonl -o other --sync --vectors pets.vectors.jsonl
    head -n 2 pets.vectors.jsonl >short.jsonl
    ends_with 3 quern build pets.jsonl -o other --vectors short.jsonl
    says "no vector for 1 of 3 documents: 'b'"
    [ ! -e other ]
}

@test "near-duplicates of a hit are listed under it" {
    python3 - >twice.jsonl <<'PYTHON'
import json
text = " ".join(f"the mill grinds grain number {number} of the village" for number in range(30))
for id, title, of in [("a", "Mill", text), ("b", "Mill again", text.replace("number 7", "number 8")), ("c", "Boat", "a boat and a mill")]:
    print(json.dumps({"id": id, "title": title, "text": of}))
PYTHON
    quern build twice.jsonl -o once --quiet
    quern search once mill --quiet --format jsonl >hits
    python3 - hits <<'PYTHON'
import json, sys
hits = {hit["id"]: hit for hit in map(json.loads, open(sys.argv[1]))}
assert set(hits) == {"a", "c"} and hits["c"]["copies"] == []
assert hits["a"]["copies"] == [{"id": "b", "title": "Mill again", "distance": 1}], hits
assert (hits["a"]["copy_count"], hits["c"]["copy_count"]) == (1, 0)
PYTHON
    quern search once mill --quiet --format table | grep -A 2 ' a ' | grep -q '  b .*Mill again (a copy, 1 edit away)'
    [ "$(quern search once mill --quiet | awk -F '\t' '{print NF}' | sort -u)" = 5 ]
    quern search store bees --quiet --format jsonl -k 1 | grep -vq copies
}

@test "of many near-duplicates the first ten are listed, and all are counted" {
    python3 - >many.jsonl <<'PYTHON'
import json
text = " ".join(f"the mill grinds grain number {number} of the village" for number in range(30))
print(json.dumps({"id": "a", "title": "Mill", "text": text}))
for number in range(13):
    print(json.dumps({"id": f"b{number}", "title": "", "text": text}))
    if number == 9:
        print(json.dumps({"id": "c", "title": "Boat", "text": "a boat and a mill"}))
for number in range(10):
    print(json.dumps({"id": f"d{number}", "title": "Boat", "text": "a boat and a mill"}))
PYTHON
    quern build many.jsonl -o many --quiet
    quern search many mill --quiet --format jsonl >hits
    python3 - hits <<'PYTHON'
import json, sys
hits = {hit["id"]: hit for hit in map(json.loads, open(sys.argv[1]))}
assert [copy["id"] for copy in hits["a"]["copies"]] == [f"b{number}" for number in range(10)], hits
assert [copy["id"] for copy in hits["c"]["copies"]] == [f"d{number}" for number in range(10)], hits
assert (hits["a"]["copy_count"], hits["c"]["copy_count"]) == (13, 10)
PYTHON
    quern search many mill --quiet --format table >table
    [ "$(grep -c 'a copy, 0 edits away' table)" -eq 20 ]
    [ "$(grep -c 'and [0-9]* more' table)" -eq 1 ]
    grep -q '^ *  and 3 more' table
}

@test "for a store without a list the error names the stage that makes it" {
    ends_with 2 quern search store bees --prior 1
    says "the stage ranks"
    ends_with 2 quern search store bees --expand 3
    says "the stage thesaurus"
    ends_with 2 quern search store --like a1
    says "the stage vectors"
    [ "$(quern search store bees --prior 0 --expand 0 --quiet)" = "$(quern search store bees --quiet)" ]
}

@test "known words are suggested for unknown ones" {
    ends_with 1 quern search store bese --typos never
    says "no document contains bese; did you mean bees?"
    ends_with 0 quern search store aple hony bees
    says "found by apple for aple, honey for hony"
    ends_with 0 quern search store aple hony bees --typos never
    says "did you mean apple for aple, honey for hony?"
    ends_with 1 quern search store zzzzzzzz
    [[ $stderr != *"did you mean"* ]]
}

@test "a near word with the same beginning is suggested before more frequent ones" {
    for i in $(seq 40); do printf '{"id":"c%s","text":"casting lasting hosting"}\n' "$i"; done >near.jsonl
    for i in $(seq 20); do printf '{"id":"h%s","text":"the battle of hastings"}\n' "$i"; done >>near.jsonl
    printf '{"id":"html","text":"hypertext html"}\n' >>near.jsonl
    build near.jsonl near
    ends_with 1 quern search near hasting --typos never
    says "no document contains hasting; did you mean hastings,"
    ends_with 1 quern search near hotel # two edits from html: another word
    [[ $stderr != *"did you mean"* ]]
}

@test "a table shows the hits of the corrected query, rows for programs only on request" {
    ends_with 0 quern search store aple --format table
    says "no document contains 'aple'; showing results for 'apple'"
    [[ $output == *a1* ]]
    ends_with 0 quern search store 'bees aple' '"hony"' --format table
    says "no document contains 'aple', 'hony'; showing results for 'bees apple \"honey\"'"
    [[ $output == *b2* ]]
    ends_with 1 quern search store aple --format table --correct off --typos never
    [ -z "$output" ]
    for form in table tsv jsonl; do # without typos the query is searched as typed
        ends_with 1 quern search store aple --format "$form" --typos never
        says "no document contains aple; did you mean apple?"
        [ -z "$output" ]
    done
    ends_with 0 quern search store aple --format table --typos never --correct auto
    says "showing results for 'apple'"
    # Other words of the query are found: the rows are those of the query as typed.
    quern search store bees --format jsonl --quiet >plain
    quern search store bees hony --format jsonl --quiet --typos never >typed
    cmp plain typed
    ends_with 2 quern search store --topics "$data/topics.tsv" --correct on
}

@test "--correct on reports the corrected query in JSON lines" {
    ends_with 0 quern search store aple --format jsonl --correct on --stats stats
    head -n 1 <<<"$output" | grep -q ',"corrected_query":"apple"}$'
    [ "$(json stats "d['counts']['corrected_queries']")" = 1 ]
    ends_with 0 quern search store apple --format jsonl --correct on
    head -n 1 <<<"$output" | grep -q ',"corrected_query":null}$'
    cmp <(quern search store aple --correct on --quiet) <(quern search store apple --quiet)
    printf 'aple\nbees\n' | quern search store --correct on --quiet --format jsonl >lines
    [ "$(grep -c '"query":0,.*"corrected_query":"apple"' lines)" -eq 3 ]
    [ "$(grep -c '"query":1,.*"corrected_query":null' lines)" -ge 1 ]
    ends_with 1 quern search store '"aple zebra"' --correct on # and no document holds that
    says "did you mean apple for aple"
}

@test "words with typos are found, the word itself first" {
    ends_with 0 quern search store aple
    says "found by apple for aple"
    [[ $stderr != *"no document contains"* ]]
    ends_with 0 quern search store 'aple zebra'
    says "no document contains zebra"
    cmp <(quern search store aple --quiet | cut -f 2) <(quern search store apple --quiet | cut -f 2)
    ends_with 1 quern search store aple --typos never
    cmp <(quern search store apple --quiet) <(quern search store apple --typos never --quiet)
    quern search store 'aple~1' --typos never --quiet | cut -f 2 | cmp - <(quern search store apple --quiet | cut -f 2)
    refused "invalid value '3' (expected one of never, auto, 1, 2)" search store bees --typos 3
    ends_with 2 quern search store 'apple~3' --syntax operators
    [[ ${stderr_lines[0]} == *"at character 6: the ~ after a word needs the number of edits, 1 or 2"* ]]
    printf 't\taple\n' >typo.tsv
    ends_with 1 quern search store --topics typo.tsv
    quern search store --topics typo.tsv --typos auto --quiet | grep -q '^t Q0 a1 '
    quern search store 'bees app' --prefix-last --quiet | cut -f 2 | sort >typed
    quern search store 'bees app*' --quiet | cut -f 2 | sort | cmp - typed
}

@test "complete lists the words that begin so" {
    quern complete store flowers ap --quiet --format jsonl | head -n 1 | grep -q '^{"word":"apple","documents":[0-9]*,"occurrences":[0-9]*,"distance":0}$'
    quern complete store 'pa' -k 1 --quiet >one || test $? -eq 1
    quern complete store aplpe --quiet --format tsv | head -n 1 | grep -qP '^apple\t.*\t1$'
    ends_with 1 quern complete store aplpe --typos never
    says "no word begins with aplpe"
    ends_with 1 quern complete store 'apple '
    says "'apple ' does not end with a word"
    refused "TEXT" complete store
    refused "-k: invalid value '0'" complete store a -k 0
}

@test "topics on a GPU: the same run, or the reason for failure" {
    quern search store --topics "$data/topics.tsv" --run cpu.run --quiet --device cpu --stats stats
    [ "$(json stats "d['device']")" = cpu ]
    run --separate-stderr quern search store --topics "$data/topics.tsv" --run gpu.run --quiet --device cuda
    if [ "$status" -eq 0 ]; then
        cmp cpu.run gpu.run
    else
        [ "$status" -eq 4 ]
        says "CUDA was requested, but "
        [ ! -e gpu.run ]
    fi
}

@test "few topics over few documents stay on the CPU, and the log says so" {
    quern search store --topics "$data/topics.tsv" --run out.run 2>said
    local built=
    quern doctor --format tsv | grep -q '^primitives	cpu	' || built="with CUDA"
    told() { # told TEXT: where there is a choice of devices, and nothing of it where there is none
        if [ -n "$built" ]; then grep -q "$1" said; else [ "$(grep -c "GPU\|device" said)" -eq 0 ]; fi
    }
    told "device cpu: [0-9]* topics over [0-9]* documents take less time than starting a GPU"
    whole_store
    printf '1\twheel\n' >topics
    quern search whole --topics topics --prior 0.05 --run prior.run --stats stats 2>said
    told "device cpu: topics with a prior are ranked by the CPU"
    [ "$(json stats "d['device']")" = cpu ]
}

@test "operators restrict, join and find words by their beginnings" {
    operators() { ids "$@" --syntax operators; }
    [ "$(operators '+apple +flowers')" = "a1 f6 " ]
    [ "$(operators 'apple -flowers')" = "3 " ] || { operators 'apple -flowers'; false; }
    [ "$(operators 'apple AND NOT flowers')" = "3 " ]
    [ "$(operators '(apple AND flowers) OR zebra')" = "a1 f6 " ]
    [ "$(operators '+apple (flowers OR zebra)')" = "3 a1 f6 " ]
    [ "$(operators '+appl* +(flow* zebra)')" = "a1 f6 " ]
    [ "$(operators '"flowers apple"~2')" = "a1 f6 " ]
    [ "$(operators '"apple flowers"')" = "a1 f6 " ]
}

@test "a query without an operator has the same bytes by every syntax" {
    for query in 'apple flowers' '"apple flowers" bees' 'the "visit" of bees'; do
        quern search store "$query" --syntax words --explain >words
        quern search store "$query" --explain >auto
        quern search store "$query" --syntax operators --explain >operators
        cmp words auto
        cmp words operators
    done
}

@test "a query outside the grammar is an error that shows the place" {
    ends_with 2 quern search store 'apple (bees' --syntax operators
    [ "${stderr_lines[0]}" = 'quern search: the query is not understood at character 7: this parenthesis is not closed; write \( for the character' ]
    [ "${stderr_lines[1]}" = '  apple (bees' ]
    [ "${stderr_lines[2]}" = '        ^' ]
    ends_with 2 quern search store 'bees' --syntax operators --phrases off
    says "phrases; they cannot be off"
    ends_with 2 quern search store 'bees' --syntax lucene
    says "expected one of words, operators, auto"
    printf 'apple\nbees -\nbees\n' | quern search store --syntax operators --quiet >out 2>said
    grep -q "query 1 was skipped: the query is not understood at character 6: a sign" said
    grep -q "^  bees -$" said
    cut -f 1 out | uniq | tr '\n' ' ' | grep -qx "0 2 "
}

@test "text that people type is words" {
    for query in 'C++ apple' '-5 bees' 'what is "apple' 'apple :)' 'a:b bees' 'http://bees' 'APPLE AND BEES'; do
        quern search store "$query" --syntax words >words 2>said_words || true
        quern search store "$query" >auto 2>said_auto || true
        cmp words auto
        cmp said_words said_auto
    done
    ends_with 0 quern search store 'apple OR'
    [[ ${stderr_lines[0]} == "quern search: read as words: the query is not understood at character 7: OR needs a word after it" ]]
}

@test "--count and --total count all documents that a query finds" {
    [ "$(quern search store 'apple flowers' --count)" = 3 ]
    [ "$(quern search store '+apple +flowers' --count --format jsonl)" = '{"count":2}' ]
    ends_with 1 quern search store zebra --count
    [ "$output" = 0 ]
    says "no document contains zebra"
    printf 'apple\nzebra\n' | quern search store --count --quiet >out
    printf '0\t3\n1\t0\n' | cmp - out
    printf 'x\tapple\ny\t+apple +flowers\n' >topics
    quern search store --topics topics --count --quiet >out
    printf 'x\t3\ny\t3\n' | cmp - out # topics are words
    quern search store --topics topics --count --syntax operators --quiet >out
    printf 'x\t3\ny\t2\n' | cmp - out
    quern search store 'apple flowers' --total -k 1 --format jsonl --stats stats >out
    [ "$(json out "d['total']")" = 3 ]
    [ "$(json stats "d['counts']['found']")" = 3 ]
    quern search store 'apple flowers' --total -k 1 2>said
    grep -q "the query finds 3 documents" said
    ends_with 2 quern search store apple --count -k 5
    says "k has no effect with --count"
}

@test "simplified and traditional Chinese are one with --language zh-Hans or zh-Hant" {
    printf '%s\n' '{"id":"a","text":"我喜歡電影。"}' '{"id":"b","text":"电影和音乐"}' '{"id":"c","text":"汽車"}' \
        '{"id":"d","text":"國家博物館和足球俱樂部"}' '{"id":"e","text":"国家博物馆和足球俱乐部"}' >films.jsonl
    for language in zh-Hans zh-Hant; do
        quern build films.jsonl -o films --language $language --skip all --quiet --force
        for query in 電影 电影; do
            [ "$(quern search films "$query" --quiet | cut -f 2 | sort | paste -sd ' ')" = "a b" ]
        done
        for query in 博物館 博物馆 俱樂部 俱乐部 '"足球俱乐部"'; do
            [ "$(quern search films "$query" --quiet | cut -f 2 | sort | paste -sd ' ')" = "d e" ]
        done
    done
    quern build films.jsonl -o films --language zh --skip all --quiet --force
    [ "$(quern search films 电影 --quiet | cut -f 2)" = b ]
}
