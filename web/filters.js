// SPDX-License-Identifier: Apache-2.0
// Narrowing and ordering results by the fields that the store keeps. A filter is a list of clauses, each one parameter `f` of
// the address; all of them hold at once.

import { ask, bar, byId, element, number, storeOf } from './common.js';

const VALUES = 8;         // of a field
const FIELDS = 12;        // those of most documents
const ALL_VALUES = 1000;  // what the server counts at most: then the bins of a plot are added up from them
const BINS = 20;
const DAY = 24 * 60 * 60 * 1000;

export const clausesOf = (parameters) => parameters.getAll('f').filter(Boolean);
export const filterOf = (clauses) => clauses.map((clause) => (clauses.length > 1 ? `(${clause})` : clause)).join(' AND ');

const quoted = (text) => `"${text.replace(/["\\]/g, '\\$&')}"`;
const isPlotted = (field) => ['integer', 'number', 'date'].includes(field.type);
const valueClause = (field, value) => `${quoted(field.name)} = ${['text', 'list'].includes(field.type) ? quoted(value) : value}`;

// A clause for readers: without the quotes of names and values.
const shownClause = (clause) => clause.replace(/"((?:[^"\\]|\\.)*)"/g, (_, inner) => inner.replace(/\\(.)/g, '$1'));

// ---- the order

