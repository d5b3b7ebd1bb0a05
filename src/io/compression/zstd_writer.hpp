// SPDX-License-Identifier: Apache-2.0
// zstd, as one frame: readers that stop behind the first frame are many.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "quern/base/context.hpp"

namespace quern::io {

/// Compresses what is appended into one zstd frame (RFC 8878) with a checksum, by the library's default level. The bytes do
/// not depend on how the input is cut into calls, nor on the threads: one works. Memory: about 6 MiB. Not thread-safe.
class zstd_writer {
  public:
    zstd_writer(std::function<void(std::string_view)> out, const context& run);
    zstd_writer(const zstd_writer&) = delete;  // one owner of the library's state
    zstd_writer& operator=(const zstd_writer&) = delete;
    ~zstd_writer();
    void append(std::string_view bytes);
    void finish();  ///< once, last

  private:
    struct state;
    void compress(bool last);

    std::function<void(std::string_view)> out_;
    const context& run_;
    std::unique_ptr<state> state_;
    std::string waiting_;  // input of one call
};

}  // namespace quern::io
