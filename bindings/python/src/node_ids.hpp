// SPDX-License-Identifier: Apache-2.0
// The ids of the nodes of quern.Graph.
#pragma once

#include <nanobind/nanobind.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "errors.hpp"
#include "quern/tasks/graph.hpp"

namespace quern::python {

/// The ids of the nodes, by node.
class node_ids {
  public:
    virtual ~node_ids() = default;
    virtual std::string text(std::uint32_t node) const = 0;
    virtual std::optional<std::uint32_t> node_of(std::string_view id) const = 0;
    virtual bool are_integers() const = 0;
};

class graph_ids final : public node_ids {
  public:
    explicit graph_ids(node_graph graph) : graph_(std::move(graph)) {}
    std::string text(std::uint32_t node) const override { return graph_.id_of(node); }
    std::optional<std::uint32_t> node_of(std::string_view id) const override { return graph_.node_of(id); }
    bool are_integers() const override { return graph_.ids_are_integers(); }

  private:
    node_graph graph_;
};

/// 0, 1, 2 …
class position_ids final : public node_ids {
  public:
    explicit position_ids(std::uint32_t nodes) : nodes_(nodes) {}
    std::string text(std::uint32_t node) const override { return std::to_string(node); }
    std::optional<std::uint32_t> node_of(std::string_view id) const override {
        std::uint32_t node = 0;
        const auto [end, failure] = std::from_chars(id.data(), id.data() + id.size(), node);
        if (failure != std::errc() || end != id.data() + id.size() || node >= nodes_ || text(node) != id)
            return {};
        return node;
    }
    bool are_integers() const override { return true; }

  private:
    std::uint32_t nodes_;
};

/// Ids that the user lists.
class listed_ids final : public node_ids {
  public:
    listed_ids(std::vector<std::string> ids, bool integers) : ids_(std::move(ids)), integers_(integers) {
        for (std::uint32_t node = 0; node < ids_.size(); ++node) {
            if (!nodes_.emplace(ids_[node], node).second)
                refuse("ids: '" + ids_[node] + "' is repeated at position " + std::to_string(node));
        }
    }
    std::string text(std::uint32_t node) const override { return ids_[node]; }
    std::optional<std::uint32_t> node_of(std::string_view id) const override {
        const auto at = nodes_.find(id);
        return at == nodes_.end() ? std::nullopt : std::optional(at->second);
    }
    bool are_integers() const override { return integers_; }

  private:
    std::vector<std::string> ids_;
    std::unordered_map<std::string_view, std::uint32_t> nodes_;
    bool integers_;
};

/// The id that Python gave, a str or a whole number, as text.
std::string text_of_id(nanobind::handle id);
/// Python's text of an id: an int, or a str.
nanobind::object python_id(const node_ids& ids, std::uint32_t node);

}  // namespace quern::python
