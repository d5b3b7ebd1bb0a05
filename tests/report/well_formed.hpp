// SPDX-License-Identifier: Apache-2.0
// Whether an HTML page of Quern is well-formed: elements are closed in order, attributes are in double quotes, and text
// has neither "<" nor a bare "&".
#pragma once

#include <algorithm>
#include <array>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace quern::report {

/// The first fault; empty if there is none.
inline std::string fault_of_page(const std::string& page) {
    static const std::regex tag(R"(^<(/?)([a-z][a-z0-9]*)((?:\s+[a-zA-Z-]+(?:="[^"<]*")?)*)\s*(/?)>)",
                                std::regex::optimize);
    static const std::regex reference(R"(^&(?:lt|gt|amp|quot|#39);)", std::regex::optimize);
    constexpr std::array<std::string_view, 4> empty = {"meta", "br", "hr", "link"};
    constexpr std::string_view type = "<!DOCTYPE html>";
    if (!page.starts_with(type)) return "does not begin with its type";
    std::vector<std::string> open;
    for (std::size_t at = type.size(); at < page.size();) {
        const std::string begin = page.substr(at, 40);
        std::smatch match;
        // Elements and references are short: a regular expression over the rest would be slow, and recurse deeply.
        const std::string window = page.substr(at, 4096);
        if (page[at] == '&') {
            if (!std::regex_search(window, match, reference)) return "a bare & at: " + begin;
            at += static_cast<std::size_t>(match.length());
            continue;
        }
        if (page[at] != '<') {
            ++at;
            continue;
        }
        if (!std::regex_search(window, match, tag)) return "no element at: " + begin;
        const std::string name = match[2];
        at += static_cast<std::size_t>(match.length());
        if (match[1].length() != 0) {
            if (open.empty() || open.back() != name) return "closes what is not open, at: " + begin;
            open.pop_back();
        } else if (match[4].length() == 0 && std::ranges::find(empty, name) == empty.end()) {
            open.push_back(name);
        }
    }
    return open.empty() ? std::string() : "is left open: " + open.back();
}

}  // namespace quern::report
