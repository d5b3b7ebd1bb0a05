// SPDX-License-Identifier: Apache-2.0
#include "io/parquet/row_writer.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "io/parquet/level_writer.hpp"
#include "io/parquet/page_codec.hpp"
#include "io/parquet/thrift_writer.hpp"
#include "quern/base/error.hpp"

namespace quern::io::parquet {
namespace {

constexpr std::size_t page_bytes = 1 << 20, max_page_bytes = 16 << 20, page_entries = 1 << 18,
                      max_page_entries = 1 << 22;
constexpr std::size_t entries_at_once = 4096;

/// The codecs that nothing here writes become zstd, and the old framing of LZ4 the new one.
codec written_codec(codec read) {
    if (read == codec::lz4_framed) return codec::lz4_raw;
    return is_supported(read) && read != codec::brotli ? read : codec::zstd;
}

std::vector<std::string_view> path_of(const schema& columns, std::uint32_t node) {
    std::vector<std::string_view> names;
    for (; node != 0; node = columns.nodes[node].parent) names.emplace_back(columns.nodes[node].name);
    std::ranges::reverse(names);
    return names;
}

/// The rows of a group up to the last one that is wanted, and how many of them are. The file may say that there are more
/// rows than anyone could count.
std::pair<std::uint64_t, std::uint64_t> rows_until(const row_group& group, const std::vector<bool>& wanted) {
    std::uint64_t end = 0, count = 0;
    for (std::uint64_t row = 0; row < group.rows && group.first_row + row < wanted.size(); ++row) {
        if (!wanted[group.first_row + row]) continue;
        end = row + 1;
        ++count;
    }
    return {end, count};
}

}  // namespace

/// Collects the entries of one column, and writes a page when it has enough.
class row_writer::page_writer {
  public:
    page_writer(row_writer& to, const leaf_column& leaf, codec compression) : to_(to), leaf_(leaf) {
        chunk_.compression = written_codec(compression);
        chunk_.begin = to.at_;
    }

    void begin_row() {
        if (values_.size() >= page_bytes || entries_ >= page_entries) flush();
    }
    void add(std::uint16_t repetition, std::uint16_t definition) {
        if (values_.size() >= max_page_bytes || entries_ >= max_page_entries) flush();  // within a row
        if (leaf_.max_repetition != 0) repetition_.push_back(repetition);
        if (leaf_.max_definition != 0) definition_.push_back(definition);
        ++entries_;
    }
    void add_value(std::string_view value) {
        if (leaf_.type == physical_type::boolean) {
            if (booleans_ % 8 == 0) values_ += '\0';
            values_.back() = static_cast<char>(values_.back() | (value[0] != 0 ? 1U << booleans_ % 8 : 0U));
            ++booleans_;
            return;
        }
        if (leaf_.width == 0) {
            const auto length = static_cast<std::uint32_t>(value.size());
            values_.append(reinterpret_cast<const char*>(&length), sizeof length);
        }
        values_ += value;
    }
    written_chunk finish() {
        if (entries_ != 0 || chunk_.values == 0) flush();
        return chunk_;
    }

  private:
    void flush() {
        std::string plain;
        append_levels(plain, repetition_, leaf_.max_repetition);
        append_levels(plain, definition_, leaf_.max_definition);
        plain += values_;
        const std::string packed = compress(chunk_.compression, plain, to_.ctx_);
        std::string header;
        thrift_writer out(header);
        out.begin_struct();
        out.integer(1, static_cast<std::int32_t>(page_header::kind::data));
        out.integer(2, static_cast<std::int32_t>(plain.size()));
        out.integer(3, static_cast<std::int32_t>(packed.size()));
        out.begin_struct(5);
        out.integer(1, static_cast<std::int32_t>(entries_));
        out.integer(2, static_cast<std::int32_t>(encoding::plain));
        out.integer(3, static_cast<std::int32_t>(encoding::rle));
        out.integer(4, static_cast<std::int32_t>(encoding::rle));
        out.end_struct();
        out.end_struct();
        to_.write(header);
        to_.write(packed);
        chunk_.values += entries_;
        chunk_.plain_bytes += header.size() + plain.size();
        chunk_.packed_bytes += header.size() + packed.size();
        repetition_.clear();
        definition_.clear();
        values_.clear();
        entries_ = booleans_ = 0;
    }

    row_writer& to_;
    leaf_column leaf_;
    written_chunk chunk_;
    std::vector<std::uint16_t> repetition_, definition_;
    std::string values_;
    std::size_t entries_ = 0, booleans_ = 0;
};

void row_writer::write(std::string_view bytes) {
    out_(bytes);
    at_ += bytes.size();
}

void row_writer::begin(const std::shared_ptr<const parquet_file>& file) {
    if (!first_) {
        first_ = file;
        write(magic);
    }
    if (file->metadata().schema_bytes == first_->metadata().schema_bytes) return;
    throw usage_error(file->name() + " has other columns than " + first_->name() +
                      " (expected files with the same schema for one Parquet file)");
}

void row_writer::append(const std::shared_ptr<const parquet_file>& file, const std::vector<bool>& wanted) {
    begin(file);
    const std::vector<row_group>& groups = file->metadata().groups;
    std::uint64_t max_rows = 0;
    for (const row_group& group : groups) max_rows = std::max(max_rows, group.rows);
    std::uint64_t rows = 0;  // of the groups from `first` on
    std::size_t first = 0;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const std::uint64_t more = rows_until(groups[g], wanted).second;
        if (rows + more > max_rows) {
            write_group(file, first, g, rows, wanted);
            first = g;
            rows = 0;
        }
        rows += more;
    }
    write_group(file, first, groups.size(), rows, wanted);
}

