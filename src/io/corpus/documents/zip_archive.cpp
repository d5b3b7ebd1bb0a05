// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/documents/zip_archive.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/ascii.hpp"
#include "io/corpus/documents/converter.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {
namespace {

[[noreturn]] void damaged(const std::string& what) {
    throw not_convertible("damaged", "damaged: the zip archive " + what);
}

/// Little-endian numbers of a header, with a check that it has them.
class header {
  public:
    explicit header(std::string_view bytes) : bytes_(bytes) {}
    std::uint64_t number(std::size_t at, std::size_t size) const {
        if (at + size > bytes_.size()) damaged("has a header that is cut off");
        std::uint64_t value = 0;
        for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes_[at + i]);
        return value;
    }
    std::string_view text(std::size_t at, std::size_t size) const {
        if (at > bytes_.size() || size > bytes_.size() - at) damaged("has a header that is cut off");
        return bytes_.substr(at, size);
    }

  private:
    std::string_view bytes_;
};

std::string read_exactly(const stored_bytes& bytes, std::uint64_t at, std::uint64_t count) {
    std::string out(count, '\0');
    if (bytes.read_at(at, out) != count) damaged("is cut off");
    return out;
}

constexpr std::uint64_t end_bytes = 22, locator_bytes = 20, end64_bytes = 56, entry_bytes = 46,
                        local_bytes = 30;
constexpr std::uint64_t none16 = 0xFFFF, none32 = 0xFFFFFFFF;
constexpr std::uint64_t end_mark = 0x06054b50, locator_mark = 0x07064b50, end64_mark = 0x06064b50,
                        entry_mark = 0x02014b50, local_mark = 0x04034b50;

/// The position of the end record: the last one whose comment reaches exactly to the end.
std::uint64_t find_end(const stored_bytes& bytes) {
    const std::uint64_t size = bytes.size();
    if (size < end_bytes) damaged("is too short");
    const std::uint64_t look = std::min<std::uint64_t>(size, end_bytes + none16);
    const std::string tail = read_exactly(bytes, size - look, look);
    const header of(tail);
    for (std::size_t at = tail.size() - end_bytes + 1; at-- > 0;) {
        if (of.number(at, 4) != end_mark) continue;
        if (at + end_bytes + of.number(at + 20, 2) == tail.size()) return size - look + at;
    }
    damaged("has no central directory: it is cut off, or no zip archive");
}

/// Replaces what does not fit 32 bits by the values of the zip64 field, in its order.
void read_zip64(const header& extra, std::size_t bytes, zip_entry& entry) {
    for (std::size_t at = 0; at + 4 <= bytes;) {
        const std::uint64_t id = extra.number(at, 2), size = extra.number(at + 2, 2);
        if (at + 4 + size > bytes) return;
        if (id == 1) {
            std::size_t next = at + 4;
            for (std::uint64_t* const value : {&entry.bytes, &entry.packed_bytes, &entry.header_at}) {
                if (*value != none32) continue;
                if (next + 8 > at + 4 + size) damaged("has a zip64 field that is too short");
                *value = extra.number(next, 8);
                next += 8;
            }
            return;
        }
        at += 4 + size;
    }
}

class stored_part : public zip_part {
  public:
    stored_part(const stored_bytes& bytes, std::uint64_t at, const zip_entry& entry)
        : bytes_(bytes), entry_(entry), at_(at), packed_left_(entry.packed_bytes) {}

    std::size_t read(std::span<char> out) final {
        const std::size_t got = take(out);
        made_ += got;
        if (made_ > entry_.bytes) damaged("has an entry that is larger than it declares: " + entry_.name);
        checksum_ = static_cast<std::uint32_t>(
            crc32_z(checksum_, reinterpret_cast<const unsigned char*>(out.data()), got));
        if (got < out.size()) {
            if (made_ != entry_.bytes)
                damaged("has an entry that is smaller than it declares: " + entry_.name);
            if (checksum_ != entry_.checksum) damaged("has an entry with a wrong checksum: " + entry_.name);
        }
        return got;
    }

