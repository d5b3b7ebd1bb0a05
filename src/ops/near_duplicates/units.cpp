// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/units.hpp"

#include "base/utf8.hpp"
#include "device/cpu/parallel.hpp"

namespace quern::near_duplicates_detail {
namespace {

template <class Take>
void for_each_unit(std::string_view text, const Take& take) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const char32_t point = next_utf8(text, at);
        if (point != ill_formed) {
            take(static_cast<std::uint32_t>(point));
        } else {
            for (std::size_t i = begin; i < at; ++i) take(0x110000u + static_cast<unsigned char>(text[i]));
        }
    }
}

}  // namespace

unit_list<std::uint8_t> as_bytes(const text_list& texts) {
    return {{reinterpret_cast<const std::uint8_t*>(texts.bytes.data()), texts.bytes.size()}, texts.offsets};
}

decoded_texts decode(cpu_place& place, const text_list& texts) {
    decoded_texts decoded;
    decoded.offsets.resize(texts.size() + 1);
    const std::size_t pieces = texts.size() / 256 + 1;
    const auto for_each_text = [&](const auto& work) {
        for_each_piece(place, pieces, [&](std::size_t p) {
            place.run().check_stop();
            const stretch mine = piece_of(texts.size(), pieces, p);
            for (std::size_t i = mine.begin; i < mine.end; ++i) work(i);
        });
    };
    for_each_text([&](std::size_t i) {
        std::uint64_t units = 0;
        for_each_unit(texts[i], [&](std::uint32_t) { ++units; });
        decoded.offsets[i + 1] = units;
    });
    for (std::size_t i = 0; i < texts.size(); ++i) decoded.offsets[i + 1] += decoded.offsets[i];
    decoded.units.resize(decoded.offsets.back());
    for_each_text([&](std::size_t i) {
        std::uint32_t* to = decoded.units.data() + decoded.offsets[i];
        for_each_unit(texts[i], [&](std::uint32_t unit) { *to++ = unit; });
    });
    return decoded;
}

}  // namespace quern::near_duplicates_detail
