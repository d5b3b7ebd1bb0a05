// SPDX-License-Identifier: Apache-2.0
#include "server/dedup_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <shared_mutex>
#include <thread>
#include <utility>

#include "server/api_parameter.hpp"
#include "server/json_writer.hpp"
#include "server/metrics.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

struct dedup_request {
    bool add = true;
    bool commit = false;
};

}  // namespace
}  // namespace quern::server

namespace quern {

template <>
inline constexpr auto options_of<server::dedup_request> =
    std::array{option_for<&server::dedup_request::add>(
                   "add", "Whether to add the documents to those that later ones are compared with."),
               option_for<&server::dedup_request::commit>(
                   "commit", "Whether to wait until the disk has the documents added so far.")};

}  // namespace quern

namespace quern::server {
namespace {

/// As a message of a repeated id goes on: with the line of the first one, which clients cannot know.
constexpr std::string_view first_used = "; first used in";

/// The rows of so many lines may exceed the limit of a response.
constexpr std::size_t max_lines_at_once = 1024;

bool is_repeated(const duplicate_stream::stream_result& result) {
    return !result.is_document && result.why.starts_with("duplicate id \"");
}

bool is_lines(const std::string& type) {
    constexpr std::string_view names[] = {"application/x-ndjson", "application/jsonl",
                                          "application/x-jsonlines", "application/jsonlines"};
    return std::ranges::find(names, type) != std::end(names);
}

context without_interruptions(const context& ctx) {
    context own = ctx;
    own.stop_signal = nullptr;  // a document that is being added is added
    own.on_progress = nullptr;
    return own;
}

dedup_options of_stream(dedup_options options) {
    constexpr std::uint64_t shard_bytes = 64 << 20;
    options.shard_bytes = shard_bytes;
    options.inputs.clear();
    options.list_pairs = false;
    options.max_errors = {.share = 1, .forgives_incomplete = true};  // each is reported to its client
    return options;
}

}  // namespace

const std::vector<api_parameter>& dedup_parameters() {
    static const dedup_request defaults;
    static const std::vector<api_parameter> all{parameter_of("add", defaults, "0"),
                                                parameter_of("commit", defaults, "1")};
    return all;
}

dedup_api::dedup_api(const dedup_options& options, const dedup_limits& limits, const context& ctx)
    : limits_(limits), stream_(of_stream(options), without_interruptions(ctx)) {
    documents_ = stream_.documents();
    memory_bytes_ = stream_.memory_bytes();
}

http_response dedup_api::respond(const http_request& request, std::string_view query,
                                 const std::atomic<int>& stop) {
    const parameters given(query, dedup_parameters());
    dedup_request requested;
    given.read(requested);
    if (requested.commit && !requested.add) throw bad_request("commit=1 and add=0 exclude each other");
    const std::string type = media_type(request.content_type);
    http_response response;
    if (type == "application/json") {
        response.content_type = type;
        response.body = respond_one(request, requested.add, requested.commit);
    } else if (is_lines(type)) {
        response.content_type = "application/x-ndjson";
        response.body = respond_lines(request, requested.add, requested.commit, stop);
    } else {
        throw request_refused(415,
                              "unsupported Content-Type (expected application/json for one document, or "
                              "application/x-ndjson for JSON lines)");
    }
    response.headers.emplace_back("Cache-Control", "no-store");
    return response;
}

/// Runs `work`; a failure within it may leave a document half added, so that no other can be.
template <class Work>
auto dedup_api::guarded(Work work) {
    try {
        return work();
    } catch (...) {
        fault_ = std::current_exception();
        throw;
    }
}

void dedup_api::require_open() const {
    if (fault_)
        throw request_refused(
            503, "adding a document failed, and the documents are no longer served; restart the server");
    if (closed_) throw request_refused(503, "the server is shutting down");
}

void dedup_api::process(std::span<const std::string_view> lines, bool add,
                        const duplicate_stream::take_result& take) {
    if (!add) {
        only_compared_ += lines.size();
        return stream_.ask(lines, take);
    }
    if (memory_bytes_ > limits_.memory_bytes) {
        throw request_refused(
            507, fmt::format("the documents take more than the {} bytes that --memory leaves for them; "
                             "none can be added",
                             limits_.memory_bytes));
    }
    const std::uint32_t before = stream_.documents();
    const bool all_committed = stream_.uncommitted() == 0;
    guarded([&] {
        stream_.next(lines, [&](duplicate_stream::stream_result&& result) {
            if (is_repeated(result))
                result.why.resize(std::min(result.why.rfind(first_used), result.why.size()));
            duplicates_ += result.duplicates.empty() ? 0 : 1;
            rejected_ += result.is_document || result.why.empty() ? 0 : 1;
            take(std::move(result));
        });
    });
    if (all_committed && stream_.uncommitted() != 0) waiting_since_ = std::chrono::steady_clock::now();
    uncommitted_ = stream_.uncommitted();
    memory_bytes_ = stream_.memory_bytes();
    documents_ = stream_.documents();
    added_ += stream_.documents() - before;
}

/// As a row of dedup --stream --format jsonl, with the position and, for a line that is no document, the reason.
void dedup_api::append_row(std::string& body, const duplicate_stream::stream_result& result) const {
    const cell nothing = std::monostate{};
    json_writer json;
    json.begin_object();
    json.member("id", result.id.empty() ? nothing : cell(std::string_view(result.id)));
    if (!result.is_document) {
        for (const char* const name : {"duplicates", "nearest", "distance", "rate", "position"})
            json.member(name, nothing);
        json.member("error", std::string_view(result.why));
    } else {
        json.member("duplicates", std::uint64_t{result.duplicates.size()});
        const duplicate_pair* const nearest =
            result.duplicates.empty() ? nullptr : &result.duplicates.front();
        json.member("nearest", nearest == nullptr ? nothing : cell(stream_.id(nearest->a)));
        json.member("distance", nearest == nullptr ? nothing : cell(nearest->distance));
        json.member("rate", nearest == nullptr ? nothing : cell(nearest->rate()));
        json.member("position", result.position ? cell(std::uint64_t{*result.position}) : nothing);
    }
    json.end_object();
    body += json.take();
}

std::string dedup_api::respond_one(const http_request& request, bool add, bool commit_now) {
    // Line ends between the parts of a JSON text are blanks; within its strings there are none.
    std::string line = request.body;
    std::ranges::replace(line, '\n', ' ');
    std::ranges::replace(line, '\r', ' ');
    std::unique_lock adding(mutex_, std::defer_lock);
    std::shared_lock asking(mutex_, std::defer_lock);
    add ? adding.lock() : asking.lock();
    require_open();
    const std::string_view view = line;
    duplicate_stream::stream_result result;
    process(std::span(&view, 1), add,
            [&](duplicate_stream::stream_result&& one) { result = std::move(one); });
    if (!result.is_document) {
        if (result.why.empty()) throw bad_request("the body is empty (expected a JSON object with a text)");
        throw request_refused(is_repeated(result) ? 409 : 400, result.why);
    }
    std::string body;
    append_row(body, result);
    if (commit_now) commit();
    return body;
}

std::string dedup_api::respond_lines(const http_request& request, bool add, bool commit_now,
                                     const std::atomic<int>& stop) {
    std::unique_lock adding(mutex_, std::defer_lock);
    std::shared_lock asking(mutex_, std::defer_lock);
    if (static_cast<std::size_t>(std::ranges::count(request.body, '\n')) > limits_.lines)
        throw request_refused(413, fmt::format("more than {} lines in one request", limits_.lines));
    add ? adding.lock() : asking.lock();
    std::string body;
    const auto append = [&](duplicate_stream::stream_result&& result) {
        if (!result.is_document && result.why.empty()) return;  // an empty line
        append_row(body, result);
        body += '\n';
    };
    const std::size_t at_once = std::min(stream_.batch(), max_lines_at_once);
    std::vector<std::string_view> lines;
    for (std::string_view rest = request.body; !rest.empty();) {
        if (stop != 0) throw interrupted(0);
        require_open();
        lines.clear();
        while (lines.size() < at_once && !rest.empty()) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            lines.push_back(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        if (body.size() <= limits_.response_bytes) {
            process(lines, add, append);
            continue;
        }
        for (std::size_t i = 0; i < lines.size(); ++i) {
            duplicate_stream::stream_result result;
            result.why = "not processed: the response is too long; send this line in another request";
            append(std::move(result));
        }
    }
    if (commit_now) commit();
    return body;
}

void dedup_api::commit() {
    guarded([&] { stream_.commit(); });
    uncommitted_ = 0;
    ++commits_;
}

void dedup_api::keep_committed(const std::atomic<int>& stop, const std::atomic<bool>& ended) {
    constexpr std::chrono::milliseconds pause{20};
    while (stop == 0 && !ended) {
        std::this_thread::sleep_for(pause);
        if (uncommitted_ == 0) continue;
        const std::unique_lock adding(mutex_);
        const auto waited = std::chrono::steady_clock::now() - waiting_since_;
        if (fault_ || stream_.uncommitted() == 0 || waited < limits_.commit_time) continue;
        try {
            commit();
        } catch (const std::exception&) {  // noted: close() reports it
        }
    }
    try {
        close();
    } catch (const std::exception&) {  // noted
    }
}

void dedup_api::close() {
    const std::unique_lock adding(mutex_);
    if (fault_) std::rethrow_exception(fault_);
    if (std::exchange(closed_, true)) return;
    guarded([&] { stream_.finish(); });
    uncommitted_ = 0;
}

void dedup_api::append_metrics(std::string& text) const {
    append_metric(text, "quern_dedup_documents", "gauge", "Documents that new ones are compared with.",
                  documents_);
    append_metric(text, "quern_dedup_added_total", "counter", "Documents added.", added_);
    append_metric(text, "quern_dedup_duplicates_total", "counter",
                  "Documents to add that have a near-duplicate among those that stay.", duplicates_);
    append_metric(text, "quern_dedup_rejected_total", "counter", "Lines to add that are not documents.",
                  rejected_);
    append_metric(text, "quern_dedup_only_compared_total", "counter", "Documents compared and not added.",
                  only_compared_);
    append_metric(text, "quern_dedup_uncommitted_documents", "gauge",
                  "Documents that the store does not have yet.", uncommitted_);
    append_metric(text, "quern_dedup_commits_total", "counter",
                  "Commits to the store, besides those of 64 MiB.", commits_);
    append_metric(text, "quern_dedup_memory_bytes", "gauge", "Memory of the documents.", memory_bytes_);
}

}  // namespace quern::server
