// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/stop_words_file.hpp"

#include <fmt/format.h>

#include "base/hash.hpp"
#include "device/files/file_writer.hpp"
#include "quern/base/error.hpp"
#include "text/stop_words.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;
/// The name of a file in a manifest: "@" and the hash of its bytes.
std::string recorded_name(std::string_view words) {
    return fmt::format("@{:016x}", hash64(words));
}

bool is_recorded_name(std::string_view name) {
    return name.size() == 17 && name[0] == '@' &&
           name.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

bool is_file(const std::string& stop_words) {
    return !is_builtin_stop_list(stop_words) && !is_recorded_name(stop_words);
}

/// The bytes of the copy in `store`; nothing if the options record none.
std::optional<std::string> kept_bytes(const text_options& recorded, const fs::path& store) {
    if (!is_recorded_name(recorded.stop_words)) return {};
    const fs::path kept = store / stop_words_file_name;
    const auto fail = [&](std::string_view reason) -> damaged_store {
        return {store.string(), stop_words_file_name, reason};
    };
    std::error_code failed;
    if (!fs::is_regular_file(kept, failed)) throw fail("is missing");
    std::string words;
    try {
        words = text::read_stop_word_file(kept.string());
    } catch (const usage_error&) {  // the user did not name it
        throw fail("cannot be read");
    }
    if (recorded_name(words) != recorded.stop_words) throw fail("does not belong to this store");
    return words;
}

}  // namespace

text_options as_recorded(const text_options& text) {
    text_options recorded = text;
    recorded.stem = stemmer_of(text);
    if (!is_file(text.stop_words)) return recorded;
    recorded.stop_words = recorded_name(text::read_stop_word_file(text.stop_words));
    return recorded;
}

text_options keep_stop_words(const text_options& text, const fs::path& store) {
    if (!is_file(text.stop_words)) return as_recorded(text);
    const std::string words = text::read_stop_word_file(text.stop_words);
    write_file(store / stop_words_file_name, words);
    text_options recorded = text;
    recorded.stop_words = recorded_name(words);
    return recorded;
}

std::uint64_t check_stop_words(const text_options& recorded, const fs::path& store) {
    const auto words = kept_bytes(recorded, store);
    return words ? words->size() : 0;
}

analyzer_maker::analyzer_maker(const text_options& recorded, const fs::path& store) : text_(recorded) {
    if (const auto words = kept_bytes(recorded, store)) stop_words_ = text::stop_words_of_file(*words);
}

text::analyzer analyzer_maker::make() const {
    return stop_words_ ? text::analyzer(text_, *stop_words_) : text::analyzer(text_);
}

text_options with_stop_words_of(const text_options& recorded, const fs::path& store) {
    check_stop_words(recorded, store);
    text_options text = recorded;
    if (is_recorded_name(recorded.stop_words)) text.stop_words = (store / stop_words_file_name).string();
    return text;
}

}  // namespace quern
