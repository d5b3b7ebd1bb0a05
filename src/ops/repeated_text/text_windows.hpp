// SPDX-License-Identifier: Apache-2.0
// Windows: the substrings of exactly N code points. A byte is in a longer repeated substring exactly if it is in a
// repeated window.
//
// Hardly any window of an ordinary text is repeated, so a filter excludes most: the *anchor* of a window is that substring of
// k < N code points in it with the smallest hash (the first of equal ones). Equal windows have equal anchors, and
// neighbouring windows mostly have the same one: about one position in 13 is an anchor for N = 50. Only windows whose anchor's
// hash occurs at two positions are hashed themselves. (Schleimer, Wilkerson, Aiken: Winnowing, 2003.)
#pragma once

#include <oneapi/tbb/enumerable_thread_specific.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "device/large_array.hpp"
#include "ops/repeated_text/compared_parts.hpp"
#include "ops/repeated_text/text_units.hpp"

namespace quern::repeated_text_detail {

class text_windows final : public compared_parts {
  public:
    text_windows(cpu_place& place, const text_list& texts, std::uint32_t length, const tuning& tuned,
                 repeated_text_counts& counts);
    ~text_windows() override;

    /// Finds the anchors that occur twice. Before the first scan.
    void filter();

    void scan(const take_hashes& take) override;
    void compare(std::span<const std::uint64_t> positions, std::span<const std::uint64_t> firsts,
                 std::span<std::uint8_t> is_repeated) override;
    std::string_view part_at(std::uint64_t position) const override;
    std::uint64_t hash_at(std::uint64_t position) const override;

    /// The unions of neighbouring windows that the scan proved repeated, by position. Each begins with a window that
    /// scan() passed on.
    const std::vector<byte_range>& proved() const { return proved_; }

  private:
    struct scratch;
    struct anchors_found;
    struct windows_found;

    template <class Work>
    void for_each_fragment(std::uint64_t piece, scratch& own, const Work& work) const;
    template <class Units, class Work>
    void for_each_anchor(const Units& units, scratch& own, const Work& work) const;
    template <class Units>
    void find_anchors(const Units& units, scratch& own, std::uint32_t& anchors, anchors_found& out) const;
    template <class Units>
    void find_runs(const Units& units, scratch& own, std::uint64_t& number) const;
    template <class Units>
    void hash_windows(const Units& units, scratch& own, windows_found& out) const;
    bool is_flagged(std::uint64_t anchor) const { return (flags_[anchor / 64] >> (anchor % 64) & 1) != 0; }
    void flag(std::uint64_t anchor) { flags_[anchor / 64] |= std::uint64_t{1} << (anchor % 64); }
    void remember_firsts(std::span<const std::uint64_t> firsts);
    bool any_flagged(std::uint64_t begin, std::uint64_t end) const;

    cpu_place& place_;
    const text_list& texts_;
    std::uint32_t length_, anchor_length_;
    tuning tuned_;
    repeated_text_counts& counts_;
    std::uint64_t piece_bytes_, pieces_;
    std::uint64_t leaving_factor_ = 1;          ///< of the code point that leaves a window's hash
    std::vector<std::uint64_t> first_anchors_;  ///< of each piece; one more than pieces
    io::large_array<std::uint64_t> flags_;      ///< a bit for each anchor: its hash occurs twice
    io::large_array<std::uint64_t> firsts_;     ///< of each anchor: the first position with its hash
    bool has_firsts_;
    tbb::enumerable_thread_specific<std::unique_ptr<scratch>> own_;
    std::vector<byte_range> proved_;
};

}  // namespace quern::repeated_text_detail
