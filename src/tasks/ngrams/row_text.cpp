// SPDX-License-Identifier: Apache-2.0
#include "tasks/ngrams/row_text.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>

#include "report/json.hpp"
#include "report/tsv.hpp"
#include "tasks/ngrams/short_texts.hpp"

namespace quern {
namespace {

template <class Number>
void append_number(short_texts& out, Number value) {
    constexpr std::size_t most = 32;
    out.append_with(most, [&](char* to) { return std::to_chars(to, to + most, value).ptr; });
}

/// As row_writer has it: the shortest decimal that reads back to the same value; what is not finite by its name, null in JSON.
void append_weight(short_texts& out, double weight, bool json) {
    if (std::isfinite(weight)) {
        append_number(out, weight);
    } else if (json) {
        std::string text;
        append_json(text, weight);
        out.append(text);
    } else {
        out.append(shortest(weight));
    }
}

}  // namespace

void append_words(std::string& out, const ngram_corpus& corpus, std::uint64_t position, unsigned n) {
    for (unsigned i = 0; i < n; ++i) {
        if (i != 0) out += ' ';
        out += corpus.word(corpus.words[position + i]);
    }
}

row_text::row_text(const ngram_corpus& corpus, row_format format, std::span<const std::string> columns)
    : corpus_(corpus), json_(format == row_format::jsonl), end_(json_ ? "}\n" : "\n") {
    for (const std::string& name : columns) {
        std::string& before = before_.emplace_back();
        if (json_) {
            before += before_.size() == 1 ? '{' : ',';
            report::append_json_string(before, name);
            before += ':';
        } else if (before_.size() != 1) {
            before += '\t';
        }
    }
}

void row_text::append_field(std::string& out, std::string_view text) const {
    json_ ? report::append_json_string(out, text) : report::append_tsv_field(out, text);
}

template <class Row>
void row_text::append(std::string& out, std::span<const Row> rows) const {
    short_texts text(out);
    std::string name, words, field;
    std::uint32_t document = 0;
    for (const Row& row : rows) {
        if (name.empty() || row.document != document) {  // no id is empty
            document = row.document;
            name.clear();
            append_field(name, corpus_.name(document));
        }
        words.clear();
        append_words(words, corpus_, corpus_.documents[document] + row.first, row.n);
        field.clear();
        append_field(field, words);
        text.append(before_[0]).append(name).append(before_[1]);
        append_number(text, row.n);
        text.append(before_[2]).append(field).append(before_[3]);
        append_number(text, row.in_document);
        text.append(before_[4]);
        append_number(text, row.in_collection);
        text.append(before_[5]);
        append_weight(text, row.weight, json_);
        if constexpr (std::is_same_v<Row, document_row_with_history>) {
            text.append(before_[6]);
            append_number(text, row.history_in_document);
            text.append(before_[7]);
            append_number(text, row.history_in_collection);
        }
        text.append(end_);
    }
    text.flush();
}

template void row_text::append(std::string&, std::span<const document_row>) const;
template void row_text::append(std::string&, std::span<const document_row_with_history>) const;

}  // namespace quern
