// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/line_records.hpp"

#include <algorithm>

namespace quern::io {

void line_form::parse(std::string_view bytes, const unit_position& position, parsed_unit& out) const {
    std::uint64_t number = position.first_line;
    for (std::size_t at = 0; at < bytes.size(); ++number) {
        const std::size_t end = std::min(bytes.find('\n', at), bytes.size());
        std::string_view line = bytes.substr(at, end - at);
        const std::string_view record = bytes.substr(at, end + 1 - at);
        at = end + 1;
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) continue;
        if (record.size() > position.limit.bytes) {
            reject(out, position.path, number, position.limit.reason());
        } else {
            const std::size_t before = out.documents.size();
            parse_line(line, position, number, out);
            if (position.keep_records && out.documents.size() > before) out.documents.back().record = record;
        }
    }
}

}  // namespace quern::io
