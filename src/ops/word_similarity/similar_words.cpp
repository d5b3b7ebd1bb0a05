// SPDX-License-Identifier: Apache-2.0
// The entry point: checks options and matrix, keeps the requested columns, chooses the place and the method.
#include "device/place.hpp"
#include "ops/word_similarity/similarity_methods.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace word_similarity_detail {
namespace {

void require(bool fine, const char* what) {
    if (!fine) throw usage_error(what);
}

template <class Place>
neighbour_lists find(Place& place, cpu_place& host, const context_matrix_view& matrix,
                     const similarity_options& options) {
    const owned_rows owned = kept_rows(host, matrix, options);
    const fixed_rows& rows = owned.rows;
    switch (options.method) {
        case similarity_method::compressed:
            return find_compressed(place, rows, options);
        case similarity_method::column_reduced:
            return find_column_reduced(place, rows, options);
        default:
            return find_automatically(place, rows, options);
    }
}

}  // namespace

void check(const similarity_options& options) {
    require(options.method <= similarity_method::column_reduced, "unknown method of word similarity");
    require(options.measure <= similarity_measure::cosine, "unknown measure of word similarity");
    require(options.top >= 1, "invalid number of neighbours 0 (expected at least 1)");
    require(options.columns >= 1, "invalid number of contexts 0 (expected at least 1)");
    require(options.method != similarity_method::column_reduced || options.columns != all_columns,
            "column-reduced needs a number of columns");
    require(options.threads <= 1024, "too many threads per block (at most 1024)");
    require(options.blocks <= 0x7fffffff, "too many blocks (at most 2^31 - 1)");
}

owned_rows kept_rows(cpu_place& place, const context_matrix_view& matrix, const similarity_options& options) {
    owned_rows owned = restrict_columns(place, matrix, options.columns);
    fix_sums(place, owned.rows);
    return owned;
}

}  // namespace word_similarity_detail

neighbour_lists similar_words(const context_matrix_view& matrix, const similarity_options& options,
                              const context& ctx) {
    using namespace word_similarity_detail;
    check(options);
    const chosen_device chosen = choose_device(ctx, "word similarity");
    context chosen_ctx = ctx;  // resolved once: a second choice would log twice
    chosen_ctx.device = {chosen.cuda ? device_choice::kind::cuda : device_choice::kind::cpu, chosen.ordinal};
    neighbour_lists found = at_place(chosen_ctx, "word similarity", [&](auto& place) {
        if constexpr (std::is_same_v<decltype(place), cpu_place&>) {
            return find(place, place, matrix, options);
        } else {
            cpu_place host(chosen_ctx);  // checks the matrix and fixes its sums
            return find(place, host, matrix, options);
        }
    });
    found.place = chosen.name + " (" + chosen.reason + ")";
    return found;
}

}  // namespace quern
