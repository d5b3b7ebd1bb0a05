// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/kept_rows.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <system_error>

#include "base/failure_kinds.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

std::shared_ptr<const io::parquet::parquet_file> open(const std::string& path, const context& ctx) {
    return io::parquet::parquet_file::open(path, ctx.memory_limit() / 4);
}

}  // namespace

file_state state_of(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        if (says_missing(errno)) return {};
        throw io_error(path, "cannot be looked at", errno);
    }
    return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
            static_cast<std::uint64_t>(status.st_size), status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

void refuse_changed(const std::string& path, const file_state& state) {
    if (state_of(path) != state)
        throw invalid_input(path, 0, "was changed after it was compared; nothing was written");
}

bool is_parquet(const std::string& path) {
    std::error_code failed;
    if (!std::filesystem::is_regular_file(path, failed)) return false;
    std::array<char, io::parquet::magic.size()> head{};
    std::ifstream(path, std::ios::binary).read(head.data(), head.size());
    return std::string_view(head.data(), head.size()) == io::parquet::magic;
}

bool has_rows(const std::string& path, const context& ctx) {
    try {
        return is_parquet(path) && open(path, ctx) != nullptr;
    } catch (const invalid_input&) {
        return false;
    }
}

std::string row_record(const document& d) {
    const std::uint64_t row = d.line - 1;
    return {reinterpret_cast<const char*>(&row), sizeof row};
}

std::uint64_t row_of(std::string_view record) {
    std::uint64_t row = 0;
    std::memcpy(&row, record.data(), std::min(sizeof row, record.size()));
    return row;
}

void kept_rows::take(std::uint64_t row) {
    if (row >= rows_.size()) rows_.resize(row + 1);
    rows_[row] = true;
}

void kept_rows::write(const std::string& path, io::parquet::row_writer& to) const {
    to.append(open(path, ctx_), rows_);
}

void row_file::append(const document& d, const context& ctx) {
    if (files_.empty() || files_.back().scope != d.scope || files_.back().path != d.path) {
        if (d.line == 0 || !is_parquet(d.path))
            throw usage_error(
                d.path +
                " is not a Parquet file by name, and only Parquet files can be written to one (expected "
                "Parquet files, or another ending of the output, such as .jsonl)");
        const auto file = open(d.path, ctx);
        const std::string_view schema = file->metadata().schema_bytes;
        if (!files_.empty() && schema != schema_)
            throw usage_error(d.path + " has other columns than " + files_.front().path +
                              " (expected files with the same schema; a folder, DIR/, has a file for each)");
        schema_ = schema;
        files_.push_back({d.path, d.scope, documents_, state_of(d.path)});
    }
    numbers_.append(row_record(d));
    ++documents_;
}

void row_file::write(const std::function<bool(std::size_t)>& wanted,
                     const std::function<void(std::string_view)>& out, const context& ctx) {
    numbers_.flush();
    io::parquet::row_writer writer(out, ctx);
    for (std::size_t i = 0; i < files_.size(); ++i) {
        const source& file = files_[i];
        const std::size_t end = i + 1 < files_.size() ? files_[i + 1].first : documents_;
        kept_rows rows(ctx);
        for (std::size_t d = file.first; d < end; ++d) {
            if (!wanted(d)) continue;
            std::array<char, sizeof(std::uint64_t)> record{};
            numbers_.read_at(d * record.size(), record);
            rows.take(row_of({record.data(), record.size()}));
        }
        refuse_changed(file.path, file.state);
        rows.write(file.path, writer);
        refuse_changed(file.path, file.state);
        ctx.check_stop();
    }
    writer.finish();
}

}  // namespace quern
