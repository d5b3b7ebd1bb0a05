// SPDX-License-Identifier: Apache-2.0
// quern serve
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "commands.hpp"
#include "quern/base/error.hpp"
#include "server/http_server.hpp"
#include "server/site.hpp"
#include "session.hpp"
#include "signals.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct serve_request {
    common_options common;
    std::string path;
    server::http_address address{.host = "127.0.0.1", .port = 7700, .names = {}};
    server::http_limits limits;
    server::site_limits of_site;
};

void declare(command_line& line, serve_request& request) {
    line.argument("STORE", "What quern build wrote.", request.path);
    line.section("Server options");
    line.option(
        "--host", "HOST",
        "The address to listen on: 127.0.0.1 and localhost are this machine alone, 0.0.0.0 and :: every "
        "network it is on. There are no passwords and no encryption: beyond this machine, put a proxy "
        "in front.",
        request.address.host, [&](const std::string& value) { request.address.host = value; });
    line.option("--port", "N", "The port; 0 takes a free one. The address is printed on standard output.",
                std::to_string(request.address.port), [&](const std::string& value) {
                    request.address.port = static_cast<std::uint16_t>(parse_integer(value, 0, 65535));
                });
    line.option(
        "--name", "NAME,...",
        "More names by which clients may call the server (the Host header), such as a proxy's. "
        "On this machine alone it answers to localhost, 127.0.0.1 and these, so that no page of the web "
        "reads what is here.",
        "", [&](const std::string& value) {
            for (std::size_t begin = 0; begin <= value.size();) {
                const std::size_t end = std::min(value.find(',', begin), value.size());
                if (end > begin) request.address.names.push_back(value.substr(begin, end - begin));
                begin = end + 1;
            }
        });
    line.option("--max-connections", "N", "Connections at once; one more is asked to come again (503).",
                std::to_string(request.limits.connections), [&](const std::string& value) {
                    request.limits.connections = parse_integer(value, 1, 100'000);
                });
    line.option(
        "--max-seconds", "S",
        "The most seconds that an answer may take, waiting for a thread included; then it is given up (503).",
        "10", [&](const std::string& value) {
            const double seconds = parse_number(value);
            if (!(seconds >= 0.001 && seconds <= 86'400))
                throw usage_error(fmt::format("'{}' is not between 0.001 and 86400", value));
            request.limits.answer_time = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
        });
    line.option("--max-results", "N", "The most results one request may ask for, passed-over ones included.",
                std::to_string(request.of_site.results), [&](const std::string& value) {
                    request.of_site.results = parse_integer(value, 1, 1'000'000);
                });
    declare_common(line, request.common,
                   {.rows = false,
                    .output = false,
                    .idle = {"--device", "--gpu-memory", "--tmp", "--seed", "--progress"}});
    line.example("quern serve wiki", "Then open http://127.0.0.1:7700/ in a browser.");
    line.example("curl 'http://127.0.0.1:7700/api/search?q=theory+of+relativity&k=3'",
                 "The JSON API; /openapi.json describes it.");
    line.example("quern serve wiki --host 0.0.0.0 --name search.example.org",
                 "For a proxy on another machine.");
}

/// Every connection is a file. Returns how many the system allows, of those wanted.
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

}  // namespace

int run_serve(const command& self, const std::vector<std::string>& arguments) {
    serve_request request;
    command_line line(
        self, "STORE [OPTION]...",
        "Serves a store over HTTP: a page to search it in a browser, and a JSON API with the same results as "
        "quern search. Prints the page's address, and serves until Ctrl-C or SIGTERM, which let answers "
        "under way "
        "finish. --threads requests are answered at once.");
    declare(line, request);
    line.parse(arguments);

    session run(self, request.common);
    run.choose_device("search", offered_places::cpu_only);
    run.check_destinations({}, {request.path});
    server::site site =
        run.stage("open", [&] { return server::site(request.path, request.of_site, run.run); });
    const std::size_t connections = allowed_connections(request.limits.connections);
    if (connections < request.limits.connections) {
        run.messages.warning(fmt::format("the limit of open files (ulimit -n) allows {} connections, not {}",
                                         grouped(connections), grouped(request.limits.connections)));
        request.limits.connections = connections;
    }
    // A share for what slow clients leave here, and one of the longest answers in any case.
    request.limits.unread_bytes =
        std::max<std::size_t>(run.run.memory_limit() / 4, request.of_site.answer_bytes);
    server::http_server http(request.address, request.limits, site, site.connections());
    output to;
    to.write(http.url() + '\n');
    to.commit();
    run.messages.info(fmt::format("serving {} documents; Ctrl-C ends", grouped(site.store().documents)));
    run.stage("serve", [&] { http.run(run.run.thread_count(), stop_signal()); });
    run.statistics.counts["documents"] = site.store().documents;
    run.statistics.counts["connections"] = site.connections().accepted;
    run.statistics.counts["requests"] = site.requests();
    run.write_statistics();
    run.messages.info(fmt::format("ended after {}", counted(site.requests(), "request")));
    return 128 + stop_signal().load();
}

}  // namespace quern::cli
