// SPDX-License-Identifier: Apache-2.0
// The door: what is asked for is checked, and the method chosen.
#include "quern/ops/ngram_likelihood.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "device/cpu/huge_pages.hpp"
#include "device/place.hpp"
#include "ops/ngram_likelihood/dictionary.hpp"
#include "ops/ngram_likelihood/formula.hpp"
#include "ops/ngram_likelihood/orders.hpp"
#include "ops/ngram_likelihood/suffix_sigma.hpp"
#include "primitives/segments.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

using namespace ngram_detail;

void check_range(double value, double most, const char* name, const char* range) {
    if (!(value >= 0 && value <= most))
        throw usage_error(std::string("n-gram likelihood: ") + name + " must be in " + range);
}

void check_smoothing(const ngram_options& options) {
    check_range(options.lambda, 1, "lambda", "[0, 1]");
    check_range(options.mu, 0x1p64, "mu", "[0, 2^64]");
    check_range(options.delta, 1, "delta", "[0, 1]");
    check_range(options.k1, 0x1p64, "k1", "[0, 2^64]");
    check_range(options.b, 1, "b", "[0, 1]");
}

void check_options(const ngram_options& options) {
    if (options.order < 1 || options.order > most_ngram_order)
        throw usage_error("n-gram likelihood: the order must be 1 to " + std::to_string(most_ngram_order));
    if (options.min_count < 1) throw usage_error("n-gram likelihood: the least count must be 1 or more");
    check_smoothing(options);
}

bool reads_strings(const ngram_options& options) {
    return options.method == ngram_method::strings;
}

std::uint64_t words_in(const ngram_collection& collection, const ngram_options& options) {
    return reads_strings(options) ? collection.starts.size() : collection.words.size();
}

void check_collection(cpu_place& place, const ngram_collection& collection, const ngram_options& options) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    if (reads_strings(options) && collection.lengths.size() != collection.starts.size())
        throw usage_error("n-gram likelihood: there are " + std::to_string(collection.starts.size()) +
                          " starts of words, but " + std::to_string(collection.lengths.size()) + " lengths");
    primitives::check_offsets(place, collection.documents, words_in(collection, options));
    if (collection.documents.size() > most)
        throw usage_error("n-gram likelihood: more than 2^32 - 2 documents");
    for (std::size_t d = 1; d < collection.documents.size(); ++d)
        if (collection.documents[d] - collection.documents[d - 1] > most)
            throw usage_error("n-gram likelihood: document " + std::to_string(d - 1) +
                              " has 2^32 words or more");
    if (reads_strings(options)) {
        for (std::size_t i = 0; i < collection.starts.size(); ++i)
            if (collection.starts[i] > collection.text.size() ||
                collection.lengths[i] > collection.text.size() - collection.starts[i])
                throw invalid_value("word " + std::to_string(i) + " ends beyond the text", i);
        return;
    }
    if (options.method == ngram_method::dictionary && collection.words.size() > most)
        throw usage_error("n-gram likelihood: the method dictionary takes fewer than 2^32 words");
    if (collection.vocabulary == most) throw usage_error("n-gram likelihood: more than 2^32 - 2 words");
    for (std::size_t i = 0; i < collection.words.size(); ++i)
        if (collection.words[i] > collection.vocabulary)
            throw invalid_value("word " + std::to_string(i) + " is beyond the vocabulary", i);
}

/// Occurrences of each n in the text, and of those with an unknown word.
void count_occurrences(const ngram_collection& collection, const ngram_options& options,
                       std::vector<ngram_totals>& totals) {
    const unsigned first_n = totals.front().n;
    for (std::size_t d = 1; d < collection.documents.size(); ++d) {
        const std::uint64_t begin = collection.documents[d - 1], end = collection.documents[d];
        for (ngram_totals& of_n : totals)
            if (end - begin >= of_n.n) of_n.occurrences += end - begin - of_n.n + 1;
        if (reads_strings(options)) continue;
        // Up to the word `clean` no n-gram that begins here has an unknown word.
        std::uint64_t clean = end;
        bool any = false;
        for (std::uint64_t i = end; i-- > begin;) {
            if (collection.words[i] == collection.vocabulary) {
                clean = i;
                any = true;
            }
            if (!any) continue;
            const std::uint64_t least = std::max<std::uint64_t>(first_n, clean - i + 1);
            for (std::uint64_t n = least; n <= std::min<std::uint64_t>(options.order, end - i); ++n)
                ++totals[n - first_n].with_unknown;
        }
    }
}

