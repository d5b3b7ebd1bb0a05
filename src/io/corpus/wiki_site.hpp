// SPDX-License-Identifier: Apache-2.0
// Depends on a wiki's settings: names of namespaces, the case of titles, language variants; interprets links and titles
// accordingly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace quern::io {

enum class link_kind : std::uint8_t {
    article,   ///< `id` names a page of the main namespace
    section,   ///< a section of the same page
    file,      ///< an image or sound shown here
    category,  ///< the page is put into a category
    page,      ///< a page of another namespace, or a file or category linked by a leading ':'
    language,  ///< the same subject in another language: shown next to the page, not in its text
    foreign,   ///< a page of another site, or of a sister in another language by a leading ':'
    invalid    ///< not a title: the markup is not a link
};

struct link_target {
    link_kind kind = link_kind::invalid;
    std::string id;  ///< for `article`: in the form of document ids
};

/// Settings of one wiki: those of <siteinfo>, in addition to the names that every wiki knows.
class wiki_site {
  public:
    /// Default settings: first letters are equal in both cases, English names.
    wiki_site();

    void set_language(std::string_view code);  ///< xml:lang
    void set_first_letter(bool equal_case) { first_letter_ = equal_case; }
    void add_namespace(std::string_view name, int key);

    const std::string& language() const { return language_; }
    bool has_variants() const { return variants_; }  ///< -{…}- is markup here

    /// The target of [[target]]. `target` as in the source: entities, %-escapes, underscores, anchor, ':'.
    link_target resolve(std::string_view target) const;
    /// The namespace with which a full title begins, 0 if there is none.
    int namespace_of(std::string_view title) const;
    /// The target, if the text is a redirect: "#REDIRECT [[…]]" in any wiki's language. With `any_word`, any word may
    /// follow '#'.
    std::optional<std::string> redirect_target(std::string_view text, bool any_word) const;

  private:
    std::optional<int> namespace_named(std::string_view prefix) const;

    std::string language_;
    bool first_letter_ = true;
    bool variants_ = false;
    std::unordered_map<std::string, int> namespaces_;  // folded name to key
};

/// The document id of a page: its title with '_' for every space.
std::string id_of_title(std::string_view title);

// Names that wikis share and that dumps omit: case-folded, with single spaces.

/// Key of a namespace known in every wiki by this name (English, or a localised alias of File and Category); 0 if there
/// is none.
int shared_namespace(std::string_view folded);
/// A Wikipedia's language code, as before the ':' of a language link.
bool is_language_code(std::string_view folded);
/// The prefix of a sister project or another site.
bool is_site_prefix(std::string_view folded);
/// The word after '#' that makes a page a redirect, in any language.
bool is_redirect_word(std::string_view folded);
/// Whether __WORD__ is a switch and not text; `word` without the underscores, as written.
bool is_behaviour_switch(std::string_view word);

/// Full case folding, '_' and runs of white space as one space, ends trimmed.
std::string folded_name(std::string_view name);

}  // namespace quern::io
