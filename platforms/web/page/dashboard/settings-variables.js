/**
 * The variables of `.env`: their names are shown, their values only replaced.
 */
import { h } from '../dom.js'
import { showForm } from './dialogs.js'
import { createList, pageOf } from './list.js'
import { createButton, createSection } from './section.js'

/** @typedef {{ name: string, is_set: boolean, origin: string | null }} Variable */

/**
 * @param {object} options
 * @param {import('../api.js').Api} options.api
 * @param {() => readonly Variable[]} options.variables
 * @param {() => Promise<void>} options.onSaved
 * @param {AbortSignal} options.signal
 * @param {(text: string) => void} options.say
 */
export function createVariables({ api, variables, onSaved, signal, say }) {
  const list = createList({
    label: 'Variables',
    load: pageOf(async () => variables().filter(({ is_set }) => is_set)),
    row: ({ name, origin }) => ({
      key: name,
      name: h('code', {}, name),
      facts: [origin === 'environment' ? 'set by the process' : `in ${origin}`],
      state: 'good',
      actions: origin === 'environment' ? [] : actionsOf(name),
    }),
    empty: 'No key is set. Keys of providers and tokens of bots belong here.',
    signal,
    say,
  })
  const section = createSection(
    'Keys and variables',
    h('p', { class: 'fine' }, 'Kept in .env. What is set is never shown, only replaced.'),
    list.element,
    createButton('Set a variable', () => ask('')),
  )
  return { section, refresh: list.refresh }

  /** @param {string} name */
  function actionsOf(name) {
    return [
      { label: 'Replace', act: () => ask(name), problem: 'It could not be stored.' },
      {
        label: 'Remove',
        isDanger: true,
        confirm: { title: `Remove ${name}?`, text: 'Its value cannot be shown or brought back.' },
        act: () => store(name, null),
        problem: 'It could not be removed.',
      },
    ]
  }

  /** @param {string} name '' for one that the person names */
  function ask(name) {
    const unset = variables().flatMap((variable) => (variable.is_set ? [] : [variable.name]))
    return showForm({
      title: name === '' ? 'Set a variable' : `Set ${name}`,
      text: 'It is written into .env, which only you can read, and applies at once.',
      fields: [
        ...(name === '' ? [{ name: 'name', label: 'Name', options: unset, isRequired: true }] : []),
        { name: 'value', label: 'Value', type: 'password', isRequired: true },
      ],
      action: 'Set',
      problem: 'It could not be stored.',
      act: async ({ name: typed = '', value = '' }) => {
        await store(name || typed.trim(), value)
        await list.refresh()
      },
    })
  }

  /** @param {string} name @param {string | null} value */
  async function store(name, value) {
    await api.request('/api/settings/variables', { body: { name, value } })
    await onSaved()
  }
}
