// SPDX-License-Identifier: Apache-2.0
// Loops over arrays that may be mapped: asks context::check_stop() after every so many values, so that pages are given back
// before too many of them were touched (files/mapped_pages.hpp), at no cost for each value.
#pragma once

#include <algorithm>
#include <cstdint>

#include "quern/base/context.hpp"

namespace quern {

/// So many values touch a few MiB between two checks: values side by side, and values anywhere, of which each brings the 64 KiB
/// around it.
inline constexpr std::uint64_t neighbouring_values = std::uint64_t{1} << 16, scattered_values = 64;

/// One thread.
class paced_checks {
  public:
    /// `ctx` must outlive it.
    paced_checks(const context& ctx, std::uint64_t every) : ctx_(ctx), every_(every), left_(every) {}

    /// So many values have been worked on. Throws `interrupted` when the run is to stop.
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
