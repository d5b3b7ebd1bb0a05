// SPDX-License-Identifier: Apache-2.0
#include "server/http_syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/beast/core/string.hpp>
#include <cctype>
#include <cstddef>
#include <ctime>
#include <iterator>

namespace quern::server {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

/// Whether a request line ends in an unsupported version; otherwise the line itself is malformed.
bool of_other_version(std::string_view held) {
    const std::string_view line = held.substr(0, held.find("\r\n"));
    const std::string_view version = line.substr(line.rfind(' ') + 1);
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return version.size() == 8 && version.starts_with("HTTP/") && digit(version[5]) && version[6] == '.' &&
           digit(version[7]) && version != "HTTP/1.0" && version != "HTTP/1.1";
}

}  // namespace

std::string date_now() {
    constexpr std::array days{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    constexpr std::array months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const std::time_t now = std::time(nullptr);
    std::tm t{};
    gmtime_r(&now, &t);
    return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", days.at(static_cast<std::size_t>(t.tm_wday)),
                       t.tm_mday, months.at(static_cast<std::size_t>(t.tm_mon)), 1900 + t.tm_year, t.tm_hour,
                       t.tm_min, t.tm_sec);
}

std::optional<std::string> take_authority(std::string& target) {
    constexpr std::string_view scheme = "http://";
    const auto same = [](char wanted, unsigned char given) { return wanted == std::tolower(given); };
    if (target.size() < scheme.size() || !std::equal(scheme.begin(), scheme.end(), target.begin(), same))
        return {};
    const std::size_t end = std::min(target.find_first_of("/?", scheme.size()), target.size());
    std::string authority = target.substr(scheme.size(), end - scheme.size());
    target.erase(0, end);
    if (!target.starts_with('/')) target.insert(0, "/");
    return authority;
}

std::pair<unsigned, std::string_view> response_to_fault(const error_code& fault, std::string_view held,
                                                        bool whole_first_line) {
    if (fault == http::error::header_limit || fault == http::error::buffer_overflow) {
        return whole_first_line ? std::pair{431U, std::string_view("the header is too long")}
                                : std::pair{414U, std::string_view("the request line is too long")};
    }
    if (fault == http::error::body_limit) return {413, "the request body is too long"};
    if (fault == http::error::bad_version && of_other_version(held))
        return {505, "unsupported HTTP version (expected HTTP/1.1)"};
    if (fault.category() != error_code(http::error::bad_target).category()) return {0, {}};
    if (fault == http::error::end_of_stream || fault == http::error::partial_message) return {0, {}};
    return {400, "malformed HTTP/1.1 request"};
}

std::pair<unsigned, std::string_view> coding_refused(const http::request_header<>& header) {
    const auto codings = header.equal_range(http::field::transfer_encoding);
    const auto count = std::distance(codings.first, codings.second);
    if (count == 0) return {0, {}};
    if (count > 1 || header.version() < 11 || header.count(http::field::content_length) != 0)
        return {400, "the length of the request body is ambiguous"};
    if (!beast::iequals(codings.first->value(), "chunked"))
        return {501, "unsupported Transfer-Encoding (expected chunked)"};
    return {0, {}};
}

}  // namespace quern::server
