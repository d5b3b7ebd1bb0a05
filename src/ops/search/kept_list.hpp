// SPDX-License-Identifier: Apache-2.0
// The parts of a word in all its documents, kept for many queries with the same model and options: a query then adds
// numbers instead of decoding and scoring postings. The numbers are those of scoring.hpp, so results have the same bits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "quern/ops/search.hpp"

namespace quern::search_detail {

/// How a kept list is stored; results do not depend on it. Tests make every form.
enum class kept_form {
    documents,  ///< the documents and their parts: for lists short against the collection
    windows,    ///< the same, with bounds and a position for each window
    dense,      ///< a part for every document of the collection: for lists that most documents are in
};

struct kept_list {
    /// Documents with a bound of their own.
    static constexpr std::uint32_t window = 1024;
    /// Ranks of which the part is known.
    static constexpr std::array<std::size_t, 3> known_ranks = {10, 100, 1000};
    /// Of so many documents the order is known.
    static constexpr std::size_t known_best = 256;

    kept_form form = kept_form::documents;
    std::vector<std::uint32_t> documents;  ///< ascending; empty if dense
    std::vector<std::int64_t> parts;       ///< at least 1; if dense 0 without the word
    std::vector<std::uint64_t> bits;       ///< if dense: document_bits.hpp; else empty
    /// Of `documents`, at most 255; empty if the list is dense or has documents by titles.
    std::vector<std::uint8_t> frequencies;
    std::vector<std::int64_t> window_max;  ///< not of kept_form::documents
    std::vector<std::uint32_t>
        window_begin;             ///< of kept_form::windows: positions in `documents`, then their number
    std::uint32_t size = 0;       ///< documents
    std::int64_t max = 0;         ///< of the parts
    std::int64_t background = 0;  ///< of every document

    /// At least k documents have this part or more; 0 if that is not known. The first call reads all parts.
    std::int64_t floor_of(std::size_t k) const;
    /// The best known_best documents by this word alone, or all if it has fewer, in order. The first call finds them.
    std::span<const scored_document> best_documents() const;
    std::uint64_t bytes() const;

  private:
    /// Required words and phrases need none of it.
    struct ranks {
        std::once_flag floors_once, documents_once;
        std::array<std::int64_t, known_ranks.size()> floors{};
        std::vector<scored_document> documents;
    };
    const ranks& with_floors() const;

    std::unique_ptr<ranks> ranks_ = std::make_unique<ranks>();  // of a const list, too: only once
};

/// The form that costs least, of a list of this many documents.
kept_form kept_form_for(std::uint64_t size, std::uint64_t documents);

/// An upper bound of kept_list::bytes.
std::uint64_t kept_bytes(std::uint64_t size, std::uint64_t documents);

/// Whether lists of the model can be kept: a score is a sum of parts, without one of the document's length.
bool can_be_kept(ranking_model model);

/// The list of a term, including the part of its titles: once, whatever term.count is. Throws damaged_store.
/// `form`: kept_form_for by default. Cost: O(postings), 8 or 12 bytes for each, or 8 for each document.
kept_list keep_list(const collection_view& collection, const query_term& term, const ranking_options& options,
                    std::optional<kept_form> form = {});

class numbered_documents;

/// The list of the documents of a set alone, under their numbers: what a ranking of these documents needs of it. Frequencies
/// are left out. Cost: the documents of the list, or those of the set if the list is dense.
kept_list keep_those_of(const kept_list& list, const numbered_documents& set,
                        std::optional<kept_form> form = {});

struct kept_term {
    const kept_list* list = nullptr;
    std::uint32_t count = 1;  ///< occurrences in the query
    bool required = false;    ///< every result must have it
    bool excluded = false;    ///< no result may have it
};

/// search, or search_requiring, for terms whose lists are kept; `documents` of the collection. Lists of required and
/// excluded terms must have no documents by titles alone. `total`: if not null, the number of documents found, for any k.
/// Contract class: exact. Cost: the postings of the words that can lift a document into the best k (MaxScore by windows
/// of 1,024 documents), all others are looked up; if documents are counted, those of count_kept besides. `passing`: as
/// search_query::passing; windows without such a document cost nothing, and where few pass, words are looked up for them.
std::vector<scored_document> rank_kept(std::span<const kept_term> terms, std::uint64_t documents,
                                       std::size_t k, std::uint64_t* total = nullptr,
                                       const context* ctx = nullptr,
                                       std::span<const std::uint64_t> passing = {});

/// The number of documents that rank_kept finds. Cost: nothing for one list without `passing`; with required terms
/// the documents of the shortest list, looked up in the others; else the postings, and a bit for each document of dense
/// lists.
std::uint64_t count_kept(std::span<const kept_term> terms, std::uint64_t documents,
                         std::span<const std::uint64_t> passing = {});

}  // namespace quern::search_detail
