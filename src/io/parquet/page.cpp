// SPDX-License-Identifier: Apache-2.0
#include "io/parquet/page.hpp"

#include <isa-l/crc.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "io/parquet/byte_cursor.hpp"
#include "io/parquet/page_codec.hpp"
#include "quern/base/error.hpp"

namespace quern::io::parquet {

void page::check_sum() const {
    if (!header_.has_checksum) return;
    const auto* const bytes = reinterpret_cast<const unsigned char*>(body_.data());
    if (crc32_gzip_refl(0, bytes, body_.size()) != header_.checksum)
        throw fault("the checksum of a page does not agree with its bytes");
}

void page::split_version_1() {
    byte_cursor in(values_);
    const auto levels = [&in](std::uint16_t max, encoding encoded) -> std::string_view {
        if (max == 0) return {};
        if (encoded != encoding::rle)
            throw fault("levels are packed by an outdated method (BIT_PACKED), which is not read");
        return in.take(in.number<std::uint32_t>());
    };
    repetition_ = levels(leaf_.max_repetition, header_.repetition_encoded);
    definition_ = levels(leaf_.max_definition, header_.definition_encoded);
    values_ = in.rest();
}

void page::unpack() {
    check_sum();
    std::string_view packed = body_;
    std::uint32_t plain_bytes = header_.plain_bytes;
    const bool is_version_2 = header_.what == page_header::kind::data_v2;
    if (is_version_2) {  // its levels are not compressed
        const std::uint64_t levels = std::uint64_t{header_.repetition_bytes} + header_.definition_bytes;
        if (levels > packed.size() || levels > plain_bytes)
            throw fault("the levels of a page are longer than the page");
        repetition_ = packed.substr(0, header_.repetition_bytes);
        definition_ = packed.substr(header_.repetition_bytes, header_.definition_bytes);
        packed.remove_prefix(levels);
        plain_bytes -= static_cast<std::uint32_t>(levels);
    }
    const bool is_plain = codec_ == codec::none || !header_.is_packed;
    if (is_plain) {
        if (packed.size() != plain_bytes) throw fault("a page has another length than its header says");
        values_ = packed;
    } else if (plain_bytes == 0 && packed.empty()) {
        values_ = {};  // only nulls
    } else {
        pooled_bytes plain(pool_, plain_bytes);
        decompress(codec_, packed, plain.bytes());
        plain_ = std::move(plain);
        values_ = {plain_.bytes().data(), plain_bytes};
    }
    if (header_.what == page_header::kind::data) split_version_1();
}

void page::check_levels_and_values(const dictionary* entries) const {
    const auto check = [this](hybrid_decoder levels, std::uint16_t max) {
        if (max == 0) return std::uint64_t{header_.values};
        std::array<std::uint16_t, 512> part{};
        std::uint64_t highest = 0;
        for (std::uint64_t left = header_.values; left != 0;) {
            const auto some = std::span(part).first(std::min<std::uint64_t>(left, part.size()));
            levels.read(some);
            for (const std::uint16_t level : some) {
                if (level > max) throw fault("a level beyond the highest of the column");
                highest += static_cast<std::uint64_t>(level == max);
            }
            left -= some.size();
        }
        return highest;
    };
    check(repetition_levels(), leaf_.max_repetition);
    values(entries).check(check(definition_levels(), leaf_.max_definition));
}

void page::load(std::uint64_t max_bytes, const dictionary* entries) {
    const std::lock_guard lock(loading_);
    if (loaded_) return;
    if (!damage_.empty()) throw fault(damage_);
    if (memory_bytes() > max_bytes)
        throw out_of_memory("a page of a Parquet file", memory_bytes(), max_bytes);
    try {
        unpack();
        check_levels_and_values(entries);
    } catch (const fault& why) {
        damage_ = why.what();
        plain_ = {};
        throw;
    }
    loaded_ = true;
}

void dictionary::load(std::uint64_t max_bytes) {
    const std::lock_guard lock(loading_);
    if (loaded_) return;
    if (memory_bytes() > max_bytes)
        throw out_of_memory("a dictionary of a Parquet file", memory_bytes(), max_bytes);
    const page_header& header = page_.header();
    if (header.encoded != encoding::plain && header.encoded != encoding::plain_dictionary)
        throw fault("a dictionary of an unknown encoding");
    page_.unpack();
    const std::string_view bytes = page_.values_;
    if (width_ != 0) {
        if (bytes.size() / width_ < size())
            throw fault("a dictionary has fewer entries than its header says");
    } else {
        if (bytes.size() / sizeof(std::uint32_t) < size())
            throw fault("a dictionary has fewer entries than its header says");
        std::vector<std::uint32_t> begins;
        begins.reserve(size());
        byte_cursor in(bytes);
        for (std::size_t i = 0; i < size(); ++i) {
            const auto length = in.number<std::uint32_t>();
            begins.push_back(static_cast<std::uint32_t>(in.take(length).data() - bytes.data()));
        }
        begins_ = std::move(begins);
    }
    loaded_ = true;
}

}  // namespace quern::io::parquet
