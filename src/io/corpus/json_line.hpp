// SPDX-License-Identifier: Apache-2.0
// A line of JSON: the members of it that make a document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/corpus/kept_fields.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {

/// A relevant member; of several names the preferred one.
struct line_member {
    std::optional<std::string> value;
    std::uint8_t rank = UINT8_MAX;
    bool wrong = false;  ///< it has the wrong type

    /// Whether a member of this rank counts; of equal ones the last does. Resets the value.
    bool begin(std::uint8_t of_rank) {
        if (of_rank > rank) return false;
        *this = {};
        rank = of_rank;
        return true;
    }
};

/// The relevant members of a line.
struct line_members {
    line_member id, text, title;
    std::vector<std::string> links;
    bool wrong_links = false;
    reading_budget budget;           ///< of the links
    std::vector<std::string> names;  ///< the first ones, if a text or the id is missing
    named_members named;             ///< of document_fields

    /// Before the line is read once more.
    void begin_again() {
        const reading_budget kept = budget;
        *this = {};
        budget = kept;
    }
};

inline constexpr std::size_t max_reported_names = named_members::max_found;

/// Empty if `line` was read into `found`; else the reason to reject it. Reads up to unit_padding bytes past it. `repaired`
/// becomes what was repaired, if anything was. Throws out_of_memory if `found.budget` is not the last one.
std::string read_json_line(std::string_view line, const document_fields& fields, line_members& found,
                           std::string& repaired);

/// A line whose end is not visible: whether it is an object so far, and names a text.
json_lines judge_json_beginning(std::string_view line, const document_fields& fields);

}  // namespace quern::io
