// SPDX-License-Identifier: Apache-2.0
// HTML cut into tags and texts by the rules of the HTML standard (WHATWG, "Tokenization"), in one pass without memory of
// its own. Comments, declarations and processing instructions leave no token. Time is linear in the bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/corpus/html_names.hpp"

namespace quern::io {

/// The attributes that decide what a page shows, or where it leads.
enum class html_attribute : std::uint8_t {
    aria_hidden,
    class_,
    hidden,
    href,
    id,
    itemprop,
    role,
    style,
    count
};

struct html_token {
    enum kind {
        none,   ///< the end of the page
        text,   ///< with references
        start,  ///< a start tag
        end,    ///< an end tag
        raw     ///< the contents of the raw element whose start tag came before
    } what = none;
    std::string_view text_or_name;  ///< of a tag: its name as written
    html_name name = html_name::other;
    std::uint32_t hash = 0;       ///< html_hash of the lower-case name
    std::string_view attributes;  ///< raw, from the name's end to the '>'
    bool self_closing = false;

    /// The value of the first attribute of this name; null `data()` if there is none. References are not decoded.
    std::string_view operator[](html_attribute which) const { return known[static_cast<std::size_t>(which)]; }
    bool has(html_attribute which) const { return (present >> static_cast<unsigned>(which) & 1U) != 0; }
    bool has_any() const { return present != 0; }

    // Of those not present the value is of an earlier token.
    std::array<std::string_view, static_cast<std::size_t>(html_attribute::count)> known;
    std::uint32_t present = 0;
};

class html_tokens {
  public:
    /// With `xml`, "<title/>" and other raw elements may end in their start tag.
    explicit html_tokens(std::string_view html, bool xml = false)
        : at_(html.data()), end_(html.data() + html.size()), xml_(xml) {}

    /// False at the end. A tag cut off by the end of the page is none.
    bool next(html_token& token);
    /// Within svg and math no element is raw, and CDATA sections are text.
    void foreign(bool is_foreign) { foreign_ = is_foreign; }
    /// Where the next token begins.
    const char* position() const { return at_; }

  private:
    bool read_tag(html_token& token, bool is_end);
    bool read_attribute(html_token& token);
    void skip_declaration(html_token& token);
    const char* raw_end(std::string_view name) const;
    const char* script_end() const;
    bool ends_element(const char* at, std::string_view name) const;

    const char* at_;
    const char* end_;
    html_name raw_ = html_name::other;  ///< the raw element that has begun
    std::string_view raw_name_;
    bool xml_ = false, foreign_ = false;
};

/// Removes one attribute from the front of `rest`, the raw attributes of a tag; false if there is none.
bool take_attribute(std::string_view& rest, std::string_view& name, std::string_view& value);

}  // namespace quern::io
