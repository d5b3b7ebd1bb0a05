// SPDX-License-Identifier: Apache-2.0
#include "tasks/decontaminate/kept_writer.hpp"

#include "base/release.hpp"

namespace quern {
namespace {

constexpr std::size_t piece_bytes = 1 << 20;

bool is_json(const document& d) {
    return d.record.empty() || d.record_kind == document::record_form::json;
}

}  // namespace

void kept_writer::prepare(document& d) {
    if (!is_json(d)) return;  // among others it becomes a JSON line, of its text
    if (d.record.empty()) {
        d.record = json_record(d);
        d.record_kind = document::record_form::json;
    }
    release(d.text);
    release(d.links);
}

void kept_writer::take(const document& d) {
    if (is_first_ && !is_json(d)) {
        held_.emplace(folder_ / "kept", fields_);
        ids_.emplace(folder_ / "kept_ids");
    }
    is_first_ = false;
    if (held_) return hold(d);
    if (is_json(d) && d.record.size() > piece_bytes) {  // not copied
        flush();
        out_(d.record);
        if (!d.record.ends_with('\n')) out_("\n");
        return;
    }
    ready_ += is_json(d) ? d.record : json_record(d);
    if (!ready_.ends_with('\n')) ready_ += '\n';  // the last line of a file may lack its end
    if (ready_.size() >= piece_bytes) flush();
}

void kept_writer::hold(const document& d) {
    held_->append(d);
    ids_->append(d.id);
    id_ends_.push_back((id_ends_.empty() ? 0 : id_ends_.back()) + d.id.size());
}

void kept_writer::flush() {
    if (!ready_.empty()) out_(ready_);
    ready_.clear();
}

void kept_writer::finish() {
    flush();
    if (!held_) return;
    ids_->flush();
    std::string id;
    const auto id_of = [&](std::size_t i) -> std::string_view {
        const std::uint64_t begin = i == 0 ? 0 : id_ends_[i - 1];
        id.resize(id_ends_[i] - begin);
        ids_->read_at(begin, id);
        return id;
    };
    held_->write([](std::size_t) { return true; }, id_of, out_);
}

}  // namespace quern
