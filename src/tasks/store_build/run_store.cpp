// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/run_store.hpp"

#include <algorithm>
#include <utility>

#include "base/release.hpp"
#include "device/cpu/pipeline.hpp"
#include "ops/search/indexing/index_runs.hpp"
#include "quern/base/error.hpp"
#include "tasks/store_build/word_sections.hpp"

namespace quern {
namespace {

using search_detail::merged_range;
using search_detail::sorted_run;
using search_detail::word_range;

}  // namespace

run_store::run_store(std::filesystem::path scratch_file, std::uint64_t memory_bytes)
    : path_(std::move(scratch_file)), budget_(memory_bytes) {}

run_store::~run_store() = default;

void run_store::append(sorted_run run) {
    if (run.documents == 0) return;
    first_documents_.push_back(documents_);
    documents_ += run.documents;
    runs_.push_back(std::move(run));
    held_ += runs_.back().memory_bytes();
    if (held_ <= budget_) return;
    for (sorted_run& r : runs_) spill(r);
}

void run_store::spill(sorted_run& run) {
    if (run.bytes.empty()) return;
    if (!file_) file_ = std::make_unique<spill_file>(path_);
    const std::uint64_t begin = file_->append(run.bytes);
    held_ -= run.bytes.capacity();
    release(run.bytes);
    run.read = [file = file_.get(), begin](std::uint64_t offset, std::span<char> out) {
        file->read_at(begin + offset, out);
    };
    spilled_ += run.size;
}

run_store::outcome run_store::merge(std::string_view stage, const std::filesystem::path& store,
                                    const store_layout::word_index_names& names,
                                    std::span<const std::uint32_t> document_lengths, const context& ctx,
                                    std::uint64_t memory_bytes, const range_visitor& also,
                                    std::optional<int> weight_exponent) {
    if (file_) file_->flush();
    // A range in progress holds a buffer for every run on disk; with many runs and little memory, fewer ranges are in
    // progress than there are threads.
    constexpr std::size_t smallest_buffer = 4 << 10;
    const std::size_t min_bytes =
        std::max<std::size_t>(256 << 10, file_ ? runs_.size() * smallest_buffer : 0);
    const std::size_t in_flight =
        std::clamp<std::size_t>(memory_bytes / 2 / min_bytes, 1, ctx.thread_count() + 2);
    std::uint64_t total = 0;
    for (const sorted_run& r : runs_) total += r.size;
    // From disk every range reads a piece of every run: the pieces must be long, but no longer than the range needs, or
    // most bytes read belong to other ranges. In memory each thread gets a few, so that none waits long for the last ones.
    constexpr std::uint64_t ranges_of_a_thread = 3, longest_part = 2 << 20, longest_part_of_file = 64 << 20;
    const std::uint64_t even = total / (ranges_of_a_thread * ctx.thread_count());
    const std::uint64_t part_bytes = std::clamp<std::uint64_t>(
        memory_bytes / in_flight / 4, 64 << 10,
        file_ ? longest_part_of_file : std::clamp<std::uint64_t>(even, 128 << 10, longest_part));
    const std::vector<word_range> ranges = search_detail::split_words(runs_, total / part_bytes + 1);
    const std::size_t buffer_bytes = std::clamp<std::size_t>(
        part_bytes / std::max<std::size_t>(1, runs_.size()), smallest_buffer, 1 << 20);

    word_sections sections(store, names);
    struct range_in_work {
        std::size_t number = 0;
        merged_range merged;
    };
    std::size_t next = 0;
    pipeline<range_in_work> line(in_flight);
    line.from([&](range_in_work& range) {
        ctx.check_stop();
        ctx.report({stage, next, ranges.size(), "ranges"});
        range.number = next++;
        return range.number < ranges.size();
    });
    line.in_parallel([&](range_in_work& range) {
        range.merged = search_detail::merge_runs(runs_, first_documents_, document_lengths,
                                                 ranges[range.number], buffer_bytes, weight_exponent);
    });
    line.in_order([&](range_in_work& range) {
        sections.append(range.merged);
        if (also) also(range.merged);
    });
    line.run();
    release(runs_);
    return sections.finish();
}

}  // namespace quern
