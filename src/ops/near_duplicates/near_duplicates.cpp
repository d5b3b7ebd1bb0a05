// SPDX-License-Identifier: Apache-2.0
// The door: options are checked, the place and the method are chosen.
#include <limits>

#include "device/place.hpp"
#include "ops/near_duplicates/find_exhaustively.hpp"
#include "ops/near_duplicates/methods.hpp"
#include "ops/near_duplicates/units.hpp"
#include "ops/near_duplicates/verify.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

using namespace near_duplicates_detail;

void require(bool fine, const char* what) {
    if (!fine) throw usage_error(what);
}

void check(const duplicate_options& options, const duplicate_scope& scope, std::size_t documents,
           std::span<const std::uint64_t> offsets, std::size_t units) {
    const auto below = [](const decimal& value, std::uint64_t most_tenths) {
        return value.denominator != 0 && value.denominator <= 1'000'000'000 && value.numerator != 0 &&
               value.numerator <= value.denominator * most_tenths / 10;
    };
    require(below(options.threshold, 5), "the threshold lies above 0 and is at most 0.5");
    require(below(options.slack, 1000), "the slack lies above 0 and is at most 100");
    require(below(options.similarity, 10), "the similarity lies above 0 and is at most 1");
    require(options.signature_length >= 1 && options.signature_length <= 1000,
            "a signature has 1 to 1000 letters");
    require(options.shingle >= 1 && options.shingle <= 100, "a shingle has 1 to 100 words");
    require(options.hamming <= 16, "a Hamming distance of fingerprints is at most 16");
    require(documents < std::numeric_limits<std::uint32_t>::max(), "more than 2^32 - 2 documents");
    require(scope.first_new <= documents, "the first new document lies behind the last");
    require(offsets.empty() || (offsets.front() == 0 && offsets.back() == units),
            "offsets do not cover the documents");
    for (std::size_t i = 0; i < documents; ++i) {
        require(offsets[i] <= offsets[i + 1], "offsets of documents fall");
        require(offsets[i + 1] - offsets[i] < (std::uint64_t{1} << 31), "a document has 2^31 bytes or more");
    }
}

/// For what reads all texts, not those only that their sketches leave.
void read_all_old(const text_sketches& known, const duplicate_scope& scope, const context& run) {
    if (!known.before_reading) return;
    for (std::uint32_t text = 0; text < scope.first_new; ++text) {
        run.check_stop();
        known.before_reading(text);
    }
}

/// Every method of the edit rate but `automatic`, which reads texts itself.
template <class Place, class Unit>
std::vector<duplicate_pair> find(Place& place, const text_list& texts, const unit_list<Unit>& units,
                                 const duplicate_options& options, const duplicate_scope& scope,
                                 duplicate_counts& counts) {
    std::vector<duplicate_pair> pairs;
    if (options.method == duplicate_method::exhaustive) {
        pairs = find_exhaustively(place, units, options, scope, counts);
    } else {
        const auto candidates = signature_candidates(place, texts, options, scope, counts);
        pairs = verify(place, units, options.threshold, std::span<const candidate>(candidates), counts);
    }
    counts.pairs = pairs.size();
    return pairs;
}

}  // namespace

duplicate_result near_duplicates(const text_list& texts, const duplicate_options& options,
                                 const duplicate_scope& scope, const context& run) {
    return near_duplicates(texts, {}, options, scope, run);
}

duplicate_result near_duplicates(const text_list& texts, const text_sketches& known,
                                 const duplicate_options& options, const duplicate_scope& scope,
                                 const context& run) {
    check(options, scope, texts.size(), texts.offsets, texts.bytes.size());
    require(options.method <= duplicate_method::global_memory, "this method compares words, not texts");
    const bool of_bytes = options.unit == edit_unit::byte;
    duplicate_result result;
    result.pairs = at_place(run, "dedup", [&](auto& place) {
        duplicate_counts& counts = result.counts;
        const bool automatic = options.method == duplicate_method::automatic;
        if (!automatic || known.size() < scope.first_new) read_all_old(known, scope, run);
        if (automatic) {
            return of_bytes ? find_by_sketches<std::uint8_t>(place, texts, known, options, scope, counts)
                            : find_by_sketches<std::uint32_t>(place, texts, known, options, scope, counts);
        }
        if (of_bytes) return find(place, texts, as_bytes(texts), options, scope, counts);
        cpu_place decoding(run);
        const decoded_texts decoded = decode(decoding, texts);
        return find(place, texts, decoded.list(), options, scope, counts);
    });
    return result;
}

duplicate_result near_duplicates(const word_list& documents, std::uint32_t vocabulary,
                                 const duplicate_options& options, const duplicate_scope& scope,
                                 const context& run) {
    check(options, scope, documents.size(), documents.offsets, documents.words.size());
    for (const std::uint32_t word : documents.words)
        require(word < vocabulary, "a word lies beyond the vocabulary");
    require(documents.hashes.empty() || documents.hashes.size() == vocabulary,
            "there are hashes of some words only");
    require_cpu(run, "dedup by words");
    cpu_place place(run);
    duplicate_result result;
    switch (options.method) {
        case duplicate_method::shingle:
            result.pairs = find_by_shingles(place, documents, options, scope, result.counts);
            break;
        case duplicate_method::simhash:
            result.pairs = find_by_simhash(place, documents, vocabulary, options, scope, result.counts);
            break;
        case duplicate_method::i_match:
            result.pairs = find_by_i_match(place, documents, vocabulary, options, scope, result.counts);
            break;
        default:
            throw usage_error("this method compares texts, not words");
    }
    return result;
}

}  // namespace quern
