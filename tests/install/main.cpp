// SPDX-License-Identifier: Apache-2.0
// The main job through the public headers alone: a folder becomes a store, and a search finds the right page.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "quern/base/context.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/search.hpp"

int main(int, char** arguments) {
    const std::filesystem::path folder = std::filesystem::path(arguments[1]) / "corpus";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "mill.txt") << "A quern is a hand mill for grinding corn.\n";
    std::ofstream(folder / "sea.txt") << "Salt comes from the sea.\n";

    quern::build_options options;
    options.inputs = {folder};
    options.store = std::filesystem::path(arguments[1]) / "store";
    options.force = true;
    const quern::build_result built = quern::build(options, quern::context{});
    const auto engine = quern::search_engine::open(options.store, quern::context{});
    const quern::search_result result = engine.search("grinding mill", {});
    if (built.counts.documents != 2 || result.hits.size() != 1 || result.hits[0].id != "mill.txt") {
        std::fprintf(stderr, "%zu hits\n", result.hits.size());
        return 1;
    }
    return 0;
}
