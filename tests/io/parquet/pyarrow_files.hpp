// SPDX-License-Identifier: Apache-2.0
// The same rows in Parquet and Arrow files that pyarrow wrote (make_files.py), as documents.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "io/corpus/reading.hpp"
#include "quern/base/error.hpp"
#include "test_folder.hpp"

namespace quern::io::testing::pyarrow_files {

inline std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

inline corpus_options everything(std::uint64_t unit_bytes = 4 << 20) {
    corpus_options options;
    options.unit_bytes = unit_bytes;
    options.fields.kept = {"*"};
    return options;
}

inline std::string refusal(const std::filesystem::path& path, const corpus_options& options = {}) {
    try {
        read_all({path}, options);
    } catch (const invalid_input& refused) {
        return refused.what();
    }
    return "accepted";
}

/// Documents in the form of expected.jsonl.
inline std::vector<nlohmann::json> in_json(const parsed_unit& all) {
    std::vector<nlohmann::json> out;
    for (const document& d : all.documents) {
        out.push_back({{"id", d.id}, {"title", d.title}, {"text", d.text}, {"links", d.links}});
        out.back()["fields"] = nlohmann::json::parse(d.fields);
    }
    return out;
}

/// The rows of all files.
inline std::vector<nlohmann::json> expected() {
    std::vector<nlohmann::json> out;
    std::ifstream in(test_folder() / "io/parquet/files/expected.jsonl");
    for (std::string line; std::getline(in, line);) out.push_back(nlohmann::json::parse(line));
    return out;
}

/// The units of a file with many rows of the same long text.
inline void expect_small_units(const std::filesystem::path& path) {
    constexpr std::uint64_t text = 1 << 20, units = 50;
    corpus_options options;
    options.unit_bytes = 4 * text;
    const auto reader = open_corpus({path}, options, context{});
    std::uint64_t rows = 0;
    for (std::uint64_t i = 0; i < units; ++i) {
        const auto unit = reader->next();
        ASSERT_NE(unit, nullptr);
        EXPECT_LE(unit->raw_bytes(), 5 * text);
        const parsed_unit part = unit->parse();
        EXPECT_LE(part.documents.size(), 5U);
        for (const document& d : part.documents) EXPECT_EQ(d.text.size(), text);
        rows += part.documents.size();
    }
    EXPECT_GE(rows, 3 * units);
}

}  // namespace quern::io::testing::pyarrow_files
