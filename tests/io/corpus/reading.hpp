// SPDX-License-Identifier: Apache-2.0
// Helpers of the corpus tests: files in a separate folder, and a whole corpus read at once.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/corpus/corpus.hpp"

namespace quern::io::testing {

class temporary_folder {
  public:
    temporary_folder() {
        std::string name = (std::filesystem::temp_directory_path() / "quern-corpus-XXXXXX").native();
        path_ = mkdtemp(name.data());
    }
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path write(const std::string& name, std::string_view bytes) const {
        const auto path = path_ / name;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }

  private:
    std::filesystem::path path_;
};

/// Everything in a corpus. Also checks that the counts agree with the delivered documents.
inline parsed_unit read_all(corpus_reader& reader) {
    parsed_unit all;
    while (const auto unit = reader.next()) {
        parsed_unit part = unit->parse();
        std::uint64_t rejected = 0;
        for (const auto& issue : part.issues) rejected += issue.rejected ? 1 : 0;
        EXPECT_EQ(part.counts.documents, part.documents.size());
        EXPECT_EQ(part.counts.redirects, part.redirects.size());
        EXPECT_EQ(part.counts.rejected, rejected);
        EXPECT_EQ(part.counts.damaged, part.issues.size() - rejected);
        all.counts += part.counts;
        all.named.add(part.named);
        for (const auto& each : part.documents) EXPECT_FALSE(each.path.empty());
        for (auto& each : part.documents) all.documents.push_back(std::move(each));
        for (auto& each : part.redirects) all.redirects.push_back(std::move(each));
        for (auto& each : part.issues) all.issues.push_back(std::move(each));
    }
    return all;
}

inline parsed_unit read_all(const std::vector<std::filesystem::path>& inputs,
                            const corpus_options& options = {}) {
    return read_all(*open_corpus(inputs, options, context{}));
}

/// `bytes` as a file read by `form`.
inline parsed_unit read_bytes(std::string_view bytes, std::optional<corpus_form> form,
                              corpus_options options = {}) {
    const temporary_folder folder;
    options.form = form;
    return read_all({folder.write("input", bytes)}, options);
}

inline std::vector<std::string> ids(const parsed_unit& all) {
    std::vector<std::string> out;
    for (const auto& each : all.documents) out.push_back(each.id);
    return out;
}

/// One line per issue: "line: reason", preceded by "mended " if nothing was rejected.
inline std::vector<std::string> issues(const parsed_unit& all) {
    std::vector<std::string> out;
    for (const auto& each : all.issues) {
        out.push_back((each.rejected ? "" : "mended ") + std::to_string(each.line) + ": " + each.reason);
    }
    return out;
}

/// Everything read as one text: equal texts mean equal readings. Paths are omitted.
inline std::string shown(const parsed_unit& all) {
    std::string out;
    const auto field = [&out](std::string_view name, std::string_view value) {
        out.append(name)
            .append("=")
            .append(std::to_string(value.size()))
            .append(":")
            .append(value)
            .append("\n");
    };
    for (const auto& each : all.documents) {
        field("id", each.id);
        field("title", each.title);
        field("text", each.text);
        field("line", std::to_string(each.line));
        for (const auto& link : each.links) field("link", link);
        if (each.verbatim) out += "verbatim\n";
    }
    for (const auto& each : all.redirects) field("redirect", each.from + " " + each.to);
    for (const auto& each : issues(all)) field("issue", each);
    for (const auto& [reason, count] : all.counts.skipped)
        field("skipped", reason + " " + std::to_string(count));
    return out;
}

/// The development data, or nothing: such tests are then skipped, visibly.
inline std::optional<std::filesystem::path> development_data() {
    const char* folder = std::getenv("QUERN_DATA");
    if (folder == nullptr || *folder == '\0') return std::nullopt;
    return folder;
}

}  // namespace quern::io::testing
