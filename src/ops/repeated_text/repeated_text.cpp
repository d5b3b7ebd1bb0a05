// SPDX-License-Identifier: Apache-2.0
#include "quern/ops/repeated_text.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "device/cpu/cpu_place.hpp"
#include "ops/repeated_text/compared_parts.hpp"
#include "ops/repeated_text/text_parts.hpp"
#include "ops/repeated_text/text_windows.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace repeated_text_detail {
namespace {

/// Refuses more results than a quarter of the budget: the sorts take the rest.
template <class Result>
void check_budget(const std::vector<Result>& results, const context& ctx) {
    const std::uint64_t bytes = results.capacity() * sizeof(Result), limit = ctx.memory_limit() / 4;
    if (bytes > limit) throw out_of_memory("the repeated parts", bytes, limit);
}

repeated_text_result find_parts(cpu_place& place, const text_list& texts, std::uint64_t first_new,
                                const repeated_text_options& options, const tuning& tuned) {
    repeated_text_result result;
    text_parts parts(place, texts, options, tuned, result.counts);
    std::vector<occurrence> found;
    const auto take = [&](std::span<const occurrence> more) {
        for (const occurrence& one : more)
            if (one.position >= first_new) found.push_back(one);
        check_budget(found, place.ctx());
    };
    const std::vector<occurrence> hidden = find_repeated(place, parts, take, result.counts);
    if (!hidden.empty()) {
        take(hidden);
        std::ranges::sort(found, {}, &occurrence::position);
        const auto twice = std::ranges::unique(found, {}, &occurrence::position);
        found.erase(twice.begin(), twice.end());
    }
    for (auto at = found.begin(); at != found.end();) {
        place.ctx().check_stop();
        const std::uint32_t text = text_at(texts, at->position);
        const std::uint64_t text_end = texts.offsets[text + std::size_t{1}];
        const auto end =
            std::find_if(at, found.end(), [&](const occurrence& o) { return o.position >= text_end; });
        parts.append_spans(text, {at, end}, result.spans);
        at = end;
    }
    return result;
}

/// Neighbouring windows as one range. `first` is that of the first window.
struct window_union {
    static constexpr std::uint64_t unknown = ~std::uint64_t{0};
    std::uint64_t begin = 0, end = 0, first = unknown;
};

/// Joins windows by position.
class window_joiner {
  public:
    window_joiner(const text_list& texts, const text_windows& windows, std::vector<window_union>& to)
        : texts_(texts), bytes_(texts.bytes.data()), windows_(windows), to_(to) {}

    void add(const occurrence& window) {
        const std::uint64_t position = window.position;
        if (any_ && position <= to_.back().end && position < text_end_) {
            while (last_ < position) {  // the end advances by as many code points as the beginning
                last_ = next(last_);
                to_.back().end = next(to_.back().end);
            }
            return;
        }
        any_ = true;
        last_ = position;
        text_end_ = text_around(texts_, position).end;
        to_.push_back({position, position + windows_.part_at(position).size(), window.first});
    }

  private:
    std::uint64_t next(std::uint64_t at) const {
        for (++at; at < text_end_ && continues(bytes_[at]);) ++at;
        return at;
    }

    const text_list& texts_;
    const char* bytes_;
    const text_windows& windows_;
    std::vector<window_union>& to_;
    bool any_ = false;
    std::uint64_t last_ = 0, text_end_ = 0;
};

repeated_text_result find_substrings(cpu_place& place, const text_list& texts, std::uint64_t first_new,
                                     const repeated_text_options& options, const tuning& tuned) {
    repeated_text_result result;
    text_windows windows(place, texts, options.min_length, tuned, result.counts);
    windows.filter();
    std::vector<window_union> found;
    const auto take_with = [&](window_joiner& joiner, std::span<const occurrence> more) {
        for (const occurrence& one : more)
            if (one.position >= first_new) joiner.add(one);
        check_budget(found, place.ctx());
    };
    window_joiner joiner(texts, windows, found);
    const std::vector<occurrence> hidden = find_repeated(
        place, windows, [&](std::span<const occurrence> more) { take_with(joiner, more); }, result.counts);
    window_joiner hidden_joiner(texts, windows, found);
    take_with(hidden_joiner, hidden);
    for (const byte_range& range : windows.proved())
        if (range.begin >= first_new) found.push_back({range.begin, range.end});
    check_budget(found, place.ctx());
    std::ranges::sort(found, {}, [](const window_union& u) { return std::pair(u.begin, u.first); });

    std::uint64_t text_end = 0, last_end = 0;
    for (const window_union& range : found) {
        if (range.begin < text_end && range.begin <= last_end) {
            last_end = std::max(last_end, range.end);
            result.spans.back().end = last_end;
            continue;
        }
        text_end = text_around(texts, range.begin).end;
        last_end = range.end;
        result.spans.push_back(
            {range.begin, range.end, text_at(texts, range.begin), text_at(texts, range.first)});
    }
    for (repeated_span& span : result.spans) {
        span.begin -= texts.offsets[span.text];
        span.end -= texts.offsets[span.text];
    }
    return result;
}

}  // namespace

repeated_text_result find_spans(const text_list& texts, std::uint32_t first_new,
                                const repeated_text_options& options, const tuning& tuned,
                                const context& ctx) {
    if (options.min_length == 0 || options.min_length > max_part_length) {
        throw usage_error("min_length: invalid value " + std::to_string(options.min_length) +
                          " (expected 1 to " + std::to_string(max_part_length) + ")");
    }
    if (first_new > texts.size())
        throw usage_error("the first new text is " + std::to_string(first_new) + " of " +
                          std::to_string(texts.size()));
    if (texts.size() == 0 || texts.offsets.back() == 0) return {};
    if (texts.offsets.front() != 0 || texts.offsets.back() != texts.bytes.size())
        throw usage_error("the texts are not all of the bytes");
    cpu_place place(ctx);
    const std::uint64_t first = texts.offsets[first_new];
    return options.part == text_part::substring ? find_substrings(place, texts, first, options, tuned)
                                                : find_parts(place, texts, first, options, tuned);
}

}  // namespace repeated_text_detail

repeated_text_result repeated_text(const text_list& texts, std::uint32_t first_new,
                                   const repeated_text_options& options, const context& ctx) {
    return repeated_text_detail::find_spans(texts, first_new, options, {}, ctx);
}

}  // namespace quern
