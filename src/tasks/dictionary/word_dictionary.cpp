// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "device/place.hpp"
#include "device/resident.hpp"
#include "primitives/dictionary/text_to_ids.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/dictionary.hpp"
#include "tasks/dictionary/dictionary_file.hpp"
#include "tasks/dictionary/placed_words.hpp"
#include "text/dictionary.hpp"

namespace quern {

struct word_dictionary::state {
    state(dictionary_file::opened opened, const text::dictionary_view& view)
        : file(std::move(opened)), words(view) {}

    dictionary_file::opened file;
    text::dictionary_view words;

    // The words on the GPU that was asked for last.
    std::mutex using_gpu;
    int ordinal = -1;
    std::optional<resident<placed_words>> on_gpu;
};

word_dictionary word_dictionary::open(const std::filesystem::path& path) {
    dictionary_file::opened file = dictionary_file::open(path);
    const std::string_view bytes = file.section.bytes(file.words_at, file.info.word_bytes);
    const auto words = text::dictionary_view::open({bytes.data(), bytes.size()});
    if (!words || words->size() != file.info.words) file.section.fail("has invalid words");
    return word_dictionary(std::make_unique<state>(std::move(file), *words));
}

word_dictionary::word_dictionary(std::unique_ptr<state> opened) : state_(std::move(opened)) {}
word_dictionary::word_dictionary(word_dictionary&&) noexcept = default;
word_dictionary& word_dictionary::operator=(word_dictionary&&) noexcept = default;
word_dictionary::~word_dictionary() = default;

const dictionary_info& word_dictionary::info() const {
    return state_->file.info;
}
std::uint32_t word_dictionary::size() const {
    return state_->words.size();
}
std::optional<std::uint32_t> word_dictionary::find(std::string_view word) const {
    return state_->words.find(word);
}
std::string word_dictionary::word(std::uint32_t id) const {
    return state_->words.word(id);
}
std::pair<std::uint32_t, std::uint32_t> word_dictionary::with_prefix(std::string_view prefix) const {
    return state_->words.with_prefix(prefix);
}

std::uint64_t word_dictionary::count(std::uint32_t id) const {
    if (id >= size()) throw std::out_of_range("no such word id");
    return state_->file.section.value<std::uint64_t>(state_->file.counts_at + std::uint64_t{id} * 8);
}

std::uint64_t word_dictionary::find(std::span<const std::string_view> words, std::span<std::uint32_t> ids,
                                    const context& ctx) const {
    if (words.size() != ids.size()) throw usage_error("the numbers of ids and words differ");
    std::optional<chosen_device> gpu;
    if (ctx.device.where != device_choice::kind::automatic) gpu = choose_device(ctx, "a look-up of words");
    if (gpu && !gpu->cuda) gpu.reset();
    std::unique_lock<std::mutex> one_at_a_time;
    if (gpu) {
        one_at_a_time = std::unique_lock(state_->using_gpu);
        if (!state_->on_gpu || state_->ordinal != gpu->ordinal) {
            state_->on_gpu.emplace(ctx, *gpu, state_->words);
            state_->ordinal = gpu->ordinal;
        }
    }
    cpu_place place(ctx);
    // Concatenated, in batches whose positions fit 32 bits.
    constexpr std::uint64_t max_bytes = std::uint64_t{1} << 24;
    std::vector<std::uint8_t> text;
    std::vector<std::uint32_t> begins, ends;
    std::uint64_t unknown = 0;
    for (std::size_t first = 0; first < words.size();) {
        text.clear();
        begins.clear();
        ends.clear();
        std::size_t last = first;
        for (; last < words.size() && text.size() < max_bytes; ++last) {
            if (words[last].size() > std::numeric_limits<std::uint32_t>::max() - max_bytes) {
                throw usage_error("a query word is longer than 4 GiB");
            }
            begins.push_back(static_cast<std::uint32_t>(text.size()));
            text.insert(text.end(), words[last].begin(), words[last].end());
            ends.push_back(static_cast<std::uint32_t>(text.size()));
        }
        const std::span<std::uint32_t> found = ids.subspan(first, last - first);
        if (gpu)
            state_->on_gpu->visit([&](auto& there) { there.find(text, begins, ends, found); });
        else
            primitives::find_words(place, state_->words.list(), text, begins, ends, found);
        unknown += static_cast<std::uint64_t>(std::ranges::count(found, size()));
        first = last;
    }
    return unknown;
}

}  // namespace quern
