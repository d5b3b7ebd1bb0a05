// SPDX-License-Identifier: Apache-2.0
// Equal texts are taken together: they are compared with others once, and a thousand copies of a licence cost a
// thousand pairs of output, not a million edit distances.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/near_duplicates/methods.hpp"

namespace quern::near_duplicates_detail {

/// Classes of equal texts, by rising length; the order among classes of one length is the same in every run.
class text_classes {
  public:
    /// Texts are compared whole; hashes only bring the likely ones together. Cost: O(units), 16 bytes a text.
    template <class Unit>
    text_classes(cpu_place& place, const unit_list<Unit>& texts, std::uint32_t first_new);

    std::uint32_t size() const { return static_cast<std::uint32_t>(begins_.size() - 1); }
    /// Rising; the first stands for the class.
    std::span<const std::uint32_t> members(std::uint32_t c) const {
        return {members_.data() + begins_[c], members_.data() + begins_[c + 1]};
    }
    std::uint32_t text(std::uint32_t c) const { return members_[begins_[c]]; }
    std::uint32_t length(std::uint32_t c) const { return lengths_[c]; }

    bool has_old(std::uint32_t c) const { return text(c) < first_new_; }
    bool has_new(std::uint32_t c) const { return members_[begins_[c + 1] - 1] >= first_new_; }
    bool any_old() const { return first_new_ != 0; }
    /// Whether some member of one and some of the other make a pair that is asked for.
    bool wanted(std::uint32_t a, std::uint32_t b, bool within_new) const {
        return (has_new(a) && has_old(b)) || (has_old(a) && has_new(b)) ||
               (within_new && has_new(a) && has_new(b));
    }

  private:
    std::vector<std::uint32_t> members_, begins_, lengths_;
    std::uint32_t first_new_;
};

/// The classes [first, last), in order of length, that class b can make a pair with. Without old texts only those before
/// b: each pair is then found from its second class.
struct class_range {
    std::uint32_t first, last;
};
class_range window_of(const text_classes& classes, const decimal& threshold, std::uint32_t b);

/// Pairs of classes and the distances of their texts → all pairs of texts that are asked for, rising; with those of
/// equal texts, which are 0 edits apart.
std::vector<duplicate_pair> pairs_of_texts(const text_classes& classes, const duplicate_scope& scope,
                                           std::span<const duplicate_pair> class_pairs);

}  // namespace quern::near_duplicates_detail
