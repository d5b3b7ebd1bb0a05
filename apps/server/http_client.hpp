// SPDX-License-Identifier: Apache-2.0
// Sends the steps of queries to the servers of shards (quern/tasks/shards.hpp) over HTTP, all at once. Connections are kept
// for further steps.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "quern/tasks/shards.hpp"

namespace quern::server {

/// Throws usage_error for what is not the address of a server: http://HOST, with a port and a path if need be.
void check_address(std::string_view url);

/// A server that cannot be reached, or has not answered all of a step after `patience`, is an error that names it
/// (shard_failed); what a server refuses is a usage_error with its reason. For any thread.
/// `before_look_up(host)`: called before a name is looked up, in a thread of that look-up; may be empty.
ask_shards http_shards(std::chrono::milliseconds patience = std::chrono::seconds(30),
                       std::function<void(const std::string& host)> before_look_up = {});

}  // namespace quern::server
