// SPDX-License-Identifier: Apache-2.0
// A bzip2 file cut where a block seems to begin, so that blocks can be decoded before they are known to be blocks.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "io/compression/bzip2_block.hpp"
#include "io/compression/decoder.hpp"

namespace quern::io::bzip2 {

/// The bits from one block magic to the next. Positions count from the start of the file.
struct piece {
    enum class progress { waiting, running, done };

    std::uint64_t start_bit = 0;
    std::uint64_t end_bit = 0;
    std::vector<std::uint8_t>
        packed;                 ///< from the byte that holds start_bit; `padding` zero bytes at the end
    bool begins_block = false;  ///< it starts with a magic; otherwise it is a stream header or damaged data
    progress state = progress::waiting;
    block result;
    std::exception_ptr failure;  ///< thrown by decoding: out of memory

    std::uint64_t first_byte() const { return start_bit / 8; }
    std::uint64_t end_of_block() const { return first_byte() * 8 + result.end_bit; }
    bool bit(std::uint64_t position) const {
        return packed[position / 8 - first_byte()] >> (7 - position % 8) & 1;
    }
    void decode(block_decoder& workspace) { workspace.decode(packed, start_bit % 8, result); }
};

/// Reads the input and cuts it.
class piece_reader {
  public:
    explicit piece_reader(raw_input& input) : input_(input) {}
    /// The next piece, null at the end. Rethrows errors of reading.
    std::shared_ptr<piece> next();

  private:
    bool read_more();

    raw_input& input_;
    std::vector<std::uint8_t> buffer_;
    std::uint64_t base_ = 0;     ///< position in the file of buffer_[0]
    std::uint64_t start_ = 0;    ///< the bit where the next piece begins
    std::uint64_t scanned_ = 0;  ///< no magic begins between start_ and here
    bool begins_block_ = false;
    bool ended_ = false;
};

}  // namespace quern::io::bzip2
