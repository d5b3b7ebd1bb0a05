// SPDX-License-Identifier: Apache-2.0
// The entry point: checks options and matrix, keeps the requested columns, chooses the place and the method.
#include <cstddef>
#include <string>

#include "device/place.hpp"
#include "ops/word_similarity/similarity_methods.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/word_similarity_option_table.hpp"

namespace quern {
namespace word_similarity_detail {
namespace {

/// `sink...`: on the CPU, where the lists go.
template <class Place, class... Sink>
neighbour_lists find(Place& place, cpu_place& host, const context_matrix_view& matrix,
                     const similarity_options& options, Sink... sink) {
    const owned_rows owned = kept_rows(host, matrix, options);
    const fixed_rows& rows = owned.rows;
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

neighbour_lists find_anywhere(const context_matrix_view& matrix, const similarity_options& options,
                              const context& ctx, const neighbour_sink* sink) {
    validate(options);
    any_place chosen = open_place(ctx, "word similarity");
    neighbour_lists found = chosen.run([&](auto& place, cpu_place& host) {
        if constexpr (std::is_same_v<decltype(place), cpu_place&>) {
            return find(place, host, matrix, options, sink);
        } else {
            neighbour_lists all =
                find(place, host, matrix, options);  // the host checks the matrix and fixes its sums
            if (sink != nullptr) {
                (*sink)(all.words, all.scores);
                all.words = {}, all.scores = {};
            }
            return all;
        }
    });
    found.place = chosen.where();
    return found;
}

}  // namespace

neighbour_lists similar_words_of(const pair_share& share, const context_matrix_view& matrix,
                                 const similarity_options& options, const context& ctx) {
    validate(options);
    cpu_place place(ctx);
    const owned_rows owned = kept_rows(place, matrix, options);
    return is_further_measure(options.measure)
               ? find_by_further_measure(place, owned.rows, options, nullptr, share)
               : find_automatically(place, owned.rows, options, nullptr, share);
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
