// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/text_blocks.hpp"

#include <zstd.h>

#include <memory>
#include <new>
#include <optional>
#include <vector>

namespace quern {

namespace layout = store_layout;
namespace {

/// The state for decompressing text blocks; one per thread, because creating it costs as much as a block.
class text_reader {
  public:
    static text_reader& of_this_thread() {
        thread_local text_reader reader;
        return reader;
    }
    /// A frame's bytes until the next call; nothing if their number differs.
    std::optional<std::string_view> read(std::string_view frame, std::uint64_t raw_bytes) {
        if (!context_) context_.reset(ZSTD_createDCtx());
        if (!context_) throw std::bad_alloc();
        if (raw_.size() < raw_bytes) raw_.resize(raw_bytes);
        const std::size_t bytes =
            ZSTD_decompressDCtx(context_.get(), raw_.data(), raw_bytes, frame.data(), frame.size());
        if (bytes != raw_bytes) return {};
        return std::string_view(raw_.data(), raw_bytes);
    }
    /// Frees the memory of a long text.
    void rest() {
        if (raw_.size() > max_kept) raw_ = std::vector<char>();
    }

  private:
    static constexpr std::size_t max_kept = 1 << 20;
    struct ender {
        void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
    };
    std::unique_ptr<ZSTD_DCtx, ender> context_;
    std::vector<char> raw_;
};

}  // namespace

text_blocks::position text_blocks::position_of(std::uint64_t block) const {
    const auto at = [&](std::uint64_t i) {
        return blocks_.value<layout::text_block>(i * sizeof(layout::text_block));
    };
    const layout::text_block own = at(block);
    position found;
    found.frame_begin = block == 0 ? 0 : at(block - 1).frame_end;
    found.frame_end = own.frame_end;
    found.first = own.first_document;
    found.last = block + 1 < size() ? at(block + 1).first_document : documents_;
    if (found.frame_begin > found.frame_end || found.first >= found.last || found.last > documents_)
        blocks_.fail("is out of order");
    return found;
}

std::string_view text_blocks::decompressed(const position& of) const {
    const std::uint64_t begin = begin_of(of.first), end = begin_of(of.last);
    if (begin > end) ends_.fail("is out of order");
    const std::string_view frame = frames_.bytes(of.frame_begin, of.frame_end - of.frame_begin);
    if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != end - begin)
        frames_.fail("has a frame of another length");
    const auto raw = text_reader::of_this_thread().read(frame, end - begin);
    if (!raw) frames_.fail("has a damaged frame");
    return *raw;
}

std::string_view text_blocks::text_within(const position& of, std::string_view raw,
                                          std::uint64_t document) const {
    const std::uint64_t base = begin_of(of.first), begin = begin_of(document), end = begin_of(document + 1);
    if (begin < base || begin > end || end - base > raw.size()) ends_.fail("is out of order");
    return raw.substr(begin - base, end - begin);
}

text_blocks::contents text_blocks::contents_of(std::uint64_t block) const {
    const position of = position_of(block);
    const std::uint64_t begin = begin_of(of.first), end = begin_of(of.last);
    if (begin > end) ends_.fail("is out of order");
    return {static_cast<std::uint32_t>(of.first), static_cast<std::uint32_t>(of.last), end - begin};
}

std::uint64_t text_blocks::block_of(std::uint32_t document) const {
    if (size() == 0) blocks_.fail("is empty");
    // The last block that begins at or before the document.
    std::uint64_t low = 0, high = size();
    while (high - low > 1) {
        const std::uint64_t middle = (low + high) / 2;
        const auto block = blocks_.value<layout::text_block>(middle * sizeof(layout::text_block));
        (block.first_document <= document ? low : high) = middle;
    }
    const position of = position_of(low);
    if (document < of.first || document >= of.last) blocks_.fail("is out of order");
    return low;
}

std::string text_blocks::text(std::uint32_t document) const {
    const position of = position_of(block_of(document));
    std::string text(text_within(of, decompressed(of), document));
    text_reader::of_this_thread().rest();
    return text;
}

void text_blocks::each_text(std::uint64_t block, const std::function<void(std::string_view)>& sink) const {
    const position of = position_of(block);
    const std::string raw(decompressed(of));
    text_reader::of_this_thread().rest();
    for (std::uint64_t d = of.first; d < of.last; ++d) sink(text_within(of, raw, d));
}

}  // namespace quern
