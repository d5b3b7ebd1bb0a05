// SPDX-License-Identifier: Apache-2.0
// The contents of one block of lines: the parsed links of a graph, or the entries of a matrix.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "io/lines/node_id_table.hpp"
#include "io/lines/numbers.hpp"
#include "io/lines/text_blocks.hpp"
#include "quern/base/link.hpp"

namespace quern::io {

/// How a block's links store ids: directly (below 2^32), or as numbers of a table.
enum class id_kind : std::uint8_t { narrow, wide, word };

/// Arrays are kept for the next block.
struct link_block {
    text_block lines;

    std::unique_ptr<link[]> links;
    std::unique_ptr<double[]> weights;  ///< as many as links, if weights are requested
    std::uint64_t size = 0;             ///< links
    std::uint64_t entries = 0;          ///< lines with a link or an entry; a symmetric one makes two links
    std::uint64_t line_count = 0;
    line_issue issue;  ///< nothing after it has been checked

    id_kind ids = id_kind::narrow;
    std::uint32_t least = ~std::uint32_t{0}, largest = 0;  ///< of narrow ids
    integer_table* integers = nullptr;                     ///< of wide ids
    word_table* words = nullptr;                           ///< of ids that are names
    std::uint64_t named_links = 0;                         ///< links with an end that is not an integer
    bool first_names_both = false;  ///< neither end of the block's first link is an integer
    std::uint64_t first_line = 0;   ///< of the first link, within the block; 0: none

    std::uint64_t position = 0;  ///< of its first link within the whole input

    /// Reserves space for `max` links, and drops those of the previous block.
    void begin(std::uint64_t max, bool weighted) {
        if (capacity_ < max || (weighted && !weights)) {
            links = std::make_unique_for_overwrite<link[]>(max);
            if (weighted) weights = std::make_unique_for_overwrite<double[]>(max);
            capacity_ = max;
        }
        size = entries = line_count = named_links = first_line = 0;
        issue = {};
        least = ~std::uint32_t{0};
        largest = 0;
        first_names_both = false;
    }
    void refuse(std::string reason) { issue = {line_count, std::move(reason)}; }

  private:
    std::uint64_t capacity_ = 0;
};

// Reused objects: their memory stays warm, and there are never more than are in use at once.

/// Thread-safe. The pool must outlive the objects taken from it.
template <class T>
class object_pool {
  public:
    struct give_back {
        object_pool* pool = nullptr;
        void operator()(T* object) const { pool->put(object); }
    };
    using handle = std::unique_ptr<T, give_back>;

    /// A returned object, unchanged, or else T().
    handle take() {
        const std::lock_guard hold(mutex_);
        if (idle_.empty()) {
            idle_.reserve(all_.size() + 1);  // so that returning cannot fail
            all_.push_back(std::make_unique<T>());
            return handle(all_.back().get(), give_back{this});
        }
        T* const object = idle_.back();
        idle_.pop_back();
        return handle(object, give_back{this});
    }
    /// All objects. Not while others take.
    const std::vector<std::unique_ptr<T>>& all() const { return all_; }

  private:
    void put(T* object) {
        const std::lock_guard hold(mutex_);
        idle_.push_back(object);
    }

    std::mutex mutex_;
    std::vector<std::unique_ptr<T>> all_;
    std::vector<T*> idle_;
};

}  // namespace quern::io
