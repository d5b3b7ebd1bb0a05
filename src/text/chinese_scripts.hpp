// SPDX-License-Identifier: Apache-2.0
// Chinese words in one of the two scripts, simplified or traditional: a text in either has the same words then.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "quern/text/analyzer.hpp"

namespace quern::text {

/// Character by character, by the transliterators of the installed ICU (Hant-Hans, Hans-Hant).
class script_joiner {
  public:
    enum class script { simplified, traditional };

    /// Several traditional characters may have one simplified form (後, 后: 后); so words become simplified, and traditional
    /// from there. Idempotent; a word keeps its number of characters. Thread-safe; the first one makes the table, in about a
    /// tenth of a second.
    explicit script_joiner(script wanted);

    /// Joins the words of a list in place.
    void join(token_list& list);
    /// `text` (UTF-8, ill-formed or not) with every ideograph joined: the same number of bytes.
    void join(std::string& text) const;

    struct table;

  private:
    std::shared_ptr<const table> table_;
    std::string words_;
};

}  // namespace quern::text
