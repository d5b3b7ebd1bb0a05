// SPDX-License-Identifier: Apache-2.0
// Stop-word lists: plain text, one or more words a line, `#` begins a comment. Quern's own lists are the files in
// stop_words/, which the build embeds in the program.
#include "text/stop_words.hpp"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>

#include "device/files/descriptor.hpp"
#include "quern/base/error.hpp"
#include "text/stop_word_files.hpp"

namespace quern::text {
namespace {

/// One word a line. A carriage return, surrounding blanks and a byte-order mark are not part of it.
std::vector<std::string> words_of_lines(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n\f\v";
    std::vector<std::string> words;
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const std::size_t first = line.find_first_not_of(blanks);
        if (first == std::string_view::npos || line[first] == '#') continue;
        words.emplace_back(line.substr(first, line.find_last_not_of(blanks) + 1 - first));
    }
    return words;
}

/// The built-in lists have several words a line; a word with an apostrophe also means its spelling with the typographic
/// one.
std::vector<std::string> words_of_builtin(std::string_view text) {
    std::vector<std::string> words;
    for (const std::string& line : words_of_lines(text)) {
        for (std::size_t at = 0; at < line.size();) {
            const std::size_t end = std::min(line.find(' ', at), line.size());
            std::string word = line.substr(at, end - at);
            at = end + 1;
            if (word.empty()) continue;
            if (const std::size_t mark = word.find('\''); mark != std::string::npos) {
                std::string curled = word;
                words.push_back(curled.replace(mark, 1, "\xE2\x80\x99"));
            }
            words.push_back(std::move(word));
        }
    }
    return words;
}

std::string known_names() {
    std::string names;
    for (const std::string_view name : builtin_stop_lists()) (names += ", ") += name;
    return names;
}

}  // namespace

std::vector<std::string_view> builtin_stop_lists() {
    std::vector<std::string_view> names;
    for (const stop_word_file& file : stop_word_files) names.push_back(file.name);
    return names;
}

// Lists in use have a few KiB; folded, a word may take eleven times its bytes.
constexpr std::size_t max_stop_word_bytes = std::size_t{4} << 20;

std::string read_stop_word_file(const std::string& path) {
    std::error_code failed;
    const auto status = std::filesystem::status(path, failed);
    if (status.type() == std::filesystem::file_type::not_found) {
        throw usage_error("unknown stop words '" + path + "' (expected a file, none" + known_names() + ")");
    }
    // A pipe would be empty at the second reading.
    if (!failed && !std::filesystem::is_regular_file(status))
        throw usage_error("cannot read the stop-word file '" + path + "'");
    const descriptor file = open_file(path, O_RDONLY);
    std::string text;
    for (std::size_t held = 0;; held = text.size()) {
        text.resize(held + (std::size_t{1} << 16));
        text.resize(held + read_some(file.number(), std::span(text).subspan(held), path));
        if (text.size() == held) return text;
        if (text.size() > max_stop_word_bytes) {
            throw usage_error("the stop-word file '" + path +
                              "' is larger than 4 MiB; a list of stop words has one word a line");
        }
    }
}

std::vector<std::string> stop_words_of_file(std::string_view bytes) {
    return words_of_lines(bytes);
}

std::vector<std::string> read_stop_words(const std::string& name) {
    if (name == "none") return {};
    for (const stop_word_file& file : stop_word_files) {
        if (file.name == name) return words_of_builtin(file.text);
    }
    return words_of_lines(read_stop_word_file(name));
}

}  // namespace quern::text

namespace quern {

bool is_builtin_stop_list(std::string_view stop_words) {
    return stop_words == "none" ||
           std::ranges::any_of(text::stop_word_files,
                               [&](const text::stop_word_file& file) { return file.name == stop_words; });
}

}  // namespace quern
