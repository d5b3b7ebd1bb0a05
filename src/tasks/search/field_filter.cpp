// SPDX-License-Identifier: Apache-2.0
// A comparison becomes ranges of values, or a set of texts, and is evaluated in one pass over its column; documents without
// the field are then taken out, and a negated comparison is the complement. AND, OR and NOT work on 64 documents at a time.
#include "tasks/search/field_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "quern/base/error.hpp"
#include "tasks/search/filter_expression.hpp"
#include "tasks/store/field_values.hpp"
#include "text/near_words.hpp"

namespace quern {
namespace {

using kind = filter_comparison::kind;

constexpr std::int64_t min_integer = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t max_integer = std::numeric_limits<std::int64_t>::max();

/// Both ends included; empty if `first` is above `last`.
template <class Value>
struct value_range {
    Value first, last;
};

/// Sorted, without those that are empty, those that overlap as one.
template <class Value>
std::vector<value_range<Value>> in_order(std::vector<value_range<Value>> ranges) {
    std::erase_if(ranges, [](const auto& r) { return r.first > r.last; });
    std::ranges::sort(ranges, {}, &value_range<Value>::first);
    std::vector<value_range<Value>> joined;
    for (const auto& range : ranges) {
        if (joined.empty() || joined.back().last < range.first)
            joined.push_back(range);
        else
            joined.back().last = std::max(joined.back().last, range.last);
    }
    return joined;
}

/// "; did you mean 'price'?"; empty if no name is close.
std::string near_name(const opened_store& store, std::string_view name) {
    const std::string typed = lower(name);
    const std::uint32_t most = text::plain_edit * (typed.size() < 6 ? 1 : 2) + 3;
    std::string_view best;
    std::uint32_t least = most + 1;
    for (const field_column& column : store.fields()->columns()) {
        const std::uint32_t cost = text::misspelling_cost(typed, lower(column.info().name));
        if (cost >= least) continue;
        least = cost;
        best = column.info().name;
    }
    return best.empty() ? "" : fmt::format("; did you mean '{}'?", best);
}

/// "The store has lang (text), price (number)".
std::string known_fields(const opened_store& store) {
    constexpr std::size_t shown = 20;
    const auto& columns = store.fields()->columns();
    std::string text;
    for (std::size_t i = 0; i < std::min(shown, columns.size()); ++i) {
        const field_info& info = columns[i].info();
        text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", info.name,
                            field_type_names[static_cast<std::size_t>(info.type)]);
    }
    if (columns.size() > shown) text += fmt::format(" and {} more", columns.size() - shown);
    return "the store has " + text;
}

/// "; meta is json: build with --keep-fields meta.weight for a field of its own": if the name is one of its members.
std::string member_hint(const opened_store& store, std::string_view name) {
    const std::string_view whole = name.substr(0, name.find('.'));
    const field_column* const column = whole.size() == name.size() ? nullptr : store.fields()->find(whole);
    if (column == nullptr || column->info().type != field_type::json) return {};
    return fmt::format("; {} is json: build with --keep-fields {} for a field of its own", whole,
                       name.substr(0, 80));
}

/// Why there is no such field.
std::string lack_of(const opened_store& store, std::string_view name) {
    if (!store.fields() || store.fields()->columns().empty())
        return "the store has no kept fields; build it with --keep-fields";
    std::string near = member_hint(store, name);
    if (!near.empty()) near += ';';
    if (near.empty()) near = near_name(store, name);
    return fmt::format("there is no field '{}'{} {}", name.substr(0, 80), near.empty() ? ";" : near,
                       known_fields(store));
}

/// The bits of documents with a value that satisfies a test.
class evaluation {
  public:
    evaluation(const opened_store& store, std::string_view filter, const context& ctx)
        : store_(store), filter_(filter), ctx_(ctx), documents_(store.info().documents) {}

    document_bits comparison(const filter_comparison& of) const {
        const field_column* const column = store_.fields() ? store_.fields()->find(of.field.text) : nullptr;
        if (column == nullptr) fail(of.field.position, lack_of(store_, of.field.text));
        document_bits found(documents_);
        if (of.what == kind::exists) {
            std::ranges::fill(found.words(), ~std::uint64_t{0});
        } else {
            compare(*column, of, found);
        }
        keep_present(*column, found);
        if (of.negated) invert(found);
        return found;
    }

