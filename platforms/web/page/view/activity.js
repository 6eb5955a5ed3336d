/**
 * Shows the tools of a turn: one row for each, with details on request. A long list is collapsed when the turn ends.
 */
import { h, setText } from '../dom.js'
import { icon } from '../icons.js'

/** @typedef {import('../items.js').ActivityItem} ActivityItem */
/** @typedef {import('../../protocol.ts').ToolEvent} ToolEvent */

/** A finished turn with more tools is collapsed. */
const foldAbove = 3

/** @returns {import('./message.js').View<ActivityItem>} */
export function createActivityView() {
  const count = h('span', { class: 'tool-name' })
  const fold = h('button', { class: 'fold', type: 'button', 'aria-expanded': 'false', hidden: true }, chevron(), count)
  const rows = h('ul')
  const node = h(
    'li',
    { class: 'entry activity' },
    h('h2', { class: 'unseen' }, 'What Hermes did'),
    h('div', { class: 'tools' }, fold, rows),
  )
  /** @type {Map<string, ReturnType<typeof createRow>>} */
  const views = new Map()
  let opened = false

  fold.addEventListener('click', () => {
    opened = !opened
    fold.setAttribute('aria-expanded', String(opened))
    rows.hidden = !opened
  })

  return {
    node,
    update({ tools, running }) {
      for (const tool of tools) {
        const row = views.get(tool.callId) ?? createRow()
        if (!views.has(tool.callId)) rows.append(h('li', {}, row.node))
        views.set(tool.callId, row)
        row.update(tool, running)
      }
      const folds = !running && tools.length > foldAbove
      fold.hidden = !folds
      rows.hidden = folds && !opened
      const failed = tools.filter(({ state }) => state === 'failed').length
      setText(count, `${tools.length} steps${failed === 0 ? '' : `, ${failed} failed`}`)
    },
  }
}

function createRow() {
  const name = h('span', { class: 'tool-name' })
  const label = h('span', { class: 'tool-label' })
  const state = h('span', { class: 'tool-state' })
  const detail = h('pre', { tabindex: '0', 'aria-label': 'Details' })
  const node = h('details', { class: 'tool' }, h('summary', {}, state, name, label, chevron()), detail)
  let shown = ''

  return {
    node,
    /** @param {ToolEvent} tool @param {boolean} running the turn it belongs to */
    update(tool, running) {
      setText(name, tool.tool)
      setText(label, oneLine(tool.label || tool.summary))
      setText(detail, [tool.label, tool.summary].filter(Boolean).join('\n\n') || 'No details.')
      const now = tool.state === 'running' && !running ? 'ended' : tool.state
      if (now === shown) return
      shown = now
      node.dataset['state'] = now
      state.replaceChildren(...mark(now))
    },
  }
}

/** @type {Record<string, string>} */
const stateWords = { running: 'running', done: 'done', failed: 'failed', ended: 'ended with the turn' }

/** @param {string} state */
function mark(state) {
  const word = h('span', { class: 'unseen' }, stateWords[state] ?? state)
  if (state === 'running') return [word]
  return [icon(state === 'done' ? 'check' : 'cross'), word]
}

function chevron() {
  const element = icon('chevron')
  element.classList.add('chevron')
  return element
}

/** @param {string} text */
function oneLine(text) {
  return text.replace(/\s+/g, ' ').slice(0, 300)
}
