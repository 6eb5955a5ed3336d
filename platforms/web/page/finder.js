/**
 * Ctrl-K: finds any conversation, setting or action. And `?`: lists the keys. Loaded when one of them is opened.
 */
import { listActions } from './actions.js'
import { addressOf } from './address.js'
import { openDialog } from './dashboard/dialogs.js'
import { createButton, loadStyle } from './dashboard/section.js'
import { h, setText } from './dom.js'

/** @typedef {{ label: string, facts?: string, keys?: string | undefined, run: () => unknown }} Find */

/**
 * Where it looks besides the actions, each with its heading. A source resolves with the best first, for no words with what is likely.
 *
 * @type {readonly { title: string, find: (words: string, api: import('./api.js').Api) => Promise<readonly Find[]> }[]}
 */
const sources = [
  { title: 'Conversations', find: findConversations },
  { title: 'Settings', find: async (words, api) => (await import('./dashboard/settings.js')).findSettings(words, api) },
]

/** A pause in typing after which the gateway is asked, ms. */
const pauseMs = 120
const maxOfGroup = 8

/** @param {import('./api.js').Api} api @param {() => string} takeTyped what was typed while it was loaded */
export async function openFinder(api, takeTyped) {
  await loadStyle('dashboard')
  const { dialog, form } = openDialog('Find', () => clearTimeout(typing))
  dialog.classList.add('finder')
  const status = h('p', { class: 'unseen', role: 'status' })
  const results = h('div', { id: 'finder-results', role: 'listbox', 'aria-label': 'Results' })
  const field = h('input', {
    class: 'text',
    type: 'search',
    role: 'combobox',
    'aria-label': 'Find a conversation, a setting or an action',
    'aria-controls': results.id,
    'aria-expanded': 'true',
    'aria-autocomplete': 'list',
    placeholder: 'A conversation, a setting or an action',
    autocomplete: 'off',
    spellcheck: 'false',
  })
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing
  /** @type {{ title: string, entries: readonly Find[] }[]} */
  let groups = []
  /** @type {{ entry: Find, element: HTMLElement }[]} */
  let options = []
  let chosen = 0
  let request = 0

  form.querySelector('h2')?.classList.add('unseen')
  form.append(field, results, status)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const option = options[chosen]
    if (option !== undefined) run(option.entry)
  })
  field.addEventListener('input', () => {
    clearTimeout(typing)
    show()
    typing = setTimeout(() => void ask(), pauseMs)
  })
  field.addEventListener('keydown', (event) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0 || options.length === 0) return
    event.preventDefault()
    choose((chosen + step + options.length) % options.length)
  })
  field.value = takeTyped()
  field.focus()
  show()
  void ask()

  async function ask() {
    request += 1
    const mine = request
    const words = field.value.trim()
    const answers = await Promise.allSettled(
      sources.map(async ({ title, find }) => ({ title, entries: await find(words, api) })),
    )
    if (mine !== request) return
    groups = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []))
    show(answers.some(({ status: state }) => state === 'rejected') ? 'Not everything could be searched.' : '')
  }

  function show(trouble = '') {
    /** @type {Find[]} */
    const actions = listActions().flatMap(({ label, keys, run: act }) =>
      act === undefined || keys === 'Ctrl K' ? [] : [{ label, keys, run: act }],
    )
    const all = [{ title: 'Actions', entries: actions.filter(({ label }) => matches(label, field.value)) }, ...groups]
    options = []
    const parts = all.flatMap(({ title, entries }) => {
      if (entries.length === 0) return []
      const rows = entries.slice(0, maxOfGroup).map((entry) => {
        const element = h('div', { role: 'option', id: `find-${options.length}` }, h('bdi', {}, entry.label))
        if (entry.facts) element.append(h('span', { class: 'fine' }, entry.facts))
        if (entry.keys !== undefined) element.append(h('kbd', { 'aria-hidden': 'true' }, entry.keys))
        element.addEventListener('click', () => run(entry))
        options.push({ entry, element })
        return element
      })
      return [
        h(
          'div',
          { role: 'group', 'aria-label': title },
          h('p', { class: 'fine', 'aria-hidden': 'true' }, title),
          ...rows,
        ),
      ]
    })
    results.replaceChildren(...parts)
    results.hidden = options.length === 0
    const count = options.length === 0 ? 'Nothing was found.' : `${options.length} found.`
    setText(status, `${count} ${trouble}`.trim())
    status.classList.toggle('unseen', options.length > 0 && trouble === '')
    choose(0)
  }

  /** @param {number} index */
  function choose(index) {
    options[chosen]?.element.removeAttribute('aria-selected')
    chosen = index
    const option = options[chosen]
    if (option === undefined) return field.removeAttribute('aria-activedescendant')
    option.element.setAttribute('aria-selected', 'true')
    option.element.scrollIntoView({ block: 'nearest' })
    field.setAttribute('aria-activedescendant', option.element.id)
  }

  /** @param {Find} entry */
  function run(entry) {
    dialog.close()
    void entry.run()
  }
}

/** @param {string} words @param {import('./api.js').Api} api @returns {Promise<readonly Find[]>} */
async function findConversations(words, api) {
  const { sessions } = await api.conversations(words, undefined)
  return sessions.flatMap((session) =>
    session.message_count === 0
      ? []
      : [
          {
            label: session.title || session.about || 'Without words',
            facts: session.platform === 'web' ? '' : session.platform,
            run: () => location.assign(addressOf(session)),
          },
        ],
  )
}

/** Each word is somewhere in the text. @param {string} text @param {string} words */
export function matches(text, words) {
  const lower = text.toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word))
}

export async function showKeys() {
  await loadStyle('dashboard')
  const { dialog, form } = openDialog('Keys', () => undefined)
  const rows = listActions().flatMap(({ label, keys }) =>
    keys === undefined ? [] : [h('dt', {}, ...keys.split(' ').map((key) => h('kbd', {}, key))), h('dd', {}, label)],
  )
  form.append(
    h('dl', { class: 'keys-list' }, ...rows),
    h(
      'div',
      { class: 'actions ends' },
      createButton('Close', () => dialog.close()),
    ),
  )
}
