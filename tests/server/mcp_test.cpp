// SPDX-License-Identifier: Apache-2.0
// The answers to messages of the Model Context Protocol: with tools made here, then with those of a store.
#include "server/mcp.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/similar.hpp"
#include "server/mcp_tools.hpp"
#include "temporary_folder.hpp"

namespace quern::server {
namespace {

struct made_options {
    std::string text;
    std::uint64_t whole = 3;
    double number = 0.5;
    bool flag = true;
    ranking_model choice = ranking_model::ql;
};

}  // namespace
}  // namespace quern::server

namespace quern {

template <>
inline constexpr auto options_of<server::made_options> =
    std::array{option_for<&server::made_options::text>("text", "", "A text."),
               option_for<&server::made_options::whole>("whole", "N", {.min = 1, .max = 9}, "N of them."),
               option_for<&server::made_options::number>("number", "X", {.above = 0, .max = 1}, "A share."),
               option_for<&server::made_options::flag>("flag", "Whether."),
               option_for<&server::made_options::choice>("choice", "MODEL", ranking_model_names, "Which.")};

}  // namespace quern

namespace quern::server::mcp_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::temporary_folder;
using testing::write_file;

constexpr int malformed = -32700, invalid_request = -32600, unknown_method = -32601, invalid_params = -32602;

/// The answer as JSON, checked for what every answer has; null for none.
json parsed_answer(const mcp_answer& answer) {
    if (answer.text.empty()) return nullptr;
    EXPECT_EQ(answer.text.find('\n'), std::string::npos);
    json all = json::parse(answer.text);  // throws for anything but UTF-8
    for (const json& one : all.is_array() ? all : json::array({all})) {
        EXPECT_EQ(one.at("jsonrpc"), "2.0");
        EXPECT_NE(one.contains("result"), one.contains("error"));
        EXPECT_EQ(one.size(), 3U);
    }
    return all;
}

/// A client of tools made here.
class made_tools {
  public:
    made_tools() {
        static const made_options defaults;
        std::vector<api_parameter> arguments;
        for (const auto& row : options_of<made_options>) arguments.push_back(parameter_of(row, defaults, ""));
        arguments.front().required = true;
        const auto echo = [](const parameter_values& given, const context& of_call) {
            of_call.check_stop();
            json all = json::object();
            for (const auto& [name, value] : given) all[name] = value;
            return all.dump();
        };
        const auto fail = [](const parameter_values& given, const context&) -> std::string {
            const std::string& how = given.at(0).second;
            if (how == "refuse") throw bad_request("this is refused");
            if (how == "damaged") throw damaged_store("/secret/store", "postings", "it is cut off");
            if (how == "memory") throw std::bad_alloc();
            if (how == "long") return R"({"x":")" + std::string(1000, 'x') + R"("})";
            throw std::runtime_error("a bug in /secret");
        };
        std::vector<mcp_tool> tools{{"echo", "Echo", "Returns its arguments.", arguments, echo},
                                    {"fail", "Fail", "Fails.", {arguments.front()}, fail}};
        server_.emplace(mcp_description{"made", "Made here", "1.2", "Call echo."}, std::move(tools),
                        mcp_limits{.batch = 4, .response_bytes = 2000},
                        [this](const std::string& fault) { faults.push_back(fault); });
    }

    mcp_answer answer(std::string_view message) { return server_->answer(message, client, ctx); }
    json send(std::string_view message) { return parsed_answer(answer(message)); }
    json request(std::string_view method, const json& params = nullptr) {
        json message{{"jsonrpc", "2.0"}, {"id", 7}, {"method", method}};
        if (!params.is_null()) message["params"] = params;
        json back = send(message.dump());
        EXPECT_EQ(back.at("id"), 7);
        return back;
    }
    json call(std::string_view tool, const json& arguments) {
        return request("tools/call", {{"name", tool}, {"arguments", arguments}});
    }

    mcp_client client;
    context ctx = context::cpu(1);
    std::vector<std::string> faults;

  private:
    std::optional<mcp> server_;
};

void expect_error(const json& answer, int code, std::string_view why, const json& id = 7) {
    ASSERT_TRUE(answer.is_object() && answer.contains("error")) << answer;
    EXPECT_EQ(answer.at("error").at("code"), code) << answer;
    EXPECT_THAT(answer.at("error").at("message").get<std::string>(), HasSubstr(std::string(why)));
    EXPECT_EQ(answer.at("id"), id);
}

