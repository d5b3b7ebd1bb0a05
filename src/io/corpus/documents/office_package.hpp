// SPDX-License-Identifier: Apache-2.0
// The parts of an office document: a zip archive of XML files that refer to each other.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "io/corpus/documents/converter.hpp"
#include "io/corpus/documents/xml_events.hpp"
#include "io/corpus/documents/zip_archive.hpp"

namespace quern::io {

/// One relationship of a part of OOXML.
struct office_relation {
    std::string target;  ///< the path of a part
    std::string type;    ///< the end of its URI: "slide"
};

class office_package {
  public:
    explicit office_package(const convertible& file) : file_(file), zip_(*file.stored, file.budget) {}

    const convertible& file() const { return file_; }
    const zip_archive& zip() const { return zip_; }
    /// False if there is no such part. Throws as read_xml.
    bool read_part(std::string_view part, xml_handler& handler) const;
    /// The relationships of a part (of the package: ""), by id; external ones are left out.
    std::map<std::string, office_relation> relations(std::string_view part) const;
    /// The part of the first relationship of this type; empty if there is none.
    static std::string first_of_type(const std::map<std::string, office_relation>& all,
                                     std::string_view type);
    /// The text of the first element `name` of a part; empty if there is none. For dc:title.
    std::string first_text(std::string_view part, std::string_view name) const;

  private:
    const convertible& file_;
    zip_archive zip_;
};

/// A handler that can pass over an element with all its content.
class skipping_handler : public xml_handler {
  public:
    void start(std::string_view name, const xml_attributes& attributes) final {
        if (skipped_ != 0 || !enter(name, attributes)) ++skipped_;
    }
    void end(std::string_view name) final {
        if (skipped_ != 0) {
            --skipped_;
        } else {
            leave(name);
        }
    }
    void text(std::string_view text) final {
        if (skipped_ == 0) add(text);
    }

  protected:
    /// False: the element is passed over; leave() is not called for it.
    virtual bool enter(std::string_view name, const xml_attributes& attributes) = 0;
    virtual void leave(std::string_view name) = 0;
    virtual void add(std::string_view text) = 0;

  private:
    std::size_t skipped_ = 0;
};

/// The first heading of a document, while its text passes: the title of a document without one.
class first_heading {
  public:
    void begin() { open_ = open_ || text_.empty(); }
    void add(std::string_view text) {
        constexpr std::size_t longest = 1000;
        if (open_ && text_.size() < longest) text_.append(text);
    }
    void end() { open_ = false; }
    std::string take();

  private:
    std::string text_;
    bool open_ = false;
};

// Documents by their main part. Titles that their properties have come first.

converted read_word_document(const office_package& package, const std::string& main);
converted read_presentation(const office_package& package, const std::string& main);
converted read_workbook(const office_package& package, const std::string& main);
/// OpenDocument: the archive, or a flat file (`package` null).
converted read_open_document(const convertible& file, const office_package* package);
converted read_epub(const office_package& package);

}  // namespace quern::io
