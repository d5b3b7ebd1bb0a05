// SPDX-License-Identifier: Apache-2.0
// From bytes to words and from words to ids, for whole texts at a time. Contract class: exact.
//
//     const cut_text<Place> cut = cut_lines(place, text);                            // where its words are
//     find_words(place, list, text, cut.begins.span(), cut.ends.span(), ids.span()); // their ids
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "primitives/dictionary/front_coding.hpp"

namespace quern::primitives {

/// A sorted list of words in the memory of a place: for each block of sixteen (front_coding.hpp) the key of its first
/// word and where it begins in `blocks`; and where the last one ends. Offsets are of 32 bits where that suffices, and
/// the other span of offsets is then empty. Offsets must rise and end at blocks.size(): text::dictionary_view has
/// checked that. What the blocks themselves hold may be anything.
template <class Place>
struct word_list {
    span_on<Place, const std::uint64_t> keys;
    span_on<Place, const std::uint32_t> offsets;
    span_on<Place, const std::uint64_t> wide_offsets;
    span_on<Place, const std::uint8_t> blocks;
    std::uint32_t size = 0;
};

/// Finds keys among the sorted keys of blocks: every sixteenth key again and again, until few are left, so that a
/// search meets a handful of cache lines, the upper ones always in the cache. For the CPU; 8/15 of a byte a block.
class key_index {
  public:
    static constexpr std::uint64_t fan_out = 16;

    key_index() = default;
    /// `keys`: `count` of them, rising, as they lie in a file, aligned or not; they must outlive this.
    key_index(const char* keys, std::uint64_t count);

    std::uint64_t size() const { return count_; }
    /// How many keys are less than `key`.
    std::uint64_t below(std::uint64_t key) const { return count_in_group(first_group(key), key); }
    /// The same in two steps, so that a caller may ask for the memory of the second one before it takes it.
    std::uint64_t first_group(std::uint64_t key) const;
    std::uint64_t count_in_group(std::uint64_t group, std::uint64_t key) const;
    const char* keys_of(std::uint64_t group) const { return keys_ + group * fan_out * 8; }

  private:
    const char* keys_ = nullptr;
    std::uint64_t count_ = 0;
    std::vector<std::vector<std::uint64_t>> levels_;  ///< from the smallest; filled up to whole groups
};

/// ids[i] = the rank of the word text[begins[i], ends[i]) in the list, or list.size where the list lacks it. Exact: a
/// word is found where all its bytes are there. Throws usage_error where begins, ends and ids differ in size; ends must
/// not lie before begins nor beyond the text (checked on the CPU: usage_error). `index`: of list.keys.
/// Cost: a search among the keys, and one block. CPU: many words at a time, so that they wait for memory together.
/// CUDA: does not synchronise.
void find_words(cpu_place& place, const word_list<cpu_place>& list, const key_index& index,
                std::span<const std::uint8_t> text, std::span<const std::uint32_t> begins,
                std::span<const std::uint32_t> ends, std::span<std::uint32_t> ids);
void find_words(cuda_place& place, const word_list<cuda_place>& list, device_span<const std::uint8_t> text,
                device_span<const std::uint32_t> begins, device_span<const std::uint32_t> ends,
                device_span<std::uint32_t> ids);

/// The words of a text: word i is the bytes [begins[i], ends[i]), of the text itself or, where that was lower-cased, of
/// `letters`, which has its length. Document d holds the words [document_offsets[d], document_offsets[d + 1]).
template <class Place>
struct cut_text {
    array_on<Place, std::uint8_t> letters;
    array_on<Place, std::uint32_t> begins, ends;
    array_on<Place, std::uint64_t> document_offsets;
};

/// One word a line, empty lines between documents; a CR before the end of a line belongs to the end. Words are taken as
/// they are. Texts of less than 2³² bytes (usage_error). Synchronises. Memory beside: CUDA 12 bytes a byte of text.
cut_text<cpu_place> cut_lines(cpu_place& place, std::span<const std::uint8_t> text);
cut_text<cuda_place> cut_lines(cuda_place& place, device_span<const std::uint8_t> text);

enum class run_of { letters_and_digits, letters };

/// Runs of [a-z0-9] or of [a-z] after lower-casing A-Z; every other byte stands between words. Document d is the bytes
/// [documents[d], documents[d + 1]), as segments of the text are (primitives/segments.hpp; no documents: no words), and
/// no word goes on into the next. Otherwise as cut_lines.
cut_text<cpu_place> cut_runs(cpu_place& place, std::span<const std::uint8_t> text,
                             std::span<const std::uint64_t> documents, run_of what);
cut_text<cuda_place> cut_runs(cuda_place& place, device_span<const std::uint8_t> text,
                              device_span<const std::uint64_t> documents, run_of what);

}  // namespace quern::primitives
