// SPDX-License-Identifier: Apache-2.0
// Blocks of lines processed by all threads: cut in order, parsed in parallel, put in order again, stored in parallel.
// The first invalid line reported is the first of the file, whatever the number of threads.
#pragma once

#include <exception>
#include <functional>

#include "device/cpu/pipeline.hpp"
#include "io/lines/link_block.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

struct block_steps {
    std::function<void(link_block&)> parse;  ///< by any thread
    /// One block at a time, in order. `lines_before`: in the file. Called for a block with an issue too, whose earlier
    /// lines count; the issue is thrown when this returns.
    std::function<void(link_block&, std::uint64_t lines_before)> position_block;
    std::function<void(link_block&)> store;  ///< by any thread
};

/// Returns the number of lines of the file.
inline std::uint64_t read_blocks(text_blocks& lines, object_pool<link_block>& pool,
                                 const block_steps& steps) {
    struct item {
        object_pool<link_block>::handle block;
    };
    std::uint64_t lines_before = lines.lines_taken();
    pipeline<item> line(2 * std::size_t{lines.ctx().thread_count()});
    line.from([&](item& next) {
        next.block = pool.take();
        return lines.next(next.block->lines);
    });
    line.in_parallel([&](item& now) { steps.parse(*now.block); });
    line.in_order([&](item& now) {
        link_block& block = *now.block;
        if (block.lines.failure) std::rethrow_exception(block.lines.failure);
        if (block.lines.too_long)
            throw invalid_input(lines.name(), lines_before + 1, "a line is longer than 1 MiB");
        steps.position_block(block, lines_before);
        if (block.issue)
            throw invalid_input(lines.name(), lines_before + block.issue.line, block.issue.reason);
        lines_before += block.line_count;
    });
    line.in_parallel([&](item& now) { steps.store(*now.block); });
    run_parallel(lines.ctx(), [&] { line.run(); });
    return lines_before;
}

}  // namespace quern::io
