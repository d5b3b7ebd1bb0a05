// SPDX-License-Identifier: Apache-2.0
// What a store's web site answers: its pages, its JSON API, its health and its metrics. web/openapi.json describes the
// API, and tests hold it to this.
#pragma once

#include <exception>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>

#include "quern/tasks/search.hpp"
#include "quern/tasks/store.hpp"
#include "server/http.hpp"
#include "server/http_server.hpp"
#include "server/metrics.hpp"

namespace quern::server {

struct site_limits {
    std::size_t results = 1000;             ///< of one search: offset and k together
    std::size_t query_bytes = 2048;         ///< of q, decoded
    std::size_t history_query_bytes = 200;  ///< of it where each word is scored behind those before it
    std::size_t explained_terms = 20'000;   ///< of the results together that say how their scores come about
    std::size_t title_bytes = 2048;         ///< of each; what is longer is cut
    std::size_t answer_bytes = 16 << 20;    ///< a request that asks for more is refused
    std::size_t text_bytes = 64 << 10;      ///< of a document, at once, where the request does not say
    std::size_t most_text_bytes = 1 << 20;  ///< and where it does
};

class site : public http_service {
  public:
    /// Opens the store; throws as search_engine::open does.
    site(const std::filesystem::path& store, const site_limits& limits, const context& run);

    const store_info& store() const { return engine_.store(); }
    http_counts& connections() { return connections_; }
    std::uint64_t requests() const { return metrics_.requests(); }

    bool at_hand(const http_request& request) const override;
    http_response answer(const http_request& request, const std::atomic<int>& stop) override;
    http_response refusal(unsigned status, std::string_view detail) override;
    void note(const http_exchange& exchange) override;

  private:
    struct route;
    struct asked;
    static const route* find_route(std::string_view path);
    http_response answer_search(const asked& request) const;
    http_response answer_words(const asked& request) const;
    http_response answer_document(const asked& request) const;
    http_response answer_document_by_parameter(const asked& request) const;
    http_response answer_store(const asked& request) const;
    http_response answer_health(const asked& request) const;
    http_response answer_metrics(const asked& request) const;

    /// Says to whoever runs the server what its clients are not told; once, as long as it stays the same.
    void report(const std::string& fault);

    const site_limits limits_;
    const search_engine engine_;
    const std::string name_;  // of the store's folder; where it lies is nobody's concern
    const context log_;       // whom to tell
    std::mutex reporting_;
    std::string last_fault_;
    http_counts connections_;
    metrics metrics_;
};

/// A failed answer. Clients are told what is theirs to know: no paths, nothing of this machine.
struct failed_answer {
    unsigned status = 500;
    std::string told;
    std::string fault;  ///< for whoever runs the server; empty where it is the client's
};
/// The one mapping of errors to statuses.
failed_answer answer_to(const std::exception_ptr& failure);

}  // namespace quern::server
