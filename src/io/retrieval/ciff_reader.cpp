// SPDX-License-Identifier: Apache-2.0
#include "io/retrieval/ciff_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "io/corpus/encoding.hpp"
#include "io/retrieval/ciff_writer.hpp"
#include "quern/base/error.hpp"

namespace quern::io {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 16;
constexpr std::uint64_t longest_word = 64 << 10, longest_id = 1 << 20, longest_description = 1 << 20;
enum wire_kind : unsigned { varint_kind = 0, eight_bytes = 1, delimited = 2, four_bytes = 5 };

class memory_source final : public byte_source {
  public:
    explicit memory_source(std::string_view bytes) : bytes_(bytes) {}
    std::size_t read(std::span<char> out) override {
        const std::size_t size = std::min(out.size(), bytes_.size());
        std::memcpy(out.data(), bytes_.data(), size);
        bytes_.remove_prefix(size);
        return size;
    }
    std::uint64_t consumed() const override { return 0; }
    std::uint64_t size() const override { return 0; }
    const std::string& name() const override { return name_; }

  private:
    std::string_view bytes_;
    std::string name_;
};

}  // namespace

bool opens_as_ciff(std::string_view head) {
    // After the header's length comes the field `version`, 1.
    std::size_t length = 1;
    while (length < 3 && length < head.size() && static_cast<unsigned char>(head[length - 1]) >= 0x80)
        ++length;
    if (head.substr(std::min(length, head.size()), 2) != "\x08\x01") return false;
    try {
        memory_source source(head);
        ciff_reader reader(source);
        return reader.header().documents != 0;
    } catch (const invalid_input&) {
        return false;
    }
}

ciff_reader::ciff_reader(byte_source& source) : source_(source), buffer_(buffer_bytes, '\0') {}

void ciff_reader::refuse(std::string_view reason) const {
    const std::string of = number_ == 0 ? std::string(what_) : fmt::format("{} {}", what_, number_);
    throw invalid_input(source_.name(), 0, fmt::format("byte {}, {}: {}", offset(), of, reason));
}

bool ciff_reader::fill() {
    begun_ += end_;
    at_ = 0;
    end_ = 0;  // if reading throws
    end_ = source_.read(buffer_);
    return end_ != 0;
}

unsigned char ciff_reader::byte() {
    if (at_ == end_ && !fill()) refuse("the file ends here; is it cut off?");
    return static_cast<unsigned char>(buffer_[at_++]);
}

std::uint64_t ciff_reader::varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const unsigned char next = byte();
        value |= std::uint64_t{next & 0x7fU} << shift;
        if (next < 0x80) return value;
    }
    refuse("a number of more than ten bytes; is this a CIFF file?");
}

void ciff_reader::begin_message(std::string_view what, std::uint64_t number) {
    what_ = what;
    number_ = number;
    const std::uint64_t size = varint();
    if (size > max_in_ciff) refuse("a message of more than 2 GiB; is this a CIFF file?");
    message_end_ = offset() + size;
}

bool ciff_reader::next_field(std::uint64_t end, field& found) {
    if (offset() == end) return false;
    const std::uint64_t key = varint();
    found.number = key >> 3;
    found.kind = key & 7;
    found.value = 0;
    switch (found.kind) {
        case varint_kind:
        case delimited:
            found.value = varint();
            break;
        case eight_bytes:
            found.value = 8;
            break;
        case four_bytes:
            found.value = 4;
            break;
        default:
            refuse("a field of an unknown kind; is this a CIFF file?");
    }
    if (offset() > end || (found.kind != varint_kind && found.value > end - offset()))
        refuse("a field is longer than its message; is this a CIFF file?");
    return true;
}

void ciff_reader::skip(const field& of) {
    if (of.kind == varint_kind) return;
    for (std::uint64_t left = of.value; left != 0;) {
        if (at_ == end_ && !fill()) refuse("the file ends here; is it cut off?");
        const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(left, end_ - at_));
        at_ += part;
        left -= part;
    }
}

std::uint32_t ciff_reader::number_of(const field& of, std::string_view what) const {
    if (of.kind != varint_kind) refuse(fmt::format("{} is not a number; is this a CIFF file?", what));
    if (of.value > max_in_ciff)
        refuse(fmt::format("{} is {} (expected 0 to 2147483647)", what, static_cast<std::int64_t>(of.value)));
    return static_cast<std::uint32_t>(of.value);
}

