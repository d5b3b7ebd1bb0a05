// SPDX-License-Identifier: Apache-2.0
// The main text of web pages: html_bench FOLDER… reads every .html file of each folder into memory, then its main text on
// one thread, and prints a line of JSON for each folder: the texts by file name, the bytes, and the seconds of processor
// time of the median of 5 passes.
#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/corpus/html.hpp"

namespace {

double processor_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

nlohmann::json measure(const std::filesystem::path& folder) {
    std::vector<std::pair<std::string, std::string>> pages;
    std::size_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        if (entry.path().extension() != ".html") continue;
        std::ifstream in(entry.path(), std::ios::binary);
        pages.emplace_back(entry.path().stem().string(), std::string(std::istreambuf_iterator<char>(in), {}));
        bytes += pages.back().second.size();
    }
    nlohmann::json texts = nlohmann::json::object();
    std::array<double, 5> seconds{};
    for (double& pass : seconds) {
        const double begin = processor_seconds();
        std::vector<quern::io::html_page> read;
        for (const auto& [name, page] : pages) read.push_back(quern::io::parse_html(page, name));
        pass = processor_seconds() - begin;
        for (std::size_t i = 0; i < pages.size(); ++i) texts[pages[i].first] = read[i].text;
    }
    std::sort(seconds.begin(), seconds.end());
    return {{"folder", folder.string()}, {"texts", texts}, {"bytes", bytes}, {"seconds", seconds[2]}};
}

}  // namespace

int main(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) std::cout << measure(argv[i]).dump() << '\n';
    return 0;
}
