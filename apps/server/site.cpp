// SPDX-License-Identifier: Apache-2.0
#include "server/site.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "quern/base/error.hpp"
#include "quern/base/lost_pages.hpp"
#include "quern/tasks/statistics.hpp"
#include "server/api_parameter.hpp"
#include "server/collection_api.hpp"
#include "server/complete_api.hpp"
#include "server/dedup_api.hpp"
#include "server/document_api.hpp"
#include "server/file_api.hpp"
#include "server/json_values.hpp"
#include "server/mcp.hpp"
#include "server/mcp_tools.hpp"
#include "server/options_api.hpp"
#include "server/page_response.hpp"
#include "server/responses.hpp"
#include "server/search_api.hpp"
#include "server/store_api.hpp"
#include "server/target.hpp"
#include "server/words_api.hpp"

namespace quern::server {

struct site::route {
    std::string_view path;  ///< ends with / if an id follows
    std::string_view name;  ///< in the metrics
    bool is_ready;
    bool needs_store;                                ///< unchanged since it was opened
    enum class method { read, post, either } takes;  ///< read: GET and HEAD
    enum class part { any, search, dedup } of;       ///< of the site: it may lack one
    http_response (site::*handle)(const parsed_request& request) const;
};

/// A request on its route: the rest of the path after the route's, the parameters, and the stop flag.
struct site::parsed_request {
    std::string_view rest, query;
    const std::atomic<int>& stop;
    const http_request& sent;
    const served_store* store;  ///< the one that it names; null if the site has none
    context ctx() const;
};

namespace {

constexpr std::string_view document_path = "/api/documents/";

std::int64_t microseconds_now() {
    using namespace std::chrono;
    return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace

site::site(std::span<const store_source> stores, const site_limits& limits, const context& ctx,
           dedup_api* dedup, const ask_shards& ask)
    : limits_(limits), stores_(open_stores(stores, ctx, ask)), pages_(stores_), dedup_(dedup), log_(ctx) {
    if (stores_.empty()) return;
    mcp_ = std::make_unique<const mcp>(
        mcp_of(stores_, limits_, [this](const std::string& fault) { report(fault); }));
}
site::~site() = default;

std::uint64_t site::documents() const {
    std::uint64_t documents = 0;
    for (const served_store& store : stores_) documents += store.engine.documents();
    return documents;
}

void site::report(const std::string& fault) {
    const std::lock_guard one_at_a_time(reporting_);
    if (fault == last_fault_) return;
    log_.log(log_level::warning, fault);
    last_fault_ = fault;
}

const site::route* site::find_route(std::string_view path) {
    using enum route::part;
    using enum route::method;
    static constexpr route routes[] = {
        {"/api/search", "/api/search", false, true, either, search, &site::respond_search},
        {document_path, "/api/documents/{id}", false, true, read, search, &site::respond_document},
        {"/api/documents", "/api/documents", false, true, read, search, &site::respond_document_by_parameter},
        {"/api/words", "/api/words", false, true, read, search, &site::respond_words},
        {"/api/complete", "/api/complete", false, true, read, search, &site::respond_complete},
        {"/api/statistics", "/api/statistics", false, true, read, search, &site::respond_statistics},
        {"/api/duplicates", "/api/duplicates", false, true, read, search, &site::respond_duplicates},
        {"/api/store", "/api/store", true, false, read, search, &site::respond_store},
        {"/api/options", "/api/options", true, false, read, search, &site::respond_options},
        {"/files/", "/files/{path}", false, true, read, search, &site::respond_file},
        {"/api/dedup", "/api/dedup", false, true, post, dedup, &site::respond_dedup},
        {"/api/shard", "/api/shard", false, true, post, search, &site::respond_shard},
        {"/mcp", "/mcp", false, true, post, search, &site::respond_mcp},
        {"/healthz", "/healthz", true, true, read, any, &site::respond_health},
        {"/metrics", "/metrics", true, false, read, any, &site::respond_metrics},
    };
    const auto at = std::ranges::find_if(routes, [path](const route& r) {
        return r.path.ends_with('/') ? path.starts_with(r.path) && path.size() > r.path.size()
                                     : path == r.path;
    });
    return at == std::end(routes) ? nullptr : &*at;
}

bool site::is_ready(const http_request& request) const {
    const route* const found = find_route(split_target(request.target).path);
    return found == nullptr || found->is_ready;
}

std::size_t site::max_body_bytes(const http_request& request) const {
    const route* const found = find_route(split_target(request.target).path);
    if (found == nullptr || found->takes == route::method::read) return 0;
    if (found->of == route::part::dedup) return dedup_ != nullptr ? dedup_->body_bytes() : 0;
    if (stores_.empty()) return 0;
    return found->handle == &site::respond_mcp ? max_mcp_message_bytes : limits_.body_bytes;
}

http_response site::handle(const http_request& request, const std::atomic<int>& stop) {
    const auto [path, query] = split_target(request.target);
    http_response response;
    try {
        if (const route* const found = find_route(path)) {
            if (found->of == route::part::search && stores_.empty())
                return refusal(404, "this server has no store to search (quern serve STORE)");
            if (found->of == route::part::dedup && dedup_ == nullptr)
                return refusal(404, "this server compares no documents (quern serve --dedup DIR)");
            if (found->takes != route::method::either &&
                request.is_post != (found->takes == route::method::post))
                return refusal_of_method(*found);
            const std::size_t rest = found->path.ends_with('/') ? found->path.size() : path.size();
            const served_store* const store = stores_.empty() ? nullptr : &store_named_in(query, stores_);
            response = respond_from_store(*found, {path.substr(rest), query, stop, request, store});
        } else if (const page* const found_page = pages_.find(path);
                   found_page != nullptr && (!stores_.empty() || path == "/openapi.json")) {
            response = page_response(*found_page, request);
        } else {
            return refusal(404, "no such address; /openapi.json lists them");
        }
    } catch (...) {
        const failed_response failed = response_to(std::current_exception());
        if (!failed.fault.empty()) report(failed.fault);
        return problem_response(failed.status, failed.reported, failed.position);
    }
    add_security(response);
    return response;
}

/// A result or an error that was computed while the store was truncated or changed in place is discarded.
http_response site::respond_from_store(const route& found, const parsed_request& request) const {
    if (!found.needs_store) return (this->*found.handle)(request);
    // Check before, too, so that a changed store is not read at all. Under load the previous request has just
    // done so.
    constexpr std::int64_t just_now = 1000;
    if (microseconds_now() - store_checked_.load(std::memory_order_relaxed) > just_now) check_store();
    std::optional<http_response> response;
    std::exception_ptr failure;
    try {
        response = (this->*found.handle)(request);
    } catch (...) {
        failure = std::current_exception();
    }
    check_store();
    if (failure) std::rethrow_exception(failure);
    return std::move(*response);
}

void site::check_store() const {
    try {
        check_mapped_files();
    } catch (const error& e) {
        throw store_lost(e.what());
    }
    store_checked_.store(microseconds_now(), std::memory_order_relaxed);
}

http_response site::refusal(unsigned status, std::string_view detail) {
    return problem_response(status, detail, {});
}

http_response site::refusal_of_method(const route& found) {
    const auto [allowed, expected] = [&]() -> std::pair<std::string_view, std::string_view> {
        switch (found.takes) {
            case route::method::post:
                return {"POST", "unsupported method (expected POST)"};
            case route::method::either:
                return {"GET, HEAD, POST", "unsupported method (expected GET, HEAD or POST)"};
            default:
                return {"GET, HEAD", "unsupported method (expected GET or HEAD)"};
        }
    }();
    http_response response = refusal(405, expected);
    for (auto& [name, value] : response.headers)
        if (name == "Allow") value = allowed;
    return response;
}

http_response site::refusal_of_method(const http_request& request) {
    const route* const found = find_route(split_target(request.target).path);
    return found != nullptr ? refusal_of_method(*found)
                            : refusal(405, "unsupported method (expected GET or HEAD)");
}

void site::note(const http_exchange& exchange) {
    const std::string_view path = split_target(exchange.target).path;
    const route* const found = find_route(path);
    const std::string_view name = found != nullptr               ? found->name
                                  : pages_.find(path) != nullptr ? path
                                                                 : "other";
    metrics_.count(name, exchange.status, exchange.taken, exchange.body_bytes);
}

context site::parsed_request::ctx() const {
    context made = context::cpu(1);
    made.stop_signal = &stop;
    return made;
}

http_response site::respond_words(const parsed_request& request) const {
    return json_response(words_json(request.store->engine, request.query, limits_, request.ctx()));
}

http_response site::respond_complete(const parsed_request& request) const {
    return json_response(completion_json(
        request.store->engine, parameters(request.query, completion_parameters()), limits_, request.ctx()));
}

http_response site::respond_statistics(const parsed_request& request) const {
    return json_response(statistics_json(request.store->engine, request.query, limits_, request.ctx()));
}

http_response site::respond_duplicates(const parsed_request& request) const {
    return json_response(duplicates_json(request.store->engine, request.query, limits_, request.ctx()));
}

http_response site::respond_search(const parsed_request& request) const {
    if (request.sent.is_post) return respond_search_in_body(request);
    const parameters given(request.query, search_parameters());
    return json_response(search_json(request.store->engine, given, limits_, request.ctx()));
}

http_response site::respond_search_in_body(const parsed_request& request) const {
    if (media_type(request.sent.content_type) != "application/json")
        throw request_refused(415, "unsupported Content-Type (expected application/json)");
    const parameters in_address(request.query, store_parameters());
    const parameters given(values_of_body(request.sent.body, search_parameters()), search_parameters());
    const auto name = given.text("store");
    if (name && in_address.text("store")) throw bad_request("store is given twice");
    const served_store& store = name ? store_of_name(*name, stores_) : *request.store;
    return json_response(search_json(store.engine, given, limits_, request.ctx()));
}

http_response site::respond_document(const parsed_request& request) const {
    const auto id = percent_decoded(request.rest, false);
    if (!id) throw bad_request("a % in the id is not followed by two hexadecimal digits");
    return json_response(document_json(*request.store, *id, request.query, limits_, request.ctx()));
}

http_response site::respond_document_by_parameter(const parsed_request& request) const {
    return json_response(document_json(*request.store, {}, request.query, limits_, request.ctx()));
}

http_response site::respond_store(const parsed_request& request) const {
    return json_response(store_json(*request.store, stores_, request.query, limits_));
}

http_response site::respond_options(const parsed_request& request) const {
    return json_response(options_json(request.store->engine, request.query));
}

http_response site::respond_file(const parsed_request& request) const {
    return file_response(*request.store, request.rest, request.query, limits_, request.ctx());
}

http_response site::respond_dedup(const parsed_request& request) const {
    return dedup_->respond(request.sent, request.query, request.stop);
}

/// One exchange of the streamable HTTP transport, without sessions and streams: a message in, JSON out.
http_response site::respond_mcp(const parsed_request& request) const {
    const parameters none(request.query, {});
    const http_request& sent = request.sent;
    if (sent.from_other_site)
        throw request_refused(403,
                              "the name in the Origin header is not one of this server; add it with --name");
    if (media_type(sent.content_type) != "application/json")
        throw request_refused(415, "unsupported Content-Type (expected application/json)");
    // The transport says so: without the header, the version before the one that introduced it.
    mcp_client client{mcp_version::of_2025_03_26};
    if (sent.mcp_version) {
        const auto version = mcp_version_of(*sent.mcp_version);
        if (!version)
            throw bad_request(fmt::format("unsupported MCP-Protocol-Version (expected one of {})",
                                          fmt::join(mcp_version_names, ", ")));
        client.version = *version;
    }
    mcp_answer answer = mcp_->answer(sent.body, client, request.ctx());
    if (!answer.text.empty()) {
        http_response response = json_response(std::move(answer.text));
        if (answer.is_refusal) response.status = 400;
        return response;
    }
    http_response accepted{202, {}, {}};
    accepted.headers.emplace_back("Cache-Control", "no-store");
    return accepted;
}

/// A step of a query over shards, for the one of the stores that has its checksum.
http_response site::respond_shard(const parsed_request& request) const {
    const parameters none(request.query, {});
    if (request.sent.from_other_site)
        throw request_refused(403,
                              "the name in the Origin header is not one of this server; add it with --name");
    if (media_type(request.sent.content_type) != "application/json")
        throw request_refused(415, "unsupported Content-Type (expected application/json)");
    try {
        for (const served_store& store : stores_) {
            auto answer = store.engine.answer_step(
                request.sent.body, {limits_.results, limits_.query_bytes, limits_.explained_terms},
                request.ctx());
            if (!answer) continue;
            if (answer->size() > limits_.response_bytes)
                throw bad_request(
                    fmt::format("the response would be longer than {} bytes; request fewer "
                                "results or facets with fewer values",
                                limits_.response_bytes));
            return json_response(std::move(*answer));
        }
    } catch (const other_version& e) {
        throw request_refused(409, e.what());
    } catch (const usage_error& e) {
        throw bad_request(e.what());
    }
    throw request_refused(409,
                          "this server does not have the shard (expected the store that was there before): "
                          "serve that one, or write the sharded store again");
}

http_response site::respond_health(const parsed_request& request) const {
    const parameters none(request.query, {});
    return json_response(R"({"status":"ok"})");
}

http_response site::respond_metrics(const parsed_request& request) const {
    const parameters none(request.query, {});
    http_response response{200, "text/plain; version=0.0.4; charset=utf-8", {}};
    std::string& text = response.body;
    metrics_.append_to(text);
    append_metric(text, "quern_http_connections", "gauge", "Open connections.", connections_.open);
    append_metric(text, "quern_http_connections_total", "counter", "Connections accepted.",
                  connections_.accepted);
    append_metric(text, "quern_http_connections_refused_total", "counter",
                  "Connections refused because of the limit.", connections_.refused);
    append_metric(text, "quern_http_timeouts_total", "counter",
                  "Connections closed because of a slow header.", connections_.timed_out);
    append_metric(text, "quern_http_clients_left_total", "counter",
                  "Clients that disconnected before their response; the request was cancelled.",
                  connections_.left);
    append_metric(text, "quern_http_requests_in_flight", "gauge", "Requests waiting for a response.",
                  connections_.in_flight);
    append_metric(text, "quern_http_unread_bytes", "gauge", "Bytes of responses being sent.",
                  connections_.unread);
    append_metric(text, "quern_http_request_body_bytes", "gauge", "Bytes of request bodies that are held.",
                  connections_.bodies);
    if (!stores_.empty()) {
        std::uint64_t words = 0, bytes = 0;
        for (const served_store& of : stores_) {
            words += of.engine.store().vocabulary;
            for (const store_section& section : of.engine.store().sections) bytes += section.bytes;
        }
        append_metric(text, "quern_store_documents", "gauge", "Documents in the stores.", documents());
        append_metric(text, "quern_store_words", "gauge", "Distinct words in each store, together.", words);
        append_metric(text, "quern_store_bytes", "gauge", "Bytes of the stores' sections.", bytes);
    }
    if (dedup_ != nullptr) dedup_->append_metrics(text);
    append_metric(text, "quern_process_peak_memory_bytes", "gauge", "Peak memory, including mapped files.",
                  peak_memory_bytes());
    response.headers.emplace_back("Cache-Control", "no-store");
    return response;
}

}  // namespace quern::server
