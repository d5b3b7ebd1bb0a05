// SPDX-License-Identifier: Apache-2.0
// Texts as lists of units, and in groups of equal ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "device/budget_share.hpp"
#include "ops/near_duplicates/duplicate_methods.hpp"
#include "ops/near_duplicates/filter/sketch.hpp"

namespace quern::near_duplicates_detail {

/// The same bytes.
unit_list<std::uint8_t> as_bytes(const text_list& texts);

/// Decoded code points; an invalid byte is 0x110000 plus its value, so that different bytes stay different.
struct decoded_texts {
    cpu_array<std::uint32_t> units;
    std::vector<std::uint64_t> offsets;
    unit_list<std::uint32_t> list() const { return {units.span(), offsets}; }
};
decoded_texts decode(cpu_place& place, const text_list& texts);
/// Only these texts, in this order.
decoded_texts decode(cpu_place& place, const text_list& texts, std::span<const std::uint32_t> chosen);
/// One text; replaces the contents of `units`.
void decode(std::string_view text, std::vector<std::uint32_t>& units);

// A group of equal texts is compared with others once: a thousand copies of a licence cost a thousand pairs of output, not
// a million edit distances.

/// Classes of equal texts, by ascending length; the order of classes with equal lengths is the same in every run.
class text_classes {
  public:
    /// Groups the texts [begin, end). Texts are compared completely; hashes only find likely equals. With `old_are_linked`,
    /// old texts are not compared with each other: their sketches say which are equal. Cost: O(texts + bytes of equal
    /// ones). Memory, counted at `place`: 12 bytes a text; 36 meanwhile. Throws out_of_memory.
    text_classes(cpu_place& place, const sketch_list& sketches, std::uint32_t begin, std::uint32_t end,
                 bool old_are_linked);

    std::uint32_t size() const { return static_cast<std::uint32_t>(begins_.size() - 1); }
    /// Ascending; the first represents the class.
    std::span<const std::uint32_t> members(std::uint32_t c) const {
        return {members_.data() + begins_[c], members_.data() + begins_[c + 1]};
    }
    std::uint32_t text(std::uint32_t c) const { return members_[begins_[c]]; }
    std::uint32_t length(std::uint32_t c) const { return lengths_[c]; }
    /// Of all classes, ascending.
    std::span<const std::uint32_t> lengths() const { return lengths_; }

    bool has_old(std::uint32_t c) const { return text(c) < first_new_; }
    bool has_new(std::uint32_t c) const { return members_[begins_[c + 1] - 1] >= first_new_; }
    std::uint32_t first_new() const { return first_new_; }
    /// Whether some texts come before `first_new`.
    bool any_old() const { return any_old_; }

  private:
    budget_share memory_;  ///< counts the lists
    std::vector<std::uint32_t> members_, begins_, lengths_;
    std::uint32_t first_new_;
    bool any_old_;
};

/// The classes [first, last), by length, that class b can make a pair with. Without old texts only those before b: each
/// pair is then found from its second class.
struct class_range {
    std::uint32_t first, last;
    friend bool operator==(const class_range&, const class_range&) = default;
};
class_range window_of(const text_classes& classes, const decimal& threshold, std::uint32_t b);

/// The number of pairs of classes that lengths allow, without old texts. Cost: O(classes).
std::uint64_t pairs_in_windows(cpu_place& place, const text_classes& classes, const decimal& threshold);

/// A text that is equal to an earlier one: `first`, the first of all equal ones. Each text occurs at most once.
struct text_copy {
    std::uint32_t first, text;
    friend auto operator<=>(const text_copy&, const text_copy&) = default;
};
/// Appends the copies within the classes.
void append_copies(const text_classes& classes, std::vector<text_copy>& copies);

/// Pairs of texts, each representing all its equals (repeats are allowed) → all requested pairs of texts, ascending, or
/// links; including those of equal texts, which are 0 edits apart. Throws out_of_memory. Cost: O(copies + found + pairs);
/// nothing for a text without an equal and without a pair.
std::vector<duplicate_pair> pairs_of_texts(cpu_place& place, const sketch_list& sketches,
                                           const duplicate_scope& scope, std::vector<text_copy> copies,
                                           std::vector<duplicate_pair> found, duplicate_counts& counts);

}  // namespace quern::near_duplicates_detail
