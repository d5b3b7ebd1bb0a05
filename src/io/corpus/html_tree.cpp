// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/html_tree.hpp"

#include <algorithm>

namespace quern::io {

void* html_tree::allocate(void* self, std::size_t bytes) {
    auto& tree = *static_cast<html_tree*>(self);
    // Small enough to come from the heap's free lists instead of fresh pages for every document.
    constexpr std::size_t smallest_block = 64 << 10;
    constexpr std::size_t alignment = alignof(std::max_align_t);
    bytes = (bytes + alignment - 1) / alignment * alignment;
    if (bytes > tree.left_) {
        const std::size_t block = std::max<std::size_t>(bytes, smallest_block);
        tree.blocks_.push_back(std::make_unique_for_overwrite<char[]>(block));
        tree.free_ = tree.blocks_.back().get();
        tree.left_ = block;
    }
    void* const out = tree.free_;
    tree.free_ += bytes;
    tree.left_ -= bytes;
    tree.memory_bytes_ += bytes;
    return out;
}

html_tree::html_tree(std::string_view html) {
    GumboOptions options = kGumboDefaultOptions;
    options.allocator = &html_tree::allocate;
    options.deallocator = [](void*, void*) {};
    options.userdata = this;
    options.max_errors = 0;
    output_ = gumbo_parse_with_options(&options, html.data(), html.size());
}

}  // namespace quern::io
