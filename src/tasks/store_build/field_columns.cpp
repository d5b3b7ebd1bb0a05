// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/field_columns.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "device/cpu/pipeline.hpp"
#include "device/cpu/threads.hpp"
#include "io/corpus/json_scan.hpp"
#include "io/store/section.hpp"
#include "tasks/store/field_values.hpp"
#include "tasks/store/layout.hpp"
#include "tasks/store/listed_section.hpp"
#include "tasks/store/text_blocks.hpp"

namespace quern {

namespace layout = store_layout;
namespace {

/// Each column has up to three open files.
constexpr std::size_t columns_at_once = 64;

/// The values of consecutive documents.
struct column_piece {
    std::vector<bool> present;
    std::string fixed;                   ///< of types with a size: the bytes
    std::vector<std::string> strings;    ///< of text, json: one for each document; of lists all
    std::vector<std::uint64_t> lengths;  ///< of lists

    void add(field_type type, const io::json_value* value) {
        const bool has = value != nullptr && !value->is_null();
        present.push_back(has);
        switch (type) {
            case field_type::integer:
                return add_fixed(has ? integer_of(*value).value() : std::int64_t{0});
            case field_type::number:
                return add_fixed(has ? number_of(*value).value() : 0.0);
            case field_type::boolean:
                return add_fixed(static_cast<std::uint8_t>(has && value->bytes() == "true"));
            case field_type::date:
                return add_fixed(has ? microseconds_of_date(value->text()).value() : std::int64_t{0});
            case field_type::text:
                strings.push_back(has ? text_of_scalar(*value) : std::string());
                return;
            case field_type::json:
                strings.push_back(has ? std::string(value->bytes()) : std::string());
                return;
            case field_type::list:
                break;
        }
        const std::size_t before = strings.size();
        if (has && value->is_string()) {
            strings.push_back(value->text());
        } else if (has) {
            for (io::json_parts parts(*value); parts.next();) strings.push_back(parts.value().text());
        }
        lengths.push_back(strings.size() - before);
    }

  private:
    template <class Value>
    void add_fixed(Value value) {
        fixed.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
};

/// The sections of one column, written front to back.
class column_writer {
  public:
    column_writer(const std::filesystem::path& store, std::size_t number, const field_info& info,
                  std::uint64_t documents, const scratch_folder& scratch)
        : number_(number) {
        const auto file = [&](layout::field_part part) {
            return layout::file_of(store, layout::field_section(number, part));
        };
        const bool strings =
            info.type == field_type::text || info.type == field_type::json || info.type == field_type::list;
        if (strings) {
            strings_.emplace(file(layout::field_part::values),
                             scratch.file("field_ends_" + std::to_string(number)));
        } else {
            fixed_.emplace(file(layout::field_part::values));
        }
        if (info.documents != documents) present_.emplace(file(layout::field_part::present));
        if (info.type == field_type::list) ends_.emplace(file(layout::field_part::ends));
    }

    void append(const column_piece& piece) {
        if (fixed_) fixed_->append(piece.fixed);
        for (const std::string& each : piece.strings) strings_->append(each);
        for (const std::uint64_t length : piece.lengths) {
            end_ += length;
            ends_->append_value(end_);
        }
        if (!present_) return;
        for (const bool has : piece.present) {
            bits_ = static_cast<std::uint8_t>(bits_ | (has ? 1U : 0U) << count_);
            if (++count_ == 8) put_bits();
        }
    }

    void finish(std::vector<store_section>& sections) {
        if (count_ != 0) put_bits();
        const auto add = [&](layout::field_part part, const io::section_writer::summary& summary) {
            sections.push_back(listed_section(layout::field_section(number_, part), summary));
        };
        add(layout::field_part::values, fixed_ ? fixed_->finish() : strings_->finish());
        if (present_) add(layout::field_part::present, present_->finish());
        if (ends_) add(layout::field_part::ends, ends_->finish());
    }

  private:
    void put_bits() {
        present_->append_value(bits_);
        bits_ = 0;
        count_ = 0;
    }

    std::size_t number_;
    std::optional<io::string_column_writer> strings_;
    std::optional<io::section_writer> fixed_, present_, ends_;
    std::uint8_t bits_ = 0;
    unsigned count_ = 0;
    std::uint64_t end_ = 0;
};

struct block_in_work {
    std::uint64_t number = 0;
    std::vector<column_piece> columns;
};

}  // namespace

std::vector<store_section> make_field_columns(const std::filesystem::path& store,
                                              const std::vector<store_section>& sections,
                                              const std::vector<field_info>& fields, std::uint64_t documents,
                                              const scratch_folder& scratch, const context& ctx) {
    const text_blocks blocks(layout::open_section(store, sections, layout::field_ends),
                             layout::open_section(store, sections, layout::field_blocks),
                             layout::open_section(store, sections, layout::fields), documents);
    std::vector<store_section> made;
    for (std::size_t first = 0; first < fields.size(); first += columns_at_once) {
        const auto group = std::span(fields).subspan(first, std::min(columns_at_once, fields.size() - first));
        std::unordered_map<std::string, std::size_t> places;
        std::vector<std::unique_ptr<column_writer>> writers;
        for (std::size_t i = 0; i < group.size(); ++i) {
            places.emplace(group[i].name, i);
            writers.push_back(
                std::make_unique<column_writer>(store, first + i, group[i], documents, scratch));
        }
        pipeline<block_in_work> line(ctx.thread_count() + 2);
        std::uint64_t next = 0;
        line.from([&](block_in_work& work) {
            ctx.check_stop();
            if (next == blocks.size()) return false;
            work.number = next++;
            ctx.report({"fields", work.number, blocks.size(), "blocks"});
            return true;
        });
        line.in_parallel([&](block_in_work& work) {
            work.columns.resize(group.size());
            std::vector<std::optional<io::json_value>> values(group.size());
            blocks.each_text(work.number, [&](std::string_view json) {
                std::ranges::fill(values, std::nullopt);
                if (!json.empty()) {
                    for (io::json_parts parts{io::json_value(json)}; parts.next();) {
                        const auto at = places.find(parts.name());
                        if (at != places.end()) values[at->second] = parts.value();
                    }
                }
                for (std::size_t i = 0; i < group.size(); ++i)
                    work.columns[i].add(group[i].type, values[i] ? &*values[i] : nullptr);
            });
        });
        line.in_order([&](block_in_work& work) {
            for (std::size_t i = 0; i < group.size(); ++i) writers[i]->append(work.columns[i]);
        });
        run_parallel(ctx, [&] { line.run(); });
        for (const auto& writer : writers) writer->finish(made);
    }
    return made;
}

}  // namespace quern
