/**
 * The steps that the agent has written down, beside the conversation: one line, which opens to the list. Loaded with the first list.
 */
import { loadStyle } from '../dashboard/section.js'
import { h, setText } from '../dom.js'
import { renderPart } from './tool-parts.js'

/** @typedef {import('../../protocol.ts').ToolEvent} ToolEvent */

/**
 * @param {object} options
 * @param {HTMLDetailsElement} options.place
 * @param {import('../api.js').Api['tool']} options.loadTool
 * @param {import('../files.js').Files} options.files
 */
export async function createPlan({ place, loadTool, files }) {
  await loadStyle('plan')
  const text = h('bdi')
  const list = h('div', { class: 'plan-list' })
  /** @type {ToolEvent | undefined} */
  let current
  let drawn = ''
  place.replaceChildren(h('summary', {}, h('span', { class: 'plan-name' }, 'Plan'), text), list)
  place.addEventListener('toggle', () => void draw())

  return {
    /** @param {ToolEvent | undefined} call the newest call that has changed the list */
    show(call) {
      place.hidden = call === undefined
      current = call
      if (call === undefined) return
      setText(text, call.summary || call.label)
      void draw()
    },
  }

  async function draw() {
    const call = current
    if (call === undefined || !place.open || drawn === call.callId + call.state) return
    drawn = call.callId + call.state
    const view = await loadTool(call, true).catch(() => null)
    const todos = view?.parts.filter(({ kind }) => kind === 'todos') ?? []
    if (current !== call) return
    list.replaceChildren(...todos.map((part) => renderPart(part, { files, at: call.startedAt })))
    if (todos.length === 0) setText(list, 'The list could not be loaded.')
  }
}

/**
 * The newest call that has changed the list of this session, while the list has open steps.
 *
 * @param {readonly import('../items.js').Item[]} items
 * @param {number} since when the session began
 * @returns {ToolEvent | undefined}
 */
export function planOf(items, since) {
  for (const item of items.toReversed()) {
    if (item.kind !== 'activity') continue
    const call = item.tools.findLast(({ tool, state }) => tool === 'todo' && state === 'done')
    if (call === undefined) continue
    const [, done, all] = /^(\d+) of (\d+)/.exec(call.summary) ?? []
    return call.startedAt < since || done === all ? undefined : call
  }
  return undefined
}
