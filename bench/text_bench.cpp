// SPDX-License-Identifier: Apache-2.0
// Words from text, by every rule and path, compared with ICU alone; and look-ups in the dictionary. Text comes
// from the folder QUERN_TEXTS, every file in it plain UTF-8 (the first 16 MB are used), or is generated if there
// is none.
#include <benchmark/benchmark.h>
#include <unicode/brkiter.h>
#include <unicode/normalizer2.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "quern/text/analyzer.hpp"
#include "text/dictionary.hpp"
#include "text/passages.hpp"
#include "text/unicode_words.hpp"

namespace quern::text {
namespace {

constexpr std::size_t max_bytes = std::size_t{16} << 20;
constexpr std::size_t document_bytes = 16384;  // texts come in documents

struct sample {
    std::string name;
    std::vector<std::string> documents;
    std::size_t bytes = 0;
};

sample cut(std::string name, std::string_view text) {
    sample s{std::move(name), {}, 0};
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n', std::min(text.size(), document_bytes)), text.size());
        s.documents.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(text.size(), end + 1));
        s.bytes += end;
    }
    return s;
}

const std::vector<sample>& samples() {
    static const std::vector<sample> all = [] {
        std::vector<sample> found;
        const char* folder = std::getenv("QUERN_TEXTS");
        if (folder != nullptr) {
            for (const auto& entry : std::filesystem::directory_iterator(folder)) {
                std::string text(max_bytes, '\0');
                std::ifstream in(entry.path(), std::ios::binary);
                in.read(text.data(), static_cast<std::streamsize>(text.size()));
                text.resize(static_cast<std::size_t>(in.gcount()));
                found.push_back(cut(entry.path().stem().string(), text));
            }
            std::sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.name < b.name; });
        } else {
            std::mt19937 random(1);
            std::string text;
            while (text.size() < (std::size_t{4} << 20)) {
                for (std::size_t length = 1 + random() % 9; length > 0; --length) {
                    text += static_cast<char>('a' + random() % 26);
                }
                text += random() % 12 == 0 ? ".\n" : " ";
            }
            found.push_back(cut("made_up", text));
        }
        return found;
    }();
    return all;
}

template <class Analyze>
void run(benchmark::State& state, const sample& s, Analyze&& analyze) {
    token_list list;
    std::size_t words = 0;
    for (auto _ : state) {
        words = 0;
        for (const std::string& document : s.documents) {
            analyze(document, list);
            words += list.tokens.size();
            benchmark::DoNotOptimize(list.tokens.data());
        }
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(s.bytes) *
                            static_cast<std::int64_t>(state.iterations()));
    state.counters["words"] = static_cast<double>(words);
}

void by_options(benchmark::State& state, const sample& s, const text_options& options, boundaries wanted) {
    analyzer a(options);
    run(state, s, [&](const std::string& text, token_list& list) { a.analyze(text, list, wanted); });
}

void by_path(benchmark::State& state, const sample& s, word_path path) {
    unicode_words finder(icu::Locale::getRoot(), path);
    run(state, s, [&](const std::string& text, token_list& list) {
        list.words.clear();
        list.tokens.clear();
        finder.find(text, list);
    });
}

/// The usual way to call ICU: text to UTF-16, word iterator, each word folded and back to UTF-8.
void plain_icu(benchmark::State& state, const sample& s) {
    UErrorCode code = U_ZERO_ERROR;
    const std::unique_ptr<icu::BreakIterator> words(
        icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), code));
    const icu::Normalizer2* folding = icu::Normalizer2::getNFKCCasefoldInstance(code);
    run(state, s, [&](const std::string& text, token_list& list) {
        list.words.clear();
        list.tokens.clear();
        const icu::UnicodeString units = icu::UnicodeString::fromUTF8(text);
        words->setText(units);
        std::int32_t begin = words->first();
        for (std::int32_t end = words->next(); end != icu::BreakIterator::DONE;
             begin = end, end = words->next()) {
            if (words->getRuleStatus() < UBRK_WORD_NUMBER) continue;
            token t{};
            t.word_begin = static_cast<std::uint32_t>(list.words.size());
            folding->normalize(units.tempSubStringBetween(begin, end), code).toUTF8String(list.words);
            t.word_end = static_cast<std::uint32_t>(list.words.size());
            list.tokens.push_back(t);
        }
    });
}

void look_up(benchmark::State& state, std::size_t count) {
    std::mt19937_64 random(1);
    std::vector<std::string> words;
    for (std::size_t i = 0; i < count; ++i) {
        std::string word;
        for (std::size_t length = 3 + random() % 9; length > 0; --length) {
            word += "etaoinshrdlucmfwypvbgkjqxz"[std::min(random() % 26, random() % 26)];
        }
        words.push_back(std::move(word));
    }
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    dictionary_builder builder;
    for (const std::string& word : words) builder.append(word);
    const std::string bytes = builder.finish();
    const auto view = dictionary_view::open(bytes);
    std::vector<std::string> requested;
    for (int i = 0; i < 100000; ++i) requested.push_back(words[random() % words.size()]);
    for (auto _ : state) {
        for (const std::string& word : requested) benchmark::DoNotOptimize(view->find(word));
    }
    state.SetItemsProcessed(state.iterations() * 100000);
    state.counters["bits_per_word"] =
        static_cast<double>(bytes.size()) * 8 / static_cast<double>(words.size());
    std::size_t letters = 0;
    for (const std::string& word : words) letters += word.size();
    state.counters["plain_bits"] = static_cast<double>(letters) * 8 / static_cast<double>(words.size());
}

void register_all() {
    for (const sample& s : samples()) {
        const auto add = [&](const char* what, auto body) {
            benchmark::RegisterBenchmark((std::string(what) + "/" + s.name).c_str(), body)
                ->Unit(benchmark::kMillisecond);
        };
        const auto with = [&](token_rule rule, const char* stop, stemmer stem, boundaries wanted) {
            text_options options;
            options.tokens = rule;
            options.stop_words = stop;
            options.stem = stem;
            return [&s, options, wanted](benchmark::State& state) { by_options(state, s, options, wanted); };
        };
        constexpr auto none = boundaries::none;
        add("unicode", with(token_rule::unicode, "none", stemmer::none, none));
        add("unicode_rules", [&s](benchmark::State& state) { by_path(state, s, word_path::rules); });
        add("unicode_icu", [&s](benchmark::State& state) { by_path(state, s, word_path::icu); });
        add("plain_icu", [&s](benchmark::State& state) { plain_icu(state, s); });
        add("ascii", with(token_rule::ascii, "none", stemmer::none, none));
        add("letters", with(token_rule::letters, "none", stemmer::none, none));
        add("unicode_sentences",
            with(token_rule::unicode, "none", stemmer::none, boundaries::sentences_and_paragraphs));
        add("unicode_stop", with(token_rule::unicode, "en", stemmer::none, none));
        add("unicode_stop_porter", with(token_rule::unicode, "en", stemmer::porter, none));
    }
    for (const std::size_t count : {10000, 1000000}) {
        benchmark::RegisterBenchmark(("find/" + std::to_string(count)).c_str(),
                                     [count](benchmark::State& state) { look_up(state, count); });
    }
}

}  // namespace
}  // namespace quern::text

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    quern::text::register_all();
    benchmark::RunSpecifiedBenchmarks();
}
