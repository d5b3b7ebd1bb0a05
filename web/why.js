// SPDX-License-Identifier: Apache-2.0
// Why a document ranks where it does: the parts of its score as a table.

import { element, number } from './common.js';

// The name of a row in the table of score components: a word, a similar word, links, a document.
function partName(term) {
  if (term.list === 'prior') return `link rank (${term.value.toFixed(2)} × the average)`;
  if (term.list === 'like') return `similar to ${term.term} (cosine ${term.value.toFixed(2)})`;
  if (term.similar_to) return `${term.term} (similar to ${term.similar_to}, weight ${term.weight.toFixed(2)})`;
  return term.count > 1 ? `${term.term} ×${term.count}` : term.term;
}

export function whyTable(hit, explanation) {
  const largest = Math.max(...explanation.map((term) => Math.abs(term.score)), Number.MIN_VALUE);
  const cells = (values) => values.map((value) => element('td', { textContent: value }));
  // With a history: occurrences, out of those of the history that any word follows.
  const occurrences = (count, of) => (of === null ? number.format(count) : `${number.format(count)} of ${number.format(of)}`);
  const rows = explanation.map((term) => {
    const bar = element('i', { className: term.score < 0 ? 'below' : '' });
    bar.style.width = `${(100 * Math.abs(term.score)) / largest}%`;
    const counts = term.list !== 'text' ? ['', '', '', '']
      : [occurrences(term.f, term.history_f), number.format(term.df), occurrences(term.cf, term.history_cf), term.title_part ? term.title_part.toFixed(4) : ''];
    return element('tr', { className: term.list === 'text' && !term.similar_to ? '' : 'beside' },
      element('th', { scope: 'row', textContent: partName(term) }),
      ...cells([...counts, term.score.toFixed(4)]),
      element('td', { className: 'bar', ariaHidden: 'true' }, bar));
  });
  const heads = ['Word', 'in document', 'documents', 'in collection', 'title bonus', 'score'];
  return element('table', {},
    element('caption', { textContent: `Components of the score. The document has ${number.format(explanation[0].length)} words.` }),
    element('thead', {}, element('tr', {}, ...heads.map((head) => element('th', { scope: 'col', textContent: head })),
      element('td', { className: 'bar' }))),
    element('tbody', {}, ...rows),
    element('tfoot', {}, element('tr', {}, element('th', { scope: 'row', textContent: 'Score' }), element('td'),
      element('td'), element('td'), element('td'), element('td', { textContent: hit.score.toFixed(4) }),
      element('td', { className: 'bar' }))));
}
