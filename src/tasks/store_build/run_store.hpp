// SPDX-License-Identifier: Apache-2.0
// The sorted runs of a build: in memory while they fit their share of the budget, on disk beyond; and their merge into
// the store's word sections.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "device/files/spill_file.hpp"
#include "ops/search/indexing/index_runs.hpp"
#include "quern/base/context.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store_build/word_sections.hpp"

namespace quern {

class run_store {
  public:
    /// Runs take at most `memory_bytes` of memory; the rest is in `scratch_file`.
    run_store(std::filesystem::path scratch_file, std::uint64_t memory_bytes);
    ~run_store();

    void append(search_detail::sorted_run run);  ///< in collection order

    using outcome = word_sections::outcome;
    /// Called with every merged range, in order.
    using range_visitor = std::function<void(const search_detail::merged_range&)>;
    /// Writes the sections `names`, with progress under the name `stage`: dictionary, frequencies and postings. All
    /// threads merge ranges of words, each of at most about `memory_bytes` / (threads + 2). Consumes the runs. `weight_exponent`: as of merge_runs.
    outcome merge(std::string_view stage, const std::filesystem::path& store,
                  const store_layout::word_index_names& names,
                  std::span<const std::uint32_t> document_lengths, const context& ctx,
                  std::uint64_t memory_bytes, const range_visitor& also = {},
                  std::optional<int> weight_exponent = {});
    std::uint64_t spilled_bytes() const { return spilled_; }

  private:
    void spill(search_detail::sorted_run& run);

    std::filesystem::path path_;
    std::uint64_t budget_;
    std::uint64_t held_ = 0, spilled_ = 0;
    std::unique_ptr<spill_file> file_;
    std::vector<search_detail::sorted_run> runs_;
    std::vector<std::uint32_t> first_documents_;
    std::uint32_t documents_ = 0;
};

}  // namespace quern
