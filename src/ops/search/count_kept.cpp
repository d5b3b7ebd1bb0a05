// SPDX-License-Identifier: Apache-2.0
// Counting without scores: bits for unions, look-ups for the documents of the shortest list that is required.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "ops/search/document_bits.hpp"
#include "ops/search/kept_list.hpp"
#include "ops/search/kept_reader.hpp"

namespace quern::search_detail {
namespace {

using lists = std::vector<const kept_list*>;

using bit_words = std::span<const std::uint64_t>;

/// Copies the documents that pass, all if `passing` is empty; returns their number.
std::size_t copy_passing(std::span<const std::uint32_t> documents, bit_words passing, std::uint32_t* to) {
    if (passing.empty()) {
        std::ranges::copy(documents, to);
        return documents.size();
    }
    const bit_reader bits(passing);
    std::size_t kept = 0;
    for (const std::uint32_t document : documents) {
        to[kept] = document;
        kept += bits.contains(document) ? 1 : 0;
    }
    return kept;
}

std::uint64_t count_looked_up(const kept_list& leader, const lists& required, const lists& excluded,
                              bit_words passing) {
    constexpr std::size_t piece = 1024;
    std::array<std::uint32_t, piece> left;  // NOLINT(cppcoreguidelines-pro-type-member-init): written first
    std::vector<kept_reader> others;
    others.reserve(required.size() + excluded.size());
    for (const auto* of : {&required, &excluded})
        for (const kept_list* list : *of) others.emplace_back(*list);
    std::uint64_t count = 0;
    const std::span<const std::uint32_t> all(leader.documents);
    for (std::size_t begin = 0; begin < all.size(); begin += piece) {
        std::size_t size =
            copy_passing(all.subspan(begin, std::min(piece, all.size() - begin)), passing, left.data());
        for (std::size_t i = 0; i < others.size() && size != 0; ++i) {
            const bool wanted = i < required.size();
            std::size_t kept = 0;
            for (std::size_t d = 0; d < size; ++d) {
                left[kept] = left[d];
                kept += others[i].contains(left[d]) == wanted ? 1 : 0;
            }
            size = kept;
        }
        count += size;
    }
    return count;
}

/// Documents in windows of bits.
class bit_counter {
  public:
    bit_counter(const lists& required, const lists& any, const lists& excluded, bit_words passing)
        : required_(required.begin(), required.end()),
          any_(any.begin(), any.end()),
          excluded_(excluded.begin(), excluded.end()),
          passing_(passing) {}

    std::uint64_t count(std::uint64_t documents) {
        std::uint64_t found = 0;
        for (begin_ = 0; begin_ < documents; begin_ += window) {
            words_ = static_cast<std::size_t>((std::min(window, documents - begin_) + 63) / 64);
            if (any_passes()) found += count_window();
        }
        return found;
    }

  private:
    static constexpr std::uint64_t window = 32'768;
    using bits = std::array<std::uint64_t, window / 64>;
    struct placed {
        placed(const kept_list* of) : list(of) {}  // NOLINT(google-explicit-constructor): made from lists
        const kept_list* list;
        std::size_t next = 0;  // of its documents
    };

    bit_words passing_here() const { return passing_.subspan(static_cast<std::size_t>(begin_ / 64), words_); }
    bool any_passes() const {
        return passing_.empty() ||
               std::ranges::any_of(passing_here(), [](std::uint64_t word) { return word != 0; });
    }

    std::uint64_t count_window() {
        std::fill_n(found_.begin(), words_, 0);
        for (placed& list : any_) add(list, found_);
        for (std::size_t i = 0; i < required_.size(); ++i) {
            if (i == 0) {
                add(required_[i], found_);
                continue;
            }
            std::fill_n(own_.begin(), words_, 0);
            add(required_[i], own_);
            for (std::size_t w = 0; w < words_; ++w) found_[w] &= own_[w];
        }
        for (placed& list : excluded_) {
            std::fill_n(own_.begin(), words_, 0);
            add(list, own_);
            for (std::size_t w = 0; w < words_; ++w) found_[w] &= ~own_[w];
        }
        if (!passing_.empty())
            for (std::size_t w = 0; w < words_; ++w) found_[w] &= passing_here()[w];
        std::uint64_t count = 0;
        for (std::size_t w = 0; w < words_; ++w)
            count += static_cast<std::uint64_t>(std::popcount(found_[w]));
        return count;
    }

    void add(placed& of, bits& to) const {
        if (of.list->form == kept_form::dense) {
            const std::uint64_t* const from = of.list->bits.data() + begin_ / 64;
            for (std::size_t w = 0; w < words_; ++w) to[w] |= from[w];
            return;
        }
        const std::vector<std::uint32_t>& documents = of.list->documents;
        if (of.next < documents.size() && documents[of.next] < begin_)  // of windows that were passed over
            of.next = static_cast<std::size_t>(
                std::lower_bound(documents.begin() + static_cast<std::ptrdiff_t>(of.next), documents.end(),
                                 begin_) -
                documents.begin());
        for (; of.next < documents.size() && documents[of.next] < begin_ + window; ++of.next) {
            const std::uint64_t at = documents[of.next] - begin_;
            to[at / 64] |= std::uint64_t{1} << at % 64;
        }
    }

    std::vector<placed> required_, any_, excluded_;
    bit_words passing_;
    std::uint64_t begin_ = 0;
    std::size_t words_ = 0;  // of the window
    bits found_{}, own_{};
};

}  // namespace

std::uint64_t count_kept(std::span<const kept_term> terms, std::uint64_t documents,
                         std::span<const std::uint64_t> passing) {
    lists required, any, excluded;
    for (const kept_term& term : terms) {
        if (term.required && term.list->size == 0) return 0;
        if (term.list->size == 0 || term.count == 0) continue;
        (term.excluded ? excluded : term.required ? required : any).push_back(term.list);
    }
    if (!required.empty()) any.clear();
    if (required.size() + any.size() == 0) return 0;
    if (passing.empty() && excluded.empty() && required.size() + any.size() == 1)
        return (required.empty() ? any : required).front()->size;
    std::ranges::sort(required, {}, &kept_list::size);
    if (!passing.empty() && any.size() == 1) required.swap(any);  // of one list, all documents have it
    if (!required.empty() && required.front()->form != kept_form::dense) {
        const kept_list& leader = *required.front();
        required.erase(required.begin());
        return count_looked_up(leader, required, excluded, passing);
    }
    return bit_counter(required, any, excluded, passing).count(documents);
}

}  // namespace quern::search_detail
