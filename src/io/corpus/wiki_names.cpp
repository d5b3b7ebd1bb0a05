// SPDX-License-Identifier: Apache-2.0
// Lists of words rather than rules, because wikis chose these words freely. The lists are kept readable; their sets are
// built on first use, folded by the same function as the words looked up.
#include "io/corpus/wiki_site.hpp"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>

namespace quern::io {
namespace {

// Names separated by '|'.
constexpr std::string_view english_namespaces =
    "-2=media|-1=special|1=talk|2=user|3=user talk|4=project|4=wikipedia|4=wp|5=project talk|5=wikipedia "
    "talk|"
    "5=wt|6=file|6=image|7=file talk|7=image talk|8=mediawiki|9=mediawiki talk|10=template|11=template talk|"
    "12=help|13=help talk|14=category|15=category talk|100=portal|101=portal talk|118=draft|119=draft talk|"
    "710=timedtext|711=timedtext talk|828=module|829=module talk";

constexpr std::string_view file_names =
    "archivo|attēls|attels|bild|bilde|berkas|bestand|afbeelding|datei|delwedd|dosiero|dosya|resim|fájl|kép|"
    "fasciculus|imago|fichier|ficheiro|imagem|imaxe|fil|fitxategi|irudi|fitxer|imatge|fails|fișier|fişier|"
    "imagine|"
    "gambar|imagen|immagine|imej|íomhá|larawan|talaksan|lêer|beeld|mynd|plik|grafika|pilt|fail|restr|"
    "skeudenn|"
    "slika|súbor|obrázok|soubor|obrázek|tiedosto|kuva|tập tin|hình|vaizdas|wêne|wobraz|dataja|zdj|"
    "şəkil|fayl|rasm|tasvir|выява|файл|изображение|зображення|картинка|картина|слика|податотека|датотека|"
    "şäkel|"
    "рәсем|сүрөт|сурет|акс|зураг|სურათი|ფაილი|պատկեր|αρχείο|εικόνα|קובץ|תמונה|טעקע|پرونده|تصویر|ملف|صورة|"
    "فائل|"
    "وێنە|پەڕگە|دوتنه|चित्र|संचिका|चित्रम्|চিত্র|ফাইল|ਤਸਵੀਰ|ચિત્ર|படிமம்|బొమ్మ|దస్త్రం|ಚಿತ್ರ|പ്രമാണം|ചിത്രം|රූපය|"
    "ไฟล์|ภาพ|파일|그림|ファイル|画像|文件|檔案|档案|图像|圖像|文檔";

constexpr std::string_view category_names =
    "kategorie|categoría|categoria|catégorie|categorie|kategori|kategoria|kategória|kategorija|kategoriya|"
    "kategorio|"
    "kategory|catigurìa|kategoriija|flokkur|luokka|thể loại|turkum|kateqoriya|категория|категорія|"
    "категорија|катэгорыя|санат|төркем|ангилал|კატეგორია|կատեգորիա|κατηγορία|קטגוריה|رده|تصنيف|زمرہ|श्रेणी|वर्ग|"
    "বিষয়শ্রেণী|ਸ਼੍ਰੇਣੀ|શ્રેણી|பகுப்பு|వర్గం|ವರ್ಗ|വർഗ്ഗം|หมวดหมู่|분류|カテゴリ|分类|分類|kawan|jamii|rummad|rannóg|"
    "catagóir";

constexpr std::string_view language_codes =
    "aa|ab|ace|ady|af|ak|als|alt|am|ami|an|ang|ann|anp|ar|arc|ary|arz|as|ast|atj|av|avk|awa|ay|az|azb|ba|ban|"
    "bar|"
    "bat-smg|bbc|bcl|bdr|be|be-tarask|be-x-old|bew|bg|bh|bi|bjn|blk|bm|bn|bo|bpy|br|bs|btm|bug|bxr|ca|cbk-"
    "zam|cdo|"
    "ce|ceb|ch|cho|chr|chy|ckb|co|cr|crh|cs|csb|cu|cv|cy|da|dag|de|dga|din|diq|dsb|dtp|dty|dv|dz|ee|el|eml|"
    "en|eo|"
    "es|et|eu|ext|fa|fat|ff|fi|fiu-vro|fj|fo|fon|fr|frp|frr|fur|fy|ga|gag|gan|gcr|gd|gl|glk|gn|gom|gor|got|"
    "gpe|gu|"
    "guc|gur|guw|gv|ha|hak|haw|he|hi|hif|ho|hr|hsb|ht|hu|hy|hyw|hz|ia|iba|id|ie|ig|igl|ii|ik|ilo|inh|io|is|"
    "it|iu|"
    "ja|jam|jbo|jv|ka|kaa|kab|kbd|kbp|kcg|kg|kge|ki|kj|kk|kl|km|kn|knc|ko|koi|kr|krc|ks|ksh|ku|kus|kv|kw|ky|"
    "la|"
    "lad|lb|lbe|lez|lfn|lg|li|lij|lld|lmo|ln|lo|lrc|lt|ltg|lv|mad|mai|map-bms|mdf|mg|mh|mhr|mi|min|mk|ml|mn|"
    "mni|"
    "mnw|mos|mr|mrj|ms|mt|mus|mwl|my|myv|mzn|na|nah|nap|nds|nds-nl|ne|new|ng|nia|nl|nn|no|nov|nqo|nr|nrm|nso|"
    "nup|"
    "nv|ny|oc|olo|om|or|os|pa|pag|pam|pap|pcd|pcm|pdc|pfl|pi|pih|pl|pms|pnb|pnt|ps|pt|pwn|qu|rm|rmy|rn|ro|"
    "roa-rup|"
    "roa-tara|rsk|ru|rue|rup|rw|sa|sah|sat|sc|scn|sco|sd|se|sg|sgs|sh|shi|shn|shy|si|simple|sk|skr|sl|sm|smn|"
    "sn|"
    "so|sq|sr|srn|ss|st|stq|su|sv|sw|syl|szl|szy|ta|tay|tcy|tdd|te|tet|tg|th|ti|tig|tk|tl|tly|tn|to|tok|tpi|"
    "tr|"
    "trv|ts|tt|tum|tw|ty|tyv|udm|ug|uk|ur|uz|ve|vec|vep|vi|vls|vo|vro|wa|war|wo|wuu|xal|xh|xmf|yi|yo|yue|za|"
    "zea|"
    "zgh|zh|zh-classical|zh-min-nan|zh-yue|zh-cn|zh-tw|nan|nb|cmn|lzh|gsw|egl|jp|cz|dk";

constexpr std::string_view site_prefixes =
    "w|wikipedia|wikt|wiktionary|b|wikibooks|n|wikinews|q|wikiquote|s|wikisource|oldwikisource|mul|v|"
    "wikiversity|"
    "voy|wikivoyage|species|wikispecies|c|commons|d|wikidata|f|wikifunctions|m|meta|metawikipedia|mw|"
    "mediawikiwiki|"
    "foundation|wmf|wikimedia|incubator|outreach|phab|phabricator|bugzilla|bug|mediazilla|rev|svn|gerrit|"
    "toollabs|"
    "toolforge|tools|wikitech|wikimania|otrs|ticket|testwiki|nost|strategy|doi|hdl|arxiv|google|imdbname|"
    "imdbtitle|"
    "isbndb|rfc|wikia|fandom|uncyclopedia|memoryalpha|openlibrary|archive|citeseer|iso639-3|lccn|pmid|ftl|"
    "translatewiki|betawiki|dbdump|download|mail|sulutil|quality|spcom|chapter|usability";

constexpr std::string_view redirect_words =
    "redirect|redir|redirection|aanstuur|adkas|ailgyfeirio|alidirekto|alih|arahan|lencongan|lencong|astiurey|"
    "aastiurey|aýdaw|baw-ing|beralîkirin|beralî "
    "bike|birzuzendu|doorverwijzing|ohjaus|uudelleenohjaus|omdirigering|"
    "viderestilling|omdiriger|tilvísun|stivre deike|stýring|pāradresācija|peradresuoti|peradresavimas|patrz|"
    "przekieruj|tam|přesměruj|přesměrování|presmeruj|preusmeritev|preusmeri|preusmjeri|preusmjerenje|"
    "preusmjeravanje|redirecció|redireccion|redireccionamento|redirección|redirecionamento|redirixir|rinvia|"
    "rindirizz|suuna|trimite|weiterleitung|redireksyon|redirige|yoʻnaltirish|yönlendirme|yönlendi̇rme|"
    "yönlendir|"
    "i̇stiqamətləndirmə|istiqamətləndirmə|đổi|đổi "
    "hướng|átirányítás|alihkan|ribdirejona|ανακατευθυνση|ανακατεύθυνση|"
    "айдау|багыттама|буссинаби|дӏасахьажорг|виж|пренасочване|перанакіраванне|перанакіраваньне|"
    "перенаправление|"
    "перенапр|перенаправлення|перенапр.|пренасочување|види|преусмери|преусмјери|равонакунӣ|юнәлтү|йүнәлтеү|"
    "чиглүүлэг|გადამისამართება|վերահղում|ווייטערפירן|הפניה|تحويل|تغییر مسیر|تغییرمسیر|رجوع مکرر|مخ "
    "گرځونې|ڕەوانەکردن|"
    "अनुप्रेषित|पुनर्निर्देशन|पुनर्प्रेषित|पुननिर्देशन|পুননির্দেশ|পুনর্নির্দেশ|पुनर्निर्देशित|வழிமாற்று|దారిమార్పు|"
    "ಪುನರ್ನಿರ್ದೇಶನ|തിരിച്ചുവിടുക|යළියොමුව|เปลี่ยนทาง|ប្តូរទីតាំងទៅ|បញ្ជូនបន្ត|ပြန်ညွှန်း|넘겨주기|転送|リダイレクト|"
    "重定向|重新導向|跳轉|跳转";

// Switches in ASCII; those with other letters are recognised by their form.
constexpr std::string_view ascii_switches =
    "NOTOC|FORCETOC|TOC|NOEDITSECTION|NEWSECTIONLINK|NONEWSECTIONLINK|NOGALLERY|HIDDENCAT|"
    "EXPECTUNUSEDCATEGORY|"
    "EXPECTUNUSEDTEMPLATE|NOCONTENTCONVERT|NOCC|NOTITLECONVERT|NOTC|START|END|INDEX|NOINDEX|STATICREDIRECT|"
    "DISAMBIG|"
    "NOGLOBAL|NOCOLLABORATIONHUBTOC|ARCHIVEDTALK|NOTALK|EXPECTED_UNCONNECTED_PAGE|KEIN_INHALTSVERZEICHNIS|"
    "KEININHALTSVERZEICHNIS|"
    "INHALTSVERZEICHNIS|INHALTSVERZEICHNIS_ERZWINGEN|ABSCHNITTE_NICHT_BEARBEITEN|KEINE_GALERIE|INDEXIEREN|"
    "NICHT_INDEXIEREN|AUCUNSOMMAIRE|AUCUNTDM|SOMMAIRE|TDM|FORCERSOMMAIRE|FORCERTDM|SECTIONNONEDITABLE|"
    "AUCUNEGALERIE|NOTDC|FORZARTDC|TDC|NOEDITARSECCION|NOINDICE|INDICE|FORZAINDICE|SEMTDC|FORCARTDC|"
    "GEENINHOUD|"
    "GEEN_INHOUD|INHOUD|INHOUD_DWINGEN|FORCEERINHOUD|NIETBEWERKBARESECTIE|GEEN_GALERIJ|BEZSPISU|SPIS|"
    "BEZOBSAHU|"
    "OBSAH|INGENINNEHALLSFORTECKNING|INTETINDHOLD|EISISLLYSLUETTELOA|CUPRINS|FARACUPRINS";

using name_set = std::unordered_set<std::string>;

template <typename Use>
void for_each_name(std::string_view list, Use use) {
    while (!list.empty()) {
        const std::string_view name = list.substr(0, list.find('|'));
        list.remove_prefix(std::min(list.size(), name.size() + 1));
        use(name);
    }
}

name_set folded_set(std::string_view list) {
    name_set result;
    for_each_name(list, [&](std::string_view name) { result.insert(folded_name(name)); });
    return result;
}

std::unordered_map<std::string, int> namespace_index() {
    std::unordered_map<std::string, int> result;
    for_each_name(file_names, [&](std::string_view name) { result.emplace(folded_name(name), 6); });
    for_each_name(category_names, [&](std::string_view name) { result.emplace(folded_name(name), 14); });
    for_each_name(english_namespaces, [&](std::string_view item) {
        const std::size_t equals = item.find('=');
        result.insert_or_assign(folded_name(item.substr(equals + 1)),
                                std::stoi(std::string(item.substr(0, equals))));
    });
    return result;
}

}  // namespace

int shared_namespace(std::string_view folded) {
    static const auto index = namespace_index();
    const auto found = index.find(std::string(folded));
    return found == index.end() ? 0 : found->second;
}

bool is_language_code(std::string_view folded) {
    static const name_set codes = folded_set(language_codes);
    return folded.size() <= 12 && codes.contains(std::string(folded));
}

bool is_site_prefix(std::string_view folded) {
    static const name_set prefixes = folded_set(site_prefixes);
    return folded.size() <= 15 && prefixes.contains(std::string(folded));
}

bool is_redirect_word(std::string_view folded) {
    static const name_set words = folded_set(redirect_words);
    return words.contains(std::string(folded));
}

bool is_behaviour_switch(std::string_view word) {
    bool ascii = true;
    for (const char c : word) {
        if (static_cast<unsigned char>(c) >= 0x80) {
            ascii = false;
        } else if (!(c >= 'A' && c <= 'Z') && c != '_') {
            return false;
        }
    }
    if (!ascii) return true;
    static const name_set switches = [] {
        name_set result;
        for_each_name(ascii_switches, [&](std::string_view name) { result.emplace(name); });
        return result;
    }();
    return switches.contains(std::string(word));
}

std::string folded_name(std::string_view name) {
    std::string spaced;
    bool ascii = true;
    for (char c : name) {
        ascii = ascii && static_cast<unsigned char>(c) < 0x80;
        if (c == '_' || c == '\t' || c == '\n' || c == '\r') c = ' ';
        if (c == ' ' && (spaced.empty() || spaced.back() == ' ')) continue;
        spaced += c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    }
    if (!spaced.empty() && spaced.back() == ' ') spaced.pop_back();
    if (ascii) return spaced;
    std::string folded;
    icu::StringByteSink<std::string> sink(&folded);
    UErrorCode status = U_ZERO_ERROR;
    icu::CaseMap::utf8Fold(0, icu::StringPiece(spaced.data(), static_cast<std::int32_t>(spaced.size())), sink,
                           nullptr, status);
    return U_SUCCESS(status) ? folded : spaced;
}

}  // namespace quern::io
