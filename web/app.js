// SPDX-License-Identifier: Apache-2.0
// The search page: the address alone determines what is shown (?q=words&model=ql&expand=3&prior=0.05 or ?like=id, &f=clause of a
// filter, &sort=field, and &doc=id for a document), so that it can be shared, bookmarked and revisited.

import { ask, byId, element, number, searchedFields, showPages, storeOf } from './common.js';
import { closeCompletions, completionKey, offerCompletions } from './complete.js';
import { original, showDocument, showNextMatch } from './document.js';
import { clausesOf, showChoices, showSorts } from './filters.js';
import { addressOf, asked, asksAnything, followed, go, marked, onNavigation, options, searchOf, submitTo, typeTo } from './navigation.js';
import { chosen, fillChoices, showChosen } from './ranking.js';
import { whyTable } from './why.js';

const [form, box, status, facts, results, similar, hits, more, article] =
  ['form', 'q', 'status', 'facts', 'results', 'similar', 'hits', 'more', 'document'].map(byId);
const PAGE = 10;
const TYPING_PATIENCE = 250;        // milliseconds that a search gets while keys wait
// The search whose hits are listed, their number, the status message, and whether the additional parts are
// loaded. `answered`: that search, with unknown words replaced by known ones.
const nothingShown = { key: null, answered: null, next: 0, told: '', like: false, similar: false, choices: false };
let shown = { ...nothingShown };
let opened = null;                  // the link of the last opened hit
let unfinished = null;              // the query whose last word was being typed when its results were shown
let pending = new AbortController();
let offered = null;                 // what the store offers besides words, and the server's limits, once known

function report(failure) {
  if (failure.name !== 'AbortError') say(failure.message, true);
}

function say(message, isError = false) {
  status.textContent = message;
  status.classList.toggle('error', isError);
}

// ---- results

// How many results to request after `count`: the server has a limit.
const pageBehind = (count, most = PAGE) => Math.min(most, offered.limits.results - count);

function toggleCopies(item, button, hit) {
  const open = button.getAttribute('aria-expanded') === 'true';
  button.setAttribute('aria-expanded', String(!open));
  if (open) return item.querySelector('.copies').remove();
  const copies = hit.copies.map((copy) => element('li', {}, copy.title ? `${copy.title} ` : '',
    element('span', { textContent: `${copy.id}, ${number.format(copy.distance)} ${copy.distance === 1 ? 'byte' : 'bytes'} changed` })));
  const more = hit.copy_count - hit.copies.length;
  if (more > 0) copies.push(element('li', { textContent: `and ${number.format(more)} more` }));
  return item.append(element('div', { className: 'copies', id: `copies-${hit.rank}` },
    element('p', { textContent: 'Near-duplicates, excluded from the collection:' }), element('ul', {}, ...copies)));
}

async function toggleWhy(item, button, hit, search) {
  const open = button.getAttribute('aria-expanded') === 'true';
  button.setAttribute('aria-expanded', String(!open));
  if (open) return item.querySelector('.why').remove();
  const panel = element('div', { className: 'why', id: `why-${hit.rank}`, textContent: '…' });
  item.append(panel);
  try {
    const answer = await ask('/api/search', { ...options(search), explain: 1, snippets: 0, suggestions: 0, k: 1, offset: hit.rank - 1 }, pending.signal);
    panel.replaceChildren(whyTable(answer.hits[0], answer.hits[0].explanation));
  } catch (failure) {
    if (failure.name !== 'AbortError') {
      panel.textContent = failure.message;
    } else if (panel.isConnected) { // requested again when reopened
      panel.remove();
      button.setAttribute('aria-expanded', 'false');
    }
  }
}

