// SPDX-License-Identifier: Apache-2.0
// PDF files through programs that behave as pdftotext does, or worse.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "io/corpus/documents/child_process.hpp"
#include "io/corpus/reading.hpp"
#include "quern/base/error.hpp"
#include "quern/base/pdf_program.hpp"

namespace quern::io::testing::pdf_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::string_view head = "printf '<html><head>\\n<title>%s</title>\\n</head>\\n<body>\\n<pre>\\n' ";
constexpr std::string_view tail = "; printf '</pre>\\n</body>\\n</html>\\n'";

/// The program used while it lives: a script, or none.
class used_script {
  public:
    explicit used_script(const std::string& commands) {
        const auto path = folder_.write("pdftotext", "#!/bin/sh\n" + commands + "\n");
        chmod(path.c_str(), 0755);
        use_pdf_program(path);
    }
    used_script(const used_script&) = delete;
    used_script& operator=(const used_script&) = delete;
    ~used_script() { use_pdf_program({}); }

  private:
    temporary_folder folder_;
};

parsed_unit read_pdf(const context& ctx = {}) {
    const temporary_folder folder;
    folder.write("-a b.pdf", "%PDF-1.4 the file");
    folder.write("z.txt", "another");
    return read_all(*open_corpus({folder.path()}, {}, ctx));
}

std::string why_skipped(const std::string& commands) {
    const used_script script(commands);
    const auto all = read_pdf();
    EXPECT_THAT(ids(all), ElementsAre("z.txt"));
    EXPECT_EQ(all.counts.rejected, 0U);
    return all.counts.skipped.empty() ? std::string() : all.counts.skipped.begin()->first;
}

TEST(pdf, is_what_the_program_writes) {
    const used_script script(std::string(head) +
                             "'Of &lt;mills&gt;'; cat \"$6\"; printf '\\n\\ntwo  words\\n\\f\\n\\nlast & "
                             "<pre>\\n\\f'" +
                             std::string(tail) + "; echo 'Syntax Error: odd' >&2");
    const auto all = read_pdf();
    ASSERT_THAT(ids(all), ElementsAre("-a b.pdf", "z.txt"));
    EXPECT_EQ(all.documents[0].title, "Of <mills>");
    EXPECT_EQ(all.documents[0].text, "%PDF-1.4 the file\n\ntwo  words\n\nlast & <pre>");
    EXPECT_THAT(issues(all), ElementsAre("mended 0: pdftotext says: Syntax Error: odd"));
}

TEST(pdf, without_the_program_files_are_counted_with_the_advice) {
    use_pdf_program({});
    const auto all = read_pdf();
    EXPECT_THAT(ids(all), ElementsAre("z.txt"));
    EXPECT_THAT(all.counts.skipped, ElementsAre(Pair("file: .pdf (install poppler-utils to read them)", 1)));
    EXPECT_THAT(issues(all), IsEmpty());
    const temporary_folder folder;
    const auto named = read_all({folder.write("a.pdf", "%PDF-1.4\n")});
    EXPECT_THAT(issues(named), ElementsAre(HasSubstr("install poppler-utils")));
}

TEST(pdf, failures_of_the_program_are_named) {
    EXPECT_EQ(why_skipped("echo 'Command Line Error: Incorrect password' >&2; exit 1"),
              "file: .pdf (encrypted)");
    EXPECT_EQ(why_skipped("echo 'Syntax Error: no trailer' >&2; exit 1"), "file: .pdf (damaged)");
    EXPECT_EQ(why_skipped("kill -SEGV $$"), "file: .pdf (damaged)");
    EXPECT_EQ(why_skipped("exit 0"), "file: .pdf (damaged)");
    EXPECT_EQ(why_skipped(std::string(head) + "x; printf ' \\n\\f'" + std::string(tail)),
              "file: .pdf (without text)");
    EXPECT_EQ(why_skipped("echo x > /tmp/quern-must-not-exist; echo y >> /tmp/quern-must-not-exist; exit 1"),
              "file: .pdf (damaged)");
    std::error_code none;
    const auto size = std::filesystem::file_size("/tmp/quern-must-not-exist", none);
    EXPECT_TRUE(none || size == 0);
    std::filesystem::remove("/tmp/quern-must-not-exist", none);
    const used_script script("echo 'Syntax Error: no trailer' >&2; exit 1");
    const temporary_folder folder;
    const auto named = read_all({folder.write("a.pdf", "%PDF-1.4\n")});
    EXPECT_THAT(issues(named), ElementsAre("0: damaged: pdftotext says: Syntax Error: no trailer"));
}

