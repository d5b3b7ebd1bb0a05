// SPDX-License-Identifier: Apache-2.0
#include "io/retrieval/indexed_run.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/hash.hpp"
#include "io/retrieval/ranked_run.hpp"
#include "io/retrieval/run_lines.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// Ranges of lines, one after the other, and the topic of each.
struct topic_ranges {
    std::vector<std::uint64_t> begins;
    std::vector<std::uint32_t> topics;

    std::uint64_t bytes() const {
        return begins.capacity() * sizeof(std::uint64_t) + topics.capacity() * sizeof(std::uint32_t);
    }
};

/// The first document of `documents` that has occurred before; null if none has.
const retrieved_view* first_repeated(std::span<const retrieved_view> documents) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> order;  // of hashes, then in line order
    order.reserve(documents.size());
    for (const retrieved_view& document : documents)
        order.emplace_back(static_cast<std::uint32_t>(hash64(document.id)),
                           static_cast<std::uint32_t>(order.size()));
    std::ranges::sort(order);
    const retrieved_view* first = nullptr;
    for (std::size_t begin = 0, end; begin < order.size(); begin = end) {
        end = begin + 1;
        while (end < order.size() && order[end].first == order[begin].first) ++end;
        for (std::size_t i = begin + 1; i < end; ++i) {
            const retrieved_view* const here = &documents[order[i].second];
            const bool repeated =
                std::any_of(order.begin() + static_cast<std::ptrdiff_t>(begin),
                            order.begin() + static_cast<std::ptrdiff_t>(i),
                            [&](const auto& earlier) { return documents[earlier.second].id == here->id; });
            if (!repeated) continue;
            if (first == nullptr || here < first) first = here;
            break;
        }
    }
    return first;
}

}  // namespace

indexed_run::indexed_run(const std::filesystem::path& path, const context& ctx, memory_budget& memory)
    : text_(path, ctx, memory) {
    index(ctx, memory);
}

indexed_run::indexed_run(byte_source& source) : text_(source, {}) {
    memory_budget memory(context().memory_limit());
    index({}, memory);
}

void indexed_run::index(const context& ctx, memory_budget& memory) {
    // A table's entry, its node and slot; and half as much for lists that double.
    constexpr std::uint64_t bytes_of_a_topic = (sizeof(indexed_topic) + 64 + sizeof(std::uint64_t)) * 3 / 2;
    const std::string_view text = text_.text();
    const std::string what_for = "the topics of " + name();
    std::unordered_map<std::string_view, std::uint32_t> numbers;
    topic_ranges ranges;
    run_lines lines(name(), text);
    run_line line;
    for (std::uint64_t read = 0, taken = 0; lines.next(line); ++read) {
        if ((read & 0xffff) == 0) ctx.check_stop();
        if (!line.same_topic) {
            const auto [topic, added] =
                numbers.try_emplace(line.topic, static_cast<std::uint32_t>(topics_.size()));
            if (added) topics_.push_back({line.topic, {}, 0});
            ranges.begins.push_back(static_cast<std::uint64_t>(lines.line_begin() - text.data()));
            ranges.topics.push_back(topic->second);
            const std::uint64_t held = 2 * ranges.bytes() + topics_.size() * bytes_of_a_topic;
            if (held > taken + (std::uint64_t{1} << 16)) {
                memory.take(held - taken, what_for);
                taken = held;
            }
        }
        ++topics_[ranges.topics.back()].lines;
    }
    std::vector<std::uint64_t> ends(topics_.size() + 1);
    for (const std::uint32_t topic : ranges.topics) ++ends[topic + std::size_t{1}];
    for (std::size_t t = 0; t < topics_.size(); ++t) ends[t + 1] += ends[t];
    std::vector<std::uint64_t> next(ends);
    ranges_.resize(ranges.begins.size());
    for (std::size_t r = 0; r < ranges.begins.size(); ++r)
        ranges_[next[ranges.topics[r]]++] = ranges.begins[r];
    for (std::size_t t = 0; t < topics_.size(); ++t)
        topics_[t].ranges = std::span(ranges_).subspan(ends[t], ends[t + 1] - ends[t]);
}

std::uint64_t indexed_run::max_lines() const {
    std::uint64_t most = 0;
    for (const indexed_topic& topic : topics_) most = std::max(most, topic.lines);
    return most;
}

void indexed_run::read(const indexed_topic& topic, std::vector<retrieved_view>& documents) const {
    documents.clear();
    documents.reserve(topic.lines);
    for (const std::uint64_t begin : topic.ranges) {
        run_lines lines(name(), text_.text().substr(begin));
        run_line line;
        while (lines.next(line) && line.topic == topic.id) documents.push_back({line.document, line.score});
    }
    if (const retrieved_view* const repeated = first_repeated(documents); repeated != nullptr) {
        const auto lines_before = std::count(text_.text().data(), repeated->id.data(), '\n');
        throw invalid_input(name(), static_cast<std::uint64_t>(lines_before) + 1,
                            repeated_document(repeated->id, topic.id));
    }
}

}  // namespace quern::io
