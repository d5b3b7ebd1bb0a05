// SPDX-License-Identifier: Apache-2.0
// What the connections read and write besides what Boost.Beast does: the date, the target of a proxy, and the statuses of
// malformed requests.
#pragma once

#include <boost/beast/http.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace quern::server {

/// Boost's string views, whose type differs between versions.
template <typename View>
std::string_view as_view(const View& text) {
    return {text.data(), text.size()};
}

/// RFC 9110, section 5.6.7: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string date_now();

/// Returns the authority of "http://other.name:80/path", the form that a proxy sends, and removes it from the
/// target.
std::optional<std::string> take_authority(std::string& target);

/// Status and reason of the response to a malformed request. 0: no response, the client has disconnected.
std::pair<unsigned, std::string_view> response_to_fault(const boost::system::error_code& fault,
                                                        std::string_view held, bool whole_first_line);

/// Status and reason for refusing a request's Transfer-Encoding; 0: it has none or the supported one. If a
/// proxy and this server disagree on the length of a body, a body for one is a request for the other (RFC 9112,
/// sections 6.1, 6.3 and 11.2).
std::pair<unsigned, std::string_view> coding_refused(const boost::beast::http::request_header<>& header);

}  // namespace quern::server
