#!/usr/bin/env bats
# shellcheck disable=SC2154 # common sets $data
# quern perplexity: scores by hand, KenLM's way of cutting texts, models that are not whole.
load common

model() {
    printf '%s\n' '' '\data\' 'ngram 1=5' 'ngram 2=3' '' '\1-grams:' \
        $'-99\t<s>\t-0.5' $'-1\t</s>' $'-2\t<unk>' $'-0.5\ta\t-0.25' $'-0.75\tb' '' \
        '\2-grams:' $'-0.125\t<s> a' $'-0.25\ta b' $'-0.5\tb </s>' '' '\end\' >model.arpa
}

@test "scores follow from the model's numbers" {
    model
    printf 'a b\n\na c a\n' >text.txt
    quern perplexity model.arpa text.txt --tokenized --sentences --quiet >rows
    # <s> a, a b, b </s>: 0.875. <s> a; c after a: 2 + 0.25; a after c: 0.5; </s> after a: 1 + 0.25.
    [ "$(cut -f 1-4 rows)" = $'text.txt:1\t2\t0\t-0.875\ntext.txt:2\t3\t1\t-4.125' ]
    awk -F '\t' '{ n = $2 + 1; if ((exp(-$4 / n * log(10)) - $5) ^ 2 > 1e-20) exit 1 }' rows
    [ "$(quern perplexity model.arpa text.txt --tokenized --quiet | cut -f 1-4)" = $'text.txt\t5\t1\t-5' ]
    # Without marks nothing is known before the first word, and lines do not matter: a b a c a.
    [ "$(quern perplexity model.arpa text.txt --tokenized --marks no --quiet | cut -f 1-4)" = $'text.txt\t5\t1\t-4' ]
}

@test "words and sentences by the text options, other inputs, no words" {
    model
    printf '%s\n' '{"id":"x","text":"A, b! A b."}' '{"id":"y","text":"..."}' >docs.jsonl
    quern perplexity model.arpa docs.jsonl --quiet >rows
    [ "$(cat rows)" = $'x\t4\t0\t-1.75\t1.9573417814876604\ny\t0\t0\t0\tnan' ]
    [ "$(quern perplexity model.arpa docs.jsonl --sentences --quiet | cut -f 1,4)" = $'x:1\t-0.875\nx:2\t-0.875' ]
    gzip -k model.arpa
    quern perplexity model.arpa.gz - --quiet <docs.jsonl | cmp rows -
    quern perplexity model.arpa docs.jsonl --stats stats.json 2>message
    grep -q '2 documents, 2 sentences, 4 words; perplexity 1.96' message
    grep -q '"bits_per_byte"' stats.json
}

@test "the fields of records are those that are named" {
    model
    printf '%s\n' '{"id":"x","body":"A, b! A b.","text":"b"}' >fields.jsonl
    [ "$(quern perplexity model.arpa fields.jsonl --text-field body --quiet | cut -f 1-4)" = $'x\t4\t0\t-1.75' ]
}

@test "a model of our own: marks are off, any threads and memory, and its own text is predicted better" {
    quern ngrams "$data/corpus.jsonl" --order 3 --smoothing absolute --arpa own.arpa --quiet --max-errors 100%
    quern perplexity own.arpa "$data/corpus.jsonl" --quiet --max-errors 100% >rows
    quern perplexity own.arpa "$data/corpus.jsonl" --quiet --max-errors 100% --marks no --threads 3 --memory 64M | cmp rows -
    [ "$(awk -F '\t' '{ unknown += $3 } END { print unknown }' rows)" = 0 ]
    shuffled='{"id":"s","text":"zebra of the of quux the the of blorb"}'
    awk -F '\t' 'NR == FNR { if ($5 > worst && $2 > 20) worst = $5; next } { exit !($5 > worst) }' \
        rows <(quern perplexity own.arpa - --quiet <<<"$shuffled")
}

