// SPDX-License-Identifier: Apache-2.0
// What all pages share: elements, requests to the API, and the links between the pages. Texts are inserted as text, never as
// markup.

export const byId = (id) => document.getElementById(id);
export const number = new Intl.NumberFormat('en');

export function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// The store that the address names; empty: the first of the server. Another one is another page.
export const storeName = new URLSearchParams(location.search).get('store') ?? '';

// An address with the name of the store, if this one has it.
export function byStore(address) {
  if (!storeName) return address;
  return `${address}${address.includes('?') ? '&' : '?'}${new URLSearchParams({ store: storeName })}`;
}

// An error of the server as a sentence for readers.
function sentence(detail) {
  if (!detail) return '';
  const missing = /^(?:like: )?there is no document '(.*)'$/s.exec(detail);
  if (missing) return `This collection has no document “${missing[1]}”.`;
  return `The request failed: ${detail}.`;
}

export async function ask(path, parameters, signal) {
  const query = new URLSearchParams(parameters).toString();
  let response;
  try {
    response = await fetch(byStore(query ? `${path}?${query}` : path), { signal });
  } catch (failure) {
    if (failure.name === 'AbortError') throw failure;
    throw new Error('The server does not respond.');
  }
  const body = await response.json();
  signal?.throwIfAborted(); // the page has moved on
  if (!response.ok) throw new Error(sentence(body.detail) || `The server returned status ${response.status}.`);
  return body;
}

// The search page for a query, or for a document.
export const searchAddress = (parameters) => byStore(`/?${new URLSearchParams(parameters)}`);

// The store, once known: its counts, fields, limits, and what it offers besides words.
let known = null;
export const storeOf = () => (known ??= ask('/api/store', {}).catch((failure) => {
  known = null;
  throw failure;
}));

// The fields that a word of a query can be searched in alone, as name:word. Queries of words with weights have no operators.
export const searchedFields = (store) => (store.listed === 'weights' ? [] : ['title', 'text', ...store.indexed_fields]);

// A choice of the store, if the server has several. The page begins anew with another one: `kept` are the parameters of the
// address that mean something there, too.
async function showStores(kept) {
  const { name, stores } = await storeOf();
  const select = byId('store');
  select.parentElement.hidden = stores.length < 2;
  if (stores.length < 2 || select.options.length) return;
  select.append(...stores.map((of) => element('option', { value: of.name, textContent: `${of.name} (${number.format(of.documents)})` })));
  select.value = name;
  select.addEventListener('change', () => {
    const here = new URLSearchParams(location.search);
    const parameters = new URLSearchParams(kept.flatMap((of) => (here.get(of) ? [[of, here.get(of)]] : [])));
    parameters.set('store', select.value);
    location.assign(`${location.pathname}?${parameters}`);
  });
}

// Shows the links to the pages that have something to show, and the choice of stores.
export async function showPages(kept = []) {
  const store = await storeOf();
  for (const link of document.querySelectorAll('[data-needs]')) {
    link.hidden = link.dataset.needs === 'copies' ? store.copies === 0 : !store.offers.includes(link.dataset.needs);
  }
  for (const link of document.querySelectorAll('nav a, a.brand')) {
    const address = link.getAttribute('href');
    if (address !== '/openapi.json' && !address.includes('store=')) link.setAttribute('href', byStore(address));
  }
  await showStores(kept);
}

// A bar from 0 to `share` of its place.
export function bar(share) {
  const made = element('i', { hidden: share === 0 });
  made.style.width = `${100 * share}%`;
  return element('span', { className: 'bar', ariaHidden: 'true' }, made);
}
