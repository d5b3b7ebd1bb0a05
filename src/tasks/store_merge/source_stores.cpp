// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_merge/source_stores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "quern/base/error.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/corpus/document_id_table.hpp"

namespace quern {
namespace {

std::string listed(const std::vector<std::string>& names) {
    if (names.empty()) return "none";
    std::string all;
    for (const std::string& name : names)
        all.append(all.empty() ? "" : ",").append(name == "*" ? "all" : name);
    return all;
}

/// A property in which two stores may differ, as `quern build` is given it.
struct shown_property {
    std::string name, value;
};

std::vector<shown_property> text_properties(const text_options& text) {
    return {{"--language", text.language},
            {"--tokens", std::string(token_rule_names[static_cast<std::size_t>(text.tokens)])},
            {"--min-length", std::to_string(text.min_length)},
            {"--stop-words", text.stop_words},
            {"--stem", std::string(stemmer_names[static_cast<std::size_t>(text.stem)])},
            {"--fold", std::string(folding_names[static_cast<std::size_t>(text.fold)])}};
}

std::string kind_of(const store_info& info) {
    if (info.listed == word_listing::counts) return "lists of counted words";
    if (info.listed == word_listing::weights) return "lists of weighted words";
    return info.verbatim ? "word lines" : "texts";
}

std::string vectors_of(const opened_store& store) {
    const auto vectors = store.user_vectors();
    return vectors ? fmt::format("{} dimensions", vectors->dimensions) : "none";
}

}  // namespace

source_stores::source_stores(std::span<const std::filesystem::path> paths)
    : names_(paths.begin(), paths.end()) {
    constexpr std::uint64_t max_documents = std::numeric_limits<std::uint32_t>::max() - 1;
    for (const std::filesystem::path& path : paths) {
        stores_.push_back(open_store(path));
        check(stores_.size() - 1);
        first_.push_back(static_cast<std::uint32_t>(positions_));
        numbers_.emplace_back(static_cast<std::uint32_t>(positions_));
        order_.push_back(
            {stores_.size() - 1, 0, static_cast<std::uint32_t>(stores_.back().info().documents)});
        positions_ += stores_.back().info().documents;
        if (positions_ > max_documents)
            throw usage_error(
                fmt::format("{}: a store holds at most {} documents", path.string(), max_documents));
    }
    settle_weights();
}

void source_stores::check(std::size_t store) const {
    const opened_store &first = stores_.front(), &other = stores_[store];
    const store_info &one = first.info(), &two = other.info();
    if (two.unicode_version != text::unicode_version())
        throw usage_error(
            fmt::format("{} was made with the data of Unicode {}, but this program has {}; build it again "
                        "from its documents",
                        names_[store].string(), two.unicode_version, text::unicode_version()));
    const auto refuse = [&](std::string_view what, std::string_view its, std::string_view that) {
        throw usage_error(fmt::format(
            "{} and {} cannot be merged: {} is {} in the first, {} in the second; build one of them again "
            "as the other",
            names_.front().string(), names_[store].string(), what, that, its));
    };
    if (kind_of(one) != kind_of(two)) refuse("what their documents are", kind_of(two), kind_of(one));
    const auto expected = text_properties(one.text), found = text_properties(two.text);
    for (std::size_t i = 0; i < expected.size(); ++i)
        if (expected[i].value != found[i].value) refuse(expected[i].name, found[i].value, expected[i].value);
    if (one.kept_fields != two.kept_fields)
        refuse("--keep-fields", listed(two.kept_fields), listed(one.kept_fields));
    if (one.indexed_fields != two.indexed_fields)
        refuse("--index-fields", listed(two.indexed_fields), listed(one.indexed_fields));
    if (vectors_of(first) != vectors_of(other)) refuse("--vectors", vectors_of(other), vectors_of(first));
}

std::size_t source_stores::store_at(std::uint32_t position) const {
    return static_cast<std::size_t>(std::ranges::upper_bound(first_, position) - first_.begin()) - 1;
}

void source_stores::exclude(std::span<const excluded_document> excluded) {
    excluded_ = excluded.size();
    std::uint32_t next = 0;
    numbers_.clear();
    for (std::size_t store = 0; store < size(); ++store) {
        const auto documents = static_cast<std::uint32_t>(stores_[store].info().documents);
        const auto is_before = [end = first_[store] + std::uint64_t{documents}](const excluded_document& d) {
            return d.position < end;
        };
        const auto last = std::ranges::partition_point(excluded, is_before);
        const auto own = excluded.first(static_cast<std::size_t>(last - excluded.begin()));
        excluded = excluded.subspan(own.size());
        if (own.empty()) {
            numbers_.emplace_back(next);
            next += documents;
            continue;
        }
        std::vector<std::uint32_t> numbers(documents);
        for (const excluded_document& d : own) numbers[d.position - first_[store]] = document_numbers::none;
        for (std::uint32_t& number : numbers)
            if (number != document_numbers::none) number = next++;
        numbers_.emplace_back(std::move(numbers));
    }
}

void source_stores::arrange(std::vector<source_range> order) {
    std::vector<std::vector<std::uint32_t>> numbers;
    for (const opened_store& store : stores_)
        numbers.emplace_back(store.info().documents, document_numbers::none);
    std::uint32_t next = 0;
    for (const source_range& range : order)
        for (std::uint32_t d = range.first; d < range.last; ++d) numbers[range.store][d] = next++;
    numbers_.clear();
    for (std::vector<std::uint32_t>& of : numbers) numbers_.emplace_back(std::move(of));
    excluded_ = positions_ - next;
    order_ = std::move(order);
    are_interleaved_ = true;
}

/// The unit of a build is the largest power of two of which all weights are multiples, but not below 2^-24 of the largest:
/// then weights are rounded. That of all follows from those of the stores, unless one that rounded has small weights.
void source_stores::settle_weights() {
    if (info().listed != word_listing::weights) return;
    constexpr int precision = std::numeric_limits<float>::digits;
    const auto lowest_of = [](float max) {
        int exponent = 0;
        std::frexp(max, &exponent);
        return exponent - precision;
    };
    std::optional<int> lowest;
    for (const opened_store& store : stores_) {
        max_weight_ = std::max(max_weight_, store.info().max_weight);
        if (store.info().max_weight != 0)
            lowest = std::min(lowest.value_or(store.info().weight_exponent), store.info().weight_exponent);
    }
    weight_exponent_ = max_weight_ == 0 ? 0 : std::max(lowest.value_or(0), lowest_of(max_weight_));
    for (std::size_t store = 0; store < size(); ++store) {
        const store_info& of = stores_[store].info();
        if (of.max_weight == 0 || of.weight_exponent >= *weight_exponent_ ||
            of.weight_exponent > lowest_of(of.max_weight))
            continue;
        throw usage_error(
            fmt::format("{}: its weights are rounded to multiples of 2^{}, and together with those of the "
                        "other stores (up to {}) they "
                        "would be rounded again, to 2^{}; build one store from all lists",
                        names_[store].string(), of.weight_exponent, max_weight_, *weight_exponent_));
    }
}

void source_stores::refuse_common_ids(const context& ctx) const {
    id_table ids;
    std::uint64_t common = 0;
    std::string example;
    const auto add = [&](std::string_view id, std::size_t store) {
        if (ids.insert(id, static_cast<std::uint32_t>(store))) return;
        const std::size_t other = ids.find(hash128(id)).value_or(0);
        if (other == store)
            return;  // a document and a near-duplicate cannot have one id; verify would say so
        if (++common == 1)
            example = fmt::format("\"{}\" is in both {} and {}", id, names_[other].string(),
                                  names_[store].string());
    };
    const std::uint64_t limit = ctx.memory_limit();
    for (std::size_t store = 0; store < size(); ++store) {
        const opened_store& of = stores_[store];
        for (std::uint32_t d = 0; d < of.info().documents; ++d) {
            if (d % 4096 == 0) {
                ctx.check_stop();
                ctx.report({"ids", first_[store] + d, positions_, "documents"});
                if (ids.memory_bytes() > limit / 2)
                    throw out_of_memory("the table of document ids", 2 * ids.memory_bytes(), limit / 2);
            }
            add(of.id(d), store);
        }
        for (std::uint64_t i = 0; i < of.duplicates().size(); ++i) add(of.duplicates()[i].id, store);
    }
    if (common == 0) return;
    throw usage_error(fmt::format(
        "{}{}; a build of all documents would put the names of files in front of the later ones, and stores "
        "do not have "
        "these names: delete the documents from one of the stores (quern build -o STORE --delete FILE), or "
        "add their corpus "
        "to the other one (quern build CORPUS -o STORE --update, or --replace)",
        common == 1 ? "the id " : fmt::format("{} ids are in more than one store: for example ", common),
        example));
}

}  // namespace quern
