// SPDX-License-Identifier: Apache-2.0
// The parts of a JSON text as they are written, without parsing them: for values that are copied or replaced byte for
// byte. The text must be known to be well-formed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace quern::io {

/// A value: its bytes in the text that it is part of.
class json_value {
  public:
    /// `bytes`: the value and nothing else.
    explicit json_value(std::string_view bytes) : bytes_(bytes) {}
    /// The value that a line holds, between white space.
    static json_value of_line(std::string_view line);

    std::string_view bytes() const { return bytes_; }
    bool is_object() const { return bytes_.front() == '{'; }
    bool is_array() const { return bytes_.front() == '['; }
    bool is_string() const { return bytes_.front() == '"'; }
    bool is_null() const { return bytes_.front() == 'n'; }
    bool is_boolean() const { return bytes_.front() == 't' || bytes_.front() == 'f'; }
    bool is_number() const {
        return bytes_.front() == '-' || (bytes_.front() >= '0' && bytes_.front() <= '9');
    }
    bool is_integer() const { return is_number() && bytes_.find_first_of(".eE") == std::string_view::npos; }
    /// Of a string, decoded. An escaped lone surrogate becomes U+FFFD.
    std::string text() const;
    /// The last member with this name; nothing if there is none, or for another value than an object.
    std::optional<json_value> member(std::string_view name) const;
    /// Without white space between its parts.
    void append_compact(std::string& out) const;
    std::size_t depth() const;  ///< 0 for a string, number or word; 1 for an array of such
    const char* begin() const { return bytes_.data(); }
    const char* end() const { return bytes_.data() + bytes_.size(); }

  private:
    std::string_view bytes_;
};

/// The members of an object, or the elements of an array, in order.
class json_parts {
  public:
    explicit json_parts(const json_value& whole) : bytes_(whole.bytes()), is_object_(whole.is_object()) {}

    /// False at the end.
    bool next();
    json_value value() const { return json_value(value_); }
    std::string_view written_name() const { return name_; }  ///< of a member, with its quotes
    std::string name() const { return json_value(name_).text(); }
    bool has_name(std::string_view name) const;

  private:
    std::string_view take_value();

    std::string_view bytes_, name_, value_;
    std::size_t at_ = 1;
    bool is_object_;
};

/// The value at a name that may lead into objects by dots, "meta.url": a member whose own name has the dots comes first,
/// and of the ways into objects the one with the longest name first. `Value` has member(), as json_value has.
template <class Value>
std::optional<Value> value_at(const Value& object, std::string_view name) {
    if (auto own = object.member(name)) return own;
    for (std::size_t dot = name.rfind('.'); dot != std::string_view::npos; dot = name.rfind('.', dot - 1)) {
        if (const auto outer = object.member(name.substr(0, dot))) {
            if (auto found = value_at(*outer, name.substr(dot + 1))) return found;
        }
        if (dot == 0) break;
    }
    return {};
}

}  // namespace quern::io
