// SPDX-License-Identifier: Apache-2.0
// Codes of one byte for strings of up to eight letters, chosen for given letters, after FSST (Boncz, Neumann, Leis: "FSST:
// Fast Random Access String Compression", 2020): any part can be decoded separately, by one access per code. Code 0 has no
// letters and is never written: code that reads more codes than exist uses it as padding.
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

    /// Writes the codes of `letters`; returns their number, the capacity plus one if they do not fit, or -1 if a letter
    /// before that has no code.
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
    /// The longest symbol at the start of `letters` (of which `left` exist); 0 for none.
    std::uint8_t longest(std::uint64_t letters, std::uint64_t left) const;
    void choose_again(const counts& seen, const std::vector<std::uint8_t>& bytes);

    std::vector<symbol> symbols_;  ///< from code 1 on: single letters, then by two letters, the longest first
    std::array<std::uint8_t, 256> single_{};  ///< the code of a letter
    std::vector<std::uint8_t> first_;         ///< the first code of two letters, 0 for none
};

}  // namespace quern::primitives
