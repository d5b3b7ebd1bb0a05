// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/duplicate_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/hash.hpp"
#include "device/cpu/pipeline.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/mapped_file.hpp"
#include "quern/base/error.hpp"
#include "tasks/store/stop_words_file.hpp"
#include "text/analyzer.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view manifest_name = "duplicates.json";
constexpr std::string_view format_name = "quern duplicates";
constexpr unsigned format_version = 2;

// Sections of a shard of N documents and P pairs.
constexpr std::string_view texts_name = "texts";  // the bytes before them back to a joint, then N texts
constexpr std::string_view text_ends_name = "text_ends";  // u64[N]: bytes of text up to each document's end
constexpr std::string_view ids_name = "ids";              // string column, N
constexpr std::string_view pairs_name = "pairs";  // duplicate_pair[P], rising; of texts, first equals only
constexpr std::string_view sketches_name = "sketches";  // text_sketch[N]; not with methods of words

static_assert(sizeof(duplicate_pair) == 24 && std::is_trivially_copyable_v<duplicate_pair>,
              "pairs are stored as they lie in memory");
static_assert(sizeof(text_sketch) == 80 && std::is_trivially_copyable_v<text_sketch>, "and so are sketches");

fs::path section_file(const fs::path& folder, std::uint32_t shard, std::string_view section) {
    return folder / fmt::format("{:06}.{}.section", shard, section);
}

/// A checksum as text, and back; a text that is none gives one that nothing has.
std::string hex(std::uint64_t value) {
    return fmt::format("{:016x}", value);
}
std::uint64_t from_hex(const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (code != std::errc() || end != text.data() + text.size())
        throw std::runtime_error("holds no checksum");
    return value;
}

/// Touches every byte, with all threads.
void check_all(const io::section_view& section, const context& run) {
    constexpr std::uint64_t piece = 8 << 20;
    for_each_index(run, section.size() / piece + 1, [&](std::uint64_t i) {
        run.check_stop();
        section.bytes(i * piece, std::min(piece, section.size() - i * piece));
    });
}

}  // namespace

shard_writer::shard_writer(const fs::path& folder, std::uint32_t number, std::string_view overlap,
                           const fs::path& scratch)
    : folder_(folder),
      number_(number),
      texts_(file(texts_name)),
      text_ends_(file(text_ends_name)),
      ids_(file(ids_name), scratch) {
    texts_.append(overlap);
}

shard_writer::~shard_writer() {
    if (kept_) return;
    std::error_code ignored;
    for (const auto name : {texts_name, text_ends_name, ids_name, pairs_name, sketches_name})
        fs::remove(file(name), ignored);
}

fs::path shard_writer::file(std::string_view section) const {
    return section_file(folder_, number_, section);
}

void shard_writer::add(std::string_view id, std::string_view text) {
    ids_.append(id);
    texts_.append(text);
    text_bytes_ += text.size();
    text_ends_.append_value(text_bytes_);
    ++documents_;
}

fs::path shard_writer::finish_texts() {
    const auto done = texts_.finish();
    written_.sections.push_back({std::string(texts_name), done.file_bytes, done.checksum});
    return file(texts_name);
}

shard_writer::written shard_writer::finish(std::span<const duplicate_pair> pairs,
                                           std::span<const text_sketch> sketches) {
    const auto note = [this](std::string_view name, const io::section_writer::summary& done) {
        written_.sections.push_back({std::string(name), done.file_bytes, done.checksum});
    };
    const auto write = [&](std::string_view name, const auto& values) {
        io::section_writer section(file(name));
        section.append_values(values);
        note(name, section.finish());
    };
    write(pairs_name, pairs);
    if (!sketches.empty()) write(sketches_name, sketches);
    note(text_ends_name, text_ends_.finish());
    note(ids_name, ids_.finish());
    for (const store_section& s : written_.sections) {
        sync_file(open_file(file(s.name), O_RDONLY), file(s.name));
    }
    written_.documents = documents_;
    written_.text_bytes = text_bytes_;
    written_.pairs = pairs.size();
    return written_;
}

duplicate_store::question duplicate_store::question_of(const duplicate_options& options,
                                                       const text_options& text) {
    using method = duplicate_method;
    question asked;
    if (options.method == method::simhash || options.method == method::i_match) {
        throw usage_error(
            fmt::format("method {} weighs words by the whole collection, and cannot be asked piece by piece",
                        duplicate_method_names[static_cast<std::size_t>(options.method)]));
    }
    if (options.method == method::shingle) {
        const text_options recorded = as_recorded(text);
        return {{"method", "shingle"},
                {"shingle", std::to_string(options.shingle)},
                {"similarity", to_text(options.similarity)},
                {"language", recorded.language},
                {"tokens", std::string(token_rule_names[static_cast<std::size_t>(recorded.tokens)])},
                {"min-length", std::to_string(recorded.min_length)},
                {"stop-words", recorded.stop_words},
                {"stem", std::string(stemmer_names[static_cast<std::size_t>(recorded.stem)])},
                {"unicode", text::unicode_version()}};
    }
    asked["threshold"] = to_text(options.threshold);
    asked["unit"] = options.unit == edit_unit::byte ? "byte" : "char";
    // Methods that find the same pairs go by one name.
    asked["method"] = "edit-rate";
    if (options.method != method::automatic && options.method != method::exhaustive) {
        asked["method"] = options.method == method::signature ? "signature" : "signature-at-one-block-size";
        asked["signature-length"] = std::to_string(options.signature_length);
        asked["slack"] = to_text(options.slack);
    }
    return asked;
}