  protected:
    /// Fills `out`; fewer bytes only at the end.
    virtual std::size_t take(std::span<char> out) { return packed(out); }
    std::size_t packed(std::span<char> out) {
        const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), packed_left_));
        if (bytes_.read_at(at_, out.first(count)) != count) damaged("is cut off");
        at_ += count;
        packed_left_ -= count;
        return count;
    }
    const zip_entry& entry() const { return entry_; }

  private:
    const stored_bytes& bytes_;
    const zip_entry& entry_;
    std::uint64_t at_, packed_left_, made_ = 0;
    std::uint32_t checksum_ = 0;
};

class deflated_part final : public stored_part {
  public:
    deflated_part(const stored_bytes& bytes, std::uint64_t at, const zip_entry& entry)
        : stored_part(bytes, at, entry), in_(32 << 10, '\0') {
        if (inflateInit2(&state_, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    }
    deflated_part(const deflated_part&) = delete;
    deflated_part& operator=(const deflated_part&) = delete;
    ~deflated_part() override { inflateEnd(&state_); }

  private:
    std::size_t take(std::span<char> out) override {
        state_.next_out = reinterpret_cast<Bytef*>(out.data());
        state_.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), 1U << 30));
        const uInt wanted = state_.avail_out;
        while (state_.avail_out != 0 && !ended_) {
            if (state_.avail_in == 0) {
                state_.next_in = reinterpret_cast<Bytef*>(in_.data());
                state_.avail_in = static_cast<uInt>(packed(in_));
                if (state_.avail_in == 0) damaged("has an entry that is cut off: " + entry().name);
            }
            const int done = inflate(&state_, Z_NO_FLUSH);
            ended_ = done == Z_STREAM_END;
            if (done != Z_OK && !ended_) damaged("has an entry that cannot be inflated: " + entry().name);
        }
        return wanted - state_.avail_out;
    }

    std::string in_;
    z_stream state_{};
    bool ended_ = false;
};

}  // namespace

zip_archive::zip_archive(const stored_bytes& bytes, const reading_budget& budget, const zip_limits& limits)
    : bytes_(bytes), limits_(limits) {
    const std::uint64_t end_at = find_end(bytes);
    const std::string end_record = read_exactly(bytes, end_at, end_bytes);
    const header end(end_record);
    std::uint64_t disks = end.number(4, 2) | end.number(6, 2);
    std::uint64_t count = end.number(10, 2), size = end.number(12, 4), at = end.number(16, 4);
    std::uint64_t directory_end = end_at;
    if (count == none16 || size == none32 || at == none32) {
        if (end_at < locator_bytes) damaged("lacks its zip64 record");
        const std::string locator_record = read_exactly(bytes, end_at - locator_bytes, locator_bytes);
        const header locator(locator_record);
        if (locator.number(0, 4) == locator_mark) {
            directory_end = locator.number(8, 8);
            if (directory_end > end_at || end_at - directory_end < end64_bytes)
                damaged("has a zip64 record outside of the file");
            const std::string end64_record = read_exactly(bytes, directory_end, end64_bytes);
            const header end64(end64_record);
            if (end64.number(0, 4) != end64_mark) damaged("lacks its zip64 record");
            disks = end64.number(16, 4) | end64.number(20, 4);
            count = end64.number(32, 8);
            size = end64.number(40, 8);
            at = end64.number(48, 8);
        }
    }
    if (disks != 0) damaged("is one part of several");
    if (size > directory_end || at > directory_end - size)
        damaged("has a central directory outside of the file");
    if (count > limits.entries) damaged("has more than " + std::to_string(limits.entries) + " entries");
    if (size > limits.directory_bytes)
        damaged("has a central directory of more than " + std::to_string(limits.directory_bytes) + " bytes");
    // Bytes before an archive, as of a program that unpacks itself, shift every position.
    const std::uint64_t shift = directory_end - size - at;
    read_directory(at + shift, size, count, shift, budget);
    refuse_overlaps(at + shift);
    std::ranges::sort(entries_, {}, &zip_entry::name);
}

