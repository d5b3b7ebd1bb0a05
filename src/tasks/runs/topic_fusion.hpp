// SPDX-License-Identifier: Apache-2.0
// One topic of several runs: its entries in order, its documents numbered, fused, and written as lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/retrieval/ranked_run.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/fuse.hpp"
#include "tasks/runs/ids.hpp"

namespace quern {

/// One topic in every run; null for a run without it.
struct topic_lists {
    std::string_view id;
    std::vector<const io::ranked_topic*> in_run;
};

/// Fuses one topic after the other, in reused memory. Single-threaded.
class topic_fusion {
  public:
    /// `numeric`: whether ids compare as numbers. The runs must outlive it.
    topic_fusion(std::span<const io::ranked_run> runs, bool numeric, rank_source ranks)
        : runs_(runs), numeric_(numeric), ranked_by_(ranks) {}

    /// Ids are written byte for byte as in the runs. Throws as fuse_runs does.
    void fuse(const topic_lists& topic, const fusion_options& options);
    /// Of the last fused topic.
    std::string_view text() const { return {text_.data(), text_size_}; }
    std::uint64_t lines() const { return lines_; }

  private:
    using order = std::vector<const io::ranked_entry*>;
    order in_order(std::span<const io::ranked_entry> entries) const;
    void take_lists();
    void take(const io::ranked_entry& entry, std::size_t run);
    [[noreturn]] void refuse(const list_fault& fault) const;
    void write(const fused_list& fused);

    std::span<const io::ranked_run> runs_;
    bool numeric_;
    rank_source ranked_by_;
    const topic_lists* topic_ = nullptr;
    id_numbers numbers_;
    std::vector<std::uint32_t> ids_;
    std::vector<double> scores_;
    std::vector<std::uint32_t> ranks_;  ///< empty: positions
    std::vector<run_list_view> views_;
    std::vector<char> text_;  ///< grows only
    std::size_t text_size_ = 0;
    std::uint64_t lines_ = 0;
};

}  // namespace quern
