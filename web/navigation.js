// SPDX-License-Identifier: Apache-2.0
// The address of the search page says what it shows: searches and documents as addresses, links between them, and the
// history.

import { byStore, element } from './common.js';
import { clausesOf, filterOf } from './filters.js';

export const asked = () => new URLSearchParams(location.search);

export function addressOf(state) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(state)) {
    if (Array.isArray(value)) value.forEach((each) => query.append(name, each));
    else if (value) query.set(name, value);
  }
  const words = query.toString();
  return byStore(words ? `/?${words}` : '/');
}

// The options of a search that differ from the defaults.
export const searchOf = (parameters) => {
  const given = (name) => parameters.get(name) || '';
  return { q: given('q'), like: given('like'), model: given('model') === 'bm25' ? '' : given('model'), feedback: given('feedback'), dependence: given('dependence'), expand: given('expand'), prior: given('prior'), f: clausesOf(parameters), sort: given('sort') };
};

let show = async () => {};
let isTyping = false;

// `work` shows what the address says.
export const onNavigation = (work) => { show = work; };

export function go(address) {
  history.pushState(null, '', address);
  isTyping = false;
  return show();
}

// Submits a search. If it was typed it has its entry in the history already, perhaps with its first letters only.
export function submitTo(address) {
  history[isTyping ? 'replaceState' : 'pushState'](null, '', address);
  isTyping = false;
  return show();
}

// Results while typing: the address follows, with one entry in the history.
export function typeTo(address) {
  history[isTyping ? 'replaceState' : 'pushState'](null, '', address);
  isTyping = true;
  return show(true);
}

export const options = ({ f, ...search }) => Object.fromEntries(Object.entries({ ...search, filter: filterOf(f ?? []) }).filter(([, value]) => value));

// Whether a search has anything to search for.
export const asksAnything = (search) => Boolean(search.q || search.like || search.f.length);

// A link within the page: followed without reloading, unless it opens elsewhere.
export function followed(link, before = () => {}, after = () => {}) {
  link.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    before();
    go(link.getAttribute('href')).then(after);
  });
  return link;
}

// Pieces, alternately outside and inside the words of the query.
export const marked = (parts) => parts.map((part, i) => (i % 2 ? element('mark', { textContent: part }) : part));
