// SPDX-License-Identifier: Apache-2.0
#include "tasks/search/field_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ops/search/search_impl.hpp"
#include "quern/base/error.hpp"
#include "quern/base/rows.hpp"
#include "tasks/search/field_filter.hpp"
#include "tasks/search/filter_expression.hpp"
#include "tasks/store/field_values.hpp"

namespace quern {
namespace {

constexpr std::size_t documents_between_checks = 65'536;

void refuse(const field_column& column, std::string_view option, std::string_view why) {
    throw usage_error(fmt::format("{}: the field {} is of the type {}, {}", option, column.info().name,
                                  field_type_names[static_cast<std::size_t>(column.info().type)], why));
}

int sign_of(std::strong_ordering order) {
    return std::is_lt(order) ? -1 : std::is_gt(order) ? 1 : 0;
}

int compare_values(const field_column& column, std::uint32_t a, const field_column& other, std::uint32_t b) {
    switch (column.info().type) {
        case field_type::integer:
        case field_type::date:
            return sign_of(column.integer(a) <=> other.integer(b));
        case field_type::number: {
            const double x = column.number(a), y = other.number(b);
            return x < y ? -1 : y < x ? 1 : 0;
        }
        case field_type::boolean:
            return sign_of(column.boolean(a) <=> other.boolean(b));
        case field_type::text:
            return sign_of(column.text(a) <=> other.text(b));
        case field_type::list:
        case field_type::json:
            break;
    }
    return 0;
}

/// The memory that different values may take together.
class value_memory {
  public:
    explicit value_memory(std::uint64_t limit) : limit_(limit) {}
    /// Throws out_of_memory, by the name of the field.
    void take(std::uint64_t bytes, const std::string& field) {
        taken_ += bytes;
        if (taken_ > limit_)
            throw out_of_memory(fmt::format("a facet of the field {} with so many values", field), taken_,
                                limit_);
    }
    void give_back(std::uint64_t bytes) { taken_ -= bytes; }

  private:
    std::uint64_t limit_, taken_ = 0;
};

/// Of each value that is sent, in addition to twice its text: as a value, and as JSON.
constexpr std::uint64_t sent_value_bytes = sizeof(facet_counts::value_count) + 128;

/// Counts the documents of each value. `memory` must outlive it.
template <class Value>
class value_counts {
  public:
    value_counts(value_memory& memory, const std::string& field) : memory_(&memory), field_(&field) {}
    value_counts(const value_counts&) = delete;  // its memory is given back once
    value_counts& operator=(const value_counts&) = delete;
    ~value_counts() { memory_->give_back(counts_.size() * bytes_of_a_value); }

    void add(const Value& value, std::uint64_t documents = 1) {
        const auto [at, is_new] = counts_.try_emplace(value, documents);
        if (is_new)
            memory_->take(bytes_of_a_value, *field_);
        else
            at->second += documents;
    }
    const std::unordered_map<Value, std::uint64_t>& counts() const { return counts_; }

    /// `text` writes a value.
    template <class Text>
    void write(search_facet& into, std::size_t values, const Text& text) const {
        std::vector<std::pair<Value, std::uint64_t>> all(counts_.begin(), counts_.end());
        const auto before = [](const auto& a, const auto& b) {
            return a.second != b.second ? a.second > b.second : a.first < b.first;
        };
        if (!all.empty()) {
            const auto [least, greatest] =
                std::ranges::minmax_element(all, {}, &std::pair<Value, std::uint64_t>::first);
            if (into.type != field_type::text && into.type != field_type::list &&
                into.type != field_type::boolean) {
                into.min = text(least->first);
                into.max = text(greatest->first);
            }
        }
        into.distinct = all.size();
        const std::size_t shown = std::min(values, all.size());
        std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(shown), before);
        for (std::size_t i = 0; i < shown; ++i) into.values.push_back({text(all[i].first), all[i].second});
    }

  private:
    /// In the table, and in a list to be sorted.
    static constexpr std::uint64_t bytes_of_a_value = 2 * sizeof(std::pair<Value, std::uint64_t>) + 48;

