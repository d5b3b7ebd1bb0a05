// SPDX-License-Identifier: Apache-2.0
// Encodings other than UTF-8 are converted by ICU first, so that the repair of damaged XML handles only one encoding.
#include "io/corpus/utf8_input.hpp"

#include <unicode/ucnv.h>
#include <unicode/ucnv_err.h>

#include <array>

#include "quern/base/error.hpp"

namespace quern::io {
namespace {

constexpr std::size_t read_bytes = 256 << 10;

/// The name in encoding="…" of an XML declaration at the beginning of `text`, in lower case.
std::string declared_encoding(std::string_view text) {
    if (!text.starts_with("<?xml")) return {};
    const std::string_view declaration = text.substr(0, text.find("?>"));
    std::size_t at = declaration.find("encoding");
    if (at == std::string_view::npos) return {};
    at = declaration.find_first_of("\"'", at);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = declaration.substr(at + 1);
    std::string name(rest.substr(0, rest.find(declaration[at])));
    for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    return name;
}

/// As ICU's own substitution, and sets the flag in `context`.
void replace_and_report(const void* context, UConverterToUnicodeArgs* args, const char* units,
                        std::int32_t length, UConverterCallbackReason reason, UErrorCode* status) {
    if (reason > UCNV_IRREGULAR) return;
    *static_cast<bool*>(const_cast<void*>(context)) = true;
    UCNV_TO_U_CALLBACK_SUBSTITUTE(nullptr, args, units, length, reason, status);
}

}  // namespace

struct utf8_input::converter {
    UConverter* from = nullptr;
    UConverter* to = nullptr;
    bool replaced = false;
    std::array<UChar, 4096> pivot{};
    UChar* pivot_source = pivot.data();
    UChar* pivot_target = pivot.data();

    explicit converter(const char* name) {
        UErrorCode status = U_ZERO_ERROR;
        from = ucnv_open(name, &status);
        to = ucnv_open("UTF-8", &status);
        if (U_SUCCESS(status))
            ucnv_setToUCallBack(from, replace_and_report, &replaced, nullptr, nullptr, &status);
        if (U_FAILURE(status)) {
            close();
            from = nullptr;
        }
    }
    converter(const converter&) = delete;
    converter& operator=(const converter&) = delete;
    ~converter() { close(); }
    void close() {
        ucnv_close(from);
        ucnv_close(to);
        to = nullptr;
    }

    void convert(std::string_view in, bool last, std::string& out) {
        std::array<char, 16384> buffer{};
        const char* source = in.data();
        UErrorCode status = U_BUFFER_OVERFLOW_ERROR;
        while (status == U_BUFFER_OVERFLOW_ERROR) {
            status = U_ZERO_ERROR;
            char* target = buffer.data();
            ucnv_convertEx(to, from, &target, buffer.data() + buffer.size(), &source, in.data() + in.size(),
                           pivot.data(), &pivot_source, &pivot_target, pivot.data() + pivot.size(), false,
                           last, &status);
            out.append(buffer.data(), static_cast<std::size_t>(target - buffer.data()));
        }
    }
};

utf8_input::utf8_input(std::unique_ptr<byte_source> source) : source_(std::move(source)) {}
utf8_input::~utf8_input() = default;

/// More raw bytes; false at the end.
bool utf8_input::fetch() {
    if (ended_) return false;
    const std::size_t before = raw_.size();
    raw_.resize(before + read_bytes);
    std::size_t got = 0;
    try {
        got = source_->read(std::span(raw_).subspan(before));
    } catch (const invalid_input& damaged) {
        damage_ = damaged.reason();
    }
    raw_.resize(before + got);
    ended_ = got == 0;
    return !ended_;
}

void utf8_input::use_encoding(const char* name) {
    converter_ = std::make_unique<converter>(name);
    if (converter_->from != nullptr) return;
    converter_.reset();
    note_ = "unknown encoding \"" + std::string(name) + "\", read as UTF-8";
}

void utf8_input::detect() {
    using namespace std::string_view_literals;
    const std::string_view begin = raw_;
    std::size_t mark = 0;
    if (begin.starts_with("\xEF\xBB\xBF"sv)) {
        mark = 3;
    } else if (begin.starts_with("\xFF\xFE\0\0"sv) || begin.starts_with("<\0\0\0"sv)) {
        use_encoding("UTF-32LE");
        mark = begin.front() == '<' ? 0 : 4;
    } else if (begin.starts_with("\0\0\xFE\xFF"sv) || begin.starts_with("\0\0\0<"sv)) {
        use_encoding("UTF-32BE");
        mark = begin[3] == '<' ? 0 : 4;
    } else if (begin.starts_with("\xFF\xFE"sv) || begin.starts_with("<\0"sv)) {
        use_encoding("UTF-16LE");
        mark = begin.front() == '<' ? 0 : 2;
    } else if (begin.starts_with("\xFE\xFF"sv) || begin.starts_with("\0<"sv)) {
        use_encoding("UTF-16BE");
        mark = begin[1] == '<' ? 0 : 2;
    } else {
        const std::string name = declared_encoding(begin.substr(0, 1024));
        const bool wide =
            name.starts_with("utf-16") || name.starts_with("utf-32");  // its bytes contradict that
        if (!name.empty() && name != "utf-8" && name != "utf8" && name != "us-ascii" && !wide)
            use_encoding(name.c_str());
    }
    raw_.erase(0, mark);
}

bool utf8_input::read_more(std::string& out) {
    if (!fetch() && started_) {
        if (converter_) {  // a truncated sequence at the very end
            const std::size_t before = out.size();
            converter_->convert({}, true, out);
            converter_.reset();
            return out.size() > before;
        }
        return false;
    }
    if (!started_) {
        started_ = true;
        detect();
    }
    if (converter_) {
        converter_->convert(raw_, false, out);
        if (converter_->replaced && !replacement_reported_) {
            replacement_reported_ = true;
            note_ = "invalid sequences in the input's encoding, replaced by U+FFFD";
        }
    } else {
        out.append(raw_);
    }
    const bool any = !raw_.empty();
    raw_.clear();
    return any;
}

std::optional<std::string> utf8_input::take_note() {
    auto taken = std::move(note_);
    note_.reset();
    return taken;
}

}  // namespace quern::io
