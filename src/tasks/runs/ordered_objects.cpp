// SPDX-License-Identifier: Apache-2.0
#include "tasks/runs/ordered_objects.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "base/id_order.hpp"
#include "base/prefix_key.hpp"
#include "device/cpu/pipeline.hpp"
#include "tasks/runs/run_inputs.hpp"

namespace quern {
namespace {

constexpr std::size_t check_interval = 1 << 16;
constexpr std::size_t max_digits = 18;  // each such number fits 64 bits

std::uint64_t value_of(std::string_view digits) {
    std::uint64_t value = 0;
    for (const char digit : digits) value = value * 10 + static_cast<std::uint64_t>(digit - '0');
    return value;
}

struct id_values {
    bool numeric = true;
    bool fit = true;        ///< at most max_digits each
    std::uint64_t max = 0;  ///< of those that fit
};

id_values values_of(std::span<const std::string_view> ids, const context& ctx) {
    id_values found;
    for (std::size_t i = 0; i < ids.size() && found.numeric; ++i) {
        if (i % check_interval == 0) ctx.check_stop();
        found.numeric = is_number(ids[i]);
        found.fit = found.fit && ids[i].size() <= max_digits;
        if (found.numeric && found.fit) found.max = std::max(found.max, value_of(ids[i]));
    }
    return found;
}

}  // namespace

ordered_objects::ordered_objects(id_lists lists, const context& ctx) : numbers_(lists.size()) {
    std::vector<id_values> values(lists.size());
    for_each_index(ctx, lists.size(), [&](std::uint64_t l) { values[l] = values_of(lists[l], ctx); });
    id_values all;
    std::uint64_t ids = 0;
    for (std::size_t l = 0; l < lists.size(); ++l) {
        all.numeric = all.numeric && values[l].numeric;
        all.fit = all.fit && values[l].fit;
        all.max = std::max(all.max, values[l].max);
        ids += lists[l].size();
        numbers_[l].resize(lists[l].size());
    }
    if (all.numeric && all.fit && all.max / 32 < ids)
        number_by_value(lists, all.max, ctx);
    else
        number_by_text(lists, all.numeric, ctx);
}

void ordered_objects::number_by_value(id_lists lists, std::uint64_t max, const context& ctx) {
    occurs_.resize(max / 64 + 1);
    for_each_index(ctx, lists.size(), [&](std::uint64_t l) {
        for (std::size_t i = 0; i < lists[l].size(); ++i) {
            if (i % check_interval == 0) ctx.check_stop();
            const std::uint64_t value = value_of(lists[l][i]), bit = std::uint64_t{1} << value % 64;
            const std::atomic_ref word(occurs_[value / 64]);
            if ((word.load(std::memory_order_relaxed) & bit) == 0)
                word.fetch_or(bit, std::memory_order_relaxed);
        }
    });
    before_.reserve(occurs_.size());
    for (const std::uint64_t word : occurs_) {
        before_.push_back(size_);
        size_ += static_cast<std::uint32_t>(std::popcount(word));
    }
    for_each_index(ctx, lists.size(), [&](std::uint64_t l) {
        for (std::size_t i = 0; i < lists[l].size(); ++i) {
            if (i % check_interval == 0) ctx.check_stop();
            const std::uint64_t value = value_of(lists[l][i]);
            const std::uint64_t lower = occurs_[value / 64] & ((std::uint64_t{1} << value % 64) - 1);
            numbers_[l][i] = before_[value / 64] + static_cast<std::uint32_t>(std::popcount(lower));
        }
    });
}

void ordered_objects::number_by_text(id_lists lists, bool numeric, const context& ctx) {
    id_numbers numbers;
    for (std::size_t l = 0; l < lists.size(); ++l) {
        for (std::size_t i = 0; i < lists[l].size(); ++i) {
            if (i % check_interval == 0) ctx.check_stop();
            numbers_[l][i] = numbers(lists[l][i]);
        }
    }
    struct placed {
        std::uint64_t prefix;  ///< decides nearly always, without reading the texts
        std::uint32_t size, number;
    };
    const std::span<const std::string_view> texts = numbers.ids();
    std::vector<placed> order(texts.size());
    for (std::uint32_t i = 0; i < order.size(); ++i)
        order[i] = {prefix_key(texts[i]), static_cast<std::uint32_t>(texts[i].size()), i};
    ctx.check_stop();
    std::ranges::sort(order, [&](const placed& a, const placed& b) {
        if (numeric && a.size != b.size) return a.size < b.size;
        return a.prefix != b.prefix ? a.prefix < b.prefix : texts[a.number] < texts[b.number];
    });
    ctx.check_stop();
    size_ = static_cast<std::uint32_t>(order.size());
    std::vector<std::uint32_t> place(size_);
    texts_.reserve(size_);
    for (std::uint32_t i = 0; i < size_; ++i) {
        place[order[i].number] = i;
        texts_.push_back(texts[order[i].number]);
    }
    for_each_index(ctx, lists.size(), [&](std::uint64_t l) {
        for (std::uint32_t& number : numbers_[l]) number = place[number];
    });
}

std::string ordered_objects::id(std::uint32_t number) const {
    if (occurs_.empty()) return std::string(texts_[number]);
    const auto word =
        static_cast<std::size_t>(std::ranges::upper_bound(before_, number) - before_.begin()) - 1;
    std::uint64_t bits = occurs_[word];
    for (std::uint32_t skipped = before_[word]; skipped < number; ++skipped) bits &= bits - 1;
    return std::to_string(word * 64 + static_cast<std::uint64_t>(std::countr_zero(bits)));
}

}  // namespace quern
