// SPDX-License-Identifier: Apache-2.0
// Classes of equal texts with their sketches as matrices, in host memory: one tile of neighbours by length at a time, as
// large as memory allows. Evicted sketches are made again when needed: reading 2 KB back from a disk takes
// about as long as making them from 2 KB of text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "device/array.hpp"
#include "ops/near_duplicates/exact/verify.hpp"
#include "ops/near_duplicates/filter/gram_sketch.hpp"
#include "ops/near_duplicates/filter/sketch.hpp"
#include "ops/near_duplicates/texts/texts.hpp"
#include "quern/base/error.hpp"

namespace quern::near_duplicates_detail {

/// The texts of a call as units. Bytes are read in place. Characters are decoded once if they fit a share of the memory,
/// otherwise on each read, as always for old texts.
template <class Unit>
class unit_texts {
    static constexpr bool decodes = !std::is_same_v<Unit, std::uint8_t>;
    static constexpr std::uint64_t share = 4;  ///< of the memory: a quarter of the rest

  public:
    /// Cost: nothing for bytes; otherwise decodes the new texts if they fit, 4 bytes per character.
    unit_texts(cpu_place& host, const text_list& texts, const sketch_list& sketches)
        : host_(host), texts_(texts), sketches_(sketches), first_decoded_(sketches.size()) {
        if constexpr (decodes) {
            const std::uint32_t first = sketches.first_new();
            std::uint64_t units = 0;
            for (std::uint32_t text = first; text < sketches.size(); ++text) units += sketches[text].length;
            if (first < sketches.size() && units * sizeof(Unit) <= host.memory().left() / share) {
                decoded_ = decode(host, {texts.bytes, texts.offsets.subspan(first)});
                first_decoded_ = first;
            }
        }
    }

    /// All texts, if they are in memory as units and none is old.
    std::optional<unit_list<Unit>> whole() const {
        if (sketches_.first_new() != 0) return std::nullopt;
        if constexpr (!decodes) return as_bytes(texts_);
        if constexpr (decodes) {
            if (first_decoded_ == 0 && decoded_.units.size() != 0) return decoded_.list();
            return std::nullopt;
        }
    }
    /// Valid until the next read with `scratch`. Any thread.
    std::span<const Unit> read(std::uint32_t text, std::vector<Unit>& scratch) const {
        if constexpr (decodes) {
            if (text >= first_decoded_) {
                const auto& [units, offsets] = decoded_;
                const std::size_t i = text - first_decoded_;
                return std::span<const Unit>(units.span()).subspan(offsets[i], offsets[i + 1] - offsets[i]);
            }
            decode(sketches_.read(text), scratch);
            return scratch;
        } else {
            const std::string_view bytes = sketches_.read(text);
            return {reinterpret_cast<const Unit*>(bytes.data()), bytes.size()};
        }
    }

    /// Throws out_of_memory if so many pairs do not fit.
    void require_room_for(std::size_t pairs) const {
        const std::uint64_t bytes = array_bytes<duplicate_pair>(pairs), left = host_.memory().left();
        if (bytes <= left) return;
        throw out_of_memory("a list of more than " + std::to_string(pairs) + " pairs (groups do not need it)",
                            bytes, left);
    }

    /// Appends the pairs among candidates whose texts were already read. `host`: decodes texts. `on_device`: copies of
    /// whole() in the memory of `place`, for edit distances there; null: none. Any thread, with places of its own.
    template <class Place>
    void append_pairs(Place& place, cpu_place& host, const decimal& threshold,
                      std::span<const candidate> candidates, std::vector<duplicate_pair>& found,
                      duplicate_counts& counts, const device_texts<Unit>* on_device = nullptr) const {
        require_room_for(found.size());
        if constexpr (!decodes) {
            const auto pairs = verify(place, as_bytes(texts_), threshold, candidates, counts, on_device);
            found.insert(found.end(), pairs.begin(), pairs.end());
        } else if (std::ranges::all_of(candidates,
                                       [&](const candidate& c) { return c.a >= first_decoded_; })) {
            const auto number_of = [&](std::uint32_t text) { return text - first_decoded_; };
            append_numbered(place, threshold, decoded_, candidates, number_of, found, counts, on_device);
        } else {
            for (std::size_t begin = 0; begin < candidates.size();) {
                const std::size_t count = fitting(host, candidates.subspan(begin));
                append_decoded(place, host, threshold, candidates.subspan(begin, count), found, counts);
                begin += count;
            }
        }
    }

