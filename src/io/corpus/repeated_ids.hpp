// SPDX-License-Identifier: Apache-2.0
// Ids for records of a file in which the same id occurs again by right: another capture of a page, a mail that came twice.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace quern::io {

/// Memory: at most 32 bytes for each id, 16 on average, and more only for ids that repeat.
class repeated_ids {
  public:
    /// The id itself when it comes first, then "ID#2", "ID#3" …, past any that were given before.
    std::string settle(std::string id);

  private:
    bool insert(std::uint64_t hash);
    void grow();

    std::vector<std::uint64_t> slots_;  ///< hashes, 0: free; at most half of them used
    std::size_t used_ = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> last_;  ///< of ids that repeat: the last number
};

}  // namespace quern::io