    void invert(document_bits& of) const {
        for (std::uint64_t& word : of.words()) word = ~word;
        clear_rest(of);
    }

  private:
    [[noreturn]] void fail(std::size_t position, const std::string& reason) const {
        throw filter_error(filter_, position, reason);
    }

    void clear_rest(document_bits& of) const {
        if (documents_ % 64 != 0) of.words().back() &= (std::uint64_t{1} << documents_ % 64) - 1;
    }

    void keep_present(const field_column& column, document_bits& of) const {
        const auto present = column.present();
        if (!present) return clear_rest(of);
        for (std::size_t i = 0; i < of.words().size(); ++i) {
            std::uint64_t word = 0;
            std::memcpy(&word, present->data() + 8 * i, std::min<std::size_t>(8, present->size() - 8 * i));
            of.words()[i] &= word;
        }
        clear_rest(of);
    }

    /// `passes(document)` for each document.
    template <class Passes>
    void test_all(document_bits& into, Passes passes) const {
        constexpr std::uint64_t words_between_checks = 1024;
        const auto words = into.words();
        for (std::size_t w = 0; w < words.size(); ++w) {
            if (w % words_between_checks == 0) ctx_.check_stop();
            const std::uint64_t begin = 64 * std::uint64_t{w}, end = std::min(begin + 64, documents_);
            std::uint64_t word = 0;
            for (std::uint64_t d = begin; d < end; ++d)
                word |= std::uint64_t{passes(static_cast<std::uint32_t>(d)) ? 1U : 0U} << (d - begin);
            words[w] = word;
        }
    }

    template <class Value>
    void test_ranges(document_bits& into, std::span<const Value> values,
                     std::vector<value_range<Value>> wanted) const {
        const auto ranges = in_order(std::move(wanted));
        if (ranges.empty()) return;
        if (ranges.size() == 1) {
            const auto [first, last] = ranges.front();
            return test_all(into, [&, first = first, last = last](std::uint32_t d) {
                return first <= values[d] && values[d] <= last;
            });
        }
        test_all(into, [&](std::uint32_t d) {
            const auto after = std::ranges::upper_bound(ranges, values[d], {}, &value_range<Value>::first);
            return after != ranges.begin() && values[d] <= std::prev(after)->last;
        });
    }

    void compare(const field_column& column, const filter_comparison& of, document_bits& into) const {
        switch (column.info().type) {
            case field_type::integer:
                return test_ranges(into, column.integers(),
                                   ranges<std::int64_t>(column, of, &evaluation::integer));
            case field_type::date:
                return test_ranges(into, column.integers(),
                                   ranges<std::int64_t>(column, of, &evaluation::date));
            case field_type::number:
                return test_ranges(into, column.numbers(), ranges<double>(column, of, &evaluation::number));
            case field_type::boolean:
                return compare_booleans(column, of, into);
            case field_type::text:
            case field_type::list:
                return compare_texts(column, of, into);
            case field_type::json:
                break;
        }
        fail(of.position,
             fmt::format(
                 "the field {} has objects, or lists of other values than text (json): only EXISTS can be "
                 "asked of it",
                 column.info().name));
    }

    [[noreturn]] void mismatch(const field_column& column, const filter_value& value,
                               std::string_view expected) const {
        fail(value.position, fmt::format("'{}' is not {}, but the field {} is of the type {}",
                                         value.text.substr(0, 80), expected, column.info().name,
                                         field_type_names[static_cast<std::size_t>(column.info().type)]));
    }

