// SPDX-License-Identifier: Apache-2.0
// A graph as read: links between nodes 0, 1, 2 …, and the nodes' names in the input.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "device/large_array.hpp"
#include "quern/base/link.hpp"

namespace quern::io {

/// The nodes' ids, rising: as numbers if all are integers, else by bytes. Stored compactly: nothing for consecutive
/// integers, 4 or 8 bytes for other integers, the bytes plus 8 for names.
class node_names {
  public:
    node_names() = default;
    /// first, first + 1, …
    static node_names consecutive(std::uint64_t first, std::uint32_t count);
    static node_names integers(large_array<std::uint32_t> values);
    static node_names integers(large_array<std::uint64_t> values);
    /// Name i is `bytes` from ends[i - 1] (0 for the first) to ends[i].
    static node_names words(large_array<char> bytes, large_array<std::uint64_t> ends);

    std::uint32_t size() const noexcept { return count_; }
    bool are_integers() const noexcept { return ends_.empty(); }
    /// As in the input; for Matrix Market the number from 1.
    std::string name_of(std::uint32_t node) const;
    /// Appends the same to `text`.
    void append_name(std::uint32_t node, std::string& text) const;
    /// Nothing if no node has this name.
    std::optional<std::uint32_t> node_of(std::string_view name) const;
    std::uint64_t bytes_held() const noexcept;

  private:
    std::uint64_t integer(std::uint32_t node) const;
    std::string_view word(std::uint32_t node) const;

    std::uint32_t count_ = 0;
    std::uint64_t first_ = 0;  ///< of consecutive integers
    large_array<std::uint32_t> narrow_;
    large_array<std::uint64_t> wide_;
    large_array<char> bytes_;
    large_array<std::uint64_t> ends_;
};

/// Move-only.
struct named_graph {
    node_names names;
    large_array<link> link_list;
    large_array<double> weight_list;  ///< one per link, or none

    std::uint32_t nodes() const noexcept { return names.size(); }
    std::span<const link> links() const noexcept { return link_list.span(); }
    std::span<const double> weights() const noexcept { return weight_list.span(); }
    std::string name_of(std::uint32_t node) const { return names.name_of(node); }
    std::optional<std::uint32_t> node_of(std::string_view name) const { return names.node_of(name); }
};

}  // namespace quern::io
