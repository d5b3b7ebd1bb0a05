// SPDX-License-Identifier: Apache-2.0
// The reader of html_blocks: the text in html_blocks.cpp, the stack of open elements in html_open_elements.cpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "io/corpus/html_blocks.hpp"
#include "io/corpus/html_names.hpp"
#include "io/corpus/html_tokens.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {

class html_block_reader {
  public:
    html_block_reader(std::string_view html, bool xml, std::uint64_t taken, const reading_budget& budget);

    html_blocks read();

  private:
    struct open_element {
        html_name name = html_name::other;
        bool tracked = true;  ///< listed once it has text
        bool listed = false;
        bool is_link = false;
        std::uint32_t hash = 0;
        std::uint32_t marks = 0;
        std::uint32_t element = 0;
    };

    // The text.

    template <typename List>
    static std::uint32_t size32(const List& list) {
        return static_cast<std::uint32_t>(list.size());
    }
    // Lists grow by doubling: then there are two, the second with double the capacity.
    template <typename List>
    void make_room(List& list, std::size_t more, std::string_view what) {
        if (list.size() + more <= list.capacity()) return;
        const std::size_t capacity = std::max(2 * list.capacity(), list.size() + more);
        require_budget(budget_, taken_ + out_.memory_bytes() + capacity * sizeof(list[0]), what);
        list.reserve(capacity);
    }

    void add_element(html_name name, std::uint32_t marks);
    /// Lists the open elements: there is text in them.
    void list_open();
    bool unseen() const { return unseen_at_ != 0; }
    void want(html_gap gap) {
        if (!unseen()) gap_ = std::max(gap_, gap);
    }
    /// Appends what is wanted between the last text and the next.
    void bridge(std::size_t bytes);
    void append(std::string_view words);
    void add(std::string_view raw);
    /// Into decoded_; returns the bytes of the reference, or of a '&' that begins none.
    std::size_t decode(std::string_view rest);
    void add_decoded();
    void add_verbatim(std::string_view raw);
    void take_raw(const html_token& token);

    // The open elements.

    std::uint16_t& count_of(html_name name) { return counts_[static_cast<std::size_t>(name)]; }
    bool is_open(html_name name) const { return counts_[static_cast<std::size_t>(name)] != 0; }
    void start(const html_token& tag);
    void push(const html_token& tag, std::uint32_t is, std::uint32_t marks);
    void pop();
    void pop_to(std::size_t depth);
    void line_break();
    void take_link(const html_token& tag);
    void imply_ends(html_name name, std::uint32_t is);
    static bool is_bound(const open_element& open);
    /// The open element nearest to the top that `is_wanted`, if no element that `stops` is above it; otherwise 0.
    template <typename Wanted, typename Stops>
    std::size_t find_open(Wanted&& is_wanted, Stops&& stops) const;
    void close_in_scope(html_name name, bool button_stops);
    void close_item(html_name one, html_name other);
    void close_in_table(std::initializer_list<html_name> names);
    void end(html_name name, std::uint32_t hash, bool ends_link = true);
    void end_heading();
    /// Closes one element. If blocks within it are open, they stay open.
    void remove(std::size_t at);

    html_tokens tokens_;
    std::uint64_t taken_;
    const reading_budget& budget_;
    html_blocks out_;
    std::vector<open_element> stack_;
    std::array<std::uint16_t, static_cast<std::size_t>(html_name::count)> counts_{};
    std::size_t listed_ = 1;       ///< open elements before this one are listed, if they are tracked
    std::uint32_t innermost_ = 0;  ///< the innermost listed element
    std::size_t unseen_at_ = 0;    ///< the outermost open element that is not shown; 0: none
    std::size_t foreign_at_ = 0;   ///< the outermost svg or math
    std::uint64_t too_deep_ = 0;
    std::size_t link_depth_ = 0;
    std::uint32_t pre_ = 0, code_ = 0;
    html_gap gap_ = html_gap::none;
    bool xml_ = false, fresh_ = true, link_ = false, titled_ = false, after_pre_ = false;
    std::string decoded_;
};

}  // namespace quern::io
