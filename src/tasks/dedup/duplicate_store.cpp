// SPDX-License-Identifier: Apache-2.0
#include "tasks/dedup/duplicate_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <set>

#include "io/files/atomic_file.hpp"
#include "quern/base/error.hpp"
#include "quern/text/analyzer.hpp"
#include "tasks/store/has_file.hpp"
#include "tasks/store/listed_section.hpp"
#include "tasks/store/manifest.hpp"
#include "tasks/store/stop_words_file.hpp"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr manifests::kind of_duplicates = {"duplicates.json", "quern duplicates", 2,
                                           "is not a store of quern dedup", "is not the JSON of a store"};

// Sections of a shard of N documents and P pairs.
constexpr std::string_view texts_name = "texts";          // the preceding bytes back to a joint, then N texts
constexpr std::string_view text_ends_name = "text_ends";  // u64[N]: bytes of text up to each document's end
constexpr std::string_view ids_name = "ids";              // string column, N
constexpr std::string_view pairs_name = "pairs";  // duplicate_pair[P], rising; of texts, only first equals
constexpr std::string_view sketches_name = "sketches";  // text_sketch[N]; not with methods of words

// Of the store: document_decision[documents when it was written]. The manifest names one of the two; a new one gets the
// other name, so that a reader of the old manifest still finds its file.
constexpr std::string_view decision_names[] = {"decisions.0", "decisions.1"};

static_assert(sizeof(duplicate_pair) == 24 && std::is_trivially_copyable_v<duplicate_pair>,
              "pairs are stored as they lie in memory");
static_assert(sizeof(text_sketch) == 80 && std::is_trivially_copyable_v<text_sketch>, "and so are sketches");

fs::path section_file(const fs::path& folder, std::uint32_t shard, std::string_view section) {
    return folder / fmt::format("{:06}.{}.section", shard, section);
}

}  // namespace

shard_writer::shard_writer(const fs::path& folder, std::uint32_t number, std::string_view overlap,
                           const fs::path& scratch)
    : files_(folder, number),
      texts_(file(texts_name)),
      text_ends_(file(text_ends_name)),
      ids_(file(ids_name), scratch) {
    texts_.append(overlap);
}

shard_writer::shard_files::~shard_files() {
    if (kept) return;
    std::error_code ignored;
    for (const auto name : {texts_name, text_ends_name, ids_name, pairs_name, sketches_name})
        fs::remove(section_file(folder, number, name), ignored);
}

fs::path shard_writer::file(std::string_view section) const {
    return section_file(files_.folder, files_.number, section);
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
    written_.sections.push_back(listed_section(texts_name, done));
    return file(texts_name);
}

