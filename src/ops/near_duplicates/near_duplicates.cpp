// SPDX-License-Identifier: Apache-2.0
// The entry point: checks the options, chooses the place and the method.
#include <algorithm>
#include <limits>

#include "device/paced_checks.hpp"
#include "device/place.hpp"
#include "device/progress_meter.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/exact/find_exhaustively.hpp"
#include "ops/near_duplicates/exact/verify.hpp"
#include "ops/near_duplicates/texts/texts.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/duplicate_option_table.hpp"

namespace quern {
namespace {

using namespace near_duplicates_detail;

void require(bool fine, const char* what) {
    if (!fine) throw usage_error(what);
}

void check(const duplicate_options& options, const duplicate_scope& scope, std::size_t documents,
           std::span<const std::uint64_t> offsets, std::size_t units) {
    validate(options);
    require(documents < std::numeric_limits<std::uint32_t>::max(), "more than 2^32 - 2 documents");
    require(scope.first_new <= documents, "the first new document is past the last");
    require(offsets.empty() || (offsets.front() == 0 && offsets.back() == units),
            "offsets do not cover the documents");
    for (std::size_t i = 0; i < documents; ++i) {
        require(offsets[i] <= offsets[i + 1], "the offsets of documents descend");
        require(offsets[i + 1] - offsets[i] < (std::uint64_t{1} << 31), "a document has 2^31 bytes or more");
    }
}

/// For methods that read all texts, not only those that their sketches leave.
void read_all_old(const text_sketches& known, const duplicate_scope& scope, const context& ctx) {
    if (!known.before_reading) return;
    for (std::uint32_t text = 0; text < scope.first_new; ++text) {
        ctx.check_stop();
        known.before_reading(text);
    }
}

/// All methods of the edit rate except `automatic`, which reads texts itself.
template <class Place, class Unit>
std::vector<duplicate_pair> find(Place& place, const text_list& texts, const unit_list<Unit>& units,
                                 const duplicate_options& options, const duplicate_scope& scope,
                                 duplicate_counts& counts) {
    std::vector<duplicate_pair> pairs;
    if (options.method == duplicate_method::exhaustive) {
        pairs = find_exhaustively(place, units, options, scope, counts);
    } else {
        const std::vector<candidate> candidates = signature_candidates(place, texts, options, scope, counts);
        constexpr std::size_t at_once = std::size_t{1} << 18;
        progress_meter meter(place.ctx(), "measure", candidates.size(), "pairs");
        for (std::span<const candidate> rest = candidates; !rest.empty();) {
            const auto some = rest.first(std::min(rest.size(), at_once));
            const auto found = verify(place, units, options.threshold, some, counts);
            pairs.insert(pairs.end(), found.begin(), found.end());
            rest = rest.subspan(some.size());
            meter.add(some.size());
        }
    }
    counts.pairs = pairs.size();
    return pairs;
}

}  // namespace

void validate(const duplicate_options& options) {
    for (const decimal& value : {options.threshold, options.slack, options.similarity})
        require(value.denominator <= 1'000'000'000, "a decimal has more than nine digits after its point");
    check_ranges(options);
}

duplicate_result near_duplicates(const text_list& texts, const duplicate_options& options,
                                 const duplicate_scope& scope, const context& ctx) {
    return near_duplicates(texts, {}, options, scope, ctx);
}

duplicate_result near_duplicates(const text_list& texts, const text_sketches& known,
                                 const duplicate_options& options, const duplicate_scope& scope,
                                 const context& ctx) {
    check(options, scope, texts.size(), texts.offsets, texts.bytes.size());
    require(options.method <= duplicate_method::global_memory, "this method compares words, not texts");
    const bool of_bytes = options.unit == edit_unit::byte;
    const bool automatic = options.method == duplicate_method::automatic;
    const bool by_signatures = options.method == duplicate_method::signature;
    const bool shared = automatic || (by_signatures && texts.size() >= min_shared_signatures);
    const chosen_device chosen =
        choose_device(ctx, "dedup", shared ? offered_places::several_gpus : offered_places::all);
    duplicate_result result;
    duplicate_counts& counts = result.counts;
    if (!automatic || known.size() < scope.first_new) read_all_old(known, scope, ctx);
    if (!chosen.more.empty() && by_signatures) {
        const auto find_pairs = [&](const auto& units) {
            return find_by_signatures(chosen, texts, units, options, scope, ctx, counts, result.place);
        };
        if (of_bytes) {
            result.pairs = find_pairs(as_bytes(texts));
            return result;
        }
        cpu_place decoding(ctx);
        const decoded_texts decoded = decode(decoding, texts);
        result.pairs = find_pairs(decoded.list());
        return result;
    }
    if (!chosen.more.empty()) {
        result.pairs = of_bytes ? find_by_sketches<std::uint8_t>(chosen, texts, known, options, scope, {},
                                                                 ctx, counts, result.place)
                                : find_by_sketches<std::uint32_t>(chosen, texts, known, options, scope, {},
                                                                  ctx, counts, result.place);
        return result;
    }
    any_place here(ctx, chosen);
    result.place = here.where();
    result.pairs = here.run([&](auto& place) {
        if (automatic) {
            return of_bytes ? find_by_sketches<std::uint8_t>(place, texts, known, options, scope, counts)
                            : find_by_sketches<std::uint32_t>(place, texts, known, options, scope, counts);
        }
        if (of_bytes) return find(place, texts, as_bytes(texts), options, scope, counts);
        cpu_place decoding(ctx);
        const decoded_texts decoded = decode(decoding, texts);
        return find(place, texts, decoded.list(), options, scope, counts);
    });
    return result;
}

duplicate_result near_duplicates(const word_list& documents, std::uint32_t vocabulary,
                                 const duplicate_options& options, const duplicate_scope& scope,
                                 const context& ctx) {
    check(options, scope, documents.size(), documents.offsets, documents.words.size());
    in_checked_parts(
        ctx, 0, documents.words.size(), neighbouring_values, [&](std::uint64_t begin, std::uint64_t end) {
            const auto some = documents.words.subspan(begin, end - begin);
            require(some.empty() || std::ranges::max(some) < vocabulary, "a word is outside the vocabulary");
        });
    require(documents.hashes.empty() || documents.hashes.size() == vocabulary,
            "some words have no hash (expected one for each word)");
    duplicate_result result;
    if (options.method == duplicate_method::shingle) {
        any_place chosen = open_place(ctx, "method shingle");
        result.place = chosen.where();
        result.pairs = chosen.run(
            [&](auto& place) { return find_by_shingles(place, documents, options, scope, result.counts); });
        return result;
    }
    result.place = name_and_reason(choose_device(ctx, "dedup by words", offered_places::cpu_only));
    cpu_place place(ctx);
    switch (options.method) {
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
