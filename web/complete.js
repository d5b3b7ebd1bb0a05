// SPDX-License-Identifier: Apache-2.0
// Completions of what is typed: a list box under the search box, as the ARIA practices describe a combobox. The words are
// those of the collection, in the most documents first; names of fields come after them.

import { ask, byId, element, number, searchedFields, storeOf } from './common.js';

const SHOWN = 6;
const FIELD_LETTERS = 2;  // of its name, until a field is offered
const box = byId('q');
const list = byId('completions');
let asking = new AbortController();
let chosen = -1;

export function closeCompletions() {
  asking.abort();
  chosen = -1;
  list.hidden = true;
  box.setAttribute('aria-expanded', 'false');
  box.removeAttribute('aria-activedescendant');
}

function choose(at) {
  const items = [...list.children];
  chosen = (at + items.length + 1) % (items.length + 1); // the last place is none
  items.forEach((item, i) => item.setAttribute('aria-selected', String(i === chosen)));
  if (items[chosen]) box.setAttribute('aria-activedescendant', items[chosen].id);
  else box.removeAttribute('aria-activedescendant');
}

// What is typed, with each searched field whose name begins as its last word does.
async function fieldQueries(typed) {
  const [, before, beginning] = /^((?:|.*[\s(])[+-]?)([^\s"()]*)$/s.exec(typed);
  if (beginning.length < FIELD_LETTERS) return [];
  const fields = searchedFields(await storeOf());
  return fields.filter((name) => name.toLowerCase().startsWith(beginning.toLowerCase())).map((name) => `${before}${name}:`);
}

function option(number_, query, note, label, take) {
  const item = element('li', { id: `completion-${number_}`, role: 'option' }, query, element('span', { textContent: note, ariaLabel: label }));
  item.setAttribute('aria-selected', 'false');
  item.addEventListener('pointerdown', (event) => {
    event.preventDefault(); // the box keeps the focus
    take(query);
  });
  return item;
}

// `take` receives the completed query; one that ends with a field and a colon goes on.
export async function offerCompletions(take) {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const typed = box.value;
  if (!/[^\s"()]$/.test(typed)) return closeCompletions();
  let answer, fields;
  try {
    [answer, fields] = await Promise.all([ask('/api/complete', { q: typed, k: SHOWN }, signal), fieldQueries(typed)]);
  } catch (failure) {
    if (failure.name !== 'AbortError') closeCompletions(); // the search itself says what is wrong
    return undefined;
  }
  const others = answer.words.filter((of) => of.word !== answer.beginning);
  if (document.activeElement !== box || others.length + fields.length === 0) return closeCompletions();
  list.replaceChildren(
    ...others.map((of, i) => option(i, of.query, number.format(of.documents), `, in ${number.format(of.documents)} documents`, take)),
    ...fields.map((query, i) => option(others.length + i, query, 'field', ', a field', take)));
  chosen = -1;
  box.removeAttribute('aria-activedescendant');
  list.hidden = false;
  return box.setAttribute('aria-expanded', 'true');
}

// Whether a key was for the list.
export function completionKey(event, take) {
  if (list.hidden) return false;
  if (event.key === 'Escape') closeCompletions();
  else if (event.key === 'ArrowDown') choose(chosen + 1);
  else if (event.key === 'ArrowUp') choose(chosen < 0 ? list.children.length - 1 : chosen - 1);
  else if (event.key === 'Enter' && list.children[chosen]) take(list.children[chosen].firstChild.textContent);
  else return false;
  event.preventDefault();
  return true;
}