shard_writer::written shard_writer::finish(std::span<const duplicate_pair> pairs,
                                           std::span<const text_sketch> sketches) {
    const auto note = [this](std::string_view name, const io::section_writer::summary& done) {
        written_.sections.push_back(listed_section(name, done));
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

duplicate_store::params duplicate_store::params_of(const duplicate_options& options,
                                                   const text_options& text) {
    using method = duplicate_method;
    params requested;
    if (options.method == method::simhash || options.method == method::i_match) {
        throw usage_error(
            fmt::format("method {} weighs words by the whole collection, and cannot work in batches",
                        duplicate_method_names[static_cast<std::size_t>(options.method)]));
    }
    if (options.method == method::shingle && options.of_shingles == shingle_unit::character) {
        return {{"method", "shingle"},
                {"shingle", std::to_string(options.shingle)},
                {"shingle-unit", "char"},
                {"similarity", to_text(options.similarity)}};
    }
    if (options.method == method::shingle) {
        const text_options recorded = as_recorded(text);
        requested = {{"method", "shingle"},
                     {"shingle", std::to_string(options.shingle)},
                     {"similarity", to_text(options.similarity)},
                     {"language", recorded.language},
                     {"tokens", std::string(token_rule_names[static_cast<std::size_t>(recorded.tokens)])},
                     {"min-length", std::to_string(recorded.min_length)},
                     {"stop-words", recorded.stop_words},
                     {"stem", std::string(stemmer_names[static_cast<std::size_t>(recorded.stem)])},
                     {"unicode", text::unicode_version()}};
        if (recorded.fold != folding::none)
            requested["fold"] = std::string(folding_names[static_cast<std::size_t>(recorded.fold)]);
        return requested;
    }
    requested["threshold"] = to_text(options.threshold);
    requested["unit"] = options.unit == edit_unit::byte ? "byte" : "char";
    // Methods that find the same pairs share one name.
    requested["method"] = "edit-rate";
    if (options.method != method::automatic && options.method != method::exhaustive) {
        requested["method"] =
            options.method == method::signature ? "signature" : "signature-at-one-block-size";
        requested["signature-length"] = std::to_string(options.signature_length);
        requested["slack"] = to_text(options.slack);
    }
    return requested;
}

bool duplicate_store::is_one(const fs::path& path) {
    return has_file(path, of_duplicates.file);
}

duplicate_store::duplicate_store(const fs::path& path, access wanted, const params* requested,
                                 const context& ctx)
    : path_(path), folder_(path) {
    std::error_code failed;
    if (wanted == access::add && !fs::exists(path, failed)) {
        fresh_ = std::make_unique<io::atomic_folder>(path);
        folder_ = fresh_->temporary();
        params_ = *requested;
        return;
    }
    if (!is_one(path)) {
        throw usage_error(path.string() +
                          (fs::exists(path, failed) ? ": not a store of quern dedup" : ": no such store"));
    }
    if (wanted == access::add) lock();
    read_manifest();
    if (requested != nullptr) refuse_other_params(*requested);
    if (wanted == access::add) remove_unlisted();
    ctx.log(log_level::info, fmt::format("{} holds {} {}", path.string(), documents_,
                                         documents_ == 1 ? "document" : "documents"));
}

void duplicate_store::lock() {
    lock_ = open_file(folder_, O_RDONLY | O_DIRECTORY);
    if (::flock(lock_.number(), LOCK_EX | LOCK_NB) == 0) return;
    if (errno == EWOULDBLOCK) throw usage_error("another run is adding to " + path_.string());
    throw io_error(path_.string(), "cannot lock", errno);
}

void duplicate_store::read_manifest() {
    manifests::read(folder_, of_duplicates, [this](const nlohmann::json& json) {
        json.at("asked").get_to(params_);
        for (const auto& entry : json.at("shards")) {
            shards_.push_back({entry.at("documents"), entry.at("text_bytes"), entry.at("pairs"),
                               manifests::sections_of(entry.at("sections"))});
            documents_ += shards_.back().documents;
        }
        if (json.contains("decisions")) decided_ = manifests::sections_of(json.at("decisions"));
    });
}

std::string duplicate_store::manifest_text() const {
    nlohmann::json shards = nlohmann::json::array();
    for (const shard_writer::written& shard : shards_) {
        shards.push_back({{"documents", shard.documents},
                          {"text_bytes", shard.text_bytes},
                          {"pairs", shard.pairs},
                          {"sections", manifests::to_json(shard.sections)}});
    }
    nlohmann::json members = {{"asked", params_}, {"shards", std::move(shards)}};
    if (!decided_.empty()) members["decisions"] = manifests::to_json(decided_);
    return manifests::text_of(of_duplicates, std::move(members));
}

void duplicate_store::refuse_other_params(const params& requested) const {
    std::set<std::string> names;
    for (const auto* each : {&params_, &requested}) {
        for (const auto& [name, value] : *each) names.insert(name);
    }
    const auto value_in = [](const params& q, const std::string& name) {
        const auto at = q.find(name);
        return at == q.end() ? std::string("nothing") : at->second;
    };
    // The method first: another method has other options too.
    if (const std::string made = value_in(params_, "method"), now = value_in(requested, "method");
        made != now) {
        names = {"method"};
    }
    for (const std::string& name : names) {
        const std::string made = value_in(params_, name), now = value_in(requested, name);
        if (made == now) continue;
        throw usage_error(fmt::format("{} was made with {} {} (now {})", path_.string(), name, made, now));
    }
}

/// Leftovers of a killed run: files of a shard that was never listed.
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
    for (const std::string_view name : decision_names) {
        if (decided_.empty() || decided_.front().name != name)
            left.push_back(manifests::file_of(folder_, name));
    }
    for (const fs::path& path : left) fs::remove(path, ignored);
}

io::section_view duplicate_store::section(std::uint32_t shard, std::string_view name) const {
    const store_section& listed = manifests::listed(folder_, of_duplicates, shards_[shard].sections, name);
    return io::section_view(section_file(folder_, shard, name), fmt::format("{:06}.{}", shard, name),
                            listed.checksum);
}

void duplicate_store::load(document_table& table, const context& ctx) const {
    const auto requested = params_.find("unit");
    const bool compares_texts = requested != params_.end();
    const edit_unit unit =
        compares_texts && requested->second == "char" ? edit_unit::character : edit_unit::byte;
    std::uint64_t loaded = 0;
    for (std::uint32_t s = 0; s < shards_.size(); ++s) {
        const shard_writer::written& shard = shards_[s];
        const io::section_view texts = section(s, texts_name), ends = section(s, text_ends_name),
                               ids = section(s, ids_name);
        if (texts.size() != table.overlap().size() + shard.text_bytes) texts.fail("has another length");
        std::optional<io::section_view> sketches;
        if (compares_texts) {
            sketches = section(s, sketches_name);
        } else {
            manifests::check_all(texts, ctx);
        }
        std::uint64_t before = 0, index = 0;
        for (const std::uint64_t end : ends.values<std::uint64_t>(0, shard.documents)) {
            if (end < before || end > shard.text_bytes) ends.fail("is out of order");
            const std::string_view id = io::column_string(ids, index++, shard.documents);
            if (!table.add(id, end - before)) ids.fail("has a duplicate id");
            before = end;
            ++loaded;
        }
        if (before != shard.text_bytes) ends.fail("does not fit the texts");
        table.map_stored(section_file(folder_, s, texts_name), std::move(sketches), unit);
        ctx.report({"store", loaded, documents_, "documents"});
    }
}

duplicate_store_info duplicate_store::info() const {
    duplicate_store_info all;
    all.format_version = of_duplicates.version;
    all.requested = params_;
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
    all.sections.insert(all.sections.end(), decided_.begin(), decided_.end());
    return all;
}

std::uint64_t duplicate_store::verify(const context& ctx) const {
    std::uint64_t bytes = 0;
    for (std::uint32_t s = 0; s < shards_.size(); ++s) {
        for (const store_section& listed : shards_[s].sections) {
            manifests::check_all(section(s, listed.name), ctx);
            bytes += listed.bytes;
            ctx.report({"verify", bytes, 0, "bytes"});
        }
    }
    for (const store_section& listed : decided_) {
        manifests::check_all(decision_section(), ctx);
        bytes += listed.bytes;
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
    write_manifest([&shard] { shard.keep(); });
    documents_ += shards_.back().documents;
}

io::section_view duplicate_store::decision_section() const {
    return manifests::open_section(folder_, of_duplicates, decided_, decided_.front().name);
}

std::vector<document_decision> duplicate_store::decisions() const {
    std::vector<document_decision> all(documents_, document_decision::none);
    if (decided_.empty()) return all;
    const io::section_view section = decision_section();
    if (section.size() > documents_) section.fail("has more decisions than documents");
    std::size_t document = 0;
    for (const auto decision : section.values<std::uint8_t>(0, section.size())) {
        if (decision > static_cast<std::uint8_t>(document_decision::removed))
            section.fail("has an unknown decision");
        all[document++] = static_cast<document_decision>(decision);
    }
    return all;
}

void duplicate_store::decide(std::span<const document_decision> decisions) {
    if (std::ranges::equal(decisions, this->decisions())) return;
    const bool is_first = decided_.empty() || decided_.front().name == decision_names[1];
    const std::string name(decision_names[is_first ? 0 : 1]);
    const fs::path file = manifests::file_of(folder_, name);
    std::error_code ignored;
    fs::remove(file, ignored);
    io::section_writer section(file);
    section.append_values(decisions);
    const auto done = section.finish();
    sync_file(open_file(file, O_RDONLY), file);
    decided_ = {{name, done.file_bytes, done.checksum}};
    write_manifest([] {});
}

void duplicate_store::finish() {
    if (fresh_) write_manifest([] {});
}

/// Calls `published` as soon as the store under its name has the manifest: from then on nothing that it lists may be
/// removed, whatever fails later.
void duplicate_store::write_manifest(const std::function<void()>& published) {
    sync_folder(folder_);
    io::atomic_file manifest(folder_ / of_duplicates.file, io::existing::replace);
    manifest.append(manifest_text());
    try {
        manifest.commit();
    } catch (...) {
        if (manifest.is_published() && !fresh_) published();
        throw;
    }
    if (fresh_) {
        publish(published);
    } else {
        published();
    }
}

/// Gives a new store its name. The lock moves with it, so that no other run adds to it before this one ends.
void duplicate_store::publish(const std::function<void()>& published) {
    lock_ = fresh_->take_lock();
    try {
        fresh_->commit();
    } catch (const usage_error&) {  // nothing was there when this run began
        throw usage_error("another run is adding to " + path_.string());
    } catch (...) {
        if (fresh_->is_published()) published();
        throw;
    }
    fresh_.reset();
    folder_ = path_;
    published();
}

}  // namespace quern
