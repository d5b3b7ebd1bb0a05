// SPDX-License-Identifier: Apache-2.0
// The texts of a call as units, without decoding the old ones: these are decoded one by one as they are read.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "ops/near_duplicates/sketch_list.hpp"
#include "ops/near_duplicates/units.hpp"
#include "ops/near_duplicates/verify.hpp"

namespace quern::near_duplicates_detail {

template <class Unit>
class unit_texts {
    static constexpr bool decodes = !std::is_same_v<Unit, std::uint8_t>;

  public:
    /// Cost: nothing for bytes; the new texts are decoded, 4 bytes a character.
    unit_texts(cpu_place& host, const text_list& texts, const sketch_list& sketches)
        : host_(host), texts_(texts), sketches_(sketches) {
        if constexpr (decodes) {
            const std::uint32_t first = sketches.first_new();
            if (first < texts.size()) new_texts_ = decode(host, {texts.bytes, texts.offsets.subspan(first)});
        }
    }

    /// Valid while nothing else is read with `scratch`. Any thread.
    std::span<const Unit> read(std::uint32_t text, std::vector<Unit>& scratch) const {
        if constexpr (decodes) {
            if (text >= sketches_.first_new()) {
                const auto& [units, offsets] = new_texts_;
                const std::size_t i = text - sketches_.first_new();
                return std::span(units).subspan(offsets[i], offsets[i + 1] - offsets[i]);
            }
            decode(sketches_.read(text), scratch);
            return scratch;
        } else {
            const std::string_view bytes = sketches_.read(text);
            return {reinterpret_cast<const Unit*>(bytes.data()), bytes.size()};
        }
    }

    /// Appends the pairs among candidates, whose texts were read before.
    template <class Place>
    void append_pairs(Place& place, const decimal& threshold, std::span<const candidate> candidates,
                      std::vector<duplicate_pair>& found, duplicate_counts& counts) const {
        const std::size_t before = found.size();
        if constexpr (decodes) {
            // Only these texts, decoded: numbered in their order.
            std::vector<std::uint32_t> chosen;
            for (const auto& [a, b] : candidates) chosen.insert(chosen.end(), {a, b});
            std::ranges::sort(chosen);
            chosen.erase(std::ranges::unique(chosen).begin(), chosen.end());
            const auto number_of = [&](std::uint32_t text) {
                return static_cast<std::uint32_t>(std::ranges::lower_bound(chosen, text) - chosen.begin());
            };
            std::vector<candidate> numbered;
            for (const auto& [a, b] : candidates) numbered.push_back({number_of(a), number_of(b)});
            const decoded_texts decoded = decode(host_, texts_, chosen);
            append(verify(place, decoded.list(), threshold, std::span<const candidate>(numbered), counts),
                   found);
            for (std::size_t i = before; i < found.size(); ++i) {
                found[i].a = chosen[found[i].a];
                found[i].b = chosen[found[i].b];
            }
        } else {
            append(verify(place, as_bytes(texts_), threshold, candidates, counts), found);
        }
    }

  private:
    static void append(const std::vector<duplicate_pair>& pairs, std::vector<duplicate_pair>& to) {
        to.insert(to.end(), pairs.begin(), pairs.end());
    }

    cpu_place& host_;
    text_list texts_;
    const sketch_list& sketches_;
    decoded_texts new_texts_;
};

}  // namespace quern::near_duplicates_detail
