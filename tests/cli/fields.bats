#!/usr/bin/env bats
# shellcheck disable=SC2154 # bats sets $output, $stderr
# Named fields of records on the commands that read a corpus, and the fields that a store keeps.
load common

own_setup() {
    cat >shop.jsonl <<'END'
{"url":"https://a.example/1","head":"Green apple","meta":{"body":"Apples grow on trees.","lang":"en"},"price":1.50,"stock":3,"day":"2024-05-01","tags":["fruit","green"],"new":true,"x":1}
{"url":"https://a.example/2","head":"Pear","meta":{"body":"Pears grow on trees, too; apples are rounder."},"price":2,"stock":null,"day":"2024-05-02","tags":"fruit","new":false,"x":"one"}
{"url":"https://a.example/3","head":"Bee","meta":{"body":"Bees visit apple blossoms.","lang":"de"},"price":12,"day":"2024-06-01T12:00:00+02:00","x":null}
END
    names=(--id-field url --text-field meta.body --title-field head)
}

store_of() { # store_of NAME OPTION...: the example with all fields but the given
    quern build shop.jsonl -o "$1" "${names[@]}" --quiet "${@:2}"
}

@test "names on every command that reads a corpus" {
    quern dictionary shop.jsonl -o words.dict "${names[@]}" --quiet
    quern signature shop.jsonl "${names[@]}" --quiet | cut -f 1 >ids
    printf 'https://a.example/%s\n' 1 2 3 | diff - ids
    quern ngrams shop.jsonl "${names[@]}" --order 1 --only --quiet | cut -f 3 | sort -u | grep -qx blossoms
    quern words shop.jsonl -o space --min-count 1 "${names[@]}" --quiet
    quern search shop.jsonl "${names[@]}" --format jsonl --quiet blossoms | grep -q '"title":"Bee"'
    quern dedup shop.jsonl "${names[@]}" -o kept.jsonl --quiet
    diff shop.jsonl kept.jsonl
    printf '{"q":"Bees visit apple blossoms","n":7}\n' >eval.jsonl
    quern decontaminate shop.jsonl --against eval.jsonl "${names[@]}" --against-id-field n --against-text-field q \
        --against-title-field q --ngram 4 -o clean.jsonl --matches leaks --quiet
    head -n 2 shop.jsonl | diff - clean.jsonl
    [ "$(cut -f 1,2 leaks)" = "$(printf '7\thttps://a.example/3')" ]
}

@test "a name that no record has" {
    ends_with 3 quern dictionary shop.jsonl -o words.dict --text-field meta.text --id-field url
    says 'no record has a field "meta.text" (--text-field); the first has "url", "head", "meta"'
    ends_with 3 quern build shop.jsonl -o store --text-field head --link-field to
    says 'no record has a field "to" (--link-field)'
    [ ! -e store ]
    ends_with 3 quern build shop.jsonl -o store --text-field head --keep-fields prize
    says 'no record has a field "prize" (--keep-fields)'
    mkdir texts
    echo text >texts/a.txt
    ends_with 3 quern build texts -o store --title-field head
    says 'and there are none'
    ends_with 2 quern build shop.jsonl -o store --text-field head,head
    ends_with 2 quern build shop.jsonl -o store --text-field head,
    printf '{"url":"a"}\n' >>shop.jsonl
    ends_with 0 quern dictionary shop.jsonl -o words.dict "${names[@]}" --max-errors 1
    [[ $stderr == *'shop.jsonl:4: no text: expected "meta.body", found "url"'* ]]
}

@test "several texts are joined by an empty line" {
    quern build shop.jsonl -o store --id-field url --text-field head,meta.body --skip all --quiet
    quern search store --quiet '"green apple"' | cut -f 2 | grep -qx https://a.example/1
    ends_with 2 quern dedup shop.jsonl --id-field url --text-field head,meta.body --level line -o kept.jsonl
    says "cannot be removed from its record"
}

@test "parts are removed from the named member" {
    cat >twice.jsonl <<'END'
{"id":1,"m":{"t":"same line here\nother"},"text":"no", "t": 1.0}
{"id":2, "m" : {"text":"x","t\u0000":0,"t":"same line here\nmore"},"text":"no"}
END
    quern dedup twice.jsonl --text-field m.t --level line --min-length 5 -o kept.jsonl --quiet
    cat >expected <<'END'
{"id":1,"m":{"t":"same line here\nother"},"text":"no", "t": 1.0}
{"id":2, "m" : {"text":"x","t\u0000":0,"t":"more"},"text":"no"}
END
    diff expected kept.jsonl
    printf 'key,body,n\n1,"same line here\nother",7\n2,"same line here\nmore",8\n' >twice.csv
    quern dedup twice.csv --id-field key --text-field body --level line --min-length 5 -o kept.csv --quiet
    printf 'key,body,n\n1,"same line here\nother",7\n2,"more",8\n' | diff - kept.csv
}

