// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/word_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>

#include "quern/base/error.hpp"
#include "quern/base/parse.hpp"
#include "tasks/search/field_weights.hpp"
#include "tasks/store/query_words.hpp"

namespace quern {
namespace {

/// A word and its weight: "word^1.5", or "word", of weight 1.
query_part part_of(std::string_view typed) {
    query_part part;
    part.words = {std::string(typed)};
    const std::size_t mark = typed.rfind('^');
    if (mark == std::string_view::npos || mark == 0 || mark + 1 == typed.size()) return part;
    const char* const end = typed.data() + typed.size();
    double weight = 0;
    const auto [read, failed] = std::from_chars(typed.data() + mark + 1, end, weight);
    if (read != end || failed == std::errc::invalid_argument) return part;
    if (failed != std::errc{} || !std::isfinite(weight) || weight < 0)
        throw usage_error(
            fmt::format("the weight of '{}' must be a number of at least 0", shown(typed.substr(0, mark))));
    part.words = {std::string(typed.substr(0, mark))};
    part.weight = weight;
    return part;
}

}  // namespace

analysed_query weighted_query(std::string_view query) {
    const between_words separators = between_words_of(query);
    const std::string_view between = separators == between_words::tabs ? "\t\r\n" : " \t\r\n";
    analysed_query result;
    for (std::size_t begin = 0;
         (begin = query.find_first_not_of(between, begin)) != std::string_view::npos;) {
        const std::size_t end = std::min(query.find_first_of(between, begin), query.size());
        query_group of;
        of.part = result.parts.size();
        result.parts.push_back(part_of(query.substr(begin, end - begin)));
        result.whole.members.push_back(std::move(of));
        begin = end;
    }
    return result;
}

bool ranks_by(const opened_store& store, ranking_model model) {
    return (store.info().listed == word_listing::weights) == (model == ranking_model::impact);
}

void require_model(const opened_store& store, ranking_model model) {
    if (ranks_by(store, model)) return;
    const std::string path = store.path().string();
    if (model == ranking_model::impact)
        throw usage_error("the model impact needs a store of weights, which " + path + " is not");
    throw usage_error(
        path + " is a store of weights, without counts of words; it is ranked by the model impact only");
}

search_options fitted_to_weights(search_options options, const opened_store& store) {
    const auto refuse = [&](std::string_view what) {
        throw usage_error(fmt::format("{} is a store of weights, without {}", store.path().string(), what));
    };
    const ranking_options defaults;
    if (options.ranking.model != defaults.model) require_model(store, options.ranking.model);
    if (options.feedback != feedback_method::none) refuse("counts of words, which feedback needs");
    if (options.dependence != dependence_model::none || options.order > 1) refuse("the order of words");
    if (weighs_fields(options)) refuse("fields of words");
    if (options.expand != 0) refuse("a thesaurus");
    options.ranking = defaults;
    options.ranking.model = ranking_model::impact;
    options.snippets = false;
    options.phrases = false;
    options.syntax = query_syntax::words;
    options.typos = typo_tolerance::never;
    options.prefix_last = false;
    options.fold = folding::none;
    return options;
}

}  // namespace quern
