// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/documents/office_package.hpp"

#include <algorithm>
#include <utility>

#include "base/ascii.hpp"
#include "io/corpus/html_links.hpp"
#include "io/corpus/html_text.hpp"

namespace quern::io {
namespace {

using namespace std::string_view_literals;

class relation_handler final : public xml_handler {
  public:
    relation_handler(std::string_view part, std::map<std::string, office_relation>& found)
        : base_(part), found_(found) {}
    void start(std::string_view name, const xml_attributes& attributes) override {
        constexpr std::size_t most = 65'536;
        if (name != "Relationship" || attributes.value("TargetMode") == "External") return;
        if (found_.size() == most)
            throw not_convertible("damaged", "damaged: more than 65,536 relationships");
        auto target = base_.resolve(attributes.value("Target"));
        if (!target) return;
        found_[std::string(attributes.value("Id"))] = {std::move(*target),
                                                       std::string(file_name(attributes.value("Type")))};
    }
    void end(std::string_view) override {}
    void text(std::string_view) override {}

  private:
    link_base base_;
    std::map<std::string, office_relation>& found_;
};

class first_text_handler final : public xml_handler {
  public:
    explicit first_text_handler(std::string_view wanted) : wanted_(wanted) {}
    void start(std::string_view name, const xml_attributes&) override {
        if (found.empty() && name == wanted_) open_ = true;
    }
    void end(std::string_view name) override {
        if (name == wanted_) open_ = false;
    }
    void text(std::string_view text) override {
        constexpr std::size_t longest = 4000;
        if (open_ && found.size() < longest) found.append(text);
    }
    std::string found;

  private:
    std::string_view wanted_;
    bool open_ = false;
};

// The first bytes of the compound files of Microsoft's old formats; an encrypted new one is in such a file, too.
constexpr auto compound_mark = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv;

/// The name as a compound file has it, in UTF-16.
bool holds_wide(std::string_view bytes, std::string_view name) {
    std::string wide;
    for (const char c : name) (wide += c) += '\0';
    return bytes.find(wide) != std::string_view::npos;
}

[[noreturn]] void refuse_compound_file(const stored_bytes& stored) {
    // The names of its streams are at any place: a large file's often at the end.
    constexpr std::uint64_t part = 1 << 20;
    std::string bytes(static_cast<std::size_t>(std::min(stored.size(), part)), '\0');
    bytes.resize(stored.read_at(0, bytes));
    std::string tail(static_cast<std::size_t>(std::min(stored.size(), part)), '\0');
    tail.resize(stored.read_at(stored.size() - tail.size(), tail));
    bytes += tail;
    if (holds_wide(bytes, "EncryptedPackage")) throw not_convertible("encrypted", "encrypted");
    const auto refuse = [](const std::string& format, const std::string& save_as) {
        throw not_convertible("old " + format + " format: save as " + save_as,
                              "the old binary format of " + format + ": save it as " + save_as);
    };
    if (holds_wide(bytes, "WordDocument")) refuse("Word", ".docx");
    if (holds_wide(bytes, "Workbook") || holds_wide(bytes, "Book")) refuse("Excel", ".xlsx");
    if (holds_wide(bytes, "PowerPoint Document")) refuse("PowerPoint", ".pptx");
    refuse("Office", "a newer one");
    throw not_convertible("damaged", "damaged");
}

converted read_package(const convertible& file) {
    const office_package package(file);
    if (const zip_entry* const kind = package.zip().find("mimetype")) {
        constexpr std::uint64_t longest = 200;
        const std::string type(trimmed(package.zip().read(*kind, longest)));
        if (type == "application/epub+zip") return read_epub(package);
        if (type.starts_with("application/vnd.oasis.opendocument."))
            return read_open_document(file, &package);
    }
    if (package.zip().has("META-INF/container.xml")) return read_epub(package);
    if (package.zip().has("xl/workbook.bin"))
        throw not_convertible("binary Excel format: save as .xlsx",
                              "the binary format of Excel: save it as .xlsx");
    const std::string main = office_package::first_of_type(package.relations(""), "officeDocument");
    if (main.starts_with("word/")) return read_word_document(package, main);
    if (main.starts_with("ppt/")) return read_presentation(package, main);
    if (main.starts_with("xl/")) return read_workbook(package, main);
    throw not_convertible("no known office document", "a zip archive that is no known office document");
}

}  // namespace

std::string first_heading::take() {
    return collapsed(text_);
}

bool office_package::read_part(std::string_view part, xml_handler& handler) const {
    const zip_entry* const entry = zip_.find(part);
    if (entry == nullptr) return false;
    const auto bytes = zip_.open(*entry);
    read_xml([&](std::span<char> out) { return bytes->read(out); }, part, file_.budget, file_.ctx, handler);
    return true;
}

std::map<std::string, office_relation> office_package::relations(std::string_view part) const {
    std::map<std::string, office_relation> found;
    const std::string_view name = file_name(part);
    std::string list(part.substr(0, part.size() - name.size()));
    list.append("_rels/").append(name).append(".rels");
    relation_handler handler(part, found);
    read_part(list, handler);
    return found;
}

std::string office_package::first_of_type(const std::map<std::string, office_relation>& all,
                                          std::string_view type) {
    for (const auto& [id, relation] : all) {
        if (relation.type == type) return relation.target;
    }
    return {};
}

std::string office_package::first_text(std::string_view part, std::string_view name) const {
    first_text_handler handler(name);
    try {
        read_part(part, handler);
    } catch (const not_convertible&) {  // properties that cannot be read are not worth a document
        return {};
    }
    return collapsed(handler.found);
}

converted convert_office(const convertible& file) {
    std::string head(64, '\0');
    head.resize(file.stored->read_at(0, head));
    if (head.starts_with(compound_mark)) refuse_compound_file(*file.stored);
    if (trimmed(head).starts_with("<?xml")) return read_open_document(file, nullptr);
    return read_package(file);
}

}  // namespace quern::io
