// SPDX-License-Identifier: Apache-2.0
// The external sort, for all places. While a buffer of pairs fills, the previous one, sorted, is written to disk; the place
// sorts a full buffer, which is then written next. Finally all runs are merged; if they are more than memory has blocks
// for, the minimum number of groups of neighbours is merged first.
//
// Memory is the sorter's own place, with the given budget: so buffers kept for later arrays count too, and are freed with
// it. On the CPU it has three parts: the buffer that fills, the one being written, and the memory of sorting. A GPU sorts
// in its own memory, which leaves two larger parts. The same memory then holds the blocks of the merge.
#pragma once

#include <malloc.h>

#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/fault.hpp"
#include "device/files/scratch_folder.hpp"
#include "primitives/argument_checks.hpp"
#include "primitives/external_sort/external_sort.hpp"
#include "primitives/external_sort/run_file.hpp"
#include "primitives/external_sort/run_merger.hpp"
#include "primitives/external_sort/run_sorter.hpp"
#include "primitives/external_sort/sorted_run.hpp"
#include "quern/base/error.hpp"

namespace quern::primitives {

template <class Place, sortable_key Key, payload Value>
class external_sorter<Place, Key, Value>::state {
  public:
    state(Place& place, std::uint64_t memory_bytes, sort_options options)
        : place_(place), options_(options), memory_bytes_(memory_bytes), layout_{block_pairs(memory_bytes)} {
        // Taken completely from a CPU place, which frees memory kept there for later arrays.
        if constexpr (on_cpu) share_.emplace(place.memory(), memory_bytes, "a sort beyond memory");
        host_.emplace(within(place.ctx(), place.ctx().thread_count(), memory_bytes));
        constexpr std::size_t unit = block_layout<Key, Value>::unit;
        // Without one part in 16, for the counters of sorting and the first keys of blocks, and without the alignment of
        // two buffers of keys and values to the disk.
        constexpr std::uint64_t aligning = 6 * disk_alignment;
        const std::uint64_t usable = memory_bytes / 16 * 15;
        plan_ = plan_runs<Key, Value>(place, usable - std::min(usable, aligning));
        capacity_ = plan_.pairs / unit * unit;
        if (capacity_ < layout_.pairs) throw out_of_memory("sorted runs", 2 * layout_.bytes(), memory_bytes);
    }

    void push(std::span<const Key> keys, std::span<const Value> values) {
        check_same_size("external_sorter::push", "values", values.size(), "keys", keys.size());
        expect_filling("push");
        or_fail([&] { fill(keys, values); });
    }

    void finish(const std::function<void(std::span<const Key>, std::span<const Value>)>& sink) {
        expect_filling("finish");
        stage_ = stage::finished;
        or_fail([&] {
            sort_all(sink);
            let_go();
        });
    }

    const external_sort_record& record() const { return record_; }

  private:
    static constexpr bool on_cpu = std::is_same_v<Place, cpu_place>;
    using run_sorter = std::conditional_t<on_cpu, run_sorter_cpu, run_sorter_cuda>;
    enum class stage { filling, finished, failed };

    void expect_filling(const char* call) const {
        if (stage_ == stage::filling) return;
        throw usage_error(std::string("external_sorter::") + call +
                          (stage_ == stage::failed ? ": an earlier call failed; use a new sorter"
                                                   : ": finish has been called"));
    }

    /// A failure in the middle loses pairs: afterwards the sorter must not be used.
    template <class Work>
    void or_fail(const Work& work) {
        try {
            work();
        } catch (...) {
            stage_ = stage::failed;
            let_go();
            throw;
        }
    }

    /// Frees all memory and the scratch files, in reverse order.
    void let_go() noexcept {
        writing_ = {};  // waits for its thread
        if (host_) record_.host_bytes = host_->memory().peak();
        filling_ = {};
        writing_from_ = {};
        runs_.clear();
        file_.reset();
        scratch_.reset();
        run_sorter_.reset();
        host_.reset();
        share_.reset();
        trim();
    }
    /// The allocator keeps memory it expects to reuse, up to as much as the smallest budgets; it has freed larger blocks
    /// itself.
    static void trim() noexcept { ::malloc_trim(0); }

