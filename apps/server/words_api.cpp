// SPDX-License-Identifier: Apache-2.0
#include "server/words_api.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "quern/base/error.hpp"
#include "quern/tasks/similar.hpp"
#include "server/json_writer.hpp"
#include "server/search_api.hpp"
#include "server/target.hpp"

namespace quern::server {
namespace {

struct words_request {
    std::string q;
    std::uint32_t k = 8;
};

}  // namespace
}  // namespace quern::server

namespace quern {

template <>
inline constexpr auto options_of<server::words_request> =
    std::array{option_for<&server::words_request::q>("q", "", "The query; at most 2,048 bytes."),
               option_for<&server::words_request::k>("k", "", {.min = 1, .max = 100},
                                                     "Number of similar words for each word.")};

}  // namespace quern

namespace quern::server {
namespace {

/// The words of a query as the thesaurus spells them, each once, in order; including words that it lacks.
std::vector<std::string> words_of(const search_engine& engine, const word_space& thesaurus,
                                  std::string_view query) {
    std::vector<std::string> words;
    for (const text_match& at : engine.matches(query, query)) {
        try {
            std::string word = thesaurus.spelling(query.substr(at.begin, at.end - at.begin));
            if (std::ranges::find(words, word) == words.end()) words.push_back(std::move(word));
        } catch (const usage_error&) {  // not a single word on its own
        }
    }
    return words;
}

}  // namespace

const std::vector<api_parameter>& words_parameters() {
    static const words_request defaults;
    static const std::vector<api_parameter> all{required(parameter_of("q", defaults, "grain stones")),
                                                parameter_of("k", defaults, "3"), store_parameter()};
    return all;
}

void write_similar_words(json_writer& json, const word_space& thesaurus, std::optional<std::uint32_t> word,
                         std::uint32_t k, const context& ctx) {
    std::vector<neighbour> near;
    if (word && !thesaurus.is_stop_word(*word))
        near = thesaurus.similar_but_stop_words({{*word}, {}}, k, ctx);
    json.objects("similar", near, [&](const neighbour& of) {
        json.member("word", thesaurus.word(of.word));
        json.member("score", of.score);
    });
}

std::string words_json(const search_engine& engine, std::string_view query, const site_limits& limits,
                       const context& ctx) {
    const word_space* const thesaurus = engine.thesaurus();
    const parameters given(query, words_parameters());
    words_request request;
    given.read(request);
    const std::string_view words = query_of(given, limits);

    json_writer json;
    json.begin_object();
    json.member("query", words);
    json.flag("thesaurus", thesaurus != nullptr);
    std::vector<std::string> of_query;
    if (thesaurus != nullptr) of_query = words_of(engine, *thesaurus, words);
    json.objects("words", of_query, [&](const std::string& word) {
        ctx.check_stop();
        json.member("word", std::string_view(word));
        write_similar_words(json, *thesaurus, thesaurus->find(word), request.k, ctx);
    });
    json.end_object();
    return json.take();
}

}  // namespace quern::server
