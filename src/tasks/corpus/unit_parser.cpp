// SPDX-License-Identifier: Apache-2.0
#include "tasks/corpus/unit_parser.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/hash.hpp"
#include "base/listed_words.hpp"
#include "quern/base/error.hpp"
#include "tasks/corpus/reading_rules.hpp"
#include "tasks/shared/sufficient_memory.hpp"

namespace quern {
namespace {

/// An upper bound of the bytes for the words of a text without control characters. A word of ASCII takes two bytes, with the blank
/// after it. There are few different words of up to three bytes; each longer one takes five. Of the bytes of other characters, three make four words
/// (U+FDFA).
std::uint64_t max_for_words(const work_on_document& work, std::string_view text) {
    constexpr std::uint64_t words_a_byte = 2, distinct_a_byte = 1, short_words = 840'000, longer_word = 5;
    const auto others = static_cast<std::uint64_t>(
        std::ranges::count_if(text, [](char c) { return static_cast<signed char>(c) < 0; }));
    const std::uint64_t ascii = text.size() - others, short_ascii = std::min(short_words, ascii / 2 + 1);
    return work.a_word * (words_a_byte * others + ascii / 2 + 1) +
           work.a_distinct_word * (distinct_a_byte * others + short_ascii + ascii / longer_word) +
           (work.a_distinct_word == 0 ? 0 : 4 * text.size());
}

/// Counts words and distinct words. Beyond twice the maximum every word counts as a new one that was not there before: so the sum is
/// never too small, and the words that are remembered fit in memory.
class word_counter {
  public:
    word_counter(const work_on_document& work, std::uint64_t bytes, std::uint64_t max)
        : work_(work), bytes_(bytes), max_remembered_(2 * max) {}

    void add(std::string_view word) {
        bytes_ += work_.a_word;
        const std::uint64_t hash = hash64(word);
        if (bytes_ <= max_remembered_ ? hashes_.insert(hash).second : !hashes_.contains(hash))
            bytes_ += work_.a_distinct_word + 4 * word.size();
    }
    void add_repeated(std::uint64_t times) { bytes_ += work_.a_word * times; }
    std::uint64_t bytes() const { return bytes_; }

  private:
    const work_on_document& work_;
    std::uint64_t bytes_, max_remembered_;
    std::unordered_set<std::uint64_t> hashes_;
};

constexpr std::uint64_t unknown =
    UINT64_MAX;  ///< the memory of words that cannot be separated within the budget

/// The budget of which a document's share is `needed`.
double budget_for(std::uint64_t needed, std::uint64_t share, std::uint64_t budget) {
    return static_cast<double>(needed) / static_cast<double>(share) * static_cast<double>(budget);
}

}  // namespace

unit_parser::unit_parser(const context& ctx, const work_on_document& work, const text_options& text)
    : ctx_(ctx), work_(work), analyzers_([text] { return text::analyzer(text); }) {
    const reading_memory memory = reading_memory_of(ctx);
    ordinary_bytes_ = memory.ordinary_unit;
    ordinary_ = {memory.ordinary_document, false};
    all_ = {memory.document, true};
}

bool unit_parser::parse(std::unique_ptr<io::corpus_unit>& raw, io::parsed_unit& parsed, bool alone) {
    if (raw) {
        if (!raw->parse_within(alone ? all_ : ordinary_, parsed)) return false;
        raw.reset();
        std::uint64_t bytes = 0;
        for (const document& d : parsed.documents) bytes += d.text.size() + d.fields.size();
        if (!alone && bytes > ordinary_bytes_) return false;
    }
    reject_what_is_too_much(parsed);
    return true;
}

void unit_parser::reject_what_is_too_much(io::parsed_unit& parsed) {
    std::erase_if(parsed.documents, [&](const document& d) {
        ctx_.check_stop();
        const std::uint64_t needed = work_on(d, all_.bytes);
        if (needed <= all_.bytes) return false;
        const bool is_known = needed != unknown;
        std::string why =
            out_of_memory("work on the document", is_known ? needed : all_.bytes + d.text.size(), all_.bytes)
                .what();
        if (is_known) why += "; " + sufficient_memory(budget_for(needed, all_.bytes, ctx_.memory_limit()));
        parsed.issues.push_back({d.path, d.line, std::move(why), true});
        --parsed.counts.documents;
        ++parsed.counts.rejected;
        return true;
    });
}

std::uint64_t unit_parser::work_on(const document& d, std::uint64_t max) {
    const std::uint64_t bytes = d.text.size(), at_least = work_.a_byte * bytes;
    if (work_.of_text && at_least > max) return std::min(at_least, work_.of_text(d.text));
    if (work_.a_word == 0 && work_.a_distinct_word == 0) return at_least;
    const std::uint64_t at_most = d.listed == word_listing::counts
                                      ? UINT64_MAX  // a line may be any number of words
                                      : at_least + max_for_words(work_, d.text);
    if (at_most <= max) return at_least;
    word_counter counted(work_, at_least, max);
    if (d.listed != word_listing::none) {
        each_listed<std::uint32_t>(d.text, [&](std::string_view word, std::uint32_t count) {
            if (word.empty()) return;
            counted.add(word);
            if (d.listed == word_listing::counts) counted.add_repeated(count);
        });
        return counted.bytes();
    }
    if (d.verbatim) {
        std::string_view rest = d.text;
        while (!rest.empty()) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            counted.add(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        return counted.bytes();
    }
    text::token_list words;
    constexpr std::uint64_t min_list = 8 << 20;  // of one chunk of any characters
    words.max_bytes = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(max / 32, min_list, UINT32_MAX));
    try {
        analyzers_.local().analyze_in_pieces(d.text, words, [&](const text::token_list& piece) {
            ctx_.check_stop();
            for (const text::token& t : piece.tokens) counted.add(piece.word(t));
        });
    } catch (const out_of_memory&) {  // one word, or words that cannot be separated
        return unknown;
    }
    return counted.bytes();
}

}  // namespace quern
