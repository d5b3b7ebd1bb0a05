// SPDX-License-Identifier: Apache-2.0
// Detects the format by the first bytes and wraps the decoder as a byte_source.
#include <exception>

#include "io/byte_source.hpp"
#include "io/compression/decoder.hpp"
#include "io/compression/read_ahead.hpp"

namespace quern::io {
namespace {

using make_decoder = std::unique_ptr<decoder> (*)(raw_input&);

make_decoder maker_for(std::string_view first) {
    using namespace std::string_view_literals;
    if (first.starts_with("\x1f\x8b"sv)) return make_gzip_decoder;
    if (first.starts_with("BZh"sv) && first.size() >= 4 && first[3] >= '1' && first[3] <= '9') {
        return make_bzip2_decoder;
    }
    if (first.starts_with("\x28\xb5\x2f\xfd"sv)) return make_zstd_decoder;
    const bool skippable =
        first.size() >= 4 && (first[0] & 0xf0) == 0x50 && first.substr(1, 3) == "\x2a\x4d\x18"sv;
    if (skippable) return make_zstd_decoder;
    if (first.starts_with("\xfd\x37zXZ\0"sv)) return make_xz_decoder;
    return make_plain_decoder;
}

class decoded_source final : public byte_source {
  public:
    explicit decoded_source(std::unique_ptr<raw_input> input) : input_(std::move(input)) {
        const make_decoder make = maker_for(input_->peek(6));
        decoder_ = make(*input_);
        // bzip2 has its own threads; the kernel reads plain bytes ahead.
        const bool alone = make == make_plain_decoder || make == make_bzip2_decoder;
        if (!alone && input_->ctx().thread_count() > 1)
            decoder_ = make_read_ahead(std::move(decoder_), *input_);
    }

    std::size_t read(std::span<char> out) override {
        if (failure_) std::rethrow_exception(failure_);
        std::size_t filled = 0;
        try {
            while (filled < out.size() && !ended_) {
                const std::size_t count = decoder_->decode(out.subspan(filled));
                ended_ = count == 0;
                filled += count;
            }
        } catch (...) {
            failure_ = std::current_exception();
            if (filled == 0) throw;
        }
        return filled;
    }
    std::uint64_t consumed() const override { return input_->consumed(); }
    std::uint64_t size() const override { return input_->size(); }
    const std::string& name() const override { return input_->name(); }

  private:
    std::unique_ptr<raw_input> input_;
    std::unique_ptr<decoder> decoder_;  ///< after input_: its threads end first
    std::exception_ptr failure_;
    bool ended_ = false;
};

}  // namespace

std::unique_ptr<byte_source> open_bytes(const std::filesystem::path& path, const context& ctx) {
    return std::make_unique<decoded_source>(std::make_unique<raw_input>(path, ctx));
}

std::unique_ptr<byte_source> open_bytes_memory(std::string_view bytes, std::string name, const context& ctx) {
    return std::make_unique<decoded_source>(std::make_unique<raw_input>(bytes, std::move(name), ctx));
}

bool is_compressed(std::string_view first_bytes) {
    return maker_for(first_bytes) != make_plain_decoder;
}

}  // namespace quern::io
