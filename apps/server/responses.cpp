// SPDX-License-Identifier: Apache-2.0
#include "server/responses.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "quern/tasks/shards.hpp"
#include "server/json_writer.hpp"
#include "server/search_api.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

/// The title of each status that the server uses.
std::string_view title_of(unsigned status) {
    switch (status) {
        case 400:
            return "Bad Request";
        case 403:
            return "Forbidden";
        case 404:
            return "Not Found";
        case 405:
            return "Method Not Allowed";
        case 409:
            return "Conflict";
        case 413:
            return "Content Too Large";
        case 414:
            return "URI Too Long";
        case 415:
            return "Unsupported Media Type";
        case 421:
            return "Misdirected Request";
        case 431:
            return "Request Header Fields Too Large";
        case 503:
            return "Service Unavailable";
        case 507:
            return "Insufficient Storage";
        case 505:
            return "HTTP Version Not Supported";
        default:
            return "Internal Server Error";
    }
}

}  // namespace

void add_security(http_response& response) {
    const bool has_policy = std::ranges::any_of(
        response.headers, [](const auto& header) { return header.first == "Content-Security-Policy"; });
    if (!has_policy)
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

http_response problem_response(unsigned status, std::string_view detail,
                               std::optional<std::size_t> position) {
    json_writer json;
    json.begin_object();
    json.member("type", std::string_view("about:blank"));
    json.member("title", title_of(status));
    json.member("status", std::uint64_t{status});
    json.member("detail", detail);
    if (position) json.member("position", static_cast<std::uint64_t>(*position));
    json.end_object();
    http_response response{status, "application/problem+json", json.take()};
    response.headers.emplace_back("Cache-Control", "no-store");
    if (status == 405) response.headers.emplace_back("Allow", "GET, HEAD");
    if (status == 503) response.headers.emplace_back("Retry-After", "1");
    add_security(response);
    return response;
}

failed_response response_to(const std::exception_ptr& failure) {
    constexpr std::string_view own = "the server failed to process this request";
    try {
        std::rethrow_exception(failure);
    } catch (const not_found& e) {
        return {404, e.what(), {}};
    } catch (const bad_query& e) {
        return {400, e.what(), {}, e.position()};
    } catch (const bad_request& e) {
        return {400, e.what(), {}};
    } catch (const request_refused& e) {
        return {e.status(), e.what(), {}};
    } catch (const store_lost& e) {
        return {503, "the store was changed or damaged while it was being served", e.what()};
    } catch (const shard_failed& e) {
        return {503, e.what(), e.what()};
    } catch (const out_of_memory& e) {
        return {503, "not enough memory for this request", e.what()};
    } catch (const std::bad_alloc&) {
        return {503, "out of memory", "out of memory"};
    } catch (const interrupted&) {
        return {503, "the request was cancelled", {}};
    } catch (const std::exception& e) {  // a damaged store, a failing disk, a bug
        return {500, std::string(own), e.what()};
    } catch (...) {
        return {500, std::string(own), "unknown error"};
    }
}

}  // namespace quern::server
