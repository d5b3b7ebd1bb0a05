// SPDX-License-Identifier: Apache-2.0
#include "io/lines/text_of_file.hpp"

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

}  // namespace quern::io
