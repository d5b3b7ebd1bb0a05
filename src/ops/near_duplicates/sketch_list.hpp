// SPDX-License-Identifier: Apache-2.0
// The sketches of all texts of a call: those that came with them, and those made here of the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/place.hpp"
#include "ops/near_duplicates/sketch.hpp"
#include "quern/ops/text_sketches.hpp"

namespace quern::near_duplicates_detail {

static_assert(sizeof(text_sketch::counts) == unit_buckets && sizeof(text_sketch) == 80);

class sketch_list {
  public:
    /// Known sketches that do not cover the old texts are of no use: all are made then. Throws usage_error for more of
    /// them than texts, for lengths that cannot be, and for old texts whose equals are not known.
    sketch_list(cpu_place& place, const text_list& texts, const text_sketches& known, edit_unit unit,
                std::uint32_t first_new);
    sketch_list(const sketch_list&) = delete;  // its stretches point into it
    sketch_list& operator=(const sketch_list&) = delete;

    std::uint32_t size() const { return begins_.back(); }
    std::uint32_t first_new() const { return first_new_; }
    const text_sketch& operator[](std::uint32_t text) const {
        // Texts that are asked for at random are mostly new ones, and these are behind.
        std::size_t stretch = stretches_.size() - 1;
        if (text < begins_[stretch]) {
            stretch = static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), text) -
                                               begins_.begin() - 1);
        }
        return stretches_[stretch][text - begins_[stretch]];
    }
    /// To be called before the bytes of a text are read.
    void before_reading(std::uint32_t text) const {
        if (text < first_new_ && were_known_ && known_.before_reading) known_.before_reading(text);
    }
    /// Both texts are read where their hashes are equal.
    bool are_equal(std::uint32_t a, std::uint32_t b) const;
    std::string_view read(std::uint32_t text) const {
        before_reading(text);
        return texts_[text];
    }

  private:
    void check_known() const;
    void link_old_texts(cpu_place& place);

    text_list texts_;
    const text_sketches& known_;
    std::uint32_t first_new_;
    bool were_known_;
    std::vector<text_sketch> made_;
    std::vector<std::span<const text_sketch>> stretches_;
    std::vector<std::uint32_t> begins_{0};  ///< of each stretch, and the end
};

}  // namespace quern::near_duplicates_detail
