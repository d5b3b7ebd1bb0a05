// SPDX-License-Identifier: Apache-2.0
#include "server/mcp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "quern/base/error.hpp"
#include "server/json_values.hpp"
#include "server/json_writer.hpp"
#include "server/responses.hpp"

namespace quern::server {
namespace {

using nlohmann::json;

constexpr int max_depth = 64;  // of lists and objects within each other
constexpr std::size_t quoted_bytes = 100;

/// An error of JSON-RPC.
class rpc_error : public error {
  public:
    enum kind {
        malformed = -32700,
        invalid_request = -32600,
        unknown_method = -32601,
        invalid_params = -32602,
        too_long = -32603
    };
    rpc_error(kind code, const std::string& why) : error(why), code_(code) {}
    std::int64_t code() const noexcept { return code_; }

  private:
    kind code_;
};

/// A text of the client, shortened, for a message.
std::string in_quotes(std::string_view text) {
    return fmt::format("'{}'{}", text.substr(0, quoted_bytes), text.size() > quoted_bytes ? "..." : "");
}

json parsed(std::string_view text) {
    const auto not_too_deep = [](int depth, json::parse_event_t, json&) {
        if (depth > max_depth)
            throw rpc_error(rpc_error::malformed,
                            fmt::format("the JSON is nested too deeply (at most {} levels)", max_depth));
        return true;
    };
    const auto invalid_at = [](std::size_t byte) {
        return rpc_error(
            rpc_error::malformed,
            fmt::format("invalid JSON at byte {} (expected one JSON-RPC message in UTF-8)", byte));
    };
    // nlohmann::json would take it for the end.
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) throw invalid_at(nul + 1);
    try {
        return json::parse(text, not_too_deep);
    } catch (const json::parse_error& e) {
        throw invalid_at(e.byte);
    } catch (const json::exception&) {
        throw rpc_error(rpc_error::malformed, "invalid JSON: a number is too large");
    }
}

const json* member(const json& object, const char* name) {
    const auto at = object.find(name);
    return at == object.end() ? nullptr : &*at;
}

/// The id as JSON; empty if there is none or another value than a client may send.
std::string id_of(const json& message) {
    const json* const id = member(message, "id");
    return id != nullptr && (id->is_string() || id->is_number_integer()) ? id->dump() : std::string();
}

std::string result_text(std::string_view id, std::string_view result) {
    json_writer text;
    text.begin_object();
    text.member("jsonrpc", std::string_view("2.0"));
    text.member("id", raw_json{id});
    text.member("result", raw_json{result});
    text.end_object();
    return text.take();
}

std::string error_text(std::string_view id, const rpc_error& failure) {
    json_writer text;
    text.begin_object();
    text.member("jsonrpc", std::string_view("2.0"));
    text.member("id", raw_json{id.empty() ? std::string_view("null") : id});
    text.key("error");
    text.begin_object();
    text.member("code", failure.code());
    text.member("message", std::string_view(failure.what()));
    text.end_object();
    text.end_object();
    return text.take();
}

std::string names_of(const auto& list, auto name) {
    std::string names;
    for (const auto& each : list) names.append(names.empty() ? "" : ", ").append(name(each));
    return names.empty() ? "nothing" : names;
}

/// Checked against the tool's schema.
parameter_values values_of(const mcp_tool& tool, const json* arguments) {
    parameter_values values;
    const auto refuse = [&tool](const std::string& why) {
        throw rpc_error(rpc_error::invalid_params, fmt::format("{}: {}", tool.name, why));
    };
    static const json none = json::object();
    const json& given = arguments != nullptr ? *arguments : none;
    if (!given.is_object()) refuse("arguments must be an object");
    for (const auto& [name, value] : given.items()) {
        const auto at =
            std::ranges::find_if(tool.arguments, [&](const auto& a) { return a.about.name == name; });
        if (at == tool.arguments.end())
            refuse(fmt::format("unknown argument {} (expected one of {})", in_quotes(name),
                               names_of(tool.arguments, [](const auto& a) { return a.about.name; })));
        if (value.is_null() && !at->required) continue;  // as if it were not given
        auto text = text_of(value, at->about);
        if (!text) refuse(fmt::format("{} must be {}", name, json_type_of(at->about)));
        if (at->about.kind != option_kind::flag && at->about.kind != option_kind::text) {
            try {
                parse_value(at->about, *text);
            } catch (const usage_error& e) {
                refuse(fmt::format("{}: {}", name, e.what()));
            }
        }
        values.emplace_back(name, std::move(*text));
    }
    for (const api_parameter& argument : tool.arguments) {
        const auto is_it = [&](const auto& pair) { return pair.first == argument.about.name; };
        if (argument.required && std::ranges::none_of(values, is_it))
            refuse(fmt::format("{} is missing", argument.about.name));
    }
    return values;
}

void write_tool(json_writer& text, const mcp_tool& tool) {
    text.begin_object();
    text.member("name", tool.name);
    text.member("title", tool.title);
    text.member("description", tool.description);
    text.key("inputSchema");
    text.begin_object();
    text.member("type", std::string_view("object"));
    text.key("properties");
    text.begin_object();
    for (const api_parameter& argument : tool.arguments) {
        const std::string description = description_of(argument, tool.arguments);
        text.key(argument.about.name);
        text.begin_object();
        text.member("description", std::string_view(description));
        write_schema_members(text, argument, flag_form::boolean);
        text.end_object();
    }
    text.end_object();
    text.key("required");
    text.begin_list();
    for (const api_parameter& argument : tool.arguments)
        if (argument.required) text.value(argument.about.name);
    text.end_list();
    text.flag("additionalProperties", false);
    text.end_object();
    text.key("annotations");
    text.begin_object();
    text.member("title", tool.title);
    text.flag("readOnlyHint", true);
    text.flag("destructiveHint", false);
    text.flag("idempotentHint", true);
    text.flag("openWorldHint", false);
    text.end_object();
    text.end_object();
}

/// `structured` is a JSON object, or empty. Clients of versions that lack structuredContent read the text.
std::string tool_result(std::string_view text, std::string_view structured, bool is_error) {
    json_writer result;
    result.begin_object();
    result.key("content");
    result.begin_list();
    result.begin_object();
    result.member("type", std::string_view("text"));
    result.member("text", text);
    result.end_object();
    result.end_list();
    if (!structured.empty()) result.member("structuredContent", raw_json{structured});
    result.flag("isError", is_error);
    result.end_object();
    return result.take();
}

}  // namespace