void ciff_reader::take_text(const field& of, std::uint64_t longest, std::string_view what,
                            std::string& text) {
    if (of.kind != delimited) refuse(fmt::format("{} is not a text; is this a CIFF file?", what));
    if (of.value > longest)
        refuse(fmt::format("{} of {} bytes (expected at most {})", what, of.value, longest));
    text.clear();
    while (text.size() < of.value) {
        if (at_ == end_ && !fill()) refuse("the file ends here; is it cut off?");
        const std::size_t part = std::min<std::size_t>(of.value - text.size(), end_ - at_);
        text.append(buffer_, at_, part);
        at_ += part;
    }
    if (!is_utf8(text)) refuse(fmt::format("{} is not UTF-8", what));
}

const ciff_reader::header_fields& ciff_reader::header() {
    begin_message("the header", 0);
    std::uint32_t version = 0;
    for (field of; next_field(message_end_, of);) {
        switch (of.number) {
            case 1:
                version = number_of(of, "the version");
                break;
            case 2:
                header_.lists = number_of(of, "the number of lists");
                break;
            case 3:
                header_.documents = number_of(of, "the number of documents");
                break;
            case 4:
                header_.all_lists = number_of(of, "the number of all lists");
                break;
            case 5:
                header_.all_documents = number_of(of, "the number of all documents");
                break;
            case 6:
                if (of.kind != varint_kind)
                    refuse("the number of words is not a number; is this a CIFF file?");
                header_.words = of.value;
                break;
            case 8:
                take_text(of, longest_description, "the description", header_.description);
                break;
            default:
                skip(of);
        }
    }
    if (version != 1) refuse(fmt::format("version {} (expected 1); is this a CIFF file?", version));
    return header_;
}

void ciff_reader::take_posting(std::uint64_t end, std::uint32_t& gap, std::uint32_t& frequency) {
    gap = frequency = 0;
    for (field of; next_field(end, of);) {
        if (of.number == 1) {
            gap = number_of(of, "a document's gap");
        } else if (of.number == 2) {
            frequency = number_of(of, "a frequency");
        } else {
            skip(of);
        }
    }
}

ciff_reader::list_fields ciff_reader::list(
    const std::function<void(std::uint32_t document, std::uint32_t frequency)>& posting) {
    begin_message("list", ++lists_);
    text_.clear();
    std::uint64_t found = 0, occurrences = 0, document = 0;
    list_fields result;
    for (field of; next_field(message_end_, of);) {
        switch (of.number) {
            case 1:
                take_text(of, longest_word, "the word", text_);
                break;
            case 2:
                result.documents = number_of(of, "the number of documents");
                break;
            case 3:
                if (of.kind != varint_kind) refuse("the number of occurrences is not a number");
                result.occurrences = of.value;
                break;
            case 4: {
                if (of.kind != delimited) refuse("a posting is not a message; is this a CIFF file?");
                std::uint32_t gap = 0, frequency = 0;
                take_posting(offset() + of.value, gap, frequency);
                if (found != 0 && gap == 0) refuse("a document occurs twice");
                document += gap;
                if (document >= header_.documents)
                    refuse(fmt::format("document {}, but the header has {} documents", document,
                                       header_.documents));
                if (frequency == 0) refuse(fmt::format("document {} has the word 0 times", document));
                posting(static_cast<std::uint32_t>(document), frequency);
                ++found;
                occurrences += frequency;
                break;
            }
            default:
                skip(of);
        }
    }
    if (found != result.documents || occurrences != result.occurrences)
        refuse(fmt::format("has {} documents and {} occurrences, but says {} and {}", found, occurrences,
                           result.documents, result.occurrences));
    if (text_.empty()) refuse("has no word");
    if (text_.find('\n') != std::string::npos) refuse("the word has a line end");
    result.word = text_;
    return result;
}

ciff_reader::record_fields ciff_reader::record() {
    begin_message("document record", records_ + 1);
    text_.clear();
    record_fields result;
    std::uint64_t own = 0;
    for (field of; next_field(message_end_, of);) {
        switch (of.number) {
            case 1:
                own = number_of(of, "the document's number");
                break;
            case 2:
                take_text(of, longest_id, "the document's id", text_);
                break;
            case 3:
                result.length = number_of(of, "the document's length");
                break;
            default:
                skip(of);
        }
    }
    if (own != records_)
        refuse(fmt::format("has the number {} (expected {}: records by number, from 0)", own, records_));
    if (text_.empty()) refuse("has no id");
    ++records_;
    result.id = text_;
    return result;
}

void ciff_reader::finish() {
    what_ = "the end";
    number_ = 0;
    if (at_ != end_ || fill()) refuse("bytes follow the last document record");
}

}  // namespace quern::io