function hitItem(hit, search) {
  const link = element('a', { href: addressOf({ ...search, doc: hit.id }) });
  link.append(...(hit.title ? marked(hit.title_parts) : [hit.id]));
  const name = `result ${hit.rank}, ${hit.title || hit.id}`;
  const button = (text, what, label) => {
    const made = element('button', { type: 'button', className: `quiet ${what}-button`, textContent: text });
    made.setAttribute('aria-expanded', 'false');
    made.setAttribute('aria-controls', `${what}-${hit.rank}`);
    made.setAttribute('aria-label', label);
    return made;
  };
  const why = button('why', 'why', `why ${name}`);
  const beside = [];
  if (hit.copies?.length) {
    const copies = button(hit.copy_count === 1 ? '1 duplicate' : `${number.format(hit.copy_count)} duplicates`, 'copies', `duplicates of ${name}`);
    copies.addEventListener('click', () => toggleCopies(item, copies, hit));
    beside.push(copies);
  }
  if (offered?.like) {
    const like = element('a', { className: 'like-link', href: addressOf({ like: hit.id }), textContent: 'more like this', ariaLabel: `more like ${name}` });
    beside.push(followed(like, () => { opened = null; }));
  }
  beside.push(...original(hit.fields, name));
  const item = element('li', { className: 'hit', value: hit.rank },
    element('h2', {}, link),
    element('p', { className: 'snippet' }, ...marked(hit.snippet_parts)),
    element('p', { className: 'facts-line' },
      element('span', {}, `${hit.rank}. `, element('b', { textContent: hit.score.toFixed(4) })),
      ...(hit.title && hit.title !== hit.id ? [element('span', { className: 'id', textContent: hit.id })] : []), why, ...beside));
  followed(link, () => { opened = link; });
  why.addEventListener('click', () => toggleWhy(item, why, hit, search));
  return item;
}

// Above the results: the document they are similar to, suggestions for the query, additional words searched
// for.
async function tellLike(search, signal) {
  const line = byId('like');
  line.hidden = true;
  if (!search.like) return;
  const document_ = await ask('/api/documents', { id: search.like, bytes: 4 }, signal);
  const link = element('a', { href: addressOf({ ...search, doc: search.like }), textContent: document_.title || document_.id });
  line.replaceChildren('Documents like ', followed(link));
  line.hidden = false;
  shown.like = true;
}

function tellMeant(answer, search) {
  const line = byId('meant');
  line.hidden = !answer.did_you_mean;
  if (!answer.did_you_mean) return;
  const link = element('a', { href: addressOf({ ...search, q: answer.did_you_mean }), textContent: answer.did_you_mean });
  followed(link, () => { opened = null; }, () => hits.querySelector('a')?.focus({ preventScroll: true }));
  line.replaceChildren(...(answer.corrected_query ? ['Showing results for ', link, '.'] : ['Did you mean ', link, '?']));
}

// Words that are still being typed are not missing.
function tellSearch(answer, count, search, typing = false) {
  shown.told = toldOf(typing ? { ...answer, unknown_words: [], syntax_note: null } : answer, count, search);
  say(shown.told);
}

// Words in the order of their first occurrence in the query.
function inQueryOrder(words, q) {
  const query = q.toLowerCase();
  const place = (word) => {
    const at = query.indexOf(word.startsWith('"') ? word.slice(1, -1) : word);
    return at < 0 ? query.length : at;
  };
  return [...words].sort((a, b) => place(a) - place(b));
}

