// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/document_spool.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>

#include "base/varint.hpp"
#include "quern/base/error.hpp"
#include "tasks/dedup/document_reader.hpp"
#include "tasks/dedup/duplicate_store.hpp"
#include "tasks/store_build/reading.hpp"

namespace quern {
namespace {

void append_string(std::string& out, std::string_view text) {
    append_varint(out, text.size());
    out += text;
}

std::string take_string(const char*& at) {
    const std::uint64_t size = read_varint(at);
    std::string text(at, size);
    at += size;
    return text;
}

/// A document's data besides its id and its text.
std::string entry_of(const document& d) {
    std::string entry(1, static_cast<char>((d.verbatim ? 1 : 0) | static_cast<int>(d.listed) << 1));
    append_varint(entry, d.scope);
    append_string(entry, d.given);
    append_string(entry, d.title);
    append_string(entry, d.fields);
    append_varint(entry, d.links.size());
    for (const std::string& link : d.links) append_string(entry, link);
    return entry;
}

}  // namespace

/// Consecutive documents, or some of them.
class document_spool::unit : public io::corpus_unit {
  public:
    unit(const document_spool& spool, std::uint32_t first, std::uint32_t last, std::uint64_t bytes)
        : spool_(spool), first_(first), last_(last), bytes_(bytes) {}
    unit(const document_spool& spool, std::span<const std::uint32_t> positions, std::uint64_t bytes)
        : spool_(spool),
          positions_(positions),
          last_(static_cast<std::uint32_t>(positions.size())),
          bytes_(bytes) {}
    bool parse_within(const io::reading_budget&, io::parsed_unit& parsed) override {
        parsed.documents.reserve(last_ - first_);
        for (std::uint32_t d = first_; d < last_; ++d)
            parsed.documents.push_back(spool_.read(positions_.empty() ? d : positions_[d]));
        parsed.counts.documents = last_ - first_;
        parsed.named = spool_.record_.named;
        return true;
    }
    std::uint64_t raw_bytes() const override { return bytes_; }

  private:
    const document_spool& spool_;
    std::span<const std::uint32_t> positions_;  // if not all from first_ on
    std::uint32_t first_ = 0, last_;
    std::uint64_t bytes_;
};

/// A range of the redirects' file, of whole redirects.
class document_spool::redirect_unit : public io::corpus_unit {
  public:
    redirect_unit(const document_spool& spool, std::uint64_t begin, std::uint64_t end)
        : spool_(spool), begin_(begin), end_(end) {}
    bool parse_within(const io::reading_budget&, io::parsed_unit& parsed) override {
        spool_.each_redirect(begin_, end_, [&](redirect r) { parsed.redirects.push_back(std::move(r)); });
        return true;
    }
    std::uint64_t raw_bytes() const override { return end_ - begin_; }

  private:
    const document_spool& spool_;
    std::uint64_t begin_, end_;
};

class document_spool::reader : public io::corpus_reader {
  public:
    reader(const document_spool& spool, std::uint64_t unit_bytes) : spool_(spool), unit_bytes_(unit_bytes) {}

    std::unique_ptr<io::corpus_unit> next() override {
        const document_table& table = spool_.table_;
        const std::uint32_t first = next_;
        std::uint64_t bytes = 0;
        for (; next_ < table.size() && bytes < unit_bytes_; ++next_) bytes += spool_.bytes_of(next_);
        consumed_ += bytes;
        if (next_ != first) return std::make_unique<unit>(spool_, first, next_, bytes);
        if (next_redirects_ == spool_.redirect_ends_.size()) return nullptr;
        const std::uint64_t begin = next_redirects_ == 0 ? 0 : spool_.redirect_ends_[next_redirects_ - 1];
        return std::make_unique<redirect_unit>(spool_, begin, spool_.redirect_ends_[next_redirects_++]);
    }
    std::uint64_t consumed_bytes() const override { return consumed_; }
    std::uint64_t total_bytes() const override {
        return spool_.table_.texts().bytes.size() + spool_.entry_begin(spool_.table_.size());
    }

  private:
    const document_spool& spool_;
    std::uint64_t unit_bytes_, consumed_ = 0;
    std::uint32_t next_ = 0;
    std::size_t next_redirects_ = 0;
};

class document_spool::some_reader : public io::corpus_reader {
  public:
    some_reader(const document_spool& spool, std::span<const std::uint32_t> positions,
                std::uint64_t unit_bytes)
        : spool_(spool), positions_(positions), unit_bytes_(unit_bytes) {
        for (const std::uint32_t position : positions) total_ += spool.bytes_of(position);
    }

    std::unique_ptr<io::corpus_unit> next() override {
        std::size_t count = 0;
        std::uint64_t bytes = 0;
        while (count < positions_.size() && bytes < unit_bytes_)
            bytes += spool_.bytes_of(positions_[count++]);
        if (count == 0) return nullptr;
        const auto some = positions_.first(count);
        positions_ = positions_.subspan(count);
        consumed_ += bytes;
        return std::make_unique<unit>(spool_, some, bytes);
    }
    std::uint64_t consumed_bytes() const override { return consumed_; }
    std::uint64_t total_bytes() const override { return total_; }

