// SPDX-License-Identifier: Apache-2.0
// /api/dedup: documents are compared with all earlier ones as they arrive, like those of quern dedup --stream, and
// added to a store. One request adds at a time, in order of arrival; requests that only ask run side by side.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>

#include "quern/base/context.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dedup.hpp"
#include "server/http.hpp"

namespace quern::server {

struct dedup_limits {
    std::size_t body_bytes = 4 << 20;       ///< of one request
    std::size_t lines = 10'000;             ///< of one request
    std::size_t response_bytes = 16 << 20;  ///< of one response; then the lines left are not processed
    std::uint64_t memory_bytes = 1 << 30;   ///< of the documents; beyond it none is added
    std::chrono::milliseconds commit_time{60'000};  ///< from an answer to its document's commit
};

class dedup_api {
  public:
    /// Opens the store, or creates it at the first commit. Throws as duplicate_stream does.
    dedup_api(const dedup_options& options, const dedup_limits& limits, const context& ctx);

    std::size_t body_bytes() const { return limits_.body_bytes; }
    /// The response to a POST. Throws bad_request, request_refused, and `interrupted` between two documents if `stop` is
    /// set: those before are added.
    http_response respond(const http_request& request, std::string_view query, const std::atomic<int>& stop);
    /// Commits documents that wait too long, until `stop` is set; then closes. For a thread of its own.
    void keep_committed(const std::atomic<int>& stop, const std::atomic<bool>& ended);
    /// Refuses further documents and commits those added. Throws as a commit does, once.
    void close();

    std::uint64_t documents() const { return documents_; }  ///< including those of the store at the beginning
    std::uint64_t added() const { return added_; }
    void append_metrics(std::string& text) const;

  private:
    std::string respond_one(const http_request& request, bool add, bool commit);
    std::string respond_lines(const http_request& request, bool add, bool commit,
                              const std::atomic<int>& stop);
    void process(std::span<const std::string_view> lines, bool add,
                 const duplicate_stream::take_result& take);
    void append_row(std::string& body, const duplicate_stream::stream_result& result) const;
    void require_open() const;
    void commit();
    template <class Work>
    auto guarded(Work work);

    const dedup_limits limits_;
    mutable std::shared_mutex mutex_;  ///< exclusive: to add
    duplicate_stream stream_;
    bool closed_ = false;
    std::exception_ptr fault_;                             ///< a failure that left the documents undefined
    std::chrono::steady_clock::time_point waiting_since_;  ///< if there are uncommitted documents
    std::atomic<std::uint64_t> documents_{0}, added_{0}, only_compared_{0}, duplicates_{0}, rejected_{0},
        uncommitted_{0}, commits_{0}, memory_bytes_{0};
};

}  // namespace quern::server
