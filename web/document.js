// SPDX-License-Identifier: Apache-2.0
// One document: as its folder has it, if the server knows the folder, else its text in paragraphs; with the words of the
// query marked, its fields, and documents like it.

import { ask, byId, byStore, element, number } from './common.js';
import { fieldsLine } from './filters.js';
import { addressOf, asksAnything, followed, marked } from './navigation.js';
import { markWords, rendered } from './rendered.js';

const [article, text, moreText, nextMatch] = ['document', 'text', 'more-text', 'next-match'].map(byId);
const ALIKE = 5;
const WHOLE = 1 << 20;    // bytes of a text from which the words to mark in a source are collected

// A link to the original, if the store keeps a field `url` that is an address of the web.
export function original(fields, name) {
  let address;
  try {
    address = new URL(fields?.url);
  } catch {
    return [];
  }
  if (!['http:', 'https:'].includes(address.protocol)) return [];
  return [element('a', { className: 'original-link', href: address.href, rel: 'noopener', textContent: 'original', ariaLabel: `original of ${name}` })];
}

// Splits the pieces of a text into paragraphs at empty lines; a mark never contains one.
function paragraphs(parts) {
  const made = [element('p')];
  parts.forEach((part, i) => {
    if (i % 2) return made.at(-1).append(element('mark', { textContent: part }));
    part.split(/\n[ \t]*\n\s*/).forEach((piece, j) => {
      if (j > 0) made.push(element('p'));
      made.at(-1).append(piece);
    });
  });
  return made.filter((p) => p.textContent.trim() !== '');
}

// Requests the text from `offset` on, and the source if it may have one.
async function addText(id, request, search, signal, report) {
  const answer = await ask('/api/documents', { id, q: search.q, ...request }, signal);
  const html = answer.source?.form === 'html';
  text.classList.toggle('verbatim', answer.source?.form === 'verbatim');
  if (html) {
    const made = rendered(answer.source, answer.title, (path) => followed(element('a', { href: addressOf({ ...search, doc: path }) })));
    text.append(made);
    markWords(text, new Set(answer.text_parts.filter((_, i) => i % 2)));
  } else if (text.classList.contains('verbatim')) {
    text.append(element('pre', { tabIndex: 0 }, ...marked(answer.text_parts)));
  } else {
    text.append(...paragraphs(answer.text_parts));
  }
  moreText.hidden = html || answer.next_offset === null;
  moreText.onclick = async () => {
    moreText.disabled = true;
    await addText(id, { ...request, offset: answer.next_offset }, search, signal, report).catch(report);
    moreText.disabled = false;
  };
  return answer;
}

// The document as a file, from the folder.
function fileLink(id, name) {
  return element('a', { className: 'original-link', href: byStore(`/files/${id.split('/').map(encodeURIComponent).join('/')}`), download: '', textContent: 'file', ariaLabel: `file of ${name}` });
}

async function showAlike(id, offered, signal) {
  const alike = byId('alike');
  alike.hidden = true;
  if (!offered.like) return;
  const answer = await ask('/api/search', { like: id, k: Math.min(ALIKE, offered.limits.results), snippets: 0, suggestions: 0 }, signal);
  alike.querySelector('ol').replaceChildren(...answer.hits.map((hit) => element('li', {},
    followed(element('a', { href: addressOf({ like: id, doc: hit.id }), textContent: hit.title || hit.id })))));
  alike.hidden = answer.hits.length === 0;
}

// Goes to the next match in the loaded text, and from the last one to the first.
let lastMatch = -1;
export function showNextMatch() {
  const matches = text.querySelectorAll('mark');
  matches[lastMatch]?.classList.remove('current');
  lastMatch = (lastMatch + 1) % matches.length;
  matches[lastMatch].classList.add('current');
  matches[lastMatch].scrollIntoView({ block: 'center' });
}

// `offered`: what the store offers. `typing`: whether the last word of the query is unfinished. `report` receives later failures.
export async function showDocument(id, search, { offered, typing, signal, report }) {
  text.replaceChildren();
  moreText.hidden = true;
  const request = { offset: 0, ...(offered.folder ? { source: 1, bytes: WHOLE } : {}), ...(typing ? { prefix_last: 1 } : {}) };
  const answer = await addText(id, request, search, signal, report);
  const name = answer.title || answer.id;
  const title = byId('document-title');
  title.replaceChildren(...(answer.title ? marked(answer.title_parts) : [answer.id]));
  byId('document-facts').replaceChildren(
    element('span', { textContent: answer.id }), element('span', { textContent: `${number.format(answer.words)} words` }),
    ...original(answer.fields, name), ...(answer.source ? [fileLink(answer.id, name)] : []));
  byId('document-fields').replaceChildren(...fieldsLine(answer.fields));
  byId('back').href = addressOf(search);
  byId('back').textContent = asksAnything(search) ? '← Results' : '← Search';
  document.title = `${name} – ${offered.name}`;
  showAlike(id, offered, signal).catch(() => {}); // the text does not need it
  article.hidden = false;
  scrollTo(0, 0);
  title.focus();
  lastMatch = -1;
  nextMatch.hidden = ![...text.querySelectorAll('mark')].some((mark) => mark.getBoundingClientRect().bottom > innerHeight);
}
