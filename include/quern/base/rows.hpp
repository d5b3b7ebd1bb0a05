// SPDX-License-Identifier: Apache-2.0
// Results as rows: TSV, JSON lines, or an aligned table for people.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace quern {

enum class row_format { tsv, jsonl, table };

using cell = std::variant<std::string_view, std::int64_t, std::uint64_t, double, float>;

/// The shortest decimal that reads back to the same value of its type; `nan`, `inf`, `-inf`.
std::string shortest(double value);
std::string shortest(float value);

/// Writes rows to a sink. TSV: no header, LF; tab, CR, LF inside a field become one space. JSON lines: column
/// names as keys, not-a-number and infinities as null. Table: headings, columns aligned by display width, held
/// back until finish().
class row_writer {
  public:
    using sink = std::function<void(std::string_view)>;
    row_writer(row_format format, std::vector<std::string> columns, sink out);
    void row(const std::vector<cell>& cells);
    void finish();

  private:
    row_format format_;
    std::vector<std::string> columns_;
    sink out_;
    std::string line_;
    std::vector<std::vector<std::string>> held_;
};

}  // namespace quern
