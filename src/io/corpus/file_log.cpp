// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/file_log.hpp"

#include <zstd.h>

#include <cstddef>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/hash.hpp"
#include "base/varint.hpp"
#include "io/compression/zstd_frame.hpp"
#include "io/files/settled_time.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

constexpr std::size_t frame_bytes = 1 << 20, max_record_bytes = 1 << 20;
constexpr std::size_t key_bytes = 16, frame_head_bytes = 8, padding = 16;
constexpr int log_compression_level = 1;

/// Numbers and strings of a frame, whose end is followed by zeros.
class record_cursor {
  public:
    record_cursor(const section_view& log, std::string_view frame) : log_(log), rest_(frame) {}

    std::uint64_t number() {
        if (rest_.empty()) log_.fail("has a record that is cut");
        const char* at = rest_.data();
        const std::uint64_t value = read_varint(at);
        skip(static_cast<std::uint64_t>(at - rest_.data()));
        return value;
    }
    std::string_view text() {
        const std::uint64_t bytes = number();
        const std::string_view found = rest_;
        skip(bytes);
        return found.substr(0, bytes);
    }
    std::string_view rest() const { return rest_; }

  private:
    void skip(std::uint64_t bytes) {
        if (bytes > rest_.size()) log_.fail("has a record that is cut");
        rest_.remove_prefix(bytes);
    }

    const section_view& log_;
    std::string_view rest_;
};

void append_text(std::string& out, std::string_view text) {
    append_varint(out, text.size());
    out += text;
}

/// Whether a later change would give the file another time.
bool is_settled(std::int64_t time, std::chrono::system_clock::time_point begin) {
    using namespace std::chrono;
    return is_settled_before(sys_time<nanoseconds>(nanoseconds(time)), sys_time<nanoseconds>(begin));
}

std::string key_text(std::string_view key) {
    const hash128_value hash = hash128(key);
    return std::string(reinterpret_cast<const char*>(&hash.high), sizeof hash.high) +
           std::string(reinterpret_cast<const char*>(&hash.low), sizeof hash.low);
}

}  // namespace

document file_record::made_of(const folder_file& file) const {
    document result;
    result.id = relative;
    result.title = title;
    result.text = text;
    result.links.assign(links.begin(), links.end());
    result.path = file.path.native();
    return result;
}

file_log::file_log(const std::filesystem::path& earlier, const std::filesystem::path& made,
                   std::string_view key)
    : made_(made) {
    made_.append(key_text(key));
    std::error_code missing;
    if (!std::filesystem::is_regular_file(earlier, missing)) return;
    try {
        earlier_.emplace(earlier, earlier.filename().string());
        if (earlier_->size() < key_bytes || earlier_->bytes(0, key_bytes) != key_text(key)) {
            earlier_.reset();
            return;
        }
        at_ = key_bytes;
        read_next();
    } catch (const error&) {  // without it, everything is read
        next_.reset();
        earlier_.reset();
    }
}

file_log::listed_file file_log::list(std::uint32_t input, folder_file file) {
    const file_state& state = file.state;
    const bool may_keep = is_settled(state.modified, begin_) && is_settled(state.changed, begin_);
    listed_file listed{std::move(file), may_keep, {}};
    const folder_file& now = listed.file;
    try {
        const auto is_before = [&] {
            return std::tie(next_->input, next_->relative) <
                   std::tuple<const std::uint32_t&, std::string_view>(input, now.relative);
        };
        while (next_ && is_before()) read_next();
        if (next_ && next_->input == input && next_->relative == now.relative && next_->state == now.state)
            listed.record = next_;
    } catch (const error&) {
        next_.reset();
    }
    if (listed.record) ++unchanged_;
    return listed;
}

