// SPDX-License-Identifier: Apache-2.0
#include "tasks/ngrams/row_text.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "report/json.hpp"
#include "report/tsv.hpp"
#include "tasks/ngrams/short_texts.hpp"

namespace quern {
namespace {

constexpr std::size_t number_letters = 32;  ///< at most

template <class Number>
char* put_number(char* to, Number value) {
    return std::to_chars(to, to + number_letters, value).ptr;
}
/// Most texts are words: for these, a call of memcpy takes longer than the copy.
char* put(char* to, std::string_view text) {
    const char* const from = text.data();
    const std::size_t size = text.size();
    const auto both_ends = [&]<std::size_t Bytes>(std::integral_constant<std::size_t, Bytes>) {
        std::memcpy(to, from, Bytes);
        std::memcpy(to + size - Bytes, from + size - Bytes, Bytes);
    };
    if (size > 16)
        std::memcpy(to, from, size);
    else if (size >= 8)
        both_ends(std::integral_constant<std::size_t, 8>());
    else if (size >= 4)
        both_ends(std::integral_constant<std::size_t, 4>());
    else
        for (std::size_t i = 0; i < size; ++i) to[i] = from[i];
    return to + size;
}

/// Texts of weights, as in row_writer: the shortest decimal that reads back to the same value; non-finite values by name,
/// null in JSON. A third of the weights are among the last ones.
class weight_texts {
  public:
    explicit weight_texts(bool json) : json_(json) {}
    char* put_weight(char* to, double weight) {
        const auto bits = std::bit_cast<std::uint64_t>(weight);
        entry& at = entries_[bits * 0x9e3779b97f4a7c15U >> (64 - size_bits)];
        if (at.bits != bits || at.size == 0) {
            at.bits = bits;
            at.size = static_cast<std::uint8_t>(write(at.text, weight) - at.text);
        }
        std::memcpy(to, at.text, number_letters);
        return to + at.size;
    }

  private:
    static constexpr unsigned size_bits = 9;
    struct entry {
        std::uint64_t bits = 0;
        std::uint8_t size = 0;
        char text[number_letters] = {};
    };
    char* write(char* to, double weight) const {
        if (std::isfinite(weight)) return put_number(to, weight);
        std::string text;
        json_ ? append_json(text, weight) : void(text = shortest(weight));
        return put(to, text);
    }

    bool json_;
    std::vector<entry> entries_ = std::vector<entry>(std::size_t{1} << size_bits);
};

}  // namespace

bool are_plain_words(const ngram_corpus& corpus) {
    std::string field;
    for (std::uint32_t id = 0; id < corpus.vocabulary; ++id) {
        field.clear();
        report::append_tsv_field(field, corpus.word(id));
        if (field != corpus.word(id)) return false;
    }
    return true;
}

void append_words(std::string& out, const ngram_corpus& corpus, std::uint64_t position, unsigned n) {
    append_words(out, corpus, corpus.words.span().subspan(position, n));
}
void append_words(std::string& out, const ngram_corpus& corpus, std::span<const std::uint32_t> ids) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (i != 0) out += ' ';
        out += corpus.word(ids[i]);
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
    fixed_letters_ = end_.size() + number_letters * before_.size();
    for (const std::string& before : before_) fixed_letters_ += before.size();
    words_are_plain_ = !json_ && are_plain_words(corpus);
}

void row_text::append_field(std::string& out, std::string_view text) const {
    json_ ? report::append_json_string(out, text) : report::append_tsv_field(out, text);
}

template <class Row>
void row_text::append(std::string& out, std::span<const Row> rows) const {
    std::string front, words, field;
    std::uint32_t document = 0;
    weight_texts weights(json_);
    short_texts lines(out);
    for (const Row& row : rows) {
        if (front.empty() || row.document != document) {
            document = row.document;
            front = before_[0];
            append_field(front, corpus_.name(document));
            front += before_[1];
        }
        const std::uint64_t position = corpus_.documents[document] + row.first;
        std::size_t letters = row.n;
        if (words_are_plain_) {
            for (unsigned i = 0; i < row.n; ++i) letters += corpus_.word(corpus_.words[position + i]).size();
        } else {
            words.clear();
            field.clear();
            append_words(words, corpus_, position, row.n);
            append_field(field, words);
            letters = field.size();
        }
        lines.append_with(front.size() + letters + fixed_letters_, [&](char* to) {
            to = put_count(put(to, front), row.n);
            to = put(to, before_[2]);
            if (words_are_plain_) {
                for (unsigned i = 0; i < row.n; ++i) {
                    if (i != 0) *to++ = ' ';
                    to = put(to, corpus_.word(corpus_.words[position + i]));
                }
            } else {
                to = put(to, field);
            }
            to = put_count(put(to, before_[3]), row.in_document);
            to = put_count(put(to, before_[4]), row.in_collection);
            to = weights.put_weight(put(to, before_[5]), row.weight);
            if constexpr (std::is_same_v<Row, document_row_with_history>) {
                to = put_count(put(to, before_[6]), row.history_in_document);
                to = put_count(put(to, before_[7]), row.history_in_collection);
            }
            return put(to, end_);
        });
    }
    lines.flush();
}

template void row_text::append(std::string&, std::span<const document_row>) const;
template void row_text::append(std::string&, std::span<const document_row_with_history>) const;

}  // namespace quern
