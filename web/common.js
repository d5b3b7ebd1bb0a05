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
    response = await fetch(query ? `${path}?${query}` : path, { signal });
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
export const searchAddress = (parameters) => `/?${new URLSearchParams(parameters)}`;

// The store, once known: its counts, fields, limits, and what it offers besides words.
let known = null;
export const storeOf = () => (known ??= ask('/api/store', {}).catch((failure) => {
  known = null;
  throw failure;
}));

// Shows the links to the pages that have something to show.
export async function showPages() {
  const store = await storeOf();
  for (const link of document.querySelectorAll('[data-needs]')) {
    link.hidden = link.dataset.needs === 'copies' ? store.copies === 0 : !store.offers.includes(link.dataset.needs);
  }
}

// A bar from 0 to `share` of its place.
export function bar(share) {
  const made = element('i', { hidden: share === 0 });
  made.style.width = `${100 * share}%`;
  return element('span', { className: 'bar', ariaHidden: 'true' }, made);
}
