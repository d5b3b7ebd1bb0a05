// SPDX-License-Identifier: Apache-2.0
// The entry point: checks the options and chooses the method.
#include "quern/ops/ngram_likelihood.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/cpu/huge_pages.hpp"
#include "device/cpu/parallel.hpp"
#include "device/paced_checks.hpp"
#include "ops/ngram_likelihood/count_on_all.hpp"
#include "ops/ngram_likelihood/ngram_methods.hpp"
#include "ops/ngram_likelihood/rows/formula.hpp"
#include "ops/ngram_likelihood/text_counters.hpp"
#include "primitives/segments.hpp"
#include "quern/base/choose_device.hpp"
#include "quern/base/error.hpp"
#include "quern/ops/ngram_option_table.hpp"

namespace quern {
namespace {

using namespace ngram_detail;

bool reads_strings(const ngram_options& options) {
    return options.method == ngram_method::strings;
}

std::uint64_t words_in(const ngram_collection& collection, const ngram_options& options) {
    return reads_strings(options) ? collection.starts.size() : collection.words.size();
}

/// Throws invalid_value for the first word for which `is_right` is false.
template <class Right>
void check_words(cpu_place& place, std::size_t words, const char* wrong, const Right& is_right) {
    const std::size_t pieces = pieces_for(place, words, std::size_t{1} << 16);
    std::vector<std::size_t> firsts(pieces, words);
    for_each_piece(place, pieces, [&](std::size_t p) {
        const auto [first, last] = piece_of(words, pieces, p);
        in_checked_parts(place.ctx(), first, last, neighbouring_values,
                         [&](std::uint64_t begin, std::uint64_t end) {
                             for (std::size_t i = begin; i < end && firsts[p] == words; ++i)
                                 if (!is_right(i)) firsts[p] = i;
                         });
    });
    for (const std::size_t first : firsts)
        if (first != words) throw invalid_value("word " + std::to_string(first) + " " + wrong, first);
}

void check_collection(cpu_place& place, const ngram_collection& collection, const ngram_options& options) {
    constexpr std::uint64_t max = std::numeric_limits<std::uint32_t>::max();
    if (reads_strings(options) && collection.lengths.size() != collection.starts.size())
        throw usage_error("n-gram likelihood: there are " + std::to_string(collection.starts.size()) +
                          " starts of words, but " + std::to_string(collection.lengths.size()) + " lengths");
    primitives::check_offsets(place, collection.documents, words_in(collection, options));
    if (collection.documents.size() > max)
        throw usage_error("n-gram likelihood: more than 2^32 - 2 documents");
    paced_checks checks(place.ctx(), neighbouring_values);
    for (std::size_t d = 1; d < collection.documents.size(); ++d) {
        checks.after(1);
        if (collection.documents[d] - collection.documents[d - 1] > max)
            throw usage_error("n-gram likelihood: document " + std::to_string(d - 1) +
                              " has 2^32 words or more");
    }
    if (reads_strings(options)) {
        check_words(place, collection.starts.size(), "ends past the end of the text", [&](std::size_t i) {
            return collection.starts[i] <= collection.text.size() &&
                   collection.lengths[i] <= collection.text.size() - collection.starts[i];
        });
        return;
    }
    if (options.method == ngram_method::dictionary && collection.words.size() > max)
        throw usage_error("n-gram likelihood: the method dictionary takes fewer than 2^32 words");
    if (collection.vocabulary == max) throw usage_error("n-gram likelihood: more than 2^32 - 2 words");
    check_words(place, collection.words.size(), "is outside the vocabulary",
                [&](std::size_t i) { return collection.words[i] <= collection.vocabulary; });
}

/// Reserves the maximum number of rows, so that tables do not move while they grow: unwritten pages take no memory.
void reserve_rows(std::vector<ngram_table>& tables, const ngram_collection& collection,
                  const ngram_options& options, const context& ctx) {
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
    if (all > ctx.memory_limit() / (row_bytes + (options.history_counts ? history_bytes : 0))) return;
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

/// The context, on the CPU if the method runs only there.
context place_of(const ngram_options& options, const context& ctx) {
    context where = ctx;
    if (options.method != ngram_method::suffix_sigma) return where;
    require_cpu(ctx, "method suffix-sigma");
    where.device = context::cpu().device;
    return where;
}

void refuse_model_smoothing(const ngram_options& options) {
    if (options.smoothing == ngram_smoothing::kneser_ney && options.measure == ngram_measure::likelihood)
        throw usage_error("n-gram likelihood: kneser-ney smooths models of a collection, not documents");
}

void check_all(const ngram_collection& collection, const ngram_options& options, const context& ctx) {
    validate(options);
    cpu_place host(ctx);
    check_collection(host, collection, options);
}

/// Every place that the method uses for so many words.
chosen_device choose_places(const ngram_collection& collection, const ngram_options& options,
                            const context& ctx) {
    const bool several =
        options.method == ngram_method::automatic && collection.words.size() >= words_for_several(options);
    return choose_device(place_of(options, ctx), "n-gram likelihood",
                         several ? offered_places::several_gpus : offered_places::all);
}

/// count(place, record) counts, on the first place.
template <class Count>
ngram_record count_at_first(const chosen_device& chosen, const context& ctx, const Count& count) {
    any_place first(ctx, first_devices(chosen, 1));
    ngram_record record = first.run([&](auto& place) {
        ngram_record result;
        count(place, result);
        return result;
    });
    record.place = first.where();
    return record;
}

/// Nothing if there is one place, or if the memory of one does not hold the words.
std::optional<ngram_record> count_on_several(const chosen_device& chosen, const ngram_collection& collection,
                                             const ngram_options& options, const context& ctx,
                                             const row_sink& sink) {
    if (chosen.more.empty() || options.method != ngram_method::automatic) return {};
    place_set places(ctx, chosen);
    auto record = count_on_all(places, options, sink, [&](auto& place, const place_share& share, auto& part) {
        return count_part(place, collection, options, share, part);
    });
    if (!record) log_that_one_counts(chosen, ctx);
    return record;
}

}  // namespace

ngram_record ngram_detail::count_ngrams_on(const chosen_device& chosen, const ngram_collection& collection,
                                           const ngram_options& options, const context& ctx,
                                           const row_sink& sink) {
    if (auto record = count_on_several(chosen, collection, options, ctx, sink)) return std::move(*record);
    return count_at_first(chosen, ctx, [&](auto& place, ngram_record& record) {
        count_ngrams(place, collection, options, sink, record);
    });
}

ngram_record ngram_detail::count_collection_on(const chosen_device& chosen,
                                               const ngram_collection& collection,
                                               const ngram_options& options, const context& ctx,
                                               const collection_sink& sink) {
    joined_rows joined(collection.documents, options.order, sink);
    auto record =
        count_on_several(chosen, collection, options, ctx, [&](const ngram_rows& rows) { joined.add(rows); });
    if (!record)
        return count_at_first(chosen, ctx, [&](auto& place, ngram_record& result) {
            count_collection(place, collection, options, sink, result);
        });
    for (ngram_totals& of_n : record->totals) of_n.rows = 0;
    return std::move(*record);
}

void validate(const ngram_options& options) {
    check_ranges(options);
}

void ngram_table::append(const ngram_rows& rows) {
    const auto extend = [](auto& column, const auto& values) {
        column.insert(column.end(), values.begin(), values.end());
    };
    extend(documents, rows.documents);
    extend(firsts, rows.firsts);
    extend(in_document, rows.in_document);
    extend(in_collection, rows.in_collection);
    extend(weights, rows.weights);
    extend(history_in_document, rows.history_in_document);
    extend(history_in_collection, rows.history_in_collection);
}

ngram_record ngram_likelihood(const ngram_collection& collection, const ngram_options& options,
                              const context& ctx, const std::function<void(const ngram_rows&)>& sink) {
    refuse_model_smoothing(options);
    check_all(collection, options, ctx);
    return count_ngrams_on(choose_places(collection, options, ctx), collection, options, ctx, sink);
}

ngram_result ngram_likelihood(const ngram_collection& collection, const ngram_options& options,
                              const context& ctx) {
    ngram_result result;
    refuse_model_smoothing(options);
    check_all(collection, options, ctx);
    const unsigned first_n = options.only ? options.order : 1;
    for (unsigned n = first_n; n <= options.order; ++n) {
        result.tables.emplace_back();
        result.tables.back().n = n;
    }
    reserve_rows(result.tables, collection, options, ctx);
    result.record =
        count_ngrams_on(choose_places(collection, options, ctx), collection, options, ctx,
                        [&](const ngram_rows& rows) { result.tables[rows.n - first_n].append(rows); });
    return result;
}

ngram_record count_collection_ngrams(const ngram_collection& collection, const ngram_options& options,
                                     const context& ctx,
                                     const std::function<void(const collection_ngrams&)>& sink) {
    check_all(collection, options, ctx);
    return count_collection_on(choose_places(collection, options, ctx), collection, options, ctx, sink);
}

struct ngram_text_counter::state {
    text_counters counters;
};

ngram_text_counter::ngram_text_counter(std::span<const std::string_view> words, const context& ctx) {
    if (words.size() >= std::numeric_limits<std::uint32_t>::max())
        throw usage_error("n-gram likelihood: more than 2^32 - 2 words");
    for (std::size_t i = 1; i < words.size(); ++i)
        if (words[i - 1] >= words[i])
            throw usage_error("n-gram likelihood: word " + std::to_string(i) + " of the dictionary, \"" +
                              std::string(words[i]) + "\", is not greater than the previous one");
    constexpr std::uint64_t bytes_a_word = 6;
    const chosen_device chosen = choose_device(ctx, "n-gram likelihood", offered_places::several_gpus);
    state_.reset(new state{{ctx, chosen, words, bytes_a_word}});
}
ngram_text_counter::ngram_text_counter(ngram_text_counter&&) noexcept = default;
ngram_text_counter& ngram_text_counter::operator=(ngram_text_counter&&) noexcept = default;
ngram_text_counter::~ngram_text_counter() = default;

ngram_record ngram_text_counter::count(const ngram_text& text, const ngram_options& options,
                                       const std::function<void(const ngram_rows&)>& sink) {
    validate(options);
    refuse_model_smoothing(options);
    return state_->counters.count(text, options, sink);
}
std::uint64_t ngram_text_counter::dictionary_bytes() const {
    return state_->counters.dictionary_bytes();
}

double likelihood_of(const ngram_counts& counts, const ngram_options& options) {
    validate(options);
    refuse_model_smoothing(options);
    return likelihood(counts, {options.smoothing, options.lambda, options.mu, options.delta});
}

}  // namespace quern
