// SPDX-License-Identifier: Apache-2.0
#include "server/file_api.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "quern/base/option.hpp"
#include "server/api_parameter.hpp"
#include "server/search_api.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

struct file_request {
    std::string path;
};

/// Letters, digits and a few marks stay: RFC 8187.
std::string percent_encoded(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                           c == '-' || c == '.' || c == '_';
        if (plain) {
            out += c;
        } else {
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
        }
    }
    return out;
}

}  // namespace
}  // namespace quern::server

namespace quern {

template <>
inline constexpr auto options_of<server::file_request> = std::array{option_for<&server::file_request::path>(
    "path", "", "The path of the file in the folder, percent-encoded; slashes may stay.")};

}  // namespace quern

namespace quern::server {

const std::vector<api_parameter>& file_parameters() {
    static const std::vector<api_parameter> all = [] {
        const file_request defaults;
        std::vector<api_parameter> made{required(parameter_of("path", defaults, "mill.png")),
                                        store_parameter()};
        made.front().in_path = true;
        return made;
    }();
    return all;
}

http_response file_response(const served_store& store, std::string_view path, std::string_view query,
                            const site_limits& limits, const context& ctx) {
    const parameters given(query, file_parameters());
    const auto decoded = percent_decoded(path, false);
    if (!decoded) throw bad_request("a % in the path is not followed by two hexadecimal digits");
    if (!store.folder) throw not_found("this server was not given the folder of the collection (--folder)");
    http_response response;
    if (auto image = store.folder->image(*decoded, limits.response_bytes)) {
        response.content_type = image->media_type;
        response.body = std::move(image->bytes);
    } else {
        std::optional<std::string> bytes;
        if (store.engine.find(*decoded, ctx)) bytes = store.folder->bytes(*decoded, limits.response_bytes);
        if (!bytes) throw not_found("there is no image and no document of the store at this path");
        response.content_type = "application/octet-stream";
        response.body = std::move(*bytes);
        const std::string name = decoded->substr(decoded->rfind('/') + 1);
        response.headers.emplace_back("Content-Disposition",
                                      "attachment; filename*=UTF-8''" + percent_encoded(name));
    }
    response.headers.emplace_back("Cache-Control", "no-cache");
    // Opened by itself, an SVG is a page: it gets neither scripts nor other files, nor this site's origin.
    response.headers.emplace_back("Content-Security-Policy",
                                  "default-src 'none'; style-src 'unsafe-inline'; sandbox; "
                                  "frame-ancestors 'none'");
    return response;
}

}  // namespace quern::server
