// SPDX-License-Identifier: Apache-2.0
// A sequential JSON writer. Values look as in Quern's JSON lines: the same text for the same number, and
// well-formed UTF-8 for any input.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "quern/base/rows.hpp"

namespace quern::server {

class json_writer {
  public:
    void begin_object() { begin('{'); }
    void end_object() { end('}'); }
    void begin_list() { begin('['); }
    void end_list() { end(']'); }
    /// The name of the member whose value follows.
    void key(std::string_view name) {
        separate();
        append_json(text_, name);
        text_ += ':';
        first_ = true;
    }
    void value(const cell& v) {
        separate();
        append_json(text_, v);
    }
    void member(std::string_view name, const cell& v) {
        key(name);
        value(v);
    }
    void flag(std::string_view name, bool v) {
        key(name);
        separate();
        text_ += v ? "true" : "false";
    }
    /// A member that is a list of values: names, words.
    template <class Values>
    void values(std::string_view name, const Values& all) {
        key(name);
        begin_list();
        for (const auto& each : all) value(std::string_view(each));
        end_list();
    }
    /// A member that is a list of objects: `write` writes the members of each.
    template <class Elements, class Write>
    void objects(std::string_view name, const Elements& all, Write&& write) {
        key(name);
        begin_list();
        for (const auto& each : all) {
            begin_object();
            write(each);
            end_object();
        }
        end_list();
    }
    std::size_t size() const { return text_.size(); }
    /// The written text; the writer must not be used again.
    std::string take() { return std::move(text_); }

  private:
    void separate() {
        if (!first_) text_ += ',';
        first_ = false;
    }
    void begin(char bracket) {
        separate();
        text_ += bracket;
        first_ = true;
    }
    void end(char bracket) {
        text_ += bracket;
        first_ = false;
    }

    std::string text_;
    bool first_ = true;  // the next value follows a bracket, a key or nothing
};

}  // namespace quern::server