  private:
    /// How many of the first candidates have texts that fit the memory, decoded; at least one.
    std::size_t fitting(cpu_place& host, std::span<const candidate> candidates) const {
        const std::uint64_t max = host.memory().left() / share / sizeof(Unit);
        std::uint64_t units = 0;
        std::size_t count = 0;
        for (const auto& [a, b] : candidates) {
            units += std::uint64_t{sketches_[a].length} + sketches_[b].length;
            if (count != 0 && units > max) break;
            ++count;
        }
        return count;
    }

    /// Decodes these texts, numbered in their order.
    template <class Place>
    void append_decoded(Place& place, cpu_place& host, const decimal& threshold,
                        std::span<const candidate> candidates, std::vector<duplicate_pair>& found,
                        duplicate_counts& counts) const {
        std::vector<std::uint32_t> chosen;
        for (const auto& [a, b] : candidates) chosen.insert(chosen.end(), {a, b});
        std::ranges::sort(chosen);
        chosen.erase(std::ranges::unique(chosen).begin(), chosen.end());
        const auto number_of = [&](std::uint32_t text) {
            return static_cast<std::uint32_t>(std::ranges::lower_bound(chosen, text) - chosen.begin());
        };
        append_numbered(place, threshold, decode(host, texts_, chosen), candidates, number_of, found, counts);
    }

    /// The same with texts that were decoded and numbered differently; pairs keep the order of their candidates.
    template <class Place, class NumberOf>
    static void append_numbered(Place& place, const decimal& threshold, const decoded_texts& decoded,
                                std::span<const candidate> candidates, const NumberOf& number_of,
                                std::vector<duplicate_pair>& found, duplicate_counts& counts,
                                const device_texts<Unit>* on_device = nullptr) {
        std::vector<candidate> numbered;
        numbered.reserve(candidates.size());
        for (const auto& [a, b] : candidates) numbered.push_back({number_of(a), number_of(b)});
        const auto pairs =
            verify(place, decoded.list(), threshold, std::span<const candidate>(numbered), counts, on_device);
        std::size_t i = 0;
        for (duplicate_pair pair : pairs) {
            while (numbered[i].a != pair.a || numbered[i].b != pair.b) ++i;
            pair.a = candidates[i].a;
            pair.b = candidates[i].b;
            found.push_back(pair);
        }
    }

    cpu_place& host_;
    text_list texts_;
    const sketch_list& sketches_;
    std::uint32_t first_decoded_;
    decoded_texts decoded_;  ///< those from first_decoded_ on
};

/// The scales at which a class needs its disjoint grams: those of the texts that it can make a pair with.
struct scale_range {
    unsigned first, last;
};

/// What follows the counts of units: bitmaps of grams, or the counts of pairs of units, 1 KB for each text.
enum class second_filter { bitmaps, pair_counts };

/// How many bytes the sketches of classes take.
class sketch_sizes {
  public:
    static constexpr std::uint64_t bytes_of_a_class = 10;  ///< of memory, for the caller to count
    /// Cost: O(classes).
    sketch_sizes(cpu_place& place, const text_classes& classes, const decimal& threshold,
                 second_filter second);

    second_filter second() const { return second_; }

