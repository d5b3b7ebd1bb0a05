// SPDX-License-Identifier: Apache-2.0
// Several files read whole in parallel, within one memory budget.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "base/id_order.hpp"
#include "device/cpu/pipeline.hpp"
#include "device/first_failure.hpp"
#include "device/memory_budget.hpp"
#include "quern/base/context.hpp"

namespace quern {

/// Calls open(f, run, memory), which returns a File, for each path f, on as many threads as there are; the largest first,
/// so that none delays the end. If several are bad, throws the first one's exception, whatever the threads.
template <class File, class Open>
std::vector<File> read_files(std::span<const std::filesystem::path> paths, const context& ctx,
                             const Open& open) {
    std::vector<std::uintmax_t> sizes;
    for (const std::filesystem::path& path : paths) {
        std::error_code unknown;
        const std::uintmax_t size = std::filesystem::file_size(path, unknown);
        sizes.push_back(unknown ? std::numeric_limits<std::uintmax_t>::max() : size);
    }
    std::vector<std::size_t> order(paths.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t f) { return sizes[f]; });

    context each = ctx;  // each file gets the threads that the others leave; limits are looked up once
    each.memory_bytes = ctx.memory_limit();
    each.threads = static_cast<unsigned>(
        std::max<std::size_t>(1, ctx.thread_count() / std::max<std::size_t>(1, paths.size())));
    memory_budget memory(each.memory_bytes);
    std::vector<std::optional<File>> reading(paths.size());
    first_failure failure;
    for_each_index(ctx, paths.size(), [&](std::uint64_t i) {
        const std::size_t f = order[i];
        failure.watch(f, [&] { reading[f].emplace(open(f, each, memory)); });
    });
    failure.rethrow();
    std::vector<File> files;
    for (std::optional<File>& file : reading) files.push_back(std::move(*file));
    return files;
}

/// The same with the constructor File(path, run, memory).
template <class File>
std::vector<File> read_files(std::span<const std::filesystem::path> paths, const context& ctx) {
    return read_files<File>(paths, ctx, [&](std::size_t f, const context& each, memory_budget& memory) {
        return File(paths[f], each, memory);
    });
}

// Numbers for ids of documents and objects.

/// Numbers for ids, in order of first occurrence. The texts must outlive it: if they are in a file that is in memory
/// anyway, this takes half the memory of a table that copies them (io/lines/node_id_table.hpp).
class id_numbers {
  public:
    std::uint32_t operator()(std::string_view id) {
        return (*this)(id, static_cast<std::uint32_t>(hash64(id)));
    }
    /// `hash`: the low half of hash64(id).
    std::uint32_t operator()(std::string_view id, std::uint32_t hash) {
        if (2 * (ids_.size() + 1) > slots_.size()) grow();
        for (std::size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            slot& here = slots_[at];
            if (here.number == none) {
                here = {hash, static_cast<std::uint32_t>(ids_.size())};
                ids_.push_back(id);
                return here.number;
            }
            if (here.hash == hash && ids_[here.number] == id) return here.number;
        }
    }
    std::span<const std::string_view> ids() const { return ids_; }
    /// Removes all ids and keeps the memory.
    void clear() {
        ids_.clear();
        std::ranges::fill(slots_, slot{});
    }

  private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    struct slot {
        std::uint32_t hash = 0;
        std::uint32_t number = none;
    };
    void grow() {
        std::vector<slot> old(std::max<std::size_t>(1024, slots_.size() * 4));
        old.swap(slots_);
        for (const slot& one : old) {
            if (one.number == none) continue;
            std::size_t at = one.hash & (slots_.size() - 1);
            while (slots_[at].number != none) at = (at + 1) & (slots_.size() - 1);
            slots_[at] = one;
        }
    }
    std::vector<slot> slots_;
    std::vector<std::string_view> ids_;
};

}  // namespace quern
