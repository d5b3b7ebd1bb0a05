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

triple_line parse_triple(std::string_view line) {
    triple_line out;
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
    if (!other) return fault("has fewer than three fields (expected word, relation, other word)");
    if (line.data() != nullptr)
        return fault("has more than four fields (expected word, relation, other word, count)");
    out.word = *word;
    out.relation = *relation;
    out.other = *other;
    if (out.word.empty() || out.relation.empty() || out.other.empty()) return fault("has an empty field");
    if (!count) return out;
    const char* const last = count->data() + count->size();
    const auto [end, failure] = std::from_chars(count->data(), last, out.count);
    // Keeps sums of counts far below the maximum integer.
    constexpr std::uint64_t max = std::uint64_t{1} << 53;
    if (failure != std::errc{} || end != last || out.count == 0 || out.count > max) {
        return fault("has an invalid count (expected an integer from 1 to 2^53)");
    }
    return out;
}

namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20, longest_line = std::size_t{1} << 20;
constexpr std::size_t triples_at_once = std::size_t{1} << 16;

class line_reader {
  public:
    line_reader(const words_options& options, read_triples_result& into, const context& ctx)
        : options_(options), into_(into), ctx_(ctx) {}

    void read(const std::filesystem::path& input) {
        const auto source = io::open_bytes(input, ctx_);
        const std::uint64_t before = into_.input_bytes;
        std::string held, piece(piece_bytes, '\0');
        std::uint64_t number = 0;
        bool skipping = false;  // the rest of a line that is too long
        for (;;) {
            ctx_.check_stop();
            const std::size_t got = source->read(piece);
            into_.input_bytes = before + source->consumed();
            ctx_.report({"read", source->consumed(), source->size(), "bytes"});
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
        into_.record.refuse_too_many(options_);
    }

  private:
    void take(std::string_view line, const std::string& path, std::uint64_t number) {
        constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
        if (number == 1 && line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) return;
        const triple_line triple = parse_triple(line);
        if (triple.fault != nullptr) return reject(path, number, triple.fault);
        // A word counts on both sides of a triple: twice this sum must still fit 64 bits.
        constexpr std::uint64_t max = (std::uint64_t{1} << 63) - 1;
        if (triple.count > max - into_.occurrences) {
            throw invalid_input(path, number, "the counts of all triples add up to 2^63 or more");
        }
        ++into_.record.counts.documents;
        into_.occurrences += triple.count;
        pending_.push_back({into_.distinct.add(triple.word, triple.count),
                            into_.relations.add(triple.relation, triple.count),
                            into_.distinct.add(triple.other, triple.count), triple.count});
        if (pending_.size() < triples_at_once) return;
        into_.triples.append(std::move(pending_));
        pending_.clear();
        const std::uint64_t tables = into_.distinct.memory_bytes() + into_.relations.memory_bytes();
        if (tables > ctx_.memory_limit() / 4) {
            throw out_of_memory("the distinct words", 2 * tables, ctx_.memory_limit() / 4);
        }
    }

    void reject(const std::string& path, std::uint64_t number, std::string_view fault) {
        document d;
        d.path = path;
        d.line = number;
        ++into_.record.counts.documents;  // reject() undoes this
        into_.record.reject(d, "the line " + std::string(fault));
        into_.record.refuse_early(options_);
    }

    const words_options& options_;
    read_triples_result& into_;
    const context& ctx_;
    std::vector<word_triple> pending_;
};

}  // namespace

void read_triples(const words_options& options, read_triples_result& into, const context& ctx) {
    line_reader reader(options, into, ctx);
    for (const std::filesystem::path& input : options.inputs) reader.read(input);
    reader.finish();
}

}  // namespace quern
