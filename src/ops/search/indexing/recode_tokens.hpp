// SPDX-License-Identifier: Apache-2.0
// The words of documents in order, from the codes of one collection to those of another that has all of its words, under
// other ids: what tokens are when collections are merged.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/search/token_code.hpp"

namespace quern::search_detail {

/// Thread-safe.
class token_recoder {
  public:
    /// `frequent`: the words of the old collection that have short codes, as token_code has them. `codes`: the new code of
    /// each old word, empty for a word that no document has now; it must outlive this object. Throws damaged_store if a
    /// frequent word has no code.
    token_recoder(std::span<const std::uint32_t> frequent, std::span<const codeword> codes);

    /// Appends a document's words, coded anew. Throws damaged_store if `coded` is not a code of the old collection. Cost:
    /// about two nanoseconds a word.
    void append(std::string_view coded, std::string& out) const;

  private:
    std::vector<codeword> one_byte_, two_bytes_;
    std::span<const codeword> codes_;
};

}  // namespace quern::search_detail
