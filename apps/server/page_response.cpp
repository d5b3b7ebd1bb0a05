// SPDX-License-Identifier: Apache-2.0
#include "server/page_response.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "server/api_parameter.hpp"

namespace quern::server {
namespace {

/// The files of web/, and the description of the API with its parameters.
std::span<const page> complete_pages() {
    static const std::vector<page> pages = [] {
        std::vector<page> all(all_pages().begin(), all_pages().end());
        for (page& p : all) {
            if (p.path != "/openapi.json") continue;
            static const std::string text = openapi_document(p.content);
            static const std::string tag = fmt::format("\"{:016x}\"", std::hash<std::string>()(text));
            p.content = text;
            p.etag = tag;
        }
        return all;
    }();
    return pages;
}

}  // namespace

const page* find_page(std::string_view path) {
    const auto pages = complete_pages();
    const auto at = std::ranges::find(pages, path, &page::path);
    return at == pages.end() ? nullptr : &*at;
}

http_response page_response(const page& page, const http_request& request) {
    // A list of tags, including weak ones: RFC 9110, section 13.1.2. No tag of ours is a substring of another.
    const bool same =
        request.if_none_match == "*" || request.if_none_match.find(page.etag) != std::string::npos;
    http_response response{same ? 304U : 200U, std::string(page.content_type), {}};
    if (!same) response.body = page.content;
    response.headers.emplace_back("ETag", page.etag);
    response.headers.emplace_back("Cache-Control", "no-cache");  // cached, but revalidated by its tag
    return response;
}

}  // namespace quern::server
