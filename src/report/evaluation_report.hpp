// SPDX-License-Identifier: Apache-2.0
// The page of `evaluate --report`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::report {

struct evaluated_topic {
    std::string name;
    double value = 0;  ///< of the run; or its difference from the first run
    std::string hint;  ///< shown on hover
};

struct evaluated_measure {
    std::string name;
    std::vector<std::string> cells;  ///< by run: the value and, with a test, the difference and p
    struct plot {
        std::string title;
        std::vector<evaluated_topic> topics;
    };
    std::vector<plot> plots;
};

struct evaluation_page {
    std::vector<std::pair<std::string, std::string>> summary;
    std::vector<std::string> runs;
    std::vector<evaluated_measure> measures;
    std::string note;  ///< what the cells are
};

void write_evaluation_report(const evaluation_page& page, const std::function<void(std::string_view)>& out);

}  // namespace quern::report
