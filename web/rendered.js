// SPDX-License-Identifier: Apache-2.0
// The HTML of a document, made by its author or from Markdown, as elements of this page. It is parsed into a document of its
// own, in which nothing runs or loads; only what is listed here is built anew. Nothing is inserted as markup.

import { byStore, element } from './common.js';

const names = (text) => new Set(text.split(' '));
const KEPT = names('A ABBR B BLOCKQUOTE BR CAPTION CITE CODE DD DEL DFN DL DT EM FIGCAPTION FIGURE HR I INS KBD LI OL P PRE Q S SAMP SMALL STRONG SUB SUP TABLE TBODY TD TFOOT TH THEAD TR U UL VAR');
const BLOCKS = names('ADDRESS ARTICLE ASIDE CENTER DETAILS DIV FOOTER FORM HEADER HGROUP MAIN NAV SECTION SUMMARY');
const DROPPED = names('AUDIO BASE BUTTON CANVAS DIALOG EMBED FRAME FRAMESET HEAD IFRAME INPUT LINK MAP MATH META NOSCRIPT OBJECT PARAM SCRIPT SELECT STYLE SVG TEMPLATE TEXTAREA TITLE TRACK VIDEO');
const ANCHOR = 'in-document-';

const fileAddress = (path) => byStore(`/files/${path.split('/').map(encodeURIComponent).join('/')}`);

// The address of a link that leads elsewhere on the web, or null.
function elsewhere(address) {
  try {
    const url = new URL(address);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

function image(from, paths) {
  const address = from.getAttribute('src') ?? '';
  const alt = from.getAttribute('alt') ?? '';
  const path = paths.get(address)?.path;
  if (path !== undefined) {
    const made = element('img', { src: fileAddress(path), alt, loading: 'lazy' });
    made.addEventListener('error', () => made.replaceWith(element('span', { className: 'missing', textContent: alt || path })));
    return made;
  }
  const href = elsewhere(address);
  if (!href) return alt;
  return element('a', { href, rel: 'noopener noreferrer', textContent: alt || 'image' }); // images of other sites are not loaded
}

function link(from, paths, toDocument) {
  const address = from.getAttribute('href') ?? '';
  const target = paths.get(address);
  if (target?.document) return toDocument(target.path);
  if (address.startsWith('#') && address.length > 1) {
    const made = element('a', { href: address });
    made.addEventListener('click', (event) => {
      event.preventDefault();
      let name = address.slice(1);
      try {
        name = decodeURIComponent(name);
      } catch { /* as it stands */ }
      document.getElementById(ANCHOR + name)?.scrollIntoView();
    });
    return made;
  }
  const href = elsewhere(address);
  return href ? element('a', { href, rel: 'noopener noreferrer' }) : element('span');
}

const whole = (text, least, most) => {
  const value = Number.parseInt(text ?? '', 10);
  return Number.isFinite(value) ? Math.min(Math.max(value, least), most) : null;
};

// The element that stands for `from`, without its children; null: only the children.
function counterpart(from, paths, toDocument) {
  const name = from.nodeName;
  const level = /^H([1-6])$/.exec(name);
  if (level) return element(`h${Math.min(6, Number(level[1]) + 1)}`); // the first level is the title of the page
  if (name === 'A') return from.hasAttribute('href') ? link(from, paths, toDocument) : element('span');
  if (BLOCKS.has(name)) return element('div');
  if (!KEPT.has(name)) return null;
  const made = element(name.toLowerCase());
  if (name === 'OL') made.start = whole(from.getAttribute('start'), -1e9, 1e9) ?? 1;
  if (name === 'TD' || name === 'TH') {
    made.colSpan = whole(from.getAttribute('colspan'), 1, 1000) ?? 1;
    made.rowSpan = whole(from.getAttribute('rowspan'), 1, 1000) ?? 1;
  }
  return made;
}

// Wide tables and code scroll by themselves, with the keyboard, too.
function scrolled(made) {
  if (made.nodeName === 'TABLE') return element('div', { className: 'wide', tabIndex: 0, role: 'region', ariaLabel: 'table' }, made);
  if (made.nodeName === 'PRE') made.tabIndex = 0;
  return made;
}

function copy(from, into, paths, toDocument) {
  for (const node of from.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) into.append(node.data);
    if (node.nodeType !== Node.ELEMENT_NODE || node.namespaceURI !== 'http://www.w3.org/1999/xhtml' || DROPPED.has(node.nodeName)) continue;
    if (node.nodeName === 'IMG') {
      into.append(image(node, paths));
      continue;
    }
    const made = counterpart(node, paths, toDocument);
    copy(node, made ?? into, paths, toDocument);
    if (!made) continue;
    if (node.id || node.getAttribute('name')) made.id = ANCHOR + (node.id || node.getAttribute('name'));
    into.append(scrolled(made));
  }
}

// `source`: of /api/documents. `title`: a heading that repeats it at the beginning is left out. `toDocument`: makes a link to
// another document.
export function rendered(source, title, toDocument) {
  const parsed = new DOMParser().parseFromString(source.text, 'text/html');
  const made = document.createDocumentFragment();
  copy(parsed.body, made, new Map(source.links.map((of) => [of.address, of])), toDocument);
  const first = made.querySelector('h2');
  if (first && first.textContent.trim() === title.trim() && !first.previousElementSibling) first.remove();
  withEvenLevels(made);
  return made;
}

// The headings below that of the page, without gaps between their levels.
function withEvenLevels(made) {
  const open = [];
  for (const heading of made.querySelectorAll('h2, h3, h4, h5, h6')) {
    const level = Number(heading.localName[1]);
    while (open.at(-1) >= level) open.pop();
    open.push(level);
    if (open.length + 1 === level) continue;
    const even = element(`h${open.length + 1}`, {}, ...heading.childNodes);
    if (heading.id) even.id = heading.id;
    heading.replaceWith(even);
  }
}

// ---- marks

const WITHOUT_BLANKS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const PART = '[\\p{L}\\p{N}\\p{M}]';

function pattern(words) {
  const sorted = [...words].sort((a, b) => b.length - a.length);
  const alternatives = sorted.map((word) => {
    const literal = word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
    const [first, last] = [[...word][0], [...word].at(-1)];
    return `${WITHOUT_BLANKS.test(first) ? '' : `(?<!${PART})`}${literal}${WITHOUT_BLANKS.test(last) ? '' : `(?!${PART})`}`;
  });
  return new RegExp(alternatives.join('|'), 'gu');
}

// Marks whole words, written as they are given.
export function markWords(root, words) {
  if (words.size === 0) return;
  const wanted = pattern(words);
  const texts = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) {
    const pieces = [];
    let done = 0;
    for (const match of text.data.matchAll(wanted)) {
      pieces.push(text.data.slice(done, match.index), element('mark', { textContent: match[0] }));
      done = match.index + match[0].length;
    }
    if (pieces.length) text.replaceWith(...pieces, text.data.slice(done));
  }
}
