// SPDX-License-Identifier: Apache-2.0
// Files of vectors and matrices, read once for many calls of the operations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "quern/base/context.hpp"
#include "quern/base/vectors.hpp"
#include "quern/ops/sparse.hpp"

namespace quern {

/// A file in a format of docs/vectors.md. Views are valid as long as a copy of this object lives; of most formats they are
/// views of the mapped file, which is read as needed.
class vectors_file {
  public:
    struct state;
    explicit vectors_file(std::shared_ptr<const state> made);

    bool sparse() const;
    const vectors_view& dense() const;                ///< if not sparse()
    const sparse_vectors_view& sparse_rows() const;   ///< if sparse()
    std::span<const std::string_view> names() const;  ///< of word2vec and GloVe: one per row; else empty
    /// Conversions made, one sentence each, for the user.
    std::span<const std::string> notes() const;

  private:
    std::shared_ptr<const state> state_;
};

struct vectors_file_request {
    std::filesystem::path path;
    std::string tensor = {};  ///< of safetensors; may be empty if only one fits
    bool as_bits = false;     ///< bytes are eight components each
};
/// Throws usage_error (no such file or tensor), invalid_input (file, line or offset, reason), io_error, out_of_memory,
/// interrupted.
vectors_file open_vectors_file(const vectors_file_request& request, const context& ctx);

/// A Matrix Market file. Copies share the entries.
class matrix_file {
  public:
    struct state;
    explicit matrix_file(std::shared_ptr<const state> made);

    /// Valid as long as a copy of this object lives.
    sparse_matrix_view<double> view() const;

  private:
    std::shared_ptr<const state> state_;
};
/// Throws usage_error, invalid_input (file, line, reason), io_error, out_of_memory, interrupted.
matrix_file open_matrix_file(const std::filesystem::path& path, const context& ctx);

}  // namespace quern
