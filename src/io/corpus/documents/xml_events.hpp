// SPDX-License-Identifier: Apache-2.0
// XML of unknown origin as events, by expat: bounded in memory, depth and the size of a tag. Entities are refused, and
// nothing outside of the bytes is read.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "io/corpus/corpus.hpp"
#include "quern/base/context.hpp"

namespace quern::io {

/// The attributes of a start tag, valid while it is handled.
class xml_attributes {
  public:
    explicit xml_attributes(const char** list) : list_(list) {}
    /// By local name; empty if there is none. Of several with this local name, one without a namespace counts, else the
    /// first.
    std::string_view value(std::string_view name) const;
    /// Of a namespace whose name contains `part_of_namespace`.
    std::string_view value(std::string_view part_of_namespace, std::string_view name) const;
    bool has(std::string_view name) const { return value(name).data() != nullptr; }

  private:
    const char** list_;
};

class xml_handler {
  public:
    virtual ~xml_handler() = default;
    /// `name` is local, without a namespace.
    virtual void start(std::string_view name, const xml_attributes& attributes) = 0;
    virtual void end(std::string_view name) = 0;
    /// Character data, in any pieces.
    virtual void text(std::string_view text) = 0;
};

/// Fills a buffer; fewer bytes only at the end.
using byte_reader = std::function<std::size_t(std::span<char>)>;

/// Throws not_convertible ("damaged", naming `part`) if it is not well-formed, has entities, or is nested more than 1,000
/// deep; out_of_memory; what `read` and `handler` throw; interrupted.
void read_xml(const byte_reader& read, std::string_view part, const reading_budget& budget,
              const context& ctx, xml_handler& handler);

}  // namespace quern::io
