// SPDX-License-Identifier: Apache-2.0
// Loops over arrays that may be mapped: calls context::check_stop() at intervals, so that pages are released before too
// many are resident (files/mapped_pages.hpp), at no cost per value.
#pragma once

#include <algorithm>
#include <cstdint>

#include "quern/base/context.hpp"

namespace quern {

/// Values between two checks, which touch a few MiB: contiguous values, and scattered ones, each of which faults in the
/// 64 KiB around it.
inline constexpr std::uint64_t neighbouring_values = std::uint64_t{1} << 16, scattered_values = 64;

/// One thread.
class paced_checks {
  public:
    /// `ctx` must outlive it.
    paced_checks(const context& ctx, std::uint64_t every) : ctx_(ctx), every_(every), left_(every) {}

    /// Counts processed values. Throws `interrupted` if a stop is requested.
    void after(std::uint64_t values) {
        if (values < left_) {
            left_ -= values;
            return;
        }
        left_ = every_;
        ctx_.check_stop();
    }

  private:
    const context& ctx_;
    std::uint64_t every_, left_;
};

/// Calls work(begin, end) for parts of [begin, end) of `every` values at most, with a check before each.
template <class Work>
void in_checked_parts(const context& ctx, std::uint64_t begin, std::uint64_t end, std::uint64_t every,
                      const Work& work) {
    for (; begin < end; begin += std::min(every, end - begin)) {
        ctx.check_stop();
        work(begin, begin + std::min(every, end - begin));
    }
}

}  // namespace quern
