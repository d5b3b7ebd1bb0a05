// SPDX-License-Identifier: Apache-2.0
#include "device/place_set.hpp"

#include <algorithm>
#include <utility>

namespace quern {
namespace {

/// One of `count` equal shares of a run, whose callbacks hold the mutex.
context share_of(const context& ctx, std::size_t count, std::mutex& listening) {
    context share = ctx;
    share.threads = std::max(1U, ctx.thread_count() / static_cast<unsigned>(count));
    share.memory_bytes = ctx.memory_limit() / count;
    if (ctx.on_progress) {
        share.on_progress = [report = ctx.on_progress, &listening](const progress& now) {
            const std::lock_guard lock(listening);
            report(now);
        };
    }
    if (ctx.on_log) {
        share.on_log = [log = ctx.on_log, &listening](log_level level, std::string_view message) {
            const std::lock_guard lock(listening);
            log(level, message);
        };
    }
    return share;
}

}  // namespace

place_set::place_set(const context& ctx, const chosen_device& chosen)
    : where_(name_and_reason(chosen)), places_(1 + chosen.more.size()) {
    const context share = share_of(ctx, size(), listening_);
    on_threads_of_their_own(size(), [&](std::size_t index) {
        chosen_device one = chosen;
        one.more.clear();
        if (index != 0) {
            one.ordinal = chosen.more[index - 1];
            one.name = chosen.cuda ? "cuda:" + std::to_string(one.ordinal) : chosen.name;
        }
        places_[index] = std::make_unique<any_place>(share, one);
    });
}

chosen_device cpu_places(std::size_t count) {
    return {false, 0, "cpu", "requested", std::vector<int>(count - 1)};
}

}  // namespace quern
