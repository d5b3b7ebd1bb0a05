// SPDX-License-Identifier: Apache-2.0
// The files of the tasks that rank a graph. Task 0 reads the graph; task 1 + (k − 1)·B + b does step k for block b of B.
// Their results:
//
//   nodes             of task 0: counts, ends of the names, names
//   links-BBBB        of task 0: a block, its parameters and its incoming links
//   begin-sent, begin-totals, begin-state-BBBB   of task 0: step 0
//   control           of a step: what was decided before it, alike in all blocks; if the iteration had ended, the only file
//   totals            of a step: of the block
//   sent              what the nodes of the block send in the next step, 4 or 8 bytes each
//   state-BBBB        ranks, residuals
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "device/array.hpp"
#include "ops/link_rank/rank_blocks.hpp"
#include "tasks/cluster/job_files.hpp"
#include "tasks/cluster/result_values.hpp"

namespace quern::rank_tasks_detail {

namespace fs = std::filesystem;
using namespace link_rank_detail;

std::string name_of_part(std::string_view what, std::uint64_t block);

/// The numbers at the head of the result "nodes".
enum counts_of_nodes : std::size_t {
    nodes_at,
    links_at,
    dangling_at,
    self_loops_at,
    unknown_starts_at,
    max_links_at,
    rule_at,
    personalised_at,
    weighted_at,
    counts_size
};

void write_totals(task_results& results, std::string_view name, const pass_totals& all);

/// A block as task 0 wrote it.
class stored_block {
  public:
    /// Throws io_error, damaged_store.
    stored_block(const fs::path& job, std::uint64_t number);
    const rank_block& block() const { return block_; }
    std::uint64_t all_nodes() const { return all_nodes_; }
    bool weighted() const { return weighted_; }

  private:
    value_reader file_;
    rank_block block_;
    std::uint64_t all_nodes_ = 0;
    bool weighted_ = false;
};

void write_block(task_results& results, std::uint64_t number, std::uint64_t all_nodes, bool weighted,
                 const rank_block& block);

/// Where the results of a step are; step 0 is that of task 0.
struct step_files {
    fs::path job;
    std::uint64_t blocks = 1;

    std::uint32_t task(std::uint64_t step, std::uint64_t block) const {
        return step == 0 ? 0 : static_cast<std::uint32_t>(1 + (step - 1) * blocks + block);
    }
    /// Throws usage_error if it was removed.
    fs::path file(std::uint64_t step, std::uint64_t block, const std::string& name) const;
};

struct iteration_state {
    step_control control;
    std::int64_t dangling_mass = 0;  ///< of the last take
};

/// What is decided after `step`; `any`: a block of the graph. Throws damaged_store.
iteration_state state_after(const step_files& files, std::uint64_t step, const stored_block& any);

void write_control(task_results& results, const step_control& control);

/// What nodes send, in the width of a step.
struct sent_array {
    cpu_array<std::int32_t> narrow;
    cpu_array<std::int64_t> wide;

    sent_array(cpu_place& place, std::uint64_t nodes, bool is_wide);
    /// From a node on.
    sent_values at(std::uint64_t node) const {
        return {narrow.size() == 0 ? nullptr : narrow.data() + node,
                wide.size() == 0 ? nullptr : wide.data() + node};
    }
    void append_to(task_results& results) const;
    /// What all nodes sent in a step. Throws damaged_store.
    void read(const step_files& files, std::uint64_t step);
};

void read_state(const fs::path& file, std::span<std::int64_t> ranks, std::span<std::int64_t> residuals);
void write_state(task_results& results, const std::string& name, std::span<const std::int64_t> ranks,
                 std::span<const std::int64_t> residuals);

}  // namespace quern::rank_tasks_detail
