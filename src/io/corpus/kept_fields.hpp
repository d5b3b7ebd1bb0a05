// SPDX-License-Identifier: Apache-2.0
// document::fields: a JSON object of the members of a record that are kept besides id, text, title and links. Every
// reader of records makes it with fields_writer, and says which of the named fields it found (parsed_unit::named).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "io/corpus/corpus.hpp"
#include "io/corpus/json_scan.hpp"
#include "quern/base/document_fields.hpp"

namespace quern::io {

/// Appends `text` as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD.
void append_json_text(std::string& out, std::string_view text);

/// Makes document::fields, member by member in their order; of equal names the first has the place, and the last the
/// value.
class fields_writer {
  public:
    /// Values nested deeper than this are refused by their readers: others must be able to parse them.
    static constexpr std::size_t max_depth = 100;

    void add_text(std::string_view name, std::string_view text);
    /// The cell of a table, which has no types: a number or boolean if JSON would write it so, as it is written, else a text.
    /// Not numbers: 007, +1, integers beyond 64 bits, which are ids, and what is beyond the range of a double.
    void add_cell(std::string_view name, std::string_view cell);
    /// `value`: JSON without white space between its parts.
    void add_json(std::string_view name, std::string value);
    std::size_t size() const { return members_.size(); }
    /// "{…}"; empty if there are no members. The last call.
    std::string finish();

  private:
    struct member {
        std::string name, value;
    };
    std::vector<member> members_;
    std::unordered_map<std::string, std::size_t> places_;
};

/// The kept fields of a JSON record, or the reason to reject it.
struct kept_members {
    std::string fields;   ///< document::fields
    std::string problem;  ///< why the record is rejected; else empty
};

/// The members of `record` that `fields` keeps: all of them but those called `used`, or those named, in the order of
/// the names. Marks in `named` which names it has.
kept_members keep_members(const json_value& record, const document_fields& fields,
                          std::span<const std::string> used, named_members& named);

/// The error if no record has one of the named fields, which the user must have misspelled. Empty if all names were
/// found.
std::string missing_fields(const document_fields& fields, const named_members& named);

}  // namespace quern::io
