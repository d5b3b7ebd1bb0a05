// SPDX-License-Identifier: Apache-2.0
#include "tasks/corpus/described_corpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>

#include "io/corpus/folder_walk.hpp"
#include "io/files/settled_time.hpp"
#include "quern/base/pdf_program.hpp"
#include "quern/tasks/store.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/store/stop_words_file.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

struct seen_file {
    const fs::path& path;
    io::file_state state;
    bool is_present = true;
};

seen_file seen(const fs::path& path) {
    const std::optional<io::file_state> state = io::state_of(path);
    return {path, state.value_or(io::file_state()), state.has_value()};
}

/// The time of change shows also a file with the size and the time of the one that it replaced.
void describe(const seen_file& file, std::string& out) {
    fmt::format_to(std::back_inserter(out), "{}\t{}\t{}\t{}\n", file.path.native(), file.state.bytes,
                   file.state.modified, file.state.changed);
}

/// Whether a later change gives it another time than this one.
bool is_settled(std::int64_t time, std::chrono::system_clock::time_point begin) {
    using namespace std::chrono;
    return io::is_settled_before(sys_time<nanoseconds>(nanoseconds(time)), sys_time<nanoseconds>(begin));
}

/// Calls on_file for every file of the inputs, in order, and on_folder_end() after each folder.
void each_file(const build_options& corpus, const std::function<void(const seen_file&)>& on_file,
               const std::function<void()>& on_folder_end) {
    for (const fs::path& input : corpus.inputs) {
        std::error_code unseen;
        if (!fs::is_directory(input, unseen)) {
            on_file(seen(input));
            continue;
        }
        io::folder_walk walk(input, corpus.follow_links);
        io::parsed_unit notes;
        while (const auto file = walk.next(notes)) {
            on_file({file->path, file->state});
            notes = {};
        }
        on_folder_end();
    }
}

}  // namespace

void describe_file(const fs::path& path, std::string& out) {
    describe(seen(path), out);
}

bool lies_still(const fs::path& input) {
    std::error_code failed;
    const fs::file_status status = fs::status(input, failed);
    return input != "-" && (fs::is_directory(status) || fs::is_regular_file(status));
}

std::string describe_request(const build_options& corpus) {
    const text_options text = as_recorded(corpus.text);
    std::string out =
        fmt::format("input {} ids {} text {} {} {} {} {} errors {} {} {} {}\n", corpus.input_format,
                    static_cast<int>(corpus.ids), text.language, static_cast<int>(text.tokens),
                    text.min_length, text.stop_words, static_cast<int>(text.stem), corpus.max_errors.is_share,
                    corpus.max_errors.share, corpus.max_errors.count, corpus.max_errors.forgives_incomplete);
    if (corpus.follow_links) out += "follow links\n";
    if (const pdf_program pdf = used_pdf_program(); !pdf.path.empty())
        out += "pdf " + pdf.path.string() + '\n';
    for (const auto& [option, name] : named_fields(corpus.fields))
        out += fmt::format("{} {}\n", option, name);
    if (corpus.fields.keeps_all()) out += "keep all fields\n";
    for (const fs::path& input : corpus.inputs) {
        std::error_code failed;
        const fs::path place = fs::canonical(input, failed);
        out += place.string() + '\n';
    }
    return out;
}

described_content describe_content(const build_options& corpus) {
    const auto begin = std::chrono::system_clock::now();
    described_content made;
    made.text = fmt::format("format {} unicode {}\n", store_format_version, text::unicode_version());
    const auto note = [&](const seen_file& file) {
        describe(file, made.text);
        if (!file.is_present || !is_settled(file.state.changed, begin)) made.shows_changes = false;
        if (!is_settled(file.state.modified, begin)) made.is_settled = false;
    };
    each_file(corpus, note, [&] { made.text += '\n'; });
    made.is_settled = made.is_settled && made.shows_changes;
    return made;
}

}  // namespace quern
