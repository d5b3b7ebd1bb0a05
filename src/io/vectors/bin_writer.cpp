// SPDX-License-Identifier: Apache-2.0
// .ibin and .fbin as big-ann-benchmarks have them: rows and columns in 32 bits each, then the values by rows.
#include <limits>
#include <string>

#include "io/files/atomic_file.hpp"
#include "io/vectors/vector_file.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

struct bin_writer::state {
    state(const std::filesystem::path& path, std::uint64_t row_count, std::uint64_t column_count,
          existing policy)
        : file(path, policy), rows(row_count), columns(column_count) {}

    template <class T>
    void append(std::span<const T> values) {
        static_assert(sizeof(T) == 4);
        if (values.size() != columns) {
            throw usage_error(file.path().string() + ": row " + std::to_string(written) + " has " +
                              std::to_string(values.size()) + " values; the others have " +
                              std::to_string(columns));
        }
        if (written == rows)
            throw usage_error(file.path().string() + ": more than the " + std::to_string(rows) +
                              " rows that its header states");
        file.writer().append_values(values);
        ++written;
    }

    void require_all() const {
        if (written == rows) return;
        throw usage_error(file.path().string() + ": " + std::to_string(written) + " of " +
                          std::to_string(rows) + " rows were written");
    }

    atomic_file file;
    std::uint64_t rows, columns, written = 0;
};

bin_writer::bin_writer(const std::filesystem::path& path, std::uint64_t rows, std::uint64_t columns,
                       bool replace) {
    constexpr std::uint64_t max = std::numeric_limits<std::uint32_t>::max();
    if (rows > max || columns > max) {
        throw usage_error(path.string() + ": " + std::to_string(rows) + " rows of " +
                          std::to_string(columns) + " values; a header of 32-bit numbers cannot say so");
    }
    state_ = std::make_unique<state>(path, rows, columns, replace ? existing::replace : existing::refuse);
    const std::uint32_t header[] = {static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(columns)};
    state_->file.writer().append_values(std::span<const std::uint32_t>(header));
}

bin_writer::~bin_writer() = default;
bin_writer::bin_writer(bin_writer&&) noexcept = default;

void bin_writer::row(std::span<const std::uint32_t> values) {
    state_->append(values);
}
void bin_writer::row(std::span<const float> values) {
    state_->append(values);
}

void bin_writer::commit() {
    state_->require_all();
    state_->file.commit();
}

void bin_writer::commit_together(bin_writer& a, bin_writer& b) {
    for (const bin_writer* const writer : {&a, &b}) writer->state_->require_all();
    atomic_file* const files[] = {&a.state_->file, &b.state_->file};
    atomic_file::commit_together(files);
}

}  // namespace quern::io
