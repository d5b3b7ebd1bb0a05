// SPDX-License-Identifier: Apache-2.0
// Tokenises texts where they are counted, written once for all places; each place defines the form of its dictionary
// (resident_words).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/ngram_likelihood/ngram_methods.hpp"
#include "primitives/dictionary/resident_words.hpp"
#include "primitives/segments.hpp"
#include "quern/base/error.hpp"

namespace quern::ngram_detail {

/// Counts words that are on the place; the host need not know them.
void count_words(cpu_place& place, placed_text<cpu_place> words, std::uint32_t vocabulary,
                 const ngram_options& options, const row_sink& sink, ngram_record& record);
void count_words(cuda_place& place, placed_text<cuda_place> words, std::uint32_t vocabulary,
                 const ngram_options& options, const row_sink& sink, ngram_record& record);
/// One place's part of the work of several, as count_part().
bool count_words_part(cpu_place& place, placed_text<cpu_place> words, std::uint32_t vocabulary,
                      const ngram_options& options, const place_share& share, ngram_record& record);
bool count_words_part(cuda_place& place, placed_text<cuda_place> words, std::uint32_t vocabulary,
                      const ngram_options& options, const place_share& share, ngram_record& record);
/// Counts words as strings.
void count_strings(cpu_place& place, const primitives::tokenized_text<cpu_place>& cut,
                   const ngram_options& options, const row_sink& sink, ngram_record& record);
void count_strings(cuda_place& place, const primitives::tokenized_text<cuda_place>& cut,
                   const ngram_options& options, const row_sink& sink, ngram_record& record);

/// A dictionary that stays on a place, and texts counted with it.
template <class Place>
class text_counting {
  public:
    text_counting(Place& place, cpu_place& host, std::span<const std::string_view> words)
        : place_(place),
          host_(host),
          dictionary_(place_, [words, at = std::size_t{0}]() mutable -> std::optional<std::string_view> {
              if (at == words.size()) return {};
              return words[at++];
          }) {}

    /// Throws invalid_value if the offsets of documents do not ascend from 0 to the end of the text; usage_error for a
    /// method that the place lacks and for 2^32 documents.
    void check(const ngram_text& text, const ngram_options& options) {
        if (std::is_same_v<Place, cuda_place> && options.method == ngram_method::suffix_sigma)
            throw usage_error("n-gram likelihood: the method suffix-sigma runs on cpu only");
        if (text.documents.size() > std::numeric_limits<std::uint32_t>::max())
            throw usage_error("n-gram likelihood: more than 2^32 - 2 documents");
        primitives::check_offsets(host_, text.documents, text.text.size());
    }
    ngram_record count(const ngram_text& text, const ngram_options& options, const row_sink& sink) {
        ngram_record record;
        if (options.method == ngram_method::strings) {
            check_size("the method strings", text.text.size());
            count_strings(place_, cut(text, 0, documents_of(text)), options, sink, record);
        } else if (text.text.size() <= max_at_once()) {
            placed_text<Place> words = look_up(text, 0, documents_of(text));
            count_words(place_, std::move(words), dictionary_.size(), options, sink, record);
        } else {
            count_in_ranges(text, options, sink, record);
        }
        place_.synchronise();
        return record;
    }
    /// One place's part of the work of several: each tokenises a share of the documents. False if a place lacks the memory.
    bool count_part(const ngram_text& text, const ngram_options& options, const place_share& share,
                    ngram_record& record) {
        const std::size_t first = first_of_share(text, share.index, share.turns.places()),
                          last = first_of_share(text, share.index + 1, share.turns.places());
        const bool fits = first == last || text.documents[last] - text.documents[first] <= max_at_once();
        if (share.turns.min_of_all(fits ? 1 : 0) == 0) return false;
        auto words =
            share.words<Place>().gather(place_, share.index, look_up(text, first, last), share.turns);
        return words &&
               count_words_part(place_, std::move(*words), dictionary_.size(), options, share, record);
    }
    std::uint64_t dictionary_bytes() const { return dictionary_.bytes(); }

