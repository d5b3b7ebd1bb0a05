// SPDX-License-Identifier: Apache-2.0
// Untrusted request targets: parsed without a fault, rejected only with bad_request, and every escaped text comes back
// unchanged.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

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
    constexpr std::array<std::string_view, 4> known{"q", "k", "b", "model"};

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
        for (const std::string_view name : known) {
            if (const auto value = given.text(name)) require(value->size() <= query.size());
        }
        if (const auto k = given.integer("k", 1, 50)) require(*k >= 1 && *k <= 50);
        if (const auto model = given.name("model", known)) require(*model < known.size());
        given.number("b");
        given.choice("q");
    } catch (const bad_request&) {
    }
    return 0;
}
