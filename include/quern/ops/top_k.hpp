// SPDX-License-Identifier: Apache-2.0
// The k best objects over several lists, each sorted by falling score and read only from the top down, as little of them as
// possible (Fagin, Lotem and Naor 2003, "Optimal aggregation algorithms for middleware": no random access).
//
//     const ranked_list_view<float> lists[] = {{ids_a, scores_a}, {ids_b, scores_b, 0.5}};
//     top_k_result found = top_k<float>(lists, objects, {.k = 100}, run);
//
// Contract class: exact. An object's score is one canonical sum (or least, greatest, product) over the lists in their
// order, in double; the result is that of reading everything: the same ids and bits by every method, on every place.
// docs/top_k.md has the methods and why their bounds stay bounds when they are rounded.
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

inline constexpr std::size_t most_lists = 64;

/// Score: float or double. Scores fall (equal ones in any order), are finite, and not below the floor. Ids differ.
template <class Score>
struct ranked_list_view {
    std::span<const std::uint32_t> ids;
    std::span<const Score> scores;
    double weight = 1;  ///< positive and finite
    double floor = 0;   ///< what an object counts that is not in the list; finite
};

/// A list that is pulled, so that whoever makes it can stop early.
class ranked_stream {
  public:
    virtual ~ranked_stream() = default;
    /// The next entries, at most ids.size() = scores.size(); how many. 0: the list has ended.
    virtual std::size_t read(std::span<std::uint32_t> ids, std::span<double> scores) = 0;
};
struct pulled_list {
    ranked_stream* entries = nullptr;
    double weight = 1, floor = 0;
};

// ---- Scores ----

/// Of v_i = weight_i · score_i (the floor where the object is not in list i), i rising, each operation rounded:
///   sum      Σ v_i
///   mean     Σ v_i / Σ weight_i
///   min, max the least, the greatest v_i
///   product  Π score_i; scores and floors are not negative, weights are 1
///   rrf      Σ weight_i / (constant + rank_i), rank from 1; 0 where the object is not in list i (Cormack, Clarke and
///            Büttcher 2009). Scores give the order only, floors are not looked at.
enum class aggregate { sum, mean, min, max, product, rrf };
inline constexpr std::string_view aggregate_names[] = {"sum", "mean", "min", "max", "product", "rrf"};

enum class top_k_method {
    automatic,  ///< ours: chooses by k, lists, lengths and place; reads on where stopping early cannot pay
    nra,        ///< no random access: bounds of every object seen (Fagin et al.)
    stream_combine,  ///< upper bounds only; the list to read next by its indicator (Güntzer, Balke and Kießling 2001)
    lara,  ///< a growing and a shrinking phase, candidates by the set of lists they were seen in (Mamoulis et al. 2007)
    segmented,  ///< `stride` levels of all lists at a time, sorted as arrays (Li, Huang and Xie: Tegra K1)
};
inline constexpr std::string_view top_k_method_names[] = {"auto", "nra", "sc", "lara", "segmented"};

struct top_k_options {
    std::uint32_t k = 10;  ///< 1 and more
    aggregate score = aggregate::sum;
    top_k_method method = top_k_method::automatic;
    double constant = 60;        ///< of rrf, 0 and more
    std::uint32_t stride = 100;  ///< of segmented, levels read at a time, 1 and more
};

/// The best objects of those that are in a list at all, score falling, then id rising; −0 is 0.
struct top_k_result {
    std::vector<std::uint32_t> ids;
    std::vector<double> scores;
    std::vector<std::uint64_t> depths;  ///< entries read of each list
    std::uint64_t candidates = 0;       ///< the most objects held at a time
    bool read_all = false;              ///< whether it came to reading everything
    std::string place;                  ///< where it ran, and why there
};

/// Ids are below `objects`. At most most_lists lists. Throws usage_error for options, weights and floors out of range;
/// invalid_value, with the object, for a score of the result that is beyond the doubles; list_fault for what is wrong in a list, as far as it was read (where `automatic` only looked for open objects, an id
/// that comes twice is noticed if it is one of those; a GPU reads all of it when it takes it);
/// out_of_memory, interrupted, device_error. GPUs have `automatic` and `segmented`: asked for another there, usage_error.
template <class Score>
top_k_result top_k(std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                   const top_k_options& options, const context& run);

/// Lists that stay where they are aggregated, for many calls: on a GPU in its memory. On the CPU the views' memory must
/// outlive the set. Move-only; one call at a time.
class ranked_list_set {
  public:
    /// Throws as the calls do; on a GPU list_fault for everything but scores below the floor or too large for the weight,
    /// which depend on the rule.
    template <class Score>
    ranked_list_set(std::span<const ranked_list_view<Score>> lists, std::uint32_t objects,
                    const context& run);
    ~ranked_list_set();
    ranked_list_set(ranked_list_set&&) noexcept;
    ranked_list_set& operator=(ranked_list_set&&) noexcept;

    /// As the function of this name. Where it comes to reading everything on a GPU, what that makes of the lists (a
    /// score for each object and list) stays there, and later calls of `automatic` use it.
    top_k_result top_k(const top_k_options& options);

  private:
    struct state;
    std::unique_ptr<state> state_;
};

/// The same of pulled lists, on the CPU. Reads a list in steps that grow, never beyond what the method needs by more
/// than one step.
top_k_result top_k(std::span<const pulled_list> lists, std::uint32_t objects, const top_k_options& options,
                   const context& run);

}  // namespace quern
