// SPDX-License-Identifier: Apache-2.0
#include "spaces.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <iostream>

#include "quern/base/error.hpp"
#include "quern/tasks/store.hpp"
#include "values.hpp"

namespace quern::cli {

word_space open_space(const std::filesystem::path& path, session& job) {
    return job.stage("open", [&] { return word_space::open(space_of(path), job.ctx); });
}

std::optional<std::uint32_t> known_word(const word_space& space, const std::string& typed, session& job) {
    std::string spelling;
    try {
        spelling = space.spelling(typed);
    } catch (const usage_error& reason) {
        job.messages.error(reason.what());
        return std::nullopt;
    }
    if (const auto id = space.find(spelling)) return id;
    std::string near;
    for (const std::uint32_t id : space.near_spellings(spelling, job.ctx)) {
        near += fmt::format("{}{}", near.empty() ? "" : ", ", space.word(id));
    }
    job.messages.error(fmt::format("'{}' is not in the vocabulary{}", spelling,
                                   near.empty() ? "" : fmt::format("; did you mean {}?", near)));
    return std::nullopt;
}

std::vector<numbered_line> lines_of_file(const std::string& path) {
    std::ifstream file;
    if (path != "-") {
        std::error_code failed;
        if (!std::filesystem::exists(path, failed)) throw usage_error(path + ": no such file");
        if (std::filesystem::is_directory(path, failed))
            throw usage_error(path + " is a folder (expected a file)");
        file.open(path, std::ios::binary);
        if (!file) throw io_error(path, "cannot open", errno);
    }
    std::istream& in = path == "-" ? std::cin : file;
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    std::vector<numbered_line> lines;
    std::uint64_t number = 0;
    for (std::string line; std::getline(in, line);) {
        if (++number == 1 && line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
        if (line.ends_with('\r')) line.pop_back();
        if (!line.empty()) lines.push_back({std::move(line), number});
    }
    if (in.bad()) throw io_error(path, "cannot read", errno);
    return lines;
}

}  // namespace quern::cli