    void fill(std::span<const Key> keys, std::span<const Value> values) {
        while (!keys.empty()) {
            if (filling_.capacity() == 0)
                filling_ = pair_buffer<Key, Value>(*host_, capacity_, "pairs to sort");
            if (filled_ == capacity_) spill();
            const std::size_t count = std::min(keys.size(), capacity_ - filled_);
            std::copy_n(keys.begin(), count, filling_.keys().begin() + static_cast<std::ptrdiff_t>(filled_));
            std::copy_n(values.begin(), count,
                        filling_.values().begin() + static_cast<std::ptrdiff_t>(filled_));
            filled_ += count;
            record_.pairs += count;
            keys = keys.subspan(count);
            values = values.subspan(count);
        }
    }

    void sort_all(const std::function<void(std::span<const Key>, std::span<const Value>)>& sink) {
        if (runs_.empty()) {
            sort_filled();
            give_out(filling_, filled_, sink);
            return;
        }
        spill();
        writing_.get();
        filling_ = {};
        writing_from_ = {};
        run_sorter_.reset();
        trim();
        const merge_plan plan = plan_merge();
        while (runs_.size() > plan.max_runs()) merge_groups(plan);
        ++record_.merge_passes;
        run_merger<Key, Value> merger(*host_, file(), layout_, plan, runs_, options_.direction);
        for (std::size_t pairs = plan.out_pairs; pairs == plan.out_pairs;) {
            const auto& made = merger.next(pairs);
            give_out(made, pairs, sink);
        }
        count_bytes();
    }

    /// Large enough for full disk speed, small enough that memory holds some hundred.
    static std::size_t block_pairs(std::uint64_t memory_bytes) {
        using layout = block_layout<Key, Value>;
        constexpr std::uint64_t max_bytes = std::uint64_t{4} << 20, blocks_in_memory = 256;
        const std::uint64_t bytes = std::min(max_bytes, memory_bytes / blocks_in_memory);
        return std::max<std::size_t>(layout::unit, bytes / layout::pair_bytes / layout::unit * layout::unit);
    }

    run_file& file() {
        if (!file_) {
            scratch_.emplace(place_.ctx());
            file_.emplace(scratch_->file("runs"));
        }
        return *file_;
    }

    void sort_filled() {
        if (!run_sorter_) run_sorter_.emplace(*host_, place_, plan_);
        try {
            run_sorter_->sort(filling_.keys().first(filled_), filling_.values().first(filled_), options_);
        } catch (const invalid_value& refused) {
            throw_fault(fault::key_not_a_number, record_.pairs - filled_ + refused.position());
        }
    }

    /// Sorts the full buffer and starts writing it; the other buffer fills next.
    void spill() {
        place_.ctx().check_stop();
        sort_filled();
        if (writing_.valid()) writing_.get();
        std::swap(filling_, writing_from_);
        runs_.push_back(make_run(filled_));
        writing_ = std::async(where_possible, [this] {
            write_blocks(place_.ctx(), file(), layout_, runs_.back(), 0, writing_from_, runs_.back().pairs,
                         options_.direction);
        });
        filled_ = 0;
        ++record_.runs;
        count_bytes();
        if (filling_.capacity() == 0 && stage_ == stage::filling)
            filling_ = pair_buffer<Key, Value>(*host_, capacity_, "pairs to sort");
    }

    sorted_run<Key> make_run(std::uint64_t pairs) {
        const std::size_t blocks = layout_.blocks_of(pairs);
        const std::uint64_t bytes = blocks * std::uint64_t{layout_.bytes()};
        run_file& to = file();
        scratch_->take(bytes);
        return {to.append_capacity(bytes), pairs,
                cpu_array<key_bits_t<Key>>(*host_, blocks, "first keys of blocks")};
    }

    merge_plan plan_merge() {
        merge_plan plan{};
        constexpr std::uint64_t max_out_bytes = std::uint64_t{32} << 20;  // larger has no benefit
        const std::uint64_t out_bytes = std::min(max_out_bytes, memory_bytes_ / 32);
        plan.out_pairs = std::max<std::size_t>(1, out_bytes / layout_.bytes()) * layout_.pairs;
        const std::uint64_t out = 2 * pair_buffer<Key, Value>::bytes_for(plan.out_pairs);
        const std::uint64_t for_each_block = layout_.bytes() + merge_bytes_per_piece * host_->threads();
        // The memory in use now is first keys of blocks; merged runs, while they are made, have as many again. Some memory
        // is reserved for lists outside the budget.
        const std::uint64_t extra = out + disk_alignment + host_->memory().used() + memory_bytes_ / 64;
        const std::uint64_t left = host_->memory().left();
        plan.blocks = std::max<std::size_t>(4, (left - std::min(left, extra)) / for_each_block);
        return plan;
    }

