// SPDX-License-Identifier: Apache-2.0
#include "io/store/string_column.hpp"

namespace quern::io {

void string_column_writer::append(std::string_view value) {
    section_.append(value);
    end_ += value.size();
    ends_.append_values(std::span<const std::uint64_t>(&end_, 1));
}

section_writer::summary string_column_writer::finish() {
    ends_.close();
    section_.align(sizeof(std::uint64_t));
    const mapped_file ends(ends_.path(), mapped_file::access::sequential);
    section_.append(ends.text());
    return section_.finish();
}

std::string_view column_string(const section_view& column, std::uint64_t index, std::uint64_t count) {
    const std::uint64_t table_bytes = count * sizeof(std::uint64_t);
    if (index >= count || table_bytes > column.size()) column.fail("is too short");
    const std::uint64_t table = column.size() - table_bytes;
    const std::uint64_t end = column.value<std::uint64_t>(table + index * 8);
    const std::uint64_t begin = index == 0 ? 0 : column.value<std::uint64_t>(table + (index - 1) * 8);
    if (begin > end || end > table) column.fail("has strings out of order");
    return column.bytes(begin, end - begin);
}

}  // namespace quern::io
