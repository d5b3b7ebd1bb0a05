// SPDX-License-Identifier: Apache-2.0
// The XML of a Wikipedia dump, piece by piece: one <page>, or the head of the dump.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/corpus/wiki_site.hpp"

namespace quern::io {

/// The contents of a <page>. Of several revisions, the last.
struct wiki_page {
    std::string title;
    std::optional<int> space;    ///< <ns>
    bool is_redirect = false;    ///< has the element <redirect>
    std::string redirect_title;  ///< its title, if it has one
    std::string model;           ///< empty if unspecified: wikitext
    std::string text;
    bool text_begun = false;

    /// Clears everything but keeps the memory.
    void clear();
};

enum class page_state {
    whole,
    repaired,   ///< complete after replacing characters that XML forbids
    truncated,  ///< known up to the damage: there is a title and at least the beginning of a text
    hopeless    ///< nothing to keep
};

struct page_result {
    page_state state = page_state::whole;
    std::string reason;         ///< of the damage
    std::size_t damage_at = 0;  ///< position of the damage in the page's XML
};

/// Parses pages with expat: one parser while pages are well-formed, a fresh one after damage. Never resolves external
/// entities; expat's limits against amplification apply.
class wiki_page_parser {
  public:
    wiki_page_parser();
    ~wiki_page_parser();
    /// `xml` begins with "<page" and, if `complete`, ends with "</page>". Replaces `page`.
    page_result parse(std::string_view xml, bool complete, wiki_page& page);

  private:
    struct state;
    std::unique_ptr<state> state_;
};

/// Settings from "<mediawiki …>" and "<siteinfo>…</siteinfo>" (either may be missing), read as far as it is
/// well-formed. `reason` describes the damage and is empty if there is none.
wiki_site parse_site(std::string_view xml, std::string& reason);

/// `xml` with everything that XML forbids made harmless: ill-formed UTF-8 (to U+FFFD), control characters (removed), a
/// '&' that begins no reference and a '<' that begins no tag of a dump (escaped).
std::string repaired_xml(std::string_view xml);

}  // namespace quern::io
