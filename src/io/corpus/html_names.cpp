// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/html_names.hpp"

#include <algorithm>
#include <array>

namespace quern::io {
namespace {

using namespace html_property;

struct row {
    html_name name;
    std::string_view text;
    std::uint32_t properties;
};

using n = html_name;

constexpr std::uint32_t block = paragraph | closes_p | special | leaves_svg;
constexpr std::uint32_t inline_format = formatting | leaves_svg;

// In the order of the enumeration.
constexpr std::array rows = {
    row{n::other, "", 0},
    row{n::a, "a", formatting},
    row{n::address, "address", block},
    row{n::annotation, "annotation", unseen},
    row{n::annotation_xml, "annotation-xml", unseen | bound},
    row{n::applet, "applet", special | bound},
    row{n::area, "area", is_void},
    row{n::article, "article", block},
    row{n::aside, "aside", block | surrounding},
    row{n::audio, "audio", unseen},
    row{n::b, "b", inline_format},
    row{n::base, "base", is_void},
    row{n::basefont, "basefont", is_void},
    row{n::bgsound, "bgsound", is_void},
    row{n::big, "big", inline_format},
    row{n::blockquote, "blockquote", block},
    row{n::body, "body", ignored | paragraph | leaves_svg},
    row{n::br, "br", is_void | leaves_svg},
    row{n::button, "button", special | unseen},
    row{n::canvas, "canvas", unseen},
    row{n::caption, "caption", paragraph | special | bound | table_part},
    row{n::center, "center", block},
    row{n::code, "code", inline_format},
    row{n::col, "col", is_void},
    row{n::colgroup, "colgroup", special | table_part},
    row{n::datalist, "datalist", unseen},
    row{n::dd, "dd", line | closes_p | special | leaves_svg},
    row{n::desc, "desc", 0},
    row{n::details, "details", block},
    row{n::dialog, "dialog", block},
    row{n::dir, "dir", block},
    row{n::div, "div", block},
    row{n::dl, "dl", block},
    row{n::dt, "dt", line | closes_p | special | leaves_svg},
    row{n::em, "em", inline_format},
    row{n::embed, "embed", is_void | leaves_svg},
    row{n::fieldset, "fieldset", block},
    row{n::figcaption, "figcaption", block},
    row{n::figure, "figure", block},
    row{n::font, "font", formatting},
    row{n::footer, "footer", block},
    row{n::foreignobject, "foreignobject", 0},
    row{n::form, "form", block},
    row{n::frame, "frame", is_void},
    row{n::frameset, "frameset", special},
    row{n::h1, "h1", block | heading},
    row{n::h2, "h2", block | heading},
    row{n::h3, "h3", block | heading},
    row{n::h4, "h4", block | heading},
    row{n::h5, "h5", block | heading},
    row{n::h6, "h6", block | heading},
    row{n::head, "head", ignored | leaves_svg},
    row{n::header, "header", block},
    row{n::hgroup, "hgroup", block},
    row{n::hr, "hr", is_void | paragraph | closes_p | leaves_svg},
    row{n::html, "html", ignored},
    row{n::i, "i", inline_format},
    row{n::iframe, "iframe", special | raw | unseen},
    row{n::image, "image", is_void},
    row{n::img, "img", is_void | leaves_svg},
    row{n::input, "input", is_void},
    row{n::keygen, "keygen", is_void},
    row{n::legend, "legend", paragraph | special},
    row{n::li, "li", line | closes_p | special | leaves_svg},
    row{n::link, "link", is_void},
    row{n::listing, "listing", block},
    row{n::main, "main", block},
    row{n::marquee, "marquee", special | bound},
    row{n::math, "math", 0},
    row{n::menu, "menu", block},
    row{n::meta, "meta", is_void | leaves_svg},
    row{n::nav, "nav", block | surrounding},
    row{n::nobr, "nobr", inline_format},
    row{n::noembed, "noembed", special | raw | unseen},
    row{n::noframes, "noframes", special | raw | unseen},
    row{n::noscript, "noscript", special},
    row{n::object, "object", special | bound},
    row{n::ol, "ol", block},
    row{n::optgroup, "optgroup", line},
    row{n::option, "option", line},
    row{n::p, "p", block},
    row{n::param, "param", is_void},
    row{n::plaintext, "plaintext", block | raw},
    row{n::pre, "pre", block},
    row{n::rb, "rb", 0},
    row{n::rp, "rp", unseen},
    row{n::rt, "rt", unseen},
    row{n::rtc, "rtc", unseen},
    row{n::ruby, "ruby", 0},
    row{n::s, "s", inline_format},
    row{n::script, "script", special | raw | unseen},
    row{n::search, "search", block | surrounding},
    row{n::section, "section", block},
    row{n::select, "select", special | unseen},
    row{n::small, "small", inline_format},
    row{n::source, "source", is_void},
    row{n::strike, "strike", inline_format},
    row{n::strong, "strong", inline_format},
    row{n::style, "style", special | raw | unseen},
    row{n::summary, "summary", block},
    row{n::svg, "svg", unseen},
    row{n::table, "table", paragraph | special | bound | table_part | leaves_svg},
    row{n::tbody, "tbody", line | special | table_part},
    row{n::td, "td", cell | special | bound | table_part},
    row{n::template_, "template", special | bound | unseen},
    row{n::textarea, "textarea", special | references | unseen},
    row{n::tfoot, "tfoot", line | special | table_part},
    row{n::th, "th", cell | special | bound | table_part},
    row{n::thead, "thead", line | special | table_part},
    row{n::title, "title", special | references | unseen},
    row{n::tr, "tr", line | special | table_part},
    row{n::track, "track", is_void},
    row{n::tt, "tt", inline_format},
    row{n::u, "u", inline_format},
    row{n::ul, "ul", block},
    row{n::video, "video", unseen},
    row{n::wbr, "wbr", is_void},
    row{n::xmp, "xmp", block | raw},
};

constexpr bool is_in_order() {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i].name != static_cast<n>(i)) return false;
    }
    return rows.size() == static_cast<std::size_t>(n::count);
}
static_assert(is_in_order());

constexpr std::size_t slots = 512;

/// Open addressing; 0 is an empty slot.
constexpr std::array<std::uint8_t, slots> make_index() {
    std::array<std::uint8_t, slots> index{};
    for (std::size_t i = 1; i < rows.size(); ++i) {
        std::size_t at = html_hash(rows[i].text) % slots;
        while (index[at] != 0) at = (at + 1) % slots;
        index[at] = static_cast<std::uint8_t>(i);
    }
    return index;
}

constexpr auto name_index = make_index();

bool is_same(std::string_view any_case, std::string_view lower) {
    return any_case.size() == lower.size() &&
           std::equal(lower.begin(), lower.end(), any_case.begin(), [](char l, char c) {
               return l == (c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c);
           });
}

}  // namespace

std::uint32_t properties_of(html_name name) {
    return rows[static_cast<std::size_t>(name)].properties;
}

std::string_view text_of(html_name name) {
    return rows[static_cast<std::size_t>(name)].text;
}

html_name html_name_of(std::string_view name, std::uint32_t hash) {
    for (std::size_t at = hash % slots; name_index[at] != 0; at = (at + 1) % slots) {
        const row& found = rows[name_index[at]];
        if (is_same(name, found.text)) return found.name;
    }
    return html_name::other;
}

}  // namespace quern::io