// The orders besides that by score.
export async function showSorts(select, chosen) {
  const { fields } = await storeOf();
  const named = { integer: ['low to high', 'high to low'], number: ['low to high', 'high to low'], date: ['old to new', 'new to old'], text: ['A to Z', 'Z to A'] };
  const sorted = fields.filter((field) => named[field.type] && !/[,"]/.test(field.name));
  if (select.options.length === 1) {
    select.append(...sorted.flatMap((field) => named[field.type].map((how, falls) =>
      element('option', { value: (falls ? '-' : '') + field.name, textContent: `${field.name}, ${how}` }))));
  }
  select.parentElement.hidden = sorted.length === 0;
  select.value = chosen;
  if (select.selectedIndex < 0) select.value = '';
}

// ---- values

function valueButton(field, of, greatest, toggle) {
  const clause = valueClause(field, of.value);
  const button = element('button', { type: 'button', className: 'value' },
    element('span', { textContent: of.value === '' ? '(empty)' : of.value }), bar(of.documents / greatest),
    element('span', { className: 'count', textContent: number.format(of.documents) }));
  button.addEventListener('click', () => toggle(clause));
  return button;
}

function valueList(field, facet, toggle) {
  const greatest = Math.max(...facet.values.map((of) => of.documents));
  const more = facet.distinct - facet.values.length;
  return element('div', { className: 'field' }, element('h2', { textContent: field.name }),
    ...facet.values.map((of) => valueButton(field, of, greatest, toggle)),
    ...(more > 0 ? [element('p', { className: 'rest', textContent: `and ${number.format(more)} more values` })] : []));
}

// ---- plots of numbers and dates

const scaleOf = (field) => {
  if (field.type !== 'date') return { from: Number, to: (value) => String(value), step: field.type === 'integer' ? 1 : 0 };
  return { from: (text) => Date.parse(text), to: (time) => new Date(time).toISOString().slice(0, 10), step: DAY };
};

// The limits of up to BINS bins of one width that hold all values; whole numbers and days are not cut.
function limitsOf(least, greatest, step) {
  const begin = step ? Math.floor(least / step) * step : least;
  let width = (greatest - begin) / BINS;
  if (step) width = Math.max(step, Math.ceil(((greatest - begin) / step + 1) / BINS) * step);
  const count = step ? Math.floor((greatest - begin) / width) + 1 : BINS;
  return Array.from({ length: count + 1 }, (_, i) => begin + i * width);
}

async function countsOf(field, limits, clauses, search, signal) {
  const { from } = scaleOf(field);
  const last = limits.length - 2;
  const answer = await ask('/api/search', { ...search, facets: quoted(field.name), facet_values: ALL_VALUES, k: 1, snippets: 0, suggestions: 0 }, signal);
  const facet = answer.facets[field.name];
  if (facet.distinct <= facet.values.length) {
    const counts = limits.slice(1).map(() => 0);
    for (const of of facet.values) {
      const at = limits.findIndex((limit, i) => i <= last && from(of.value) < limits[i + 1]);
      counts[at < 0 ? last : at] += of.documents;
    }
    return counts;
  }
  return Promise.all(clauses.map(async (clause) => {
    const filter = filterOf([...(search.filter ? [search.filter] : []), clause]);
    return (await ask('/api/search', { ...search, filter, count: 1, suggestions: 0 }, signal)).total;
  }));
}

async function plot(field, facet, search, toggle, signal) {
  const { from, to, step } = scaleOf(field);
  const [least, greatest] = [from(facet.min), from(facet.max)];
  if (!(least < greatest)) return null;
  const limits = limitsOf(least, greatest, step);
  const clauses = limits.slice(0, -1).map((limit, i) => {
    const end = i === limits.length - 2 ? [] : [`${quoted(field.name)} < ${to(limits[i + 1])}`];
    return [`${quoted(field.name)} >= ${to(limit)}`, ...end].join(' AND ');
  });
  const counts = await countsOf(field, limits, clauses, search, signal);
  const greatestCount = Math.max(...counts, 1);
  const columns = counts.map((count, i) => {
    const column = element('button', { type: 'button', title: `${shownClause(clauses[i])}: ${number.format(count)}`, ariaLabel: `${shownClause(clauses[i])}: ${number.format(count)} documents` }, element('i'));
    column.firstChild.style.height = `${count ? Math.max(4, (100 * count) / greatestCount) : 0}%`;
    column.addEventListener('click', () => toggle(clauses[i]));
    return column;
  });
  return element('div', { className: 'field' }, element('h2', { textContent: field.name }),
    element('div', { className: 'plot' }, ...columns),
    element('p', { className: 'ends' }, element('span', { textContent: String(facet.min).slice(0, 10) }), element('span', { textContent: String(facet.max).slice(0, 10) })));
}

// ---- all of it

function chips(clauses, toggle) {
  byId('clauses').replaceChildren(...clauses.map((clause) => {
    const button = element('button', { type: 'button', className: 'chip', ariaLabel: `remove the filter ${shownClause(clause)}` }, shownClause(clause), element('span', { textContent: '×', ariaHidden: 'true' }));
    button.addEventListener('click', () => toggle(clause));
    return button;
  }));
  byId('clauses').hidden = clauses.length === 0;
}

// Fields whose values are nearly all different, such as addresses, narrow nothing.
const narrows = (facet) => facet.documents > 0 && (facet.distinct <= VALUES || facet.distinct <= facet.documents / 2);

// Shows the clauses in force and, of the documents that the search finds, the values of their fields. `search`: the
// parameters of the search. `toggle`: adds a clause to the filter, or removes it.
export async function showChoices(search, clauses, toggle, signal) {
  const panel = byId('narrow');
  chips(clauses, toggle);
  const { fields } = await storeOf();
  const offered = fields.filter((field) => field.type !== 'json' && !/,/.test(field.name)).sort((a, b) => b.documents - a.documents).slice(0, FIELDS);
  if (offered.length === 0) return;
  const answer = await ask('/api/search', { ...search, facets: offered.map((field) => quoted(field.name)).join(','), facet_values: VALUES, k: 1, snippets: 0, suggestions: 0 }, signal);
  const made = await Promise.all(offered.map(async (field) => {
    const facet = answer.facets?.[field.name];
    if (!facet) return null;
    if (isPlotted(field)) return facet.documents > 1 ? plot(field, facet, search, toggle, signal) : null;
    return narrows(facet) ? valueList(field, facet, toggle) : null;
  }));
  byId('fields').replaceChildren(...made.filter(Boolean));
  panel.hidden = byId('fields').children.length === 0;
}

// The fields of a document, besides the address of its original.
export function fieldsLine(fields) {
  const rows = Object.entries(fields ?? {}).filter(([name, value]) => name !== 'url' && value !== null && value !== '');
  return rows.flatMap(([name, value]) => [element('dt', { textContent: name }),
    element('dd', { textContent: Array.isArray(value) ? value.join(', ') : typeof value === 'object' ? JSON.stringify(value) : String(value) })]);
}
