#!/usr/bin/env bats
# quern topk: the best objects over several ranked lists.
load common

own_setup() {
    printf 'b\t0.9\na\t0.8\nc\t0.1\n' >one.tsv
    printf 'c\t1\na\t0.7\n' >two.tsv
}

@test "every aggregate of a small example" {
    [ "$(quern topk one.tsv two.tsv --quiet | tr '\t\n' '  ')" = "a 1.5 c 1.1 b 0.9 " ]
    [ "$(quern topk one.tsv two.tsv -k 1 --aggregate min --quiet | tr '\t\n' '  ')" = "a 0.7 " ]
    [ "$(quern topk one.tsv two.tsv --aggregate max --quiet | tr '\t\n' '  ')" = "c 1 b 0.9 a 0.8 " ]
    [ "$(quern topk one.tsv two.tsv --aggregate mean --weight 1,3 --quiet | tr '\t\n' '  ')" = "c 0.775 a 0.7249999999999999 b 0.225 " ]
    [ "$(quern topk one.tsv two.tsv --aggregate product --quiet | tr '\t\n' '  ')" = "a 0.5599999999999999 c 0.1 b 0 " ]
    [ "$(quern topk one.tsv two.tsv --aggregate rrf --constant 1 --quiet | tr '\t\n' '  ')" = "c 0.75 a 0.6666666666666666 b 0.5 " ]
    [ "$(quern topk one.tsv two.tsv --floor -1,-2 --quiet | tr '\t\n' '  ')" = "a 1.5 c 1.1 b -1.1 " ]
}

@test "every method writes the same bytes, and reports its reading depth" {
    awk 'BEGIN { srand(5); for (l = 0; l < 4; l++) for (o = 0; o < 3000; o++) printf "%d\t%.4f\n", o, rand() > ("list" l) }'
    for l in 0 1 2 3; do sort -t "$(printf '\t')" -k 2,2nr -k 1,1n list$l >l$l.tsv; done
    for rule in sum min max product mean rrf; do
        quern topk l0.tsv l1.tsv l2.tsv l3.tsv -k 40 --aggregate $rule --quiet >expected
        [ "$(wc -l <expected)" -eq 40 ]
        for method in nra sc lara segmented; do
            quern topk l0.tsv l1.tsv l2.tsv l3.tsv -k 40 --aggregate $rule --method $method --quiet --threads 2 | cmp - expected
        done
    done
    quern topk l0.tsv l1.tsv l2.tsv l3.tsv -k 5 --method nra --stats stats >/dev/null
    [ "$(json stats 'd["counts"]["depth_1"] < d["counts"]["length_1"]')" = True ]
    # Lists so short are read whole by auto; longer ones are not.
    awk 'BEGIN { srand(6); for (o = 0; o < 30000; o++) printf "%d\t%.5f\n", o, rand() }' | sort -t "$(printf '\t')" -k 2,2nr >long.tsv
    awk '{ print $1 "\t" $2 / 2 }' long.tsv >half.tsv
    quern topk long.tsv half.tsv -k 5 --stats stats >/dev/null
    [ "$(json stats 'd["counts"]["depth_2"] < d["counts"]["length_2"]')" = True ]
    quern topk l0.tsv l1.tsv l2.tsv l3.tsv -k all --quiet >all
    [ "$(wc -l <all)" -eq 3000 ]
}

@test "ties by id: as numbers if all ids are numbers" {
    printf '10\t1\n9\t1\n' >ties.tsv
    [ "$(quern topk ties.tsv --quiet | cut -f 1 | tr '\n' ' ')" = "9 10 " ]
    printf '10\t1\n9a\t1\n' >ties.tsv
    [ "$(quern topk ties.tsv --quiet | cut -f 1 | tr '\n' ' ')" = "10 9a " ]
}

@test "bad lists are reported" {
    for lines in 'a\t1\nb\t2' 'a\t1\na\t0.5' 'a\t1\nb' 'a\t1\n\t1' 'a\t1\nb\tnan' 'a\t1\nb\tx' 'a\t1\nb\t-1'; do
        printf "$lines\n" >bad.tsv
        ends_with 3 quern topk one.tsv bad.tsv -o out.tsv
        [[ $stderr == *bad.tsv:2:* ]]
    done
    [ ! -e out.tsv ]
    printf 'a\t1e308\nx\t1\n' >huge.tsv
    ends_with 3 quern topk one.tsv huge.tsv huge.tsv -o out.tsv
    says "one.tsv:2: its object's score over all lists exceeds the range of double"
    [ ! -e out.tsv ]
    ends_with 2 quern topk
    ends_with 2 quern topk one.tsv missing.tsv
    ends_with 2 quern topk one.tsv two.tsv --weight 1
    ends_with 2 quern topk one.tsv --weight -1
    ends_with 2 quern topk one.tsv -k 0
    says "-k, --top: invalid value '0' (expected all or a whole number of at least 1)"
    # One budget for all lists: what is decompressed is held.
    awk 'BEGIN { for (o = 0; o < 60000; o++) printf "document-%08d\t%d\n", o, 60000 - o }' | gzip >packed.gz
    quern topk packed.gz -k 1 --memory 8M --quiet
    ends_with 4 quern topk packed.gz packed.gz packed.gz packed.gz packed.gz packed.gz packed.gz packed.gz --memory 8M
    : >empty.tsv
    ends_with 1 quern topk empty.tsv
}

@test "methods without GPU code are rejected there" {
    for method in nra sc lara; do
        ends_with 2 quern topk one.tsv two.tsv --method $method --device cuda
        [[ $stderr == *"topk by $method runs on cpu only"* ]]
    done
    quern topk one.tsv two.tsv --device cpu --stats stats --quiet
    [ "$(json stats 'd["device"]')" = cpu ]
}
