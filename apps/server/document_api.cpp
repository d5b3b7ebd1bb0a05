// SPDX-License-Identifier: Apache-2.0
#include "server/document_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "quern/base/option.hpp"
#include "server/json_writer.hpp"
#include "server/marked_text.hpp"
#include "server/search_api.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

struct document_request {
    std::optional<std::string> id, q;
    std::uint64_t offset = 0;
    std::uint64_t bytes = site_limits{}.text_bytes;
};

}  // namespace
}  // namespace quern::server

namespace quern {

template <>
inline constexpr auto options_of<server::document_request> = std::array{
    option_for<&server::document_request::id>("id", "", "The document's id."),
    option_for<&server::document_request::q>("q", "",
                                             "A query whose words are marked in title_parts and text_parts."),
    option_for<&server::document_request::offset>(
        "offset", "", {},
        "Start in the text, in bytes of UTF-8; inside a character it moves to the start of that character."),
    option_for<&server::document_request::bytes>("bytes", "",
                                                 {.min = 4, .max = server::site_limits{}.max_text_bytes},
                                                 "Maximum number of bytes of the text to return.")};

}  // namespace quern

namespace quern::server {

const std::vector<api_parameter>& document_parameters() {
    static const std::vector<api_parameter> all = [] {
        const document_request defaults;
        return std::vector{required(parameter_of("id", defaults, "plain")),
                           parameter_of("q", defaults, "grain"), parameter_of("offset", defaults, "2"),
                           parameter_of("bytes", defaults, "100")};
    }();
    return all;
}

const std::vector<api_parameter>& document_path_parameters() {
    static const std::vector<api_parameter> all = [] {
        std::vector<api_parameter> parameters = document_parameters();
        parameters.front().in_path = true;
        parameters.front().about.help = "The document's id, percent-encoded.";
        return parameters;
    }();
    return all;
}

std::string document_json(const search_engine& engine, std::optional<std::string_view> id,
                          std::string_view query, const site_limits& limits) {
    const parameters given(query, id ? document_path_parameters() : document_parameters());
    document_request request;
    given.read(request);
    if (!id) id = given.text("id");
    if (!id) throw bad_request("id (of the document) is missing");
    const auto document = engine.find(*id);
    if (!document) throw not_found(fmt::format("there is no document '{}'", *id));
    const std::string_view words = given.text("q") ? query_of(given, limits) : std::string_view();
    const stored_document stored = engine.document(*document);
    const std::string_view text = stored.text, title = shortened(stored.title, limits);
    if (request.offset > text.size())
        throw bad_request(fmt::format("offset: the text has only {} bytes", text.size()));
    const std::size_t begin = back_to_character(text, request.offset);
    const std::size_t end = back_to_character(text, std::min(text.size(), begin + request.bytes));
    const std::string_view piece = text.substr(begin, end - begin);

    json_writer json;
    json.begin_object();
    json.member("id", stored.id);
    json.member("title", title);
    json.member("words", std::uint64_t{stored.words});
    write_fields(json, engine, stored.fields);
    json.member("text_bytes", static_cast<std::uint64_t>(text.size()));
    json.member("offset", static_cast<std::uint64_t>(begin));
    json.member("next_offset",
                end < text.size() ? cell(static_cast<std::uint64_t>(end)) : cell(std::monostate()));
    json.member("text", piece);
    if (given.text("q")) {
        const std::vector<std::string> marked =
            engine.discriminative_words_of(words, query_syntax::automatic);
        write_parts(json, "title_parts", engine, title, marked);
        write_parts(json, "text_parts", engine, piece, marked);
    }
    json.end_object();
    return json.take();
}

}  // namespace quern::server
