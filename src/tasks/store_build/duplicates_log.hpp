// SPDX-License-Identifier: Apache-2.0
// The search for near-duplicates of a store that is synchronised: texts that were compared with each other when the store
// was made are not compared again.
//
// A log is a section: a key (16 bytes), then for every text of the corpus, in order, what is needed to compare it with others
// and the group that it belonged to. Texts are recognised by their hashes of 128 bits, so that renamed and moved documents are
// known, too. A group contains the texts that pairs connect, and perhaps more: those that were connected only by a text that
// has gone since.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "quern/base/context.hpp"
#include "quern/ops/near_duplicates.hpp"

namespace quern {

/// The log in a store. Not a part of it: it may be missing.
inline constexpr std::string_view duplicates_log_name = "near_duplicates.log";

class duplicates_log {
  public:
    /// `earlier`: the log of the store that is replaced; `made`: where to write the new one. `key`: everything that pairs depend
    /// on besides the texts.
    duplicates_log(std::filesystem::path earlier, std::filesystem::path made, std::string key)
        : earlier_(std::move(earlier)), made_(std::move(made)), key_(std::move(key)) {}

    /// Links by which near_kept() removes the same texts as by those of near_duplicates() with the default options; ascending,
    /// with the numbers 0 of 0. Writes the new log. An earlier log that is missing, damaged, of another key, or twice as
    /// long, or that knows fewer than half of the texts, has no effect. Throws as near_duplicates(), io_error if the log cannot be written.
    /// Memory: 300 bytes a text in addition; if that is more than a quarter of the limit, no log is read or written. Scratch: the
    /// size of the texts, if any are known. Cost: a hash of every text, and the comparisons with new texts.
    duplicate_result links(const text_list& texts, const context& ctx);

    std::uint64_t unchanged() const { return unchanged_; }  ///< texts that the earlier log knew

  private:
    std::filesystem::path earlier_, made_;
    std::string key_;
    std::uint64_t unchanged_ = 0;
};

}  // namespace quern
