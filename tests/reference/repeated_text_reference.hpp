// SPDX-License-Identifier: Apache-2.0
// Repeated text the slow, obvious way: every part with every earlier one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/ops/repeated_text.hpp"

namespace quern::reference {

inline bool begins_point(std::string_view text, std::size_t at) {
    return at == 0 || (static_cast<unsigned char>(text[at]) >> 6) != 2;
}

/// Where each code point begins, and the end.
inline std::vector<std::size_t> points_of(std::string_view text) {
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (begins_point(text, i)) begins.push_back(i);
    begins.push_back(text.size());
    return begins;
}

struct plain_part {
    std::string text;                ///< that is compared
    std::size_t begin = 0, end = 0;  ///< without the line end
    std::size_t length = 0;          ///< code points of `text`
};

inline std::string without_space(std::string text) {
    const auto space = [](char c) {
        return std::string_view(" \t\n\v\f\r").find(c) != std::string_view::npos;
    };
    while (!text.empty() && space(text.back())) text.pop_back();
    while (!text.empty() && space(text.front())) text.erase(0, 1);
    return text;
}

inline std::vector<plain_part> parts_of(const std::string& text, text_part kind) {
    std::vector<plain_part> lines;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at, next = text.size();
        while (end < text.size() && text[end] != '\n') ++end;
        if (end < text.size()) {
            next = end + 1;
            if (end > at && text[end - 1] == '\r') --end;
        }
        lines.push_back({without_space(text.substr(at, end - at)), at, end, 0});
        at = next;
    }
    std::vector<plain_part> parts;
    bool open = false;
    for (const plain_part& line : lines) {
        if (kind == text_part::line) {
            parts.push_back(line);
        } else if (line.text.empty()) {
            open = false;
        } else if (open) {
            parts.back().end = line.end;
        } else {
            parts.push_back(line);
            open = true;
        }
    }
    for (plain_part& part : parts) {
        part.text = without_space(text.substr(part.begin, part.end - part.begin));
        part.length = points_of(part.text).size() - 1;
    }
    return parts;
}

inline std::vector<repeated_span> repeated_parts(const std::vector<std::string>& texts,
                                                 std::uint32_t first_new, text_part kind,
                                                 std::uint32_t length) {
    std::vector<std::pair<std::string, std::uint32_t>> seen;
    std::vector<repeated_span> spans;
    for (std::uint32_t t = 0; t < texts.size(); ++t) {
        const std::vector<plain_part> parts = parts_of(texts[t], kind);
        std::vector<std::optional<std::uint32_t>> first(parts.size());
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (parts[i].length < length) continue;
            const auto at =
                std::ranges::find(seen, parts[i].text, &std::pair<std::string, std::uint32_t>::first);
            if (at != seen.end()) first[i] = at->second;
            seen.emplace_back(parts[i].text, t);
        }
        if (t < first_new) continue;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (!first[i]) continue;
            const bool more = std::any_of(first.begin() + static_cast<std::ptrdiff_t>(i), first.end(),
                                          [](const auto& found) { return !found; });
            if (more) {
                spans.push_back({parts[i].begin, parts[i + 1].begin, t, *first[i]});
            } else {
                spans.push_back({i == 0 ? parts[i].begin : parts[i - 1].end, parts[i].end, t, *first[i]});
            }
        }
    }
    return spans;
}

inline std::vector<repeated_span> repeated_substrings(const std::vector<std::string>& texts,
                                                      std::uint32_t first_new, std::uint32_t length) {
    struct window {
        std::string_view text;
        std::uint32_t of;
    };
    std::vector<window> seen;
    std::vector<repeated_span> spans;
    for (std::uint32_t t = 0; t < texts.size(); ++t) {
        const std::string_view text = texts[t];
        const std::vector<std::size_t> points = points_of(text);
        std::optional<repeated_span> open;
        for (std::size_t i = 0; i + length < points.size(); ++i) {
            const std::string_view here = text.substr(points[i], points[i + length] - points[i]);
            const auto at = std::ranges::find(seen, here, &window::text);
            if (at != seen.end() && t >= first_new) {
                if (open && points[i] <= open->end) {
                    open->end = points[i + length];
                } else {
                    if (open) spans.push_back(*open);
                    open = {points[i], points[i + length], t, at->of};
                }
            }
            seen.push_back({here, t});
        }
        if (open) spans.push_back(*open);
    }
    return spans;
}

inline std::vector<repeated_span> repeated_text(const std::vector<std::string>& texts,
                                                std::uint32_t first_new,
                                                const repeated_text_options& options) {
    return options.part == text_part::substring
               ? repeated_substrings(texts, first_new, options.min_length)
               : repeated_parts(texts, first_new, options.part, options.min_length);
}

}  // namespace quern::reference