    /// Up to its own scale. With old texts also above it: then a class is compared with longer ones.
    scale_range scales(std::uint32_t c) const { return {scales_[c].first, scales_[c].last}; }
    unsigned scale(std::uint32_t c) const { return scale_of(classes_.length(c)); }
    const text_classes& classes() const { return classes_; }
    std::uint64_t bytes(class_range range) const { return ends_[range.last] - ends_[range.first]; }
    /// Of all bitmaps, where these are the second filter.
    std::uint64_t words(class_range range) const {
        return (bytes(range) - std::uint64_t{range.last - range.first} * other_bytes) / sizeof(std::uint64_t);
    }
    /// The first classes of a range whose sketches fit into `bytes`, at least one.
    class_range first_of(class_range range, std::uint64_t bytes) const;

  private:
    static constexpr std::uint64_t other_bytes = unit_buckets + 8 + 5 * 4;  ///< of a class, without bitmaps
    struct small_range {
        std::uint8_t first, last;
    };
    const text_classes& classes_;
    second_filter second_;
    std::vector<std::uint64_t> ends_;
    std::vector<small_range> scales_;
};

/// The rules of a search, from a sample of its classes. The same in every run. Cost: O(max_sample).
template <class Unit>
gram_rules learn_rules(cpu_place& place, const unit_texts<Unit>& texts, const text_classes& classes);

/// The sketches of the classes `range`, in their order.
struct sketched_classes {
    const sketch_sizes& sizes;
    class_range range;
    cpu_array<std::uint8_t> units;  ///< unit_buckets for each class
    cpu_array<std::uint8_t> pairs;  ///< pair_buckets for each class, or nothing
    cpu_array<std::uint64_t>
        bitmaps;  ///< for each class: all grams, then the disjoint ones, largest scale first
    cpu_array<std::uint64_t> begins;       ///< of the bitmaps of a class, in words
    cpu_array<std::uint32_t> populations;  ///< max_scales for each class: of its disjoint grams

    static constexpr std::size_t max_scales = 5;  ///< a rate of 1/2 allows less than three times the length

    const std::uint8_t* unit_row(std::uint32_t c) const {
        return units.data() + std::size_t{c - range.first} * unit_buckets;
    }
    const std::uint8_t* pair_row(std::uint32_t c) const {
        return pairs.data() + std::size_t{c - range.first} * pair_buckets;
    }
    /// At the scale of the class.
    const std::uint64_t* all_grams(std::uint32_t c) const {
        return bitmaps.data() + begins.data()[c - range.first];
    }
    struct disjoint_grams {
        const std::uint64_t* bits;
        std::uint32_t population;
    };
    disjoint_grams disjoint(std::uint32_t c, unsigned scale) const {
        const scale_range scales = sizes.scales(c);
        std::uint64_t at = begins.data()[c - range.first] + bitmap_words(sizes.scale(c));
        for (unsigned s = scales.last; s > scale; --s) at += bitmap_words(s);
        return {bitmaps.data() + at,
                populations.data()[std::size_t{c - range.first} * max_scales + (scales.last - scale)]};
    }
};

/// The sketches of the second filter, and the counts of units. `rules`: for bitmaps. Cost: one pass over the texts of the
/// classes; sizes.bytes(range).
template <class Unit>
sketched_classes sketch_classes(cpu_place& place, const unit_texts<Unit>& texts, const sketch_list& sketches,
                                const gram_rules& rules, const sketch_sizes& sizes, class_range range);

/// Bytes of tiles of rows and, where not all classes from `first` on fit at once, of columns to compare them with. Rows get most of the
/// memory: a column is sketched again for each tile of rows that it is compared with.
struct tile_sizes {
    std::uint64_t rows, columns;
};
inline tile_sizes tiles_within(std::uint64_t bytes, const sketch_sizes& sizes, std::uint32_t first = 0) {
    if (sizes.bytes({first, sizes.classes().size()}) <= bytes) return {bytes, bytes};
    return {bytes - bytes / 8, bytes / 8};
}

/// Calls work(range) for the tiles of a range, in order.
template <class Work>
void for_each_tile(const sketch_sizes& sizes, class_range all, std::uint64_t bytes, const Work& work) {
    while (all.first < all.last) {
        const class_range tile = sizes.first_of(all, bytes);
        work(tile);
        all.first = tile.last;
    }
}

}  // namespace quern::near_duplicates_detail
