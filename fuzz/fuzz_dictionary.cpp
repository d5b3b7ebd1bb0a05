// SPDX-License-Identifier: Apache-2.0
// Any bytes opened as a dictionary must be rejected or work without reads past the end; and any list of words
// (the same bytes cut at line feeds) must come back unchanged.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "text/dictionary.hpp"

namespace {

using namespace quern::text;

void require(bool holds) {
    if (!holds) std::abort();
}

void use(const dictionary_view& view, std::string_view bytes) {
    const std::uint32_t size = view.size();
    for (std::uint32_t i = 0; i < std::min<std::uint32_t>(size, 64); ++i) {
        const std::string word = view.word(i * (size / 64 + 1) % size);
        const auto found = view.find(word);
        require(!found || *found < size);
        const auto [first, last] = view.with_prefix(std::string_view(word).substr(0, word.size() / 2));
        require(first <= last && last <= size);
    }
    (void)view.find(bytes.substr(0, 40));
    (void)view.with_prefix(bytes.substr(bytes.size() / 2, 3));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    if (const auto view = dictionary_view::open({bytes.data(), bytes.size()})) use(*view, bytes);

    std::set<std::string, std::less<>> words;
    for (std::size_t at = 0; at <= size;) {
        const std::size_t end = std::min(bytes.find('\n', at), size);
        words.emplace(bytes.substr(at, end - at));
        at = end + 1;
    }
    dictionary_builder builder;
    for (const std::string& word : words) builder.append(word);
    const std::string stored = builder.finish();
    const auto view = dictionary_view::open(stored);
    require(view && view->size() == words.size());
    std::uint32_t id = 0;
    for (const std::string& word : words) {
        require(view->find(word) == id && view->word(id) == word);
        require(view->find(word + '\n') == std::nullopt);
        require(view->with_prefix(word).first == id);
        ++id;
    }
    return 0;
}
