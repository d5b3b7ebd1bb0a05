// SPDX-License-Identifier: Apache-2.0
// The word boundaries of Unicode (UAX #29, with ICU's dictionaries) nearest to a place in a text.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace quern::text {

/// Remembers the boundaries of the last line: ask about a text from its beginning to its end. One thread.
class word_boundaries {
  public:
    word_boundaries();
    ~word_boundaries();
    word_boundaries(const word_boundaries&) = delete;  // one iterator
    word_boundaries& operator=(const word_boundaries&) = delete;

    /// Replaces the text, which must outlive the queries about it.
    void begin_text(std::string_view text);
    /// The next boundary from `at` on, and the last one up to `at`; at most the text's size, which is one.
    std::size_t from(std::size_t at);
    std::size_t up_to(std::size_t at);

  private:
    struct state;
    void load(std::size_t at);

    std::unique_ptr<state> state_;
};

}  // namespace quern::text
