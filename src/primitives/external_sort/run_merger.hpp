// SPDX-License-Identifier: Apache-2.0
// Merges sorted runs of a scratch file into one stream of sorted pairs. The blocks of all runs are read in the order of
// their first keys, which is the order in which a merge needs them: a separate thread reads a batch while the loaded blocks
// are merged up to the first missing key. After that no run has more than one partial block left, so the memory for one
// block per run and two batches suffices; no run starves another, for any data.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "device/array.hpp"
#include "device/cpu/huge_pages.hpp"
#include "primitives/external_sort/run_file.hpp"
#include "primitives/external_sort/sorted_run.hpp"
#include "primitives/merge/rank_split.hpp"

namespace quern::primitives {

/// How the memory of a merge is divided.
struct merge_plan {
    std::size_t out_pairs;  ///< of each of the two alternating output chunks; whole blocks
    std::size_t blocks;     ///< in memory at a time
    /// A batch of one block, twice, plus one block for each run.
    std::size_t max_runs() const { return blocks - 2; }
};

template <class Key, class Value>
class run_merger {
  public:
    using bits = key_bits_t<Key>;

    /// At most plan.max_runs() runs, in the order of their equal keys in the output.
    run_merger(cpu_place& host, run_file& file, const block_layout<Key, Value>& layout,
               const merge_plan& plan, std::span<const sorted_run<Key>> runs, order direction)
        : host_(host), file_(file), layout_(layout), runs_(runs), direction_(direction) {
        constexpr std::size_t max_in_a_batch = 16;  // enough that batches never wait for the disk
        batch_ = std::clamp<std::size_t>((plan.blocks - runs.size()) / 2, 1, max_in_a_batch);
        const std::size_t blocks = runs.size() + 2 * batch_;
        memory_ =
            cpu_array<std::byte>(host, blocks * layout.bytes() + disk_alignment, "blocks of sorted runs");
        wish_for_huge_pages(memory_.data(), memory_.size());
        const auto at = reinterpret_cast<std::uintptr_t>(memory_.data());
        for (std::size_t b = 0; b < blocks; ++b)
            free_.push_back(memory_.data() + (rounded_up(at) - at) + b * layout.bytes());
        for (auto& out : out_) out = pair_buffer<Key, Value>(host, plan.out_pairs, "merged pairs");
        for (std::uint32_t r = 0; r < runs.size(); ++r) expect_block(r, 0);
        read_batch();
        // With one thread, a chunk is made on request; with more, while the last one is consumed.
        how_ = host.threads() > 1 ? where_possible : std::launch::deferred;
        begin_output_chunk();
    }
    run_merger(const run_merger&) = delete;  // its threads point to it
    run_merger& operator=(const run_merger&) = delete;

    /// The next pairs: plan.out_pairs of them, fewer the last time; 0 after the end. They stay valid until the call after
    /// the next.
    const pair_buffer<Key, Value>& next(std::size_t& pairs) {
        pairs = making_.get();
        const pair_buffer<Key, Value>& made = out_[turn_];
        turn_ = 1 - turn_;
        begin_output_chunk();
        return made;
    }

  private:
    /// A block is needed from its first key on; these keys give the order of need.
    struct expected_block {
        bits first;
        std::uint32_t run;
        std::size_t index;
        bool operator>(const expected_block& other) const {
            return first != other.first ? first > other.first : run > other.run;
        }
    };
    struct loaded_block {
        std::uint32_t run;
        std::size_t pairs, taken;
        std::byte* memory;
        std::size_t key_bytes;
    };

    void expect_block(std::uint32_t run, std::size_t index) {
        if (index < runs_[run].first_keys.size())
            expected_.push({runs_[run].first_keys.data()[index], run, index});
    }

    /// Starts to read as many of the blocks needed next as a batch holds.
    void read_batch() {
        arriving_.clear();
        arriving_from_.clear();
        while (!expected_.empty() && arriving_.size() < batch_) {
            const expected_block next = expected_.top();
            expected_.pop();
            expect_block(next.run, next.index + 1);
            const std::uint64_t before = next.index * std::uint64_t{layout_.pairs};
            const auto pairs = static_cast<std::size_t>(
                std::min<std::uint64_t>(layout_.pairs, runs_[next.run].pairs - before));
            arriving_.push_back({next.run, pairs, 0, free_.back(), layout_.key_bytes(pairs)});
            arriving_from_.push_back(runs_[next.run].offset + next.index * layout_.bytes());
            if (arriving_.size() == 1) arriving_first_ = next;
            free_.pop_back();
        }
        if (arriving_.empty()) return;
        arrived_ = std::async(where_possible, [this] {
            transfer_all(host_.ctx(), arriving_.size(), [this](std::size_t b) {
                const loaded_block& to = arriving_[b];
                file_.read_at(arriving_from_[b],
                              std::span(to.memory, to.key_bytes + layout_.value_bytes(to.pairs)));
            });
        });
    }

