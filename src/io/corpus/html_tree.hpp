// SPDX-License-Identifier: Apache-2.0
// Gumbo's tree of a page, in memory that is freed at once: destroying a tree node by node recurses as deep as the page
// is nested, and costs as much as building it.
#pragma once

#include <gumbo.h>

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::io {

class html_tree {
  public:
    explicit html_tree(std::string_view html);
    const GumboNode* document() const { return output_->document; }
    /// The used bytes of its blocks.
    std::size_t memory_bytes() const { return memory_bytes_; }

  private:
    static void* allocate(void* self, std::size_t bytes);

    std::vector<std::unique_ptr<char[]>> blocks_;
    char* free_ = nullptr;
    std::size_t left_ = 0;
    std::size_t memory_bytes_ = 0;
    GumboOutput* output_ = nullptr;
};

/// The node after `node` in document order within `top`, skipping its children if `below` is false; null at the end.
/// Calls `leave` for every node whose last descendant has been passed.
template <typename Leave>
const GumboNode* next_node(const GumboNode* node, const GumboNode* top, bool below, Leave&& leave) {
    const auto children = [](const GumboNode* of) -> const GumboVector* {
        if (of->type == GUMBO_NODE_DOCUMENT) return &of->v.document.children;
        if (of->type == GUMBO_NODE_ELEMENT || of->type == GUMBO_NODE_TEMPLATE) return &of->v.element.children;
        return nullptr;
    };
    if (below) {
        const GumboVector* list = children(node);
        if (list != nullptr && list->length != 0) return static_cast<const GumboNode*>(list->data[0]);
    }
    while (node != top) {
        leave(node);
        const GumboVector* list = children(node->parent);
        const std::size_t after = node->index_within_parent + 1;
        if (after < list->length) return static_cast<const GumboNode*>(list->data[after]);
        node = node->parent;
    }
    leave(top);
    return nullptr;
}

}  // namespace quern::io
