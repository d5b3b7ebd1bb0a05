// SPDX-License-Identifier: Apache-2.0
// Many lines of text, formed by all threads and written in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/cpu/pipeline.hpp"
#include "quern/base/context.hpp"

namespace quern {

/// Calls form(text, begin, end) for batches of `items` items, on several threads, and write(text) with each result, in
/// order, one at a time.
template <class Form, class Write>
void write_in_batches(const context& ctx, std::uint64_t items, const Form& form, const Write& write) {
    constexpr std::uint64_t batch = 4096;
    struct work {
        std::uint64_t begin = 0, end = 0;
        std::string text;
    };
    std::uint64_t given_out = 0;
    std::mutex mutex;
    std::vector<std::string> written;  // whose memory is reused
    pipeline<work> line(std::size_t{ctx.thread_count()} + 2);
    line.from([&](work& w) {
        if (given_out == items) return false;
        ctx.check_stop();
        w.begin = given_out;
        given_out = w.end = std::min(items, given_out + batch);
        return true;
    });
    line.in_parallel([&](work& w) {
        {
            const std::lock_guard hold(mutex);
            if (!written.empty()) {
                w.text = std::move(written.back());
                written.pop_back();
            }
        }
        form(w.text, w.begin, w.end);
    });
    line.in_order([&](work& w) {
        write(std::string_view(w.text));
        w.text.clear();
        const std::lock_guard hold(mutex);
        written.push_back(std::move(w.text));
    });
    run_parallel(ctx, [&] { line.run(); });
}

}  // namespace quern