void row_writer::write_group(const std::shared_ptr<const parquet_file>& file, std::size_t first,
                             std::size_t last, std::uint64_t rows, const std::vector<bool>& wanted) {
    if (rows == 0) return;
    const file_metadata& from = file->metadata();
    written_group made{rows, {}};
    for (std::size_t leaf = 0; leaf < from.columns.leaves.size(); ++leaf) {
        page_writer pages(*this, from.columns.leaves[leaf], from.groups[first].chunks[leaf].compression);
        for (std::size_t g = first; g < last; ++g) write_leaf(file, g, leaf, wanted, pages);
        made.chunks.push_back(pages.finish());
    }
    rows_ += rows;
    groups_.push_back(std::move(made));
}

void row_writer::write_leaf(const std::shared_ptr<const parquet_file>& file, std::size_t group,
                            std::size_t leaf, const std::vector<bool>& wanted, page_writer& pages) {
    const row_group& of = file->metadata().groups[group];
    const std::uint64_t end = rows_until(of, wanted).first;
    if (end == 0) return;
    const leaf_column& column = file->metadata().columns.leaves[leaf];
    column_reader reader(file, group, leaf);
    reader.limit_memory(ctx_.memory_limit() / 4);
    column_batch batch;
    std::uint64_t row = 0;  // of the group, the next to begin
    bool is_wanted = false;
    while (row <= end && reader.read(batch, entries_at_once) != 0) {
        ctx_.check_stop();
        std::size_t value = 0;
        for (std::size_t i = 0; i < batch.entries; ++i) {
            const std::uint16_t repetition =
                batch.repetition.empty() ? std::uint16_t{0} : batch.repetition[i];
            const std::uint16_t definition =
                batch.definition.empty() ? column.max_definition : batch.definition[i];
            if (repetition == 0) {
                is_wanted = row < end && wanted[of.first_row + row];
                ++row;
                if (is_wanted) pages.begin_row();
            }
            if (is_wanted) pages.add(repetition, definition);
            if (definition != column.max_definition) continue;
            if (is_wanted) {
                pages.add_value(
                    column.width == 0
                        ? batch.texts[value]
                        : std::string_view(batch.fixed.data() + value * column.width, column.width));
            }
            ++value;
        }
    }
    if (row < end) {
        throw invalid_input(file->name(), 0,
                            "the column " + file->metadata().columns.path_of(column.node) +
                                " has fewer rows than its row group");
    }
}

void row_writer::finish() {
    if (!first_) throw usage_error("a Parquet file needs the schema of another one, and there is none");
    const file_metadata& like = first_->metadata();
    std::string footer;
    thrift_writer out(footer);
    out.begin_struct();
    out.integer(1, 2);  // version
    out.copied_list(2, like.schema_bytes);
    out.long_integer(3, rows_);
    out.begin_list(4, thrift_type::structure, groups_.size());
    for (const written_group& group : groups_) {
        std::uint64_t plain_bytes = 0, packed_bytes = 0;
        out.begin_struct();
        out.begin_list(1, thrift_type::structure, group.chunks.size());
        for (std::size_t leaf = 0; leaf < group.chunks.size(); ++leaf) {
            const written_chunk& chunk = group.chunks[leaf];
            const std::vector<std::string_view> path = path_of(like.columns, like.columns.leaves[leaf].node);
            out.begin_struct();
            out.long_integer(2, chunk.begin);
            out.begin_struct(3);
            out.integer(1, static_cast<std::int32_t>(like.columns.leaves[leaf].type));
            out.begin_list(2, thrift_type::i32, 2);
            out.element(static_cast<std::int32_t>(encoding::plain));
            out.element(static_cast<std::int32_t>(encoding::rle));
            out.begin_list(3, thrift_type::binary, path.size());
            for (const std::string_view name : path) out.element(name);
            out.integer(4, static_cast<std::int32_t>(chunk.compression));
            out.long_integer(5, chunk.values);
            out.long_integer(6, chunk.plain_bytes);
            out.long_integer(7, chunk.packed_bytes);
            out.long_integer(9, chunk.begin);
            out.end_struct();
            out.end_struct();
            plain_bytes += chunk.plain_bytes;
            packed_bytes += chunk.packed_bytes;
        }
        out.long_integer(2, plain_bytes);
        out.long_integer(3, group.rows);
        if (!group.chunks.empty()) out.long_integer(5, group.chunks.front().begin);
        out.long_integer(6, packed_bytes);
        out.end_struct();
    }
    if (!like.key_values.empty()) {
        out.begin_list(5, thrift_type::structure, like.key_values.size());
        for (const auto& [key, value] : like.key_values) {
            out.begin_struct();
            out.text(1, key);
            out.text(2, value);
            out.end_struct();
        }
    }
    out.text(6, "Quern");
    out.end_struct();
    const auto length = static_cast<std::uint32_t>(footer.size());
    footer.append(reinterpret_cast<const char*>(&length), sizeof length);
    footer += magic;
    write(footer);
}

}  // namespace quern::io::parquet