bool duplicate_store::is_one(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path / manifest_name, ignored);
}

duplicate_store::duplicate_store(const fs::path& path, access wanted, const question* asked,
                                 const context& run)
    : path_(path), folder_(path) {
    std::error_code failed;
    if (wanted == access::add && !fs::exists(path, failed)) {
        fresh_ = std::make_unique<io::atomic_folder>(path);
        folder_ = fresh_->temporary();
        question_ = *asked;
        return;
    }
    if (!is_one(path)) {
        throw usage_error(path.string() +
                          (fs::exists(path, failed) ? ": is no store of quern dedup" : ": no such store"));
    }
    if (wanted == access::add) lock();
    parse_manifest();
    if (asked != nullptr) refuse_another_question(*asked);
    if (wanted == access::add) remove_unlisted();
    run.log(log_level::info, fmt::format("{} holds {} documents", path.string(), documents_));
}

void duplicate_store::fail(std::string_view reason) const {
    throw damaged_store((folder_ / manifest_name).string(), "manifest", reason);
}

void duplicate_store::lock() {
    lock_ = open_file(folder_, O_RDONLY | O_DIRECTORY);
    if (::flock(lock_.number(), LOCK_EX | LOCK_NB) != 0) {
        throw usage_error("another run is adding to " + path_.string());
    }
}

void duplicate_store::parse_manifest() {
    try {
        const io::mapped_file file(folder_ / manifest_name);
        nlohmann::json json = nlohmann::json::parse(file.text());
        if (json.at("format") != format_name) fail("is no store of quern dedup");
        if (json.at("version") != format_version) {
            fail(fmt::format("is of format version {}, and this program reads version {}",
                             json.at("version").dump(), format_version));
        }
        const std::uint64_t checksum = from_hex(json.at("checksum"));
        json.erase("checksum");
        if (hash64(json.dump()) != checksum) fail("does not match its checksum");
        json.at("asked").get_to(question_);
        for (const auto& entry : json.at("shards")) {
            shard_writer::written shard{entry.at("documents"), entry.at("text_bytes"), entry.at("pairs"), {}};
            for (const auto& [name, section] : entry.at("sections").items()) {
                shard.sections.push_back({name, section.at("bytes"), from_hex(section.at("checksum"))});
            }
            documents_ += shard.documents;
            shards_.push_back(std::move(shard));
        }
    } catch (const nlohmann::json::exception&) {
        fail("is not the JSON of a store");
    } catch (const damaged_store&) {
        throw;
    } catch (const std::runtime_error& e) {
        fail(e.what());
    }
}

std::string duplicate_store::manifest_text() const {
    nlohmann::json json = {{"format", format_name}, {"version", format_version}, {"asked", question_}};
    auto& shards = json["shards"] = nlohmann::json::array();
    for (const shard_writer::written& shard : shards_) {
        nlohmann::json entry = {
            {"documents", shard.documents}, {"text_bytes", shard.text_bytes}, {"pairs", shard.pairs}};
        for (const store_section& s : shard.sections) {
            entry["sections"][s.name] = {{"bytes", s.bytes}, {"checksum", hex(s.checksum)}};
        }
        shards.push_back(std::move(entry));
    }
    json["checksum"] = hex(hash64(json.dump()));
    return json.dump(2) + '\n';
}

void duplicate_store::refuse_another_question(const question& asked) const {
    std::set<std::string> names;
    for (const auto* each : {&question_, &asked}) {
        for (const auto& [name, value] : *each) names.insert(name);
    }
    const auto value_in = [](const question& q, const std::string& name) {
        const auto at = q.find(name);
        return at == q.end() ? std::string("nothing") : at->second;
    };
    // The method first: with another one, the other options are others too.
    if (const std::string made = value_in(question_, "method"), now = value_in(asked, "method");
        made != now) {
        names = {"method"};
    }
    for (const std::string& name : names) {
        const std::string made = value_in(question_, name), now = value_in(asked, name);
        if (made == now) continue;
        throw usage_error(
            fmt::format("{} was made with {} {}, and is asked with {}", path_.string(), name, made, now));
    }
}

/// What a killed run left: files of a shard that was never named.
void duplicate_store::remove_unlisted() const {
    std::error_code ignored;
    std::vector<fs::path> left;
    for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
        const std::string name = entry.path().filename().string();
        std::uint32_t shard = 0;
        const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), shard);
        if (code == std::errc() && *end == '.' && name.ends_with(".section") && shard >= shards_.size()) {
            left.push_back(entry.path());
        }
    }
    for (const fs::path& path : left) fs::remove(path, ignored);
}

