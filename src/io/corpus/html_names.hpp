// SPDX-License-Identifier: Apache-2.0
// The names of HTML elements, and the properties of each that reading a page depends on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace quern::io {

/// Elements with a rule of their own; every other name is `other`.
// clang-format off
enum class html_name : std::uint8_t {
    other, a, address, annotation, annotation_xml, applet, area, article, aside, audio, b, base, basefont, bgsound,
    big, blockquote, body, br, button, canvas, caption, center, code, col, colgroup, datalist, dd, desc, details, dialog,
    dir, div, dl, dt, em, embed, fieldset, figcaption, figure, font, footer, foreignobject, form, frame, frameset, h1, h2, h3, h4, h5,
    h6, head, header, hgroup, hr, html, i, iframe, image, img, input, keygen, legend, li, link, listing, main,
    marquee, math, menu, meta, nav, nobr, noembed, noframes, noscript, object, ol, optgroup, option, p, param,
    plaintext, pre, rb, rp, rt, rtc, ruby, s, script, search, section, select, small, source, strike, strong, style,
    summary, svg, table, tbody, td, template_, textarea, tfoot, th, thead, title, tr, track, tt, u, ul, video, wbr, xmp,
    count
};
// clang-format on

/// Properties of elements, as bits.
namespace html_property {
inline constexpr std::uint32_t is_void = 1U << 0;       ///< has no contents and no end tag
inline constexpr std::uint32_t paragraph = 1U << 1;     ///< begins and ends a paragraph
inline constexpr std::uint32_t line = 1U << 2;          ///< begins and ends a line
inline constexpr std::uint32_t cell = 1U << 3;          ///< begins after a tab
inline constexpr std::uint32_t closes_p = 1U << 4;      ///< its start tag ends an open <p>
inline constexpr std::uint32_t special = 1U << 5;       ///< stops the search of an inline element's end tag
inline constexpr std::uint32_t formatting = 1U << 6;    ///< its end tag closes no blocks
inline constexpr std::uint32_t bound = 1U << 7;         ///< stops the search of a block's end tag
inline constexpr std::uint32_t table_part = 1U << 8;    ///< its end tag is searched within the table
inline constexpr std::uint32_t raw = 1U << 9;           ///< contains text without tags and references
inline constexpr std::uint32_t references = 1U << 10;   ///< contains text without tags
inline constexpr std::uint32_t unseen = 1U << 11;       ///< shows nothing, or nothing of the page's own text
inline constexpr std::uint32_t surrounding = 1U << 12;  ///< declares itself not to be the page's main part
inline constexpr std::uint32_t heading = 1U << 13;      ///< h1 to h6
inline constexpr std::uint32_t leaves_svg = 1U << 14;   ///< its start tag ends svg and math
inline constexpr std::uint32_t ignored = 1U << 15;      ///< its tags have no effect
}  // namespace html_property

std::uint32_t properties_of(html_name name);
/// In lower case.
std::string_view text_of(html_name name);

/// The hash of a name, letter by letter: `hash = html_hash(hash, lower-case letter)`, from 0.
constexpr std::uint32_t html_hash(std::uint32_t hash, char c) {
    return (hash ^ static_cast<unsigned char>(c)) * 0x01000193U + 0x9E3779B9U;
}
constexpr std::uint32_t html_hash(std::string_view name) {
    std::uint32_t hash = 0;
    for (const char c : name) hash = html_hash(hash, c);
    return hash;
}

/// `hash` is that of the lower-case `name`, which may be in any case.
html_name html_name_of(std::string_view name, std::uint32_t hash);

}  // namespace quern::io
