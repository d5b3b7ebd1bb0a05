// SPDX-License-Identifier: Apache-2.0
// quern serve
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "commands.hpp"
#include "corpus_store.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dedup_option_table.hpp"
#include "quern/tasks/source_folder.hpp"
#include "quern/tasks/store.hpp"
#include "server/dedup_api.hpp"
#include "server/http_client.hpp"
#include "server/http_server.hpp"
#include "server/served_store.hpp"
#include "server/site.hpp"
#include "session.hpp"
#include "signals.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct serve_request {
    common_options common;
    build_options corpus;
    text_choice text;
    std::vector<std::string> paths;
    std::vector<std::string> folders;  ///< [NAME=]DIR, or none
    dedup_options dedup;
    server::dedup_limits of_dedup;
    double commit_seconds = std::chrono::duration<double>(of_dedup.commit_time).count();
    server::http_address address{.host = "127.0.0.1", .port = 7700, .names = {}};
    server::http_limits limits;
    server::site_limits of_site;
    double max_seconds = std::chrono::duration<double>(limits.response_time).count();
};

constexpr auto port_option = option_for<&server::http_address::port>(
    "port", "N", {.max = 65535},
    "The port; 0 chooses a free one. The address is printed on standard output.");
constexpr auto max_connections_option = option_for<&server::http_limits::connections>(
    "max_connections", "N", {.min = 1, .max = 100'000},
    "Maximum number of open connections; further ones get status 503.");
constexpr auto max_seconds_option = option_for<&serve_request::max_seconds>(
    "max_seconds", "S", {.min = 0.001, .max = 86'400},
    "Maximum seconds for an answer, including the wait for a thread; then the request gets status 503.");
constexpr auto commit_seconds_option = option_for<&serve_request::commit_seconds>(
    "commit_seconds", "S", {.min = 0.001, .max = 86'400},
    "Maximum seconds from an answer of /api/dedup until the disk has its document.");
constexpr auto max_results_option = option_for<&server::site_limits::results>(
    "max_results", "N", {.min = 1, .max = 1'000'000},
    "Maximum number of results per request, including those skipped by offset.");

void declare(command_line& line, serve_request& request) {
    line.arguments("STORE|CORPUS", store_or_corpus_help, request.paths, false);
    line.section("Server options");
    line.options(
        "--folder", "[NAME=]DIR",
        "The folder that the store NAME was built from: its current files are then shown as they are written "
        "(Markdown and HTML, with their images) and offered for download. NAME may be left out for one "
        "store. By default the corpus itself, if it is a folder; none shows only the texts of stores.",
        [&](const std::string& value) { request.folders.push_back(value); });
    line.option("--host", "HOST",
                "The address to listen on: 127.0.0.1 and localhost are reachable from this machine only, "
                "0.0.0.0 and :: from every network. The server has neither passwords nor encryption: use a "
                "proxy for access from other machines.",
                request.address.host, [&](const std::string& value) { request.address.host = value; });
    line.option(port_option, request.address);
    line.option(
        "--name", "NAME,...",
        "Additional names for the server in the Host header, such as a proxy's. On a local address it "
        "accepts only localhost, 127.0.0.1 and these, so that no page on the web can read the store.",
        "", [&](const std::string& value) {
            for (std::string& name : parse_list(value))
                if (!name.empty()) request.address.names.push_back(std::move(name));
        });
    line.option(max_connections_option, request.limits);
    line.option(max_seconds_option, request);
    line.option(max_results_option, request.of_site);
    line.section("Options for near-duplicates");
    line.option(
        "--dedup", "DIR",
        "Compare documents as they arrive (POST /api/dedup) with all earlier ones, as quern dedup --stream "
        "does, and add them to DIR, a store of quern dedup --store; creates DIR if it is missing. "
        "STORE is then optional. With --device cuda on a GPU, in whose memory the documents of DIR are held.",
        "", [&](const std::string& value) { request.dedup.store = file_name(value); });
    line.option("threshold", request.dedup.duplicates);
    line.option("unit", request.dedup.duplicates);
    line.option("rule", request.dedup);
    line.option(commit_seconds_option, request);
    line.option("--max-body", "SIZE", "Maximum size of a request's body.", "4M",
                [&](const std::string& value) { request.of_dedup.body_bytes = parse_size(value); });
    line.section("Options for a corpus");
    declare_corpus(line, request.corpus, corpus_forms::and_indexes);
    declare_text(line, request.text);
    declare_common(line, request.common, {.rows = false, .output = false, .gpu = true});
    line.example("quern serve wiki", "Then open http://127.0.0.1:7700/ in a browser.");
    line.example("quern serve ~/notes",
                 "A folder, indexed on the fly and remembered; its documents are shown with their images.");
    line.example("quern serve wiki notes --folder notes=~/notes",
                 "Two stores; the page has a choice of them.");
    line.example("curl 'http://127.0.0.1:7700/api/search?q=theory+of+relativity&k=3'",
                 "The JSON API; /openapi.json describes it.");
    line.example("quern serve --dedup seen",
                 "Near-duplicates of documents as they arrive, without a search page.");
    line.example("quern serve wiki --host 0.0.0.0 --name search.example.org",
                 "For a proxy on another machine.");
}

/// Each connection needs a file descriptor. Returns how many of the wanted connections the system allows.
std::size_t allowed_connections(std::size_t wanted) {
    constexpr rlim_t others = 128;  // the store's files, the standard ones, connections being refused
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) != 0) return wanted;
    if (files.rlim_cur < wanted + others) {
        files.rlim_cur = std::min<rlim_t>(files.rlim_max, wanted + others);
        setrlimit(RLIMIT_NOFILE, &files);
        getrlimit(RLIMIT_NOFILE, &files);
    }
    return std::min<std::size_t>(wanted, files.rlim_cur > others ? files.rlim_cur - others : 1);
}

/// Refuses options that have no effect.
void check_parts(command_line& line, const serve_request& request) {
    const bool has_dedup = !request.dedup.store.empty();
    if (request.paths.empty() && !has_dedup) throw usage_error("STORE|CORPUS or --dedup is required");
    line.require_used("--folder", !request.paths.empty(), "requires STORE|CORPUS");
    for (const char* const option :
         {"--threshold", "--unit", "--rule", "--commit-seconds", "--max-body", "--gpu-memory"})
        line.require_used(option, has_dedup, "requires --dedup");
}

/// Ends a thread at the end of a block, however it ends.
struct joined_at_end {
    std::thread& thread;
    std::atomic<bool>& ended;

    joined_at_end(std::thread& t, std::atomic<bool>& e) : thread(t), ended(e) {}
    joined_at_end(const joined_at_end&) = delete;  // joins once
    joined_at_end& operator=(const joined_at_end&) = delete;
    ~joined_at_end() {
        ended = true;
        if (thread.joinable()) thread.join();
    }
};

/// The stores to open, those of corpora built first.
std::vector<server::store_source> sources_of(const serve_request& request, session& job) {
    std::vector<server::store_source> sources;
    std::vector<std::string> names;
    for (const std::string& path : request.paths) {
        sources.push_back({store_for(path, request.corpus, request.text, job), path});
        names.push_back(std::filesystem::canonical(path).filename().string());
        const std::string& form = request.corpus.input_format;
        if (!holds_store(path) && std::filesystem::is_directory(path) && (form.empty() || form == "folder"))
            sources.back().folder = source_folder::open(path);
    }
    names = server::unique_names(names);
    for (const std::string& value : request.folders) {
        const auto name =
            std::ranges::find_if(names, [&](const std::string& of) { return value.starts_with(of + "="); });
        const bool is_named = name != names.end();
        if (!is_named && names.size() > 1 && value != "none")
            throw usage_error(
                fmt::format("--folder: invalid value '{}' (expected NAME=DIR with NAME one of {})", value,
                            fmt::join(names, ", ")));
        const std::string folder = is_named ? value.substr(name->size() + 1) : value;
        for (std::size_t i = 0; i < sources.size(); ++i) {
            if (is_named && names[i] != *name) continue;
            sources[i].folder = {};
            if (folder != "none") sources[i].folder = source_folder::open(file_name(folder));
        }
    }
    return sources;
}

/// What a server with these parts serves, for people.
std::string served(const server::site& site, const std::optional<server::dedup_api>& dedup) {
    std::string text;
    if (site.has_stores()) text = counted(site.documents(), "document");
    if (dedup) {
        text += fmt::format("{}near-duplicates of {}", text.empty() ? "" : " and ",
                            counted(dedup->documents(), "document"));
    }
    return text;
}

}  // namespace

