// SPDX-License-Identifier: Apache-2.0
// Appends words to a token list, fast.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "quern/base/error.hpp"
#include "quern/text/analyzer.hpp"
#include "text/byte_masks.hpp"

namespace quern::text {

/// During its lifetime list.words is longer than the words in it; the destructor truncates it.
class word_writer {
  public:
    word_writer(token_list& list, std::size_t expected_bytes) : list_(list), used_(list.words.size()) {
        list_.words.resize(used_ + expected_bytes + byte_chunk::copy_width);
    }
    ~word_writer() { list_.words.resize(used_); }
    word_writer(const word_writer&) = delete;  // two would truncate each other's words
    word_writer& operator=(const word_writer&) = delete;

    /// `size` bytes at `from`; copy_width bytes must be readable there whatever the size.
    void add_padded(const char* from, std::size_t size, std::size_t source) {
        make_room(size);
        char* to = list_.words.data() + used_;
        std::memcpy(to, from, byte_chunk::copy_width);
        if (size > byte_chunk::copy_width) [[unlikely]]
            std::memcpy(to, from, size);
        finish(size, source, source + size);
    }
    void add(std::string_view word, std::size_t source_begin, std::size_t source_end) {
        if (word.empty()) return;
        make_room(word.size());
        std::memcpy(list_.words.data() + used_, word.data(), word.size());
        finish(word.size(), source_begin, source_end);
    }

  private:
    void make_room(std::size_t size) {
        const std::size_t needed = used_ + size + byte_chunk::copy_width;
        if (needed > list_.words.size()) [[unlikely]]
            grow(needed);
    }
    void grow(std::size_t needed) {
        const std::size_t max = list_.max_bytes;
        if (needed > max) throw out_of_memory("the words of one text", needed, max);
        list_.words.resize(std::max(needed, list_.words.size() + list_.words.size() / 2));
    }
    void finish(std::size_t size, std::size_t source_begin, std::size_t source_end) {
        const auto begin = static_cast<std::uint32_t>(used_);
        used_ += size;
        list_.tokens.push_back({begin, static_cast<std::uint32_t>(used_),
                                static_cast<std::uint32_t>(source_begin),
                                static_cast<std::uint32_t>(source_end)});
    }

    token_list& list_;
    std::size_t used_;
};

}  // namespace quern::text
