// SPDX-License-Identifier: Apache-2.0
// What the HTML pages share: self-contained, without scripts.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/grouped.hpp"

namespace quern::report {

/// Appends text as HTML shows it: nothing in it is markup, and ill-formed UTF-8 or a control character is a sign of its
/// own.
void append_escaped(std::string& out, std::string_view text);
std::string escaped(std::string_view text);

using quern::grouped;

/// 203.9 MB; bytes below a thousand as they are.
std::string shown_bytes(std::uint64_t bytes);

/// A table of names and values, any bytes.
void write_summary(std::span<const std::pair<std::string, std::string>> rows,
                   const std::function<void(std::string_view)>& out);

/// Words with their scores in one line: "tea 0.412 · bread 0.311".
std::string scored_words(std::span<const std::pair<std::string, double>> words);

/// A page up to where its body begins. `title` is HTML; `style` is added to the common style.
std::string page_head(std::string_view title, std::string_view style = {});

}  // namespace quern::report
