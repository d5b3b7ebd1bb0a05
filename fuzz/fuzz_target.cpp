// SPDX-License-Identifier: Apache-2.0
// Untrusted request targets: parsed without a fault, rejected only with bad_request, and every escaped text comes back
// unchanged.
#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "quern/tasks/search_option_table.hpp"
#include "server/authority.hpp"
#include "server/target.hpp"

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

std::string escaped(std::string_view text) {
    std::string all;
    for (const char c : text) all += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace quern::server;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto& known = search_parameters();

    const auto [path, query] = split_target(text);
    require(path.size() + query.size() <= size && path.find('?') == std::string_view::npos);
    require(percent_decoded(escaped(text), false) == std::string(text));
    const auto decoded = percent_decoded(text, true);
    require(!decoded || decoded->size() <= size);
    require(host_of(text).size() <= size);
    require(!known_names({"example"}).know("x" + std::string(text)));

    try {
        const parameters one("q=" + escaped(text), known);
        require(one.text("q") == text);
        const parameters given(query, known);
        for (const api_parameter& parameter : known) {
            if (const auto value = given.text(parameter.about.name)) require(value->size() <= query.size());
        }
        quern::search_options options;
        given.read(options);
        quern::check_ranges(options);
        given.read(options.ranking);
        quern::validate(options.ranking);
    } catch (const bad_request&) {
    }
    return 0;
}
