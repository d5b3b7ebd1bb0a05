// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/detect.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/ascii.hpp"
#include "io/arrow/ipc_file.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/field_names.hpp"
#include "io/corpus/mail.hpp"
#include "io/corpus/record_reader.hpp"
#include "io/corpus/table_columns.hpp"
#include "io/corpus/weights.hpp"
#include "io/parquet/parquet_file.hpp"
#include "io/retrieval/ciff_reader.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

constexpr std::array compressions = {"gz"sv, "bz2"sv, "zst"sv, "xz"sv};

template <typename List>
bool holds(const List& list, std::string_view wanted) {
    return std::find(list.begin(), list.end(), wanted) != list.end();
}

std::string_view after_blanks(std::string_view text) {
    return text.substr(std::min(text.find_first_not_of(" \t\r\n\f"), text.size()));
}

/// Skips white space, comments, processing instructions and a document type at the beginning of markup.
std::string_view after_prologue(std::string_view text) {
    while (true) {
        text = after_blanks(text);
        std::string_view close;
        if (text.starts_with("<!--")) {
            close = "-->";
        } else if (text.starts_with("<?")) {
            close = "?>";
        } else if (text.starts_with("<!")) {
            close = ">";
        } else {
            return text;
        }
        const std::size_t end = text.find(close);
        if (end == std::string_view::npos) return {};
        text.remove_prefix(end + close.size());
    }
}

/// Whether `text` begins with `tag` ("<doc"), in any case, and the tag's name ends there.
bool opens_with(std::string_view text, std::string_view tag) {
    if (lower(text.substr(0, tag.size())) != tag) return false;
    return text.size() > tag.size() && " \t\r\n>/"sv.find(text[tag.size()]) != std::string_view::npos;
}

/// Whether the text begins with a record of TREC's SGML with an id, or of Reuters-21578's.
bool opens_with_record(std::string_view text) {
    if (opens_with(text, "<reuters")) {
        return lower(text.substr(0, text.find('>'))).find("newid=") != std::string::npos;
    }
    return opens_with(text, "<doc") && lower(text).find("<docno") != std::string::npos;
}

bool opens_as_trec(std::string_view text) {
    if (lower(text.substr(0, 15)) == "<!doctype lewis") return true;
    const std::string_view body = after_prologue(text);
    if (opens_with_record(body)) return true;
    // An enclosing element of any name, as in SGML that was made well-formed.
    if (!body.starts_with('<') || body.starts_with("</")) return false;
    return opens_with_record(after_prologue(body.substr(std::min(body.find('>'), body.size() - 1) + 1)));
}

bool opens_as_wikiextractor(std::string_view body) {
    constexpr auto open = "<doc id=\""sv;
    std::string_view line = body.substr(0, body.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line.starts_with(open) && line.size() > open.size() && line[open.size()] != '"' &&
           line.ends_with("\">");
}

/// A version and a field of the header.
bool opens_as_warc(std::string_view head) {
    if (!head.starts_with("WARC/0.") && !head.starts_with("WARC/1.")) return false;
    return lower(head.substr(0, 4096)).find("\nwarc-type:") != std::string::npos;
}

bool opens_as_json(std::string_view body) {
    if (!body.starts_with('{')) return false;
    const std::string_view inside = after_blanks(body.substr(1));
    return inside.starts_with('"') || inside.starts_with('}');
}

bool is_named_json_lines(std::string_view path) {
    const std::string name = extension_of(path);
    return name == "jsonl" || name == "ndjson";
}

/// For a file named by the user: lines that are objects without a text, or JSON in a file named as JSON lines, are
/// treated as JSON lines, whose reader reports what each lacks.
bool is_json_alone(std::string_view body, bool whole, std::string_view path, const document_fields& fields) {
    return opens_as_json(body) &&
           (is_named_json_lines(path) || judge_json_lines(body, whole, fields) == json_lines::objects);
}

bool is_mail_by_name(std::string_view head, std::string_view path) {
    const std::string name = extension_of(path);
    return (name == "eml" || name == "mbox") && opens_as_mail(utf8_head(head), true);
}

std::string archive_kind(std::string_view head) {
    if (head.size() > 262 && head.substr(257, 5) == "ustar") return "a tar archive: unpack it first";
    if (head.starts_with("PK\3\4")) return "a zip archive: unpack it first";
    if (head.starts_with(arrow::old_feather_magic) && is_binary(head))
        return "Feather of version 1: write it again as version 2 (Arrow IPC)";
    if (head.starts_with("PARE")) return "an encrypted Parquet file: write it again without encryption";
    return {};
}

}  // namespace

