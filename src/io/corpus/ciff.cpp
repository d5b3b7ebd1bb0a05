// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/ciff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/listed_words.hpp"
#include "base/varint.hpp"
#include "device/files/scratch_folder.hpp"
#include "device/files/spill_file.hpp"
#include "device/memory_budget.hpp"
#include "io/corpus/record_reader.hpp"
#include "io/retrieval/ciff_reader.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

constexpr std::size_t piece_bytes = 16 << 10;
constexpr std::uint64_t max_ranges = 4096;

/// Strings one after the other.
class string_table {
  public:
    explicit string_table(std::string_view name) : name_(name) {}

    void add(std::string_view text, memory_budget& memory) {
        const std::uint64_t before = bytes();
        letters_ += text;
        ends_.push_back(letters_.size());
        if (const std::uint64_t after = bytes(); after != before) memory.take(after - before, name_);
    }
    std::size_t size() const { return ends_.size(); }
    std::string_view operator[](std::size_t i) const {
        const std::uint64_t begin = i == 0 ? 0 : ends_[i - 1];
        return std::string_view(letters_).substr(begin, ends_[i] - begin);
    }

  private:
    std::uint64_t bytes() const { return letters_.capacity() + ends_.capacity() * sizeof(std::uint64_t); }

    std::string_view name_;
    std::string letters_;
    std::vector<std::uint64_t> ends_;
};

/// The postings of a range of documents, as varints: the word less the previous one; the document less the previous one of
/// the same word, or the first of the range; the frequency.
struct document_range {
    struct piece {
        std::uint64_t begin = 0;
        std::size_t size = 0;
    };
    std::string open;
    std::vector<piece> written;
    std::uint32_t word = 0, document = 0;
};

/// The index, its postings by ranges of documents.
class turned_index {
  public:
    turned_index(byte_source& source, const context& ctx)
        : ctx_(ctx), memory_(ctx.memory_limit() / 4), file_(source) {
        const ciff_reader::header_fields header = file_.header();
        documents_ = header.documents;
        const std::uint64_t ranges =
            std::clamp<std::uint64_t>(ctx.memory_limit() / 16 / piece_bytes, 1, max_ranges);
        range_size_ = static_cast<std::uint32_t>((documents_ + ranges - 1) / ranges);
        if (range_size_ != 0) ranges_.resize((documents_ + range_size_ - 1) / range_size_);
        for (std::size_t r = 0; r < ranges_.size(); ++r) ranges_[r].document = first(r);
        read_lists(header.lists);
        read_records();
        file_.finish();
        refuse_repeated_words();
        if (spilled_) spilled_->flush();
    }

    std::size_t ranges() const { return ranges_.size(); }
    std::uint32_t first(std::size_t range) const { return static_cast<std::uint32_t>(range * range_size_); }
    std::uint32_t last(std::size_t range) const { return std::min(first(range) + range_size_, documents_); }
    std::string_view word(std::uint32_t number) const { return words_[number]; }
    std::string_view id(std::uint32_t document) const { return ids_[document]; }
    std::uint32_t length(std::uint32_t document) const { return lengths_[document]; }

    /// Once for each range.
    std::string take_postings(std::size_t range) {
        document_range& of = ranges_[range];
        std::uint64_t size = of.open.size();
        for (const auto& piece : of.written) size += piece.size;
        std::string bytes;
        bytes.reserve(size);
        for (const auto& piece : of.written) {
            const std::size_t at = bytes.size();
            bytes.resize(at + piece.size);
            spilled_->read_at(piece.begin, std::span(bytes).subspan(at));
        }
        bytes += of.open;
        of = {};
        return bytes;
    }

  private:
    void read_lists(std::uint32_t lists) {
        for (std::uint32_t word = 0; word < lists; ++word) {
            if (word % 256 == 0) ctx_.check_stop();
            const auto list = file_.list(
                [&](std::uint32_t document, std::uint32_t frequency) { add(document, word, frequency); });
            is_sorted_ = is_sorted_ && (word == 0 || words_[word - 1] < list.word);
            max_occurrences_ = std::max(max_occurrences_, list.occurrences);
            words_.add(list.word, memory_);
        }
    }

    void add(std::uint32_t document, std::uint32_t word, std::uint32_t frequency) {
        const std::size_t number = document / range_size_;
        document_range& range = ranges_[number];
        if (word != range.word) range.document = first(number);
        append_varint(range.open, word - range.word);
        append_varint(range.open, document - range.document);
        append_varint(range.open, frequency);
        range.word = word;
        range.document = document;
        if (range.open.size() < piece_bytes) return;
        if (!spilled_) {
            scratch_.emplace(ctx_);
            spilled_.emplace(scratch_->file("postings"));
        }
        range.written.push_back({spilled_->append(range.open), range.open.size()});
        range.open.clear();
    }

    void read_records() {
        std::uint64_t words = 0;
        for (std::uint32_t d = 0; d < documents_; ++d) {
            if (d % 4096 == 0) {
                ctx_.check_stop();
                memory_.take(4096 * sizeof(std::uint32_t), "the lengths of a CIFF file");
            }
            const auto record = file_.record();
            ids_.add(record.id, memory_);
            lengths_.push_back(record.length);
            words += record.length;
        }
        if (words < max_occurrences_)
            file_.refuse(
                fmt::format("the lengths of all documents add up to {} words, but one word occurs {} times",
                            words, max_occurrences_));
    }

