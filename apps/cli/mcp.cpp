// SPDX-License-Identifier: Apache-2.0
// quern mcp
#include "server/mcp.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "input_lines.hpp"
#include "quern/base/error.hpp"
#include "server/http_client.hpp"
#include "server/mcp_tools.hpp"
#include "server/served_store.hpp"
#include "session.hpp"
#include "signals.hpp"
#include "values.hpp"

namespace quern::cli {
namespace {

struct mcp_request {
    common_options common;
    std::vector<std::string> paths;
};

void declare(command_line& line, mcp_request& request) {
    line.arguments("STORE", "Folders written by quern build. Of several, the tools take the name of one.",
                   request.paths, true);
    declare_common(line, request.common,
                   {.rows = false, .output = false, .scratch = false, .idle = {"--device"}});
    line.example("quern mcp wiki", "For the configuration of an agent: it starts this command itself.");
    line.example("quern mcp wiki notes", "Two stores: each tool takes the name of one.");
    line.example("echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}' | quern mcp wiki",
                 "The tools with their arguments.");
}

/// The next message; false at the end of the input, and after a signal.
bool next_message(std::string& message, bool& is_whole) {
    try {
        return stop_signal() == 0 && next_line(message, server::max_mcp_message_bytes, is_whole);
    } catch (const io_error&) {
        if (stop_signal() != 0) return false;  // it ended the wait for input
        throw;
    }
}

bool is_blank(std::string_view line) {
    return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

/// Answers each line of standard input. Returns the number of messages.
std::uint64_t answer_lines(const server::mcp& tools, const session& job) {
    output to;
    server::mcp_client client;
    std::uint64_t messages = 0;
    bool is_whole = true;
    for (std::string message; next_message(message, is_whole);) {
        if (is_whole && is_blank(message)) continue;
        ++messages;
        if (!is_whole) message += ' ';  // one more byte than the limit, which is then refused
        const server::mcp_answer answer = tools.answer(message, client, job.ctx);
        if (answer.text.empty()) continue;
        to.write(answer.text + '\n');
        to.flush();
    }
    to.commit();
    return messages;
}

}  // namespace

int run_mcp(const command& self, const std::vector<std::string>& arguments) {
    mcp_request request;
    command_line line(
        self, "STORE... [OPTION]...",
        "Offers stores to agents over the Model Context Protocol: tools to search them, to read their "
        "documents, to count phrases and to complete words; with a thesaurus also similar words, with "
        "document vectors "
        "also similar documents. Reads messages of JSON-RPC from standard input, one per line, and answers "
        "on standard "
        "output until the input ends. No tool changes a store.");
    declare(line, request);
    line.parse(arguments);

    session job(self, request.common);
    job.choose_device("search", offered_places::cpu_only);
    std::vector<server::store_source> sources;
    for (const std::string& path : request.paths) sources.push_back({path, path});
    job.check_destinations({}, {request.paths.begin(), request.paths.end()});
    const std::vector<server::served_store> stores =
        job.stage("open", [&] { return server::open_stores(sources, job.ctx, server::http_shards()); });
    const server::mcp tools =
        server::mcp_of(stores, {}, [&job](const std::string& fault) { job.messages.warning(fault); });
    std::uint64_t documents = 0;
    for (const server::served_store& store : stores) documents += store.engine.documents();
    job.messages.info(fmt::format("serving {} on standard input and output", counted(documents, "document")));
    const std::uint64_t messages = job.stage("serve", [&] { return answer_lines(tools, job); });
    job.statistics.counts["documents"] = documents;
    job.statistics.counts["messages"] = messages;
    job.write_statistics();
    const int signal = stop_signal();
    return signal == 0 ? 0 : 128 + signal;
}

}  // namespace quern::cli
