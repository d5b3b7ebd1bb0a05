// SPDX-License-Identifier: Apache-2.0
// The entry point: checks options and matrix, keeps the requested columns, chooses the place and the method.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "device/joined_units.hpp"
#include "device/place.hpp"
#include "device/place_set.hpp"
#include "ops/word_similarity/similarity_methods.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/word_similarity_option_table.hpp"

namespace quern {
namespace word_similarity_detail {
namespace {

/// `sink...`: on the CPU, where the lists go.
template <class Place, class... Sink>
neighbour_lists find(Place& place, const fixed_rows& rows, const similarity_options& options, Sink... sink) {
    switch (options.method) {
        case similarity_method::compressed:
            return find_compressed(place, rows, options, sink...);
        case similarity_method::column_reduced:
            return find_column_reduced(place, rows, options, sink...);
        default:
            return is_further_measure(options.measure)
                       ? find_by_further_measure(place, rows, options, sink...)
                       : find_automatically(place, rows, options, sink...);
    }
}

/// Passes the lists on, unless `sink` is null; then they are gone.
void pass_on(neighbour_lists& lists, const neighbour_sink* sink) {
    if (sink == nullptr) return;
    (*sink)(lists.words, lists.scores);
    lists.words = {}, lists.scores = {};
}

/// At `chosen`, one place.
neighbour_lists find_at(const chosen_device& chosen, const context_matrix_view& matrix,
                        const similarity_options& options, const context& ctx, const neighbour_sink* sink) {
    any_place here(ctx, chosen);
    neighbour_lists found = here.run([&](auto& place, cpu_place& host) {
        // The host checks the matrix and fixes its sums.
        const owned_rows owned = kept_rows(host, matrix, options);
        if constexpr (std::is_same_v<decltype(place), cpu_place&>) {
            return find(place, owned.rows, options, sink);
        } else {
            neighbour_lists all = find(place, owned.rows, options);
            pass_on(all, sink);
            return all;
        }
    });
    found.place = here.where();
    return found;
}

/// On several places.
neighbour_lists find_at_all(const chosen_device& chosen, const context_matrix_view& matrix,
                            const similarity_options& options, const context& ctx,
                            const neighbour_sink* sink) {
    cpu_place host(ctx);
    const owned_rows owned = kept_rows(host, matrix, options);
    place_set places(ctx, chosen);
    neighbour_lists found = find_on_several(places, owned.rows, options, sink);
    found.place = places.where();
    return found;
}

neighbour_lists find_anywhere(const context_matrix_view& matrix, const similarity_options& options,
                              const context& ctx, const neighbour_sink* sink) {
    validate(options);
    // A place more costs about a millisecond, in which one GPU compares words with some hundred thousand entries.
    constexpr std::size_t entries_for_several = std::size_t{1} << 22;
    const bool alone =
        options.method != similarity_method::automatic || matrix.columns.size() < entries_for_several;
    const chosen_device chosen =
        choose_device(ctx, "word similarity", alone ? offered_places::all : offered_places::several_gpus);
    return similar_words_on(chosen, matrix, options, ctx, sink);
}

}  // namespace

neighbour_lists find_on_several(place_set& places, const fixed_rows& rows, const similarity_options& options,
                                const neighbour_sink* sink) {
    neighbour_lists all;
    all.offsets.reserve(std::size_t{rows.words} + 1);
    all.offsets.push_back(0);
    if (rows.words < 2 || rows.columns.empty()) {
        all.offsets.resize(std::size_t{rows.words} + 1);
        return all;
    }
    if (sink == nullptr) {  // so that the last lists do not move all others
        constexpr std::uint64_t most = std::uint64_t{1} << 27;
        const auto size = std::min(std::uint64_t{rows.words} * std::min(options.top, rows.words - 1), most);
        all.words.reserve(size);
        all.scores.reserve(size);
    }
    const std::vector<word_range> shares = shares_of_words(rows, places.size());
    join_units<neighbour_lists>(
        places, shares.size(),
        [&](auto& place, cpu_place& /*host*/, std::size_t /*index*/) {
            return [&, search = open_range_search(place, rows, options)](std::size_t unit) {
                return search->find(shares[unit]);
            };
        },
        [&](neighbour_lists found) {
            const std::uint64_t before = all.offsets.back();
            for (std::size_t w = 1; w < found.offsets.size(); ++w)
                all.offsets.push_back(before + found.offsets[w]);
            if (sink != nullptr) {
                pass_on(found, sink);
                return;
            }
            all.words.insert(all.words.end(), found.words.begin(), found.words.end());
            all.scores.insert(all.scores.end(), found.scores.begin(), found.scores.end());
        });
    return all;
}

neighbour_lists similar_words_on(const chosen_device& chosen, const context_matrix_view& matrix,
                                 const similarity_options& options, const context& ctx,
                                 const neighbour_sink* sink) {
    const bool alone = chosen.more.empty() || options.method != similarity_method::automatic;
    return alone ? find_at(chosen, matrix, options, ctx, sink)
                 : find_at_all(chosen, matrix, options, ctx, sink);
}

owned_rows kept_rows(cpu_place& place, const context_matrix_view& matrix, const similarity_options& options) {
    owned_rows owned = restrict_columns(place, matrix, options.columns);
    fix_sums(place, owned.rows);
    return owned;
}

}  // namespace word_similarity_detail

void validate(const similarity_options& options) {
    check_ranges(options);
    if (options.measure > similarity_measure::skew) throw usage_error("unknown measure of word similarity");
    if (word_similarity_detail::is_further_measure(options.measure) &&
        options.method != similarity_method::automatic)
        throw usage_error("the method " +
                          std::string(similarity_method_names[static_cast<std::size_t>(options.method)]) +
                          " compares words by lin or cosine only (expected the method auto)");
    if (options.method == similarity_method::column_reduced && options.columns == all_columns)
        throw usage_error("column-reduced needs a number of columns");
}

neighbour_lists similar_words(const context_matrix_view& matrix, const similarity_options& options,
                              const context& ctx) {
    return word_similarity_detail::find_anywhere(matrix, options, ctx, nullptr);
}

neighbour_lists similar_words(const context_matrix_view& matrix, const similarity_options& options,
                              const context& ctx, const neighbour_sink& sink) {
    return word_similarity_detail::find_anywhere(matrix, options, ctx, &sink);
}

}  // namespace quern
