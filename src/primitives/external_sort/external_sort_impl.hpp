// SPDX-License-Identifier: Apache-2.0
// The sort beyond memory, for every place. While a buffer of pairs fills, the one before it, sorted, goes to disk; a
// buffer that is full is sorted by the place and takes its turn. The end merges all runs; where they are more than
// memory has blocks for, groups of neighbours are merged first, as few as will do.
//
// Memory is a place of the sorter's own, with a budget of what was given: what arrays leave behind for the next ones
// then counts too, and goes with it. It is three parts on the CPU: the buffer that fills, the one being written, and
// what sorting takes beside. A GPU sorts in its own memory, which leaves two larger parts. The same memory then holds
// the blocks of the merge.
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
#include "primitives/doors.hpp"
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
        // Taken whole from a CPU place: what is kept there for later arrays makes room then.
        if constexpr (on_cpu) share_.emplace(place.memory(), memory_bytes, "a sort beyond memory");
        host_.emplace(within(place.run(), place.run().thread_count(), memory_bytes));
        constexpr std::size_t unit = block_layout<Key, Value>::unit;
        // Without one part in 16, for what sorting counts with and the first keys of blocks, and without what brings
        // two buffers of keys and values to the disk's alignment.
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

    void finish(const std::function<void(std::span<const Key>, std::span<const Value>)>& take) {
        expect_filling("finish");
        stage_ = stage::finished;
        or_fail([&] {
            sort_all(take);
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
                          (stage_ == stage::failed ? ": an earlier call failed; a new sorter is needed"
                                                   : ": finish has been called"));
    }

    /// What failed in the middle has lost pairs: nothing of it is to be used again.
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

    /// Gives back all memory and the scratch files, the last that was taken first.
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
    /// The allocator keeps what it thinks will be asked for again, up to as much as the smallest budgets; what is
    /// larger it has given back by itself.
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

    void sort_all(const std::function<void(std::span<const Key>, std::span<const Value>)>& take) {
        if (runs_.empty()) {
            sort_filled();
            give_out(filling_, filled_, take);
            return;
        }
        spill();
        writing_.get();
        filling_ = {};
        writing_from_ = {};
        run_sorter_.reset();
        trim();
        const merge_plan plan = plan_merge();
        while (runs_.size() > plan.most_runs()) merge_groups(plan);
        ++record_.merge_passes;
        run_merger<Key, Value> merger(*host_, file(), layout_, plan, runs_, options_.direction);
        for (std::size_t pairs = plan.out_pairs; pairs == plan.out_pairs;) {
            const auto& made = merger.next(pairs);
            give_out(made, pairs, take);
        }
        count_bytes();
    }

    /// Large enough for the disk to read at its full speed, small enough that memory holds some hundred.
    static std::size_t block_pairs(std::uint64_t memory_bytes) {
        using layout = block_layout<Key, Value>;
        constexpr std::uint64_t most_bytes = std::uint64_t{4} << 20, blocks_in_memory = 256;
        const std::uint64_t bytes = std::min(most_bytes, memory_bytes / blocks_in_memory);
        return std::max<std::size_t>(layout::unit, bytes / layout::pair_bytes / layout::unit * layout::unit);
    }

    run_file& file() {
        if (!file_) {
            scratch_.emplace(place_.run());
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

    /// Sorts what is there and begins to write it; the other buffer is the next to fill.
    void spill() {
        place_.run().check_stop();
        sort_filled();
        if (writing_.valid()) writing_.get();
        std::swap(filling_, writing_from_);
        runs_.push_back(make_run(filled_));
        writing_ = std::async(std::launch::async, [this] {
            write_blocks(place_.run(), file(), layout_, runs_.back(), 0, writing_from_, runs_.back().pairs,
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
        return {to.append_room(bytes), pairs,
                cpu_array<key_bits_t<Key>>(*host_, blocks, "first keys of blocks")};
    }

    merge_plan plan_merge() {
        merge_plan plan{};
        constexpr std::uint64_t most_out_bytes = std::uint64_t{32} << 20;  // larger gains nothing
        const std::uint64_t out_bytes = std::min(most_out_bytes, memory_bytes_ / 32);
        plan.out_pairs = std::max<std::size_t>(1, out_bytes / layout_.bytes()) * layout_.pairs;
        const std::uint64_t out = 2 * pair_buffer<Key, Value>::bytes_for(plan.out_pairs);
        const std::uint64_t for_each_block = layout_.bytes() + merge_bytes_per_piece * host_->threads();
        // What is taken now are first keys of blocks; merged runs, while they are made, have as many again. Some room
        // is for lists outside of the budget.
        const std::uint64_t beside = out + disk_alignment + host_->memory().used() + memory_bytes_ / 64;
        const std::uint64_t left = host_->memory().left();
        plan.blocks = std::max<std::size_t>(4, (left - std::min(left, beside)) / for_each_block);
        return plan;
    }

    /// Merges groups of neighbours until so many runs are left that one merge can take, or all are merged once.
    void merge_groups(const merge_plan& plan) {
        std::vector<sorted_run<Key>> merged;
        std::size_t at = 0;
        while (at < runs_.size()) {
            const std::size_t left = merged.size() + runs_.size() - at;
            const std::size_t excess = left > plan.most_runs() ? left - plan.most_runs() : 0;
            const std::size_t group = std::min({plan.most_runs(), excess + 1, runs_.size() - at});
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
                write_blocks(place_.run(), file(), layout_, made, block, out, pairs, options_.direction);
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
                  const std::function<void(std::span<const Key>, std::span<const Value>)>& take) {
        constexpr std::size_t at_a_time = std::size_t{1} << 20;  // so that a stop is seen soon
        for (std::size_t begin = 0; begin < pairs; begin += at_a_time) {
            place_.run().check_stop();
            const std::size_t count = std::min(at_a_time, pairs - begin);
            take(from.keys().subspan(begin, count), from.values().subspan(begin, count));
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
    std::optional<cpu_place> host_;      ///< the memory that was given, of this sorter alone
    std::optional<run_sorter> run_sorter_;
    std::optional<scratch_folder> scratch_;
    std::optional<run_file> file_;
    std::vector<sorted_run<Key>> runs_;
    pair_buffer<Key, Value> filling_, writing_from_;
    std::size_t filled_ = 0;
    stage stage_ = stage::filling;
    external_sort_record record_;
    std::future<void> writing_;  ///< the last member: waits for its thread before all else goes
};

template <class Place, sortable_key Key, payload Value>
external_sorter<Place, Key, Value>::external_sorter(Place& place, std::uint64_t memory_bytes,
                                                    sort_options options, std::uint64_t least_memory) {
    if (memory_bytes < least_memory) {
        throw usage_error("external_sorter: " + std::to_string(memory_bytes) + " bytes of memory, but " +
                          std::to_string(least_memory) + " are needed");
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
    const std::function<void(std::span<const Key>, std::span<const Value>)>& take) {
    state_->finish(take);
}

template <class Place, sortable_key Key, payload Value>
const external_sort_record& external_sorter<Place, Key, Value>::record() const {
    return state_->record();
}

}  // namespace quern::primitives
