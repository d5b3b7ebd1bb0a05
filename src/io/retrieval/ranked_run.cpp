// SPDX-License-Identifier: Apache-2.0
#include "io/retrieval/ranked_run.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/ascii.hpp"
#include "base/hash.hpp"
#include "base/id_order.hpp"
#include "io/lines/numbers.hpp"
#include "io/retrieval/run_lines.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// Estimates a text's number of lines from the length of the first ones, plus a margin.
std::size_t expected_lines(std::string_view text) {
    const std::string_view first = text.substr(0, std::size_t{1} << 16);
    const auto lines = static_cast<std::size_t>(std::ranges::count(first, '\n')) + 1;
    constexpr std::size_t shortest = 12;  // 1 2 3 4 5 6 and a line feed
    return std::min(text.size() / (first.size() / lines + 1) * 9 / 8, text.size() / shortest) + 1;
}

}  // namespace

ranked_run::ranked_run(const std::filesystem::path& path, const context& ctx) {
    memory_budget memory(ctx.memory_limit());
    *this = ranked_run(path, ctx, memory);
}

ranked_run::ranked_run(const std::filesystem::path& path, const context& ctx, memory_budget& memory)
    : text_(path, ctx, memory) {
    read(ctx, memory);
}

ranked_run::ranked_run(byte_source& source, const context& ctx) : text_(source, ctx) {
    memory_budget memory(ctx.memory_limit());
    read(ctx, memory);
}

void ranked_run::read(const context& ctx, memory_budget& memory) {
    const std::string_view text = text_.text();
    reserve(expected_lines(text), memory);  // the unused part is never touched

    std::unordered_map<std::string_view, std::uint32_t> numbers;
    std::vector<std::uint32_t> topic_of_range;
    std::vector<std::uint64_t> range_begins;  // ranges: consecutive lines of one topic
    run_lines lines(name(), text);
    run_line line;
    while (lines.next(line)) {
        if ((entries_.size() & 0xffff) == 0) ctx.check_stop();
        if (entries_.size() == entries_.capacity()) reserve(2 * entries_.size(), memory);
        if (!line.same_topic) {
            const auto number = static_cast<std::uint32_t>(topics_.size());
            const auto [topic, added] = numbers.try_emplace(line.topic, number);
            if (added) topics_.push_back({line.topic, {}});
            topic_of_range.push_back(topic->second);
            range_begins.push_back(entries_.size());
        }
        entries_.push_back({line.document.data(), static_cast<std::uint32_t>(line.document.size()),
                            static_cast<std::uint32_t>(hash64(line.document)), line.score});
        numbers_alone_ = numbers_alone_ && is_number(line.document);
    }
    range_begins.push_back(entries_.size());
    gather(topic_of_range, range_begins, memory);
    memory.give_back((entries_.capacity() - entries_.size()) * sizeof(ranked_entry));
}

/// Reserves space for that many entries, counted against the budget.
void ranked_run::reserve(std::size_t entries, memory_budget& memory) {
    const std::size_t before = entries_.capacity();
    memory.take(entries * sizeof(ranked_entry), "the lines of " + name());
    entries_.reserve(entries);
    memory.give_back(before * sizeof(ranked_entry));
}

/// Groups the entries of each topic, in line order; nearly always they are grouped already.
void ranked_run::gather(std::span<const std::uint32_t> topic_of_range,
                        std::span<const std::uint64_t> range_begins, memory_budget& memory) {
    const std::size_t topic_ranges = topic_of_range.size();
    std::vector<std::uint64_t> next(topics_.size() + 1);  // where the next entry of a topic goes
    for (std::size_t s = 0; s < topic_ranges; ++s)
        next[topic_of_range[s] + 1] += range_begins[s + 1] - range_begins[s];
    for (std::size_t t = 0; t < topics_.size(); ++t) next[t + 1] += next[t];
    const std::vector<std::uint64_t> begins = next;
    if (topic_ranges != topics_.size()) {
        memory.take(entries_.size() * sizeof(ranked_entry), "the lines of " + name());
        std::vector<ranked_entry> gathered(entries_.size());
        for (std::size_t s = 0; s < topic_ranges; ++s) {
            const auto from =
                std::span(entries_).subspan(range_begins[s], range_begins[s + 1] - range_begins[s]);
            std::uint64_t& to = next[topic_of_range[s]];
            std::ranges::copy(from, gathered.begin() + static_cast<std::ptrdiff_t>(to));
            to += from.size();
        }
        memory.give_back(entries_.capacity() * sizeof(ranked_entry));
        entries_ = std::move(gathered);
    }
    for (std::size_t t = 0; t < topics_.size(); ++t)
        topics_[t].entries = std::span(entries_).subspan(begins[t], begins[t + 1] - begins[t]);
}

std::optional<std::uint32_t> ranked_run::rank_of(const ranked_entry& entry) const {
    return run_lines::rank_after(entry.document(), text_.text());
}

void ranked_run::refuse(const ranked_entry& entry, std::string_view reason) const {
    const auto lines_before = std::count(text_.text().data(), entry.document_begin, '\n');
    throw invalid_input(name(), static_cast<std::uint64_t>(lines_before) + 1, reason);
}

void ranked_run::refuse_repeated(const ranked_topic& topic, const ranked_entry& entry) const {
    refuse(entry, repeated_document(entry.document(), topic.id));
}

ranked_list::ranked_list(const std::filesystem::path& path, const context& ctx, memory_budget& memory)
    : text_(path, ctx, memory) {
    const char* at = text_.text().data();
    const char* const end = at + text_.text().size();
    for (std::uint64_t line = 1; at != end; ++line) {
        const auto refuse = [&](const char* reason) { throw invalid_input(name(), line, reason); };
        const auto* stop =
            static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        if (stop == nullptr) stop = end;
        if ((line & 0xffff) == 0) ctx.check_stop();
        const std::string_view text(at, stop);
        at = stop == end ? end : stop + 1;
        const std::size_t tab = text.find('\t');
        if (tab == std::string_view::npos) refuse("no tab between an id and its score");
        if (tab == 0) refuse("the id is empty");
        std::string_view field = text.substr(tab + 1);
        field = trimmed(field.substr(0, field.find('\t')));
        const parsed_number score = parse_double(field, end);
        if (score.problem != number_problem::none) refuse("the score is not a finite number");
        if (ids_.size() == ids_.capacity()) reserve(std::max<std::size_t>(1024, 2 * ids_.size()), memory);
        ids_.push_back(text.substr(0, tab));
        scores_.push_back(score.value);
    }
}

/// Reserves space for that many entries, counted against the budget.
void ranked_list::reserve(std::size_t entries, memory_budget& memory) {
    constexpr std::size_t bytes = sizeof(decltype(ids_)::value_type) + sizeof(decltype(scores_)::value_type);
    const std::size_t before = ids_.capacity();
    memory.take(entries * bytes, "the lines of " + name());
    ids_.reserve(entries);
    scores_.reserve(entries);
    memory.give_back(before * bytes);
}

}  // namespace quern::io
