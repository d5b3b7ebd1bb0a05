// SPDX-License-Identifier: Apache-2.0
// What was read of a corpus, in the journal of a run that may be resumed.
#pragma once

#include <nlohmann/json.hpp>

#include "tasks/corpus/reading_rules.hpp"

namespace quern {

/// Counts and issues; names and reasons may have bytes that are not UTF-8.
nlohmann::json to_json(const reading_record& record);
/// Throws nlohmann::json::exception.
reading_record record_of(const nlohmann::json& member);

/// A copy in which bytes that are not UTF-8 are replaced, as JSON requires.
nlohmann::json in_utf8(const nlohmann::json& any);

}  // namespace quern
