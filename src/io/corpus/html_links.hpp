// SPDX-License-Identifier: Apache-2.0
// Links of a page to ids of other pages: of the same folder, or of a crawl.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::io {

/// "a%20b" as "a b"; drops tabs and line ends, at which links may be wrapped.
std::string percent_decoded(std::string_view text);

/// Whether the name of a page is its address on the web, "http://…" or "https://…".
bool is_web_address(std::string_view page);

/// An address on the web as browsers write it, without fragment: scheme and host in lower case (other alphabets as "xn--"),
/// no default port, "." and ".." resolved, blanks and bytes beyond ASCII as percent escapes. Nothing if it has no host.
std::optional<std::string> normal_web_address(std::string_view address);

/// The base for resolving links: a page's path, or its address (is_web_address), or its <base href>.
class link_base {
  public:
    explicit link_base(std::string_view page);
    /// A <base href> that names another site makes every relative link of a path external.
    void rebase(std::string_view href);
    /// The path from the folder's root that `href` (references decoded) denotes: without query and fragment, percent
    /// escapes decoded, "." and ".." resolved, a folder meaning its index.html. Nothing for fragment links within the
    /// page, links to another host or scheme, and links above the root.
    /// Of an address: the normal_web_address of the page that it links to; nothing for fragments within the page and
    /// other schemes.
    std::optional<std::string> resolve(std::string_view href) const;

  private:
    std::optional<std::string> resolve_address(std::string_view href) const;

    std::string address_;  ///< of a page on the web, in its normal form; empty: a path
    std::string folder_;   ///< "" or ends with '/'
    bool foreign_ = false;
};

}  // namespace quern::io
