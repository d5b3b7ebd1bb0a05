// SPDX-License-Identifier: Apache-2.0
// The documents that have near-duplicates, those with most of them first.

import { ask, byId, element, number, searchAddress, showPages, storeOf } from './common.js';

const PAGE = 20;
const COPIES = 10;
const more = byId('more');
let next = 0;

const bytes = (count) => `${number.format(count)} ${count === 1 ? 'byte' : 'bytes'} changed`;

function group(of) {
  const copies = of.copies.map((copy) => element('li', {}, copy.title ? `${copy.title} ` : '', element('span', { textContent: `${copy.id}, ${copy.distance === 0 ? 'the same text' : bytes(copy.distance)}` })));
  const rest = of.copy_count - of.copies.length;
  if (rest > 0) copies.push(element('li', { textContent: `and ${number.format(rest)} more` }));
  return element('li', { className: 'hit' }, element('h2', {}, element('a', { href: searchAddress({ doc: of.id }), textContent: of.title || of.id })),
    element('p', { className: 'facts-line' }, element('span', { textContent: of.id }), element('span', { textContent: `${number.format(of.copy_count)} ${of.copy_count === 1 ? 'near-duplicate' : 'near-duplicates'}` })),
    element('div', { className: 'copies' }, element('ul', {}, ...copies)));
}

async function add() {
  more.disabled = true;
  try {
    const answer = await ask('/api/duplicates', { k: PAGE, offset: next, copies: COPIES });
    const items = answer.groups.map(group);
    byId('groups').append(...items);
    if (next > 0) items[0]?.querySelector('a').focus();
    next += items.length;
    more.hidden = next >= answer.total;
    byId('status').textContent = answer.total === 0 ? 'The build found no near-duplicates, or left them out.'
      : `${number.format(answer.duplicates)} near-duplicates of ${number.format(answer.total)} documents`;
  } finally {
    more.disabled = false;
  }
}

function fail(failure) {
  byId('status').textContent = failure.message;
  byId('status').classList.add('error');
}

more.addEventListener('click', () => add().catch(fail));
storeOf().then((store) => { document.title = `Near-duplicates – ${store.name}`; }, () => {});
showPages().catch(() => {});
add().catch(fail);
