// SPDX-License-Identifier: Apache-2.0
// Equal texts are taken together: they are compared with others once, and a thousand copies of a licence cost a
// thousand pairs of output, not a million edit distances.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/near_duplicates/methods.hpp"
#include "ops/near_duplicates/sketch_list.hpp"

namespace quern::near_duplicates_detail {

/// Classes of equal texts, by rising length; the order among classes of one length is the same in every run.
class text_classes {
  public:
    /// Of the texts [begin, end). Texts are compared whole; hashes only bring the likely ones together. With
    /// `old_are_linked`, old texts are not compared with each other: their sketches say which are equal.
    /// Cost: O(texts + bytes of equal ones), 20 bytes a text.
    text_classes(cpu_place& place, const sketch_list& sketches, std::uint32_t begin, std::uint32_t end,
                 bool old_are_linked);

    std::uint32_t size() const { return static_cast<std::uint32_t>(begins_.size() - 1); }
    /// Rising; the first stands for the class.
    std::span<const std::uint32_t> members(std::uint32_t c) const {
        return {members_.data() + begins_[c], members_.data() + begins_[c + 1]};
    }
    std::uint32_t text(std::uint32_t c) const { return members_[begins_[c]]; }
    std::uint32_t length(std::uint32_t c) const { return lengths_[c]; }
    /// Of all classes, rising.
    std::span<const std::uint32_t> lengths() const { return lengths_; }

    bool has_old(std::uint32_t c) const { return text(c) < first_new_; }
    bool has_new(std::uint32_t c) const { return members_[begins_[c + 1] - 1] >= first_new_; }
    std::uint32_t first_new() const { return first_new_; }
    /// Whether texts of before `first_new` are among them.
    bool any_old() const { return any_old_; }

  private:
    std::vector<std::uint32_t> members_, begins_, lengths_;
    std::uint32_t first_new_;
    bool any_old_;
};

/// The classes [first, last), in order of length, that class b can make a pair with. Without old texts only those before
/// b: each pair is then found from its second class.
struct class_range {
    std::uint32_t first, last;
    friend bool operator==(const class_range&, const class_range&) = default;
};
class_range window_of(const text_classes& classes, const decimal& threshold, std::uint32_t b);

/// A text that is equal to an earlier one: `first`, the first of all that are. A text is named once.
struct text_copy {
    std::uint32_t first, text;
    friend auto operator<=>(const text_copy&, const text_copy&) = default;
};
/// Appends those of the classes.
void append_copies(const text_classes& classes, std::vector<text_copy>& copies);

/// Pairs of texts, each for all its equals (a pair may be there twice) → all pairs of texts that are asked for,
/// rising, or links; with those of equal texts, which are 0 edits apart. Throws out_of_memory.
/// Cost: O(copies + found + pairs); nothing for a text that has no equal and no pair.
std::vector<duplicate_pair> pairs_of_texts(cpu_place& place, const sketch_list& sketches,
                                           const duplicate_scope& scope, std::vector<text_copy> copies,
                                           std::vector<duplicate_pair> found, duplicate_counts& counts);

}  // namespace quern::near_duplicates_detail