    void refuse_repeated_words() {
        if (is_sorted_) return;
        memory_.take(words_.size() * sizeof(std::uint32_t), "the words of a CIFF file");
        std::vector<std::uint32_t> order(words_.size());
        for (std::uint32_t w = 0; w < order.size(); ++w) order[w] = w;
        std::ranges::sort(order, {}, [&](std::uint32_t w) { return words_[w]; });
        for (std::size_t i = 1; i < order.size(); ++i)
            if (words_[order[i]] == words_[order[i - 1]])
                file_.refuse(fmt::format("the word '{}' has two lists", words_[order[i]]));
        memory_.give_back(words_.size() * sizeof(std::uint32_t));
    }

    context ctx_;
    memory_budget memory_;
    ciff_reader file_;
    std::uint32_t documents_ = 0, range_size_ = 0;
    std::vector<document_range> ranges_;
    string_table words_{"the words of a CIFF file"}, ids_{"the ids of a CIFF file"};
    std::vector<std::uint32_t> lengths_;
    std::uint64_t max_occurrences_ = 0;
    bool is_sorted_ = true;
    std::optional<scratch_folder> scratch_;
    std::optional<spill_file> spilled_;
};

class ciff_unit final : public corpus_unit {
  public:
    ciff_unit(std::shared_ptr<const turned_index> index, std::string postings, std::uint32_t first,
              std::uint32_t last, input_name name, std::string path)
        : index_(std::move(index)),
          postings_(std::move(postings)),
          first_(first),
          last_(last),
          name_(name),
          path_(std::move(path)) {}

    bool parse_within(const reading_budget& budget, parsed_unit& out) override {
        const std::vector<std::uint64_t> bytes = bytes_of_texts();
        const auto too_large = [&](std::uint64_t size) { return size > budget.bytes / reading_factor; };
        if (!budget.is_last && std::ranges::any_of(bytes, too_large)) return false;
        std::vector<document> documents(last_ - first_);
        for (std::size_t i = 0; i < documents.size(); ++i) {
            documents[i].id = index_->id(first_ + static_cast<std::uint32_t>(i));
            documents[i].listed = word_listing::counts;
            if (!too_large(bytes[i])) documents[i].text.reserve(bytes[i]);
        }
        std::vector<std::uint64_t> counted(documents.size());
        each_posting([&](std::uint32_t document, std::uint32_t word, std::uint32_t frequency) {
            const std::size_t i = document - first_;
            counted[i] += frequency;
            if (!too_large(bytes[i])) append_listed(documents[i].text, index_->word(word), frequency);
        });
        for (std::size_t i = 0; i < documents.size(); ++i) {
            const auto number = first_ + static_cast<std::uint32_t>(i);
            if (too_large(bytes[i])) {
                reject(out, path_, 0,
                       fmt::format("document '{}' needs more memory than is available", documents[i].id));
                continue;
            }
            if (counted[i] != index_->length(number))
                append_listed(documents[i].text, "", index_->length(number));
            keep(out, std::move(documents[i]), path_, 0);
        }
        name_.give(out.documents);
        out.counts.documents += out.documents.size();
        return true;
    }
    std::uint64_t raw_bytes() const override { return postings_.size(); }

  private:
    template <typename Use>
    void each_posting(Use use) const {
        std::uint32_t word = 0, document = first_;
        for (const char *at = postings_.data(), *end = at + postings_.size(); at != end;) {
            if (const auto gap = static_cast<std::uint32_t>(read_varint(at)); gap != 0) {
                word += gap;
                document = first_;
            }
            document += static_cast<std::uint32_t>(read_varint(at));
            use(document, word, static_cast<std::uint32_t>(read_varint(at)));
        }
    }

    /// At most, with the length.
    std::vector<std::uint64_t> bytes_of_texts() const {
        constexpr std::uint64_t longest_number = 12;
        std::vector<std::uint64_t> bytes(last_ - first_, longest_number);
        each_posting([&](std::uint32_t document, std::uint32_t word, std::uint32_t frequency) {
            std::uint64_t digits = 3;
            for (; frequency >= 10; frequency /= 10) ++digits;
            bytes[document - first_] += index_->word(word).size() + digits;
        });
        return bytes;
    }

    std::shared_ptr<const turned_index> index_;
    std::string postings_;
    std::uint32_t first_, last_;
    input_name name_;
    std::string path_;
};

class ciff_corpus final : public corpus_reader {
  public:
    ciff_corpus(std::unique_ptr<byte_source> source, const corpus_options& options, const context& ctx)
        : source_(std::move(source)), name_(options.name), ctx_(ctx) {}

    std::unique_ptr<corpus_unit> next() override {
        if (!index_) index_ = std::make_shared<turned_index>(*source_, ctx_);
        if (range_ == index_->ranges()) return nullptr;
        const std::size_t range = range_++;
        return std::make_unique<ciff_unit>(index_, index_->take_postings(range), index_->first(range),
                                           index_->last(range), name_, source_->name());
    }
    std::uint64_t consumed_bytes() const override { return source_->consumed(); }
    std::uint64_t total_bytes() const override { return source_->size(); }

  private:
    std::unique_ptr<byte_source> source_;
    input_name name_;
    context ctx_;
    std::shared_ptr<turned_index> index_;
    std::size_t range_ = 0;
};

}  // namespace

std::unique_ptr<corpus_reader> read_ciff(std::unique_ptr<byte_source> source, const corpus_options& options,
                                         const context& ctx) {
    return std::make_unique<ciff_corpus>(std::move(source), options, ctx);
}

}  // namespace quern::io
