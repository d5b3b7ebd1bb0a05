// SPDX-License-Identifier: Apache-2.0
#include "ops/near_duplicates/texts/units.hpp"

#include "base/utf8.hpp"
#include "device/cpu/parallel.hpp"

namespace quern::near_duplicates_detail {
namespace {

template <class Sink>
void for_each_unit(std::string_view text, const Sink& sink) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const char32_t point = next_utf8(text, at);
        if (point != ill_formed) {
            sink(static_cast<std::uint32_t>(point));
        } else {
            for (std::size_t i = begin; i < at; ++i) sink(0x110000u + static_cast<unsigned char>(text[i]));
        }
    }
}

}  // namespace

unit_list<std::uint8_t> as_bytes(const text_list& texts) {
    return {{reinterpret_cast<const std::uint8_t*>(texts.bytes.data()), texts.bytes.size()}, texts.offsets};
}

namespace {

template <class TextOf>
decoded_texts decode_each(cpu_place& place, std::size_t count, const TextOf& text_of) {
    decoded_texts decoded;
    decoded.offsets.resize(count + 1);
    const std::size_t pieces = count / 256 + 1;
    const auto for_each_text = [&](const auto& work) {
        for_each_piece(place, pieces, [&](std::size_t p) {
            place.ctx().check_stop();
            const item_range mine = piece_of(count, pieces, p);
            for (std::size_t i = mine.begin; i < mine.end; ++i) work(i);
        });
    };
    for_each_text([&](std::size_t i) {
        std::uint64_t units = 0;
        for_each_unit(text_of(i), [&](std::uint32_t) { ++units; });
        decoded.offsets[i + 1] = units;
    });
    for (std::size_t i = 0; i < count; ++i) decoded.offsets[i + 1] += decoded.offsets[i];
    decoded.units = make_array<std::uint32_t>(place, decoded.offsets.back(), "decoded texts");
    for_each_text([&](std::size_t i) {
        std::uint32_t* to = decoded.units.data() + decoded.offsets[i];
        for_each_unit(text_of(i), [&](std::uint32_t unit) { *to++ = unit; });
    });
    return decoded;
}

}  // namespace

decoded_texts decode(cpu_place& place, const text_list& texts) {
    return decode_each(place, texts.size(), [&](std::size_t i) { return texts[i]; });
}

decoded_texts decode(cpu_place& place, const text_list& texts, std::span<const std::uint32_t> chosen) {
    return decode_each(place, chosen.size(), [&](std::size_t i) { return texts[chosen[i]]; });
}

void decode(std::string_view text, std::vector<std::uint32_t>& units) {
    units.clear();
    for_each_unit(text, [&](std::uint32_t unit) { units.push_back(unit); });
}

}  // namespace quern::near_duplicates_detail
