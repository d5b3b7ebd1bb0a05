// SPDX-License-Identifier: Apache-2.0
// The largest leaks, with the texts of their documents, while the corpus is read once: of each item the document that
// contains most of it, of these the items with the most n-grams found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/ops/contamination.hpp"

namespace quern {

struct leak_example {
    contamination leak;
    std::string before, leaked, after;  ///< the document's text: around the leak, and its beginning
    std::uint64_t cut = 0;              ///< bytes of the leak after `leaked`, in front of `after`
};

class leak_examples {
  public:
    static constexpr std::size_t kept = 20;
    static constexpr std::size_t text_bytes = 8 << 10, bytes_around = 200;

    /// In the order of documents. Equal leaks of an item: the first.
    void consider(const contamination& leak, std::string_view text);
    /// The largest first; of equal ones the item that comes first.
    const std::vector<leak_example>& examples() const { return examples_; }

  private:
    std::vector<leak_example> examples_;
};

}  // namespace quern
