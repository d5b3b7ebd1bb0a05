// SPDX-License-Identifier: Apache-2.0
#include "ops/search/kept_list.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

#include "ops/search/document_bits.hpp"
#include "ops/search/postings.hpp"
#include "ops/search/probabilistic_scorers.hpp"
#include "ops/search/search_impl.hpp"

namespace quern::search_detail {
namespace {

struct scored_postings {
    std::vector<std::uint32_t> documents;
    std::vector<std::int64_t> parts;
    std::vector<std::uint8_t> frequencies;  // at most 255
};

template <typename Scorer>
scored_postings score(const collection_view& collection, const posting_list& list, const Scorer& scorer) {
    scored_postings result;
    result.documents.reserve(list.document_frequency);
    result.parts.reserve(list.document_frequency);
    result.frequencies.reserve(list.document_frequency);
    if (list.document_frequency == 0) return result;
    alignas(64) std::array<std::uint32_t, block_size + kernel_padding> lengths{};
    alignas(64) std::array<std::int64_t, block_size + kernel_padding> parts{};
    for (postings_cursor cursor(list, collection.document_lengths); !cursor.done(); cursor.next_block()) {
        cursor.decode();
        const auto documents = cursor.documents();
        for (std::size_t i = 0; i < documents.size(); ++i)
            lengths[i] = collection.document_lengths[documents[i]];
        scorer.parts(cursor.frequencies().data(), lengths.data(), documents.size(), parts.data());
        result.documents.insert(result.documents.end(), documents.begin(), documents.end());
        result.parts.insert(result.parts.end(), parts.begin(),
                            parts.begin() + static_cast<std::ptrdiff_t>(documents.size()));
        for (const std::uint32_t frequency : cursor.frequencies())
            result.frequencies.push_back(static_cast<std::uint8_t>(std::min<std::uint32_t>(frequency, 255)));
    }
    return result;
}

/// Adds `part` to the documents of the list, which may be new.
void add_titles(const collection_view& collection, const posting_list& titles, std::int64_t part,
                scored_postings& to) {
    scored_postings both;
    both.documents.reserve(to.documents.size() + titles.document_frequency);
    both.parts.reserve(both.documents.capacity());
    std::size_t next = 0;
    const auto take_below = [&](std::uint64_t document) {
        for (; next < to.documents.size() && to.documents[next] < document; ++next) {
            both.documents.push_back(to.documents[next]);
            both.parts.push_back(to.parts[next]);
        }
    };
    for (postings_cursor cursor(titles, collection.document_lengths); !cursor.done(); cursor.next_block()) {
        cursor.decode();
        for (const std::uint32_t document : cursor.documents()) {
            take_below(document);
            const bool has_word = next < to.documents.size() && to.documents[next] == document;
            both.documents.push_back(document);
            both.parts.push_back(part + (has_word ? to.parts[next++] : 0));
        }
    }
    take_below(~std::uint64_t{0});
    to = std::move(both);
}

void set_windows(kept_list& list, std::uint64_t documents) {
    const std::size_t windows =
        static_cast<std::size_t>((documents + kept_list::window - 1) / kept_list::window);
    list.window_max.assign(windows, 0);
    list.window_begin.reserve(windows + 1);
    for (std::size_t i = 0; i < list.documents.size(); ++i) {
        const std::size_t own = list.documents[i] / kept_list::window;
        while (list.window_begin.size() <= own) list.window_begin.push_back(static_cast<std::uint32_t>(i));
        list.window_max[own] = std::max(list.window_max[own], list.parts[i]);
    }
    list.window_begin.resize(windows + 1, static_cast<std::uint32_t>(list.documents.size()));
}

void make_dense(kept_list& list, std::uint64_t documents) {
    std::vector<std::int64_t> parts(static_cast<std::size_t>(documents));
    list.bits.resize(words_of_bits(documents));
    for (std::size_t i = 0; i < list.documents.size(); ++i) {
        const std::uint32_t document = list.documents[i];
        parts[document] = list.parts[i];
        list.bits[document / 64] |= std::uint64_t{1} << document % 64;
    }
    list.parts = std::move(parts);
    list.documents = std::vector<std::uint32_t>();  // {} would keep the memory
    list.window_begin = std::vector<std::uint32_t>();
    list.frequencies = std::vector<std::uint8_t>();
}

/// Sets all but the documents with their parts, and the background.
void set_form(kept_list& list, std::uint64_t documents, std::optional<kept_form> form) {
    list.size = static_cast<std::uint32_t>(list.documents.size());
    list.form = form.value_or(kept_form_for(list.size, documents));
    list.max = list.parts.empty() ? 0 : *std::ranges::max_element(list.parts);
    if (list.form != kept_form::documents) set_windows(list, documents);
    if (list.form == kept_form::dense) make_dense(list, documents);
}

}  // namespace

const kept_list::ranks& kept_list::with_floors() const {
    std::call_once(ranks_->floors_once, [this] {
        std::vector<std::int64_t> left;
        left.reserve(size);
        std::ranges::copy_if(parts, std::back_inserter(left), [](std::int64_t part) { return part != 0; });
        for (std::size_t i = known_ranks.size(); i > 0; --i) {
            const std::size_t rank = known_ranks[i - 1];
            if (rank > left.size()) continue;
            const auto at = left.begin() + static_cast<std::ptrdiff_t>(rank - 1);
            std::nth_element(left.begin(), at, left.end(), std::greater<>());
            ranks_->floors[i - 1] = *at;
            left.resize(rank);  // the best of all
        }
    });
    return *ranks_;
}

std::int64_t kept_list::floor_of(std::size_t k) const {
    const auto at = std::ranges::lower_bound(known_ranks, k);
    if (at == known_ranks.end() || *at > size) return 0;
    return with_floors().floors[static_cast<std::size_t>(at - known_ranks.begin())];
}

std::span<const scored_document> kept_list::best_documents() const {
    std::call_once(ranks_->documents_once, [this] {
        // At least known_best documents have this part, if there are so many.
        const std::int64_t worst = floor_of(known_best);
        auto& best = ranks_->documents;
        for (std::size_t i = 0; i < parts.size(); ++i)
            if (parts[i] >= std::max<std::int64_t>(worst, 1))
                best.push_back({documents.empty() ? static_cast<std::uint32_t>(i) : documents[i], parts[i]});
        if (best.size() > known_best) {
            const auto end = best.begin() + known_best;
            std::ranges::nth_element(best, end, ranks_before);
            best.resize(known_best);
        }
        std::ranges::sort(best, ranks_before);
        best.shrink_to_fit();
    });
    return ranks_->documents;
}

std::uint64_t kept_list::bytes() const {
    return sizeof *this + sizeof(ranks) +
           std::min<std::uint64_t>(size, known_best) * sizeof(scored_document) +
           documents.capacity() * sizeof documents[0] + parts.capacity() * sizeof parts[0] +
           window_max.capacity() * sizeof window_max[0] + window_begin.capacity() * sizeof window_begin[0] +
           bits.capacity() * sizeof bits[0] + frequencies.capacity() * sizeof frequencies[0];
}

// Adding a window of a dense list takes 1/8 ns a document; a posting of another list takes 1 ns.
kept_form kept_form_for(std::uint64_t size, std::uint64_t documents) {
    constexpr std::uint64_t dense_share = 8, postings_per_window = 8;
    if (size >= documents / dense_share) return kept_form::dense;
    return size / postings_per_window >= documents / kept_list::window ? kept_form::windows
                                                                       : kept_form::documents;
}

std::uint64_t kept_bytes(std::uint64_t size, std::uint64_t documents) {
    constexpr std::uint64_t part = sizeof(std::int64_t), id = sizeof(std::uint32_t), frequency = 1;
    constexpr std::uint64_t ranks = 256;  // at most, of what is made for the best documents besides these
    const std::uint64_t fixed =
        sizeof(kept_list) + ranks +
        std::min<std::uint64_t>(size, kept_list::known_best) * sizeof(scored_document);
    const std::uint64_t windows = (part + id) * (documents / kept_list::window + 2);
    switch (kept_form_for(size, documents)) {
        case kept_form::dense:
            return fixed + part * documents + windows + words_of_bits(documents) * 8;
        case kept_form::windows:
            return fixed + (part + id + frequency) * size + windows;
        case kept_form::documents:
            break;
    }
    return fixed + (part + id + frequency) * size;
}

bool can_be_kept(ranking_model model) {
    if (model == ranking_model::impact) return false;  // parts depend on the word's weight in the query
    return with_scorer(model, []<typename Scorer>() { return !Scorer::length_model::used; });
}

kept_list keep_list(const collection_view& collection, const query_term& term, const ranking_options& options,
                    std::optional<kept_form> form) {
    check_query(collection, {std::span(&term, 1)}, options);
    kept_list list;
    scored_postings made = with_scorer(options.model, [&]<typename Scorer>() {
        if (term.list.scored_documents() == 0)
            return scored_postings();  // as in window_search: no part at all
        const Scorer scorer(collection, term.list, options);
        list.background = weighted(scorer.background(), term.weight);
        if (term.list.document_frequency == 0) return scored_postings();
        return score(collection, term.list, scorer);
    });
    if (term.weight != weight_one)
        for (std::int64_t& part : made.parts) part = weighted_part(part, term.weight);
    if (options.title_weight != 0 && term.list.document_frequency != 0 &&
        term.titles.document_frequency != 0) {
        const std::int64_t of_title = title_part(collection, term.list, options.title_weight);
        add_titles(collection, term.titles, weighted_part(of_title, term.weight), made);
        made.frequencies = std::vector<std::uint8_t>();
    }
    list.documents = std::move(made.documents);
    list.parts = std::move(made.parts);
    list.frequencies = std::move(made.frequencies);
    set_form(list, collection.document_lengths.size(), form);
    return list;
}

kept_list keep_those_of(const kept_list& list, const numbered_documents& set, std::optional<kept_form> form) {
    kept_list kept;
    kept.background = list.background;
    const std::size_t most = std::min(list.size, set.size());
    kept.documents.reserve(most);
    kept.parts.reserve(most);
    if (list.form == kept_form::dense) {
        std::uint32_t number = 0;
        set.bits().each(0, list.parts.size(), [&](std::uint32_t document) {
            if (const std::int64_t part = list.parts[document]; part != 0) {
                kept.documents.push_back(number);
                kept.parts.push_back(part);
            }
            ++number;
        });
    } else {
        for (std::size_t i = 0; i < list.documents.size(); ++i) {
            if (!set.bits().contains(list.documents[i])) continue;
            kept.documents.push_back(set.number(list.documents[i]));
            kept.parts.push_back(list.parts[i]);
        }
        kept.documents.shrink_to_fit();
        kept.parts.shrink_to_fit();
    }
    set_form(kept, set.size(), form);
    return kept;
}

}  // namespace quern::search_detail
