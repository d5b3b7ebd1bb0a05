// SPDX-License-Identifier: Apache-2.0
// Counting in a store, compared with the texts; a store whose postings and token stream disagree is detected.
#include "quern/tasks/count.hpp"
#include "corpus_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "io/store/section.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/build.hpp"
#include "quern/tasks/store.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/opened_store.hpp"
#include "tasks/store_build/token_store.hpp"
#include "temporary_folder.hpp"

namespace quern::count_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::temporary_folder;
using testing::write_file;

class count_test : public testing::corpus_fixture {
  protected:
    fs::path build_from(const std::string& corpus, const std::string& name, const context& ctx) {
        build_options options;
        options.inputs = {written(corpus, name + ".jsonl")};
        options.store = folder_ / name;
        options.skip = all_build_stages;
        build(options, ctx);
        return options.store;
    }
};

constexpr std::uint32_t documents = 70'000, words_each = 20;  // enough for several ranges of documents

std::uint32_t word_at(std::uint32_t document, std::uint32_t place) {
    return ((document * 2654435761U ^ place * 2246822519U) >> 7) % 11;
}

std::string many_documents() {
    std::string lines;
    for (std::uint32_t d = 0; d < documents; ++d) {
        lines += "{\"id\":\"" + std::to_string(d) + "\",\"text\":\"";
        for (std::uint32_t w = 0; w < words_each; ++w) lines += "w" + std::to_string(word_at(d, w)) + ' ';
        lines += "\"}\n";
    }
    return lines;
}

TEST_F(count_test, agrees_with_the_texts_for_any_threads) {
    const fs::path store = build_from(many_documents(), "store", context_with(2));
    const auto counter = ngram_counter::open(store, context_with(1));
    const ngram_occurrences one = counter.count("w3 w5", context_with(1)),
                            five = counter.count("w3 w5", context_with(5));
    std::uint64_t count = 0, followed = 0;
    std::size_t found = 0;
    for (std::uint32_t d = 0; d < documents; ++d) {
        std::uint32_t mine = 0;
        for (std::uint32_t w = 0; w + 1 < words_each; ++w) {
            if (word_at(d, w) != 3 || word_at(d, w + 1) != 5) continue;
            ++mine;
            followed += w + 2 < words_each;
        }
        count += mine;
        if (mine == 0) continue;
        for (const ngram_occurrences* counts : {&one, &five}) {
            ASSERT_LT(found, counts->documents.size());
            EXPECT_EQ(counts->documents[found].document, d);
            EXPECT_EQ(counts->documents[found].count, mine);
        }
        ++found;
    }
    EXPECT_GT(found, 1000U);
    for (const ngram_occurrences* counts : {&one, &five}) {
        EXPECT_EQ(counts->documents.size(), found);
        EXPECT_EQ(counts->count, count);
        EXPECT_EQ(counts->followed, followed);
    }
}

// With so little memory that the recorded runs are on disk.
TEST_F(count_test, words_in_order_do_not_depend_on_memory) {
    const std::string corpus = many_documents();
    const auto tokens_of = [](const fs::path& path) {
        const opened_store store(path);
        std::string all;
        for (std::uint32_t d = 0; d < store.info().documents; ++d) all += store.tokens().words_of(d);
        return all;
    };
    const fs::path large = build_from(corpus, "large", context_with(2));
    const fs::path small = build_from(corpus, "small", context_with(3, 10 << 20));
    EXPECT_EQ(tokens_of(small), tokens_of(large));
    EXPECT_GT(verify_store(small, context_with(2)), 0U);
}