  private:
    const document_spool& spool_;
    std::span<const std::uint32_t> positions_;  // those ahead
    std::uint64_t unit_bytes_, consumed_ = 0, total_ = 0;
};

document_spool::document_spool(const build_options& options, std::unique_ptr<io::corpus_reader> corpus,
                               const store_to_update* old, const scratch_folder& scratch, const context& ctx)
    : entries_(scratch.file("entries")), redirects_(scratch.file("redirects_read")) {
    for (const char* opened : {"entries", "redirects_read"}) std::filesystem::remove(scratch.file(opened));
    const corpus_request request{options, false, work_of_index, options.text};
    document_reader reading(request, std::move(corpus), "read", ctx);
    shard_writer texts(scratch.path(), 1, table_.overlap(), scratch.file("spooled_ids"));
    std::filesystem::remove(scratch.file("spooled_ids"));
    const std::uint64_t max_bytes = ctx.memory_limit() / 2;
    reading.read(
        std::numeric_limits<std::uint64_t>::max(),
        [&](document& d) {
            const auto settled = store_to_update::settle(
                reading.ids(), d, table_.size(), old, [&](std::string_view id) { return table_.find(id); });
            if (settled == document_ids::outcome::known) return document_reader::verdict::passed_over;
            if (settled == document_ids::outcome::repeated) return document_reader::verdict::repeated;
            table_.add(d.id, d.text.size());
            if (memory_bytes() > max_bytes)
                throw out_of_memory("the table of documents", 2 * memory_bytes(), max_bytes);
            texts.add(d.id, d.text);
            add(d);
            return document_reader::verdict::taken;
        },
        [&](const redirect& r) { add(r); });
    end_redirects();
    table_.map_texts(texts.finish_texts());  // stays mapped when `texts` removes it
    table_.begin_another_set();              // the ids are known to differ: frees their table
    entries_.flush();
    redirects_.flush();
    record_ = reading.record();
    input_bytes_ = reading.consumed_bytes();
}

void document_spool::add(const document& d) {
    const std::string entry = entry_of(d);
    entry_ends_.push_back(entries_.append(entry) + entry.size());
}

void document_spool::add(const redirect& r) {
    constexpr std::size_t chunk_bytes = 256 << 10;
    append_string(open_redirects_, r.from);
    append_string(open_redirects_, r.to);
    if (open_redirects_.size() >= chunk_bytes) end_redirects();
}

void document_spool::end_redirects() {
    if (open_redirects_.empty()) return;
    redirect_ends_.push_back(redirects_.append(open_redirects_) + open_redirects_.size());
    open_redirects_.clear();
}

document document_spool::read(std::uint32_t document) const {
    quern::document d = without_text(document);
    d.text = table_.text(document);
    return d;
}

document document_spool::without_text(std::uint32_t document) const {
    std::string entry(entry_ends_[document] - entry_begin(document), '\0');
    entries_.read_at(entry_begin(document), entry);
    const char* at = entry.data();
    quern::document d;
    d.verbatim = (*at & 1) != 0;
    d.listed = static_cast<word_listing>(*at++ >> 1);
    d.scope = static_cast<std::uint32_t>(read_varint(at));
    d.given = take_string(at);
    d.title = take_string(at);
    d.fields = take_string(at);
    d.links.resize(read_varint(at));
    for (std::string& link : d.links) link = take_string(at);
    d.id = table_.id(document);
    return d;
}

void document_spool::each_redirect(const std::function<void(redirect)>& sink) const {
    std::uint64_t begin = 0;
    for (const std::uint64_t end : redirect_ends_) {
        each_redirect(begin, end, sink);
        begin = end;
    }
}

void document_spool::each_redirect(std::uint64_t begin, std::uint64_t end,
                                   const std::function<void(redirect)>& sink) const {
    std::string bytes(end - begin, '\0');
    redirects_.read_at(begin, bytes);
    for (const char* at = bytes.data(); at != bytes.data() + bytes.size();) {
        std::string from = take_string(at);
        sink({std::move(from), take_string(at)});
    }
}

std::unique_ptr<io::corpus_reader> document_spool::read_again(std::uint64_t unit_bytes,
                                                              unsigned threads) const {
    // With fewer, most threads would wait for the last units.
    constexpr std::uint64_t units_of_a_thread = 3, smallest = 1 << 20;
    const std::uint64_t even = table_.texts().bytes.size() / (units_of_a_thread * threads);
    return std::make_unique<reader>(*this, std::min(unit_bytes, std::max(even, smallest)));
}

std::unique_ptr<io::corpus_reader> document_spool::read_some(std::span<const std::uint32_t> positions,
                                                             std::uint64_t unit_bytes) const {
    return std::make_unique<some_reader>(*this, positions, unit_bytes);
}

}  // namespace quern
