// SPDX-License-Identifier: Apache-2.0
// Places that write into each other's arrays: none frees its own while another may still write there, also when one fails.
//
//     const shared_writing::closing closed(writing);                          // after the array, so that it ends before it
//     writing.write(place, [&] { copy_across(place, mine, there, theirs); });
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace quern {

/// One for all places. Thread-safe.
class shared_writing {
  public:
    /// Calls work(), which writes to other places, and waits for what it enqueued on `place`, also if it throws. Returns
    /// false instead if a place has closed.
    template <class Place, class Work>
    bool write(Place& place, const Work& work) {
        {
            const std::lock_guard hold(mutex_);
            if (closed_) return false;
            ++writing_;
        }
        const ending last{*this};
        try {
            work();
        } catch (...) {
            try {
                place.synchronise();
            } catch (...) {  // the first exception is the reason
            }
            throw;
        }
        place.synchronise();
        return true;
    }

    /// Closes at the end of a scope: nobody begins to write any more, and it waits for those who do.
    class closing {
      public:
        explicit closing(shared_writing& all) : all_(all) {}
        closing(const closing&) = delete;  // closes once
        closing& operator=(const closing&) = delete;
        ~closing() {
            std::unique_lock hold(all_.mutex_);
            all_.closed_ = true;
            all_.ended_.wait(hold, [&] { return all_.writing_ == 0; });
        }

      private:
        shared_writing& all_;
    };

  private:
    struct ending {
        shared_writing& all;
        ~ending() {
            const std::lock_guard hold(all.mutex_);
            --all.writing_;
            all.ended_.notify_all();
        }
    };

    std::mutex mutex_;
    std::condition_variable ended_;
    std::size_t writing_ = 0;
    bool closed_ = false;
};

}  // namespace quern