@test "one long document: the same rows for any threads and memory, those of its lines" {
    model
    for i in {1..25000}; do echo 'a b a c. A b, a b a b a a c b a b a? A b a a.'; echo; done >lines.txt # 1.2 MB
    tr '\n' ' ' <lines.txt >line.txt
    sed '/^$/d; s/.*/{"text":"&"}/' lines.txt >lines.jsonl
    quern perplexity model.arpa lines.txt --tokenized --sentences --quiet --threads 1 | cut -f 2- >rows
    quern perplexity model.arpa lines.jsonl --tokenized --quiet | cut -f 2- | cmp rows -
    for options in --tokenized "--tokenized --marks no" "--min-length 2" ""; do
        for text in line lines; do
            # shellcheck disable=SC2086 # words
            quern perplexity model.arpa $text.txt $options --quiet --threads 1 >rows
            # shellcheck disable=SC2086
            quern perplexity model.arpa $text.txt $options --quiet --threads 5 --memory 64M | cmp rows -
        done
    done
    quern perplexity model.arpa line.txt --interpolate model.arpa --tune --marks no --quiet --threads 1 >weights
    quern perplexity model.arpa line.txt --interpolate model.arpa --tune --marks no --quiet --threads 2 --memory 64M |
        cmp weights -
}

@test "an n-gram without its end, or without its beginning" {
    printf '%s\n' '\data\' 'ngram 1=3' 'ngram 2=1' 'ngram 3=2' '' '\1-grams:' $'-1\ta\t-0.5' $'-1\tb\t-0.25' $'-1\tc\t-0.125' \
        '\2-grams:' $'-0.5\ta b\t-0.0625' '\3-grams:' $'-0.03125\ta b c' $'-0.015625\tc c c' '\end\' >odd.arpa
    printf 'a b c\nc c c\nb c\n' >text.txt
    quern perplexity odd.arpa text.txt --tokenized --sentences --quiet | cut -f 1,4 >rows
    # a; a b; a b c. c; c after c: 1.125; c c c. b; c after b: 1.25.
    [ "$(cat rows)" = $'text.txt:1\t-1.53125\ntext.txt:2\t-2.140625\ntext.txt:3\t-2.25' ]
}

@test "a word outside of the model: without <unk> it is left out" {
    printf '%s\n' '\data\' 'ngram 1=1' '' '\1-grams:' $'-1\ta' '\end\' >small.arpa
    [ "$(quern perplexity small.arpa - --quiet <<<'{"id":"x","text":"a z a"}' | cut -f 1-4)" = $'x\t3\t1\t-2' ]
    ends_with 2 quern perplexity small.arpa - --marks yes
    says "the model has no <s> and </s>; use --marks no"
}

@test "a length without n-grams: the back-off weights before it count" {
    cat >pruned.arpa <<'END'
\data\
ngram 1=4
ngram 2=2
ngram 3=0

\1-grams:
-99	<s>	-0.25
-1	</s>
-0.5	a	-0.125
-0.75	b

\2-grams:
-0.25	<s> a	-0.0625
-0.5	a b

\3-grams:

\end\
END
    echo 'a b' >text.txt
    quern model pruned.arpa -o pruned.model --quiet
    for model in pruned.arpa pruned.model; do  # log10 of a: -0.25; of b: -0.0625 - 0.5; of </s>: -1
        [ "$(quern perplexity $model text.txt --tokenized --sentences --quiet | cut -f 4)" = -1.8125 ]
    done
    sed 's/-0.0625/0/' pruned.arpa >weightless.arpa
    [ "$(quern perplexity weightless.arpa text.txt --tokenized --sentences --quiet | cut -f 4)" = -1.75 ]
    sed 's/-0.5\ta b/-1e99\ta b/; s/-0.25\t<s> a/-1e-99\t<s> a/' pruned.arpa >beyond.arpa  # of a float: 0 and 1
    [ "$(quern perplexity beyond.arpa text.txt --tokenized --sentences --quiet | cut -f 4)" = -100.0625 ]
    sed 's/1e99/1e999/; s/1e-99/1e-999/' beyond.arpa >beyond.doubles.arpa
    [ "$(quern perplexity beyond.doubles.arpa text.txt --tokenized --sentences --quiet | cut -f 4)" = -100.0625 ]
    quern info pruned.model --quiet >/dev/null
    quern verify pruned.model --quiet >/dev/null
    quern perplexity pruned.arpa --generate 3 --quiet >/dev/null
}

