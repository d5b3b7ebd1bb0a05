// SPDX-License-Identifier: Apache-2.0
// From bytes to words and from words to ids, for whole texts at a time. Contract class: exact.
//
//     const tokenized_text<Place> cut = tokenize_lines(place, text);                            // where its words are
//     find_words(place, list, text, cut.begins.span(), cut.ends.span(), ids.span()); // their ids
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/array.hpp"
#include "primitives/dictionary/front_coding.hpp"
#include "primitives/dictionary/packed_dictionary.hpp"

namespace quern::primitives {

/// A sorted list of words in the memory of a device: for each block of sixteen (front_coding.hpp) the key of its first word
/// and its start in `blocks`; and the end of the last one.
/// - Offsets have 32 bits if that suffices; the other span of offsets is then empty.
/// - Offsets must ascend and end at blocks.size(), as front_coder makes them. The contents of the blocks may be anything.
/// - The CPU has a separate form (packed_dictionary.hpp), which waits for memory less often; a device has enough threads to
///   wait.
template <class Place>
struct word_list {
    span_on<Place, const std::uint64_t> keys;
    span_on<Place, const std::uint32_t> offsets;
    span_on<Place, const std::uint64_t> wide_offsets;
    span_on<Place, const std::uint8_t> blocks;
    std::uint32_t size = 0;
};

/// ids[i] = the rank of the word text[begins[i], ends[i]) in the list, or list.size if the list lacks it. Exact: all bytes
/// of a found word are equal.
/// - Throws usage_error if begins, ends and ids differ in size; ends must not be before begins nor past the text (checked
///   on the CPU: usage_error).
/// - Cost: a search among the keys, and one page or block. CPU: many words at a time, so that they wait for memory
///   together. CUDA: does not synchronise.
void find_words(cpu_place& place, const packed_dictionary& list, std::span<const std::uint8_t> text,
                std::span<const std::uint32_t> begins, std::span<const std::uint32_t> ends,
                std::span<std::uint32_t> ids);
void find_words(cuda_place& place, const word_list<cuda_place>& list, device_span<const std::uint8_t> text,
                device_span<const std::uint32_t> begins, device_span<const std::uint32_t> ends,
                device_span<std::uint32_t> ids);

/// The words of a text: word i is the bytes [begins[i], ends[i]), of the text itself or, if that was lower-cased, of
/// `letters`, which has its length. Document d has the words [document_offsets[d], document_offsets[d + 1]).
template <class Place>
struct tokenized_text {
    array_on<Place, std::uint8_t> letters;
    array_on<Place, std::uint32_t> begins, ends;
    array_on<Place, std::uint64_t> document_offsets;
};

/// One word per line, empty lines between documents; a CR before the end of a line belongs to the end. Words are not
/// changed. Texts of less than 2³² bytes (usage_error). Synchronises. Extra memory: CUDA 12 bytes per byte of text.
tokenized_text<cpu_place> tokenize_lines(cpu_place& place, std::span<const std::uint8_t> text);
tokenized_text<cuda_place> tokenize_lines(cuda_place& place, device_span<const std::uint8_t> text);

enum class run_of { letters_and_digits, letters };

/// Runs of [a-z0-9] or of [a-z] after lower-casing A-Z; every other byte separates words. Document d is the bytes
/// [documents[d], documents[d + 1]), as segments of the text (primitives/segments.hpp; no documents: no words); no word
/// continues into the next document. Otherwise as tokenize_lines.
tokenized_text<cpu_place> tokenize_runs(cpu_place& place, std::span<const std::uint8_t> text,
                                        std::span<const std::uint64_t> documents, run_of what);
tokenized_text<cuda_place> tokenize_runs(cuda_place& place, device_span<const std::uint8_t> text,
                                         device_span<const std::uint64_t> documents, run_of what);

}  // namespace quern::primitives