void file_log::read_next() {
    next_.reset();
    while (!frame_ || in_frame_ == frame_->plain.size() - padding) {
        if (at_ == earlier_->size()) return;
        const auto head = earlier_->bytes(at_, frame_head_bytes);
        const auto bytes_at = [&head](std::size_t place) {
            std::uint32_t value = 0;
            for (std::size_t i = 4; i-- > 0;)
                value = value << 8 | static_cast<unsigned char>(head[place + i]);
            return value;
        };
        const std::uint32_t plain = bytes_at(0), packed = bytes_at(4);
        if (plain > frame_bytes + max_record_bytes) earlier_->fail("has a frame that is too large");
        auto frame = std::make_shared<log_frame>();
        frame->plain.assign(plain + padding, '\0');
        frame->packed = earlier_->bytes(at_, frame_head_bytes + packed);
        if (!decompress_zstd(frame->packed.substr(frame_head_bytes), std::span(frame->plain).first(plain)))
            earlier_->fail("has a frame that is damaged");
        at_ += frame_head_bytes + packed;
        frame_ = std::move(frame);
        in_frame_ = 0;
    }
    const std::string_view rest =
        std::string_view(frame_->plain).substr(0, frame_->plain.size() - padding).substr(in_frame_);
    record_cursor cursor(*earlier_, rest);
    file_record found;
    found.input = static_cast<std::uint32_t>(cursor.number());
    found.relative = cursor.text();
    found.state.bytes = cursor.number();
    found.state.number = cursor.number();
    found.state.modified = static_cast<std::int64_t>(cursor.number());
    found.state.changed = static_cast<std::int64_t>(cursor.number());
    found.title = cursor.text();
    found.text = cursor.text();
    for (std::uint64_t links = cursor.number(); links > 0; --links) found.links.push_back(cursor.text());
    found.whole = rest.substr(0, rest.size() - cursor.rest().size());
    found.frame = frame_;
    in_frame_ += found.whole.size();
    next_ = std::move(found);
}

std::string file_log::record_of(std::uint32_t input, const listed_file& file, const document& made) {
    std::string record;
    if (!file.may_keep || made.id != file.file.relative || made.text.size() > max_record_bytes) return record;
    append_varint(record, input);
    append_text(record, made.id);
    append_varint(record, file.file.state.bytes);
    append_varint(record, file.file.state.number);
    append_varint(record, static_cast<std::uint64_t>(file.file.state.modified));
    append_varint(record, static_cast<std::uint64_t>(file.file.state.changed));
    append_text(record, made.title);
    append_text(record, made.text);
    append_varint(record, made.links.size());
    for (const std::string& link : made.links) append_text(record, link);
    if (record.size() > max_record_bytes) record.clear();
    return record;
}

void file_log::end_unit(std::uint64_t unit, std::vector<kept_record> records) {
    const std::lock_guard alone(writing_);
    waiting_.emplace(unit, std::move(records));
    for (auto first = waiting_.begin(); first != waiting_.end() && first->first == written_units_;
         first = waiting_.erase(first), ++written_units_) {
        for (const kept_record& record : first->second) add(record);
    }
}

void file_log::add(const kept_record& record) {
    if (record.frame == nullptr && record.made.empty()) return;  // of a file that may change unnoticed
    const auto place =
        record.frame ? static_cast<std::size_t>(record.whole.data() - record.frame->plain.data()) : 0;
    if (record.frame == nullptr || record.frame != copied_ || place != copied_bytes_) {
        end_copy();
        // A small frame is joined with what stands next to it.
        const bool may_copy =
            record.frame && place == 0 && record.frame->plain.size() - padding >= frame_bytes / 4;
        if (!may_copy) return add_plain(record.frame ? record.whole : record.made);
        copied_ = record.frame;
    }
    of_copied_.push_back(record.whole);
    copied_bytes_ += record.whole.size();
    if (copied_bytes_ != copied_->plain.size() - padding) return;
    if (!open_.empty()) write_frame();
    made_.append(copied_->packed);
    of_copied_.clear();
    end_copy();
}

void file_log::add_plain(std::string_view record) {
    open_ += record;
    if (open_.size() >= frame_bytes) write_frame();
}

/// The records of a frame that cannot be copied.
void file_log::end_copy() {
    for (const std::string_view record : of_copied_) add_plain(record);
    of_copied_.clear();
    copied_.reset();
    copied_bytes_ = 0;
}

void file_log::write_frame() {
    std::string packed(ZSTD_compressBound(open_.size()), '\0');
    const std::size_t size =
        ZSTD_compress(packed.data(), packed.size(), open_.data(), open_.size(), log_compression_level);
    if (ZSTD_isError(size) != 0) throw error(std::string("zstd: ") + ZSTD_getErrorName(size));
    made_.append_value(static_cast<std::uint32_t>(open_.size()));
    made_.append_value(static_cast<std::uint32_t>(size));
    made_.append(std::string_view(packed).substr(0, size));
    open_.clear();
}

void file_log::finish() {
    end_copy();
    if (!open_.empty()) write_frame();
    made_.finish();
}

}  // namespace quern::io
