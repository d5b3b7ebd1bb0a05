// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/field_weights.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "ops/search/postings.hpp"
#include "quern/base/error.hpp"
#include "quern/base/parse.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {
namespace {

/// Of the title, the text, and the indexed fields in order.
using field_values = std::vector<std::optional<double>>;

/// "title=3,text=1". `what`: the option, for errors.
field_values parse_values(std::string_view text, std::span<const std::string> indexed, std::string_view what,
                          double min, double max) {
    std::vector<std::string> names = {"title", "text"};
    names.insert(names.end(), indexed.begin(), indexed.end());
    field_values values(names.size());
    for (std::string_view rest = trimmed(text); !rest.empty();) {
        const std::size_t end = std::min(rest.find(','), rest.size());
        const std::string_view item = trimmed(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
        const std::size_t sign = item.rfind('=');
        std::string_view name = trimmed(item.substr(0, std::min(sign, item.size())));
        if (sign == std::string_view::npos)
            throw usage_error(fmt::format("{}: invalid value '{}' (expected title=X,text=X)", what, text));
        if (name == "body") name = "text";
        const auto at = std::ranges::find(names, name);
        if (at == names.end())
            throw usage_error(fmt::format("{}: unknown field '{}' (expected title{}{} or text)", what, name,
                                          indexed.empty() ? "" : ", ", fmt::join(indexed, ", ")));
        auto& value = values[static_cast<std::size_t>(at - names.begin())];
        if (value) throw usage_error(fmt::format("{}: the field {} is given twice", what, name));
        value = parse_number(trimmed(item.substr(sign + 1)));
        if (!(*value >= min && *value <= max))
            throw usage_error(
                fmt::format("{}: invalid value '{}' of the field {} (expected a number from {} to {})", what,
                            trimmed(item.substr(sign + 1)), name, min, max));
    }
    return values;
}

void add_lengths(const word_index& index, std::span<const std::uint32_t> document_lengths,
                 std::vector<std::uint32_t>& to) {
    for (std::uint32_t word = 0; word < index.dictionary().size(); ++word) {
        for (search_detail::postings_cursor cursor(index.postings(word), document_lengths); !cursor.done();
             cursor.next_block()) {
            cursor.decode();
            for (std::size_t i = 0; i < cursor.documents().size(); ++i)
                to[cursor.documents()[i]] += cursor.frequencies()[i];
        }
    }
}

}  // namespace

bool weighs_fields(const search_options& options) {
    return !trimmed(options.field_weights).empty() || !trimmed(options.field_b).empty();
}

field_ranking field_ranking_of(const search_options& options, std::span<const std::string> indexed) {
    constexpr double smallest = 1e-6, largest = 1e6;
    const field_values weights =
        parse_values(options.field_weights, indexed, "field_weights", smallest, largest);
    const field_values b = parse_values(options.field_b, indexed, "field_b", 0, 1);
    if (options.ranking.model != ranking_model::bm25)
        throw usage_error("weights of fields need the model bm25");
    if (options.order > 1) throw usage_error("weights of fields cannot be combined with an order above 1");
    const auto of = [&](std::size_t field) {
        return field_weight{weights[field].value_or(1), b[field].value_or(options.ranking.b)};
    };
    field_ranking result;
    result.k1 = options.ranking.k1;
    result.title = of(0);
    result.text = of(1);
    for (std::size_t i = 0; i < indexed.size(); ++i) result.others.push_back({of(i + 2)});
    return result;
}

field_lengths lengths_of_field(const opened_store& store, const word_index& field) {
    const std::span<const std::uint32_t> all = store.collection().document_lengths;
    std::vector<std::uint32_t> lengths(all.size());
    add_lengths(field, all, lengths);
    return field_lengths(std::move(lengths));
}

field_lengths lengths_of_titles(const opened_store& store, const words_of_text& words_of) {
    const std::span<const std::uint32_t> all = store.collection().document_lengths;
    std::vector<std::uint32_t> lengths(all.size());
    add_lengths(store.title_words(), all, lengths);
    // Their lists also have the titles of near-duplicates.
    const document_duplicates& duplicates = store.duplicates();
    text::token_list title;
    for (std::uint64_t i = 0; i < duplicates.size(); ++i) {
        const std::uint32_t document = duplicates.kept(i);
        if (i != 0 && duplicates.kept(i - 1) == document) continue;
        words_of(store.title(document), title);
        lengths[document] = static_cast<std::uint32_t>(title.tokens.size());
    }
    for (std::size_t d = 0; d < lengths.size(); ++d) lengths[d] = std::min(lengths[d], all[d]);
    return field_lengths(std::move(lengths));
}

}  // namespace quern
