// SPDX-License-Identifier: Apache-2.0
// What the quality rules removed, as one HTML page: counts by rule, and examples with the beginnings of their texts.
// Self-contained, without scripts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::report {

struct filter_report {
    std::vector<std::pair<std::string, std::string>> summary;  ///< rows of name and value

    struct example {
        std::string id, value, text;
        std::uint64_t bytes = 0;  ///< of the whole text
    };
    struct rule {
        std::string name, measure, limit;  ///< limit: "at most 0.3"
        std::uint64_t removed = 0;
        std::vector<example> examples;
    };
    std::vector<rule> rules;
    std::uint64_t documents = 0;
};

void write_filter_report(const filter_report& page, const std::function<void(std::string_view)>& out);

}  // namespace quern::report
