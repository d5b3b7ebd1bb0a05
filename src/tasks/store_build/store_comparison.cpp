// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/store_comparison.hpp"

namespace quern {

std::optional<std::uint32_t> store_comparison::compare(const document& d, std::string_view text,
                                                       compared_documents& counts) const {
    const auto number = finder_.find(d.id);
    if (!number) {
        ++counts.added;
    } else if (is_same(d, text, *number)) {
        ++counts.same;
        return number;
    } else {
        ++counts.changed;
    }
    return {};
}

bool store_comparison::is_same(const document& d, std::string_view text, std::uint32_t number) const {
    if (store_.title(number) != d.title) return false;
    if (store_.fields() && store_.fields()->json(number) != d.fields) return false;
    block_of_texts& block = blocks_.local();
    if (number < block.first || number - block.first >= block.texts.size()) {
        const std::uint64_t at = store_.block_of(number);
        block.first = store_.block(at).first;
        block.texts.clear();
        store_.each_text(at, [&block](std::string_view one) { block.texts.emplace_back(one); });
    }
    return block.texts.at(number - block.first) == text;
}

}  // namespace quern
