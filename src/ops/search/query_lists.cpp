// SPDX-License-Identifier: Apache-2.0
#include "ops/search/query_lists.hpp"

#include <algorithm>
#include <limits>

#include "ops/search/postings.hpp"
#include "quern/base/error.hpp"

namespace quern::search_detail {
namespace {

constexpr std::string_view for_what = "the documents of n-grams (--order)";

std::vector<std::uint32_t> ids_of(std::span<const phrase_word> words) {
    std::vector<std::uint32_t> ids;
    ids.reserve(words.size());
    for (const phrase_word& word : words) ids.push_back(word.word);
    return ids;
}

/// Whether the words in order end with this one.
bool end_with(std::string_view words, std::string_view code) {
    return words.ends_with(code) &&
           (words.size() == code.size() || ends_a_word(words[words.size() - code.size() - 1]));
}

/// A word alone: its list has the frequency, and only as a document's last word has it no follower.
std::vector<phrase_posting> find_word(const collection_view& collection, const token_stream& tokens,
                                      const phrase_word& word) {
    const auto code = tokens.code->of(word.word);
    const std::string_view last = code.text();
    std::vector<phrase_posting> found;
    found.reserve(word.list.document_frequency);
    for (postings_cursor cursor(word.list, collection.document_lengths); !cursor.done();
         cursor.next_block()) {
        cursor.decode();
        for (std::size_t i = 0; i < cursor.documents().size(); ++i) {
            const std::uint32_t document = cursor.documents()[i], frequency = cursor.frequencies()[i];
            const bool ends = end_with(tokens.words_of(document), last);
            found.push_back({document, frequency, frequency - (ends ? 1U : 0U)});
        }
    }
    return found;
}

}  // namespace

made_list list_of(std::span<const phrase_posting> found, std::span<const std::uint32_t> document_lengths) {
    made_list result;
    postings_writer writer(result.bytes, document_lengths);
    for (const phrase_posting& posting : found) writer.add(posting.document, posting.frequency);
    const auto totals = writer.finish_list();
    result.document_frequency = totals.document_frequency;
    result.collection_frequency = totals.collection_frequency;
    return result;
}

std::vector<std::uint32_t> documents_of(const posting_list& list, const collection_view& collection) {
    std::vector<std::uint32_t> documents;
    documents.reserve(list.document_frequency);
    if (list.document_frequency == 0) return documents;
    for (postings_cursor cursor(list, collection.document_lengths); !cursor.done(); cursor.next_block()) {
        cursor.decode();
        documents.insert(documents.end(), cursor.documents().begin(), cursor.documents().end());
    }
    return documents;
}

std::vector<phrase_posting> united(const collection_view& collection, std::span<const posting_list> lists) {
    const auto saturated = [](std::uint64_t sum) {
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(sum, std::numeric_limits<std::uint32_t>::max()));
    };
    const auto each = [&](const auto& visit) {
        for (const posting_list& list : lists) {
            if (list.document_frequency == 0) continue;
            for (postings_cursor cursor(list, collection.document_lengths); !cursor.done();
                 cursor.next_block()) {
                cursor.decode();
                for (std::size_t i = 0; i < cursor.documents().size(); ++i)
                    visit(cursor.documents()[i], cursor.frequencies()[i]);
            }
        }
    };
    std::uint64_t postings = 0;
    for (const posting_list& list : lists) postings += list.document_frequency;
    std::vector<phrase_posting> found;
    if (3 * postings < collection.document_lengths.size()) {
        found.reserve(postings);
        each([&](std::uint32_t document, std::uint32_t frequency) {
            found.push_back({document, frequency, 0});
        });
        std::ranges::sort(found, {}, &phrase_posting::document);
        std::size_t kept = 0;
        for (const phrase_posting& posting : found) {
            if (kept != 0 && found[kept - 1].document == posting.document) {
                auto& frequency = found[kept - 1].frequency;
                frequency = saturated(std::uint64_t{frequency} + posting.frequency);
            } else {
                found[kept++] = posting;
            }
        }
        found.resize(kept);
        return found;
    }
    std::vector<std::uint32_t> frequencies(collection.document_lengths.size());
    each([&](std::uint32_t document, std::uint32_t frequency) {
        frequencies[document] = saturated(std::uint64_t{frequencies[document]} + frequency);
    });
    for (std::uint32_t d = 0; d < frequencies.size(); ++d)
        if (frequencies[d] != 0) found.push_back({d, frequencies[d], 0});
    return found;
}

const std::vector<phrase_posting>& history_finder::documents_with(std::span<const phrase_word> words) {
    const auto [at, added] = looked_for_.try_emplace(ids_of(words));
    if (added) {
        at->second = words.size() == 1 ? find_word(collection_, tokens_, words.front())
                                       : find_phrase(collection_, tokens_, words);
        memory_.take(at->second.capacity() * sizeof(phrase_posting), for_what);
    }
    return at->second;
}

history_finder::continuation history_finder::continue_history(std::span<const phrase_word> words) {
    const auto& with_word = documents_with(words);
    const auto& with_history = documents_with(words.first(words.size() - 1));
    continuation result;
    result.words = ids_of(words);
    result.holders = static_cast<std::uint32_t>(with_word.size());
    memory_.take(with_history.size() * sizeof(continued_document), for_what);
    result.documents.reserve(with_history.size());
    auto next = with_word.begin();
    bool fits = true;  // postings and the words in order agree in a sound store
    for (const phrase_posting& of : with_history) {
        if (of.followed == 0) continue;
        continued_document document{of.document, of.followed, 0};
        if (next != with_word.end() && next->document == of.document)
            document.frequency = (next++)->frequency;
        fits = fits && document.frequency <= document.history;
        result.documents.push_back(document);
        result.frequency += document.frequency;
        result.history += document.history;
    }
    if (!fits || next != with_word.end())
        throw damaged_store("the store", "tokens", "does not match the postings");
    return result;
}

bool history_finder::add(std::span<const std::optional<phrase_word>> words, std::size_t at) {
    std::vector<phrase_word> longest;
    if (!words[at]) return false;
    longest.push_back(*words[at]);
    for (std::size_t first = at; first > 0 && longest.size() < order_ && words[first - 1]; --first) {
        longest.insert(longest.begin(), *words[first - 1]);
        if (!documents_with(longest).empty()) continue;
        longest.erase(longest.begin());
        break;
    }
    if (longest.size() == 1) return false;
    const auto [place, added] = place_in_found_.try_emplace(ids_of(longest), found_.size());
    if (added) found_.push_back(continue_history(longest));
    ++found_[place->second].count;
    return true;
}

}  // namespace quern::search_detail
