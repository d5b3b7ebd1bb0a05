// SPDX-License-Identifier: Apache-2.0
// Examples of what each rule removed: the first documents, and those with the lowest hashes of their ids, which are spread
// over the corpus and the same for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

struct removed_example {
    std::uint64_t hash = 0, position = 0;
    std::string id, value;
    std::string text;         ///< its beginning
    std::uint64_t bytes = 0;  ///< of the whole text
};

class removed_examples {
  public:
    static constexpr std::size_t text_bytes = 2000;

    removed_examples(std::size_t rules, std::size_t of_each) : of_each_(of_each), by_rule_(rules) {}
    /// The next document, in order.
    void consider(std::size_t rule, std::uint64_t position, std::string_view id, std::string_view value,
                  std::string_view text);
    /// By position.
    std::vector<removed_example> of_rule(std::size_t rule) const;

  private:
    struct examples {
        std::vector<removed_example> first, by_hash;  ///< by_hash: a heap, the highest hash on top
    };
    std::size_t of_each_;
    std::vector<examples> by_rule_;
};

}  // namespace quern
