// SPDX-License-Identifier: Apache-2.0
#include "skipped_stages.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "values.hpp"

namespace quern::cli {
namespace {

/// The last stage, ngrams, runs only with --ngrams; in its place stands `all`.
constexpr auto skippable_stages = [] {
    auto names = std::to_array(build_stage_names);
    names.back() = "all";
    return names;
}();

/// Comma-separated names, or `all`.
std::set<build_stage> parse_stages(std::string_view text) {
    std::set<build_stage> stages;
    for (const std::string& name : parse_list(text)) {
        if (name == "all")
            stages.insert(all_build_stages.begin(), all_build_stages.end());
        else
            stages.insert(parse_name<build_stage>(name, skippable_stages));  // knows `all`, for its error
    }
    return stages;
}

}  // namespace

void declare_skip(command_line& line, std::set<build_stage>& skip) {
    line.option("--skip", "STAGE,...",
                "Skip stages: duplicates, ranks, thesaurus, vectors; or all. The index is always built.", "",
                [&skip](const std::string& value) { skip = parse_stages(value); });
    line.offer("--skip", std::vector<std::string>(skippable_stages.begin(), skippable_stages.end()));
}

}  // namespace quern::cli
