// SPDX-License-Identifier: Apache-2.0
// The verdicts of a job's tasks on documents, as bytes (tasks/cluster/document_findings.hpp).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "tasks/filter/document_filter.hpp"

namespace quern {

/// A judged document with its text, if that is changed.
struct verdict_of_text {
    judged found;
    std::string text;
};

std::string bytes_of_verdict(const verdict_of_text& verdict);
/// `job`: for messages. Throws damaged_store.
verdict_of_text verdict_of(std::string_view bytes, const std::filesystem::path& job);

}  // namespace quern
