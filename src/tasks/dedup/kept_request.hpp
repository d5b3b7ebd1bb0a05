// SPDX-License-Identifier: Apache-2.0
// The request of a folder of kept documents: the files that are read, and the options. Runs with equal requests write
// the same folder, so that one can resume another.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "quern/tasks/dedup.hpp"

namespace quern {

struct decontaminate_options;
struct dedup_parts_options;

struct kept_request {
    nlohmann::json parameters;  ///< an object of texts by name
    struct file {
        std::string path;  ///< as it is opened
        std::uint64_t bytes = 0;
        std::int64_t modified = 0;  ///< nanoseconds since 1970
        friend bool operator==(const file&, const file&) = default;
    };
    std::vector<file>
        files;  ///< in the order in which they are read; folders and stores to compare with included

    /// 16 hexadecimal digits, equal for equal requests.
    std::string checksum() const;
    /// The difference, in words; empty if the requests are equal.
    std::string difference_from(const kept_request& before) const;

    void write_to(const std::filesystem::path& folder) const;
    /// Nothing if there is none, or a damaged one. Throws io_error.
    static std::optional<kept_request> read_from(const std::filesystem::path& folder);
};

/// The files of `input` and how they are read, with these parameters and the version of the program. Cost: one walk over the inputs.
kept_request describe_request(const corpus_input& input, nlohmann::json parameters);
kept_request describe_kept(const dedup_options& options);
kept_request describe_kept(const decontaminate_options& options);
kept_request describe_kept(const dedup_parts_options& options);

/// A text as JSON: as it is, or, if it is not UTF-8, an array of its bytes. And back.
nlohmann::json json_of_bytes(const std::string& text);
std::string bytes_of_json(const nlohmann::json& member);

}  // namespace quern