    value_memory* memory_;
    const std::string* field_;
    std::unordered_map<Value, std::uint64_t> counts_;
};

/// visit(value_counts, text of a value, values), where values(column, document, add) adds those of a document.
template <class Visit>
void with_values_of(const field_info& field, value_memory& memory, const Visit& visit) {
    const auto number_text = [](const auto& value) { return fmt::format("{}", value); };
    const auto plain_text = [](std::string_view value) { return std::string(value); };
    using column = field_column;
    using document = std::uint32_t;
    switch (field.type) {
        case field_type::integer:
            return visit(value_counts<std::int64_t>(memory, field.name), number_text,
                         [](const column& of, document d, const auto& add) { add(of.integer(d)); });
        case field_type::date:
            return visit(value_counts<std::int64_t>(memory, field.name), text_of_date,
                         [](const column& of, document d, const auto& add) { add(of.date(d)); });
        case field_type::number:
            return visit(
                value_counts<double>(memory, field.name), [](double value) { return shortest(value); },
                [](const column& of, document d, const auto& add) { add(of.number(d)); });
        case field_type::boolean:
            return visit(value_counts<bool>(memory, field.name), number_text,
                         [](const column& of, document d, const auto& add) { add(of.boolean(d)); });
        case field_type::text:
            return visit(value_counts<std::string_view>(memory, field.name), plain_text,
                         [](const column& of, document d, const auto& add) { add(of.text(d)); });
        case field_type::list:
            return visit(value_counts<std::string_view>(memory, field.name), plain_text,
                         [own = std::vector<std::string_view>()](const column& of, document d,
                                                                 const auto& add) mutable {
                             own.clear();
                             for (auto [at, end] = of.list(d); at != end; ++at)
                                 own.push_back(of.list_item(at));
                             // A value counts once per document.
                             std::ranges::sort(own);
                             own.erase(std::ranges::unique(own).begin(), own.end());
                             for (const std::string_view value : own) add(value);
                         });
        case field_type::json:
            break;
    }
}

field_value sent(std::int64_t value) {
    return value;
}
field_value sent(double value) {
    return value;
}
field_value sent(bool value) {
    return std::int64_t{value};
}
field_value sent(std::string_view value) {
    return std::string(value);
}

/// Throws std::runtime_error for a value of another type.
template <class Value>
Value received(const field_value& value) {
    using sent_as = std::conditional_t<std::is_same_v<Value, std::string_view>, std::string,
                                       std::conditional_t<std::is_same_v<Value, bool>, std::int64_t, Value>>;
    const auto* const found = std::get_if<sent_as>(&value);
    if (found == nullptr) throw std::runtime_error("a facet with a value of another type");
    return static_cast<Value>(*found);
}

/// Whether a store can have this date: one of the years 0 to 9999, in some time zone.
bool is_date(std::int64_t microseconds) {
    using namespace std::chrono;
    constexpr auto at = [](sys_days day) {
        return std::int64_t{day.time_since_epoch().count()} * 86'400 * 1'000'000;
    };
    constexpr std::int64_t least = at(sys_days(year(0) / January / 1) - days(1)),
                           end = at(sys_days(year(10'000) / January / 1) + days(1));
    return microseconds >= least && microseconds < end;
}

}  // namespace

field_order::field_order(const opened_store& store, std::string_view fields) {
    for (const named_field& field : parse_field_names(fields, "sort", true)) {
        const field_column& column = required_field(store, field.name.text, "sort");
        if (column.info().type == field_type::list || column.info().type == field_type::json)
            refuse(column, "sort", "which has no order (expected text, integer, number, boolean or date)");
        keys_.push_back({&column, field.descending});
    }
}

int field_order::compare(std::uint32_t a, const field_order& other, std::uint32_t b) const {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
        const field_column &one = *keys_[i].column, &two = *other.keys_[i].column;
        const bool has_a = one.has(a), has_b = two.has(b);
        if (has_a != has_b) return has_a ? -1 : 1;
        if (!has_a) continue;
        if (const int order = compare_values(one, a, two, b); order != 0)
            return keys_[i].descending ? -order : order;
    }
    return 0;
}

std::vector<field_value> field_order::values(std::uint32_t document) const {
    std::vector<field_value> values;
    for (const key& of : keys_) {
        field_value& value = values.emplace_back();
        const field_column& column = *of.column;
        if (!column.has(document)) continue;
        switch (column.info().type) {
            case field_type::integer:
            case field_type::date:
                value = column.integer(document);
                break;
            case field_type::number:
                value = column.number(document);
                break;
            case field_type::boolean:
                value = sent(column.boolean(document));
                break;
            case field_type::text:
                value = sent(column.text(document));
                break;
            case field_type::list:
            case field_type::json:
                break;
        }
    }
    return values;
}

int field_order::compare(std::span<const field_value> a, std::span<const field_value> b) const {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
        const bool has_a = a[i].index() != 0, has_b = b[i].index() != 0;
        if (has_a != has_b) return has_a ? -1 : 1;
        const int order = a[i] < b[i] ? -1 : b[i] < a[i] ? 1 : 0;
        if (order != 0) return keys_[i].descending ? -order : order;
    }
    return 0;
}

void field_order::keep_first(std::vector<scored_document>& documents, std::size_t k) const {
    const auto before = [&](const scored_document& a, const scored_document& b) {
        const int order = compare(a.document, *this, b.document);
        return order != 0 ? order < 0 : search_detail::ranks_before(a, b);
    };
    const std::size_t kept = std::min(k, documents.size());
    std::ranges::partial_sort(documents, documents.begin() + static_cast<std::ptrdiff_t>(kept), before);
    documents.resize(kept);
}

facet_counter::facet_counter(const opened_store& store, std::string_view fields) {
    for (const named_field& field : parse_field_names(fields, "facets", false)) {
        const field_column& column = required_field(store, field.name.text, "facets");
        if (column.info().type == field_type::json)
            refuse(column, "facets",
                   "whose values are not counted (expected text, integer, number, boolean, date or list)");
        columns_.push_back(&column);
    }
}

std::vector<search_facet> facet_counter::count(std::span<const std::uint32_t> documents, std::size_t values,
                                               std::uint64_t memory, const context& ctx) const {
    const found_documents all{this, documents};
    return count(std::span(&all, 1), values, memory, ctx);
}

std::vector<search_facet> facet_counter::count(std::span<const found_documents> found, std::size_t values,
                                               std::uint64_t memory, const context& ctx) {
    std::vector<search_facet> facets;
    value_memory of_values(memory);
    for (std::size_t field = 0; field < found.front().fields->columns_.size(); ++field) {
        search_facet& made = facets.emplace_back();
        const field_info& info = found.front().fields->columns_[field]->info();
        made.field = info.name;
        made.type = info.type;
        // `take(column, document)` for each one that has the field.
        const auto each = [&](const auto& take) {
            for (const auto& [fields, documents] : found) {
                const field_column& column = *fields->columns_[field];
                for (std::size_t i = 0; i < documents.size(); ++i) {
                    if (i % documents_between_checks == 0) ctx.check_stop();
                    if (!column.has(documents[i])) continue;
                    ++made.documents;
                    take(column, documents[i]);
                }
            }
        };
        with_values_of(info, of_values, [&](auto&& counts, const auto& text, auto get) {
            each([&](const field_column& of, std::uint32_t d) {
                get(of, d, [&](const auto& value) { counts.add(value); });
            });
            counts.write(made, values, text);
        });
    }
    return facets;
}

std::vector<facet_counts> facet_counter::counts(std::span<const std::uint32_t> documents,
                                                std::uint64_t memory, const context& ctx) const {
    std::vector<facet_counts> all;
    value_memory of_values(memory);
    for (const field_column* const column : columns_) {
        facet_counts& made = all.emplace_back();
        with_values_of(column->info(), of_values, [&](auto&& counts, const auto&, auto get) {
            for (std::size_t i = 0; i < documents.size(); ++i) {
                if (i % documents_between_checks == 0) ctx.check_stop();
                if (!column->has(documents[i])) continue;
                ++made.documents;
                get(*column, documents[i], [&](const auto& value) { counts.add(value); });
            }
            for (const auto& [value, of] : counts.counts()) {
                std::uint64_t text = 0;
                if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string_view>)
                    text = value.size();
                of_values.take(sent_value_bytes + 2 * text, column->info().name);
                made.values.push_back({sent(value), of});
            }
        });
    }
    return all;
}