    // What a value stands for: of an integer, the whole numbers that are at least and at most it (first > last for a
    // fraction); of a date, the time that it names.
    value_range<std::int64_t> integer(const field_column& column, const filter_value& value) const {
        const std::string_view digits = value.text;
        std::int64_t whole = 0;
        const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
        if (failure == std::errc() && end == digits.data() + digits.size()) return {whole, whole};
        const double real = number(column, value).first;
        if (real >= 0x1p63 || real < -0x1p63) mismatch(column, value, "a number of 64 bits");
        return {static_cast<std::int64_t>(std::ceil(real)), static_cast<std::int64_t>(std::floor(real))};
    }
    value_range<double> number(const field_column& column, const filter_value& value) const {
        const std::string_view digits = value.text;
        double real = 0;
        const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), real);
        if (failure == std::errc::result_out_of_range && end == digits.data() + digits.size())
            real = std::strtod(value.text.c_str(), nullptr);
        if ((failure != std::errc() && failure != std::errc::result_out_of_range) ||
            end != digits.data() + digits.size() || !std::isfinite(real))
            mismatch(column, value, "a number");
        return {real, real};
    }
    value_range<std::int64_t> date(const field_column& column, const filter_value& value) const {
        const auto named = range_of_date(value.text);
        if (!named)
            mismatch(column, value, "a date such as 2024, 2024-05, 2024-05-01 or \"2024-05-01T12:30\"");
        return {named->first, named->last};
    }

    template <class Value, class Read>
    std::vector<value_range<Value>> ranges(const field_column& column, const filter_comparison& of,
                                           Read read) const {
        using limits = std::numeric_limits<Value>;
        const Value least = limits::lowest(), greatest = limits::max();
        constexpr value_range<Value> none{Value{1}, Value{0}};
        std::vector<value_range<Value>> found;
        for (const filter_value& value : of.values) found.push_back(std::invoke(read, this, column, value));
        const auto [first, last] = found.front();
        switch (of.what) {
            case kind::equal:
            case kind::one_of:
                return found;
            case kind::less:
                return {below(first) ? value_range<Value>{least, *below(first)} : none};
            case kind::less_equal:
                return {{least, last}};
            case kind::greater:
                return {above(last) ? value_range<Value>{*above(last), greatest} : none};
            case kind::greater_equal:
                return {{first, greatest}};
            case kind::between:
                return {{first, found.back().last}};
            case kind::starts_with:
            case kind::exists:
                break;
        }
        fail(of.position,
             fmt::format("STARTS WITH needs a field of texts; {} is of the type {}", column.info().name,
                         field_type_names[static_cast<std::size_t>(column.info().type)]));
    }

    static std::optional<std::int64_t> below(std::int64_t value) {
        return value == min_integer ? std::nullopt : std::optional(value - 1);
    }
    static std::optional<std::int64_t> above(std::int64_t value) {
        return value == max_integer ? std::nullopt : std::optional(value + 1);
    }
    static std::optional<double> below(double value) {
        return std::nextafter(value, -std::numeric_limits<double>::infinity());
    }
    static std::optional<double> above(double value) {
        return std::nextafter(value, std::numeric_limits<double>::infinity());
    }

    void compare_booleans(const field_column& column, const filter_comparison& of,
                          document_bits& into) const {
        if (of.what != kind::equal && of.what != kind::one_of) {
            fail(of.position,
                 fmt::format("the field {} is true or false: it can be compared with = and != only",
                             column.info().name));
        }
        bool wanted[2] = {false, false};
        for (const filter_value& value : of.values) {
            const std::string text = lower(value.text);
            if (text != "true" && text != "false") mismatch(column, value, "true or false");
            wanted[text == "true" ? 1 : 0] = true;
        }
        const auto values = column.booleans();
        test_all(into, [&](std::uint32_t d) { return wanted[values[d] != 0 ? 1 : 0]; });
    }

    static bool is_number(std::string_view text) {
        double number = 0;
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
        return failure == std::errc() && end == text.data() + text.size();
    }
    [[noreturn]] void refuse_order_of_number(const field_column& column, const filter_value& value) const {
        fail(value.position,
             fmt::format(
                 "the field {} is of the type {}, since not all of its values are numbers, and the text 9 "
                 "is above the text 10 (expected a text in quotes, as \"{}\", to compare texts)",
                 column.info().name, field_type_names[static_cast<std::size_t>(column.info().type)],
                 value.text));
    }

    void compare_texts(const field_column& column, const filter_comparison& of, document_bits& into) const {
        const bool by_order =
            of.what != kind::equal && of.what != kind::one_of && of.what != kind::starts_with;
        for (const filter_value& value : of.values)
            if (by_order && !value.quoted && is_number(value.text)) refuse_order_of_number(column, value);
        std::vector<std::string_view> wanted;
        for (const filter_value& value : of.values) wanted.emplace_back(value.text);
        const std::string_view first = wanted.front(), last = wanted.back();
        switch (of.what) {
            case kind::equal:
            case kind::one_of:
                break;
            case kind::less:
                return test_texts(column, into, [&](std::string_view text) { return text < first; });
            case kind::less_equal:
                return test_texts(column, into, [&](std::string_view text) { return text <= first; });
            case kind::greater:
                return test_texts(column, into, [&](std::string_view text) { return text > first; });
            case kind::greater_equal:
                return test_texts(column, into, [&](std::string_view text) { return text >= first; });
            case kind::between:
                return test_texts(column, into,
                                  [&](std::string_view text) { return text >= first && text <= last; });
            case kind::starts_with:
                return test_texts(column, into,
                                  [&](std::string_view text) { return text.starts_with(first); });
            case kind::exists:
                return;
        }
        if (wanted.size() == 1)
            return test_texts(column, into, [&](std::string_view text) { return text == first; });
        std::ranges::sort(wanted);
        test_texts(column, into,
                   [&](std::string_view text) { return std::ranges::binary_search(wanted, text); });
    }

    template <class Passes>
    void test_texts(const field_column& column, document_bits& into, Passes passes) const {
        if (column.info().type == field_type::text)
            return test_all(into, [&](std::uint32_t d) { return passes(column.text(d)); });
        test_all(into, [&](std::uint32_t d) {
            auto [at, end] = column.list(d);
            while (at != end && !passes(column.list_item(at))) ++at;
            return at != end;
        });
    }

    const opened_store& store_;
    std::string_view filter_;
    const context& ctx_;
    std::uint64_t documents_;
};

}  // namespace