TEST(pdf, output_beyond_a_document_s_measure_ends_the_program) {
    const used_script script(std::string(head) + "x; exec yes");
    const temporary_folder folder;
    folder.write("a.pdf", "%PDF-1.4");
    corpus_options options;
    options.max_document_bytes = 1 << 20;
    EXPECT_THAT(read_all({folder.path()}, options).counts.skipped,
                ElementsAre(Pair("file: .pdf (too large)", 1)));
    options.document_memory = 2 << 20;
    const auto all = read_all({folder.path()}, options);
    EXPECT_THAT(issues(all), ElementsAre(HasSubstr("the text of the document needs")));
}

TEST(pdf, the_program_is_stopped_with_the_run_and_after_its_time) {
    using clock = std::chrono::steady_clock;
    const auto begin = clock::now();
    const used_script script("exec sleep 100");
    std::atomic<int> signal = 0;
    context ctx;
    ctx.stop_signal = &signal;
    std::jthread stopper([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        signal = 2;
    });
    EXPECT_THROW(read_pdf(ctx), interrupted);
    const temporary_folder folder;
    const descriptor input = open_file(folder.write("x", ""), 0);
    child_limits limits;
    limits.time = std::chrono::seconds(1);
    const auto slow = run_program("/bin/sleep", {"100"}, input, limits, {}, [](std::uint64_t) {});
    EXPECT_TRUE(slow.timed_out);
    limits.time = std::chrono::seconds(60);
    limits.processor_time = std::chrono::seconds(1);
    const auto busy =
        run_program("/bin/sh", {"-c", "while :; do :; done"}, input, limits, {}, [](std::uint64_t) {});
    EXPECT_NE(busy.signal, 0);
    EXPECT_LT(clock::now() - begin, std::chrono::seconds(60));
}

TEST(pdf, the_limits_hold_from_the_first_instruction) {
    const temporary_folder folder;
    const descriptor input = open_file(folder.write("x", ""), 0);
    for (int i = 0; i < 50; ++i) {
        const auto found = run_program("/bin/sh", {"-c", "ulimit -f; ulimit -c; ulimit -t; ulimit -v"}, input,
                                       {}, {}, [](std::uint64_t) {});
        EXPECT_EQ(found.output, "0\n0\n60\n2097152\n");
    }
    EXPECT_THROW(run_program("/nonexistent/program", {}, input, {}, {}, [](std::uint64_t) {}), io_error);
    EXPECT_THROW(run_program("/", {}, input, {}, {}, [](std::uint64_t) {}), io_error);
}

TEST(pdf, many_threads_run_the_program_at_once) {
    const used_script script(std::string(head) + "x; cat" + std::string(tail));
    std::vector<std::jthread> threads;
    std::atomic<int> good = 0;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&good, i] {
            const temporary_folder folder;
            const std::string text = "%PDF-1.4 file " + std::to_string(i);
            for (int j = 0; j < 5; ++j) folder.write(std::to_string(j) + ".pdf", text);
            const auto all = read_all({folder.path()});
            for (const auto& d : all.documents) good += d.text == text;
        });
    }
    threads.clear();
    EXPECT_EQ(good, 40);
}

TEST(pdf, the_program_is_found_in_absolute_folders_only) {
    EXPECT_EQ(find_program("sh", "/nonexistent:/bin"), "/bin/sh");
    EXPECT_EQ(find_program("sh", ".:bin::"), "");
    EXPECT_EQ(find_program("no-such-program", "/bin:/usr/bin"), "");
}

}  // namespace
}  // namespace quern::io::testing::pdf_test
