// SPDX-License-Identifier: Apache-2.0
// Pieces of bytes that wait for their turn: in memory while they fit their share of the budget, on disk beyond.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "device/files/spill_file.hpp"

namespace quern {

/// First all pieces are appended, by one thread at a time; then, after flush(), they are taken.
class scratch_pieces {
  public:
    /// Pieces take at most `memory_bytes` of memory; the rest lies in `scratch_file`, made when it is needed.
    scratch_pieces(std::filesystem::path scratch_file, std::uint64_t memory_bytes);

    void append(std::string piece);
    std::size_t size() const { return pieces_.size(); }
    std::uint64_t spilled_bytes() const { return spilled_; }

    void flush();
    /// Piece i, once. Different pieces may be taken by different threads.
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
