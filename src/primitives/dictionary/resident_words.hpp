// SPDX-License-Identifier: Apache-2.0
// A sorted list of words, copied to a place once, for look-ups of many words there, in the form of the place's look-up:
//
//     const resident_words<Place> list(place, next);    // next(): the words in strictly ascending byte order, then nothing
//     list.find(place, text, begins, ends, ids);
//
// Cost of construction: a tenth of a microsecond per word.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/array.hpp"
#include "primitives/dictionary/front_coding.hpp"
#include "primitives/dictionary/packed_writer.hpp"
#include "primitives/dictionary/text_to_ids.hpp"

namespace quern::primitives {

/// The place must outlive it.
template <class Place>
class resident_words {
  public:
    template <class Next>
    resident_words(Place& place, Next next) {
        front_coder coder;
        for (std::optional<std::string_view> word = next(); word; word = next(), ++size_) coder.append(*word);
        const front_coded coded = coder.finish();
        const auto put = [&]<class T>(const std::vector<T>& values) {
            return array_from(place, std::span<const T>(values), "a dictionary");
        };
        keys_ = put(coded.keys);
        offsets_ = put(coded.offsets);
        wide_offsets_ = put(coded.wide_offsets);
        blocks_ = put(coded.blocks);
    }

    void find(Place& place, span_on<Place, const std::uint8_t> text,
              span_on<Place, const std::uint32_t> begins, span_on<Place, const std::uint32_t> ends,
              span_on<Place, std::uint32_t> ids) const {
        find_words(place, {keys_.span(), offsets_.span(), wide_offsets_.span(), blocks_.span(), size_}, text,
                   begins, ends, ids);
    }
    std::uint32_t size() const { return size_; }
    std::uint64_t bytes() const {
        return 8 * keys_.size() + 4 * offsets_.size() + 8 * wide_offsets_.size() + blocks_.size();
    }

  private:
    array_on<Place, std::uint64_t> keys_, wide_offsets_;
    array_on<Place, std::uint32_t> offsets_;
    array_on<Place, std::uint8_t> blocks_;
    std::uint32_t size_ = 0;
};

template <>
class resident_words<cpu_place> {
  public:
    template <class Next>
    resident_words(cpu_place& place, Next next) {
        packed_writer writer;
        for (std::optional<std::string_view> word = next(); word; word = next()) writer.append(*word);
        writer.end();
        const std::string pages = writer.take_pages(), tables = writer.tables();
        bytes_ = cpu_array<char>(place, tables.size() + pages.size(), "a dictionary");
        std::ranges::copy(pages, std::ranges::copy(tables, bytes_.data()).out);
        words_ = *packed_dictionary::open({bytes_.data(), bytes_.size()});
    }

    void find(cpu_place& place, std::span<const std::uint8_t> text, std::span<const std::uint32_t> begins,
              std::span<const std::uint32_t> ends, std::span<std::uint32_t> ids) const {
        find_words(place, words_, text, begins, ends, ids);
    }
    std::uint32_t size() const { return words_.size(); }
    std::uint64_t bytes() const { return bytes_.size(); }

  private:
    cpu_array<char> bytes_;
    packed_dictionary words_;
};

}  // namespace quern::primitives
