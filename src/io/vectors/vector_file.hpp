// SPDX-License-Identifier: Apache-2.0
// Vectors from files, as views of the mapped file wherever its bytes can be used directly. docs/vectors.md has the
// formats: .npy, .fvecs .bvecs .ivecs, .fbin .u8bin .i8bin .ibin, idx (MNIST), word2vec and GloVe (text), word2vec
// (binary), JSON lines, safetensors; sparse: Matrix Market, .csr. Any of them may be compressed (then they are in memory).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/vectors.hpp"

namespace quern::io {

struct vector_file_options {
    std::string tensor = {};  ///< of safetensors: which one; may be empty if only one fits
    bool as_bits = false;     ///< bytes are eight components each; booleans are always packed
};

/// An open file of vectors. Move-only; views are valid during its lifetime.
class vector_file {
  public:
    vector_file();
    ~vector_file();
    vector_file(vector_file&&) noexcept;
    vector_file& operator=(vector_file&&) noexcept;

    bool sparse() const;
    const vectors_view& dense() const;               ///< if not sparse()
    const sparse_vectors_view& sparse_rows() const;  ///< if sparse()
    std::uint64_t rows() const;
    std::uint32_t dimensions() const;
    /// word2vec and GloVe: the words, one per row; JSON lines: the ids; else empty.
    std::span<const std::string_view> names() const;
    std::string_view format() const;  ///< "npy", "fvecs", …
    /// Conversions made, one sentence each, for the user: "int64 values became uint8, which holds all of them".
    std::span<const std::string> notes() const;
    std::uint64_t file_bytes() const;

    struct state;

  private:
    friend void match_types(vector_file&, vector_file&, const context&);
    friend vector_file open_vectors(const std::filesystem::path&, const vector_file_options&, const context&);
    std::unique_ptr<state> state_;
};

/// Throws
/// - usage_error: no such file, no such tensor;
/// - invalid_input with the line or, for binary formats, with the offset in the reason: a header whose numbers do not
///   fit the file ("says 1,000,000 rows of 128 at offset 0, but the file ends after row 999,999"), rows of different
///   lengths, column order, big-endian numbers, numbers that do not fit the type;
/// - io_error, out_of_memory, interrupted.
vector_file open_vectors(const std::filesystem::path& path, const vector_file_options& options,
                         const context& ctx);

/// Converts dense files of different types to a common one that holds every value exactly: the queries to the type of
/// the vectors if they fit it, else both to int16 (integers) or float32. Adds a note to each converted file. Bits,
/// numbers that fit no common type, and sparse files stay unchanged. Throws out_of_memory, interrupted.
void match_types(vector_file& vectors, vector_file& queries, const context& ctx);

// ---- Neighbours ----

/// The nearest ids of each query, from .ivecs, .ibin (with or without distances after the ids), .npy of integers, or
/// text (ids separated by white space or commas, one query a line).
struct neighbour_truth {
    std::uint64_t queries = 0, k = 0;
    std::vector<std::uint32_t> ids;  ///< queries · k
    std::vector<float> distances;    ///< as many as ids, or empty
};
neighbour_truth read_truth(const std::filesystem::path& path, std::uint64_t rows, const context& ctx);

/// The ids in a file, as a bitmap of `rows` bits: one number a line, or .npy of integers, or .npy of `rows` booleans.
/// Throws invalid_input for a number >= `rows`.
std::vector<std::uint64_t> read_allowed(const std::filesystem::path& path, std::uint64_t rows,
                                        const context& ctx);

/// Writes a matrix row by row as .ibin or .fbin: u32 rows, u32 columns, then the values; the file appears whole or not
/// at all (commit). Throws usage_error if a row has another number of columns.
class bin_writer {
  public:
    /// Throws usage_error if the file exists and must not be replaced.
    bin_writer(const std::filesystem::path& path, std::uint64_t rows, std::uint64_t columns,
               bool replace = false);
    ~bin_writer();
    bin_writer(bin_writer&&) noexcept;
    void row(std::span<const std::uint32_t> values);
    void row(std::span<const float> values);
    void commit();
    /// Commits both files or, if one fails, none.
    static void commit_together(bin_writer& a, bin_writer& b);

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace quern::io
