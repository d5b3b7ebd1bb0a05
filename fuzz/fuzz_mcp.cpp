// SPDX-License-Identifier: Apache-2.0
// Any bytes as a message of the Model Context Protocol, for a store with all tools: an answer is one line of JSON-RPC with
// the id of the message, no failure is the server's own, and equal messages have equal answers. Input: a byte that selects
// the version of the client, then the message.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "quern/tasks/build.hpp"
#include "server/mcp_tools.hpp"
#include "server/served_store.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace quern;
using nlohmann::json;

void require(bool holds) {
    if (!holds) std::abort();
}

/// Of two kinds, and with words often enough for a thesaurus and for vectors.
std::string corpus() {
    std::string lines;
    for (int i = 0; i < 12; ++i) {
        lines += fmt::format(
            R"({{"id":"d{0}","title":"Mill {0}","text":"{1} Zürich {0}. ha ha ha","links":["d0"]}})"
            "\n",
            i,
            i % 2 == 0 ? "A mill grinds grain. The red mill, the old mill, flour and bread."
                       : "A horse draws a cart. The old horse, the red cart, over a bridge.");
    }
    return lines;
}

struct opened {
    quern::testing::temporary_folder folder;
    std::vector<server::served_store> stores =
        server::open_stores(std::vector<server::store_source>{{store(), folder / "store"}}, context::cpu(1));
    server::mcp tools = server::mcp_of(stores, {}, [](const std::string&) { std::abort(); });

    std::filesystem::path store() {
        quern::testing::write_file(folder / "corpus.jsonl", corpus());
        build_options options;
        options.inputs = {folder / "corpus.jsonl"};
        options.store = folder / "store";
        options.skip = {build_stage::duplicates};
        context ctx = context::cpu(1);
        ctx.scratch = folder.path();
        build(options, ctx);
        return folder / "store";
    }
};

void check_one(const json& answer, bool is_refusal) {
    require(answer.is_object() && answer.size() == 3 && answer.at("jsonrpc") == "2.0");
    const json& id = answer.at("id");
    require(id.is_string() || id.is_number_integer() || (id.is_null() && answer.contains("error")));
    require(answer.contains("result") != answer.contains("error"));
    require(!is_refusal || answer.contains("error"));
    if (answer.contains("error")) require(!answer["error"].at("message").get<std::string>().empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    static opened all;
    const std::string_view message(reinterpret_cast<const char*>(data) + 1, size - 1);
    const server::mcp_client before{static_cast<server::mcp_version>(data[0] % 3)};
    server::mcp_client client = before, again = before;
    const server::mcp_answer answer = all.tools.answer(message, client, context::cpu(1));
    require(all.tools.answer(message, again, context::cpu(1)).text == answer.text);
    require(client.version == again.version);
    if (answer.text.empty()) {
        require(!answer.is_refusal && json::accept(message));
        return 0;
    }
    require(answer.text.find('\n') == std::string::npos);
    const json parsed = json::parse(answer.text);
    if (parsed.is_array()) {
        require(before.version == server::mcp_version::of_2025_03_26 && !parsed.empty());
        for (const json& one : parsed) check_one(one, false);
        return 0;
    }
    check_one(parsed, answer.is_refusal);
    if (!parsed["id"].is_null()) require(json::parse(message).at("id") == parsed["id"]);
    return 0;
}
