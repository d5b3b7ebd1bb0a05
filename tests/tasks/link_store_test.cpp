// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/link_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tasks/store/layout.hpp"
#include "temporary_folder.hpp"

namespace quern::link_store_test {
namespace {

using ::testing::ElementsAre;

class links_test : public ::testing::Test {
  protected:
    void add_document(const std::string& id, std::vector<std::string> links) {
        document d;
        d.id = id;
        d.links = std::move(links);
        ids_.insert(id, documents_++);
        collector_.add_document(d);
    }
    link_collector::outcome resolve() { return collector_.resolve(ids_, folder_.path(), {}); }
    io::section_view section(const link_collector::outcome& from, std::size_t i) {
        const store_section& s = from.sections[i];
        return {store_layout::file_of(folder_.path(), s.name), s.name, s.checksum};
    }

    testing::temporary_folder folder_;
    link_collector collector_{folder_.path()};
    id_table ids_;
    std::uint32_t documents_ = 0;
};

TEST_F(links_test, are_kept_in_order_with_repeats_and_without_dangling_ones) {
    add_document("a", {"b", "none", "b", "a"});
    add_document("b", {});
    add_document("c", {"none"});
    add_document("d", {"c"});
    const auto outcome = resolve();
    EXPECT_EQ(outcome.links, 4U);
    EXPECT_EQ(outcome.dangling, 2U);
    EXPECT_THAT(section(outcome, 0).values<std::uint32_t>(0, 4), ElementsAre(1U, 1U, 0U, 2U));
    EXPECT_THAT(section(outcome, 1).values<std::uint64_t>(0, 4), ElementsAre(3U, 3U, 3U, 4U));
}

TEST_F(links_test, of_a_scope_find_its_own_documents_first) {
    const auto add = [&](std::uint32_t scope, const std::string& id, const std::string& given,
                         std::vector<std::string> links) {
        document d;
        d.id = id;
        d.given = given;
        d.scope = scope;
        d.links = std::move(links);
        if (!given.empty()) collector_.add_scoped_id(d, documents_, ids_);
        ids_.insert(id, documents_++);
        collector_.add_document(d);
    };
    add(0, "old", "", {"a"});
    add(1, "a", "", {"a", "b"});
    add(2, "f:a", "a", {"a", "b", "f:a"});
    add(2, "b", "", {"a"});
    add(1, "c", "", {"a"});
    EXPECT_EQ(resolve().links, 8U);
    const auto sections = store_layout::file_of(folder_.path(), store_layout::links);
    const io::section_view links(sections, "links");
    EXPECT_THAT(links.values<std::uint32_t>(0, 8), ElementsAre(1U, 1U, 3U, 2U, 3U, 2U, 2U, 1U));
}

TEST_F(links_test, follow_redirects) {
    add_document("a", {"r1", "r3", "loop1", "a2", "self", "nowhere", "first"});
    add_document("b", {});
    collector_.add_redirect({"r1", "r2"});
    collector_.add_redirect({"r2", "b"});
    collector_.add_redirect({"r3", "r1"});
    collector_.add_redirect({"loop1", "loop2"});
    collector_.add_redirect({"loop2", "loop1"});
    collector_.add_redirect({"self", "self"});
    collector_.add_redirect({"nowhere", "none"});
    collector_.add_redirect({"a", "b"});  // a document takes precedence over a redirect of its name
    collector_.add_redirect({"a2", "a"});
    collector_.add_redirect({"first", "a"});  // the first takes precedence
    collector_.add_redirect({"first", "b"});
    const auto outcome = resolve();
    EXPECT_EQ(outcome.dangling, 3U);
    EXPECT_THAT(section(outcome, 0).values<std::uint32_t>(0, 4), ElementsAre(1U, 1U, 0U, 0U));
}

// A chain in file order costs as much as any other; each step is followed once.
TEST_F(links_test, a_long_chain_of_redirects_is_followed_once) {
    add_document("a", {"r0"});
    constexpr int steps = 200'000;
    for (int i = 0; i < steps; ++i) {
        collector_.add_redirect({"r" + std::to_string(i), i + 1 < steps ? "r" + std::to_string(i + 1) : "a"});
    }
    EXPECT_EQ(resolve().links, 1U);
}

TEST_F(links_test, lost_scratch_files_are_reported) {
    for (int i = 0; i < 10'000; ++i) add_document(std::to_string(i), {"0", "1"});
    std::filesystem::remove(folder_ / "link_targets");
    EXPECT_THROW(resolve(), io_error);
}

}  // namespace
}  // namespace quern::link_store_test
