// SPDX-License-Identifier: Apache-2.0
#include "io/lines/text_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/ascii.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

text_of_file::text_of_file(const std::filesystem::path& path, const context& ctx) {
    memory_budget memory(ctx.memory_limit());
    *this = text_of_file(path, ctx, memory);
}

text_of_file::text_of_file(const std::filesystem::path& path, const context& ctx, memory_budget& memory)
    : file_(path, ctx, memory) {
    if (file_.look_compressed()) file_.decompress(ctx, memory);
    memory.take(file_.size_in_memory(), "what " + name() + " holds");
}

text_of_file::text_of_file(byte_source& source, const context& ctx) {
    memory_budget memory(ctx.memory_limit());
    file_ = whole_file(source, memory);
}

std::string_view text_of_file::text() const noexcept {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    std::string_view text = file_.text();
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    return text;
}

namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

}  // namespace

void text_block::clear() {
    size_ = 0;
    too_long = false;
    failure = nullptr;
}

void text_block::reserve(std::size_t bytes) {
    if (bytes <= capacity_) return;
    auto larger =
        std::make_unique_for_overwrite<char[]>(padding + bytes + 1 + padding);  // a line feed is added
    std::memset(larger.get(), 0, padding);
    if (size_ != 0) std::memcpy(larger.get() + padding, begin(), size_);
    memory_ = std::move(larger);
    capacity_ = bytes;
}

/// Reads up to `capacity` bytes in total. Errors are kept for the next block.
void text_blocks::fill(char* into, std::size_t capacity, std::size_t& size) {
    if (ended_ || size == capacity) return;
    ctx_.check_stop();
    try {
        while (!ended_ && size < capacity) {  // damage is reported by the call after the last bytes
            const std::size_t got = source_.read({into + size, capacity - size});
            ended_ = got == 0;
            size += got;
        }
    } catch (const interrupted&) {
        throw;
    } catch (...) {
        ended_ = true;
        failure_ = std::current_exception();
    }
    ctx_.report({.stage = "reading", .done = source_.consumed(), .total = source_.size(), .unit = "bytes"});
    if (!begun_) {
        begun_ = true;
        if (std::string_view(into, size).starts_with(byte_order_mark)) {
            size -= byte_order_mark.size();
            std::memmove(into, into + byte_order_mark.size(), size);
        }
    }
}

void text_blocks::load(std::size_t bytes) {
    std::size_t size = carried_.size();
    if (size >= bytes) return;
    carried_.resize(bytes);
    fill(carried_.data(), bytes, size);
    carried_.resize(size);
}

bool text_blocks::begins_with(std::string_view text) {
    load(text.size() + byte_order_mark.size());
    return lower(carried_.substr(0, text.size())) == lower(text);
}

std::string_view text_blocks::peek_line() {
    constexpr std::size_t max = 4096;
    load(max);
    const std::size_t end = carried_.find('\n');
    if (end == std::string::npos) return {};
    return std::string_view(carried_).substr(0, end);
}

bool text_blocks::has_second_line() {
    const std::size_t end = carried_.find('\n');
    if (end == std::string::npos) return false;
    load(std::max<std::size_t>(carried_.size(), end + 2));
    return carried_.size() > end + 1;
}

std::optional<std::string> text_blocks::next_line() {
    std::size_t end = carried_.find('\n');
    while (end == std::string::npos && !ended_ && carried_.size() <= longest_line) {
        load(std::min(std::max<std::size_t>(4096, 2 * carried_.size()), longest_line + 1));
        end = carried_.find('\n');
    }
    if (end == std::string::npos && !ended_) {
        throw invalid_input(name(), lines_taken_ + 1, "a line is longer than 1 MiB");
    }
    if (end == std::string::npos && failure_) std::rethrow_exception(failure_);
    if (carried_.empty()) return std::nullopt;
    ++lines_taken_;
    std::string line = carried_.substr(0, end);
    carried_.erase(0, end == std::string::npos ? end : end + 1);
    if (line.ends_with('\r')) line.pop_back();
    return line;
}

bool text_blocks::next(text_block& block) {
    block.clear();
    block.reserve(std::max(next_bytes_, carried_.size()));
    next_bytes_ = std::min(2 * next_bytes_, block_bytes);
    block.size_ = carried_.size();
    std::memcpy(block.begin(), carried_.data(), carried_.size());
    carried_.clear();
    for (;;) {
        fill(block.begin(), block.capacity_, block.size_);
        char* const text = block.begin();
        const void* const last = block.size_ == 0 ? nullptr : ::memrchr(text, '\n', block.size_);
        if (ended_ && !failure_ && block.size_ != 0 && text[block.size_ - 1] != '\n') {
            text[block.size_++] = '\n';
        } else if (last != nullptr) {
            const auto kept = static_cast<std::size_t>(static_cast<const char*>(last) - text) + 1;
            carried_.assign(text + kept, block.size_ - kept);
            block.size_ = kept;
        } else if (ended_) {
            block.clear();  // a truncated line is not used
            block.failure = std::exchange(failure_, nullptr);
        } else if (block.size_ > longest_line) {
            block.clear();
            block.too_long = true;
            ended_ = true;
        } else {
            block.reserve(std::min(2 * block.capacity_, longest_line + 1));
            continue;
        }
        std::memset(text + block.size_, 0, text_block::padding);
        return block.size_ != 0 || block.too_long || block.failure;
    }
}

}  // namespace quern::io
