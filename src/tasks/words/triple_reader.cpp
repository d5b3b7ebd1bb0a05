// SPDX-License-Identifier: Apache-2.0
#include "tasks/words/triple_reader.hpp"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "io/byte_source.hpp"
#include "io/corpus/encoding.hpp"
#include "quern/base/error.hpp"

namespace quern {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20, longest_line = std::size_t{1} << 20;
constexpr std::size_t triples_at_once = std::size_t{1} << 16;

/// A line's fields, or why it is no triple.
struct parsed_line {
    std::string_view word, relation, other;
    std::uint64_t count = 1;
    const char* fault = nullptr;
};

parsed_line parse(std::string_view line) {
    parsed_line out;
    const auto fault = [&](const char* why) {
        out.fault = why;
        return out;
    };
    if (!io::is_utf8(line)) return fault("is not UTF-8");
    const auto field = [&line]() -> std::optional<std::string_view> {
        if (line.data() == nullptr) return std::nullopt;
        const std::size_t tab = line.find('\t');
        const std::string_view one = line.substr(0, tab);
        line = tab == std::string_view::npos ? std::string_view() : line.substr(tab + 1);
        return one;
    };
    const auto word = field(), relation = field(), other = field(), count = field();
    if (!other) return fault("has fewer than three fields: word, relation, other word");
    if (line.data() != nullptr) return fault("has more than four fields: word, relation, other word, count");
    out.word = *word;
    out.relation = *relation;
    out.other = *other;
    if (out.word.empty() || out.relation.empty() || out.other.empty()) return fault("has an empty field");
    if (!count) return out;
    const char* const last = count->data() + count->size();
    const auto [end, failure] = std::from_chars(count->data(), last, out.count);
    // Sums of counts are to stay far from where integers end.
    constexpr std::uint64_t most = std::uint64_t{1} << 53;
    if (failure != std::errc{} || end != last || out.count == 0 || out.count > most) {
        return fault("has a count that is no whole number from 1 to 2^53");
    }
    return out;
}

class line_reader {
  public:
    line_reader(const words_options& options, read_triples_result& into, const context& run)
        : options_(options), into_(into), run_(run) {}

    void read(const std::filesystem::path& input) {
        const auto source = io::open_bytes(input, run_);
        const std::uint64_t before = into_.input_bytes;
        std::string held, piece(piece_bytes, '\0');
        std::uint64_t number = 0;
        bool skipping = false;  // the rest of a line that is too long
        for (;;) {
            run_.check_stop();
            const std::size_t got = source->read(piece);
            into_.input_bytes = before + source->consumed();
            run_.report({"read", source->consumed(), source->size(), "bytes"});
            if (got == 0) break;
            for (std::string_view rest(piece.data(), got); !rest.empty();) {
                const std::size_t end = rest.find('\n');
                if (!skipping) held += rest.substr(0, end);
                if (held.size() > longest_line) {
                    if (!skipping) reject(source->name(), number + 1, "is longer than 1 MiB");
                    skipping = true;
                    held.clear();
                }
                if (end == std::string_view::npos) break;
                ++number;
                if (!skipping) take(held, source->name(), number);
                skipping = false;
                held.clear();
                rest.remove_prefix(end + 1);
            }
        }
        if (!held.empty()) take(held, source->name(), number + 1);
    }

    void finish() {
        into_.triples.append(std::move(pending_));
        into_.record.refuse_too_many(options_.max_errors, options_.inputs);
    }

  private:
    void take(std::string_view line, const std::string& path, std::uint64_t number) {
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) return;
        const parsed_line triple = parse(line);
        if (triple.fault != nullptr) return reject(path, number, triple.fault);
        ++into_.record.counts.documents;
        into_.occurrences += triple.count;
        pending_.push_back({into_.distinct.add(triple.word, triple.count),
                            into_.relations.add(triple.relation, triple.count),
                            into_.distinct.add(triple.other, triple.count), triple.count});
        if (pending_.size() < triples_at_once) return;
        into_.triples.append(std::move(pending_));
        pending_.clear();
        const std::uint64_t tables = into_.distinct.memory_bytes() + into_.relations.memory_bytes();
        if (tables > run_.memory_limit() / 4) {
            throw out_of_memory("the distinct words", 2 * tables, run_.memory_limit() / 4);
        }
    }

    void reject(const std::string& path, std::uint64_t number, std::string_view fault) {
        document d;
        d.path = path;
        d.line = number;
        ++into_.record.counts.documents;  // reject() takes it back
        into_.record.reject(d, "the line " + std::string(fault));
        if (!options_.max_errors.is_share) {
            into_.record.refuse_too_many(options_.max_errors, options_.inputs);
        }
    }

    const words_options& options_;
    read_triples_result& into_;
    const context& run_;
    std::vector<word_triple> pending_;
};

}  // namespace

void read_triples(const words_options& options, read_triples_result& into, const context& run) {
    line_reader reader(options, into, run);
    for (const std::filesystem::path& input : options.inputs) reader.read(input);
    reader.finish();
}

}  // namespace quern
