// SPDX-License-Identifier: Apache-2.0
// The documents that a task reads: files, or a source of the caller; and the rules for reading them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/document_fields.hpp"
#include "quern/base/document_source.hpp"

namespace quern {

/// The maximum number of rejected or truncated documents of a run: a share of all documents, or a count.
/// Repaired ones do not count. An incomplete input loses an unknown number of documents: it is allowed only if
/// requested, and then counts as one.
struct error_limit {
    double share = 0.01;
    std::uint64_t count = 0;
    bool is_share = true;
    bool forgives_incomplete = false;
    bool exceeded(std::uint64_t lost, std::uint64_t documents) const;
};

/// `100` documents, or `2.5%` of them. Throws usage_error.
error_limit parse_error_limit(std::string_view text);

/// How to treat a document whose id an earlier one already has. Within one file (an input, or a file in a
/// folder that has many documents) it is an error with every rule except `generate`: the later one is rejected.
enum class id_rule {
    /// In another file: the id is prefixed with the path of its file, "b.jsonl:17"; the id of a file becomes
    /// its path.
    scoped,
    global,  ///< in another file: also an error
    /// Every record's id is its file's name and line, "b.jsonl:17", even if it has an id; links then have no
    /// targets.
    generate,
};
inline constexpr std::string_view id_rule_names[] = {"scoped", "global", "generate"};

/// The first part of the options of every task that reads a corpus.
struct corpus_input {
    std::vector<std::filesystem::path> inputs;  ///< files and folders; "-" is standard input
    /// Read instead of `inputs`, if not null; must outlive the task.
    document_source* source = nullptr;
    document_fields fields;    ///< which members or columns of records are what
    std::string input_format;  ///< empty: detected from the content; else the name of a corpus format
    error_limit max_errors;
    id_rule ids = id_rule::scoped;
    bool follow_links = false;  ///< follow symbolic links that lead out of a folder
};

}  // namespace quern
