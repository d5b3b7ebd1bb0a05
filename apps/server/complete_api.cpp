// SPDX-License-Identifier: Apache-2.0
#include "server/complete_api.hpp"

#include <array>
#include <vector>

#include "quern/tasks/search_option_table.hpp"
#include "server/json_writer.hpp"
#include "server/search_api.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

constexpr std::uint64_t max_completions = 100;

struct completion_request {
    std::string q;
};

}  // namespace
}  // namespace quern::server

namespace quern {

template <>
inline constexpr auto options_of<server::completion_request> =
    std::array{option_for<&server::completion_request::q>(
        "q", "", "What is typed; its last word is completed if nothing follows it; at most 2,048 bytes.")};

}  // namespace quern

namespace quern::server {

const std::vector<api_parameter>& completion_parameters() {
    static const completion_request defaults;
    static const completion_options options;
    static const std::vector<api_parameter> all{required(parameter_of("q", defaults, "grain sto")),
                                                at_most(max_completions, parameter_of("k", options, "3")),
                                                parameter_of("typos", options, "never"), store_parameter()};
    return all;
}

std::string completion_json(const search_engine& engine, const parameters& given, const site_limits& limits,
                            const context& ctx) {
    if (engine.has_remote_shards())
        throw bad_request("completion of words needs all shards on this machine (some are on others)");
    completion_options options;
    given.read(options);
    const std::string_view typed = query_of(given, limits);
    const completion_result result = engine.complete(typed, options, ctx);

    json_writer json;
    json.begin_object();
    json.member("query", typed);
    json.member("beginning", std::string_view(result.beginning));
    json.member("total", result.total);
    json.objects("words", result.words, [&](const completed_word& of) {
        json.member("word", std::string_view(of.word));
        json.member("query", std::string_view(result.before + of.word));
        json.member("documents", of.documents);
        json.member("occurrences", of.occurrences);
        json.member("distance", std::uint64_t{of.distance});
    });
    json.end_object();
    return json.take();
}

}  // namespace quern::server