    /// Frees merged blocks, takes in the batch that was read, and starts the next.
    void go_on() {
        std::erase_if(loaded_, [&](const loaded_block& block) {
            if (block.taken == block.pairs) free_.push_back(block.memory);
            return block.taken == block.pairs;
        });
        if (!arriving_.empty()) {
            arrived_.get();
            loaded_.insert(loaded_.end(), arriving_.begin(), arriving_.end());
            std::stable_sort(loaded_.begin(), loaded_.end(),
                             [](const loaded_block& a, const loaded_block& b) { return a.run < b.run; });
            read_batch();
        }
        find_pieces();
    }

    /// The part of the loaded blocks before all blocks not yet loaded.
    void find_pieces() {
        pieces_.clear();
        piece_of_.clear();
        ready_ = given_ = 0;
        for (std::size_t b = 0; b < loaded_.size(); ++b) {
            const loaded_block& block = loaded_[b];
            const auto* keys = reinterpret_cast<const Key*>(block.memory);
            const auto* values = reinterpret_cast<const Value*>(block.memory + block.key_bytes);
            const std::size_t end = arriving_.empty() ? block.pairs : first_not_before(keys, block);
            if (end == block.taken) continue;
            pieces_.push_back({keys + block.taken, values + block.taken, end - block.taken, block.run});
            piece_of_.push_back({b, end});
            ready_ += end - block.taken;
        }
    }
    std::size_t first_not_before(const Key* keys, const loaded_block& block) const {
        // For runs up to the awaited block's, equal keys come before it as well.
        const bool equal_too = block.run <= arriving_first_.run;
        if (!equal_too && arriving_first_.first == 0) return block.taken;
        const bits limit = static_cast<bits>(arriving_first_.first - (equal_too ? 0 : 1));
        return count_up_to(keys, block.taken, block.pairs, limit, direction_);
    }

    void begin_output_chunk() {
        making_ = std::async(how_, [this, to = turn_] { return fill(out_[to]); });
    }

    /// Merges into `out` until it is full or nothing is left.
    std::size_t fill(const pair_buffer<Key, Value>& out) {
        std::size_t filled = 0;
        while (filled < out.capacity()) {
            if (given_ == ready_) {
                for (const auto& [block, end] : piece_of_) loaded_[block].taken = end;
                if (loaded_.empty() && arriving_.empty()) break;
                go_on();
                if (ready_ == 0 && arriving_.empty()) break;
                continue;
            }
            const auto count =
                static_cast<std::size_t>(std::min<std::uint64_t>(out.capacity() - filled, ready_ - given_));
            merge_pieces<Key, Value>(host_, pieces_, given_, out.keys().subspan(filled, count),
                                     out.values().data() + filled, direction_);
            given_ += count;
            filled += count;
        }
        return filled;
    }

    cpu_place& host_;
    run_file& file_;
    block_layout<Key, Value> layout_;
    std::span<const sorted_run<Key>> runs_;
    order direction_;
    std::size_t batch_ = 1;

    cpu_array<std::byte> memory_;
    std::vector<std::byte*> free_;
    std::priority_queue<expected_block, std::vector<expected_block>, std::greater<>> expected_;
    std::vector<loaded_block> loaded_;    ///< by run, each run's in order
    std::vector<loaded_block> arriving_;  ///< being read
    std::vector<std::uint64_t> arriving_from_;
    expected_block arriving_first_{};

    std::vector<sorted_piece<Key, Value>> pieces_;               ///< what can be merged now
    std::vector<std::pair<std::size_t, std::size_t>> piece_of_;  ///< the block of each, and its end there
    std::uint64_t ready_ = 0, given_ = 0;                        ///< pairs in the pieces; merged already

    pair_buffer<Key, Value> out_[2];
    std::size_t turn_ = 0;
    std::launch how_ = std::launch::deferred;
    std::future<void> arrived_;
    std::future<std::size_t> making_;  ///< the last member: waits for its thread before all else goes
};

}  // namespace quern::primitives
