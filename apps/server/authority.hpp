// SPDX-License-Identifier: Apache-2.0
// The names that a server accepts: checks the Host header to prevent DNS rebinding.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace quern::server {

/// Whether this is `host` or `host:port` as in RFC 3986; the host may be empty. For an address in brackets it
/// checks only the characters.
inline bool is_authority(std::string_view text) {
    const auto all = [](std::string_view part, auto&& allowed) {
        return std::ranges::all_of(part, [&](unsigned char c) { return allowed(c); });
    };
    std::size_t end = text.find(':');
    if (text.starts_with('[')) {
        const std::size_t close = text.find(']');
        if (close == std::string_view::npos || close == 1) return false;
        if (!all(text.substr(1, close - 1),
                 [](unsigned char c) { return std::isxdigit(c) != 0 || c == ':' || c == '.'; }))
            return false;
        end = close + 1;
        if (end < text.size() && text[end] != ':') return false;
    } else if (!all(text.substr(0, end), [](unsigned char c) {
                   return std::isalnum(c) != 0 ||
                          std::string_view("-._~%!$&'()*+,;=").find(static_cast<char>(c)) !=
                              std::string_view::npos;
               })) {
        return false;
    }
    return end >= text.size() ||
           all(text.substr(end + 1), [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// The host of `host:port`, in lower case, without the trailing dot of a fully qualified name. IPv6 addresses
/// keep their brackets.
inline std::string host_of(std::string_view authority) {
    const bool bracket = authority.starts_with('[');
    const std::size_t colon =
        authority.find(':', bracket ? std::min(authority.find(']'), authority.size()) : 0);
    std::string host(authority.substr(0, colon));
    std::ranges::transform(host, host.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (host.size() > 1 && host.ends_with('.')) host.pop_back();
    return host;
}

/// The names of this machine and additional ones.
class known_names {
  public:
    known_names() = default;
    explicit known_names(const std::vector<std::string>& names) : names_{"localhost", "127.0.0.1", "[::1]"} {
        for (const std::string& name : names) {
            const bool bare_address = std::ranges::count(name, ':') > 1 && !name.starts_with('[');
            names_.push_back(host_of(bare_address ? '[' + name + ']' : name));
        }
    }
    bool are_all() const { return names_.empty(); }
    /// A default-constructed one accepts all names.
    bool know(std::string_view authority) const {
        return names_.empty() || std::ranges::find(names_, host_of(authority)) != names_.end();
    }

  private:
    std::vector<std::string> names_;
};

}  // namespace quern::server
