// SPDX-License-Identifier: Apache-2.0
// The web site of stores: pages, a JSON API, a health check and metrics. web/openapi.json describes the API; tests compare
// the two.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "server/http.hpp"
#include "server/http_server.hpp"
#include "server/metrics.hpp"
#include "server/page_response.hpp"
#include "server/served_store.hpp"
#include "server/site_limits.hpp"

namespace quern::server {

class dedup_api;
class mcp;

class site : public http_service {
  public:
    /// Opens the stores; throws as open_stores does. None: a site without search and pages. `dedup`: what answers
    /// /api/dedup; may be null, else it must outlive the site.
    site(std::span<const store_source> stores, const site_limits& limits, const context& ctx,
         dedup_api* dedup = nullptr, const ask_shards& ask = {});
    ~site() override;
    site(const site&) = delete;  // the tools of agents point to it
    site& operator=(const site&) = delete;

    bool has_stores() const { return !stores_.empty(); }
    std::uint64_t documents() const;  ///< of all stores
    http_counts& connections() { return connections_; }
    std::uint64_t requests() const { return metrics_.requests(); }

    bool is_ready(const http_request& request) const override;
    std::size_t max_body_bytes(const http_request& request) const override;
    http_response handle(const http_request& request, const std::atomic<int>& stop) override;
    http_response refusal(unsigned status, std::string_view detail) override;
    http_response refusal_of_method(const http_request& request) override;
    void note(const http_exchange& exchange) override;

  private:
    struct route;
    struct parsed_request;
    static const route* find_route(std::string_view path);
    http_response respond_from_store(const route& found, const parsed_request& request) const;
    /// Throws if a file of the store has changed since it was opened.
    void check_store() const;
    http_response respond_search(const parsed_request& request) const;
    http_response respond_search_in_body(const parsed_request& request) const;
    http_response respond_words(const parsed_request& request) const;
    http_response respond_complete(const parsed_request& request) const;
    http_response respond_statistics(const parsed_request& request) const;
    http_response respond_duplicates(const parsed_request& request) const;
    http_response respond_document(const parsed_request& request) const;
    http_response respond_document_by_parameter(const parsed_request& request) const;
    http_response respond_store(const parsed_request& request) const;
    http_response respond_options(const parsed_request& request) const;
    http_response respond_file(const parsed_request& request) const;
    http_response respond_health(const parsed_request& request) const;
    http_response respond_metrics(const parsed_request& request) const;
    http_response respond_dedup(const parsed_request& request) const;
    http_response respond_mcp(const parsed_request& request) const;
    http_response respond_shard(const parsed_request& request) const;
    http_response refusal_of_method(const route& found);

    /// Logs a fault that clients must not see; repeats of the same fault are logged once.
    void report(const std::string& fault);

    const site_limits limits_;
    const std::vector<served_store> stores_;
    const site_pages pages_;
    std::unique_ptr<const mcp> mcp_;
    dedup_api* const dedup_;
    const context log_;                                   // for the log
    mutable std::atomic<std::int64_t> store_checked_{0};  // time of the last check, in microseconds
    std::mutex reporting_;
    std::string last_fault_;
    http_counts connections_;
    metrics metrics_;
};

}  // namespace quern::server
