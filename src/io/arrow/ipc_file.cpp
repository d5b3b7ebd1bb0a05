// SPDX-License-Identifier: Apache-2.0
// The tables are those of Message.fbs and File.fbs (arrow.apache.org/docs/format/Columnar.html); a comment names the field of
// each number.
#include "io/arrow/ipc_file.hpp"

#include <utility>

#include "quern/base/error.hpp"

namespace quern::io::arrow {
namespace {

constexpr std::uint32_t continuation = 0xFFFFFFFF;
constexpr std::size_t block_bytes = 24, pair_bytes = 16;
constexpr std::uint8_t schema_kind = 1, dictionary_kind = 2, batch_kind = 3;
constexpr std::int16_t version_4 = 3, version_5 = 4;

std::uint64_t positive(std::int64_t value, std::string_view what) {
    if (value < 0) throw fault("a negative " + std::string(what));
    return static_cast<std::uint64_t>(value);
}

std::int16_t checked_version(const flat_table& of) {
    const auto version = of.number<std::int16_t>(0, 0);
    if (version != version_4 && version != version_5)
        throw fault("version " + std::to_string(version + 1) +
                    " of its metadata is not read; write it again with a newer program");
    return version;
}

/// A message's metadata, and where its body begins.
struct raw_message {
    std::string_view metadata;
    std::uint64_t body = 0;

