// SPDX-License-Identifier: Apache-2.0
// The Model Context Protocol: JSON-RPC 2.0 messages of a client, and the answers to them. It knows neither the transport
// (apps/cli/mcp.cpp, site.cpp) nor the store (mcp_tools.hpp).
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/context.hpp"
#include "server/api_parameter.hpp"
#include "server/target.hpp"

namespace quern::server {

/// Something that a client may call.
struct mcp_tool {
    std::string_view name, title;
    std::string description;
    std::vector<api_parameter> arguments;
    /// Gets values of these arguments, of their kinds and in their ranges, the required ones included. Returns a JSON
    /// object. Throws as the API does (response_to).
    std::function<std::string(const parameter_values& given, const context& ctx)> call;
};

/// By date. Batches exist in the middle one only.
enum class mcp_version { of_2024_11_05, of_2025_03_26, of_2025_06_18 };
inline constexpr std::string_view mcp_version_names[] = {"2024-11-05", "2025-03-26", "2025-06-18"};
std::optional<mcp_version> mcp_version_of(std::string_view name);

/// What is known of a client: `initialize` sets its version.
struct mcp_client {
    mcp_version version = mcp_version::of_2025_06_18;
};

struct mcp_answer {
    std::string text;         ///< one line of JSON without its end; empty: there is no answer
    bool is_refusal = false;  ///< nothing was carried out: the message is not one of JSON-RPC
};

inline constexpr std::size_t max_mcp_message_bytes = 256 << 10;

struct mcp_limits {
    std::size_t batch = 100;                ///< messages
    std::size_t response_bytes = 16 << 20;  ///< of a batch; then the requests left get an error
};

struct mcp_description {
    std::string name, title, version;  ///< of the server
    std::string instructions;          ///< for the client's model
};

class mcp {
  public:
    /// `report` gets the faults that clients must not see; any thread may call it.
    mcp(const mcp_description& about, std::vector<mcp_tool> tools, const mcp_limits& limits,
        std::function<void(const std::string&)> report);

    /// Any bytes are a message. The answer is valid JSON in UTF-8. Throws `interrupted` if the stop flag is set. Const
    /// and thread-safe; a client sends one message at a time.
    mcp_answer answer(std::string_view message, mcp_client& client, const context& ctx) const;

  private:
    std::string answer_batch(const nlohmann::json& batch, mcp_client& client, const context& ctx) const;
    mcp_answer answer_one(const nlohmann::json& message, mcp_client& client, bool in_batch,
                          const context& ctx) const;
    std::string result_of(const std::string& method, const nlohmann::json* params, mcp_client& client,
                          bool in_batch, const context& ctx) const;
    std::string initialize(const nlohmann::json* params, mcp_client& client) const;
    std::string call_tool(const nlohmann::json* params, const context& ctx) const;
    const mcp_tool& tool_of(const nlohmann::json& params) const;

    const mcp_description about_;
    const std::vector<mcp_tool> tools_;
    const mcp_limits limits_;
    const std::function<void(const std::string&)> report_;
    std::string tool_list_;  ///< the result of tools/list
};

}  // namespace quern::server