function toldOf(answer, count, search) {
  const unknown = inQueryOrder(answer.unknown_words, search.q).map((word) => (word.startsWith('"') ? word : `“${word}”`)).join(', ');
  if (answer.empty_query && !answer.like) return 'The query contains no word.';
  const missing = unknown ? `No document contains ${unknown}.` : '';
  const field = /^(.*) is a kept field: /.exec(answer.syntax_note ?? '')?.[1];
  const note = field ? `${field} is a kept field: see “Narrow the results”.` : answer.syntax_note ? `Read as words: ${answer.syntax_note}.` : '';
  if (count === 0) return `${missing || 'Nothing found.'} ${note}`.trim();
  const time = `${(1000 * answer.seconds).toFixed(1)} ms`;
  const results_ = `${number.format(answer.total ?? count)} ${(answer.total ?? count) === 1 ? 'result' : 'results'}`;
  const found = answer.more || count >= offered.limits.results ? `Top ${number.format(count)} of ${results_}` : results_;
  const also = answer.similar_words.length ? `Also searched for: ${answer.similar_words.map((of) => of.word).join(', ')}.` : '';
  return [`${found} in ${time}.`, missing, note, also].filter(Boolean).join(' ');
}

// `typing`: the last word is unfinished.
async function showHits(search, signal, typing = false) {
  const key = addressOf(search) + (typing ? ' …' : '');
  if (shown.key === key) { // back from a document: unchanged
    say(shown.told);
  } else {
    if (!typing) say('Searching…');
    const answer = await ask('/api/search', { ...options(search), k: pageBehind(0), parts: 1, total: 1, ...(typing ? { prefix_last: 1 } : { correct: 1 }) }, signal);
    const answered = answer.corrected_query ? { ...search, q: answer.corrected_query } : search;
    hits.replaceChildren(...answer.hits.map((hit) => hitItem(hit, answered)));
    shown = { ...nothingShown, key, answered, next: answer.hits.length };
    more.hidden = !answer.more;
    tellSearch(answer, shown.next, search, typing);
    tellMeant(answer, search);
  }
  // The results do not need these.
  if (!shown.like) tellLike(search, signal).catch(() => {});
  if (typing) return;
  if (!shown.similar) showSimilar(shown.answered, signal).catch(() => {});
  if (!shown.choices) {
    showChoices(options(shown.answered), search.f, (clause) => narrow(search, clause), signal).then(() => { shown.choices = true; }, () => {});
  }
}

// Adds a clause to the filter, or removes it.
function narrow(search, clause) {
  const f = search.f.includes(clause) ? search.f.filter((other) => other !== clause) : [...search.f, clause];
  opened = null;
  return go(addressOf({ ...search, f }));
}

// Next to the results: words that the collection uses like those of the query. A click adds a word to the
// query.
async function showSimilar(search, signal) {
  similar.hidden = true;
  if (!offered?.words || !search.q) return;
  const answer = await ask('/api/words', { q: search.q }, signal);
  const rows = answer.words.filter((of) => of.similar.length).flatMap((of) => [
    element('dt', { textContent: of.word }),
    element('dd', {}, ...of.similar.map((near) => {
      const address = addressOf({ ...search, q: `${search.q} ${near.word}` });
      const link = element('a', { href: address, textContent: near.word, title: `score ${near.score.toFixed(3)}; adds the word to the search` });
      return followed(link, () => { opened = null; });
    }))]);
  byId('similar-words').replaceChildren(...rows);
  similar.hidden = rows.length === 0;
  shown.similar = true;
}

async function showMore() {
  const search = searchOf(asked());
  more.disabled = true;
  try {
    const answer = await ask('/api/search', { ...options(search), k: pageBehind(shown.next), offset: shown.next, parts: 1, total: 1, correct: 1 }, pending.signal);
    const items = answer.hits.map((hit) => hitItem(hit, shown.answered));
    hits.append(...items);
    shown.next += items.length;
    more.hidden = !answer.more;
    tellSearch(answer, shown.next, search);
    if (items.length) items[0].querySelector('a').focus();
  } catch (failure) {
    report(failure);
  } finally {
    more.disabled = false;
  }
}

// ---- state from the address

