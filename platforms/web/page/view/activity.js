/**
 * Shows the tools of a turn: a row for each, with what the tool did on request. A long list is collapsed when the turn ends.
 */
import { h, setText } from '../dom.js'
import { icon } from '../icons.js'
import { shownState } from '../items.js'
import { duration } from '../time.js'

/** @typedef {import('../items.js').ActivityItem} ActivityItem */
/** @typedef {import('../../protocol.ts').ToolEvent} ToolEvent */
/**
 * @typedef {object} ActivityActions
 * @property {import('../api.js').Api['tool']} loadTool
 * @property {import('../files.js').Files} files
 */

/** A finished turn with more tools is collapsed. */
const foldAbove = 3
/** Shorter times are not shown. */
const minShownMs = 1_000

/** @param {ActivityActions} actions @returns {import('./message.js').View<ActivityItem>} */
export function createActivityView(actions) {
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
      for (const [index, tool] of tools.entries()) {
        const row = views.get(tool.callId) ?? createRow(actions)
        views.set(tool.callId, row)
        if (rows.children[index] !== row.node) rows.insertBefore(row.node, rows.children[index] ?? null)
        row.update(tool, running)
      }
      const folds = !running && tools.length > foldAbove
      // A row that is being read stays open.
      if (folds && fold.hidden && rows.querySelector('details[open]') !== null) opened = true
      fold.hidden = !folds
      fold.setAttribute('aria-expanded', String(opened))
      rows.hidden = folds && !opened
      const failed = tools.filter(({ state }) => state === 'failed').length
      setText(count, `${tools.length} steps${failed === 0 ? '' : `, ${failed} failed`}`)
    },
  }
}

/** @param {ActivityActions} actions */
function createRow(actions) {
  const name = h('span', { class: 'tool-name' })
  const label = h('bdi', { class: 'tool-label', dir: 'ltr' })
  const state = h('span', { class: 'tool-state' })
  const result = h('bdi', { class: 'tool-result', dir: 'ltr' })
  const time = h('span', { class: 'tool-time' })
  const body = h('div', { class: 'tool-body' })
  const details = h('details', { class: 'tool' }, h('summary', {}, state, name, label, chevron(), result, time), body)
  const node = h('li', {}, details)
  let shown = ''
  /** @type {ToolEvent | undefined} */
  let current
  /** Draws what the tool did. @type {Promise<ReturnType<typeof import('./tool-detail.js').createToolDetail>> | undefined} */
  let detail

  details.addEventListener('toggle', () => {
    if (!details.open) return
    detail ??= import('./tool-detail.js').then(({ createToolDetail }) => createToolDetail(body, actions))
    draw()
  })

  return {
    node,
    /** @param {ToolEvent} tool @param {boolean} running the turn it belongs to */
    update(tool, running) {
      if (current === tool && shown.endsWith(String(running))) return
      current = tool
      const now = shownState(tool, running)
      setText(name, tool.tool)
      setText(label, oneLine(tool.label))
      setText(result, tool.summary === '' ? (stateTexts[now] ?? '') : oneLine(tool.summary))
      const ms = (tool.endedAt ?? tool.startedAt) - tool.startedAt
      setText(time, ms < minShownMs ? '' : duration(ms))
      if (shown !== `${now} ${running}`) {
        shown = `${now} ${running}`
        details.dataset['state'] = now
        state.replaceChildren(...mark(now))
      }
      if (details.open) draw()
    },
  }

  function draw() {
    const call = current
    if (call === undefined) return
    // When the module cannot be loaded, the next opening tries again.
    detail?.then(
      ({ show }) => show(call),
      () => {
        detail = undefined
        body.textContent = 'The gateway cannot be reached. Close and open this again.'
      },
    )
  }
}

/** @type {Record<string, string>} */
const stateTexts = {
  running: 'Running',
  done: 'Done',
  ended: 'Ended',
  failed: 'Failed',
  interrupted: 'Ended with the turn',
}

/** @param {string} state */
function mark(state) {
  const word = h('span', { class: 'unseen' }, `${stateTexts[state] ?? state}: `)
  if (state === 'running') return [word]
  return [icon(state === 'done' ? 'check' : state === 'failed' ? 'cross' : 'stop'), word]
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
