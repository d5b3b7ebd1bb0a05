// SPDX-License-Identifier: Apache-2.0
// Which vectors are nearest: exact distances, in complete order or the first k (Zhou, Hu, Zhang, Huang and Jiang 2011,
// "High-Dimensional Space Retrieval Sorting Based on CUDA").
//
//     vector_set set(vectors, {.metric = vector_metric::l2}, run);   // once
//     rankings found = set.search(queries, {.k = 100});              // many times
//
// Contract class: exact. Floats are summed in one canonical order (sixteen partial sums, the paper's), integers exactly:
// the same ids and distances on every place, in every tile, for any number of threads and GPUs. docs/ranked_retrieval.md
// has the arithmetic and the proof of the filter that `automatic` puts before it.
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
#include "quern/base/vectors.hpp"

namespace quern {

// ---- Distances ----

/// What is measured, and what is reported for it:
///   sql2     Σ (a − b)², rising
///   l2       its square root, rounded to double from the sum: the order is that of sql2, also where two different sums
///            of f64 have one root
///   ip       Σ a·b, falling
///   cosine   1 − Σ a·b / √(Σ a² · Σ b²), in [0, 2], rising; 1 where one of the two has the length 0
///   l1       Σ |a − b|, rising
///   linf     max |a − b|, rising
///   hamming  the number of bits that differ, rising; of u8 vectors too, each byte being eight bits. Bits have no other
///            metric, and other types do not have this one.
enum class vector_metric { l2, sql2, ip, cosine, l1, linf, hamming };
inline constexpr std::string_view vector_metric_names[] = {"l2", "sql2", "ip",     "cosine",
                                                           "l1", "linf", "hamming"};

enum class retrieval_method {
    automatic,  ///< ours: selection instead of sorting where k is small, a filter in 8-bit integers before many queries
    reduction,  ///< the paper's: sixteen threads a vector, then everything is sorted
};
inline constexpr std::string_view retrieval_method_names[] = {"auto", "reduction"};

struct vector_set_options {
    vector_metric metric = vector_metric::l2;
    retrieval_method method = retrieval_method::automatic;
};

// ---- Rankings ----

inline constexpr std::uint64_t all_vectors = std::numeric_limits<std::uint64_t>::max();

struct retrieval_options {
    std::uint64_t k = 10;  ///< the first k, 1 and more; all_vectors: the complete ranking
    /// Only vectors whose reported number is at most this (ip: at least this), the first k of them; not a NaN.
    std::optional<double> radius = {};
    /// Vector i is allowed where bit i % 64 of word i / 64 is set: (rows + 63) / 64 words. Empty: all are.
    std::span<const std::uint64_t> allowed = {};
};

/// Of query q: ids[offsets[q] … offsets[q + 1]), best first, equal distances by rising id; and their distances: sums of
/// floats as they are, integers as doubles, exact up to 2^53.
struct rankings {
    std::vector<std::uint64_t> offsets;
    std::vector<std::uint32_t> ids;
    std::vector<double> distances;
};

/// What the last search did.
struct retrieval_record {
    std::string place;             ///< where it ran, and why there
    std::uint64_t distances = 0;   ///< computed exactly
    std::uint64_t filtered = 0;    ///< pairs that the filter looked at
    std::uint64_t tiles = 0;       ///< pieces the set was taken in, over all GPUs
    std::uint64_t tile_bytes = 0;  ///< of vectors moved to devices
    double prepare_seconds = 0;    ///< checking, moving and coding vectors
    double search_seconds = 0;
};

/// Vectors that are searched many times. The view's memory must outlive the set, for the CPU reads it there and a set
/// that is larger than a device's memory is streamed from there. Move-only. One search at a time.
class vector_set {
  public:
    /// With cuda:all the rows are split over the GPUs. Throws usage_error for sizes that do not fit and for a metric
    /// that the type does not have; invalid_value, with the row, for a component that is not finite, for bits beyond the
    /// last dimension, and (ip, cosine of floats) for one so large that a sum could overflow; out_of_memory,
    /// device_error, interrupted.
    vector_set(const vectors_view& vectors, const vector_set_options& options, const context& run);
    /// hamming is not for these. Columns out of range or not rising: invalid_value, with the row.
    vector_set(const sparse_vectors_view& vectors, const vector_set_options& options, const context& run);
    ~vector_set();
    vector_set(vector_set&&) noexcept;
    vector_set& operator=(vector_set&&) noexcept;

    using sink = std::function<void(std::uint64_t query, std::span<const std::uint32_t> ids,
                                    std::span<const double> distances)>;
    /// Queries of the same type and dimensions, sparse for a sparse set. Calls `each` for every query in turn, from the
    /// calling thread; memory holds a batch of rankings at a time. Throws as the constructor does (the position is then
    /// that of the query), and what `each` throws.
    void search(const vectors_view& queries, const retrieval_options& options, const sink& each);
    void search(const sparse_vectors_view& queries, const retrieval_options& options, const sink& each);
    rankings search(const vectors_view& queries, const retrieval_options& options);
    rankings search(const sparse_vectors_view& queries, const retrieval_options& options);

    const retrieval_record& record() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace quern