io::section_view duplicate_store::section(std::uint32_t shard, std::string_view name) const {
    const auto& sections = shards_[shard].sections;
    const auto at = std::ranges::find(sections, name, &store_section::name);
    if (at == sections.end()) fail("does not list section " + std::string(name));
    return io::section_view(section_file(folder_, shard, name), fmt::format("{:06}.{}", shard, name),
                            at->checksum);
}

void duplicate_store::load(document_table& table, const context& run) const {
    const auto asked = question_.find("unit");
    const bool compares_texts = asked != question_.end();
    const edit_unit unit = compares_texts && asked->second == "char" ? edit_unit::character : edit_unit::byte;
    std::uint64_t loaded = 0;
    for (std::uint32_t s = 0; s < shards_.size(); ++s) {
        const shard_writer::written& shard = shards_[s];
        const io::section_view texts = section(s, texts_name), ends = section(s, text_ends_name),
                               ids = section(s, ids_name);
        if (texts.size() != table.overlap().size() + shard.text_bytes) texts.fail("is of another length");
        std::optional<io::section_view> sketches;
        if (compares_texts) {
            sketches = section(s, sketches_name);
        } else {
            check_all(texts, run);
        }
        std::uint64_t before = 0, index = 0;
        for (const std::uint64_t end : ends.values<std::uint64_t>(0, shard.documents)) {
            if (end < before || end > shard.text_bytes) ends.fail("is out of order");
            const std::string_view id = io::column_string(ids, index++, shard.documents);
            if (!table.add(id, end - before)) ids.fail("holds an id twice");
            before = end;
            ++loaded;
        }
        if (before != shard.text_bytes) ends.fail("does not fit the texts");
        table.map_stored(section_file(folder_, s, texts_name), std::move(sketches), unit);
        run.report({"store", loaded, documents_, "documents"});
    }
}

duplicate_store_info duplicate_store::info() const {
    duplicate_store_info all;
    all.format_version = format_version;
    all.asked = question_;
    all.shards = shards_.size();
    all.documents = documents_;
    for (std::uint32_t s = 0; s < shards_.size(); ++s) {
        all.text_bytes += shards_[s].text_bytes;
        all.pairs += shards_[s].pairs;
        for (store_section section : shards_[s].sections) {
            section.name = fmt::format("{:06}.{}", s, section.name);
            all.sections.push_back(std::move(section));
        }
    }
    return all;
}

std::uint64_t duplicate_store::verify(const context& run) const {
    std::uint64_t bytes = 0;
    for (std::uint32_t s = 0; s < shards_.size(); ++s) {
        for (const store_section& listed : shards_[s].sections) {
            check_all(section(s, listed.name), run);
            bytes += listed.bytes;
            run.report({"verify", bytes, 0, "bytes"});
        }
    }
    return bytes;
}

std::vector<duplicate_pair> duplicate_store::pairs() const {
    std::vector<duplicate_pair> kept;
    std::uint64_t first = 0;
    for (std::uint32_t s = 0; s < shards_.size(); first += shards_[s].documents, ++s) {
        const io::section_view section = this->section(s, pairs_name);
        for (const duplicate_pair& p : section.values<duplicate_pair>(0, shards_[s].pairs)) {
            if (p.a >= p.b || p.b < first || p.b >= first + shards_[s].documents)
                section.fail("is out of order");
            kept.push_back(p);
        }
    }
    return kept;
}

std::vector<duplicate_pair> duplicate_store::pairs_with(const std::vector<bool>& wanted) const {
    std::vector<duplicate_pair> found = pairs();
    std::erase_if(found, [&](const duplicate_pair& p) { return p.b >= wanted.size() || !wanted[p.b]; });
    std::ranges::sort(found, {}, [](const duplicate_pair& p) { return std::pair(p.a, p.b); });
    return found;
}

std::unique_ptr<shard_writer> duplicate_store::new_shard(const document_table& table,
                                                         const fs::path& scratch) const {
    return std::make_unique<shard_writer>(folder_, static_cast<std::uint32_t>(shards_.size()),
                                          table.overlap(), scratch);
}

void duplicate_store::commit(shard_writer& shard, std::span<const duplicate_pair> pairs,
                             std::span<const text_sketch> sketches) {
    shards_.push_back(shard.finish(pairs, sketches));
    write_manifest();
    shard.keep();
    documents_ += shards_.back().documents;
}

void duplicate_store::finish() {
    if (fresh_) write_manifest();
}

void duplicate_store::write_manifest() {
    sync_folder(folder_);
    io::atomic_file manifest(folder_ / manifest_name, io::existing::replace);
    manifest.append(manifest_text());
    manifest.commit();
    if (fresh_) {
        fresh_->commit();
        fresh_.reset();
        folder_ = path_;
        lock();
    }
}

}  // namespace quern
