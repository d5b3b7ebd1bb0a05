// SPDX-License-Identifier: Apache-2.0
// The texts of the documents that were shown last: a document of a store is decompressed with its block, which takes longer
// than finding a passage in it, and searches after another show the same documents.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "tasks/store/opened_store.hpp"

namespace quern {

/// Thread-safe.
class text_cache {
  public:
    explicit text_cache(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

    /// As store.text().
    std::shared_ptr<const std::string> text(const opened_store& store, std::uint32_t document) {
        {
            const std::lock_guard held(lock_);
            if (const auto at = found_.find(document); at != found_.end()) {
                last_.splice(last_.begin(), last_, at->second);
                return at->second->second;
            }
        }
        auto made = std::make_shared<const std::string>(store.text(document));
        keep(document, made);
        return made;
    }

  private:
    using entry = std::pair<std::uint32_t, std::shared_ptr<const std::string>>;

    static std::uint64_t bytes_of(const entry& of) {
        constexpr std::uint64_t around = 160;  // the entry, its place in the table, the string
        return of.second->capacity() + around;
    }
    /// Texts of more than an eighth of all are not kept: they would remove many others.
    void keep(std::uint32_t document, const std::shared_ptr<const std::string>& text) {
        const entry made{document, text};
        if (bytes_of(made) > max_bytes_ / 8) return;
        const std::lock_guard held(lock_);
        if (found_.contains(document)) return;  // by another thread meanwhile
        last_.push_front(made);
        found_[document] = last_.begin();
        bytes_ += bytes_of(made);
        while (bytes_ > max_bytes_) {
            bytes_ -= bytes_of(last_.back());
            found_.erase(last_.back().first);
            last_.pop_back();
        }
    }

    const std::uint64_t max_bytes_;
    std::mutex lock_;
    std::list<entry> last_;  ///< the latest first
    std::unordered_map<std::uint32_t, std::list<entry>::iterator> found_;
    std::uint64_t bytes_ = 0;
};

}  // namespace quern
