// SPDX-License-Identifier: Apache-2.0
// Nearest neighbours of vectors: exact distances, the complete ranking or the first k (Zhou, Hu, Zhang, Huang
// and Jiang 2011, "High-Dimensional Space Retrieval Sorting Based on CUDA").
//
//     vector_set set(vectors, {.metric = vector_metric::l2}, run);   // once
//     rankings found = set.search(queries, {.k = 100});              // many times
//
// Contract class: exact. The order is that of the true distances (real numbers without rounding), ties by
// ascending id: the same ids and distances on every device and for any tiles and number of threads and GPUs.
// docs/nearest_neighbours.md explains how and proves the filter of `automatic`.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "quern/base/device_vectors.hpp"
#include "quern/base/vectors.hpp"

namespace quern {

// ---- Distances ----

/// The measure and the reported number:
///   sql2     Σ (a − b)², ascending
///   l2       its square root, in the order of sql2. For floats, and cosine of every type, the number is rounded to 32
///            significant bits, for f64 to 40, ties to even; for l2 it is the root, in double, of the rounded sum
///   ip       Σ a·b, descending
///   cosine   1 − Σ a·b / √(Σ a² · Σ b²), in [0, 2], ascending; 1 if one of the two has length 0
///   l1       Σ |a − b|, ascending
///   linf     max |a − b|, ascending
///   hamming  the number of differing bits, ascending; also of u8 vectors, with eight bits per byte. Bits support no other
///            metric, and other types do not support this one.
enum class vector_metric { l2, sql2, ip, cosine, l1, linf, hamming };
inline constexpr std::string_view vector_metric_names[] = {"l2", "sql2", "ip",     "cosine",
                                                           "l1", "linf", "hamming"};

enum class retrieval_method {
    /// Ours: selection instead of sorting for small k, a filter in 8-bit integers for many queries.
    automatic,
    reduction,  ///< Zhou et al. 2011: sixteen threads per vector, then a full sort
};
inline constexpr std::string_view retrieval_method_names[] = {"auto", "reduction"};

struct vector_set_options {
    vector_metric metric = vector_metric::l2;
    retrieval_method method = retrieval_method::automatic;
};

// ---- Rankings ----

inline constexpr std::uint64_t all_vectors = std::numeric_limits<std::uint64_t>::max();

struct retrieval_options {
    std::uint64_t k = 10;  ///< results per query, at least 1; all_vectors: the complete ranking
    /// Only vectors whose reported number is at most this (ip: at least this), the first k of them; not NaN.
    std::optional<double> radius = {};
    /// Vector i is allowed if bit i % 64 of word i / 64 is set: (rows + 63) / 64 words. Empty: all are allowed.
    std::span<const std::uint64_t> allowed = {};
};

/// Query q has ids[offsets[q] … offsets[q + 1]), best first, truly equal distances by ascending id, and their
/// distances: rounded as in vector_metric; for integers as doubles, exact up to 2^53.
struct rankings {
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint32_t> ids;
    std::vector<double> distances;
};

/// Record of the last search.
struct retrieval_record {
    std::string place;             ///< the device, with the reason
    std::uint64_t distances = 0;   ///< computed exactly
    std::uint64_t filtered = 0;    ///< pairs that the filter examined
    std::uint64_t tiles = 0;       ///< pieces of the set, over all GPUs
    std::uint64_t tile_bytes = 0;  ///< of vectors moved to devices
    double prepare_seconds = 0;    ///< checking, moving and encoding vectors
    double search_seconds = 0;
};

/// Vectors to search many times. The memory of the view must outlive the set: the CPU reads it, a GPU reads it if it
/// lies there, and a set larger than a device's memory is streamed from it. Move-only. One search at a time.
class vector_set {
  public:
    /// Several GPUs (cuda:all) each get all rows and share the queries; if a GPU cannot hold all rows, each gets a part of
    /// them. Throws usage_error for inconsistent sizes and for a
    /// metric that the type does not support; invalid_value, with the row, for a component that is not finite,
    /// for bits beyond the last dimension, and (ip, cosine of floats) for one so large that a sum could
    /// overflow; out_of_memory, device_error, interrupted.
    vector_set(const vectors_view& vectors, const vector_set_options& options, const context& ctx);
    /// Does not support hamming. Throws invalid_value, with the row, for columns that are out of range or do
    /// not ascend.
    vector_set(const sparse_vectors_view& vectors, const vector_set_options& options, const context& ctx);
    /// Vectors in the memory of a GPU, searched there without a copy. `automatic`, `cuda` and cuda:all choose that GPU.
    /// Throws usage_error if the context requests the CPU or another GPU, and as above.
    vector_set(const device_vectors_view& vectors, const vector_set_options& options, const context& ctx);
    ~vector_set();
    vector_set(vector_set&&) noexcept;
    vector_set& operator=(vector_set&&) noexcept;

    using sink = std::function<void(std::uint64_t query, std::span<const std::uint32_t> ids,
                                    std::span<const double> distances)>;
    /// Queries of the same type and dimension, sparse for a sparse set. Calls `each` for every query in turn,
    /// from the calling thread; memory holds one batch of rankings at a time. Throws as the constructor does
    /// (with the position of the query), and what `each` throws.
    void search(const vectors_view& queries, const retrieval_options& options, const sink& each);
    void search(const sparse_vectors_view& queries, const retrieval_options& options, const sink& each);
    /// Queries in the memory of a GPU, wherever the set lies. They are copied to the host first, where they are checked.
    void search(const device_vectors_view& queries, const retrieval_options& options, const sink& each);
    rankings search(const vectors_view& queries, const retrieval_options& options);
    rankings search(const sparse_vectors_view& queries, const retrieval_options& options);
    rankings search(const device_vectors_view& queries, const retrieval_options& options);

    const retrieval_record& record() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace quern
