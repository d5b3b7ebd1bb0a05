// SPDX-License-Identifier: Apache-2.0
#include "tasks/corpus/document_ids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "io/corpus/encoding.hpp"

namespace quern {
namespace {

constexpr std::uint32_t max_lines = (std::uint32_t{1} << 31) - 1;  // later lines are not reported

std::string short_name(const document& d) {
    std::string name = d.path.substr(std::min<std::size_t>(d.name_at, d.path.size()));
    io::repair_utf8(name);
    return name;
}

std::uint32_t line_of(const document& d) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(d.line, max_lines));
}

std::string repetition(std::string_view id, const std::string& first) {
    return fmt::format("duplicate id \"{}\"; first used in {}", id, first);
}

std::string place(const std::string& path, std::uint32_t line) {
    return line == 0 || line == max_lines ? path : fmt::format("{}:{}", path, line);
}

}  // namespace

void document_ids::begin(document& d, std::uint32_t next) {
    if (d.scope != scope_) {
        scope_ = d.scope;
        first_ = next;
        entries_.clear();
        if (known_.size() != 0) known_ = id_table();
    }
    if (rule_ == id_rule::generate && d.line != 0) {
        d.id = fmt::format("{}:{}", short_name(d), d.line);
        d.is_numbered = true;
    }
}

bool document_ids::repeats_known(const document& d) {
    if (known_.size() == 0) return false;
    const auto line = known_.find(hash128(d.id));
    if (line) reason_ = repetition(d.id, place(d.path, *line));
    return line.has_value();
}

void document_ids::enter(const document& d) {
    const bool made = !d.given.empty();
    if (made && scoped_++ == 0) first_scoped_ = d.id;
    if (d.scope == 0) return;
    entry& of = entries_.emplace_back();
    of.line = line_of(d) & max_lines;
    of.made = made ? 1 : 0;
}

void document_ids::tell(const context& ctx) const {
    if (scoped_ == 0) return;
    ctx.log(log_level::info,
            fmt::format("{} the id of a document of an earlier file, and the file in front of it: {}{}",
                        scoped_ == 1 ? "1 document has" : fmt::format("{} documents have", scoped_),
                        first_scoped_, scoped_ == 1 ? "" : ", …"));
}

void document_ids::enter_known(const document& d) {
    if (d.line != 0) known_.insert(d.given.empty() ? d.id : d.given, line_of(d));
}

document_ids::outcome document_ids::repeated(document& d, std::optional<std::uint32_t> holder) {
    if (!d.given.empty()) d.id = std::exchange(d.given, {});
    reason_ = repetition(d.id, holder ? place(d.path, entries_[*holder - first_].line) : "an earlier file");
    return outcome::repeated;
}

/// Uses the whole path of the file, because its name alone may be that of another.
std::string document_ids::name_of(const document& d, unsigned attempt) {
    std::string path = d.path;
    io::repair_utf8(path);
    if (attempt > 1) path += fmt::format("#{}", attempt);
    if (d.line == 0) return path;  // the file is the document
    return d.is_numbered ? fmt::format("{}:{}", path, d.line) : path + ':' + d.given;
}

hash128_value hash_within(std::uint32_t scope, const hash128_value& given) {
    std::array<char, sizeof scope + sizeof given> bytes{};
    std::memcpy(bytes.data(), &scope, sizeof scope);
    std::memcpy(bytes.data() + sizeof scope, &given, sizeof given);
    return hash128({bytes.data(), bytes.size()});
}

}  // namespace quern