std::vector<search_facet> facet_counter::together(std::span<const std::vector<facet_counts>> shards,
                                                  std::size_t values, std::uint64_t memory) const {
    std::vector<search_facet> facets;
    value_memory of_values(memory);
    for (std::size_t field = 0; field < columns_.size(); ++field) {
        search_facet& made = facets.emplace_back();
        made.field = columns_[field]->info().name;
        made.type = columns_[field]->info().type;
        with_values_of(columns_[field]->info(), of_values,
                       [&]<class Value>(value_counts<Value>&& counts, const auto& text, const auto&) {
                           for (const std::vector<facet_counts>& of : shards) {
                               if (of.size() != columns_.size())
                                   throw std::runtime_error("facets of other fields");
                               made.documents += of[field].documents;
                               for (const auto& [value, documents] : of[field].values) {
                                   const auto own = received<Value>(value);
                                   if constexpr (std::is_same_v<Value, std::int64_t>)
                                       if (made.type == field_type::date && !is_date(own))
                                           throw std::runtime_error("a facet with a date out of range");
                                   counts.add(own, documents);
                               }
                           }
                           counts.write(made, values, text);
                       });
    }
    return facets;
}

std::string facets_json(const std::vector<search_facet>& facets) {
    std::string json = "{";
    const auto add = [&](std::string_view name, const cell& value) {
        append_json(json, name);
        json += ':';
        append_json(json, value);
    };
    for (const search_facet& facet : facets) {
        const bool quoted = facet.type == field_type::text || facet.type == field_type::list ||
                            facet.type == field_type::date;
        const auto value_of = [&](const std::string& value) {
            return quoted ? cell(std::string_view(value)) : cell(raw_json{value});
        };
        if (json.size() > 1) json += ',';
        append_json(json, std::string_view(facet.field));
        json += ":{";
        add("type", field_type_names[static_cast<std::size_t>(facet.type)]);
        json += ',';
        add("documents", facet.documents);
        json += ',';
        add("distinct", facet.distinct);
        json += ",\"values\":[";
        for (std::size_t i = 0; i < facet.values.size(); ++i) {
            json += i == 0 ? "{" : ",{";
            add("value", value_of(facet.values[i].value));
            json += ',';
            add("documents", facet.values[i].documents);
            json += '}';
        }
        json += ']';
        if (!facet.min.empty()) {
            json += ',';
            add("min", value_of(facet.min));
            json += ',';
            add("max", value_of(facet.max));
        }
        json += '}';
    }
    return json + "}";
}

}  // namespace quern
