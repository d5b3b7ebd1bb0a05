// SPDX-License-Identifier: Apache-2.0
#include "io/matrix/entries.hpp"

#include <cstring>
#include <string>

#include "io/lines/read_blocks.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

/// Reads blocks and checks the number of lines: a header may be wrong.
template <class Parse>
void read_counted(text_blocks& lines, object_pool<link_block>& pool, std::optional<std::uint64_t> expected,
                  const std::string& what, link_store& into, const Parse& parse) {
    std::uint64_t entries = 0;
    const auto position_block = [&](link_block& block, std::uint64_t lines_before) {
        if (expected && block.entries > *expected - entries) {
            throw invalid_input(
                lines.name(), lines_before + line_of_entry(block.lines, *expected - entries),
                "more than the " + std::to_string(*expected) + " " + what + " that the header states");
        }
        entries += block.entries;
        if (!block.issue) into.position_block(block);
    };
    const std::uint64_t line_count =
        read_blocks(lines, pool, {parse, position_block, [&](link_block& block) { into.store(block); }});
    if (!expected || entries == *expected) return;
    throw invalid_input(lines.name(), line_count,
                        "the input ends here, after " + std::to_string(entries) + " of " +
                            std::to_string(*expected) + " " + what);
}

}  // namespace

link_store::link_store(memory_budget& budget, bool with_links, bool with_weights) {
    if (with_links) links = large_array<link>(budget, "the links of a graph");
    if (with_weights) weights = large_array<double>(budget, "the weights of a graph");
}

void link_store::position_block(link_block& block) {
    block.position = std::max(links.size(), weights.size());
    if (links.data() != nullptr) links.grow(block.position + block.size);
    if (weights.data() != nullptr) weights.grow(block.position + block.size);
}

void link_store::store(const link_block& block) const {
    if (block.size == 0) return;
    if (links.data() != nullptr)
        std::memcpy(links.data() + block.position, block.links.get(), block.size * sizeof(link));
    if (weights.data() != nullptr)
        std::memcpy(weights.data() + block.position, block.weights.get(), block.size * sizeof(double));
}

void link_store::settle() noexcept {
    links.settle();
    weights.settle();
}

void read_entries(text_blocks& lines, object_pool<link_block>& pool, const matrix_header& header,
                  entry_values values, link_store& into) {
    read_counted(lines, pool, header.lines, "entries", into,
                 [&](link_block& block) { parse_entry_lines(block, header, values); });
}

void read_values(text_blocks& lines, object_pool<link_block>& pool, std::optional<std::uint64_t> expected,
                 link_store& into) {
    read_counted(lines, pool, expected, "values", into, [](link_block& block) { parse_value_lines(block); });
}

}  // namespace quern::io
