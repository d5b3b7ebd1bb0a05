// SPDX-License-Identifier: Apache-2.0
#include "quern/tasks/opened_files.hpp"

#include <utility>

#include "io/matrix/read_matrix.hpp"
#include "io/vectors/vector_file.hpp"

namespace quern {

struct vectors_file::state {
    io::vector_file file;
};

vectors_file::vectors_file(std::shared_ptr<const state> made) : state_(std::move(made)) {}
bool vectors_file::sparse() const {
    return state_->file.sparse();
}
const vectors_view& vectors_file::dense() const {
    return state_->file.dense();
}
const sparse_vectors_view& vectors_file::sparse_rows() const {
    return state_->file.sparse_rows();
}
std::span<const std::string_view> vectors_file::names() const {
    return state_->file.names();
}
std::span<const std::string> vectors_file::notes() const {
    return state_->file.notes();
}

vectors_file open_vectors_file(const vectors_file_request& request, const context& ctx) {
    return vectors_file(std::make_shared<const vectors_file::state>(
        io::open_vectors(request.path, {.tensor = request.tensor, .as_bits = request.as_bits}, ctx)));
}

struct matrix_file::state {
    io::matrix_rows rows;
};

matrix_file::matrix_file(std::shared_ptr<const state> made) : state_(std::move(made)) {}
sparse_matrix_view<double> matrix_file::view() const {
    const io::matrix_rows& rows = state_->rows;
    return {rows.rows, rows.columns, rows.offsets.span(), rows.column.span(), rows.value.span()};
}

matrix_file open_matrix_file(const std::filesystem::path& path, const context& ctx) {
    return matrix_file(std::make_shared<const matrix_file::state>(io::read_matrix(path, ctx)));
}

}  // namespace quern
