// SPDX-License-Identifier: Apache-2.0
// A word space as one HTML page: input and parameters, time per stage, and the most frequent words with their
// neighbours.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/plots.hpp"

namespace quern::report {

struct word_report {
    struct entry {
        std::string word;
        std::uint64_t frequency;
        std::vector<std::pair<std::string, double>> neighbours;
    };
    std::vector<std::pair<std::string, std::string>> sizes, params;  ///< name and value
    std::vector<shown_stage> stages;
    std::vector<entry> words;
};

void write_word_report(const word_report& page, const std::function<void(std::string_view)>& out);

}  // namespace quern::report
