// SPDX-License-Identifier: Apache-2.0
// The collection as a whole.

import { ask, bar, byId, element, number, searchAddress, showPages, storeOf } from './common.js';

function row(label, count, share, href) {
  const name = href ? element('a', { href, textContent: label }) : element('span', { textContent: label });
  return element('li', {}, element('span', { className: 'label' }, name), bar(share), element('span', { className: 'count', textContent: count }));
}

function rows(list, items) {
  byId(list).replaceChildren(...items);
}

function showCounts(store) {
  const facts = [['documents', store.documents], ['words', store.words], ['distinct words', store.vocabulary], ['links', store.links], ['near-duplicates, excluded', store.copies]];
  const bytes = store.sections.reduce((sum, section) => sum + section.bytes, 0);
  byId('counts').replaceChildren(...[...facts.map(([name, value]) => [name, number.format(value)]), ['size of the store', `${number.format(Math.ceil(bytes / 1e6))} MB`], ['format', String(store.format_version)], ['language of the word rules', store.language], ['stems', store.stem], ['Unicode', store.unicode_version]]
    .flatMap(([name, value]) => [element('dt', { textContent: name }), element('dd', { textContent: value })]));
}

function showLengths({ shortest, median, longest, documents }) {
  byId('lengths-range').textContent = documents.length ? `From ${number.format(shortest)} to ${number.format(longest)}; half of the documents have at most ${number.format(median)}.` : '';
  const greatest = Math.max(...documents.map((of) => of.documents), 1);
  const first = documents.findIndex((of) => of.documents > 0);
  rows('lengths', documents.slice(Math.max(first, 0)).map((of) => {
    const to = Math.max(2 * of.from - 1, of.from);
    return row(to === of.from ? number.format(of.from) : `${number.format(of.from)} to ${number.format(to)}`, number.format(of.documents), of.documents / greatest);
  }));
}

async function show() {
  byId('status').textContent = 'Loading…';
  const store = await storeOf();
  document.title = `Statistics – ${store.name}`;
  showCounts(store);
  await showPages();
  const answer = await ask('/api/statistics', { words: 40, documents: 15 });
  showLengths(answer.lengths);
  const most = Math.max(...answer.words.map((of) => of.occurrences), 1);
  rows('words', answer.words.map((of) => row(of.word, `${number.format(of.occurrences)} in ${number.format(of.documents)}`, of.occurrences / most, searchAddress({ q: of.word }))));
  const highest = Math.max(...answer.linked.map((of) => of.rank), 1);
  rows('linked', answer.linked.map((of) => row(of.title || of.id, of.rank.toFixed(1), of.rank / highest, searchAddress({ doc: of.id }))));
  byId('linked-part').hidden = answer.linked.length === 0;
  rows('store-fields', store.fields.map((field) => row(`${field.name} (${field.type}${store.indexed_fields.includes(field.name) ? ', searched' : ''})`, number.format(field.documents), field.documents / Math.max(store.documents, 1))));
  byId('fields-part').hidden = store.fields.length === 0;
  byId('status').textContent = '';
}

show().catch((failure) => {
  byId('status').textContent = failure.message;
  byId('status').classList.add('error');
});