std::string utf8_head(std::string_view head) {
    const byte_order order = byte_order_of(head);
    if (order == byte_order::none || order == byte_order::utf8)
        return std::string(head.substr(mark_bytes(order, head)));
    std::size_t ill_formed = 0;
    return from_wide(head, order, ill_formed);
}

/// Of a heading that would be one with another separator: how the file could be read.
std::string other_separator(const std::vector<std::string>& names) {
    if (names.size() != 1) return {};
    for (const auto& [sign, name] : {std::pair('\t', "tabs"), std::pair('|', "bars")}) {
        if (names.front().find(sign) != std::string::npos)
            return std::string("; it has ") + name + " where CSV has commas or semicolons";
    }
    return {};
}

std::string missing_heading(std::string_view text, bool whole, char separator,
                            const document_fields& fields) {
    constexpr std::size_t max = 8;
    if (separator != '\t') text.remove_prefix(separator_line(text));
    std::size_t end = separator == '\t' ? text.find('\n') + 1 : csv_record_end(text, separator);
    if (end == 0 && whole) end = text.size();
    std::string texts = expected_names(text_names);
    if (!fields.text.empty()) {
        texts.clear();
        for (const std::string& name : fields.text)
            texts.append(texts.empty() ? "\"" : " or \"").append(name).append("\"");
    }
    std::string ids;
    if (!fields.id.empty()) {
        ids = "\"" + fields.id + "\" and ";
    } else if (fields.text.empty()) {
        ids = "\"id\" or \"title\" and ";
    }
    std::string reason = "the first record is not a heading with columns for " + ids + texts;
    const std::vector<std::string> names = fields_of(trimmed(text.substr(0, end)), separator);
    for (std::size_t i = 0; i < std::min(names.size(), max); ++i) {
        std::string name = names[i].substr(0, 40);
        repair_utf8(name);
        reason += (i == 0 ? "; found \"" : ", \"") + name + "\"";
    }
    if (names.size() > max) reason += ", …";
    return separator == '\t' ? reason : reason + other_separator(names);
}

std::string other_line_ends(std::string_view head) {
    const std::string text = utf8_head(head);
    constexpr std::size_t longest = 8 << 10;  // otherwise a CR may stand within one line
    const auto ends = static_cast<std::size_t>(std::ranges::count(text, '\r'));
    if (text.find('\n') != std::string::npos || ends < 2 || ends < text.size() / longest) return {};
    return "its lines end with CR alone (expected LF or CRLF; tr '\\r' '\\n' makes them of it)";
}

std::string_view without_compression(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    if (dot == std::string_view::npos || !holds(compressions, lower(path.substr(dot + 1)))) return path;
    return path.substr(0, dot);
}

std::string extension_of(std::string_view path) {
    const std::string_view name = file_name(without_compression(path));
    const std::size_t dot = name.rfind('.');
    return dot == std::string_view::npos || dot == 0 ? std::string() : lower(name.substr(dot + 1));
}

std::string skipped_kind(std::string_view path) {
    constexpr std::size_t longest = 8;
    const std::string name = extension_of(path);
    if (name.empty()) return "file: without an extension";
    const auto all_in = [&](std::string_view signs) {
        return name.find_first_not_of(signs) == std::string::npos;
    };
    const bool plain = all_in("abcdefghijklmnopqrstuvwxyz0123456789+-_");
    const bool number = name.size() > 1 && all_in("0123456789");
    return plain && !number && name.size() <= longest ? "file: ." + name : "file: with other extensions";
}

