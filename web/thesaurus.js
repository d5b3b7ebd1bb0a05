// SPDX-License-Identifier: Apache-2.0
// The thesaurus as a graph to walk: a word in the middle, its nearest words around it, and theirs outside. The list below
// says the same in text.

import { ask, bar, byId, byStore, element, searchAddress, showPages, storeOf } from './common.js';

const NEAR = 12;
const OUTER = 3;          // words of each of these
const SIZE = 640;
const SVG = 'http://www.w3.org/2000/svg';
const box = byId('w');
let pending = new AbortController();

const addressOf = (word) => byStore(`/thesaurus.html?${new URLSearchParams({ w: word })}`);

function shape(name, attributes, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const say = (message, isError = false) => {
  byId('status').textContent = message;
  byId('status').classList.toggle('error', isError);
};

// A link within the page.
function walk(link, word) {
  link.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    history.pushState(null, '', addressOf(word));
    show();
  });
  return link;
}

function at(angle, radius) {
  return { x: SIZE / 2 + radius * Math.cos(angle), y: SIZE / 2 + radius * Math.sin(angle) };
}

function node(place, kind) {
  const anchor = place.kind === 'centre' || Math.abs(place.x - SIZE / 2) < 20 ? 'middle' : place.x > SIZE / 2 ? 'start' : 'end';
  const label = shape('text', { x: place.x + (anchor === 'start' ? 9 : anchor === 'end' ? -9 : 0), y: place.y + (anchor === 'middle' ? (place.kind !== 'centre' && place.y > SIZE / 2 ? 20 : -11) : 4), 'text-anchor': anchor }, place.word);
  const link = shape('a', { href: addressOf(place.word), class: kind, tabindex: '-1' }, shape('circle', { cx: place.x, cy: place.y, r: kind === 'centre' ? 9 : kind === 'near' ? 6 : 3.5 }), label);
  return walk(link, place.word);
}

// `near`: the nearest words with theirs, in their order.
function draw(word, near) {
  const places = new Map([[word, { word, kind: 'centre', x: SIZE / 2, y: SIZE / 2 }]]);
  near.forEach((of, i) => places.set(of.word, { word: of.word, kind: 'near', angle: (2 * Math.PI * i) / near.length - Math.PI / 2, ...at((2 * Math.PI * i) / near.length - Math.PI / 2, SIZE * 0.24) }));
  const lines = near.map((of) => [word, of.word]);
  for (const of of near) {
    const { angle } = places.get(of.word);
    const others = of.similar.filter((other) => !places.has(other.word)).slice(0, OUTER);
    others.forEach((other, i) => places.set(other.word, { word: other.word, kind: 'outer', ...at(angle + ((i - (others.length - 1) / 2) * 0.46 * Math.PI) / near.length, SIZE * 0.4) }));
    for (const other of of.similar) if (places.has(other.word) && other.word !== word) lines.push([of.word, other.word]);
  }
  const drawn = lines.map(([a, b]) => {
    const [from, to] = [places.get(a), places.get(b)];
    return shape('line', { x1: from.x, y1: from.y, x2: to.x, y2: to.y, class: a === word ? 'strong' : from.kind === 'outer' || to.kind === 'outer' ? 'far' : '' });
  });
  // A phone shows only the nearest words.
  const shownBox = matchMedia('(max-width: 34rem)').matches ? [0.5 - 0.45, 0.5 - 0.3, 0.9, 0.6].map((part) => part * SIZE) : [-90, 0, SIZE + 180, SIZE];
  const picture = shape('svg', { viewBox: shownBox.join(' '), 'aria-hidden': 'true' }, ...drawn, ...[...places.values()].reverse().map((place) => node(place, place.kind)));
  byId('graph').replaceChildren(picture);
}

async function similarTo(words, k, signal) {
  const answer = await ask('/api/words', { q: words.join(' '), k }, signal);
  return answer.words;
}

async function show() {
  pending.abort();
  pending = new AbortController();
  const { signal } = pending;
  const asked = new URLSearchParams(location.search).get('w') ?? '';
  box.value = asked;
  try {
    const store = await storeOf();
    document.title = `${asked ? `${asked} – ` : ''}Thesaurus – ${store.name}`;
    await showPages(['w']);
    if (!store.offers.includes('thesaurus')) return say('This store has no thesaurus; quern build makes one unless it is skipped.');
    let word = asked.trim();
    if (!word) word = (await ask('/api/statistics', { words: 1, documents: 0 }, signal)).words[0]?.word ?? '';
    const [of] = await similarTo([word], NEAR, signal);
    byId('near-part').hidden = !of?.similar.length;
    if (!of?.similar.length) {
      byId('graph').replaceChildren();
      return say(word ? `The thesaurus does not have “${word}”: it is rare, a stop word, or no single word.` : 'The collection has no words.');
    }
    const around = await similarTo(of.similar.map((near) => near.word), NEAR, signal);
    const found = new Map(around.map((near) => [near.word, near.similar]));
    draw(of.word, of.similar.map((near) => ({ ...near, similar: found.get(near.word) ?? [] })));
    byId('near-title').textContent = `Used like “${of.word}”`;
    byId('near').replaceChildren(...of.similar.map((near) => element('li', {},
      element('span', { className: 'label' }, walk(element('a', { href: addressOf(near.word), textContent: near.word }), near.word)),
      bar(near.score / of.similar[0].score),
      element('span', { className: 'count' }, `${near.score.toFixed(3)} `, element('a', { href: searchAddress({ q: near.word }), textContent: 'search', ariaLabel: `search for ${near.word}` })))));
    return say('');
  } catch (failure) {
    if (failure.name !== 'AbortError') say(failure.message, true);
    return undefined;
  }
}

byId('form').addEventListener('submit', (event) => {
  event.preventDefault();
  history.pushState(null, '', addressOf(box.value.trim()));
  show();
});
addEventListener('popstate', show);
show();