    flat_table table() const { return flat_table::root(metadata); }
};

/// At the end of a stream: nothing. Throws fault.
std::optional<raw_message> message_at(std::string_view bytes, std::uint64_t at) {
    if (at == bytes.size()) return std::nullopt;
    if (number_at<std::uint32_t>(bytes, at) != continuation)
        throw fault("a message does not begin as it must");
    const auto length = number_at<std::uint32_t>(bytes, at + sizeof continuation);
    if (length == 0) return std::nullopt;
    const std::string_view rest = bytes.substr(at + 2 * sizeof continuation);
    if (length > rest.size()) throw fault("a message ends after the end of the file");
    return raw_message{rest.substr(0, length), at + 2 * sizeof continuation + length};
}

batch_header parse_batch(const flat_table& batch) {
    batch_header result;
    result.rows = positive(batch.number<std::int64_t>(0, 0), "number of rows");
    result.nodes = batch.vector(1, pair_bytes);
    result.buffers = batch.vector(2, pair_bytes);
    result.view_buffers = batch.vector(4, sizeof(std::int64_t));
    if (batch.has(3)) {  // compression
        const flat_table how = batch.table(3);
        const auto codec = how.number<std::int8_t>(0, 0);
        if (how.number<std::int8_t>(1, 0) != 0 || codec < 0 || codec > 1)
            throw fault("compressed in a way that is not known; write it again with zstd or lz4");
        result.compression = codec == 0 ? batch_header::codec::lz4 : batch_header::codec::zstd;
    }
    return result;
}

/// A dictionary or a record batch; nothing for other kinds.
std::optional<message> parse_message(std::string_view bytes, const raw_message& raw) {
    const flat_table table = raw.table();
    checked_version(table);
    const std::uint64_t body = positive(table.number<std::int64_t>(3, 0), "length of a body");
    if (body > bytes.size() - raw.body) throw fault("a message ends after the end of the file");
    message result;
    result.body = bytes.substr(raw.body, body);
    result.end = raw.body + body;
    const auto kind = table.number<std::uint8_t>(1, 0);
    const flat_table header = table.table(2);
    if (kind == batch_kind) {
        result.batch = parse_batch(header);
    } else if (kind == dictionary_kind) {
        result.is_dictionary = true;
        result.dictionary = header.number<std::int64_t>(0, 0);
        result.batch = parse_batch(header.table(1));
        result.is_delta = header.number<std::uint8_t>(2, 0) != 0;
    } else {
        return std::nullopt;
    }
    return result;
}

}  // namespace

bool opens_stream(std::string_view head) {
    try {
        if (number_at<std::uint32_t>(head, 0) != continuation) return false;
        const auto length = number_at<std::uint32_t>(head, sizeof continuation);
        const flat_table table = flat_table::root(head.substr(2 * sizeof continuation, length));
        const auto version = table.number<std::int16_t>(0, 0);
        return (version == version_4 || version == version_5) && table.has(2) &&
               table.number<std::uint8_t>(1, 0) == schema_kind;
    } catch (const fault&) {
        return false;
    }
}

ipc_file::ipc_file(mapped_file mapped, std::string_view bytes, std::string name, std::uint64_t max_bytes)
    : mapped_(std::move(mapped)), bytes_(bytes), name_(std::move(name)) {
    try {
        is_stream_ = !bytes_.starts_with(magic.substr(0, 6));
        if (bytes_.starts_with(old_feather_magic))
            throw fault("Feather of version 1; write it again as version 2 (Arrow IPC)");
        if (is_stream_) {
            read_first_message(max_bytes);
        } else {
            read_footer(max_bytes);
        }
    } catch (const fault& why) {
        throw invalid_input(name_, 0, std::string("an Arrow file that cannot be read: ") + why.what());
    }
}

void ipc_file::read_first_message(std::uint64_t max_bytes) {
    const auto raw = message_at(bytes_, 0);
    if (!raw) throw fault("it is empty");
    const flat_table table = raw->table();
    const bool is_old = checked_version(table) == version_4;
    if (table.number<std::uint8_t>(1, 0) != schema_kind) throw fault("it does not begin with its columns");
    const std::uint64_t body = positive(table.number<std::int64_t>(3, 0), "length of a body");
    if (body > bytes_.size() - raw->body) throw fault("a message ends after the end of the file");
    schema_ = parse_schema(table.table(2), is_old, raw->metadata.size(), max_bytes);
    first_ = raw->body + body;
}

void ipc_file::read_footer(std::uint64_t max_bytes) {
    const std::string_view end = magic.substr(0, 6);
    const std::size_t tail = sizeof(std::uint32_t) + end.size();
    if (bytes_.size() < magic.size() + tail || !bytes_.ends_with(end))
        throw fault("it is cut off: its footer is missing");
    const auto length = number_at<std::uint32_t>(bytes_, bytes_.size() - tail);
    if (length > bytes_.size() - tail - magic.size()) throw fault("its footer is longer than the file");
    const std::string_view footer = bytes_.substr(bytes_.size() - tail - length, length);
    const flat_table table = flat_table::root(footer);
    const bool is_old = checked_version(table) == version_4;
    if (!table.has(1)) throw fault("its footer has no columns");
    schema_ = parse_schema(table.table(1), is_old, footer.size(), max_bytes);
    dictionaries_ = table.vector(2, block_bytes);
    batches_ = table.vector(3, block_bytes);
}

std::shared_ptr<const ipc_file> ipc_file::open(const std::filesystem::path& path, std::uint64_t max_bytes) {
    return of(mapped_file(path), path.native(), max_bytes);
}

std::shared_ptr<const ipc_file> ipc_file::of(mapped_file mapped, std::string name, std::uint64_t max_bytes) {
    const std::string_view bytes = mapped.text();
    return std::shared_ptr<const ipc_file>(
        new ipc_file(std::move(mapped), bytes, std::move(name), max_bytes));
}

std::shared_ptr<const ipc_file> ipc_file::over(std::string_view bytes, std::string name,
                                               std::uint64_t max_bytes) {
    return std::shared_ptr<const ipc_file>(new ipc_file({}, bytes, std::move(name), max_bytes));
}

std::optional<message> message_reader::next_of_stream() {
    while (true) {
        const auto raw = message_at(file_->bytes(), at_);
        if (!raw) return std::nullopt;
        if (raw->table().number<std::uint8_t>(1, 0) == schema_kind)
            throw fault("a second description of its columns; split the stream there");
        auto result = parse_message(file_->bytes(), *raw);
        if (!result) throw fault("a message of an unknown kind");
        at_ = result->end;
        return result;
    }
}

std::optional<message> message_reader::next_of_file() {
    const std::uint64_t before = file_->dictionaries_.count;
    if (number_ == before + file_->batches_.count) return std::nullopt;
    const bool is_dictionary = number_ < before;
    const flat_vector& blocks = is_dictionary ? file_->dictionaries_ : file_->batches_;
    const std::uint64_t number = is_dictionary ? number_ : number_ - before;
    ++number_;
    const std::uint64_t at =
        positive(number_at<std::int64_t>(blocks.bytes, number * block_bytes), "place of a message");
    if (at >= file_->bytes().size()) throw fault("a message lies after the end of the file");
    const auto raw = message_at(file_->bytes(), at);
    auto result = raw ? parse_message(file_->bytes(), *raw) : std::nullopt;
    if (!result || result->is_dictionary != is_dictionary)
        throw fault("its footer names a message of another kind");
    return result;
}

std::optional<message> message_reader::next() {
    auto result = file_->is_stream_ ? next_of_stream() : next_of_file();
    if (result) result->pool = file_->pool_;
    return result;
}

}  // namespace quern::io::arrow
