// SPDX-License-Identifier: Apache-2.0
// gzip, by all threads, as a single member: many readers stop after the first member.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "quern/base/context.hpp"

namespace quern::io {

/// Compresses the appended bytes into one gzip member (RFC 1952). The result does not depend on the number of threads
/// or on how calls split the input. Memory: about 1 MiB a thread. Not thread-safe.
class gzip_writer {
  public:
    gzip_writer(std::function<void(std::string_view)> out, const context& ctx);
    void append(std::string_view bytes);
    void finish();  ///< once, last

  private:
    void write_pieces(bool last);

    std::function<void(std::string_view)> out_;
    const context& ctx_;
    std::size_t max_waiting_;
    std::string waiting_;     // first the window of earlier input, then what is to be compressed
    std::size_t window_ = 0;  // bytes of it
    std::uint32_t checksum_ = 0, size_ = 0;  // of everything compressed; the size modulo 2^32
};

}  // namespace quern::io
