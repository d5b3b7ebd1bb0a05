// SPDX-License-Identifier: Apache-2.0
// A run of which only the places of topics are in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/retrieved_view.hpp"
#include "device/memory_budget.hpp"
#include "io/byte_source.hpp"
#include "io/lines/text_blocks.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// A topic's lines: ranges of consecutive lines, in the order of the file.
struct indexed_topic {
    std::string_view id;
    std::span<const std::uint64_t>
        ranges;  ///< where each begins in the text; it ends with a line of another topic
    std::uint64_t lines = 0;
};

/// An open run, which is parsed once to find its topics and again to read one of them. Move-only.
class indexed_run {
  public:
    /// As ranked_run reads it. A text that is not mapped, and the places, stay counted in `memory`.
    indexed_run(const std::filesystem::path& path, const context& ctx, memory_budget& memory);
    /// The rest of `source`.
    explicit indexed_run(byte_source& source);

    const std::string& name() const { return text_.name(); }
    /// In order of first occurrence.
    std::span<const indexed_topic> topics() const { return topics_; }
    std::uint64_t max_lines() const;  ///< of a topic

    /// The documents of a topic, in line order; they replace `documents`. Throws invalid_input where one is repeated.
    void read(const indexed_topic& topic, std::vector<retrieved_view>& documents) const;

  private:
    void index(const context& ctx, memory_budget& memory);

    text_of_file text_;
    std::vector<indexed_topic> topics_;
    std::vector<std::uint64_t> ranges_;  ///< topic by topic
};

}  // namespace quern::io
