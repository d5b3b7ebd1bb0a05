// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <new>
#include <string_view>

#include "base/hash.hpp"
#include "quern/base/context.hpp"

namespace quern {

/// XXH3 of bytes that arrive in pieces.
class running_checksum {
  public:
    running_checksum() {
        if (!state_) throw std::bad_alloc();
        XXH3_64bits_reset(state_.get());
    }
    void add(std::string_view bytes) { XXH3_64bits_update(state_.get(), bytes.data(), bytes.size()); }
    std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

  private:
    struct deleter {
        void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
    };
    std::unique_ptr<XXH3_state_t, deleter> state_{XXH3_createState()};
};

/// Reads a file from front to back; returns its 64-bit XXH3 checksum. Throws io_error, interrupted.
std::uint64_t checksum_of_file(const std::filesystem::path& file, const context& ctx);

}  // namespace quern
