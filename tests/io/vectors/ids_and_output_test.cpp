// SPDX-License-Identifier: Apache-2.0
// Neighbours, allowed ids, and written matrices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "vector_bytes.hpp"

namespace quern::io::ids_and_output_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class vector_ids : public vector_files {
  protected:
    neighbour_truth truth_of(const std::string& name, std::string_view bytes,
                             std::uint64_t rows = 1000) const {
        put(at(name), bytes);
        return read_truth(at(name), rows, context::cpu(1));
    }
    std::string truth_said(const std::string& name, std::string_view bytes, std::uint64_t rows = 1000) const {
        return said_by(name, [&] { truth_of(name, bytes, rows); });
    }
    std::vector<std::uint64_t> allowed_of(const std::string& name, std::string_view bytes,
                                          std::uint64_t rows) const {
        put(at(name), bytes);
        return read_allowed(at(name), rows, context::cpu(1));
    }
    std::string allowed_said(const std::string& name, std::string_view bytes, std::uint64_t rows) const {
        return said_by(name, [&] { allowed_of(name, bytes, rows); });
    }
};

using ids = std::vector<std::vector<std::uint32_t>>;

std::string flat(const ids& rows) {
    std::string bytes;
    for (const auto& row : rows) bytes += little_all(row);
    return bytes;
}

