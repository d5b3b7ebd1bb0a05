// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/stop_words_file.hpp"

#include <fmt/format.h>

#include "base/hash.hpp"
#include "io/files/file_writer.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
constexpr const char* file_name = "stop_words.txt";

/// A code such as "en" names a list of ours; whatever exists as a file, and is no code, is the user's.
bool is_file(const std::string& stop_words) {
    return stop_words.find_first_of("./") != std::string::npos || fs::is_regular_file(stop_words);
}

io::mapped_file open(const std::string& path) {
    if (!fs::is_regular_file(path)) throw usage_error(path + ": no such file of stop words");
    return io::mapped_file(path);
}

}  // namespace

text_options as_recorded(const text_options& text) {
    if (!is_file(text.stop_words)) return text;
    text_options recorded = text;
    recorded.stop_words = fmt::format("@{:016x}", hash64(open(text.stop_words).text()));
    return recorded;
}

text_options keep_stop_words(const text_options& text, const fs::path& store) {
    if (!is_file(text.stop_words)) return text;
    const io::mapped_file file = open(text.stop_words);
    io::file_writer copy(store / file_name);
    copy.append(file.text());
    copy.close();
    return as_recorded(text);
}

text_options with_stop_words_of(const text_options& recorded, const fs::path& store) {
    if (!recorded.stop_words.starts_with('@')) return recorded;
    text_options text = recorded;
    text.stop_words = (store / file_name).string();
    if (as_recorded(text) != recorded) {
        throw damaged_store(text.stop_words, "stop words", "is not the list the store was made with");
    }
    return text;
}

}  // namespace quern
