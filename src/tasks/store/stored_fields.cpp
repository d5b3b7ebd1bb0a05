// SPDX-License-Identifier: Apache-2.0
#include "tasks/store/stored_fields.hpp"

#include <algorithm>

#include "device/cpu/pipeline.hpp"
#include "io/corpus/json_repairs.hpp"
#include "io/corpus/json_scan.hpp"
#include "tasks/store/field_values.hpp"
#include "tasks/store/layout.hpp"

namespace quern {

namespace layout = store_layout;
namespace {

std::uint64_t bytes_of_value(field_type type) {
    switch (type) {
        case field_type::integer:
        case field_type::number:
        case field_type::date:
            return 8;
        case field_type::boolean:
            return 1;
        case field_type::text:
        case field_type::list:
        case field_type::json:
            break;
    }
    return 0;
}

/// Whether the column has this value for the document.
bool agrees(const field_column& column, std::uint32_t document, const std::optional<io::json_value>& value) {
    const bool has = value && !value->is_null();
    if (column.has(document) != has) return false;
    if (column.info().type == field_type::list) {
        auto [at, end] = column.list(document);
        if (!has) return at == end;
        if (value->is_string()) return end - at == 1 && column.list_item(at) == value->text();
        for (io::json_parts parts(*value); parts.next(); ++at) {
            if (at == end || !parts.value().is_string() || column.list_item(at) != parts.value().text())
                return false;
        }
        return at == end;
    }
    if (!has) return true;
    switch (column.info().type) {
        case field_type::text:
            return !value->is_array() && !value->is_object() &&
                   column.text(document) == text_of_scalar(*value);
        case field_type::integer:
            return integer_of(*value) == column.integer(document);
        case field_type::number:
            return number_of(*value) == column.number(document);
        case field_type::boolean:
            return value->is_boolean() && (value->bytes() == "true") == column.boolean(document);
        case field_type::date:
            return value->is_string() && microseconds_of_date(value->text()) == column.date(document);
        case field_type::json:
        case field_type::list:
            break;
    }
    return column.text(document) == value->bytes();
}

/// Other code reads parts of the text as they are written, which only well-formed JSON allows.
void require_object(const text_blocks& blocks, std::string_view text, std::uint32_t document) {
    if (text.front() != '{' || text.back() != '}' || !io::is_json(text))
        blocks.fail("has no JSON object for document " + std::to_string(document));
}

}  // namespace

field_column::field_column(const std::filesystem::path& store, const std::vector<store_section>& sections,
                           std::size_t number, field_info info, std::uint64_t documents)
    : info_(std::move(info)), documents_(documents) {
    const auto name = [&](layout::field_part part) { return layout::field_section(number, part); };
    values_ = layout::open_section(store, sections, name(layout::field_part::values));
    const std::string present = name(layout::field_part::present);
    if (manifests::find_section(sections, present) != nullptr)
        present_ = layout::open_section(store, sections, present);
    if (info_.type == field_type::list)
        ends_ = layout::open_section(store, sections, name(layout::field_part::ends));
    if (!present_ && info_.documents != documents) fail("lacks the section " + present);
}

std::pair<std::uint64_t, std::uint64_t> field_column::list(std::uint32_t document) const {
    const auto end = ends_->value<std::uint64_t>(std::uint64_t{document} * 8);
    const auto begin = document == 0 ? 0 : ends_->value<std::uint64_t>((std::uint64_t{document} - 1) * 8);
    if (begin > end || end > info_.values) ends_->fail("is out of order");
    return {begin, end};
}

void field_column::check() const {
    const std::uint64_t size = bytes_of_value(info_.type);
    if (size != 0 && values_.size() != size * documents_) values_.fail("does not fit the documents");
    if (present_ && present_->size() != (documents_ + 7) / 8) present_->fail("does not fit the documents");
    if (ends_ && ends_->size() != 8 * documents_) ends_->fail("does not fit the documents");
}

stored_fields::stored_fields(const std::filesystem::path& store, const std::vector<store_section>& sections,
                             std::uint64_t documents, const std::vector<field_info>& fields)
    : blocks_(layout::open_section(store, sections, layout::field_ends),
              layout::open_section(store, sections, layout::field_blocks),
              layout::open_section(store, sections, layout::fields), documents) {
    columns_.reserve(fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i)
        columns_.emplace_back(store, sections, i, fields[i], documents);
}

std::string stored_fields::json(std::uint32_t document) const {
    if (blocks_.text_bytes(document) == 0) return {};
    std::string text = blocks_.text(document);
    require_object(blocks_, text, document);
    return text;
}

const field_column* stored_fields::find(std::string_view name) const {
    const auto at =
        std::ranges::find_if(columns_, [&](const auto& each) { return each.info().name == name; });
    return at == columns_.end() ? nullptr : &*at;
}

void stored_fields::check(const context& ctx) const {
    for (const field_column& column : columns_) column.check();
    for_each_index(ctx, blocks_.size(), [&](std::uint64_t block) {
        ctx.check_stop();
        std::uint32_t document = blocks_.contents_of(block).first;
        blocks_.each_text(block, [&](std::string_view json) {
            std::vector<std::optional<io::json_value>> values(columns_.size());
            std::size_t found = 0, members = 0;
            if (!json.empty()) {
                require_object(blocks_, json, document);
                for (io::json_parts parts{io::json_value(json)}; parts.next(); ++members) {
                    const std::string name = parts.name();
                    for (std::size_t i = 0; i < columns_.size(); ++i) {
                        if (columns_[i].info().name != name) continue;
                        values[i] = parts.value();
                        ++found;
                    }
                }
            }
            for (std::size_t i = 0; i < columns_.size(); ++i) {
                if (!agrees(columns_[i], document, values[i]))
                    columns_[i].fail("does not agree with the fields of document " +
                                     std::to_string(document));
            }
            if (found != members && !columns_.empty())
                columns_.front().fail("lacks a field of document " + std::to_string(document));
            ++document;
        });
    });
}

}  // namespace quern