TEST_F(count_test, stores_that_contradict_themselves_are_found_out) {
    const fs::path one = build_from("{\"id\":\"1\",\"text\":\"a b a\"}\n{\"id\":\"2\",\"text\":\"b\"}\n",
                                    "one", context_with(1));
    const auto say = [&](std::string_view section, const std::function<void(io::section_writer&)>& sink) {
        const fs::path changed = folder_ / "changed";
        fs::remove_all(changed);
        fs::copy(one, changed);
        store_info info = read_store_info(changed);
        io::section_writer writer(store_layout::file_of(changed, section));
        sink(writer);
        const auto summary = writer.finish();
        for (store_section& boosts : info.sections)
            if (boosts.name == section) boosts = {boosts.name, summary.file_bytes, summary.checksum};
        write_file(changed / store_layout::manifest, store_layout::manifest_text(info));
        try {
            verify_store(changed, context_with(2));
        } catch (const damaged_store& e) {
            return std::string(e.what());
        }
        return std::string("nothing said");
    };
    const auto bytes = [](std::string_view text) {
        return [text](io::section_writer& to) { to.append(text); };
    };
    EXPECT_EQ(say(store_layout::tokens, bytes("\x80\x81\x80\x81")), "nothing said")
        << "the bytes that were there";
    EXPECT_THAT(say(store_layout::tokens, bytes("\x80\x81\x81\x81")),
                HasSubstr("do not agree with the postings"));
    EXPECT_THAT(say(store_layout::tokens, bytes("\x80\x81\x82\x81")), HasSubstr("has no word"));
    EXPECT_THAT(say(store_layout::tokens, bytes("\x80\x81\x01\x81")), HasSubstr("ends within a word"));
    EXPECT_THAT(say(store_layout::token_ends,
                    [](io::section_writer& to) {
                        to.append_value(std::uint64_t{2});
                        to.append_value(std::uint64_t{4});
                    }),
                HasSubstr("hold 2 words for document 0, whose length is 3"));
    EXPECT_THAT(say(store_layout::tokens, bytes("\x80\x81\x80")), HasSubstr("section tokens: is too short"));
    EXPECT_THAT(say(store_layout::token_ends,
                    [](io::section_writer& to) {
                        to.append_value(std::uint64_t{3});
                        to.append_value(std::uint64_t{2});
                    }),
                HasSubstr("section token_ends: is out of order"));
    EXPECT_THAT(
        say(store_layout::token_words, [](io::section_writer& to) { to.append_value(std::uint32_t{0}); }),
        HasSubstr("do not match the dictionary"));
}

TEST(scratch_pieces_test, come_back_from_memory_and_from_disk) {
    const temporary_folder folder;
    const auto piece = [](std::size_t i) { return std::string(i % 7 * 100, static_cast<char>('a' + i)); };
    for (const std::uint64_t memory : {0U, 1U, 1000U, 1U << 20}) {
        scratch_pieces pieces(folder / ("pieces" + std::to_string(memory)), memory);
        for (std::size_t i = 0; i < 20; ++i) pieces.append(piece(i));
        pieces.flush();
        EXPECT_EQ(pieces.size(), 20U);
        EXPECT_EQ(pieces.spilled_bytes() == 0, memory == 1U << 20);
        for (std::size_t i = 20; i-- > 0;) EXPECT_EQ(pieces.take(i), piece(i)) << i;
    }
}

TEST_F(count_test, unknown_words_are_named_once) {
    const fs::path store =
        build_from("{\"id\":\"1\",\"title\":\"A b\",\"text\":\"a\"}\n", "store", context_with(1));
    const auto counter = ngram_counter::open(store, context_with(1));
    EXPECT_THAT(counter.count("a x b X", context_with(1)).unknown_words, ElementsAre("x"));
    EXPECT_TRUE(counter.count(" ", context_with(1)).words.empty());
    const ngram_occurrences over_the_title = counter.count("b a", context_with(1));
    EXPECT_EQ(over_the_title.count, 1U);
    EXPECT_EQ(over_the_title.followed, 0U);
    EXPECT_EQ(counter.id(over_the_title.documents.at(0).document), "1");
}

TEST_F(count_test, words_in_order_outlive_their_store) {
    const fs::path store =
        build_from(R"({"id":"1","text":"the mill grinds the grain"})", "store", context_with(1));
    std::optional<opened_store> first(store);
    const auto tokens = first->tokens();
    const std::string words(tokens.words_of(0));
    EXPECT_EQ(std::ranges::count_if(words, search_detail::ends_a_word), 5);
    const std::optional<opened_store> second(std::move(*first));
    const auto of_the_moved = second->tokens();
    first.reset();
    EXPECT_EQ(tokens.words_of(0), words);
    EXPECT_EQ(of_the_moved.words_of(0), words);
    EXPECT_EQ(tokens.code->of(0).text(), of_the_moved.code->of(0).text());
}

}  // namespace
}  // namespace quern::count_test
