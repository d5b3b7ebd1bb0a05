// SPDX-License-Identifier: Apache-2.0
// Texts that stay in the memory of a GPU, to be compared with batches of new ones: the units, the counts of filter 3, and the
// bitmaps of all grams, about 1.3 to 1.7 bytes a unit (5.5 with code points) and 91 bytes a text. The batch is the rows of a product
// whose columns are the resident texts and the batch itself; bitmaps of disjoint grams exist only for rows and only meanwhile.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device/resident.hpp"
#include "quern/ops/near_duplicates.hpp"
#include "quern/ops/text_sketches.hpp"

namespace quern::near_duplicates_detail {

/// A text of a batch and an earlier one below the threshold.
struct resident_pair {
    std::uint32_t row = 0;      ///< position in the batch
    std::uint32_t earlier = 0;  ///< the number of a resident text, or a position in the batch
    bool is_in_batch = false;
    std::uint32_t distance = 0;
    std::uint64_t of = 0;  ///< both lengths

    friend auto operator<=>(const resident_pair&, const resident_pair&) = default;
};

/// One thread at a time. A call that throws (out_of_memory with the missing bytes, interrupted, device_error) changes nothing.
class resident_texts {
  public:
    virtual ~resident_texts() = default;

    /// Appends the pairs of the first texts of a batch with resident texts and, with `within_batch`, with texts before them in
    /// the batch, sorted. Returns the number of these texts: all, or fewer if they have many pairs; at least one. `sketches`:
    /// one for each text. Contract class: exact; the pairs are those of near_duplicates().
    virtual std::size_t compare(const text_list& batch, std::span<const text_sketch> sketches,
                                bool within_batch, std::vector<resident_pair>& pairs) = 0;
    /// Makes a text of the last batch resident. Calls have rising positions.
    virtual void add(std::uint32_t position, std::uint32_t number) = 0;
    /// Makes all texts resident without comparing them; their numbers rise from `first`.
    virtual void add_all(const text_list& batch, std::span<const text_sketch> sketches,
                         std::uint32_t first) = 0;

    virtual std::uint64_t host_bytes() const = 0;
    virtual std::uint64_t device_bytes() const = 0;
};

/// Uses the threshold and the unit of the options. Null on the CPU, which compares texts otherwise.
std::unique_ptr<resident_texts> make_resident_texts(cpu_place& place, cpu_place& host,
                                                    const duplicate_options& options);
std::unique_ptr<resident_texts> make_resident_texts(cuda_place& place, cpu_place& host,
                                                    const duplicate_options& options);

template <class Place>
struct held_texts {
    held_texts(Place& place, cpu_place& host, const duplicate_options& options)
        : texts(make_resident_texts(place, host, options)) {}
    std::unique_ptr<resident_texts> texts;
};
/// The texts, null on the CPU.
inline resident_texts* texts_of(resident<held_texts>& held) {
    return held.visit([](const auto& on_place) { return on_place.texts.get(); });
}

}  // namespace quern::near_duplicates_detail