int run_serve(const command& self, const std::vector<std::string>& arguments) {
    serve_request request;
    command_line line(
        self, "[STORE|CORPUS]... [OPTION]...",
        "Serves stores, or the stores of corpora, over HTTP: a search page for the browser, a JSON API "
        "with the same results as quern search, and tools for agents (/mcp; see quern mcp). With --dedup, "
        "also finds near-duplicates of documents that "
        "clients send. Prints the address of the page and serves until Ctrl-C or "
        "SIGTERM, which let running requests finish. Processes --threads requests at a time.");
    declare(line, request);
    line.parse(arguments);
    request.limits.response_time =
        std::chrono::milliseconds(static_cast<std::int64_t>(1000 * request.max_seconds));

    request.of_dedup.commit_time =
        std::chrono::milliseconds(static_cast<std::int64_t>(1000 * request.commit_seconds));
    check_parts(line, request);
    session job(self, request.common);
    job.follow_links = request.corpus.follow_links;
    request.dedup.fields = request.corpus.fields;  // of the documents that arrive
    const bool only_stores =
        std::ranges::all_of(request.paths, [](const std::string& path) { return holds_store(path); });
    if (!request.dedup.store.empty() && only_stores) request.corpus.fields = {};
    const device_choice of_dedup = job.ctx.device;
    if (!request.dedup.store.empty()) job.ctx.device = {device_choice::kind::cpu};  // of searching
    job.choose_device("search", offered_places::cpu_only);
    std::vector<std::filesystem::path> inputs(request.paths.begin(), request.paths.end());
    if (!request.dedup.store.empty()) {
        refuse_harm(request.dedup.store, inputs);
        check_destination({.path = request.dedup.store, .is_folder = true}, false);
        inputs.push_back(request.dedup.store);
    }
    job.check_destinations({}, inputs);
    if (only_stores && !request.paths.empty() && request.text.any())
        throw usage_error("text options require a corpus; a store has its own");
    const std::vector<server::store_source> sources = sources_of(request, job);
    std::optional<server::dedup_api> dedup;
    request.of_dedup.memory_bytes = job.ctx.memory_limit() / 2;
    if (!request.dedup.store.empty())
        job.stage("open dedup", [&] {
            context ctx = job.ctx;
            ctx.device = of_dedup;
            dedup.emplace(request.dedup, request.of_dedup, ctx);
        });
    server::site site = job.stage("open", [&] {
        return server::site(sources, request.of_site, job.ctx, dedup ? &*dedup : nullptr,
                            server::http_shards(request.limits.response_time * 3 / 4));
    });
    const std::size_t connections = allowed_connections(request.limits.connections);
    if (connections < request.limits.connections) {
        job.messages.warning(fmt::format("the limit of open files (ulimit -n) allows {} connections, not {}",
                                         grouped(connections), grouped(request.limits.connections)));
        request.limits.connections = connections;
    }
    // A quarter of the memory for answers that slow clients have not read, and at least one of maximum length.
    request.limits.unread_bytes =
        std::max<std::size_t>(job.ctx.memory_limit() / 4, request.of_site.response_bytes);
    request.limits.body_bytes =
        std::max<std::size_t>(job.ctx.memory_limit() / 8, request.of_dedup.body_bytes);
    server::http_server http(request.address, request.limits, site, site.connections());
    output to;
    to.write(http.url() + '\n');
    to.commit();
    job.messages.info(fmt::format("serving {}; Ctrl-C to stop", served(site, dedup)));
    job.stage("serve", [&] {
        std::atomic<bool> ended{false};
        std::thread committing;
        if (dedup) committing = std::thread([&] { dedup->keep_committed(stop_signal(), ended); });
        const joined_at_end last{committing, ended};
        http.run(job.ctx.thread_count(), stop_signal());
    });
    if (dedup) {
        dedup->close();
        job.statistics.counts["dedup_documents"] = dedup->documents();
        job.statistics.counts["dedup_added"] = dedup->added();
    }
    if (site.has_stores()) job.statistics.counts["documents"] = site.documents();
    job.statistics.counts["connections"] = site.connections().accepted;
    job.statistics.counts["requests"] = site.requests();
    job.write_statistics();
    job.messages.info(fmt::format("stopped after {}", counted(site.requests(), "request")));
    return 128 + stop_signal().load();
}

}  // namespace quern::cli
