// SPDX-License-Identifier: Apache-2.0
// simdjson's parser, where memory may run out.
#pragma once

#include <simdjson.h>

#include <new>
#include <string_view>

namespace quern::io {

/// Parses one value, whose bytes simdjson may read beyond (SIMDJSON_PADDING). Throws std::bad_alloc if memory runs out.
inline simdjson::error_code parse_json(simdjson::dom::parser& parser, std::string_view value,
                                       simdjson::dom::element& root) {
    const simdjson::error_code code = parser.parse(value.data(), value.size(), false).get(root);
    if (code != simdjson::MEMALLOC) return code;
    parser = simdjson::dom::parser();  // it has some of its tables now, and would take the others for granted
    throw std::bad_alloc();
}

}  // namespace quern::io