    /// Merges groups of neighbours until one merge can take the remaining runs, or all are merged once.
    void merge_groups(const merge_plan& plan) {
        std::vector<sorted_run<Key>> merged;
        std::size_t at = 0;
        while (at < runs_.size()) {
            const std::size_t left = merged.size() + runs_.size() - at;
            const std::size_t excess = left > plan.max_runs() ? left - plan.max_runs() : 0;
            const std::size_t group = std::min({plan.max_runs(), excess + 1, runs_.size() - at});
            if (group == 1)
                merged.push_back(std::move(runs_[at]));
            else
                merged.push_back(merge_group(plan, std::span(runs_).subspan(at, group)));
            at += group;
        }
        runs_ = std::move(merged);
        ++record_.merge_passes;
    }

    sorted_run<Key> merge_group(const merge_plan& plan, std::span<const sorted_run<Key>> group) {
        std::uint64_t all = 0;
        for (const auto& run : group) all += run.pairs;
        sorted_run<Key> made = make_run(all);
        {
            run_merger<Key, Value> merger(*host_, file(), layout_, plan, group, options_.direction);
            std::size_t block = 0;
            for (std::size_t pairs = plan.out_pairs; pairs == plan.out_pairs;) {
                const auto& out = merger.next(pairs);
                write_blocks(place_.ctx(), file(), layout_, made, block, out, pairs, options_.direction);
                block += layout_.blocks_of(pairs);
            }
        }
        for (const auto& run : group) {
            const std::uint64_t bytes = run.first_keys.size() * layout_.bytes();
            if (file().discard(run.offset, bytes)) scratch_->give_back(bytes);
        }
        return made;
    }

    void give_out(const pair_buffer<Key, Value>& from, std::size_t pairs,
                  const std::function<void(std::span<const Key>, std::span<const Value>)>& sink) {
        constexpr std::size_t at_a_time = std::size_t{1} << 20;  // to notice an interruption soon
        for (std::size_t begin = 0; begin < pairs; begin += at_a_time) {
            place_.ctx().check_stop();
            const std::size_t count = std::min(at_a_time, pairs - begin);
            sink(from.keys().subspan(begin, count), from.values().subspan(begin, count));
        }
    }

    void count_bytes() {
        record_.bytes_written = file().bytes_written();
        record_.bytes_read = file().bytes_read();
    }

    Place& place_;
    sort_options options_;
    std::uint64_t memory_bytes_;
    block_layout<Key, Value> layout_;
    run_plan plan_{};
    std::size_t capacity_ = 0;

    std::optional<budget_share> share_;  ///< of the caller's place
    std::optional<cpu_place> host_;      ///< the given memory, used only by this sorter
    std::optional<run_sorter> run_sorter_;
    std::optional<scratch_folder> scratch_;
    std::optional<run_file> file_;
    std::vector<sorted_run<Key>> runs_;
    pair_buffer<Key, Value> filling_, writing_from_;
    std::size_t filled_ = 0;
    stage stage_ = stage::filling;
    external_sort_record record_;
    std::future<void> writing_;  ///< the last member: waits for its thread before the others are destroyed
};

template <class Place, sortable_key Key, payload Value>
external_sorter<Place, Key, Value>::external_sorter(Place& place, std::uint64_t memory_bytes,
                                                    sort_options options, std::uint64_t min_memory) {
    if (memory_bytes < min_memory) {
        throw usage_error("external_sorter: " + std::to_string(memory_bytes) + " bytes of memory, but " +
                          std::to_string(min_memory) + " are needed");
    }
    state_ = std::make_unique<state>(place, memory_bytes, options);
}

template <class Place, sortable_key Key, payload Value>
external_sorter<Place, Key, Value>::~external_sorter() = default;

template <class Place, sortable_key Key, payload Value>
void external_sorter<Place, Key, Value>::push(std::span<const Key> keys, std::span<const Value> values) {
    state_->push(keys, values);
}

template <class Place, sortable_key Key, payload Value>
void external_sorter<Place, Key, Value>::finish(
    const std::function<void(std::span<const Key>, std::span<const Value>)>& sink) {
    state_->finish(sink);
}

template <class Place, sortable_key Key, payload Value>
const external_sort_record& external_sorter<Place, Key, Value>::record() const {
    return state_->record();
}

}  // namespace quern::primitives
