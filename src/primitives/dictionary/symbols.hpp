// SPDX-License-Identifier: Apache-2.0
// Codes of one byte for strings of up to eight letters, chosen for given letters, after FSST (Boncz, Neumann, Leis:
// "FSST: Fast Random Access String Compression", 2020): any part is decoded by itself, by one access for each code.
// Code 0 stands for nothing, and is never written: what looks at more codes than there are fills up with it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::primitives {

class symbol_table {
  public:
    /// Chosen for `samples`; every byte that occurs in `known`, of 256 counts, gets a code, up to the 200 most frequent.
    symbol_table(const std::vector<std::string_view>& samples, const std::array<std::uint64_t, 256>& known);

    /// Writes codes that stand for `letters`; returns how many, one more than there is room for where there are more, or
    /// -1 where a letter met before that has none.
    int encode(std::string_view letters, std::span<std::uint8_t> codes) const;
    /// 256 words of eight letters, then 256 lengths.
    void append_to(std::string& out) const;

  private:
    struct symbol {
        std::uint64_t letters;
        std::uint8_t length;
        friend bool operator==(const symbol&, const symbol&) = default;
    };
    struct counts;

    void index();
    /// The longest symbol that `letters` (of which `left` are there) begin with; 0 for none.
    std::uint8_t longest(std::uint64_t letters, std::uint64_t left) const;
    void choose_again(const counts& seen, const std::vector<std::uint8_t>& bytes);

    std::vector<symbol> symbols_;  ///< from code 1 on: single letters, then by two letters, the longest first
    std::array<std::uint8_t, 256> single_{};  ///< the code of a letter
    std::vector<std::uint8_t> first_;         ///< the first code of two letters, 0 for none
};

}  // namespace quern::primitives
