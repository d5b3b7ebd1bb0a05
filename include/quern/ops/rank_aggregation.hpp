// SPDX-License-Identifier: Apache-2.0
// The k best objects over several lists, each sorted by descending score and read from the top as little as
// possible (Fagin, Lotem and Naor 2003, "Optimal aggregation algorithms for middleware": no random access).
//
//     const ranked_list_view<float> lists[] = {{ids_a, scores_a}, {ids_b, scores_b, 0.5}};
//     aggregation_result found = top_k<float>(lists, objects, {.k = 100}, run);
//
// Contract class: exact. An object's score is one canonical sum (or minimum, maximum, product) over the lists
// in their order, in double. The result equals that of reading everything: the same ids and bits for every
// method and device. docs/rank_aggregation.md describes the methods and why their bounds remain valid under rounding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"

namespace quern {

// ---- Lists ----

inline constexpr std::size_t max_lists = 64;

/// Score: float or double. Scores descend (equal ones in any order), are finite, and not below the floor. Ids
/// are distinct.
template <class Score>
struct ranked_list_view {
    std::span<const std::uint32_t> ids;
    std::span<const Score> scores;
    double weight = 1;  ///< positive and finite
    double floor = 0;   ///< score of objects that are not in the list; finite
};

/// A list that is read on demand, so that its producer can stop early.
class ranked_stream {
  public:
    virtual ~ranked_stream() = default;
    /// Reads the next entries, at most ids.size() = scores.size(), and returns their number; 0 at the end of
    /// the list.
    virtual std::size_t read(std::span<std::uint32_t> ids, std::span<double> scores) = 0;
};
struct pulled_list {
    ranked_stream* entries = nullptr;
    double weight = 1, floor = 0;
};

// ---- Scores ----

/// With v_i = weight_i · score_i (the floor if the object is not in list i), i ascending, each operation
/// rounded:
///   sum      Σ v_i
///   mean     Σ v_i / Σ weight_i
///   min, max the smallest, the largest v_i
///   product  Π score_i; scores and floors are not negative, weights are 1
///   rrf      Σ weight_i / (constant + rank_i), rank from 1; 0 if the object is not in list i (Cormack, Clarke and
///            Büttcher 2009). Scores only define the order, floors are ignored.
enum class aggregate { sum, mean, min, max, product, rrf };
inline constexpr std::string_view aggregate_names[] = {"sum", "mean", "min", "max", "product", "rrf"};

enum class aggregation_method {
    /// Ours: chooses by k, lists, lengths and device; reads everything if early stopping cannot pay off.
    automatic,
    nra,  ///< no random access: bounds for every object seen (Fagin et al.)
    /// Upper bounds only; an indicator selects the next list (Güntzer, Balke and Kießling 2001).
    stream_combine,
    /// a growing and a shrinking phase, candidates grouped by the lists they were seen in (Mamoulis et al.
    /// 2007).
    lara,
    segmented,  ///< `stride` levels of all lists at a time, as sorted arrays (Li, Huang and Xie: Tegra K1)
};
inline constexpr std::string_view aggregation_method_names[] = {"auto", "nra", "sc", "lara", "segmented"};
/// The others run on the CPU alone.
constexpr bool runs_on_gpus(aggregation_method method) {
    return method == aggregation_method::automatic || method == aggregation_method::segmented;
}

struct aggregation_options {
    std::uint32_t k = 10;  ///< at least 1
    aggregate score = aggregate::sum;
    aggregation_method method = aggregation_method::automatic;
    double constant = 60;        ///< for rrf, at least 0
    std::uint32_t stride = 100;  ///< for segmented, levels read at a time, at least 1
};

/// The best objects that are in any list, by descending score, then ascending id; −0 is 0.
struct aggregation_result {
    std::vector<std::uint32_t> ids;
    std::vector<double> scores;
    std::vector<std::uint64_t> depths;  ///< entries read of each list
    std::uint64_t candidates = 0;       ///< maximum number of objects held at a time
    bool read_all = false;              ///< whether everything was read
    std::string place;                  ///< the device, with the reason
};

/// Ids are below `objects`. At most max_lists lists. On a GPU, methods without
/// runs_on_gpus() are a usage_error. Throws usage_error for options, weights and floors out of range; invalid_value,
/// with the object, for a score of the result beyond the range of double; list_fault for a fault in the part of
/// a list that was read; out_of_memory, interrupted, device_error. A GPU reads a whole list when it loads it.
/// When `automatic` only searches for undecided objects, it detects a repeated id only if it is one of those.
template <class Score>
aggregation_result top_k(std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                         const aggregation_options& options, const context& ctx);

/// Lists kept on the device for many calls: on a GPU in its memory; if there are many entries, on several GPUs by
/// ranges of objects (docs/rank_aggregation_cuda.md). On the CPU the memory of the views must outlive the set.
/// Move-only; one call at a time.
class ranked_list_set {
  public:
    /// Throws as the calls do. On a GPU, throws list_fault for every fault except scores below the floor or too
    /// large for the weight, which depend on the rule.
    template <class Score>
    ranked_list_set(std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                    const context& ctx);
    ~ranked_list_set();
    ranked_list_set(ranked_list_set&&) noexcept;
    ranked_list_set& operator=(ranked_list_set&&) noexcept;

    /// As the function of this name. If a call on a GPU reads everything, its table of scores (one per object
    /// and list) stays there, and later calls of `automatic` use it.
    aggregation_result top_k(const aggregation_options& options);

    /// That calls have left on host and device, besides the memory of the views.
    std::uint64_t bytes() const;

  private:
    struct state;
    std::unique_ptr<state> state_;
};

/// The same for pulled lists, on the CPU. Reads a list in growing steps, at most one step more than the method
/// needs.
aggregation_result top_k(std::span<const pulled_list> lists, std::uint32_t objects,
                         const aggregation_options& options, const context& ctx);

}  // namespace quern