TEST(mcp, initialize_agrees_on_a_version) {
    for (const auto& [wanted, agreed] :
         {std::pair("2024-11-05", "2024-11-05"), std::pair("2025-03-26", "2025-03-26"),
          std::pair("2025-06-18", "2025-06-18"), std::pair("2025-11-25", "2025-06-18"),
          std::pair("", "2025-06-18"), std::pair("1.0.0", "2025-06-18")}) {
        made_tools client;
        const json result = client.request("initialize", {{"protocolVersion", wanted}}).at("result");
        EXPECT_EQ(result.at("protocolVersion"), agreed) << wanted;
        EXPECT_EQ(mcp_version_of(agreed), client.client.version);
        EXPECT_EQ(result.at("capabilities"), (json{{"tools", json::object()}}));
        EXPECT_EQ(result.at("serverInfo"),
                  (json{{"name", "made"}, {"title", "Made here"}, {"version", "1.2"}}));
        EXPECT_EQ(result.at("instructions"), "Call echo.");
    }
    made_tools client;
    for (const json& params :
         {json(nullptr), json::object(), json{{"protocolVersion", 3}}, json{{"protocolVersion", nullptr}}})
        expect_error(client.request("initialize", params), invalid_params,
                     "protocolVersion must be a string");
}

TEST(mcp, ids_come_back_as_they_were) {
    made_tools client;
    for (const char* const id : {R"("")", R"("a")", R"("\u0000\"\\é€𝄞")", "0", "-1", "9223372036854775807",
                                 "18446744073709551615", "-9223372036854775808"}) {
        const json back = client.send(fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"ping"}})", id));
        EXPECT_EQ(back.at("id"), json::parse(id));
        EXPECT_EQ(back.at("result"), json::object());
    }
    for (const char* const id : {"null", "1.5", "1e3", "true", "[]", "{}", "[1]", "18446744073709551616"}) {
        const std::string message = fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"ping"}})", id);
        expect_error(client.send(message), invalid_request, "id must be a string or a whole number", nullptr);
        EXPECT_TRUE(client.answer(message).is_refusal);
    }
}

TEST(mcp, notifications_and_responses_get_no_answer) {
    made_tools client;
    for (const char* const message :
         {R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
          R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})",
          R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"fail","arguments":{"text":"bug"}}})",
          R"({"jsonrpc":"2.0","method":"no such","params":[1]})", R"({"jsonrpc":"2.0","id":1,"result":{}})",
          R"({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}})"}) {
        const mcp_answer answer = client.answer(message);
        EXPECT_EQ(answer.text, "") << message;
        EXPECT_FALSE(answer.is_refusal) << message;
    }
    EXPECT_TRUE(client.faults.empty());
}

