// SPDX-License-Identifier: Apache-2.0
#include "io/graph/named_graph.hpp"

#include <charconv>

#include "io/lines/numbers.hpp"

namespace quern::io {

node_names node_names::consecutive(std::uint64_t first, std::uint32_t count) {
    node_names names;
    names.first_ = first;
    names.count_ = count;
    return names;
}

node_names node_names::integers(large_array<std::uint32_t> values) {
    node_names names;
    names.count_ = static_cast<std::uint32_t>(values.size());
    names.narrow_ = std::move(values);
    return names;
}

node_names node_names::integers(large_array<std::uint64_t> values) {
    node_names names;
    names.count_ = static_cast<std::uint32_t>(values.size());
    names.wide_ = std::move(values);
    return names;
}

node_names node_names::words(large_array<char> bytes, large_array<std::uint64_t> ends) {
    node_names names;
    names.count_ = static_cast<std::uint32_t>(ends.size());
    names.bytes_ = std::move(bytes);
    names.ends_ = std::move(ends);
    return names;
}

std::uint64_t node_names::integer(std::uint32_t node) const {
    if (!narrow_.empty()) return narrow_[node];
    return wide_.empty() ? first_ + node : wide_[node];
}

std::string_view node_names::word(std::uint32_t node) const {
    const std::uint64_t begin = node == 0 ? 0 : ends_[node - 1];
    return {bytes_.data() + begin, ends_[node] - begin};
}

void node_names::append_name(std::uint32_t node, std::string& text) const {
    if (!are_integers()) {
        text += word(node);
        return;
    }
    char digits[20];
    const auto written = std::to_chars(digits, digits + sizeof digits, integer(node));
    text.append(digits, written.ptr);
}

std::string node_names::name_of(std::uint32_t node) const {
    std::string name;
    append_name(node, name);
    return name;
}

std::optional<std::uint32_t> node_names::node_of(std::string_view name) const {
    const auto value = integer_of(name);
    if (are_integers() && !value) return std::nullopt;
    // The first node whose name is not less, by binary search.
    std::uint32_t begin = 0, end = count_;
    while (begin < end) {
        const std::uint32_t middle = begin + (end - begin) / 2;
        if (are_integers() ? integer(middle) < *value : word(middle) < name)
            begin = middle + 1;
        else
            end = middle;
    }
    if (begin == count_) return std::nullopt;
    if (are_integers() ? integer(begin) != *value : word(begin) != name) return std::nullopt;
    return begin;
}

std::uint64_t node_names::bytes_held() const noexcept {
    return narrow_.span().size_bytes() + wide_.span().size_bytes() + bytes_.size() +
           ends_.span().size_bytes();
}

}  // namespace quern::io