bool is_binary(std::string_view head) {
    head = head.substr(0, 8 << 10);
    const byte_order order = byte_order_of(head);
    if (order != byte_order::none && order != byte_order::utf8) return false;
    std::size_t controls = 0;
    for (const char c : head) {
        if (c == '\0') return true;
        controls += static_cast<std::size_t>(static_cast<unsigned char>(c) < 32 &&
                                             "\t\n\r\f\v\b\x1B"sv.find(c) == std::string_view::npos);
    }
    return controls * 10 > head.size();
}

std::optional<corpus_form> marked_form(std::string_view head, bool whole, const document_fields& fields) {
    if (head.starts_with(parquet::magic) && is_binary(head)) return corpus_form::parquet;
    if (head.starts_with(arrow::magic) || arrow::opens_stream(head)) return corpus_form::arrow;
    if (opens_as_warc(head)) return corpus_form::warc;
    const std::string text = utf8_head(head);
    const std::string_view body = after_prologue(text);
    if (opens_with(body, "<mediawiki")) return corpus_form::wikipedia;
    if (opens_as_wikiextractor(body)) return corpus_form::wikiextractor;
    if (opens_as_trec(after_blanks(text))) return corpus_form::trec;
    if (opens_as_mbox(text) || opens_as_mail(text, false)) return corpus_form::mail;
    const std::string_view lines = after_blanks(text);
    // The first line may be broken, as of a file that was cut between two bytes.
    const bool has_object = lines.starts_with('{') || lines.find("\n{") != std::string_view::npos;
    if (has_object && judge_json_lines(lines, whole, fields) == json_lines::documents)
        return corpus_form::jsonl;
    return std::nullopt;
}

bool opens_as_html(std::string_view head) {
    const std::string text = utf8_head(head);
    if (lower(after_blanks(text).substr(0, 14)) == "<!doctype html") return true;
    const std::string_view body = after_prologue(text);
    for (const auto tag : {"<html"sv, "<head"sv, "<body"sv, "<title"sv}) {
        if (opens_with(body, tag)) return true;
    }
    return false;
}

namespace {

/// The lines of TSV: `id TAB text`. Empty lines are ignored.
struct tsv_lines {
    bool any = false;
    std::uint64_t other = 0;  ///< the first line of another form, from 1
};

tsv_lines lines_as_tsv(std::string_view text, bool whole) {
    std::string_view rest = text;
    tsv_lines found;
    for (std::uint64_t number = 1; !rest.empty(); ++number) {
        const std::size_t end = rest.find('\n');
        if (end == std::string_view::npos && !whole) break;
        std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.empty()) continue;
        const std::size_t tab = line.find('\t');
        if (tab != std::string_view::npos && tab != 0) {
            found.any = true;
        } else if (found.other == 0) {
            found.other = number;
        }
    }
    // One line longer than the head: its tab is the only evidence.
    found.any =
        found.any || (!whole && text.find('\n') == std::string::npos && text.find('\t') != std::string::npos);
    return found;
}

}  // namespace

bool looks_like_tsv(std::string_view head, bool whole) {
    const tsv_lines lines = lines_as_tsv(utf8_head(head), whole);
    return lines.any && lines.other == 0;
}

namespace {

/// Whether its lines would be records if they ended with LF.
bool is_table_or_json(std::string text, bool whole, std::string_view path, const document_fields& fields) {
    std::ranges::replace(text, '\r', '\n');
    return judge_json_lines(text, whole, fields) == json_lines::documents || looks_like_tsv(text, whole) ||
           looks_like_csv(text, whole, fields) ||
           (extension_of(path) == "csv" && table_beginning(text, whole, csv_separator(text), fields));
}

}  // namespace

