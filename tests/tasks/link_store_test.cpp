// SPDX-License-Identifier: Apache-2.0
#include "tasks/build/link_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tasks/store/layout.hpp"
#include "temporary_folder.hpp"

namespace quern {
namespace {

using ::testing::ElementsAre;

class Links : public ::testing::Test {
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

TEST_F(Links, AreKeptInOrderWithRepeatsAndWithoutDanglingOnes) {
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

TEST_F(Links, FollowRedirects) {
    add_document("a", {"r1", "r3", "loop1", "a2", "self", "nowhere", "first"});
    add_document("b", {});
    collector_.add_redirect({"r1", "r2"});
    collector_.add_redirect({"r2", "b"});
    collector_.add_redirect({"r3", "r1"});
    collector_.add_redirect({"loop1", "loop2"});
    collector_.add_redirect({"loop2", "loop1"});
    collector_.add_redirect({"self", "self"});
    collector_.add_redirect({"nowhere", "none"});
    collector_.add_redirect({"a", "b"});  // a document wins over a redirect of its name
    collector_.add_redirect({"a2", "a"});
    collector_.add_redirect({"first", "a"});  // the first wins over later ones
    collector_.add_redirect({"first", "b"});
    const auto outcome = resolve();
    EXPECT_EQ(outcome.dangling, 3U);
    EXPECT_THAT(section(outcome, 0).values<std::uint32_t>(0, 4), ElementsAre(1U, 1U, 0U, 0U));
}

// A chain in file order costs as much as any other; each step once.
TEST_F(Links, ALongChainOfRedirectsIsFollowedOnce) {
    add_document("a", {"r0"});
    constexpr int steps = 200'000;
    for (int i = 0; i < steps; ++i) {
        collector_.add_redirect({"r" + std::to_string(i), i + 1 < steps ? "r" + std::to_string(i + 1) : "a"});
    }
    EXPECT_EQ(resolve().links, 1U);
}

TEST_F(Links, LostScratchFilesAreTold) {
    for (int i = 0; i < 10'000; ++i) add_document(std::to_string(i), {"0", "1"});
    std::filesystem::remove(folder_ / "link_targets");
    EXPECT_THROW(resolve(), io_error);
}

}  // namespace
}  // namespace quern
