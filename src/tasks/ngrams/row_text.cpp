// SPDX-License-Identifier: Apache-2.0
#include "tasks/ngrams/row_text.hpp"

#include <charconv>
#include <cmath>
#include <cstddef>

#include "report/json.hpp"
#include "report/tsv.hpp"

namespace quern {
namespace {

template <class Number>
void append_number(std::string& out, Number value) {
    char digits[32];
    const auto [end, failed] = std::to_chars(digits, digits + sizeof digits, value);
    out.append(digits, static_cast<std::size_t>(end - digits));
}

/// As in row_writer: the shortest decimal that reads back to the same value; non-finite values by name, null in JSON.
void append_weight(std::string& out, double weight, bool json) {
    if (std::isfinite(weight)) {
        append_number(out, weight);
    } else if (json) {
        append_json(out, weight);
    } else {
        out += shortest(weight);
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
    std::string name, words;
    std::uint32_t document = 0;
    for (const Row& row : rows) {
        if (name.empty() || row.document != document) {  // ids are never empty
            document = row.document;
            name.clear();
            append_field(name, corpus_.name(document));
        }
        words.clear();
        append_words(words, corpus_, corpus_.documents[document] + row.first, row.n);
        out += before_[0];
        out += name;
        out += before_[1];
        append_number(out, row.n);
        out += before_[2];
        append_field(out, words);
        out += before_[3];
        append_number(out, row.in_document);
        out += before_[4];
        append_number(out, row.in_collection);
        out += before_[5];
        append_weight(out, row.weight, json_);
        if constexpr (std::is_same_v<Row, document_row_with_history>) {
            out += before_[6];
            append_number(out, row.history_in_document);
            out += before_[7];
            append_number(out, row.history_in_collection);
        }
        out += end_;
    }
}

template void row_text::append(std::string&, std::span<const document_row>) const;
template void row_text::append(std::string&, std::span<const document_row_with_history>) const;

}  // namespace quern