std::optional<mcp_version> mcp_version_of(std::string_view name) {
    const auto at = std::ranges::find(mcp_version_names, name);
    if (at == std::end(mcp_version_names)) return {};
    return static_cast<mcp_version>(at - std::begin(mcp_version_names));
}

mcp::mcp(const mcp_description& about, std::vector<mcp_tool> tools, const mcp_limits& limits,
         std::function<void(const std::string&)> report)
    : about_(about), tools_(std::move(tools)), limits_(limits), report_(std::move(report)) {
    json_writer list;
    list.begin_object();
    list.key("tools");
    list.begin_list();
    for (const mcp_tool& tool : tools_) write_tool(list, tool);
    list.end_list();
    list.end_object();
    tool_list_ = list.take();
}

mcp_answer mcp::answer(std::string_view message, mcp_client& client, const context& ctx) const {
    try {
        if (message.size() > max_mcp_message_bytes)
            throw rpc_error(rpc_error::invalid_request,
                            fmt::format("the message is too long (at most {} bytes)", max_mcp_message_bytes));
        const json sent = parsed(message);
        if (sent.is_array()) return {answer_batch(sent, client, ctx)};
        return answer_one(sent, client, false, ctx);
    } catch (const rpc_error& e) {
        return {error_text({}, e), true};
    }
}

std::string mcp::answer_batch(const json& batch, mcp_client& client, const context& ctx) const {
    if (client.version != mcp_version::of_2025_03_26)
        throw rpc_error(rpc_error::invalid_request,
                        fmt::format("protocol version {} has no batches; send one message at a time",
                                    mcp_version_names[static_cast<std::size_t>(client.version)]));
    if (batch.empty()) throw rpc_error(rpc_error::invalid_request, "the batch is empty");
    if (batch.size() > limits_.batch)
        throw rpc_error(rpc_error::invalid_request,
                        fmt::format("the batch has more than {} messages", limits_.batch));
    std::string answers;
    for (const json& message : batch) {
        std::string text;
        if (answers.size() <= limits_.response_bytes) {
            text = answer_one(message, client, true, ctx).text;
        } else if (message.is_object() && message.contains("method") && message.contains("id")) {
            text = error_text(id_of(message), {rpc_error::too_long,
                                               "the answers to this batch are too long; send this request "
                                               "alone"});
        }
        if (!text.empty()) answers.append(answers.empty() ? "[" : ",").append(text);
    }
    if (!answers.empty()) answers += ']';
    return answers;
}

