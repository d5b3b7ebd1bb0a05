// SPDX-License-Identifier: Apache-2.0
// A server's response as archives keep it: the status line, header fields, and a body that may be in chunks and
// compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/corpus/header_fields.hpp"

namespace quern::io {

struct http_head {
    unsigned status = 0;
    header_fields fields;
    std::size_t bytes = 0;  ///< of the status line and the fields
};

/// The head of a response; nothing if `bytes` do not begin with "HTTP/". A head without its empty line ends with `bytes`.
std::optional<http_head> read_http_head(std::string_view bytes);

struct http_body {
    std::string held;         ///< the decoded bytes, if any encoding applied
    std::string_view bytes;   ///< the body; points into `held` or the input
    std::string problem;      ///< its damage; `bytes` are what could be decoded
    std::string unsupported;  ///< the content coding that cannot be decoded: `bytes` are empty
    bool too_large = false;   ///< more than the limit: `bytes` are empty

    http_body() = default;
    http_body(const http_body&) = delete;  // `bytes` may point into `held`
    http_body& operator=(const http_body&) = delete;
};

/// Undoes the transfer coding "chunked" and the content codings gzip, deflate, br and zstd. As many archives keep the
/// fields of a body that is decoded already, a body that does not begin as its coding requires is taken as it is. Memory:
/// at most twice `limit` bytes, and fixed tables.
void decode_http_body(std::string_view raw, const header_fields& fields, std::uint64_t limit, http_body& out);

}  // namespace quern::io