void zip_archive::read_directory(std::uint64_t at, std::uint64_t bytes, std::uint64_t count,
                                 std::uint64_t shift, const reading_budget& budget) {
    require_budget(budget, 2 * bytes + count * sizeof(zip_entry), "the directory of a zip archive");
    const std::string directory = read_exactly(bytes_, at, bytes);
    entries_.reserve(count);
    std::size_t next = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        const header of(std::string_view(directory).substr(std::min(next, directory.size())));
        if (of.number(0, 4) != entry_mark) damaged("has a central directory that is damaged");
        const std::uint64_t flags = of.number(8, 2);
        const std::size_t name = of.number(28, 2), extra = of.number(30, 2), comment = of.number(32, 2);
        zip_entry entry;
        entry.name = std::string(of.text(entry_bytes, name));
        entry.method = static_cast<std::uint16_t>(of.number(10, 2));
        entry.checksum = static_cast<std::uint32_t>(of.number(16, 4));
        entry.packed_bytes = of.number(20, 4);
        entry.bytes = of.number(24, 4);
        entry.header_at = of.number(42, 4);
        entry.is_encrypted = (flags & 1) != 0;
        read_zip64(header(of.text(entry_bytes + name, extra)), extra, entry);
        if (entry.header_at > at - shift) damaged("has an entry outside of the file");
        entry.header_at += shift;
        entries_.push_back(std::move(entry));
        next += entry_bytes + name + extra + comment;
    }
}

void zip_archive::refuse_overlaps(std::uint64_t directory_at) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> extents;  // position, least bytes
    extents.reserve(entries_.size());
    for (const zip_entry& each : entries_) {
        const std::uint64_t before = local_bytes + each.name.size();
        if (each.packed_bytes > directory_at || each.header_at > directory_at - each.packed_bytes ||
            before > directory_at - each.packed_bytes - each.header_at)
            damaged("has an entry outside of the file: " + each.name);
        extents.emplace_back(each.header_at, before + each.packed_bytes);
    }
    std::ranges::sort(extents);
    for (std::size_t i = 1; i < extents.size(); ++i) {
        if (extents[i].first - extents[i - 1].first < extents[i - 1].second)
            damaged("has entries that overlap");
    }
}

const zip_entry* zip_archive::find(std::string_view name) const {
    if (name.starts_with('/')) name.remove_prefix(1);
    const auto found = std::ranges::lower_bound(entries_, name, {}, &zip_entry::name);
    if (found != entries_.end() && found->name == name) {
        // Programs differ in which of two they take, so a reader could be shown another text than a check has seen.
        if (found + 1 != entries_.end() && found[1].name == name)
            damaged("has two entries of the name " + found->name);
        return &*found;
    }
    const std::string wanted = lower(name);
    for (const zip_entry& each : entries_) {
        if (each.name.size() == wanted.size() && lower(each.name) == wanted) return &each;
    }
    return nullptr;
}

std::unique_ptr<zip_part> zip_archive::open(const zip_entry& entry) const {
    if (entry.is_encrypted) throw not_convertible("encrypted", "encrypted");
    opened_bytes_ += std::min(entry.bytes, limits_.inflated_bytes + 1);
    if (opened_bytes_ > limits_.inflated_bytes)
        throw not_convertible(
            "too large", "its parts have more than " + std::to_string(limits_.inflated_bytes) + " bytes");
    if (entry.bytes >= limits_.ratio_from && entry.bytes / limits_.ratio > entry.packed_bytes)
        throw not_convertible("too large", "a part has more than " + std::to_string(limits_.ratio) +
                                               " times its packed bytes: " + entry.name);
    const std::string local = read_exactly(bytes_, entry.header_at, local_bytes);
    const header of(local);
    if (of.number(0, 4) != local_mark) damaged("has no entry where it says so: " + entry.name);
    const std::uint64_t at = entry.header_at + local_bytes + of.number(26, 2) + of.number(28, 2);
    if (at > bytes_.size() || entry.packed_bytes > bytes_.size() - at) damaged("is cut off");
    constexpr int stored = 0, deflated = 8;
    if (entry.method == deflated) return std::make_unique<deflated_part>(bytes_, at, entry);
    if (entry.method != stored)
        throw not_convertible("unknown compression", "packed by method " + std::to_string(entry.method) +
                                                         " of zip, which is not read: " + entry.name);
    return std::make_unique<stored_part>(bytes_, at, entry);
}

std::string zip_archive::read(const zip_entry& entry, std::uint64_t max) const {
    if (entry.bytes > max)
        throw not_convertible("too large",
                              "the part " + entry.name + " has more than " + std::to_string(max) + " bytes");
    const auto part = open(entry);
    std::string out(entry.bytes + 1, '\0');  // one more: reaching the end checks the checksum
    out.resize(part->read(out));
    return out;
}

}  // namespace quern::io