mcp_answer mcp::answer_one(const json& message, mcp_client& client, bool in_batch, const context& ctx) const {
    std::string id;
    try {
        const auto refuse = [](const std::string& why) { throw rpc_error(rpc_error::invalid_request, why); };
        if (!message.is_object()) refuse("a message must be a JSON object");
        id = id_of(message);
        const json* const version = member(message, "jsonrpc");
        if (version == nullptr || *version != "2.0") refuse("jsonrpc must be \"2.0\"");
        const json* const method = member(message, "method");
        if (method == nullptr && (message.contains("result") || message.contains("error")))
            return {};  // to a request, but this server sends none
        if (method == nullptr || !method->is_string()) refuse("method must be a string");
        if (!message.contains("id")) return {};  // a notification: there is none that needs work
        if (id.empty()) refuse("id must be a string or a whole number of at most 64 bits");
    } catch (const rpc_error& e) {
        return {error_text(id, e), true};
    }
    try {
        const std::string& method = message["method"].get_ref<const std::string&>();
        return {result_text(id, result_of(method, member(message, "params"), client, in_batch, ctx))};
    } catch (const rpc_error& e) {
        return {error_text(id, e)};
    }
}

std::string mcp::result_of(const std::string& method, const json* params, mcp_client& client, bool in_batch,
                           const context& ctx) const {
    if (params != nullptr && !params->is_object())
        throw rpc_error(rpc_error::invalid_params, "params must be an object");
    if (method == "initialize") {
        if (in_batch) throw rpc_error(rpc_error::invalid_request, "initialize must not be a part of a batch");
        return initialize(params, client);
    }
    if (method == "ping") return "{}";
    if (method == "tools/list") {
        if (params != nullptr && params->contains("cursor") && !params->at("cursor").is_null())
            throw rpc_error(rpc_error::invalid_params, "unknown cursor: the list of tools has one page");
        return tool_list_;
    }
    if (method == "tools/call") return call_tool(params, ctx);
    throw rpc_error(rpc_error::unknown_method,
                    fmt::format("unknown method {} (expected initialize, ping, tools/list or tools/call)",
                                in_quotes(method)));
}

std::string mcp::initialize(const json* params, mcp_client& client) const {
    const json* const wanted = params == nullptr ? nullptr : member(*params, "protocolVersion");
    if (wanted == nullptr || !wanted->is_string())
        throw rpc_error(rpc_error::invalid_params, "initialize: protocolVersion must be a string");
    client.version =
        mcp_version_of(wanted->get_ref<const std::string&>()).value_or(mcp_version::of_2025_06_18);
    json_writer result;
    result.begin_object();
    result.member("protocolVersion", mcp_version_names[static_cast<std::size_t>(client.version)]);
    result.key("capabilities");
    result.begin_object();
    result.key("tools");
    result.begin_object();
    result.end_object();
    result.end_object();
    result.key("serverInfo");
    result.begin_object();
    result.member("name", std::string_view(about_.name));
    result.member("title", std::string_view(about_.title));
    result.member("version", std::string_view(about_.version));
    result.end_object();
    result.member("instructions", std::string_view(about_.instructions));
    result.end_object();
    return result.take();
}

const mcp_tool& mcp::tool_of(const json& params) const {
    const json* const name = member(params, "name");
    if (name == nullptr || !name->is_string())
        throw rpc_error(rpc_error::invalid_params, "tools/call: name must be a string");
    const auto& text = name->get_ref<const std::string&>();
    const auto at = std::ranges::find(tools_, std::string_view(text), &mcp_tool::name);
    if (at == tools_.end())
        throw rpc_error(rpc_error::invalid_params,
                        fmt::format("unknown tool {} (expected one of {})", in_quotes(text),
                                    names_of(tools_, [](const mcp_tool& tool) { return tool.name; })));
    return *at;
}

std::string mcp::call_tool(const json* params, const context& ctx) const {
    static const json none = json::object();
    const json& of_call = params != nullptr ? *params : none;
    const mcp_tool& tool = tool_of(of_call);
    const parameter_values values = values_of(tool, member(of_call, "arguments"));
    try {
        const std::string result = tool.call(values, ctx);
        return tool_result(result, result, false);
    } catch (const interrupted&) {
        throw;
    } catch (...) {
        const failed_response failed = response_to(std::current_exception());
        if (!failed.fault.empty()) report_(failed.fault);
        return tool_result(failed.reported, {}, true);
    }
}

}  // namespace quern::server
