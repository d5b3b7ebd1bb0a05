// SPDX-License-Identifier: Apache-2.0
// Links of a page to ids of other pages of the same folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace quern::io {

/// "a%20b" as "a b"; drops tabs and line ends, at which links may be wrapped.
std::string percent_decoded(std::string_view text);

/// The base for resolving links: a page's path, or its <base href>.
class link_base {
  public:
    explicit link_base(std::string_view page);
    /// A <base href> that names another site makes every relative link external.
    void rebase(std::string_view href);
    /// The path from the folder's root that `href` (references decoded) denotes: without query and fragment, percent
    /// escapes decoded, "." and ".." resolved, a folder meaning its index.html. Nothing for fragment links within the
    /// page, links to another host or scheme, and links above the root.
    std::optional<std::string> resolve(std::string_view href) const;

  private:
    std::string folder_;  ///< "" or ends with '/'
    bool foreign_ = false;
};

}  // namespace quern::io
