// SPDX-License-Identifier: Apache-2.0
// What of the dictionary method happens on the host, whatever the place.
#include "ops/ngram_likelihood/dictionary.hpp"

namespace quern::ngram_detail {

ngram_totals give_table(ngram_table& table, std::span<const std::uint8_t> first_rows,
                        const ngram_options& options, const std::function<void(const ngram_rows&)>& take) {
    ngram_totals given{.n = table.n};
    const std::size_t rows = table.documents.size();
    for (std::size_t r = 0; r < rows; ++r) {
        if (table.in_collection[r] < options.min_count) continue;
        const std::size_t to = given.rows++;
        given.distinct += first_rows[r];
        table.documents[to] = table.documents[r];
        table.firsts[to] = table.firsts[r];
        table.in_document[to] = table.in_document[r];
        table.in_collection[to] = table.in_collection[r];
        table.weights[to] = table.weights[r];
        table.history_in_document[to] = table.history_in_document[r];
        table.history_in_collection[to] = table.history_in_collection[r];
    }
    const std::size_t with_history = options.history_counts ? given.rows : 0;
    if (given.rows != 0)
        take({table.n, std::span(table.documents).first(given.rows),
              std::span(table.firsts).first(given.rows), std::span(table.in_document).first(given.rows),
              std::span(table.in_collection).first(given.rows), std::span(table.weights).first(given.rows),
              std::span(table.history_in_document).first(with_history),
              std::span(table.history_in_collection).first(with_history)});
    return given;
}

}  // namespace quern::ngram_detail
