// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/store_comparison.hpp"

#include <string_view>

namespace quern {

void store_comparison::compare(const document& d, compared_documents& counts) const {
    const auto number = finder_.find(d.id);
    if (!number) {
        ++counts.added;
    } else if (is_same(d, *number)) {
        ++counts.same;
    } else {
        ++counts.changed;
    }
}

bool store_comparison::is_same(const document& d, std::uint32_t number) const {
    if (store_.title(number) != d.title) return false;
    if (store_.fields() && store_.fields()->json(number) != d.fields) return false;
    block_of_texts& block = blocks_.local();
    if (number < block.first || number - block.first >= block.texts.size()) {
        const std::uint64_t at = store_.block_of(number);
        block.first = store_.block(at).first;
        block.texts.clear();
        store_.each_text(at, [&block](std::string_view text) { block.texts.emplace_back(text); });
    }
    return block.texts.at(number - block.first) == d.text;
}

}  // namespace quern