TEST(mcp, unknown_methods) {
    made_tools client;
    for (const char* const method :
         {"", "Ping", "resources/list", "prompts/get", "logging/setLevel", "tools"})
        expect_error(client.request(method), unknown_method, "unknown method");
    const json long_one = client.request(std::string(50'000, 'x'));
    expect_error(long_one, unknown_method, "xxx'...");
    EXPECT_LT(long_one.dump().size(), 500U);
    expect_error(client.request(std::string(99, 'x') + "€€"), unknown_method,
                 "xx");  // cut inside a character
    EXPECT_FALSE(client.answer(R"({"jsonrpc":"2.0","id":7,"method":"x"})").is_refusal);
}

TEST(mcp, what_is_no_message) {
    made_tools client;
    const std::string nested(100'000, '[');
    for (const std::string& bytes :
         {std::string(), std::string(" "), std::string("{"), std::string("hello"), std::string("{}{}"),
          std::string(R"({"jsonrpc":"2.0","id":1,"method":"ping"} x)"), std::string("\0", 1),
          R"({"jsonrpc":"2.0","id":1,"method":"ping"})" + std::string("\0", 1) + "]",
          std::string("\xEF\xBB\xBF"),
          std::string(R"({"jsonrpc":"2.0","id":")") + "\xFF" + R"(","method":"ping"})",
          std::string(R"({"jsonrpc":"2.0","id":")") + "\xED\xA0\x80" + R"(","method":"ping"})",
          std::string(R"({"jsonrpc":"2.0","id":"\ud800","method":"ping"})"),
          std::string(R"({"jsonrpc":"2.0","id":1e999,"method":"ping"})"), std::string("NaN"), nested,
          nested + std::string(100'000, ']'), R"({"a":)" + nested,
          std::string("[") + std::string(64, '[') + "1" + std::string(65, ']')}) {
        const mcp_answer answer = client.answer(bytes);
        expect_error(parsed_answer(answer), malformed, "", nullptr);
        EXPECT_TRUE(answer.is_refusal) << bytes.substr(0, 80);
    }
    expect_error(client.send("{\"a\":"), malformed, "byte 6", nullptr);
    expect_error(client.send(nested), malformed, "too deeply", nullptr);
    for (const char* const message :
         {"1", "null", "\"ping\"", "true", "{}", R"({"id":1,"method":"ping"})",
          R"({"jsonrpc":"1.0","id":1,"method":"ping"})", R"({"jsonrpc":2.0,"id":1,"method":"ping"})",
          R"({"jsonrpc":"2.0","id":1})", R"({"jsonrpc":"2.0","id":1,"method":3})",
          R"({"jsonrpc":"2.0","id":1,"method":null})", R"({"jsonrpc":"2.0"})"}) {
        const mcp_answer answer = client.answer(message);
        EXPECT_TRUE(answer.is_refusal) << message;
        EXPECT_EQ(parsed_answer(answer).at("error").at("code"), invalid_request) << message;
    }
    expect_error(client.send(R"({"jsonrpc":"1.0","id":7,"method":"ping"})"), invalid_request, "jsonrpc");
}

TEST(mcp, long_messages) {
    made_tools client;
    const auto padded = [](std::size_t bytes) {
        std::string message = R"({"jsonrpc":"2.0","id":7,"method":"ping"})";
        message.resize(bytes, ' ');
        return message;
    };
    EXPECT_TRUE(client.send(padded(max_mcp_message_bytes)).contains("result"));
    expect_error(client.send(padded(max_mcp_message_bytes + 1)), invalid_request, "262144 bytes", nullptr);
}

TEST(mcp, params_must_be_objects) {
    made_tools client;
    for (const char* const params : {"[]", "1", "\"x\"", "null", "true"})
        for (const char* const method : {"ping", "initialize", "tools/list", "tools/call"})
            expect_error(client.send(fmt::format(R"({{"jsonrpc":"2.0","id":7,"method":"{}","params":{}}})",
                                                 method, params)),
                         invalid_params, "params must be an object");
    EXPECT_TRUE(client.request("ping", {{"_meta", {{"progressToken", 1}}}}).contains("result"));
}

TEST(mcp, tools_are_described_by_the_tables_of_options) {
    made_tools client;
    const json tools = client.request("tools/list").at("result").at("tools");
    ASSERT_EQ(tools.size(), 2U);
    EXPECT_EQ(tools[0].at("name"), "echo");
    EXPECT_EQ(tools[0].at("title"), "Echo");
    EXPECT_EQ(tools[0].at("description"), "Returns its arguments.");
    EXPECT_EQ(tools[0].at("annotations").at("readOnlyHint"), true);
    EXPECT_EQ(tools[0].at("inputSchema"), json::parse(R"({
        "type": "object",
        "properties": {
            "text": {"description": "A text.", "type": "string"},
            "whole": {"description": "whole of them.", "type": "integer", "minimum": 1, "maximum": 9, "default": 3},
            "number": {"description": "A share.", "type": "number", "exclusiveMinimum": 0.0, "maximum": 1.0, "default": 0.5},
            "flag": {"description": "Whether.", "type": "boolean", "default": true},
            "choice": {"description": "Which.", "type": "string", "default": "ql",
                       "enum": ["bm25", "ql", "dirichlet", "two-stage", "lucene", "robertson", "atire", "bm25+", "bm25l", "pl2", "inl2", "impact"]}
        },
        "required": ["text"],
        "additionalProperties": false})"));
    EXPECT_TRUE(client.request("tools/list", {{"cursor", nullptr}}).contains("result"));
    expect_error(client.request("tools/list", {{"cursor", "2"}}), invalid_params, "unknown cursor");
}

TEST(mcp, arguments_arrive_as_text) {
    made_tools client;
    const json result =
        client
            .call("echo",
                  {{"text", "a\nb €"}, {"whole", 9}, {"number", 0.25}, {"flag", false}, {"choice", "bm25"}})
            .at("result");
    const json expected{
        {"text", "a\nb €"}, {"whole", "9"}, {"number", "0.25"}, {"flag", "0"}, {"choice", "bm25"}};
    EXPECT_EQ(result.at("isError"), false);
    EXPECT_EQ(result.at("structuredContent"), expected);
    EXPECT_EQ(result.at("content"), json::array({json{{"type", "text"}, {"text", expected.dump()}}}));
    EXPECT_EQ(client.call("echo", {{"text", ""}, {"whole", 2.0}, {"number", 1}, {"flag", nullptr}})
                  .at("result")
                  .at("structuredContent"),
              (json{{"text", ""}, {"whole", "2"}, {"number", "1"}}));
}

TEST(mcp, arguments_outside_the_schema) {
    made_tools client;
    for (const auto& [arguments, why] : std::vector<std::pair<const char*, const char*>>{
             {R"({})", "echo: text is missing"},
             {R"({"text":null})", "echo: text must be a string"},
             {R"({"text":1})", "text must be a string"},
             {R"({"text":["a"]})", "text must be a string"},
             {R"({"text":"","other":1})",
              "unknown argument 'other' (expected one of text, whole, number, flag, choice)"},
             {R"({"text":"","whole":0})", "whole: invalid value '0' (expected a whole number from 1 to 9)"},
             {R"({"text":"","whole":10})", "invalid value '10'"},
             {R"({"text":"","whole":-1})", "invalid value '-1'"},
             {R"({"text":"","whole":99999999999999999999})", "whole must be a whole number"},
             {R"({"text":"","whole":1.5})", "whole must be a whole number"},
             {R"({"text":"","whole":1e300})", "whole must be a whole number"},
             {R"({"text":"","whole":"3"})", "whole must be a whole number"},
             {R"({"text":"","whole":true})", "whole must be a whole number"},
             {R"({"text":"","number":0})", "number: invalid value '0' (expected a number above 0"},
             {R"({"text":"","number":1e300})", "invalid value '1e+300'"},
             {R"({"text":"","number":"1"})", "number must be a number"},
             {R"({"text":"","flag":1})", "flag must be true or false"},
             {R"({"text":"","flag":"true"})", "flag must be true or false"},
             {R"({"text":"","choice":"tfidf"})", "choice: invalid value 'tfidf' (expected one of bm25, ql"},
             {R"([])", "arguments must be an object"},
             {R"("x")", "arguments must be an object"}})
        expect_error(client.call("echo", json::parse(arguments)), invalid_params, why);
    for (const char* const params : {R"({})", R"({"name":1})", R"({"name":null,"arguments":{}})"})
        expect_error(client.request("tools/call", json::parse(params)), invalid_params,
                     "name must be a string");
    expect_error(client.request("tools/call"), invalid_params, "name must be a string");
    expect_error(client.call("nothing", json::object()), invalid_params,
                 "unknown tool 'nothing' (expected one of echo, fail)");
    expect_error(client.request("tools/call", {{"name", "echo"}}), invalid_params, "text is missing");
}

TEST(mcp, failures_are_results_and_name_nothing_of_the_machine) {
    made_tools client;
    for (const auto& [how, text, fault] : std::vector<std::tuple<const char*, const char*, const char*>>{
             {"refuse", "this is refused", ""},
             {"damaged", "the server failed to process this request", "/secret/store"},
             {"memory", "out of memory", "out of memory"},
             {"bug", "the server failed to process this request", "a bug in /secret"}}) {
        client.faults.clear();
        const json result = client.call("fail", {{"text", how}}).at("result");
        EXPECT_EQ(result, (json{{"content", json::array({json{{"type", "text"}, {"text", text}}})},
                                {"isError", true}}));
        ASSERT_EQ(client.faults.size(), std::string_view(fault).empty() ? 0U : 1U) << how;
        if (!client.faults.empty()) {
            EXPECT_THAT(client.faults[0], HasSubstr(fault));
        }
    }
}

TEST(mcp, a_stopped_call_is_interrupted) {
    made_tools client;
    const std::atomic<int> stop{SIGTERM};
    client.ctx.stop_signal = &stop;
    EXPECT_THROW(client.call("echo", {{"text", "x"}}), interrupted);
    EXPECT_TRUE(client.request("ping").contains("result"));
}

TEST(mcp, batches_exist_in_one_version) {
    const std::string ping = R"({"jsonrpc":"2.0","id":7,"method":"ping"})";
    const std::string note = R"({"jsonrpc":"2.0","method":"notifications/initialized"})";
    made_tools client;
    expect_error(client.send("[" + ping + "]"), invalid_request, "2025-06-18 has no batches", nullptr);
    client.request("initialize", {{"protocolVersion", "2024-11-05"}});
    expect_error(client.send("[" + ping + "]"), invalid_request, "2024-11-05 has no batches", nullptr);
    client.request("initialize", {{"protocolVersion", "2025-03-26"}});
    const json answers =
        client.send("[" + ping + "," + note + R"(,1,{"jsonrpc":"2.0","id":"b","method":"x"}])");
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_EQ(answers[0], (json{{"jsonrpc", "2.0"}, {"id", 7}, {"result", json::object()}}));
    expect_error(answers[1], invalid_request, "must be a JSON object", nullptr);
    expect_error(answers[2], unknown_method, "'x'", "b");
    EXPECT_EQ(client.answer("[" + note + "," + note + "]").text, "");
    expect_error(client.send("[]"), invalid_request, "empty", nullptr);
    expect_error(client.send("[1,2,3,4,5]"), invalid_request, "more than 4", nullptr);
    expect_error(client.send(R"([[]])")[0], invalid_request, "must be a JSON object", nullptr);
    expect_error(
        client.send(
            R"([{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}])")
            [0],
        invalid_request, "must not be a part of a batch");
    EXPECT_EQ(client.client.version, mcp_version::of_2025_03_26);
}

TEST(mcp, long_answers_end_a_batch) {
    made_tools client;
    client.client.version = mcp_version::of_2025_03_26;
    const auto call = [](int id) {
        return fmt::format(
            R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"fail","arguments":{{"text":"long"}}}}}})",
            id);
    };
    const json answers = client.send("[" + call(1) + "," + call(2) + R"(,{"jsonrpc":"2.0","method":"x"}])");
    ASSERT_EQ(answers.size(), 2U);
    EXPECT_TRUE(answers[0].contains("result"));
    expect_error(answers[1], -32603, "too long", 2);
}

// The tools of a store.

std::string corpus() {
    std::string lines;
    const std::vector<std::string> animals[] = {{"horse", "donkey", "mule"}, {"sparrow", "finch", "robin"}};
    const std::vector<std::string> does[] = {{"pulls", "carries", "draws"}, {"sings", "nests", "flies"}};
    const std::vector<std::string> things{"cart", "barn", "field", "river", "bridge", "market", "hill"};
    for (std::size_t i = 0; i < 90; ++i) {
        std::string text;
        for (std::size_t s = 0; s < 12; ++s)
            text += fmt::format("The {} {} near the {}. ", animals[i % 2][(i * 7 + s * 5 + s / 3) % 3],
                                does[i % 2][(i + s) % 3], things[(i * 3 + s * s) % things.size()]);
        lines += json{{"id", fmt::format("page-{}", i)},
                      {"title", fmt::format("Page {}", i)},
                      {"text", text},
                      {"links", {"page-0"}}}
                     .dump() +
                 '\n';
    }
    lines +=
        json{{"id", "Über/ß"}, {"title", "Mühle"}, {"text", "Läuft äöü € 𝄞 ha ha ha, ha."}}.dump() + '\n';
    lines += json{{"id", "empty"}, {"title", "Nothing"}, {"text", ""}}.dump() + '\n';
    return lines;
}

/// Two stores of one corpus: with all that a build makes, and with the index alone.
class stores {
  public:
    static stores& get() {
        static stores made;
        return made;
    }
    fs::path with_all() const { return folder_ / "all"; }
    fs::path index_only() const { return folder_ / "index"; }

  private:
    stores() {
        write_file(folder_ / "corpus.jsonl", corpus());
        for (const fs::path& path : {with_all(), index_only()}) {
            build_options options;
            options.inputs = {folder_ / "corpus.jsonl"};
            options.store = path;
            options.skip = {build_stage::duplicates};
            if (path == index_only()) options.skip = all_build_stages;
            context ctx = context::cpu(1);
            ctx.scratch = folder_.path();
            build(options, ctx);
        }
    }
    temporary_folder folder_;
};

class store_client {
  public:
    explicit store_client(const fs::path& path, const site_limits& limits = {})
        : store_client(std::vector<store_source>{{path, path}}, limits) {}
    explicit store_client(const std::vector<store_source>& sources, const site_limits& limits = {})
        : stores(open_stores(sources, context::cpu(1))),
          engine(stores.front().engine),
          counter(stores.front().counter.value()),
          server_(mcp_of(stores, limits, [this](const std::string& fault) { faults.push_back(fault); })) {}

    json request(std::string_view method, const json& params) {
        mcp_client client;
        const json message{{"jsonrpc", "2.0"}, {"id", 7}, {"method", method}, {"params", params}};
        return parsed_answer(server_.answer(message.dump(), client, context::cpu(1)));
    }
    json call(std::string_view tool, const json& arguments) {
        return request("tools/call", {{"name", tool}, {"arguments", arguments}});
    }
    /// The result of a call that succeeds.
    json result(std::string_view tool, const json& arguments) {
        const json answer = call(tool, arguments);
        if (!answer.contains("result") || answer["result"]["isError"] != false) {
            ADD_FAILURE() << answer;
            return {};
        }
        const json& result = answer["result"];
        EXPECT_EQ(result["structuredContent"], json::parse(result["content"][0]["text"].get<std::string>()));
        return result["structuredContent"];
    }
    /// The sentence of a call that fails.
    std::string failure(std::string_view tool, const json& arguments) {
        const json answer = call(tool, arguments);
        if (!answer.contains("result") || answer["result"]["isError"] != true) {
            ADD_FAILURE() << answer;
            return {};
        }
        EXPECT_FALSE(answer["result"].contains("structuredContent"));
        return answer["result"]["content"][0]["text"];
    }
    json tool_list() { return request("tools/list", json::object()).at("result").at("tools"); }
    std::vector<std::string> tools() {
        std::vector<std::string> names;
        for (const json& tool : tool_list()) names.push_back(tool["name"]);
        return names;
    }

    const std::vector<served_store> stores;
    const search_engine& engine;
    const ngram_counter& counter;
    std::vector<std::string> faults;

  private:
    const mcp server_;
};

std::vector<std::string> ids_of(const json& list) {
    std::vector<std::string> ids;
    for (const json& each : list) ids.push_back(each.at("id"));
    return ids;
}

TEST(mcp_tools, a_store_offers_what_it_has) {
    store_client all(stores::get().with_all()), index(stores::get().index_only());
    ASSERT_TRUE(all.engine.has_thesaurus() && all.engine.has_document_vectors());
    EXPECT_THAT(all.tools(), ElementsAre("search", "read_document", "count_phrase", "complete",
                                         "similar_words", "like_document"));
    EXPECT_THAT(index.tools(), ElementsAre("search", "read_document", "count_phrase", "complete"));
    const auto has = [](store_client& client, const char* argument) {
        return client.request("tools/list", json::object())["result"]["tools"][0]["inputSchema"]["properties"]
            .contains(argument);
    };
    for (const char* const argument : {"expand", "prior"}) {
        EXPECT_TRUE(has(all, argument));
        EXPECT_FALSE(has(index, argument));
    }
    expect_error(index.call("like_document", {{"id", "page-1"}}), invalid_params, "unknown tool");
    expect_error(index.call("search", {{"query", "x"}, {"expand", 1}}), invalid_params,
                 "unknown argument 'expand'");
    EXPECT_THAT(all.request("initialize", {{"protocolVersion", "2025-06-18"}})["result"]["instructions"]
                    .get<std::string>(),
                HasSubstr("the collection all of 92 documents"));
}

TEST(mcp_tools, words_are_completed) {
    store_client client(stores::get().index_only());
    const completion_result expected = client.engine.complete("the nea", {.k = 5}, context::cpu(1));
    ASSERT_FALSE(expected.words.empty());
    const json got = client.result("complete", {{"query", "the nea"}, {"k", 5}});
    EXPECT_EQ(got["total"], expected.total);
    ASSERT_EQ(got["words"].size(), expected.words.size());
    for (std::size_t i = 0; i < expected.words.size(); ++i) {
        EXPECT_EQ(got["words"][i]["word"], expected.words[i].word);
        EXPECT_EQ(got["words"][i]["query"], "the " + expected.words[i].word);
        EXPECT_EQ(got["words"][i]["documents"], expected.words[i].documents);
    }
    EXPECT_THAT(client.failure("complete", {{"query", std::string(2049, 'x')}}), HasSubstr("too long"));
}

TEST(mcp_tools, of_several_stores_a_call_names_one) {
    const fs::path index = stores::get().index_only(), all = stores::get().with_all();
    store_client client(std::vector<store_source>{{index, index}, {all, all}, {index, index}});
    EXPECT_THAT(client.tools(), ElementsAre("search", "read_document", "count_phrase", "complete",
                                            "similar_words", "like_document"));
    for (const json& tool : client.tool_list()) {
        const json& store = tool["inputSchema"]["properties"]["store"];
        EXPECT_EQ(store["enum"], json({"index", "all", "index-2"}));
        EXPECT_THAT(tool["inputSchema"]["required"], ::testing::Contains("store"));
    }
    store_client alone(all);
    EXPECT_EQ(client.result("search", {{"store", "all"}, {"query", "the"}, {"expand", 2}}),
              alone.result("search", {{"query", "the"}, {"expand", 2}}));
    EXPECT_EQ(client.result("similar_words", {{"store", "all"}, {"word", "near"}}),
              alone.result("similar_words", {{"word", "near"}}));
    EXPECT_EQ(client.result("search", {{"store", "index-2"}, {"query", "the"}}),
              client.result("search", {{"store", "index"}, {"query", "the"}}));
    EXPECT_THAT(client.failure("search", {{"store", "index"}, {"query", "the"}, {"expand", 2}}),
                HasSubstr("expand: the store 'index' does not have this"));
    EXPECT_THAT(client.failure("similar_words", {{"store", "index"}, {"word", "near"}}),
                HasSubstr("'index' does not have this tool"));
    EXPECT_THAT(client.request("initialize", {{"protocolVersion", "2025-06-18"}})["result"]["instructions"]
                    .get<std::string>(),
                HasSubstr("the collections index of 92 documents, all of 92 documents, index-2 of"));
}

TEST(served_store, names_are_unique) {
    const auto unique = [](std::vector<std::string> names) { return unique_names(names); };
    EXPECT_THAT(unique({}), ElementsAre());
    EXPECT_THAT(unique({"wiki", "notes", "wiki", "wiki"}), ElementsAre("wiki", "notes", "wiki-2", "wiki-3"));
    EXPECT_THAT(unique({"wiki", "wiki", "wiki-2"}), ElementsAre("wiki", "wiki-3", "wiki-2"));
}

TEST(mcp_tools, every_default_is_in_its_range) {
    store_client client(stores::get().with_all(), {.results = 4});
    for (const json& tool : client.tool_list()) {
        EXPECT_FALSE(tool["description"].get<std::string>().empty());
        for (const auto& [name, schema] : tool["inputSchema"]["properties"].items()) {
            EXPECT_FALSE(schema["description"].get<std::string>().empty()) << tool["name"] << name;
            EXPECT_THAT(schema["description"].get<std::string>(), Not(HasSubstr("--")))
                << tool["name"] << name;
            if (schema.contains("default") && schema.contains("maximum")) {
                EXPECT_LE(schema["default"].get<double>(), schema["maximum"].get<double>())
                    << tool["name"] << name;
            }
        }
    }
    EXPECT_EQ(client.result("search", {{"query", "horse"}})["hits"].size(), 4U);
    EXPECT_EQ(client.result("like_document", {{"id", "page-1"}})["hits"].size(), 4U);
    EXPECT_THAT(client.failure("search", {{"query", "horse"}, {"offset", 1}}),
                HasSubstr("too large (at most 4)"));
}

TEST(mcp_tools, search_is_that_of_the_engine) {
    store_client client(stores::get().with_all());
    search_options options = interactive_search();
    options.k = 7;  // including those skipped
    options.offset = 2;
    options.ranking.model = ranking_model::dirichlet;
    options.expand = 2;
    options.prior = 0.5;
    const search_result expected = client.engine.search("sparrow river", options);
    const json got = client.result("search", {{"query", "sparrow river"},
                                              {"k", 5},
                                              {"offset", 2},
                                              {"model", "dirichlet"},
                                              {"expand", 2},
                                              {"prior", 0.5}});
    ASSERT_EQ(got["hits"].size(), 5U);
    ASSERT_EQ(expected.hits.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(got["hits"][i]["id"], expected.hits[i].id);
        EXPECT_EQ(got["hits"][i]["score"], expected.hits[i].score);
        EXPECT_EQ(got["hits"][i]["title"], expected.hits[i].title);
        EXPECT_EQ(got["hits"][i]["snippet"], expected.hits[i].snippet);
        EXPECT_EQ(got["hits"][i]["rank"], i + 3);
    }
    EXPECT_EQ(got["more"], true);
    EXPECT_FALSE(got.contains("seconds"));  // equal calls have equal answers
    EXPECT_EQ(client.result("search", {{"query", "mühle"}})["hits"][0]["id"], "Über/ß");
    const json none = client.result("search", {{"query", "donky zyzzyva"}, {"typos", "never"}});
    EXPECT_EQ(none["hits"].size(), 0U);
    EXPECT_EQ(none["did_you_mean"], "donkey zyzzyva");
    EXPECT_GT(client.result("search", {{"query", "donky"}})["hits"].size(), 0U);
    const json corrected =
        client.result("search", {{"query", "donky"}, {"typos", "never"}, {"correct", true}});
    EXPECT_GT(corrected["hits"].size(), 0U);
    EXPECT_EQ(client.result("search", {{"query", ""}})["empty_query"], true);
    EXPECT_EQ(client.result("search", {{"query", "\"river horse\""}})["hits"].size(), 0U);
    EXPECT_GT(client.result("search", {{"query", "\"river horse\""}, {"phrases", false}})["hits"].size(), 0U);
    EXPECT_THAT(client.failure("search", {{"query", std::string(2049, 'x')}}),
                HasSubstr("query is too long"));
    expect_error(client.call("search", {{"query", "x"}, {"k", 101}}), invalid_params, "from 1 to 100");
    expect_error(client.call("search", {{"query", "x"}, {"q", "y"}}), invalid_params, "unknown argument 'q'");
    expect_error(client.call("search", {{"query", "x"}, {"like", "page-1"}}), invalid_params,
                 "unknown argument");
}

TEST(mcp_tools, documents_are_read_by_characters) {
    store_client client(stores::get().index_only());
    const std::string whole = "Läuft äöü € 𝄞 ha ha ha, ha.";
    const std::vector<std::string> characters{"L", "ä", "u", "f", "t", " ", "ä",
                                              "ö", "ü", " ", "€", " ", "𝄞", " "};
    for (std::uint64_t length : {1, 2, 3, 7, 26, 27, 28, 200'000}) {
        std::string text;
        json next = 0;
        while (!next.is_null()) {
            const json piece =
                client.result("read_document", {{"id", "Über/ß"}, {"offset", next}, {"length", length}});
            EXPECT_EQ(piece["characters"], 27);
            EXPECT_EQ(piece["offset"], next);
            EXPECT_EQ(piece["title"], "Mühle");
            if (length == 1 && next < characters.size()) {
                EXPECT_EQ(piece["text"], characters[next]);
            }
            text += piece["text"];
            next = piece["next_offset"];
        }
        EXPECT_EQ(text, whole) << length;
    }
    EXPECT_EQ(client.result("read_document", {{"id", "Über/ß"}})["text"], whole);
    EXPECT_EQ(client.result("read_document", {{"id", "Über/ß"}, {"offset", 27}}),
              (json{{"id", "Über/ß"},
                    {"title", "Mühle"},
                    {"characters", 27},
                    {"offset", 27},
                    {"next_offset", nullptr},
                    {"text", ""}}));
    EXPECT_EQ(client.result("read_document", {{"id", "empty"}})["characters"], 0);
    EXPECT_THAT(client.failure("read_document", {{"id", "empty"}, {"offset", 1}}),
                HasSubstr("only 0 characters"));
    EXPECT_THAT(client.failure("read_document", {{"id", "empty"}, {"offset", 18446744073709551615U}}),
                HasSubstr("only 0 characters"));
    EXPECT_THAT(client.failure("read_document", {{"id", "PAGE-1"}}),
                HasSubstr("no document 'PAGE-1'; did you mean 'page-1'?"));
    EXPECT_EQ(client.failure("read_document", {{"id", "?"}}), "there is no document '?'");
    EXPECT_LT(client.failure("read_document", {{"id", std::string(100'000, '?')}}).size(), 300U);
    expect_error(client.call("read_document", {{"id", "empty"}, {"length", 0}}), invalid_params, "length");
    expect_error(client.call("read_document", {{"id", 3}}), invalid_params, "id must be a string");
}

TEST(mcp_tools, phrases_are_counted) {
    store_client client(stores::get().index_only());
    EXPECT_EQ(client.result("count_phrase", {{"phrase", "HA, ha"}}),
              (json{{"words", {"ha", "ha"}},
                    {"unknown_words", json::array()},
                    {"occurrences", 3},
                    {"documents", 1},
                    {"first_documents", json::array({json{{"id", "Über/ß"}, {"occurrences", 3}}})}}));
    const json many = client.result("count_phrase", {{"phrase", "near the"}, {"k", 2}});
    EXPECT_EQ(many["occurrences"], 90 * 12);
    EXPECT_EQ(many["documents"], 90);
    EXPECT_THAT(ids_of(many["first_documents"]), ElementsAre("page-0", "page-1"));
    const json none = client.result("count_phrase", {{"phrase", "the zyzzyva"}});
    EXPECT_EQ(none["occurrences"], 0);
    EXPECT_EQ(none["unknown_words"], json::array({"zyzzyva"}));
    EXPECT_THAT(client.failure("count_phrase", {{"phrase", " ?! "}}), HasSubstr("no word"));
    EXPECT_THAT(client.failure("count_phrase", {{"phrase", std::string(2049, 'x')}}),
                HasSubstr("phrase is too long"));
}

TEST(mcp_tools, similar_words_are_those_of_the_thesaurus) {
    store_client client(stores::get().with_all());
    const word_space& thesaurus = *client.engine.thesaurus();
    const json got = client.result("similar_words", {{"word", "Horse"}, {"k", 2}});
    const auto expected =
        thesaurus.similar_but_stop_words({{thesaurus.find("horse").value()}, {}}, 2, context::cpu(1));
    EXPECT_EQ(got["word"], "horse");
    ASSERT_EQ(got["similar"].size(), expected.size());
    ASSERT_EQ(expected.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(got["similar"][i]["word"], thesaurus.word(expected[i].word));
        EXPECT_EQ(got["similar"][i]["score"], expected[i].score);
    }
    EXPECT_THAT(client.failure("similar_words", {{"word", "donky"}}),
                HasSubstr("no word 'donky'; did you mean donkey"));
    EXPECT_EQ(client.failure("similar_words", {{"word", "zyzzyva"}}), "the thesaurus has no word 'zyzzyva'");
    EXPECT_THAT(client.failure("similar_words", {{"word", "two words"}}), StartsWith("word: "));
    EXPECT_THAT(client.failure("similar_words", {{"word", ""}}), StartsWith("word: "));
}

TEST(mcp_tools, documents_like_one_are_those_of_the_engine) {
    store_client client(stores::get().with_all());
    search_options options = interactive_search();
    options.like = client.engine.find("page-1");
    options.like_weight = 1;
    options.k = 3;
    const search_result expected = client.engine.search("", options);
    const json got = client.result("like_document", {{"id", "page-1"}, {"k", 3}});
    ASSERT_EQ(got["hits"].size(), 3U);
    ASSERT_EQ(expected.hits.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(got["hits"][i]["id"], expected.hits[i].id);
        EXPECT_EQ(got["hits"][i]["score"], expected.hits[i].score);
    }
    EXPECT_EQ(client.failure("like_document", {{"id", "?"}}), "there is no document '?'");
}

TEST(mcp_tools, any_text_is_an_argument) {
    store_client client(stores::get().with_all());
    const std::string hard[] = {std::string("\0", 1),
                                "\x7F",
                                "\"",
                                "\"\"",
                                "\\",
                                "%41&k=3",
                                "\u2028",
                                "\uFEFF",
                                "'; DROP TABLE",
                                std::string(2000, '"'),
                                "\n\r\t",
                                "𝄞",
                                "-",
                                "a\u0301"};
    for (const std::string& text : hard) {
        for (const auto& [tool, argument] :
             {std::pair("search", "query"), std::pair("read_document", "id"),
              std::pair("count_phrase", "phrase"), std::pair("similar_words", "word"),
              std::pair("like_document", "id")}) {
            const json answer = client.call(tool, {{argument, text}});
            ASSERT_TRUE(answer.contains("result")) << tool << answer;
            EXPECT_TRUE(answer["result"]["isError"].is_boolean());
        }
    }
    EXPECT_TRUE(client.faults.empty());
}

}  // namespace
}  // namespace quern::server::mcp_test