@test "models that are not whole are refused with their line" {
    model
    echo '{"id":"x","text":"a"}' >x.jsonl
    refuses() {
        ends_with 3 quern perplexity bad.arpa x.jsonl
        says "$1"
    }
    head -n 9 model.arpa >bad.arpa
    refuses "the file ends before \\end\\"
    sed 's/-0.25\ta b/x\ta b/' model.arpa >bad.arpa
    refuses "bad.arpa:15: expected a logarithm of a probability, found 'x'"
    sed 's/-0.25\ta b/1e-7\ta b/' model.arpa >bad.arpa
    refuses "bad.arpa:15: the logarithm of a probability is 1e-7 (expected at most 0; if it was rounded up, write 0)"
    for number in inf 1e60 1e999 nan 0x1; do
        sed "s/\(<s>\t\).*/\1$number/" model.arpa >bad.arpa
        refuses "bad.arpa:7: expected a back-off weight, found '$number'"
    done
    sed 's/-0.25\ta b/-0.25\ta q/' model.arpa >bad.arpa
    refuses "bad.arpa:15: the word 'q' is not among the 1-grams"
    sed 's/-0.25\ta b/-0.25\t<s> a/' model.arpa >bad.arpa
    refuses "bad.arpa:15: the n-gram occurs a second time"
    sed 's/ngram 2=3/ngram 2=4/' model.arpa >bad.arpa
    refuses "there are 3 n-grams of 2 words, but the head declares 4"
    sed 's/ngram 2=3/ngram 2=2/' model.arpa >bad.arpa
    refuses "more n-grams of 2 words than the head declares (2)"
    sed 's/ngram 1=5/ngram 1=4000000000/' model.arpa >bad.arpa
    ends_with 4 quern perplexity bad.arpa x.jsonl
    printf 'mmap lm http://kheafield.com/code format version 5\n\0' >bad.arpa
    refuses "a binary model of KenLM; expected the ARPA file that it was made from"
    echo nothing >bad.arpa
    refuses "this is no ARPA file"
    ends_with 2 quern perplexity absent.arpa x.jsonl
    ends_with 2 quern perplexity model.arpa x.jsonl --tokenized --stem porter
    says "it cannot be combined with text options"
    ends_with 2 quern perplexity model.arpa x.jsonl -o model.arpa --force
}

@test "several models: equal ones change nothing, tuned weights find the better one" {
    printf 'the cat sat on the mat\nthe dog sat on the mat\nthe cat ran\n' >a.txt
    printf 'stocks fell in march\nstocks rose in april\nprices fell\n' >b.txt
    for name in a b; do
        quern ngrams $name.txt --tokenized --sentences --order 2 --smoothing kneser-ney --arpa $name.arpa --quiet
    done
    quern perplexity a.arpa a.txt --tokenized --sentences --quiet | cut -f 1-3 >once
    quern perplexity a.arpa a.txt --interpolate a.arpa --tokenized --sentences --quiet | cut -f 1-3 | cmp once -
    quern perplexity a.arpa b.txt --interpolate b.arpa --tokenized --tune --quiet >weights
    awk -F '\t' 'NR == 1 && ($1 != "a.arpa" || $2 > 0.2) { exit 1 } NR == 2 && ($1 != "b.arpa" || $2 < 0.8) { exit 1 }' weights
    weights=$(cut -f 2 weights | paste -sd ' ')
    tuned=$(quern perplexity a.arpa b.txt --interpolate b.arpa --tokenized --weights "$weights" --quiet | cut -f 5)
    equal=$(quern perplexity a.arpa b.txt --interpolate b.arpa --tokenized --quiet | cut -f 5)
    awk "BEGIN { exit !($tuned < $equal) }"
    ends_with 2 quern perplexity a.arpa b.txt --interpolate b.arpa --weights 1
    says "expected 2 numbers of at least 0"
    ends_with 2 quern perplexity a.arpa b.txt --tune
}

