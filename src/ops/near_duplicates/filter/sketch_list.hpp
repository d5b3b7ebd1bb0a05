// SPDX-License-Identifier: Apache-2.0
// The sketches of all texts of a call: the given ones, and those made here for the other texts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "device/cpu/cpu_place.hpp"
#include "ops/near_duplicates/filter/sketch.hpp"
#include "quern/ops/text_sketches.hpp"

namespace quern::near_duplicates_detail {

static_assert(sizeof(text_sketch::counts) == unit_buckets && sizeof(text_sketch) == 80);

class sketch_list {
  public:
    /// Known sketches that do not cover the old texts are ignored: then all are made. Throws usage_error for more sketches
    /// than texts, for impossible lengths, and for old texts whose equals are not known.
    sketch_list(cpu_place& place, const text_list& texts, const text_sketches& known, edit_unit unit,
                std::uint32_t first_new);
    sketch_list(const sketch_list&) = delete;  // its ranges point into it
    sketch_list& operator=(const sketch_list&) = delete;

    std::uint32_t size() const { return begins_.back(); }
    std::uint32_t first_new() const { return first_new_; }
    const text_sketch& operator[](std::uint32_t text) const {
        // Random accesses go mostly to new texts, which come last.
        std::size_t chunk = chunks_.size() - 1;
        if (text < begins_[chunk]) {
            chunk = static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), text) -
                                             begins_.begin() - 1);
        }
        return chunks_[chunk][text - begins_[chunk]];
    }
    /// Call it before reading the bytes of a text.
    void before_reading(std::uint32_t text) const {
        if (text < first_new_ && were_known_ && known_.before_reading) known_.before_reading(text);
    }
    /// Reads both texts if their hashes are equal.
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
    std::vector<std::span<const text_sketch>> chunks_;
    std::vector<std::uint32_t> begins_{0};  ///< of each range, and the end
};

}  // namespace quern::near_duplicates_detail
