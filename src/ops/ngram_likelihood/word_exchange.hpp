// SPDX-License-Identifier: Apache-2.0
// The words of a collection, of which each of several places has a share: every place gets all, by copies between the places. So a
// text is copied and tokenised once, not once for each place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "device/between_places.hpp"
#include "device/cpu/cpu_place.hpp"
#include "device/cuda/cuda_place.hpp"
#include "device/shared_writing.hpp"
#include "ops/ngram_likelihood/rows/range_turns.hpp"

namespace quern::ngram_detail {

/// Words of a text on a place.
template <class Place>
struct placed_text {
    array_on<Place, std::uint32_t> ids;
    std::vector<std::uint64_t> documents;  ///< their starts among the words, and the end
};

template <class Place>
class word_exchange {
  public:
    explicit word_exchange(std::size_t places) : parts_(places) {}

    /// The words of all places, in the order of the places; each calls it once, with its own. Nothing, at every place, if
    /// the memory of one does not hold them. Waits for the copies.
    std::optional<placed_text<Place>> gather(Place& place, std::size_t index, placed_text<Place> mine,
                                             range_turns& turns) {
        part& own = parts_[index];
        own.place = &place;
        own.words = mine.ids.span();
        own.documents = std::move(mine.documents);
        turns.meet();
        std::uint64_t size = 0, first = 0;
        for (const part& each : parts_) {
            if (&each == &own) first = size;
            size += each.words.size();
        }
        if (turns.min_of_all(place.memory().left() / sizeof(std::uint32_t)) < size) return {};
        placed_text<Place> all{make_array<std::uint32_t>(place, size, "words"), joined_documents()};
        own.all = all.ids.span();
        const shared_writing::closing closed(writing_);
        place.synchronise();  // others write to it
        {
            const std::lock_guard one_at_a_time(opening_);
            for (const part& writer : parts_)
                if (&writer != &own) open_for(*writer.place, place, own.all);
        }
        turns.meet();
        // Each begins with itself and its successor, so that no device is the target of all. If another place has failed and
        // nothing is written, the meeting throws.
        writing_.write(place, [&] {
            for (std::size_t i = 0; i < parts_.size(); ++i) {
                const part& to = parts_[(index + i) % parts_.size()];
                copy_across<std::uint32_t>(place, own.words, *to.place,
                                           to.all.subspan(first, own.words.size()));
            }
        });
        turns.meet();
        return all;
    }

  private:
    /// What a place tells the others. They read it after they have met.
    struct part {
        Place* place = nullptr;
        span_on<Place, std::uint32_t> words, all;
        std::vector<std::uint64_t> documents;
    };

    std::vector<std::uint64_t> joined_documents() const {
        std::vector<std::uint64_t> joined{0};
        for (const part& each : parts_) {
            const std::uint64_t before = joined.back();
            for (std::size_t d = 1; d < each.documents.size(); ++d)
                joined.push_back(before + each.documents[d]);
        }
        return joined;
    }

    std::vector<part> parts_;
    std::mutex opening_;
    shared_writing writing_;
};

/// One place's part in the work of several: all of them have the same but for the index.
struct place_share {
    std::size_t index;
    range_turns& turns;
    word_exchange<cpu_place>& of_cpus;
    word_exchange<cuda_place>& of_gpus;

    template <class Place>
    word_exchange<Place>& words() const {
        if constexpr (std::is_same_v<Place, cpu_place>)
            return of_cpus;
        else
            return of_gpus;
    }
};

}  // namespace quern::ngram_detail
