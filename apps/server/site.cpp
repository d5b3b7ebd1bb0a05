// SPDX-License-Identifier: Apache-2.0
#include "server/site.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "quern/base/error.hpp"
#include "quern/tasks/statistics.hpp"
#include "server/json_writer.hpp"
#include "server/pages.hpp"
#include "server/search_api.hpp"
#include "server/target.hpp"
#include "server/words_api.hpp"

namespace quern::server {

struct site::route {
    std::string_view path;  ///< ends with / where more follows
    std::string_view name;  ///< in the metrics
    bool at_hand;
    http_response (site::*answer)(const asked& request) const;
};

/// A request on its route: what follows the route's path, the parameters, and the word to stop.
struct site::asked {
    std::string_view rest, query;
    const std::atomic<int>& stop;
    context run() const;
};

namespace {

constexpr std::string_view document_path = "/api/documents/";

/// A status's words, for those that are given here.
std::string_view title_of(unsigned status) {
    switch (status) {
        case 400:
            return "Bad Request";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 413:
            return "Content Too Large";
        case 414:
            return "URI Too Long";
        case 421:
            return "Misdirected Request";
        case 431:
            return "Request Header Fields Too Large";
        case 503:
            return "Service Unavailable";
        case 505:
            return "HTTP Version Not Supported";
        default:
            return "Internal Server Error";
    }
}

/// What every answer says. Pages run their own script and style and nothing else, load nothing from elsewhere, are
/// shown in no frame; no other site may include what is here, or learn what was asked.
void add_security(http_response& response) {
    response.headers.emplace_back(
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'");
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    response.headers.emplace_back("Referrer-Policy", "no-referrer");
    response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
    response.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
}

http_response json_response(std::string body) {
    http_response response{200, "application/json", std::move(body)};
    response.headers.emplace_back("Cache-Control", "no-store");
    return response;
}

const page* find_page(std::string_view path) {
    const auto pages = all_pages();
    const auto at = std::ranges::find(pages, path, &page::path);
    return at == pages.end() ? nullptr : &*at;
}

http_response page_response(const page& page, const http_request& request) {
    // A list of tags, weak ones too: RFC 9110, section 13.1.2. Ours are never part of another.
    const bool same =
        request.if_none_match == "*" || request.if_none_match.find(page.etag) != std::string::npos;
    http_response response{same ? 304U : 200U, std::string(page.content_type), {}};
    if (!same) response.body = page.content;
    response.headers.emplace_back("ETag", page.etag);
    response.headers.emplace_back("Cache-Control", "no-cache");  // kept, and asked for again by its tag
    return response;
}

}  // namespace

failed_answer answer_to(const std::exception_ptr& failure) {
    constexpr std::string_view own = "the server failed at this answer";
    try {
        std::rethrow_exception(failure);
    } catch (const not_found& e) {
        return {404, e.what(), {}};
    } catch (const bad_request& e) {
        return {400, e.what(), {}};
    } catch (const out_of_memory& e) {
        return {503, "the answer takes more memory than there is for it", e.what()};
    } catch (const std::bad_alloc&) {
        return {503, "out of memory", "out of memory"};
    } catch (const interrupted&) {
        return {503, "the answer was given up", {}};
    } catch (const std::exception& e) {  // a damaged store, a disk that fails, a fault of ours
        return {500, std::string(own), e.what()};
    } catch (...) {
        return {500, std::string(own), "an error of a kind that is not known"};
    }
}

namespace {

std::string name_of_folder(const std::filesystem::path& folder) {
    const auto path = std::filesystem::canonical(folder);
    return path.filename().string();
}

}  // namespace

site::site(const std::filesystem::path& store, const site_limits& limits, const context& run)
    : limits_(limits), engine_(search_engine::open(store, run)), name_(name_of_folder(store)), log_(run) {
    engine_.warm_up();  // now, and not while the first client waits
}

void site::report(const std::string& fault) {
    const std::lock_guard one_at_a_time(reporting_);
    if (fault == last_fault_) return;
    log_.log(log_level::warning, fault);
    last_fault_ = fault;
}

const site::route* site::find_route(std::string_view path) {
    static constexpr route routes[] = {
        {"/api/search", "/api/search", false, &site::answer_search},
        {document_path, "/api/documents/{id}", false, &site::answer_document},
        {"/api/documents", "/api/documents", false, &site::answer_document_by_parameter},
        {"/api/words", "/api/words", false, &site::answer_words},
        {"/api/store", "/api/store", true, &site::answer_store},
        {"/healthz", "/healthz", true, &site::answer_health},
        {"/metrics", "/metrics", true, &site::answer_metrics},
    };
    const auto at = std::ranges::find_if(routes, [path](const route& r) {
        return r.path.ends_with('/') ? path.starts_with(r.path) && path.size() > r.path.size()
                                     : path == r.path;
    });
    return at == std::end(routes) ? nullptr : &*at;
}

bool site::at_hand(const http_request& request) const {
    const route* const found = find_route(split_target(request.target).path);
    return found == nullptr || found->at_hand;
}

http_response site::answer(const http_request& request, const std::atomic<int>& stop) {
    const auto [path, query] = split_target(request.target);
    http_response response;
    try {
        if (const route* const found = find_route(path)) {
            const std::size_t rest = found->path.ends_with('/') ? found->path.size() : path.size();
            response = (this->*found->answer)({path.substr(rest), query, stop});
        } else if (const page* const found_page = find_page(path)) {
            response = page_response(*found_page, request);
        } else {
            return refusal(404, "nothing is here; /openapi.json lists what is");
        }
    } catch (...) {
        const failed_answer failed = answer_to(std::current_exception());
        if (!failed.fault.empty()) report(failed.fault);
        return refusal(failed.status, failed.told);
    }
    if (response.status < 400) add_security(response);
    return response;
}

/// RFC 9457.
http_response site::refusal(unsigned status, std::string_view detail) {
    json_writer json;
    json.begin_object();
    json.member("type", std::string_view("about:blank"));
    json.member("title", title_of(status));
    json.member("status", std::uint64_t{status});
    json.member("detail", detail);
    json.end_object();
    http_response response{status, "application/problem+json", json.take()};
    response.headers.emplace_back("Cache-Control", "no-store");
    if (status == 405) response.headers.emplace_back("Allow", "GET, HEAD");
    if (status == 503) response.headers.emplace_back("Retry-After", "1");
    add_security(response);
    return response;
}

void site::note(const http_exchange& exchange) {
    const std::string_view path = split_target(exchange.target).path;
    const route* const found = find_route(path);
    const std::string_view name = found != nullptr             ? found->name
                                  : find_page(path) != nullptr ? path
                                                               : "other";
    metrics_.count(name, exchange.status, exchange.taken, exchange.body_bytes);
}

context site::asked::run() const {
    context made = context::cpu(1);
    made.stop_signal = &stop;
    return made;
}

http_response site::answer_words(const asked& request) const {
    return json_response(words_json(engine_, request.query, limits_, request.run()));
}

http_response site::answer_search(const asked& request) const {
    return json_response(search_json(engine_, request.query, limits_, request.run()));
}

http_response site::answer_document(const asked& request) const {
    const auto id = percent_decoded(request.rest, false);
    if (!id) throw bad_request("a % in the id is not followed by two hexadecimal digits");
    return json_response(document_json(engine_, *id, request.query, limits_));
}

http_response site::answer_document_by_parameter(const asked& request) const {
    return json_response(document_json(engine_, {}, request.query, limits_));
}

http_response site::answer_store(const asked& request) const {
    const parameters none(request.query, {});
    const store_info& info = store();
    json_writer json;
    json.begin_object();
    json.member("name", std::string_view(name_));
    json.member("format_version", std::uint64_t{info.format_version});
    json.member("unicode_version", std::string_view(info.unicode_version));
    json.member("language", std::string_view(info.text.language));
    json.member("tokens", token_rule_names[static_cast<std::size_t>(info.text.tokens)]);
    json.member("min_length", std::uint64_t{info.text.min_length});
    json.member("stop_words", std::string_view(info.text.stop_words));
    json.member("stem", stemmer_names[static_cast<std::size_t>(info.text.stem)]);
    json.member("documents", info.documents);
    json.member("words", info.words);
    json.member("vocabulary", info.vocabulary);
    json.member("postings", info.postings);
    json.member("links", info.links);
    json.member("copies", info.copies);
    std::string stages;
    for (const build_stage stage : info.stages)
        stages.append(stages.empty() ? "" : ",").append(build_stage_names[static_cast<std::size_t>(stage)]);
    json.member("stages", std::string_view(stages));
    json.key("offers");
    json.begin_list();
    if (engine_.has_thesaurus()) json.value(std::string_view("thesaurus"));
    if (engine_.has_link_ranks()) json.value(std::string_view("link_ranks"));
    if (engine_.has_document_vectors()) json.value(std::string_view("document_vectors"));
    json.end_list();
    json.key("limits");
    json.begin_object();
    json.member("results", static_cast<std::uint64_t>(limits_.results));
    json.member("query_bytes", static_cast<std::uint64_t>(limits_.query_bytes));
    json.end_object();
    json.key("sections");
    json.begin_list();
    for (const store_section& section : info.sections) {
        json.begin_object();
        json.member("name", std::string_view(section.name));
        json.member("bytes", section.bytes);
        json.member("checksum", std::string_view(fmt::format("{:016x}", section.checksum)));
        json.end_object();
    }
    json.end_list();
    json.end_object();
    return json_response(json.take());
}

http_response site::answer_health(const asked& request) const {
    const parameters none(request.query, {});
    return json_response(R"({"status":"ok"})");
}

http_response site::answer_metrics(const asked& request) const {
    const parameters none(request.query, {});
    const store_info& info = store();
    http_response response{200, "text/plain; version=0.0.4; charset=utf-8", {}};
    std::string& text = response.body;
    metrics_.append_to(text);
    append_metric(text, "quern_http_connections", "gauge", "Connections that are open.", connections_.open);
    append_metric(text, "quern_http_connections_total", "counter", "Connections accepted.",
                  connections_.accepted);
    append_metric(text, "quern_http_connections_refused_total", "counter", "Connections beyond the limit.",
                  connections_.refused);
    append_metric(text, "quern_http_timeouts_total", "counter",
                  "Connections closed for a header that took too long.", connections_.timed_out);
    append_metric(text, "quern_http_clients_left_total", "counter",
                  "Clients who left before their answer, which was given up.", connections_.left);
    append_metric(text, "quern_http_requests_in_flight", "gauge", "Requests that wait for an answer.",
                  connections_.in_flight);
    append_metric(text, "quern_http_unread_bytes", "gauge", "Bytes of answers that are being sent.",
                  connections_.unread);
    append_metric(text, "quern_store_documents", "gauge", "Documents of the store.", info.documents);
    append_metric(text, "quern_store_words", "gauge", "Different words of the store.", info.vocabulary);
    std::uint64_t bytes = 0;
    for (const store_section& section : info.sections) bytes += section.bytes;
    append_metric(text, "quern_store_bytes", "gauge", "Bytes of the store's sections.", bytes);
    append_metric(text, "quern_process_peak_memory_bytes", "gauge",
                  "The most memory held so far, mapped files included.", peak_memory_bytes());
    response.headers.emplace_back("Cache-Control", "no-store");
    return response;
}

}  // namespace quern::server