@test "bits per byte, texts by chance" {
    model
    printf 'a b\n' >text.txt
    # log10 -0.875; 4 bytes.
    quern perplexity model.arpa text.txt --tokenized --bits-per-byte --quiet >rows
    awk -F '\t' '{ exit !(($6 - 0.875 * log(10) / log(2) / 4) ^ 2 < 1e-12) }' rows
    quern perplexity model.arpa --generate 40 --seed 5 >texts
    quern perplexity model.arpa --generate 40 --seed 5 --threads 3 | cmp texts -
    [ "$(wc -l <texts)" = 40 ]
    [ "$(tr ' ' '\n' <texts | grep -v '^$' | sort -u | paste -sd ' ')" = "a b" ]
    quern perplexity model.arpa --generate 40 --seed 6 >others
    ends_with 1 cmp -s texts others
    [ "$(quern perplexity model.arpa --generate 1 --begin 'b b' --max-words 2)" = "b b" ]
    ends_with 2 quern perplexity model.arpa --generate 1 --begin q
    says "the model has no word 'q'"
    ends_with 2 quern perplexity model.arpa text.txt --generate 1
    ends_with 2 quern perplexity model.arpa
    says "CORPUS is required"
}

@test "compact models: the same bits, damage is noticed" {
    quern ngrams "$data/corpus.jsonl" --order 4 --smoothing kneser-ney --sentences --arpa own.arpa --quiet --max-errors 100%
    quern model own.arpa -o own.model --quiet
    quern perplexity own.arpa "$data/corpus.jsonl" --sentences --quiet --max-errors 100% >rows
    quern perplexity own.model "$data/corpus.jsonl" --sentences --quiet --max-errors 100% | cmp rows -
    quern model own.arpa -o again.model --threads 3 --quiet
    cmp own.model again.model
    [ "$(quern info own.model | grep -P '^(kind|order|quantized_bits)' | cut -f 2 | paste -sd ' ')" = "language model 4 0" ]
    quern verify own.model | grep -q whole
    ends_with 2 quern model own.arpa -o own.model
    quern model own.arpa -o own.model --quantize 2 --force --quiet
    [ "$(stat -c %s own.model)" -lt "$(stat -c %s again.model)" ]
    quern perplexity own.model "$data/corpus.jsonl" --quiet --max-errors 100% >/dev/null
    ends_with 2 quern build own.model -o store
    says "was made by quern and is not a corpus"
    printf 'x' | dd of=again.model bs=1 seek=1000 conv=notrunc status=none
    ends_with 5 quern perplexity again.model "$data/corpus.jsonl" --max-errors 100%
    ends_with 5 quern verify again.model
    ends_with 2 quern model own.model -o other.model
    says "is a compact model already"
}

@test "--device: few texts stay on the CPU; what has no code for a GPU is refused" {
    model
    printf 'a b\n' >text.txt
    quern perplexity model.arpa text.txt --tokenized --quiet --device cpu >rows
    quern perplexity model.arpa text.txt --tokenized --quiet --stats stats.json | cmp rows -
    [ "$(json stats.json "d['device']")" = cpu ]
    ends_with 2 quern perplexity model.arpa --generate 1 --device cuda
    says "perplexity --generate runs on cpu only"
    echo '{"id":"x","text":"a"}' >x.jsonl
    ends_with 2 quern filter x.jsonl --rules length.min-words=1 --device cuda
    says "filter runs on cpu only"
}
