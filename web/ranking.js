// SPDX-License-Identifier: Apache-2.0
// The choices of how results are ranked, as the server lists them: names, groups and explanations are its own.

import { ask, byId, element } from './common.js';

const CHOICES = ['model', 'feedback', 'dependence'];
const explanations = new Map();   // of an option, by its values

// The value of a choice; empty for the default.
export const chosen = (name) => (byId(name).value === byId(name).dataset.initial ? '' : byId(name).value);

function fill(select, { schema, choices }) {
  const made = (choice) => element('option', { value: choice.value, textContent: choice.name, title: choice.explanation });
  const groups = Map.groupBy(choices, (choice) => choice.group);
  select.replaceChildren(...[...groups].flatMap(([group, of]) => (group && groups.size > 1 ? [element('optgroup', { label: group }, ...of.map(made))] : of.map(made))));
  select.dataset.initial = schema.default;
  select.disabled = choices.length === 1;   // a sharded store has no feedback
  explanations.set(select.id, new Map(choices.map((choice) => [choice.value, choice.explanation])));
}

function explain() {
  const text = CHOICES.filter((name) => name === 'model' || chosen(name)).map((name) => {
    const { selectedOptions: [option], value } = byId(name);
    return option ? `${option.textContent}: ${explanations.get(name).get(value)}.` : '';
  });
  byId('explanation').textContent = text.join(' ');
}

// Fills the choices, once.
let filled = null;
export const fillChoices = () => (filled ??= ask('/api/options', {}).then(({ options }) => {
  for (const name of CHOICES) fill(byId(name), options.find((option) => option.name === name));
}).catch((failure) => {
  filled = null;
  throw failure;
}));

// Shows what a search asks for; a value that the server does not know counts as the default.
export function showChosen(search) {
  for (const name of CHOICES) {
    const select = byId(name);
    select.value = search[name] || select.dataset.initial;
    if (select.selectedIndex < 0) select.value = select.dataset.initial;
  }
  byId('more-ranking').open ||= Boolean(search.feedback || search.dependence);
  explain();
}
