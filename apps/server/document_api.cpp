// SPDX-License-Identifier: Apache-2.0
#include "server/document_api.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/tasks/search_option_table.hpp"
#include "server/json_writer.hpp"
#include "server/marked_text.hpp"
#include "server/search_api.hpp"
#include "server/served_store.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

struct document_request {
    std::optional<std::string> id, q;
    bool source = false;
    search_options marking;  ///< which words of q are marked
    std::uint64_t offset = 0;
    std::uint64_t bytes = site_limits{}.text_bytes;

    document_request() {
        marking.syntax = query_syntax::automatic;
        marking.typos = typo_tolerance::automatic;
    }
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
                                                 "Maximum number of bytes of the text to return."),
    option_for<&server::document_request::source>(
        "source",
        "Whether to include the document as the folder of the collection has it now (source), as HTML or "
        "text, if the server was given the folder.")};

}  // namespace quern

namespace quern::server {

const std::vector<api_parameter>& document_parameters() {
    static const std::vector<api_parameter> all = [] {
        const document_request defaults;
        return std::vector{required(parameter_of("id", defaults, "plain")),
                           parameter_of("q", defaults, "grain"),
                           parameter_of("offset", defaults, "2"),
                           parameter_of("bytes", defaults, "100"),
                           parameter_of("source", defaults, "1"),
                           parameter_of("typos", defaults.marking, "1"),
                           parameter_of("prefix_last", defaults.marking, "1"),
                           store_parameter()};
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

namespace {

/// The words of a query that a search would mark, with those that stand for them because of typos.
std::vector<std::string> marked_words_of(const search_engine& engine, std::string_view query,
                                         search_options options, const context& ctx) {
    options.k = 1;
    options.snippets = options.fields = options.duplicates = false;
    try {
        return marked_words(engine, query, engine.search(query, options, ctx), ctx);
    } catch (const usage_error& e) {
        throw bad_request(e.what());
    }
}

/// The document as its folder has it; null if it cannot be shown so.
void write_source(json_writer& json, const served_store& store, std::string_view id,
                  const site_limits& limits, const context& ctx) {
    json.key("source");
    std::optional<folder_document> source;
    if (store.folder) source = store.folder->document(id, limits.max_text_bytes, ctx);
    if (!source) return json.value(std::monostate());
    json.begin_object();
    json.member("form", document_form_names[static_cast<std::size_t>(source->form)]);
    json.member("text", std::string_view(source->text));
    json.objects("links", source->links, [&](const folder_link& link) {
        json.member("address", std::string_view(link.address));
        json.member("path", std::string_view(link.path));
        json.flag("document", store.engine.find(link.path, ctx).has_value());
    });
    json.end_object();
    check_size(json, limits, "documents with their source");
}

}  // namespace

std::string document_json(const served_store& store, std::optional<std::string_view> id,
                          std::string_view query, const site_limits& limits, const context& ctx) {
    const search_engine& engine = store.engine;
    const parameters given(query, id ? document_path_parameters() : document_parameters());
    document_request request;
    given.read(request);
    given.read(request.marking);
    if (!id) id = given.text("id");
    if (!id) throw bad_request("id (of the document) is missing");
    const auto document = engine.find(*id, ctx);
    if (!document) throw not_found(fmt::format("there is no document '{}'", *id));
    const std::string_view words = given.text("q") ? query_of(given, limits) : std::string_view();
    const stored_document stored = engine.document(*document, ctx);
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
    if (request.source) write_source(json, store, *id, limits, ctx);
    if (given.text("q")) {
        const std::vector<std::string> marked = marked_words_of(engine, words, request.marking, ctx);
        write_parts(json, "title_parts", engine, title, marked);
        write_parts(json, "text_parts", engine, piece, marked);
    }
    json.end_object();
    return json.take();
}

}  // namespace quern::server
