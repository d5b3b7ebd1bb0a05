// SPDX-License-Identifier: Apache-2.0
// The web site of a store: its pages, its JSON API, its health check and its metrics. web/openapi.json
// describes the API; tests compare the two.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "quern/tasks/count.hpp"
#include "quern/tasks/search.hpp"
#include "quern/tasks/store.hpp"
#include "server/http.hpp"
#include "server/http_server.hpp"
#include "server/metrics.hpp"

namespace quern::server {

struct site_limits {
    std::size_t results = 1000;             ///< of one search: offset and k together
    std::size_t query_bytes = 2048;         ///< of q, decoded
    std::size_t history_query_bytes = 200;  ///< of q if each word is scored given the words before it
    std::size_t explained_terms = 20'000;   ///< of all results of one request with explanations
    std::size_t title_bytes = 2048;         ///< of each; longer ones are truncated
    std::size_t response_bytes = 16 << 20;  ///< of one response; requests for more are refused
    std::size_t text_bytes = 64 << 10;      ///< of a document's text in one response, by default
    std::size_t max_text_bytes = 1 << 20;   ///< the maximum of that
};

class dedup_api;
class mcp;

class site : public http_service {
  public:
    /// Opens the store; throws as search_engine::open does. `named`: the path of the store or of its corpus,
    /// whose last component is the name of the site. Both may be empty: a site without search and pages. `dedup`: what
    /// answers /api/dedup; may be null, else it must outlive the site.
    site(const std::filesystem::path& store, const std::filesystem::path& named, const site_limits& limits,
         const context& ctx, dedup_api* dedup = nullptr);
    ~site() override;
    site(const site&) = delete;  // the tools of agents point to it
    site& operator=(const site&) = delete;

    /// Null without a store.
    const store_info* store() const { return engine_ ? &engine_->store() : nullptr; }
    http_counts& connections() { return connections_; }
    std::uint64_t requests() const { return metrics_.requests(); }

    bool is_ready(const http_request& request) const override;
    std::size_t max_body_bytes(const http_request& request) const override;
    http_response handle(const http_request& request, const std::atomic<int>& stop) override;
    http_response refusal(unsigned status, std::string_view detail) override;
    void note(const http_exchange& exchange) override;

  private:
    struct route;
    struct parsed_request;
    static const route* find_route(std::string_view path);
    http_response respond_from_store(const route& found, const parsed_request& request) const;
    /// Throws if a file of the store has changed since it was opened.
    void check_store() const;
    http_response respond_search(const parsed_request& request) const;
    http_response respond_words(const parsed_request& request) const;
    http_response respond_complete(const parsed_request& request) const;
    http_response respond_statistics(const parsed_request& request) const;
    http_response respond_duplicates(const parsed_request& request) const;
    http_response respond_document(const parsed_request& request) const;
    http_response respond_document_by_parameter(const parsed_request& request) const;
    http_response respond_store(const parsed_request& request) const;
    http_response respond_health(const parsed_request& request) const;
    http_response respond_metrics(const parsed_request& request) const;
    http_response respond_dedup(const parsed_request& request) const;
    http_response respond_mcp(const parsed_request& request) const;
    http_response refusal_of_method(const route& found);

    /// Logs a fault that clients must not see; repeats of the same fault are logged once.
    void report(const std::string& fault);

    const site_limits limits_;
    const std::optional<search_engine> engine_;
    std::optional<ngram_counter> counter_;
    std::unique_ptr<const mcp> mcp_;
    dedup_api* const dedup_;
    const std::string name_;  // of the folder, without its path, which clients must not see
    const context log_;       // for the log
    mutable std::atomic<std::int64_t> store_checked_{0};  // time of the last check, in microseconds
    std::mutex reporting_;
    std::string last_fault_;
    http_counts connections_;
    metrics metrics_;
};

/// The name of a store or corpus: the last component of its path.
std::string name_of_folder(const std::filesystem::path& folder);

}  // namespace quern::server