std::optional<corpus_form> detect(std::string_view head, bool whole, std::string_view path, std::string& why,
                                  const document_fields& fields) {
    // An empty input holds no documents, whatever its name: an empty dump is reported, not indexed.
    if (head.empty()) return corpus_form::jsonl;
    if (opens_as_ciff(head)) return corpus_form::ciff;
    if (fields.text.empty() && opens_as_weights(head, whole)) return corpus_form::weights;
    const file_kind kind = kind_of(path), shown = kind_to_convert(path, head);
    const bool is_one_document = (kind != file_kind::unknown && kind != file_kind::text) ||
                                 (shown != kind && shown != file_kind::html);
    if (is_one_document && (is_read_in_parts(shown) || !is_binary(head))) return corpus_form::folder;
    if (const auto form = marked_form(head, whole, fields)) return form;
    if (is_mail_by_name(head, path)) return corpus_form::mail;
    why = archive_kind(head);
    if (!why.empty()) return std::nullopt;
    if (is_binary(head)) {
        why = "not text";
        return std::nullopt;
    }
    const std::string text = utf8_head(head);
    const std::string_view body = after_blanks(text);
    if (body.empty() && whole && kind == file_kind::unknown) return corpus_form::jsonl;  // no documents
    if (body.starts_with('[') && after_blanks(body.substr(1)).starts_with('{')) {
        why =
            "a JSON array; JSON lines have one object a line, without commas or brackets around them "
            "(jq -c '.[]' makes them of it)";
        return std::nullopt;
    }
    if (why = other_line_ends(head); !why.empty() && is_table_or_json(text, whole, path, fields))
        return std::nullopt;
    why.clear();
    if (body.starts_with('{') && is_json_alone(body, whole, path, fields)) return corpus_form::jsonl;
    if (opens_as_html(head)) return corpus_form::folder;
    if (looks_like_tsv(head, whole)) return corpus_form::tsv;
    const bool is_named_csv = extension_of(path) == "csv";
    if (looks_like_csv(text, whole, fields) ||
        (is_named_csv && table_beginning(text, whole, csv_separator(text), fields)))
        return corpus_form::csv;
    if (kind == file_kind::text) return corpus_form::folder;
    if (is_named_json_lines(path)) return corpus_form::jsonl;
    if (is_named_csv) {
        why = missing_heading(text, whole, csv_separator(text), fields);
        return std::nullopt;
    }
    if (opens_as_json(body)) {
        why = "JSON, but not one object a line; --input-format folder reads it as a text";
    } else if (const tsv_lines lines = lines_as_tsv(text, whole); lines.any) {
        why = "line " + std::to_string(lines.other) +
              " has no tab after an id, unlike others; with --input-format tsv it is a rejected document";
    }
    return std::nullopt;
}

std::optional<table_start> start_of_table(std::string_view head, corpus_form form,
                                          const document_fields& fields) {
    const std::string text = utf8_head(head);
    const char separator = form == corpus_form::csv ? csv_separator(text) : '\t';
    auto beginning = table_beginning(text, head.size() < detection_bytes, separator, fields);
    if (!beginning) return std::nullopt;
    // Without the mark, Excel reads a file in the code page of its system, not as UTF-8.
    if (byte_order_of(head) == byte_order::utf8) beginning->insert(0, "\xEF\xBB\xBF");
    return table_start{std::move(*beginning), separator};
}

std::optional<corpus_form> detect_collection(std::string_view head, bool whole, std::string_view path,
                                             const document_fields& fields) {
    const file_kind kind = kind_of(path);
    if (kind != file_kind::unknown && kind != file_kind::text) return std::nullopt;
    if (const auto form = marked_form(head, whole, fields)) return form;
    if (is_mail_by_name(head, path)) return corpus_form::mail;
    if (extension_of(path) == "tsv" && looks_like_tsv(head, whole) && other_line_ends(head).empty())
        return corpus_form::tsv;
    if (extension_of(path) != "csv") return std::nullopt;
    const std::string text = utf8_head(head);
    if (table_beginning(text, whole, csv_separator(text), fields)) return corpus_form::csv;
    return std::nullopt;
}

}  // namespace quern::io
