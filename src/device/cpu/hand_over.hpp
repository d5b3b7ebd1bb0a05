// SPDX-License-Identifier: Apache-2.0
// Says where work passes between a caller and oneTBB's threads. oneTBB's own synchronisation lies inside a
// library that race detectors do not see into; these four points state it again in terms that they see. The
// threads learn from the caller and the caller from the threads, but no thread from another: a race between
// two of them stays visible. The cost is one atomic each, for pieces of work of milliseconds.
#pragma once

#include <atomic>

namespace quern {

/// Held by the caller around a parallel algorithm: what it did before is known to the threads, what they did is
/// known to it afterwards.
class handed_over {
  public:
    handed_over() { begun_.fetch_add(1, std::memory_order_release); }
    // Function objects that oneTBB copies and destroys hold one: before their memory goes, the threads are seen.
    handed_over(const handed_over& /*unused*/) : handed_over() {}
    handed_over& operator=(const handed_over&) = delete;
    ~handed_over() { (void)ended_.load(std::memory_order_acquire); }

    /// Held by a thread around its piece of the work.
    class share {
      public:
        share() { (void)begun_.load(std::memory_order_acquire); }
        share(const share&) = delete;
        share& operator=(const share&) = delete;
        ~share() { ended_.fetch_add(1, std::memory_order_release); }
    };

  private:
    static inline std::atomic<unsigned> begun_{0};
    static inline std::atomic<unsigned> ended_{0};
};

}  // namespace quern