// Requests once what the store offers.
async function learnOffers() {
  if (offered) return;
  const [{ name, offers: has, limits }] = await Promise.all([storeOf(), fillChoices()]);
  offered = { name, words: has.includes('thesaurus'), prior: has.includes('link_ranks'), like: has.includes('document_vectors'), folder: has.includes('folder'), limits };
  byId('expand-choice').hidden = !offered.words;
  byId('prior-choice').hidden = !offered.prior;
  showSearchedFields(await storeOf());
  await showSorts(byId('sort'), '');
  await showPages(['q', 'model', 'feedback', 'dependence']);
}

async function showFacts() {
  const store = await storeOf();
  facts.replaceChildren(
    element('b', { className: 'name', textContent: store.name }),
    element('strong', { textContent: number.format(store.documents) }), ' documents, ',
    element('strong', { textContent: number.format(store.words) }), ' words, ',
    element('strong', { textContent: number.format(store.vocabulary) }), ' distinct words');
}

async function show(typing = false) {
  pending.abort();
  pending = new AbortController();
  const { signal } = pending;
  const parameters = asked();
  const search = searchOf(parameters);
  const id = parameters.get('doc');
  if (!typing) {
    box.value = search.q;
    closeCompletions();
  }
  byId('expand').checked = Boolean(search.expand);
  byId('prior').checked = Boolean(search.prior);
  byId('sort').value = search.sort;
  const searched = asksAnything(search);
  document.body.classList.toggle('at-home', !searched && id === null);
  facts.hidden = searched || id !== null;
  results.hidden = !searched || id !== null;
  article.hidden = true;
  byId('heading').hidden = id !== null;
  byId('heading').textContent = searched ? 'Results' : 'Search';
  const of = search.q || (search.like && `Like ${search.like}`) || search.f.join(', ') || 'Quern';
  document.title = of;
  try {
    await learnOffers();
    if (signal.aborted) return;
    showChosen(search);
    document.title = `${of} – ${offered.name}`;
    if (id !== null) {
      await showDocument(id, search, { offered, typing: search.q !== '' && search.q === unfinished, signal, report });
      say('');
    } else if (searched) {
      byId('sort').value = search.sort;
      unfinished = typing ? search.q : null;
      await showHits(search, signal, typing);
      if (opened?.isConnected && !typing) opened.focus();
    } else {
      say('');
      await showFacts();
    }
  } catch (failure) {
    if (failure.name === 'AbortError') return;
    results.hidden = true;
    shown.key = null;
    say(failure.message, true);
  }
}

// ---- input

// Starts a search; returns false for a query that is too long, which stays in the box.
async function submit() {
  const bytes = new TextEncoder().encode(box.value.trim()).length;
  if (offered && bytes > offered.limits.query_bytes) {
    say(`The query is too long: ${number.format(bytes)} bytes of UTF-8 (at most ${number.format(offered.limits.query_bytes)}).`, true);
    return false;
  }
  isBehind = isUnfinished = false;
  closeCompletions();
  opened = null;
  shown.key = null; // always request again
  await submitTo(addressOf(searchInForm()));
  return true;
}

// What the form says; the filter stays while the words change.
function searchInForm() {
  const checked = (id) => (byId(id).checked ? byId(id).value : '');
  return { q: box.value.trim(), model: chosen('model'), feedback: chosen('feedback'), dependence: chosen('dependence'), expand: checked('expand'), prior: checked('prior'), f: clausesOf(asked()), sort: byId('sort').value };
}

// Each key searches at once, unless a search is on its way: then the next begins after it, or instead of it if it takes long.
let isSearching = false;
let isBehind = false;
let isUnfinished = false; // nothing was submitted since the last key
const later = (milliseconds) => new Promise((done) => { setTimeout(done, milliseconds); });
async function searchWhileTyping() {
  isUnfinished = true;
  isBehind = isSearching;
  if (isSearching) return;
  isSearching = true;
  do {
    isBehind = false;
    if (!offered || new TextEncoder().encode(box.value.trim()).length > offered.limits.query_bytes) break;
    opened = null;
    await Promise.race([typeTo(addressOf(searchInForm())), later(TYPING_PATIENCE)]);
  } while (isBehind);
  isSearching = false;
  if (isUnfinished) offerCompletions(takeCompletion); // after the hits, which matter more
}

