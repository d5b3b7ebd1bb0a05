// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/text_store.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <memory>
#include <new>
#include <utility>

#include "quern/base/error.hpp"
#include "tasks/store/listed_section.hpp"

namespace quern {
namespace {

// Level 1 keeps up with tokenising; higher levels would be the slowest stage of a build.
constexpr int compression_level = 1;

}  // namespace

void text_gatherer::add(std::string_view text, std::vector<raw_text_block>& finished) {
    open_.append(text);
    ++documents_;
    if (open_.size() >= block_bytes_ || documents_ - first_document_ >= block_documents_) finish(finished);
}

void text_gatherer::finish(std::vector<raw_text_block>& finished) {
    if (first_document_ == documents_) return;
    finished.push_back({first_document_, std::exchange(open_, {})});
    first_document_ = documents_;
}

compressed_text_block compress(const raw_text_block& block) {
    struct free_context {
        void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
    };
    thread_local const std::unique_ptr<ZSTD_CCtx, free_context> encoder = [] {
        std::unique_ptr<ZSTD_CCtx, free_context> made(ZSTD_createCCtx());
        if (!made) throw std::bad_alloc();
        ZSTD_CCtx_setParameter(made.get(), ZSTD_c_compressionLevel, compression_level);
        ZSTD_CCtx_setParameter(made.get(), ZSTD_c_checksumFlag, 1);
        return made;
    }();
    compressed_text_block out{block.first_document, {}};
    out.frame.resize(ZSTD_compressBound(block.text.size()));
    const std::size_t size = ZSTD_compress2(encoder.get(), out.frame.data(), out.frame.size(),
                                            block.text.data(), block.text.size());
    if (ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (ZSTD_isError(size) != 0) throw error(std::string("zstd: ") + ZSTD_getErrorName(size));
    out.frame.resize(size);
    out.frame.shrink_to_fit();
    return out;
}

text_block_writer::text_block_writer(const std::filesystem::path& store, std::string_view texts,
                                     std::string_view blocks)
    : texts_name_(texts),
      blocks_name_(blocks),
      texts_(store_layout::file_of(store, texts)),
      blocks_(store_layout::file_of(store, blocks)) {}

void text_block_writer::append(const compressed_text_block& block) {
    texts_.append(block.frame);
    blocks_.append_value(store_layout::text_block{texts_.size(), block.first_document});
}

std::vector<store_section> text_block_writer::finish() {
    const auto texts = texts_.finish();
    const auto blocks = blocks_.finish();
    return {listed_section(texts_name_, texts), listed_section(blocks_name_, blocks)};
}

}  // namespace quern
