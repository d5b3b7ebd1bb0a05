// SPDX-License-Identifier: Apache-2.0
// A space of words as one HTML page: what it was made of and how, what took how long, and the most frequent words with
// their neighbours.
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
    std::vector<std::pair<std::string, std::string>> sizes, question;  ///< name and value
    std::vector<shown_stage> stages;
    std::vector<entry> words;
};

void write_word_report(const word_report& page, const std::function<void(std::string_view)>& out);

}  // namespace quern::report
