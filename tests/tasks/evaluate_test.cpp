// SPDX-License-Identifier: Apache-2.0
// Real runs and judgements, read from their files: the values of trec_eval (pytrec_eval 0.5.11 contains it), to its
// four decimals. The run rutcor03100 is almost all ties; two of the runs have tabs, blanks in the tag, and invalid
// ranks.
#include "quern/tasks/evaluate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "quern/base/error.hpp"

namespace quern::evaluate_test {
namespace {

struct measured_run {
    const char *judgements, *run;
    std::size_t topics;
    std::array<const char*, 5> printed;  // map, ndcg_cut_10, P_10, recall_1000, recip_rank
};

constexpr measured_run runs[] = {
    {"robust03/robust03_qrels.txt",
     "robust03/input.MU03rob01.gz",
     100,
     {"0.1929", "0.3657", "0.3580", "0.6354", "0.6549"}},
    {"robust03/robust03_qrels.txt",
     "robust03/input.NLPR03vb10.gz",
     100,
     {"0.1055", "0.3944", "0.3970", "0.1398", "0.6552"}},
    {"robust03/robust03_qrels.txt",
     "robust03/input.Sel50.gz",
     100,
     {"0.2190", "0.3779", "0.3640", "0.6606", "0.6513"}},
    {"robust03/robust03_qrels.txt",
     "robust03/input.THUIRr0301.gz",
     100,
     {"0.2597", "0.4574", "0.4460", "0.7490", "0.7794"}},
    {"robust03/robust03_qrels.txt",
     "robust03/input.UAmsT03RDesc.gz",
     100,
     {"0.2065", "0.3613", "0.3530", "0.6296", "0.6197"}},
    {"robust03/robust03_qrels.txt",
     "robust03/input.UIUC03Rd1.gz",
     100,
     {"0.2424", "0.3815", "0.3800", "0.7066", "0.6386"}},
    {"robust03/robust03_qrels.txt",
     "robust03/input.VTcdhgp1.gz",
     100,
     {"0.2649", "0.4325", "0.4320", "0.7692", "0.6732"}},
    {"robust03/robust03_qrels.txt",
     "robust03/input.aplrob03a.gz",
     100,
     {"0.2998", "0.4409", "0.4510", "0.8226", "0.6859"}},
    {"robust03/robust03_qrels.txt",
     "robust03/input.fub03IeOLKe3.gz",
     100,
     {"0.2503", "0.4027", "0.4070", "0.7342", "0.6241"}},
    {"robust03/robust03_qrels.txt",
     "robust03/input.humR03dc.gz",
     100,
     {"0.1248", "0.2529", "0.2200", "0.4077", "0.6025"}},
    {"robust03/robust03_qrels.txt",
     "robust03/input.pircRBa1.gz",
     100,
     {"0.3101", "0.4572", "0.4540", "0.8234", "0.7029"}},
    {"robust03/robust03_qrels.txt",
     "robust03/input.rutcor03100.gz",
     100,
     {"0.0737", "0.1531", "0.1580", "0.4119", "0.3379"}},
    {"robust03/robust03_qrels.txt",
     "robust03/input.uic0301.gz",
     100,
     {"0.2404", "0.3914", "0.3900", "0.7548", "0.6466"}},
    {"trec_eval/qrels.test", "trec_eval/results.test", 3, {"0.1785", "0.3016", "0.3000", "0.5997", "0.4064"}},
    {"trec_eval/qrels.test",
     "trec_eval/results.trunc",
     2,
     {"0.1523", "0.2576", "0.3000", "0.3749", "0.2500"}},
    {"anserini_cacm/qrels.cacm.txt",
     "anserini_cacm/cacm-bm25.txt",
     52,
     {"0.2744", "0.4543", "0.3154", "0.5052", "0.7048"}},
};

std::string four_decimals(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4f", value);
    return text;
}

std::filesystem::path real_runs() {
    const char* data = std::getenv("QUERN_DATA");
    return std::filesystem::path(data == nullptr ? "" : data) / "runs";
}

TEST(evaluate_files_test, gives_what_trec_eval_prints) {
    const std::filesystem::path folder = real_runs();
    if (!std::filesystem::exists(folder / runs[0].run))
        GTEST_SKIP() << "set QUERN_DATA to a folder of real data";
    for (const measured_run& expected : runs) {
        SCOPED_TRACE(expected.run);
        const evaluation found = evaluate_files(folder / expected.judgements, folder / expected.run, {});
        EXPECT_EQ(found.topics.size(), expected.topics);
        const effectiveness& mean = found.mean;
        const double values[] = {mean.map, mean.ndcg_cut_10, mean.P_10, mean.recall_1000, mean.recip_rank};
        for (std::size_t m = 0; m < expected.printed.size(); ++m) {
            EXPECT_EQ(four_decimals(values[m]), expected.printed[m]) << m;
        }
    }
}

TEST(evaluate_files_test, refuses_judgements_of_several_groups_as_trec_eval_does) {
    const std::filesystem::path folder = real_runs() / "trec_eval";
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "set QUERN_DATA to a folder of real data";
    try {
        evaluate_files(folder / "qrels.123", folder / "results.test", {});
        FAIL() << "accepted";
    } catch (const invalid_input& refused) {
        EXPECT_EQ(refused.line(), 3682U);
        EXPECT_THAT(refused.what(), ::testing::HasSubstr("in topic \"301\""));
    }
}

}  // namespace
}  // namespace quern::evaluate_test
