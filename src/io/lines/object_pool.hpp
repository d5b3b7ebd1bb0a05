// SPDX-License-Identifier: Apache-2.0
// Reused objects: their memory stays warm, and there are never more than are in use at once.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace quern::io {

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