TEST_F(vector_ids, neighbours_come_back_from_every_format) {
    EXPECT_TRUE(rc::check([&] {
        const auto queries = *rc::gen::inRange<std::size_t>(1, 20), k = *rc::gen::inRange<std::size_t>(1, 20);
        ids rows(queries);
        std::vector<std::uint32_t> all;
        std::string text, wide;
        for (auto& row : rows) {
            row = *rc::gen::container<std::vector<std::uint32_t>>(
                k, rc::gen::inRange<std::uint32_t>(0, 4'000'000'000));
            all.insert(all.end(), row.begin(), row.end());
            for (const auto id : row) {
                text += std::to_string(id) + *rc::gen::element(" ", "\t", ",", ", ");
                wide += little(static_cast<std::int64_t>(id));
            }
            text.pop_back();
            text += *rc::gen::element("\n", "\r\n", " \n\n");
        }
        const std::uint64_t n = 4'000'000'000;
        const std::vector<float> distances(queries * k, 0.5f);
        const std::string shape = "(" + std::to_string(queries) + ", " + std::to_string(k) + ")";
        for (const neighbour_truth& truth :
             {truth_of("t.ivecs", vecs_of(rows), n), truth_of("t.ibin", bin_of(rows, k), n),
              truth_of("t.bin", bin_of(rows, k) + little_all(distances), n),
              truth_of("t.npy", npy_of("<i8", shape, wide), n),
              truth_of("t.npy", npy_of("<u4", shape, flat(rows)), n), truth_of("t.txt", text, n)}) {
            RC_ASSERT(truth.queries == queries);
            RC_ASSERT(truth.k == k);
            RC_ASSERT(truth.ids == all);
        }
        RC_ASSERT(truth_of("t.ibin", bin_of(rows, k) + little_all(distances), n).distances == distances);
        RC_ASSERT(truth_of("t.ibin", bin_of(rows, k), n).distances.empty());
    }));
}

TEST_F(vector_ids, neighbours_that_cannot_be_are_refused) {
    EXPECT_EQ(truth_said("t.ibin", bin_of(ids{{1, 2}, {3, 1000}}, 2)),
              "query 1 has the id 1000 at offset 20; there are 1000 vectors");
    EXPECT_EQ(truth_said("t.ivecs", vecs_of(ids{{1}, {4294967295}})),
              "query 1 has the id 4294967295 at offset 12; there are 1000 vectors");
    EXPECT_EQ(truth_said("t.npy", npy_of("<i4", "(1, 1)", little(-1))),
              "query 0 has the id -1 at offset 128; there are 1000 vectors");
    EXPECT_EQ(truth_said("t.npy", npy_of("<f4", "(1, 1)", little(1))),
              "numbers of type float32; ids are integers");
    EXPECT_EQ(truth_said("t.ibin", little(2) + little(2) + little(1)),
              "says 2 queries of 2 ids from offset 8: 4 numbers, or twice as many with distances, but 4 "
              "bytes follow");
    EXPECT_THAT(truth_said("t.ibin", little(-1) + little(-1)),
                HasSubstr("says 4294967295 queries of 4294967295 ids"));
    EXPECT_EQ(truth_said("t.ibin", little(-1) + little(0)), "the file holds no ids");
    EXPECT_EQ(truth_said("t.ibin", "1234"), "the file ends within the header at offset 4");
    EXPECT_EQ(truth_said("t.txt", "1 2\n3\n"), ":2: 1 ids; the lines before have 2");
    EXPECT_EQ(truth_said("t.txt", "# ids\n\n1 x2\n"), ":3: 'x2' is not the number of a vector");
    EXPECT_EQ(truth_said("t.txt", "1 2.5\n"), ":1: '2.5' is not the number of a vector");
    EXPECT_EQ(truth_said("t.txt", "1 -2\n"), ":1: '-2' is not the number of a vector");
    EXPECT_EQ(truth_said("t.txt", "1000"), ":1: the id 1000; there are 1000 vectors");
    EXPECT_EQ(truth_said("t.txt", "99999999999999999999"),
              ":1: the id 99999999999999999999; there are 1000 vectors");
    EXPECT_EQ(truth_said("t.txt", ""), "the file holds no ids");
    EXPECT_THROW(read_truth(at("absent"), 1, context::cpu(1)), usage_error);
}

TEST_F(vector_ids, allowed_ids) {
    const std::vector<std::uint64_t> wanted = {std::uint64_t{1} << 3 | std::uint64_t{1} << 63, 1, 2};
    EXPECT_EQ(allowed_of("a.txt", "3\n63\r\n64\n\n# more\n129\n3\n", 130), wanted);
    EXPECT_EQ(allowed_of("a.npy", npy_of("<i8", "(4,)", little_all<std::int64_t>({3, 63, 64, 129})), 130),
              wanted);
    EXPECT_EQ(allowed_of("a.npy", npy_of("<u2", "(2, 2)", little_all<std::uint16_t>({3, 63, 64, 129})), 130),
              wanted);
    std::string truths(130, '\0');
    for (const int id : {3, 63, 64, 129}) truths[id] = 1;
    EXPECT_EQ(allowed_of("a.npy", npy_of("|b1", "(130,)", truths), 130), wanted);
    EXPECT_THAT(allowed_of("a.txt", "", 64), ElementsAre(0));
    EXPECT_THAT(allowed_of("a.txt", "", 0), IsEmpty());
    EXPECT_EQ(allowed_said("a.txt", "3\n130\n", 130), ":2: the id 130; there are 130 vectors");
    EXPECT_EQ(allowed_said("a.txt", "3 4\n", 130), ":1: more than one number");
    EXPECT_EQ(allowed_said("a.npy", npy_of("|b1", "(130,)", truths), 131),
              "130 booleans; there are 131 vectors");
    EXPECT_EQ(allowed_said("a.npy", npy_of("|i1", "(1,)", "\xff"), 300),
              "place 0 has the id -1 at offset 128; there are 300 vectors");
    EXPECT_EQ(allowed_said("a.npy", npy_of("<f4", "(1,)", little(1)), 2),
              "numbers of type float32; ids are integers");
}

TEST_F(vector_ids, what_is_written_reads_as_it_was) {
    const std::vector<std::vector<float>> distances = {{0.5f, 1.5f, -0.0f}, {2, 3, 4}};
    const ids rows = {{7, 8, 9}, {0, 1, 999}};
    {
        bin_writer first(at("x.ibin"), 2, 3), second(at("x.fbin"), 2, 3);
        for (const auto& row : rows) first.row(row);
        for (const auto& row : distances) second.row(row);
        EXPECT_THAT(names(), ::testing::Not(::testing::Contains("x.ibin")));
        bin_writer moved(std::move(first));
        moved.commit();
        second.commit();
    }
    EXPECT_EQ(content(at("x.ibin")), bin_of(rows, 3));
    EXPECT_EQ(content(at("x.fbin")), bin_of(distances, 3));
    EXPECT_EQ(read_truth(at("x.ibin"), 1000, context::cpu(1)).ids,
              (std::vector<std::uint32_t>{7, 8, 9, 0, 1, 999}));
    EXPECT_EQ(rows_of<float>(open_vectors(at("x.fbin"), {}, context::cpu(1))), distances);

    EXPECT_THROW(bin_writer(at("x.ibin"), 1, 1), usage_error);
    bin_writer over(at("x.ibin"), 1, 1, true);
    EXPECT_THROW(over.row(rows[0]), usage_error);
    EXPECT_THROW(over.commit(), usage_error);
    over.row(std::vector<std::uint32_t>{5});
    EXPECT_THROW(over.row(std::vector<std::uint32_t>{5}), usage_error);
    over.commit();
    EXPECT_EQ(content(at("x.ibin")), bin_of(ids{{5}}, 1));
    EXPECT_THROW(bin_writer(at("y.ibin"), std::uint64_t{1} << 32, 1), usage_error);
    { const bin_writer dropped(at("z.ibin"), 0, 1); }
    EXPECT_THAT(names(), ::testing::UnorderedElementsAre("x.ibin", "x.fbin"));
}

}  // namespace
}  // namespace quern::io::ids_and_output_test
