// SPDX-License-Identifier: Apache-2.0
#include "tasks/decontaminate/leak_examples.hpp"

#include <algorithm>
#include <utility>

namespace quern {
namespace {

bool is_larger(const contamination& a, const contamination& b) {
    return a.found != b.found ? a.found > b.found : a.item < b.item;
}

/// The first position at or after `at` that is between two characters.
std::size_t between_characters(std::string_view text, std::size_t at) {
    const std::size_t most = std::min(text.size(), at + 3);
    while (at < most && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) ++at;
    return at;
}

leak_example example_of(const contamination& leak, std::string_view text) {
    constexpr std::size_t around = leak_examples::bytes_around;
    const std::size_t from = between_characters(text, leak.begin - std::min<std::size_t>(leak.begin, around)),
                      to = between_characters(text, std::min<std::size_t>(text.size(), leak.end + around)),
                      shown = std::min<std::size_t>(
                          leak.end, between_characters(text, leak.begin + leak_examples::text_bytes));
    return {leak, std::string(text.substr(from, leak.begin - from)),
            std::string(text.substr(leak.begin, shown - leak.begin)),
            std::string(text.substr(leak.end, to - leak.end)), leak.end - shown};
}

}  // namespace

void leak_examples::consider(const contamination& leak, std::string_view text) {
    const auto same =
        std::ranges::find_if(examples_, [&](const leak_example& e) { return e.leak.item == leak.item; });
    if (same != examples_.end()) {
        if (same->leak.found >= leak.found) return;
        examples_.erase(same);
    } else if (examples_.size() == kept) {
        if (!is_larger(leak, examples_.back().leak)) return;
        examples_.pop_back();
    }
    const auto at =
        std::ranges::find_if(examples_, [&](const leak_example& e) { return is_larger(leak, e.leak); });
    examples_.insert(at, example_of(leak, text));
}

}  // namespace quern
