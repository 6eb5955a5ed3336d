/**
 * The way of one message as a waterfall: when it was received, what it waited for, the calls of the model and of tools, questions,
 * and each attempt to send the answer. `/?trace=<subject>`, with a number of the inbox, the id of a turn, or `last`.
 */
import { loadStyle } from './dashboard/section.js'
import { byId, h } from './dom.js'
import { createAttempts } from './view/attempts.js'

/** @typedef {import('../protocol.ts').WireTrace} WireTrace */

const names = {
  sent: 'Sent',
  accepted: 'Accepted',
  waited: 'Waited',
  turn: 'Turn',
  model: 'Model',
  tool: 'Tool',
  question: 'Question',
  delivery: 'Delivery',
  note: 'Note',
}

/** @param {{ api: Pick<import('./api.js').Api, 'trace'>, subject: string }} options */
export async function openTrace({ api, subject }) {
  await loadStyle('trace')
  for (const id of ['composer', 'status', 'log', 'empty']) byId(id, HTMLElement).hidden = true
  const attempt = createAttempts(byId('trouble', HTMLElement))
  document.title = 'The way of a message · Hermes'
  await attempt(async () => {
    const trace = await api.trace(subject)
    byId('log', HTMLElement).before(renderTrace(trace))
  }, 'The message could not be followed.')
}

/** @param {WireTrace} trace */
function renderTrace({ message, turn, ending, reason, steps }) {
  const begin = steps[0]?.at ?? 0
  const end = Math.max(begin + 1, ...steps.map(({ at, ms }) => at + (ms ?? 0)))
  /** @type {[string, string][]} */
  const facts = [
    ['Ended', reason === '' ? ending : `${ending}: ${reason}`],
    ['Message', `${message.seq}, from ${message.userId || 'the gateway'}`],
    ['Where', `${message.platform}, ${message.chatId}`],
    ...(turn === null
      ? []
      : /** @type {[string, string][]} */ ([['Turn', `${turn.id}, ${turn.model} (${turn.provider})`]])),
  ]
  const rows = steps.map(({ kind, name, at, ms, result, detail }) => {
    const bar = h('i')
    bar.style.left = `${((at - begin) / (end - begin)) * 100}%`
    bar.style.width = `${((ms ?? 0) / (end - begin)) * 100}%`
    return h(
      'tr',
      { 'data-kind': kind, 'data-result': result },
      h('td', {}, timeOf(at - begin)),
      h('td', {}, ms === null ? '' : timeOf(ms)),
      h('th', { scope: 'row' }, names[kind], name === '' ? '' : ` ${name}`),
      h('td', { class: 'span', 'aria-hidden': 'true' }, bar),
      h('td', { dir: 'auto' }, [result === 'ok' ? '' : result, detail].filter(Boolean).join(': ')),
    )
  })
  const heads = ['After', 'Took', 'Step', '', 'Result'].map((name) =>
    name === '' ? h('td') : h('th', { scope: 'col' }, name),
  )
  return h(
    'section',
    { class: 'trace', 'aria-labelledby': 'trace-title' },
    h('h2', { id: 'trace-title' }, 'The way of a message'),
    h('dl', {}, ...facts.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)])),
    h(
      'div',
      { class: 'steps', tabindex: '0', role: 'group', 'aria-label': 'Steps' },
      h('table', {}, h('thead', {}, h('tr', {}, ...heads)), h('tbody', {}, ...rows)),
    ),
  )
}

/** @param {number} ms */
function timeOf(ms) {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`
}
