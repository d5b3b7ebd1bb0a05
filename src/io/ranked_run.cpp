// SPDX-License-Identifier: Apache-2.0
#include "io/ranked_run.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/hash.hpp"
#include "base/id_order.hpp"
#include "io/run_lines.hpp"
#include "io/trec_messages.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// How many lines a text holds where they are all as long as the first ones, and some more.
std::size_t expected_lines(std::string_view text) {
    const std::string_view first = text.substr(0, std::size_t{1} << 16);
    const auto lines = static_cast<std::size_t>(std::ranges::count(first, '\n')) + 1;
    constexpr std::size_t shortest = 12;  // 1 2 3 4 5 6 and a line feed
    return std::min(text.size() / (first.size() / lines + 1) * 9 / 8, text.size() / shortest) + 1;
}

}  // namespace

ranked_run::ranked_run(const std::filesystem::path& path, const context& run) {
    memory_budget memory(run.memory_limit());
    *this = ranked_run(path, run, memory);
}

ranked_run::ranked_run(const std::filesystem::path& path, const context& run, memory_budget& memory)
    : text_(path, run, memory) {
    read(run, memory);
}

ranked_run::ranked_run(byte_source& source, const context& run) : text_(source, run) {
    memory_budget memory(run.memory_limit());
    read(run, memory);
}

void ranked_run::read(const context& run, memory_budget& memory) {
    const std::string_view text = text_.text();
    reserve(expected_lines(text), memory);  // what is not used of them is never touched

    std::unordered_map<std::string_view, std::uint32_t> numbers;
    std::vector<std::uint32_t> topic_of_stretch;
    std::vector<std::uint64_t> stretch_begins;  // stretches: lines of one topic that stand together
    run_lines lines(name(), text);
    run_line line;
    while (lines.next(line)) {
        if ((entries_.size() & 0xffff) == 0) run.check_stop();
        if (entries_.size() == entries_.capacity()) reserve(2 * entries_.size(), memory);
        if (!line.same_topic) {
            const auto number = static_cast<std::uint32_t>(topics_.size());
            const auto [topic, added] = numbers.try_emplace(line.topic, number);
            if (added) topics_.push_back({line.topic, {}});
            topic_of_stretch.push_back(topic->second);
            stretch_begins.push_back(entries_.size());
        }
        entries_.push_back({line.document.data(), static_cast<std::uint32_t>(line.document.size()),
                            static_cast<std::uint32_t>(hash64(line.document)), line.score});
        numbers_alone_ = numbers_alone_ && is_number(line.document);
    }
    stretch_begins.push_back(entries_.size());
    gather(topic_of_stretch, stretch_begins, memory);
    memory.give_back((entries_.capacity() - entries_.size()) * sizeof(ranked_entry));
}

/// Room for so many entries, which is counted.
void ranked_run::reserve(std::size_t entries, memory_budget& memory) {
    const std::size_t before = entries_.capacity();
    memory.take(entries * sizeof(ranked_entry), "the lines of " + name());
    entries_.reserve(entries);
    memory.give_back(before * sizeof(ranked_entry));
}

/// Puts the entries of each topic together, in the order of their lines; nearly always they are.
void ranked_run::gather(std::span<const std::uint32_t> topic_of_stretch,
                        std::span<const std::uint64_t> stretch_begins, memory_budget& memory) {
    const std::size_t stretches = topic_of_stretch.size();
    std::vector<std::uint64_t> next(topics_.size() + 1);  // where the next entry of a topic goes
    for (std::size_t s = 0; s < stretches; ++s)
        next[topic_of_stretch[s] + 1] += stretch_begins[s + 1] - stretch_begins[s];
    for (std::size_t t = 0; t < topics_.size(); ++t) next[t + 1] += next[t];
    const std::vector<std::uint64_t> begins = next;
    if (stretches != topics_.size()) {
        memory.take(entries_.size() * sizeof(ranked_entry), "the lines of " + name());
        std::vector<ranked_entry> gathered(entries_.size());
        for (std::size_t s = 0; s < stretches; ++s) {
            const auto from =
                std::span(entries_).subspan(stretch_begins[s], stretch_begins[s + 1] - stretch_begins[s]);
            std::uint64_t& to = next[topic_of_stretch[s]];
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
    return run_lines::rank_behind(entry.document(), text_.text());
}

void ranked_run::refuse(const ranked_entry& entry, std::string_view reason) const {
    const auto lines_before = std::count(text_.text().data(), entry.document_begin, '\n');
    throw invalid_input(name(), static_cast<std::uint64_t>(lines_before) + 1, reason);
}

void ranked_run::refuse_repeated(const ranked_topic& topic, const ranked_entry& entry) const {
    refuse(entry, repeated_document(entry.document(), topic.id));
}

}  // namespace quern::io
