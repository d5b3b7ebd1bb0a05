// SPDX-License-Identifier: Apache-2.0
// The values of a page, decoded a batch at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/parquet/metadata.hpp"
#include "io/parquet/packed_numbers.hpp"

namespace quern::io::parquet {

class dictionary;

/// Consecutive entries of a column: a value, a null or an empty list each. The levels are those of the format: an entry
/// with repetition level 0 begins a row, and one with the leaf's highest definition level has a value.
struct column_batch {
    std::size_t entries = 0;
    std::vector<std::uint16_t> repetition;  ///< empty if the leaf is not repeated: all 0
    std::vector<std::uint16_t> definition;  ///< empty if nothing can be null: all have a value
    /// The values present. Of type byte_array; valid until the batch is filled again, or the reader ends.
    std::vector<std::string_view> texts;
    /// Of other types: leaf_column::width bytes each, as PLAIN has them; booleans a byte each.
    std::vector<char> fixed;

    std::size_t values(const leaf_column& leaf) const {
        return leaf.width == 0 ? texts.size() : fixed.size() / leaf.width;
    }

  private:
    friend class page_values;
    std::vector<std::unique_ptr<char[]>> built_;  ///< texts that lie nowhere in the file
    std::size_t built_bytes_ = 0;
};

/// The values of one page, decoded in order. A copy goes on from the same place.
class page_values {
  public:
    page_values() = default;
    page_values(std::string_view bytes, encoding encoded, const leaf_column& leaf, const dictionary* entries);

    /// Appends up to `count` values to out.texts or out.fixed; fewer, but one at least, if they have to be built and are
    /// long. Returns how many.
    std::size_t read(column_batch& out, std::size_t count);
    void skip(std::uint64_t count);
    /// As skip(), and throws fault if read() would.
    void check(std::uint64_t count);

  private:
    void read_plain(column_batch& out, std::size_t count);
    void read_fixed(column_batch& out, std::size_t count);
    void read_keys(column_batch& out, std::size_t count);
    void read_lengths(column_batch& out, std::size_t count);
    std::size_t read_fronts(column_batch& out, std::size_t count);
    void read_differences(column_batch& out, std::size_t count);
    std::string_view next_of_lengths();
    void next_of_fronts();

    encoding encoded_ = encoding::plain;
    leaf_column leaf_;
    const dictionary* entries_ = nullptr;
    byte_cursor in_;           ///< PLAIN values; the bytes after lengths
    std::string_view all_;     ///< of values of equal length
    std::uint64_t taken_ = 0;  ///< of them
    hybrid_decoder keys_;      ///< of a dictionary; booleans
    delta_decoder lengths_, fronts_, numbers_;
    std::string before_;  ///< the last value of DELTA_BYTE_ARRAY
};

}  // namespace quern::io::parquet
