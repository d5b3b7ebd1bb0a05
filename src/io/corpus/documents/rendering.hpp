// SPDX-License-Identifier: Apache-2.0
// Documents of a folder for readers: Markdown and pages of the web as HTML, and where their links and images lie. The HTML
// is as unsafe as its source: who shows it keeps to a list of elements.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"

namespace quern::io {

/// Where a link, or the address of an image, leads within the folder.
struct resolved_link {
    std::string address;  ///< as in the HTML, references decoded
    std::string path;     ///< from the folder's root: link_base::resolve
};

/// Markdown as HTML, by the rules of convert_markdown; front matter is dropped. Empty if its marks are tangled. Throws
/// interrupted.
std::string markdown_as_html(std::string_view text, const context& ctx);

/// The links and images of a page at `path`, each address once, in their order; at most `max`.
std::vector<resolved_link> links_of_html(std::string_view html, std::string_view path, std::size_t max);

}  // namespace quern::io
