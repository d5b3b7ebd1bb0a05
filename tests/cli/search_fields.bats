#!/usr/bin/env bats
# shellcheck disable=SC2154 # bats sets $output, $stderr
# Filters, orders and facets by the kept fields of a store.
load common

own_setup() {
    cat >shop.jsonl <<'JSON'
{"id":"a","title":"Green apple","text":"Apples grow on trees.","lang":"en","price":1.50,"stock":3,"day":"2024-05-01","tags":["fruit","green"],"new":true}
{"id":"b","title":"Pear","text":"Pears grow on trees, too; apples are rounder.","price":2,"day":"2024-05-02","tags":"fruit","new":false}
{"id":"c","title":"Bee","text":"Bees visit apple blossoms.","lang":"de","price":12,"day":"2024-06-01T12:00:00+02:00"}
JSON
    quern build shop.jsonl -o shop --keep-fields all --skip all --quiet
}

ids() { # ids OPTION...: of the documents found, in order
    quern search shop "$@" --format tsv --quiet | cut -f 2 | tr '\n' ' '
}

@test "filters" {
    [ "$(ids apples --filter 'price < 10 AND tags IN (fruit, b)')" = "a b " ]
    [ "$(ids apples --filter 'NOT lang = en')" = "b " ]
    [ "$(ids --filter 'day = 2024-05 OR new NOT EXISTS')" = "a b c " ]
    [ "$(ids '*' --filter 'day > 2024-05-02')" = "c " ]
    [ "$(quern search shop '*' --filter 'lang STARTS WITH e' --count)" = 1 ]
    ends_with 1 quern search shop --filter 'price > 100'
    says "no document matches the filter"
    printf '1\tapples\n2\t*\n' >topics
    quern search shop --topics topics --filter 'price BETWEEN 1.5 AND 2' --device cpu --quiet >run
    [ "$(cut -d ' ' -f 1,3 run | tr '\n' ' ')" = "1 a 1 b 2 a 2 b " ]
}

@test "a filter changes no score" {
    quern search shop apples --format tsv --quiet | grep "$(printf '\tb\t')" | cut -f 2- >whole
    quern search shop apples --filter 'price = 2' --format tsv --quiet | cut -f 2- | diff whole -
}

@test "errors show the place" {
    ends_with 2 quern search shop apples --filter 'prise < 1'
    [[ $stderr == *"there is no field 'prise'; did you mean 'price'? the store has lang (text), price (number)"* ]]
    ends_with 2 quern search shop apples --filter 'price < abc'
    [[ $stderr == *"'abc' is not a number"*$'\n'"  price < abc"$'\n'"          ^"* ]]
    ends_with 2 quern search shop apples --filter ' '
    says "--filter: an empty expression (expected a comparison, as in 'lang = de')"
    ends_with 2 quern search shop apples --sort tags
    says "sort: the field tags is of the type list"
    ends_with 2 quern search shop apples --sort price:desc
    says "sort: 'price:desc' is not understood (expected -price)"
    ends_with 2 quern search shop apples --sort 'price asc'
    says "sort: 'price asc' is not understood (expected price)"
    ends_with 2 quern search shop apples --facet-values 3
    says "requires --facets"
    ends_with 2 quern search shop apples --count --sort price
    says "has no effect with --count"
    printf '1\tapples\n' >topics
    ends_with 2 quern search shop --topics topics --facets lang
    says "a TREC run is ordered by scores and has no facets"
    quern build shop.jsonl -o plain --skip all --quiet
    ends_with 2 quern search plain apples --filter 'price < 1'
    [[ $stderr == *"the store has no kept fields; build it with --keep-fields"* ]]
}

@test "members of objects have fields of their own" {
    printf '%s\n' '{"id":"a","text":"A lamp.","meta":{"weight":3}}' '{"id":"b","text":"A lamp.","meta":{"weight":5}}' >lamps.jsonl
    quern build lamps.jsonl -o lamps --keep-fields meta --skip all --quiet
    ends_with 2 quern search lamps lamp --filter 'meta.weight > 3'
    [[ $stderr == *"meta is json: build with --keep-fields meta.weight for a field of its own; the store has meta (json)"* ]]
    quern build lamps.jsonl -o lamps --keep-fields meta.weight --skip all --quiet --force
    [ "$(quern search lamps lamp --filter 'meta.weight > 3' --count)" = 1 ]
}

@test "a kept field in a query is a hint at filters" {
    run --separate-stderr quern search shop 'apples lang:de'
    [ "$status" -eq 0 ]
    [[ $stderr == *"read as words: lang is a kept field: use a filter, 'lang = de'"* ]]
    run --separate-stderr quern search shop '+apples price:<10'
    [[ $stderr == *"price is a kept field: use a filter, 'price <10'"* ]]
    ends_with 2 quern search shop 'lang:de' --syntax operators
    [[ $stderr == *"lang is a kept field: use a filter, 'lang = de'"* ]]
    run --separate-stderr quern search shop 'apples langs:de title:pear'
    [[ $stderr != *"kept field"* ]]
}

@test "orders" {
    [ "$(ids --sort -price)" = "c b a " ]
    [ "$(ids --sort stock,-day)" = "a c b " ]
    [ "$(ids --sort lang -k 2)" = "c a " ]
}

@test "facets" {
    quern search shop '*' -k 1 --facets tags,price,day,new --facet-values 1 --format jsonl --quiet >rows
    [ "$(wc -l <rows)" = 2 ]
    tail -n 1 rows | python3 -c '
import json, sys
facets = json.load(sys.stdin)["facets"]
assert list(facets) == ["tags", "price", "day", "new"], facets
assert facets["tags"] == {"type": "list", "documents": 2, "distinct": 2, "values": [{"value": "fruit", "documents": 2}]}
assert (facets["price"]["min"], facets["price"]["max"]) == (1.5, 12), facets
assert facets["day"]["max"] == "2024-06-01T10:00:00Z", facets
assert facets["new"]["values"] == [{"value": False, "documents": 1}], facets'
    ends_with 0 quern search shop apples --facets tags,price --count
    [ "$output" = 2 ]
    [[ $stderr == *"tags (2 documents): fruit 2, green 1"* ]]
    [[ $stderr == *"price (2 documents) from 1.5 to 2: 1.5 1, 2 1"* ]]
    ends_with 0 quern search shop '*' --facets price --facet-values 1
    says "price (3 documents) from 1.5 to 12: 1.5 1 and 2 more values"
    printf '7\tpears\n' >topics
    quern search shop --topics topics --facets lang --format jsonl --quiet | tail -n 1 >row
    grep -qx '{"topic":"7","facets":{"lang":{"type":"text","documents":0,"distinct":0,"values":\[\]}}}' row
}
