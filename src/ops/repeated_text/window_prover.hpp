// SPDX-License-Identifier: Apache-2.0
// Proves that windows are repeated along a copy, without their hashes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "ops/repeated_text/text_units.hpp"

namespace quern::repeated_text_detail {

/// Windows [begin, end) of a fragment with one anchor, whose hash occurs twice.
struct anchored_run {
    std::size_t begin = 0, end = 0;
    std::uint64_t anchor = 0;  ///< its position
    std::uint64_t first = 0;   ///< the position of an anchor with the same hash, perhaps the same one
};

/// Tries to prove that windows equal earlier ones: the window after the one that the window before it equals, that around the
/// first anchor of the same hash, or, where those are not known, one of a cache.
template <class Units>
class window_prover {
  public:
    /// Both outlive it.
    window_prover(const text_list& texts, std::uint32_t length, const Units& units)
        : texts_(texts), length_(length), units_(units), bytes_(texts.bytes.data()) {}

    /// The windows from here on have another anchor.
    void begin_run(const anchored_run& run) {
        run_ = &run;
        is_measured_ = run.first >= run.anchor;
        equal_begin_ = equal_end_ = 0;
    }
    /// The next window does not follow the last one.
    void forget() { witness_ = none; }

    /// Whether the window after the witness of the last window, or around the first anchor, is equal.
    bool proves(std::size_t window) {
        const std::uint64_t begin = units_.start(window), length = units_.start(window + length_) - begin;
        const std::uint64_t position = units_.position + begin;
        if (witness_ != none) {
            const std::uint64_t next = witness_ + (begin - units_.start(window - 1));
            const std::uint64_t known = units_.start(window + length_ - 1) - begin;
            if (is_window(bytes_, position, next, known, length, text_.end)) {
                witness_ = next;
                return true;
            }
            witness_ = none;
        }
        if (!is_measured_) measure();
        if (position < equal_begin_ || position + length > equal_end_) return false;
        return proves_by(window, position - (run_->anchor - run_->first));
    }
    /// Whether the window at this position, if any, is equal.
    bool proves_by(std::size_t window, std::uint64_t position) {
        if (position == none) return false;
        const std::uint64_t begin = units_.start(window), length = units_.start(window + length_) - begin;
        const byte_range text = text_around(texts_, position);
        const bool is_unit = position == text.begin || !continues(bytes_[position]);
        if (!is_unit || !is_window(bytes_, units_.position + begin, position, 0, length, text.end))
            return false;
        witness_ = position;
        text_ = text;
        return true;
    }

  private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    /// How far the bytes around the anchor equal those around its first one.
    void measure() {
        is_measured_ = true;
        const std::uint64_t anchor = run_->anchor, first = run_->first;
        const byte_range text = text_around(texts_, first);
        const std::uint64_t begin = units_.position + units_.start(run_->begin);
        const std::uint64_t end = units_.position + units_.start(run_->end - 1 + length_);
        const std::uint64_t after = std::min(end - anchor, text.end - first);
        const std::uint64_t before = std::min(anchor - begin, first - text.begin);
        equal_end_ = anchor;
        while (equal_end_ - anchor < after && bytes_[equal_end_] == bytes_[first + (equal_end_ - anchor)])
            ++equal_end_;
        equal_begin_ = anchor;
        while (anchor - equal_begin_ < before &&
               bytes_[equal_begin_ - 1] == bytes_[first - (anchor - equal_begin_) - 1])
            --equal_begin_;
    }

    const text_list& texts_;
    std::uint32_t length_;
    const Units& units_;
    const char* bytes_;
    const anchored_run* run_ = nullptr;
    bool is_measured_ = true;
    std::uint64_t equal_begin_ = 0,
                  equal_end_ = 0;   ///< of the run; nothing is known while it is not measured
    std::uint64_t witness_ = none;  ///< equals the last window
    byte_range text_;               ///< around the witness
};

}  // namespace quern::repeated_text_detail