@test "a store keeps fields with their types" {
    store_of store --keep-fields all
    quern info store --format tsv | grep -E '^(kept_fields|field\.)' >types
    diff - types <<'END'
kept_fields	all
field.meta.type	json
field.meta.documents	3
field.price.type	number
field.price.documents	3
field.stock.type	integer
field.stock.documents	1
field.day.type	date
field.day.documents	3
field.tags.type	list
field.tags.documents	2
field.tags.values	3
field.new.type	boolean
field.new.documents	2
field.x.type	text
field.x.documents	2
END
    quern verify store --quiet
    quern search store blossoms --format jsonl --quiet >hit
    grep -q '"fields":{"meta":{"body":"Bees visit apple blossoms.","lang":"de"},"price":12,"day":"2024-06-01T12:00:00+02:00","x":null}' hit
    store_of some --keep-fields price,meta.lang
    quern search some apples --format jsonl --quiet | grep -q '"fields":{"price":1.50,"meta.lang":"en"}'
    store_of some --sync --keep-fields meta.lang,price # in any order
    store_of none
    run quern search none apples --format jsonl --quiet
    [[ $output != *fields* ]]
}

@test "fields are the same bytes for any threads, memory and cut" {
    for i in $(seq 1 3000); do
        printf '{"text":"tree %s apple %s","n":%s,"word":"w%s","l":["a","%s"],"r":%s.5}\n' "$i" "$((i * 7))" "$i" \
            "$((i % 7))" "$((i % 3))" "$((i % 11))"
    done >many.jsonl
    quern build many.jsonl -o one --keep-fields all --quiet --skip duplicates,thesaurus,vectors
    quern build many.jsonl -o two --keep-fields all --quiet --skip duplicates,thesaurus,vectors --threads 1 --memory 100M
    split -l 700 many.jsonl part.
    rm one/stats.json two/stats.json
    diff -r one two
    quern verify one --quiet
    # An update makes the same columns, also if the type of one changes.
    head -n 1000 many.jsonl | sed 's/"r":\([0-9]*\).5/"r":\1/' >first.jsonl
    sed 's/"r":[0-9]*.5/"r":"high"/; 1,1000d' many.jsonl >second.jsonl
    quern build first.jsonl -o grown --keep-fields all --quiet --skip duplicates,thesaurus,vectors --ids generate
    [ "$(quern info grown --format tsv | sed -n 's/^field.r.type\t//p')" = integer ]
    quern build second.jsonl -o grown --update --quiet --ids generate
    [ "$(quern info grown --format tsv | sed -n 's/^field.r.type\t//p')" = text ]
    quern build first.jsonl second.jsonl -o whole --keep-fields all --quiet --skip duplicates,thesaurus,vectors --ids generate
    rm grown/stats.json whole/stats.json
    diff -r grown whole
    ends_with 2 quern build second.jsonl -o grown --update --keep-fields n
    says "keeps the fields of the store"
}

@test "near-duplicates leave no fields" {
    { cat shop.jsonl; sed 's/example.1/example\/copy/; 2,$d; s/1.50/"cheap"/' shop.jsonl; } >copies.jsonl
    quern build copies.jsonl -o store "${names[@]}" --keep-fields price --quiet
    quern info store --format tsv >properties
    grep -qx $'copies\t1' properties
    grep -qx $'field.price.type\tnumber' properties
    quern verify store --quiet
}

@test "columns of tables have types" {
    printf 'sku,name,about,price\n7,Apple,"a fruit, red",1.50\n8,Pear,green,\n' >shop.csv
    quern build shop.csv -o store --id-field sku --text-field about --title-field name --keep-fields all --quiet
    quern search store fruit --format jsonl --quiet | grep -q '"fields":{"price":1.50}'
    # An empty cell is a missing value: so a column of dates stays one, and sorting has it last.
    printf 'id,text,price,added,code\n1,lamp,9,2024-05-01,007\n2,lamp,10,,1\n3,lamp,,2024-01-01,\n' >lamps.csv
    quern build lamps.csv -o lamps --keep-fields all --skip all --quiet
    quern info lamps --format tsv | sed -n 's/^\(field.*type\)\t/\1 /p' | sort >types
    printf 'field.%s\n' 'added.type date' 'code.type text' 'price.type integer' | diff - types
    [ "$(quern search lamps lamp --filter 'price < 10' --quiet | cut -f 2)" = 1 ]
    [ "$(quern search lamps lamp --filter 'code = 007' --quiet | cut -f 2)" = 1 ]
    [ "$(quern search lamps lamp --sort=-price --quiet | cut -f 2 | tr '\n' ' ')" = "2 1 3 " ]
    quern verify lamps --quiet
    # Strings of JSON stay strings.
    printf '{"id":"%s","text":"lamp","price":"%s"}\n' 1 9 2 10 >lamps.jsonl
    run --separate-stderr quern build lamps.jsonl -o strings --keep-fields all --skip all
    [[ $stderr == *"all values of price are strings that hold numbers"* ]]
    quern info strings --format tsv | grep -qx $'field.price.type\ttext'
    [ "$(quern search lamps lamp --sort added --quiet | cut -f 2 | tr '\n' ' ')" = "3 1 2 " ]
    [ "$(quern search lamps lamp --filter 'price NOT EXISTS' --quiet | cut -f 2)" = 3 ]
    run --separate-stderr quern build "$data/corpus.trec" -o none --keep-fields all --skip all
    [[ $stderr == *"no document has a field to keep, and the store has none (--keep-fields)"* ]]
    ends_with 3 quern build shop.csv -o other --text-field abut
    says 'the first record is not a heading with columns for "abut"; found "sku", "name", "about", "price"'
}

@test "a damaged column is found" {
    store_of store --keep-fields price
    printf x | dd of=store/field_0.section bs=1 seek=3 conv=notrunc status=none
    ends_with 5 quern verify store
    says "field_0"
}