  private:
    static std::size_t documents_of(const ngram_text& text) {
        return text.documents.empty() ? 0 : text.documents.size() - 1;
    }
    /// The first document of one of so many shares, about equal in bytes.
    static std::size_t first_of_share(const ngram_text& text, std::size_t index, std::size_t shares) {
        if (index == shares) return documents_of(text);
        const std::uint64_t begin = text.text.size() / shares * index;
        return static_cast<std::size_t>(std::ranges::lower_bound(text.documents, begin) -
                                        text.documents.begin());
    }
    static void check_size(const std::string& what, std::uint64_t bytes) {
        if (bytes > std::numeric_limits<std::uint32_t>::max())
            throw usage_error("n-gram likelihood: " + what + " takes texts of less than 4 GiB");
    }
    /// Bytes of text: tokenising takes twelve times as much in addition.
    std::uint64_t max_at_once() {
        return std::min<std::uint64_t>(place_.memory().left() / 16,
                                       std::numeric_limits<std::uint32_t>::max());
    }

    /// Tokenises documents [first, last).
    primitives::tokenized_text<Place> cut(const ngram_text& text, std::size_t first, std::size_t last) {
        if (first == last) return {};
        const std::uint64_t begin = text.documents[first], end = text.documents[last];
        std::vector<std::uint64_t> offsets(text.documents.begin() + static_cast<std::ptrdiff_t>(first),
                                           text.documents.begin() + static_cast<std::ptrdiff_t>(last + 1));
        for (std::uint64_t& offset : offsets) offset -= begin;
        const std::span bytes(reinterpret_cast<const std::uint8_t*>(text.text.data()) + begin, end - begin);
        const auto on_place = array_from<Place>(place_, std::span<const std::uint8_t>(bytes), "text");
        const auto documents =
            array_from<Place>(place_, std::span<const std::uint64_t>(offsets), "documents");
        return primitives::tokenize_runs(
            place_, on_place.span(), documents.span(),
            text.digits ? primitives::run_of::letters_and_digits : primitives::run_of::letters);
    }
    placed_text<Place> look_up(const ngram_text& text, std::size_t first, std::size_t last) {
        const primitives::tokenized_text<Place> words = cut(text, first, last);
        placed_text<Place> found{make_array<std::uint32_t>(place_, words.begins.size(), "words"),
                                 to_host(place_, words.document_offsets.span())};
        if (found.ids.size() != 0)
            dictionary_.find(place_, words.letters.span(), words.begins.span(), words.ends.span(),
                             found.ids.span());
        return found;
    }

    void count_in_ranges(const ngram_text& text, const ngram_options& options, const row_sink& sink,
                         ngram_record& record) {
        std::vector<std::uint32_t> ids;
        std::vector<std::uint64_t> documents{0};
        for (std::size_t first = 0, last = 0; first < documents_of(text); first = last) {
            const std::uint64_t max = std::max<std::uint64_t>(max_at_once(), 1);
            while (last < documents_of(text) &&
                   (last == first || text.documents[last + 1] - text.documents[first] <= max))
                ++last;
            check_size("a document", text.documents[last] - text.documents[first]);
            const placed_text<Place> found = look_up(text, first, last);
            const std::size_t before = ids.size();
            ids.resize(before + found.ids.size());
            copy_out<std::uint32_t>(place_, found.ids.span(), std::span(ids).subspan(before));
            for (std::size_t d = 1; d < found.documents.size(); ++d)
                documents.push_back(before + found.documents[d]);
        }
        const ngram_collection collection{
            .words = ids, .documents = documents, .vocabulary = dictionary_.size()};
        count_ngrams(place_, collection, options, sink, record);
    }

    Place& place_;
    cpu_place& host_;
    primitives::resident_words<Place> dictionary_;
};

}  // namespace quern::ngram_detail
