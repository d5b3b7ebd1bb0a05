// SPDX-License-Identifier: Apache-2.0
// zstd, as a single frame: many readers stop after the first frame.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "quern/base/context.hpp"

namespace quern::io {

/// Compresses the appended bytes into one zstd frame (RFC 8878) with a checksum, at the library's default level. The
/// result does not depend on how calls split the input, nor on the threads: only one works. Memory: about 6 MiB. Not
/// thread-safe.
class zstd_writer {
  public:
    zstd_writer(std::function<void(std::string_view)> out, const context& ctx);
    zstd_writer(const zstd_writer&) = delete;  // one owner of the library's state
    zstd_writer& operator=(const zstd_writer&) = delete;
    ~zstd_writer();
    void append(std::string_view bytes);
    void finish();  ///< once, last

  private:
    struct state;
    void compress(bool last);

    std::function<void(std::string_view)> out_;
    const context& ctx_;
    std::unique_ptr<state> state_;
    std::string waiting_;  // input of one call
};

}  // namespace quern::io
