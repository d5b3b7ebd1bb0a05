// SPDX-License-Identifier: Apache-2.0
// Several files read whole in parallel, within one memory budget.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "device/cpu/pipeline.hpp"
#include "device/memory_budget.hpp"
#include "quern/base/context.hpp"

namespace quern {

/// Constructs File(path, run, memory) for each path, on as many threads as there are; the largest first, so that none
/// delays the end. If several are bad, throws the first one's exception, whatever the threads.
template <class File>
std::vector<File> read_files(std::span<const std::filesystem::path> paths, const context& ctx) {
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
    std::vector<std::exception_ptr> failures(paths.size());
    for_each_index(ctx, paths.size(), [&](std::uint64_t i) {
        const std::size_t f = order[i];
        try {
            reading[f].emplace(paths[f], each, memory);
        } catch (...) {
            failures[f] = std::current_exception();
        }
    });
    std::vector<File> files;
    for (std::size_t f = 0; f < paths.size(); ++f) {
        if (failures[f]) std::rethrow_exception(failures[f]);
        files.push_back(std::move(*reading[f]));
    }
    return files;
}

}  // namespace quern