void document_bits::set_count() {
    count_ = 0;
    for (const std::uint64_t word : words_) count_ += static_cast<std::uint64_t>(std::popcount(word));
}

search_detail::condition document_bits::condition() const {
    search_detail::condition result{search_detail::condition::kind::bits};
    result.bits = words_;
    result.bits_set = count_;
    return result;
}

const field_column& required_field(const opened_store& store, std::string_view name,
                                   std::string_view option) {
    const field_column* const found = store.fields() ? store.fields()->find(name) : nullptr;
    if (found != nullptr) return *found;
    // As other engines write an order.
    if (const auto end = name.find_first_of(": "); option == "sort" && end != std::string_view::npos) {
        const std::string_view field = name.substr(0, end);
        if (const std::string_view order = name.substr(end + 1);
            (order == "asc" || order == "desc") && store.fields() && store.fields()->find(field) != nullptr)
            throw usage_error(fmt::format("sort: '{}' is not understood (expected {}{})", name.substr(0, 80),
                                          order == "asc" ? "" : "-", field));
    }
    throw usage_error(fmt::format("{}: {}", option, lack_of(store, name)));
}

document_bits passing_documents(const opened_store& store, std::string_view filter, std::uint64_t memory,
                                const context& ctx) {
    const filter_expression expression = parse_filter(filter);
    const evaluation evaluate(store, filter, ctx);
    std::vector<document_bits> stack;
    for (const filter_step& step : expression.steps) {
        if (step.what == filter_step::kind::comparison) {
            stack.push_back(evaluate.comparison(expression.comparisons[step.comparison]));
            const std::uint64_t bytes = stack.size() * stack.back().words().size_bytes();
            if (bytes > memory) throw out_of_memory("a filter with so many parts", bytes, memory);
            continue;
        }
        if (step.what == filter_step::kind::negation) {
            evaluate.invert(stack.back());
            continue;
        }
        const document_bits last = std::move(stack.back());
        stack.pop_back();
        const auto into = stack.back().words();
        const bool both = step.what == filter_step::kind::both;
        for (std::size_t i = 0; i < into.size(); ++i)
            into[i] = both ? into[i] & last.words()[i] : into[i] | last.words()[i];
    }
    stack.front().set_count();
    return std::move(stack.front());
}

std::shared_ptr<const document_bits> filter_cache::find(const opened_store& store, std::string_view filter,
                                                        std::uint64_t memory, const context& ctx) {
    {
        const std::lock_guard held(lock_);
        const auto at = std::ranges::find(kept_, filter, &kept::filter);
        if (at != kept_.end()) {
            kept_.splice(kept_.begin(), kept_, at);
            return kept_.front().documents;
        }
    }
    auto result = std::make_shared<const document_bits>(passing_documents(store, filter, memory, ctx));
    const std::lock_guard held(lock_);
    kept_.push_front({std::string(filter), result});
    bytes_ += kept_.front().bytes();
    while (!kept_.empty() && (kept_.size() > max_kept || bytes_ > memory_)) {
        bytes_ -= kept_.back().bytes();
        kept_.pop_back();
    }
    return result;
}

}  // namespace quern
