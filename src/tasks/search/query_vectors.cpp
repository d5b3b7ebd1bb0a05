// SPDX-License-Identifier: Apache-2.0
// Vectors that come with queries: as JSON, or in files.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/ascii.hpp"
#include "io/vectors/vector_file.hpp"
#include "ops/nearest/distance/components.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/search.hpp"

namespace quern {
namespace {

io::vector_file opened(const std::filesystem::path& path, const context& ctx) {
    io::vector_file file = io::open_vectors(path, {}, ctx);
    if (file.sparse() || file.dense().type == vector_type::bits)
        throw usage_error(path.string() + ": query vectors are dense rows of numbers");
    return file;
}

std::vector<float> row_of(const io::vector_file& file, std::uint64_t row, const std::filesystem::path& path) {
    const vectors_view& rows = file.dense();
    std::vector<float> result(rows.dimensions);
    nearest_detail::with_type(rows.type, [&](auto type) {
        const auto* const from = nearest_detail::row_at<type()>(rows.values.data(), rows.stride, row);
        for (std::uint32_t j = 0; j < rows.dimensions; ++j)
            result[j] = static_cast<float>(nearest_detail::component<type()>(from, j));
    });
    if (!std::ranges::all_of(result, [](float x) { return std::isfinite(x); }))
        throw invalid_input(path.string(), 0,
                            fmt::format("vector {} has a number that is not a finite float32", row));
    return result;
}

std::vector<float> parse_vector(std::string_view text) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    const auto refuse = [] {
        return usage_error("a query vector is a JSON list of numbers, or the name of a file");
    };
    if (!json.is_array() || json.empty()) throw refuse();
    std::vector<float> result;
    for (const auto& number : json) {
        if (!number.is_number()) throw refuse();
        result.push_back(number.get<float>());
        if (!std::isfinite(result.back()))
            throw usage_error("a query vector has a number that is not finite");
    }
    return result;
}

}  // namespace

std::vector<float> read_query_vector(const std::string& text, const context& ctx) {
    if (trimmed(text).starts_with('[')) return parse_vector(text);
    const io::vector_file file = opened(text, ctx);
    if (file.rows() != 1)
        throw invalid_input(text, 0, fmt::format("{} vectors (expected one for one query)", file.rows()));
    return row_of(file, 0, text);
}

void read_topic_vectors(std::vector<search_topic>& topics, const std::filesystem::path& path,
                        const context& ctx) {
    const io::vector_file file = opened(path, ctx);
    std::map<std::string_view, std::uint64_t> row_of_name;
    for (std::uint64_t i = 0; i < file.names().size(); ++i) {
        if (!row_of_name.emplace(file.names()[i], i).second)
            throw invalid_input(path.string(), 0,
                                fmt::format("two vectors for the topic '{}'", file.names()[i]));
    }
    if (row_of_name.empty() && file.rows() != topics.size())
        throw invalid_input(path.string(), 0,
                            fmt::format("{} vectors in order, but {} topics; give ids with the vectors",
                                        file.rows(), topics.size()));
    for (std::size_t i = 0; i < topics.size(); ++i) {
        std::uint64_t row = i;
        if (!row_of_name.empty()) {
            const auto at = row_of_name.find(topics[i].id);
            if (at == row_of_name.end())
                throw invalid_input(path.string(), 0,
                                    fmt::format("no vector for the topic '{}'", topics[i].id));
            row = at->second;
        }
        topics[i].vector = row_of(file, row, path);
    }
}

}  // namespace quern
