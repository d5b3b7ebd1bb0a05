// SPDX-License-Identifier: Apache-2.0
// Words and their ids: sorted by bytes, front-coded in blocks, usable in place from a mapped file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::text {

/// Collects words in strictly rising byte order; a word's id is its rank from 0.
class dictionary_builder {
  public:
    void append(std::string_view word);  ///< throws std::logic_error when not rising
    std::uint32_t size() const;
    /// The finished bytes, to be stored as they are; the builder is empty afterwards.
    std::string finish();

  private:
    std::string blocks_;                  // front-coded words
    std::vector<std::uint64_t> offsets_;  // where each block begins
    std::string previous_;
    std::uint32_t size_ = 0;
};

/// Reads finished bytes, which must outlive it. `open` checks every offset that later calls rely on, so that
/// hostile bytes are refused (std::nullopt) and never read past the end.
class dictionary_view {
  public:
    static std::optional<dictionary_view> open(std::span<const char> bytes);
    std::uint32_t size() const;
    std::optional<std::uint32_t> find(std::string_view word) const;  ///< cost: log2(blocks) + one block
    std::string word(std::uint32_t id) const;
    /// Ids of words that begin with `prefix`: [first, last).
    std::pair<std::uint32_t, std::uint32_t> with_prefix(std::string_view prefix) const;

  private:
    std::span<const char> blocks_;
    std::span<const char> offsets_;
    std::uint32_t size_ = 0;
};

}  // namespace quern::text
