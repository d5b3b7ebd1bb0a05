// SPDX-License-Identifier: Apache-2.0
// A run's words are its ids, rising, as gaps: about 1.3 bytes for each distinct word of a run. They arrive range by
// range and are needed run by run, which makes this a transposition. It goes through scratch in pieces of one range and
// one group of neighbouring runs: few enough to be listed in memory, long enough to be read from disk.
#include "tasks/store_build/token_store.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/release.hpp"
#include "base/varint.hpp"
#include "device/cpu/pipeline.hpp"
#include "quern/base/error.hpp"
#include "tasks/store/listed_section.hpp"

namespace quern {

scratch_pieces::scratch_pieces(std::filesystem::path scratch_file, std::uint64_t memory_bytes)
    : path_(std::move(scratch_file)), budget_(memory_bytes) {}

void scratch_pieces::append(std::string bytes) {
    piece& last = pieces_.emplace_back();
    last.size = bytes.size();
    last.bytes = std::move(bytes);
    held_ += last.bytes.capacity();
    if (held_ <= budget_) return;
    for (; in_memory_ < pieces_.size(); ++in_memory_) spill(pieces_[in_memory_]);
    held_ = 0;
    budget_ = 0;  // from now on pieces go there directly
}

void scratch_pieces::spill(piece& p) {
    if (p.bytes.empty()) return;
    if (!file_) file_ = std::make_unique<spill_file>(path_);
    p.begin = file_->append(p.bytes);
    spilled_ += p.size;
    release(p.bytes);
}

void scratch_pieces::flush() {
    if (file_) file_->flush();
}

std::string scratch_pieces::take(std::size_t i) {
    piece& p = pieces_[i];
    if (p.bytes.size() == p.size) return std::exchange(p.bytes, {});
    std::string bytes(p.size, '\0');
    file_->read_at(p.begin, bytes);
    return bytes;
}

namespace {

constexpr std::size_t max_groups = 64;

std::vector<std::uint32_t> words_from_gaps(std::string_view gaps) {
    std::vector<std::uint32_t> words;
    words.reserve(gaps.size());
    std::uint32_t next = 0;
    for (const char* p = gaps.data(); p != gaps.data() + gaps.size();) {
        next += static_cast<std::uint32_t>(read_varint(p));
        words.push_back(next++);
    }
    return words;
}

}  // namespace

token_store::token_store(const scratch_folder& scratch, std::uint64_t memory_bytes)
    : recorded_(scratch.file("tokens"), memory_bytes - memory_bytes / 4),
      words_(scratch.file("words_of_runs"), memory_bytes / 4) {}

void token_store::append(search_detail::sorted_run& run) {
    if (run.documents == 0) return;
    recorded_.append(std::exchange(run.tokens, {}));
    documents_.push_back(run.documents);
}

std::size_t token_store::groups() const {
    return std::min(max_groups, documents_.size());
}

std::size_t token_store::first_run(std::size_t group) const {
    return documents_.size() * group / groups();
}

void token_store::take_words(const search_detail::merged_range& range) {
    next_.resize(documents_.size());
    for (std::size_t group = 0; group < groups(); ++group) {
        std::string piece;
        for (std::size_t i = first_run(group); i < first_run(group + 1); ++i) {
            const search_detail::words_of_run& run = range.runs[i];
            std::string gaps;
            if (run.next != 0) {
                append_varint(gaps, vocabulary_ + run.first - next_[i]);
                next_[i] = vocabulary_ + run.next;
            }
            append_varint(piece, gaps.size() + run.gaps.size());
            piece += gaps;
            piece += run.gaps;
        }
        words_.append(std::move(piece));
    }
    for (const std::uint64_t frequency : range.collection_frequencies) frequent_.add(frequency);
    vocabulary_ += static_cast<std::uint32_t>(range.word_ends.size());
    ++ranges_;
}

void token_store::load_group(std::size_t group) {
    const std::size_t runs = first_run(group + 1) - first_run(group);
    words_of_runs_.assign(runs, {});
    for (std::size_t range = 0; range < ranges_; ++range) {
        const std::string piece = words_.take(range * groups() + group);
        const char* p = piece.data();
        for (std::string& gaps : words_of_runs_) {
            const std::size_t size = read_varint(p);
            gaps.append(p, size);
            p += size;
        }
    }
}

std::vector<store_section> token_store::write(const std::filesystem::path& store,
                                              std::span<const std::uint32_t> document_lengths,
                                              const context& ctx) {
    recorded_.flush();
    words_.flush();
    const std::vector<std::uint32_t> frequent = frequent_.finish();
    const search_detail::token_code code(frequent, vocabulary_);
    io::section_writer tokens(store_layout::file_of(store, store_layout::tokens));
    io::section_writer ends(store_layout::file_of(store, store_layout::token_ends));
    io::section_writer short_codes(store_layout::file_of(store, store_layout::token_words));
    short_codes.append_values(std::span(frequent));

    struct run_in_work {
        std::size_t number = 0;
        std::string gaps;
        std::span<const std::uint32_t> lengths;
        search_detail::coded_tokens coded;
    };
    std::size_t next = 0, group = 0;
    pipeline<run_in_work> line(ctx.thread_count() + 2);
    line.from([&](run_in_work& work) {
        ctx.check_stop();
        ctx.report({"tokens", next, documents_.size(), "runs"});
        if (next == documents_.size()) return false;
        if (next == first_run(group)) load_group(group++);
        work.gaps = std::move(words_of_runs_[next - first_run(group - 1)]);
        work.lengths = document_lengths.first(documents_[next]);
        document_lengths = document_lengths.subspan(documents_[next]);
        work.number = next++;
        return true;
    });
    line.in_parallel([&](run_in_work& work) {
        work.coded = search_detail::encode_tokens(recorded_.take(work.number), words_from_gaps(work.gaps),
                                                  code, work.lengths);
    });
    line.in_order([&](run_in_work& work) {
        for (std::uint64_t& end : work.coded.ends) end += tokens.size();
        tokens.append(work.coded.bytes);
        ends.append_values(std::span<const std::uint64_t>(work.coded.ends));
    });
    line.run();

    std::vector<store_section> sections;
    const auto close = [&sections](std::string_view name, io::section_writer& section) {
        sections.push_back(listed_section(name, section.finish()));
    };
    close(store_layout::tokens, tokens);
    close(store_layout::token_ends, ends);
    close(store_layout::token_words, short_codes);
    return sections;
}

}  // namespace quern
