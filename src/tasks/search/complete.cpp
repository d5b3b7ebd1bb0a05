// SPDX-License-Identifier: Apache-2.0
// Completion of the last word from the vocabulary. Words that begin so are a range of the dictionary, so that only the
// numbers of their documents are read; the letters of the best are read at the end.
#include <algorithm>

#include "quern/tasks/search_option_table.hpp"
#include "tasks/search/engine_state.hpp"
#include "tasks/search/word_variants.hpp"
#include "text/near_words.hpp"

namespace quern {
namespace {

struct candidate {
    std::uint32_t id, distance, documents;
};

/// Ids follow the bytes of the words.
bool before(const candidate& a, const candidate& b) {
    if (a.distance != b.distance) return a.distance < b.distance;
    return a.documents != b.documents ? a.documents > b.documents : a.id < b.id;
}

std::vector<candidate> candidates(const word_index& index, const std::string& beginning, typo_tolerance typos,
                                  const context& ctx) {
    std::vector<candidate> found;
    const auto [first, last] = index.dictionary().with_prefix(beginning);
    found.reserve(last - first);
    for (std::uint32_t id = first; id < last; ++id) found.push_back({id, 0, index.document_frequency(id)});
    if (!found.empty() || typos == typo_tolerance::never) return found;
    std::uint32_t edits = max_typos(beginning);
    if (typos == typo_tolerance::one) edits = std::min(edits, 1U);
    if (edits == 0) return found;
    for (const text::near_word& near : text::near_beginnings(index.dictionary(), beginning, edits, ctx))
        found.push_back({near.id, near.distance, index.document_frequency(near.id)});
    return found;
}

}  // namespace

completion_result search_engine::complete(std::string_view typed, const completion_options& options,
                                          const context& ctx) const {
    require_one_store("completion of words");
    check_ranges(options);
    completion_result result;
    result.before = typed;
    const auto unfinished = state_->unfinished_word_of(typed, between_words_of(typed));
    if (!unfinished) return result;
    result.before = typed.substr(0, unfinished->begin);
    result.beginning = unfinished->beginning;
    const word_index& index = state_->store.words();
    std::vector<candidate> found = candidates(index, result.beginning, options.typos, ctx);
    result.total = found.size();
    const std::size_t shown = std::min(options.k, found.size());
    std::ranges::partial_sort(found, found.begin() + static_cast<std::ptrdiff_t>(shown), before);
    result.words.reserve(shown);
    for (const candidate& of : std::span(found).first(shown))
        result.words.push_back({index.dictionary().word(of.id), of.documents,
                                index.postings(of.id).collection_frequency, of.distance});
    return result;
}

}  // namespace quern
