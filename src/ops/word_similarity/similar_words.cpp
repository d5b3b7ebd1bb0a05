// SPDX-License-Identifier: Apache-2.0
// The door: options and matrix are checked, the columns that count are kept, the place and the method are chosen.
#include "device/place.hpp"
#include "ops/word_similarity/door.hpp"
#include "ops/word_similarity/methods.hpp"
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
    require(options.method <= similarity_method::column_reduced,
            "there is no such method of word similarity");
    require(options.measure <= similarity_measure::cosine, "there is no such measure of word similarity");
    require(options.top >= 1, "at least one neighbour of a word is kept");
    require(options.columns >= 1, "at least one context is kept");
    require(options.method != similarity_method::column_reduced || options.columns != all_columns,
            "column-reduced needs a number of columns");
    require(options.threads <= 1024, "a block of a launch has at most 1024 threads");
    require(options.blocks <= 0x7fffffff, "a launch has at most 2^31 - 1 blocks");
}

owned_rows kept_rows(cpu_place& place, const context_matrix_view& matrix, const similarity_options& options) {
    owned_rows owned = restrict_columns(place, matrix, options.columns);
    fix_sums(place, owned.rows);
    return owned;
}

}  // namespace word_similarity_detail

neighbour_lists similar_words(const context_matrix_view& matrix, const similarity_options& options,
                              const context& run) {
    using namespace word_similarity_detail;
    check(options);
    const chosen_device chosen = choose_device(run, "word similarity");
    context there = run;  // settled once: asking twice would log twice
    there.device = {chosen.cuda ? device_choice::kind::cuda : device_choice::kind::cpu, chosen.ordinal};
    neighbour_lists found = at_place(there, "word similarity", [&](auto& place) {
        if constexpr (std::is_same_v<decltype(place), cpu_place&>) {
            return find(place, place, matrix, options);
        } else {
            cpu_place host(there);  // checks the matrix and fixes its sums
            return find(place, host, matrix, options);
        }
    });
    found.place = chosen.name + " (" + chosen.reason + ")";
    return found;
}

}  // namespace quern
