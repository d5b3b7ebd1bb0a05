// SPDX-License-Identifier: Apache-2.0
#include "server/marked_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "server/json_writer.hpp"
#include "server/target.hpp"

namespace quern::server {

std::size_t back_to_character(std::string_view text, std::size_t at) {
    for (int back = 0; back < 3 && at > 0 && at < text.size(); ++back, --at) {
        if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) break;
    }
    return at;
}

std::string_view shortened(std::string_view title, const site_limits& limits) {
    return title.substr(0, back_to_character(title, std::min(title.size(), limits.title_bytes)));
}

void check_size(const json_writer& json, const site_limits& limits, std::string_view what) {
    if (json.size() > limits.response_bytes)
        throw bad_request(fmt::format("the response would be longer than {} bytes; request fewer {}",
                                      limits.response_bytes, what));
}

std::vector<std::string> marked_words(const search_engine& engine, std::string_view query,
                                      const search_result& of, const context& ctx) {
    std::vector<std::string> words = engine.discriminative_words_of(query, of.syntax, ctx);
    words.insert(words.end(), of.variant_words.begin(), of.variant_words.end());
    for (const similar_word& similar : of.similar_words) words.push_back(similar.word);
    std::ranges::sort(words);
    return words;
}

void write_parts(json_writer& json, std::string_view name, const search_engine& engine, std::string_view text,
                 std::span<const std::string> marked) {
    json.key(name);
    json.begin_list();
    std::size_t done = 0;
    for (const text_match& match : engine.matches(text, marked)) {
        json.value(text.substr(done, match.begin - done));
        json.value(text.substr(match.begin, match.end - match.begin));
        done = match.end;
    }
    json.value(text.substr(done));
    json.end_list();
}

void write_fields(json_writer& json, const search_engine& engine, std::string_view fields) {
    if (!engine.store().kept_fields.empty())
        json.member("fields", raw_json{fields.empty() ? std::string_view("{}") : fields});
}

}  // namespace quern::server
