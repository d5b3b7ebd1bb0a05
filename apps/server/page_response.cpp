// SPDX-License-Identifier: Apache-2.0
#include "server/page_response.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "server/api_parameter.hpp"

namespace quern::server {

site_pages::site_pages(std::span<const served_store> stores)
    : pages_(all_pages().begin(), all_pages().end()) {
    std::vector<std::string_view> names;
    for (const served_store& store : stores) names.push_back(store.name);
    for (page& of : pages_) {
        if (of.path != "/openapi.json") continue;
        description_ = openapi_document(of.content, names);
        tag_ = fmt::format("\"{:016x}\"", std::hash<std::string>()(description_));
        of.content = description_;
        of.etag = tag_;
    }
}

const page* site_pages::find(std::string_view path) const {
    const auto at = std::ranges::find(pages_, path, &page::path);
    return at == pages_.end() ? nullptr : &*at;
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