function takeCompletion(query) {
  box.value = query;
  closeCompletions();
  if (!query.endsWith(':')) submit(); // else a field, whose word comes next
}

// In the help: a button for each field, which begins a word in it.
function showSearchedFields(store) {
  byId('query-help').hidden = searchedFields(store).length === 0;
  byId('fields-to-search').append(...searchedFields(store).flatMap((name) => {
    const button = element('button', { type: 'button', className: 'quiet', textContent: `${name}:`, ariaLabel: `search in the field ${name}` });
    button.addEventListener('click', () => {
      box.value = `${box.value.trimEnd()} ${name}:`.trimStart();
      box.focus();
    });
    return [button, ' '];
  }));
}

form.addEventListener('submit', async (event) => {
  event.preventDefault();
  if (await submit() && !results.hidden) hits.querySelector('a')?.focus({ preventScroll: true });
});
for (const choice of [byId('model'), byId('feedback'), byId('dependence'), byId('expand'), byId('prior'), byId('sort')]) {
  choice.addEventListener('change', () => {
    if (asksAnything(searchInForm())) submit();
    else showChosen(searchInForm());
  });
}
box.addEventListener('input', (event) => {
  if (event.isComposing) return;
  searchWhileTyping();
});
box.addEventListener('compositionend', searchWhileTyping);
box.addEventListener('blur', closeCompletions);
more.addEventListener('click', showMore);
byId('next-match').addEventListener('click', showNextMatch);
followed(byId('home'), () => { opened = null; }, () => box.focus());
followed(byId('back'));
addEventListener('popstate', () => show());

function move(step) {
  const links = [...hits.querySelectorAll('h2 a')];
  if (!links.length || results.hidden) return;
  const at = links.findIndex((link) => link.closest('.hit').contains(document.activeElement));
  const to = links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(Math.max(at + step, 0), links.length - 1)];
  to.focus();
  to.closest('.hit').scrollIntoView({ block: 'nearest' });
}

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target === box && completionKey(event, takeCompletion)) return;
  const typing = event.target === box || event.target instanceof HTMLSelectElement;
  const does = (work) => {
    event.preventDefault();
    work();
  };
  if (event.key === 'Escape') {
    if (typing) return box.blur(), hits.querySelector('a')?.focus();
    if (!article.hidden) return does(() => byId('back').click());
    if (event.target.closest?.('.hit')?.querySelector('.why')) {
      return does(() => event.target.closest('.hit').querySelector('.why-button').click());
    }
    return does(() => box.select());
  }
  if (event.key === 'ArrowDown' && event.target === box) return does(() => move(1));
  if (typing) return undefined;
  switch (event.key) {
    case '/': return does(() => box.select());
    case 'j': return does(() => move(1));
    case 'k': return does(() => move(-1));
    case 'ArrowDown': return article.hidden ? does(() => move(1)) : undefined;
    case 'ArrowUp': return article.hidden ? does(() => move(-1)) : undefined;
    case 's': return similar.hidden ? undefined : does(() => {
      similar.open = !similar.open;
      similar.querySelector(similar.open ? 'a' : 'summary').focus();
    });
    case 'n': return article.hidden || byId('next-match').hidden ? undefined : does(showNextMatch);
    case 'l': return does(() => document.activeElement?.closest?.('.hit')?.querySelector('.like-link')?.click());
    case 'w': return does(() => document.activeElement?.closest?.('.hit')?.querySelector('.why-button').click());
    default: return undefined;
  }
});

onNavigation(show);
const ready = show();
const written = box.value;
ready.then(() => {
  if (document.body.classList.contains('at-home')) box.focus();
  if (box.value !== written) searchWhileTyping(); // typed before the page was ready
});
