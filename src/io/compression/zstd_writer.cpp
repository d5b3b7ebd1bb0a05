// SPDX-License-Identifier: Apache-2.0
// The library is called for pieces of one size, independent of the appended sizes: its output may depend on where its
// calls end.
#include "io/compression/zstd_writer.hpp"

#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <new>
#include <stdexcept>

#include "quern/base/error.hpp"

namespace quern::io {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;

struct free_context {
    void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
};

std::size_t checked(std::size_t result) {
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) throw std::bad_alloc();
    if (ZSTD_isError(result)) throw std::logic_error(ZSTD_getErrorName(result));
    return result;
}

}  // namespace

struct zstd_writer::state {
    std::unique_ptr<ZSTD_CCtx, free_context> context{ZSTD_createCCtx()};
    std::string packed = std::string(ZSTD_CStreamOutSize(), '\0');
};

zstd_writer::zstd_writer(std::function<void(std::string_view)> out, const context& ctx)
    : out_(std::move(out)), ctx_(ctx), state_(std::make_unique<state>()) {
    if (!state_->context) throw out_of_memory("zstd compression", piece_bytes, 0);
    checked(ZSTD_CCtx_setParameter(state_->context.get(), ZSTD_c_compressionLevel, ZSTD_CLEVEL_DEFAULT));
    checked(ZSTD_CCtx_setParameter(state_->context.get(), ZSTD_c_checksumFlag, 1));
}
zstd_writer::~zstd_writer() = default;

void zstd_writer::append(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::size_t taken = std::min(bytes.size(), piece_bytes - waiting_.size());
        waiting_.append(bytes.substr(0, taken));
        bytes.remove_prefix(taken);
        if (waiting_.size() == piece_bytes) compress(false);
    }
}

void zstd_writer::finish() {
    compress(true);
}

void zstd_writer::compress(bool last) {
    ctx_.check_stop();
    ZSTD_inBuffer input{waiting_.data(), waiting_.size(), 0};
    for (bool done = false; !done;) {
        ZSTD_outBuffer output{state_->packed.data(), state_->packed.size(), 0};
        const std::size_t left = checked(ZSTD_compressStream2(state_->context.get(), &output, &input,
                                                              last ? ZSTD_e_end : ZSTD_e_continue));
        out_(std::string_view(state_->packed).substr(0, output.pos));
        done = last ? left == 0 : input.pos == input.size;
    }
    waiting_.clear();
}

}  // namespace quern::io
