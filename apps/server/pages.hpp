// SPDX-License-Identifier: Apache-2.0
// The files of web/, which the build embeds in the program.
#pragma once

#include <span>
#include <string_view>

namespace quern::server {

struct page {
    std::string_view path;  ///< "/", "/app.js", …
    std::string_view content_type;
    std::string_view content;
    std::string_view etag;  ///< quoted; changes with the content
};

std::span<const page> all_pages();

}  // namespace quern::server
