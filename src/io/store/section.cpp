// SPDX-License-Identifier: Apache-2.0
#include "io/store/section.hpp"

#include <algorithm>
#include <cstring>
#include <system_error>

#include "base/failure_kinds.hpp"
#include "base/hash.hpp"
#include "device/files/mapped_pages.hpp"
#include "device/files/watched_mapping.hpp"
#include "io/store/format_version.hpp"

namespace quern::io {
namespace {

constexpr std::uint64_t block_bytes = 64 << 10;
constexpr std::uint32_t section_version = 1;

struct footer {
    char magic[8] = {'Q', 'U', 'E', 'R', 'N', 'S', 'E', 'C'};
    std::uint32_t version = section_version;
    std::uint32_t block = block_bytes;
    std::uint64_t payload_bytes = 0;
    std::uint64_t checksum = 0;  // of the blocks' checksums
    std::uint64_t reserved = 0;
    std::uint64_t own_checksum = 0;  // of all fields above

    std::uint64_t sum() const {
        return hash64({reinterpret_cast<const char*>(this), offsetof(footer, own_checksum)});
    }
};
static_assert(sizeof(footer) == 48);

std::uint64_t blocks_of(std::uint64_t payload) {
    return (payload + block_bytes - 1) / block_bytes;
}
std::uint64_t padded(std::uint64_t payload) {
    return (payload + 7) / 8 * 8;
}

std::string_view as_bytes(const std::vector<std::uint64_t>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::uint64_t)};
}

}  // namespace

void section_writer::append(std::string_view bytes) {
    out_->append(bytes);
    while (!bytes.empty()) {
        if (block_.empty() && bytes.size() >= block_bytes) {
            checksums_.push_back(hash64(bytes.substr(0, block_bytes)));
            bytes.remove_prefix(block_bytes);
            continue;
        }
        const std::size_t taken = std::min<std::size_t>(bytes.size(), block_bytes - block_.size());
        block_.append(bytes.substr(0, taken));
        bytes.remove_prefix(taken);
        if (block_.size() == block_bytes) {
            checksums_.push_back(hash64(block_));
            block_.clear();
        }
    }
}

void section_writer::align(std::size_t alignment) {
    static constexpr char zeros[64] = {};
    append({zeros, (alignment - size() % alignment) % alignment});
}

section_writer::summary section_writer::finish() {
    footer end;
    end.payload_bytes = out_->size();
    if (!block_.empty()) checksums_.push_back(hash64(block_));
    end.checksum = hash64(as_bytes(checksums_));
    end.own_checksum = end.sum();
    out_->append(std::string(padded(end.payload_bytes) - end.payload_bytes, '\0'));
    out_->append(as_bytes(checksums_));
    out_->append({reinterpret_cast<const char*>(&end), sizeof end});
    const std::uint64_t file_bytes = out_->size();
    if (own_) own_->close();
    return {file_bytes, end.checksum};
}

section_view::section_view(const std::filesystem::path& file, std::string name, std::uint64_t checksum)
    : section_view(file, std::move(name)) {
    if (checksum_ != checksum) fail("does not belong to this store");
}

section_view::section_view(const std::filesystem::path& file, std::string name) : name_(std::move(name)) {
    try {
        file_ = mapped_file(file);
    } catch (const io_error& e) {
        if (!says_missing(e.code())) throw;  // the file may be intact
        throw damaged_store(file.string(), name_, std::generic_category().message(e.code()));
    }
    if (file_.size() != 0) watch_as_section(file_.bytes().data(), name_);
    const std::string_view whole = file_.text();
    footer end;
    if (whole.size() < sizeof end) fail("is truncated");
    std::memcpy(&end, whole.data() + whole.size() - sizeof end, sizeof end);
    if (std::memcmp(end.magic, footer().magic, sizeof end.magic) != 0) fail("is truncated or not a section");
    if (end.own_checksum != end.sum()) fail("has a damaged footer");
    if (end.version != section_version) fail(other_format_version(end.version, section_version));
    if (end.block != block_bytes) fail("has blocks of a size that this program cannot read");
    if (end.payload_bytes > whole.size() ||
        padded(end.payload_bytes) + blocks_of(end.payload_bytes) * 8 + sizeof end != whole.size()) {
        fail("has a length that differs from its footer");
    }
    payload_bytes_ = end.payload_bytes;
    payload_ = whole.substr(0, payload_bytes_);
    checksums_ = whole.data() + padded(payload_bytes_);
    if (hash64({checksums_, blocks_of(payload_bytes_) * 8}) != end.checksum) fail("has damaged checksums");
    checksum_ = end.checksum;
    checked_ = std::make_unique<std::atomic<std::uint8_t>[]>(blocks_of(payload_bytes_));
}

std::string_view section_view::bytes(std::uint64_t offset, std::uint64_t count) const {
    if (offset > payload_bytes_ || count > payload_bytes_ - offset) fail("is too short");
    if (count == 0) return {};
    for (std::uint64_t block = offset / block_bytes; block <= (offset + count - 1) / block_bytes; ++block) {
        if (checked_[block].load(std::memory_order_relaxed) == 0) check_block(block);
    }
    return payload_.substr(offset, count);
}

void section_view::check_block(std::uint64_t block) const {
    give_back_mapped_pages();  // first-time reads are a large share of all reads
    std::uint64_t expected;
    std::memcpy(&expected, checksums_ + block * 8, sizeof expected);
    if (hash64(payload_.substr(block * block_bytes, block_bytes)) != expected) {
        fail("is damaged at byte " + std::to_string(block * block_bytes));
    }
    checked_[block].store(1, std::memory_order_relaxed);
}

void section_view::fail(std::string_view reason) const {
    throw damaged_store(file_.path().string(), name_, reason);
}

void string_column_writer::append(std::string_view value) {
    section_.append(value);
    end_ += value.size();
    ends_.append_values(std::span<const std::uint64_t>(&end_, 1));
}

section_writer::summary string_column_writer::finish() {
    ends_.close();
    section_.align(sizeof(std::uint64_t));
    const mapped_file ends(ends_.path(), mapped_file::access::sequential);
    section_.append(ends.text());
    return section_.finish();
}

std::string_view column_string(const section_view& column, std::uint64_t index, std::uint64_t count) {
    const std::uint64_t table_bytes = count * sizeof(std::uint64_t);
    if (index >= count || table_bytes > column.size()) column.fail("is too short");
    const std::uint64_t table = column.size() - table_bytes;
    const std::uint64_t end = column.value<std::uint64_t>(table + index * 8);
    const std::uint64_t begin = index == 0 ? 0 : column.value<std::uint64_t>(table + (index - 1) * 8);
    if (begin > end || end > table) column.fail("has strings out of order");
    return column.bytes(begin, end - begin);
}

void prefetch_string(const section_view& column, std::uint64_t index, std::uint64_t count) {
    const std::uint64_t after = (count - index) * sizeof(std::uint64_t);
    if (index < count && after <= column.size()) column.prefetch(column.size() - after);
}

}  // namespace quern::io
