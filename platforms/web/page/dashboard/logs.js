/**
 * The log of the gateway: filtered, and followed as it is written.
 */
import { byId, h } from '../dom.js'
import { createField } from './dialogs.js'
import { createList } from './list.js'
import { createButton } from './section.js'

const time = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' })
const filters = ['level', 'event', 'session']
/** A pause in typing after which the log is read, ms. */
const pauseMs = 300

/** @param {import('./views.js').ViewContext} context */
export async function show(context) {
  const { root, api, params, setParams, onChange } = context
  const form = h(
    'form',
    { class: 'filters', role: 'search', 'aria-label': 'Filter the log' },
    createField({
      name: 'level',
      label: 'Level, and above',
      type: 'select',
      value: params.get('level') ?? '',
      options: [{ value: '', label: 'all' }, 'info', 'warn', 'error'],
    }),
    createField({ name: 'event', label: 'Event', value: params.get('event') ?? '', placeholder: 'outbox.*' }),
    createField({
      name: 'session',
      label: 'Session',
      value: params.get('session') ?? '',
      placeholder: 'its number or key',
    }),
  )
  const waiting = createButton('Show new lines', refresh)
  waiting.hidden = true
  const list = createList({
    label: 'Lines of the log',
    async load(cursor) {
      const query = new URLSearchParams(chosen().filter(([, value]) => value !== ''))
      query.set('limit', '100')
      if (cursor !== undefined) query.set('cursor', cursor)
      const { lines, next_cursor } = await api.request(`/api/logs?${query}`)
      return { entries: lines, next: next_cursor }
    },
    row: ({ id, time: at, level, event, message, session, turn, fields }) => ({
      key: id,
      name: message,
      facts: [
        time.format(Date.parse(at)),
        h('code', {}, event),
        session !== null && h('a', { href: `/?${new URLSearchParams({ view: 'logs', session })}` }, 'its conversation'),
        turn !== null && h('a', { href: `/?${new URLSearchParams({ trace: turn })}` }, 'Trace'),
      ],
      text: fields,
      state: level === 'error' ? 'bad' : level === 'warn' ? 'warn' : 'off',
      stateName: level,
    }),
    empty: 'No line matches. Choose a lower level, or empty the other fields.',
    ...context,
  })
  list.element.classList.add('log-lines')
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing

  form.addEventListener('submit', (event) => event.preventDefault())
  form.addEventListener('input', () => {
    clearTimeout(typing)
    typing = setTimeout(() => {
      setParams(Object.fromEntries(chosen()))
      void refresh()
    }, pauseMs)
  })
  root.append(form, waiting, list.element)
  // Lines that push down what a person reads wait until they are wanted.
  onChange(['logs'], () => {
    if (byId('dashboard', HTMLElement).scrollTop < 80) void refresh()
    else waiting.hidden = false
  })
  await refresh()

  /** @returns {[string, string][]} */
  function chosen() {
    const values = new FormData(form)
    return filters.map((name) => [name, String(values.get(name) ?? '').trim()])
  }

  async function refresh() {
    waiting.hidden = true
    await list.refresh()
  }
}
