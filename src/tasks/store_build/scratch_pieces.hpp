// SPDX-License-Identifier: Apache-2.0
// Pieces of bytes kept for later: in memory while they fit their share of the budget, on disk beyond.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "device/files/spill_file.hpp"

namespace quern {

/// First one thread at a time appends all pieces; then, after flush(), they are taken.
class scratch_pieces {
  public:
    /// Pieces take at most `memory_bytes` of memory; the rest is in `scratch_file`, created on demand.
    scratch_pieces(std::filesystem::path scratch_file, std::uint64_t memory_bytes);

    void append(std::string piece);
    std::size_t size() const { return pieces_.size(); }
    std::uint64_t spilled_bytes() const { return spilled_; }

    void flush();
    /// Returns piece i, once. Different threads may take different pieces.
    std::string take(std::size_t i);

  private:
    struct piece {
        std::string bytes;  // empty once on disk
        std::uint64_t begin = 0, size = 0;
    };
    void spill(piece& p);

    std::filesystem::path path_;
    std::uint64_t budget_, held_ = 0, spilled_ = 0;
    std::unique_ptr<spill_file> file_;
    std::vector<piece> pieces_;
    std::size_t in_memory_ = 0;  // the first piece that is not on disk
};

}  // namespace quern