template <class Position>
void by_order(cpu_place& place, const ngram_collection& collection, const document_table& documents,
              const ngram_options& options, const std::function<void(const ngram_rows&)>& take,
              ngram_record& record) {
    const auto order = reads_strings(options)
                           ? order_of_strings<Position>(place, collection, documents, options.order)
                           : packed_order<Position>(place, collection, documents, options.order);
    record.bytes_spilled = order.bytes_spilled;
    record.totals =
        rows_from_order<Position>(place, order.view(), documents, collection.documents, options, take);
}

void by_method(cpu_place& place, const ngram_collection& collection, const ngram_options& options,
               const std::function<void(const ngram_rows&)>& take, ngram_record& record) {
    const document_table documents(place, collection.documents);
    if (options.method == ngram_method::suffix_sigma)
        record.totals = suffix_sigma(place, collection, documents, options, take);
    else if (options.method == ngram_method::dictionary)
        record.totals = dictionary_method<cpu_place>(place, collection, options).run(take);
    else if (words_in(collection, options) <= std::numeric_limits<std::uint32_t>::max())
        by_order<std::uint32_t>(place, collection, documents, options, take, record);
    else
        by_order<std::uint64_t>(place, collection, documents, options, take, record);
}

/// Room for the most rows there can be, so that tables do not move while they grow: what is never written takes no memory.
void reserve_rows(std::vector<ngram_table>& tables, const ngram_collection& collection,
                  const ngram_options& options, const context& run) {
    constexpr std::uint64_t row_bytes = 28, history_bytes = 12;
    std::vector<std::uint64_t> rows(tables.size());
    std::uint64_t all = 0;
    for (std::size_t d = 1; d < collection.documents.size(); ++d) {
        for (std::size_t t = 0; t < tables.size(); ++t) {
            const std::uint64_t words =
                collection.documents[d] - std::min(collection.documents[d], collection.documents[d - 1]);
            if (words >= tables[t].n) rows[t] += words - tables[t].n + 1;
        }
    }
    for (const std::uint64_t of_n : rows) all += of_n;
    if (all > run.memory_limit() / (row_bytes + (options.history_counts ? history_bytes : 0))) return;
    const auto reserve = [](auto& column, std::uint64_t size) {
        column.reserve(size);
        wish_for_huge_pages(column.data(), size * sizeof(column[0]));
    };
    for (std::size_t t = 0; t < tables.size(); ++t) {
        ngram_table& to = tables[t];
        for (auto* column : {&to.documents, &to.firsts, &to.in_document}) reserve(*column, rows[t]);
        reserve(to.in_collection, rows[t]);
        reserve(to.weights, rows[t]);
        if (!options.history_counts) continue;
        reserve(to.history_in_document, rows[t]);
        reserve(to.history_in_collection, rows[t]);
    }
}

template <class T>
void append(std::vector<T>& to, std::span<const T> from) {
    to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

ngram_record ngram_likelihood(const ngram_collection& collection, const ngram_options& options,
                              const context& run, const std::function<void(const ngram_rows&)>& take) {
    check_options(options);
    require_cpu(run, "n-gram likelihood");
    cpu_place place(run);
    check_collection(place, collection, options);
    ngram_record record;
    record.place = "cpu";
    by_method(place, collection, options, take, record);
    count_occurrences(collection, options, record.totals);
    return record;
}

ngram_result ngram_likelihood(const ngram_collection& collection, const ngram_options& options,
                              const context& run) {
    check_options(options);
    ngram_result result;
    const unsigned first_n = options.only ? options.order : 1;
    for (unsigned n = first_n; n <= options.order; ++n) {
        result.tables.emplace_back();
        result.tables.back().n = n;
    }
    reserve_rows(result.tables, collection, options, run);
    result.record = ngram_likelihood(collection, options, run, [&](const ngram_rows& rows) {
        ngram_table& to = result.tables[rows.n - first_n];
        append(to.documents, rows.documents);
        append(to.firsts, rows.firsts);
        append(to.in_document, rows.in_document);
        append(to.in_collection, rows.in_collection);
        append(to.weights, rows.weights);
        append(to.history_in_document, rows.history_in_document);
        append(to.history_in_collection, rows.history_in_collection);
    });
    return result;
}

double likelihood_of(const ngram_counts& counts, const ngram_options& options) {
    check_smoothing(options);
    return likelihood(counts, {options.smoothing, options.lambda, options.mu, options.delta});
}

}  // namespace quern
