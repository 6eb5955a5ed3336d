/**
 * What a tool call did, below its row: fetched when the row is opened, and as a whole when the person asks for it.
 */
import { h, setText } from '../dom.js'
import { renderPart } from './tool-parts.js'

/** @typedef {import('../../protocol.ts').ToolEvent} ToolEvent */
/** @typedef {import('../../protocol.ts').WireToolView} WireToolView */

/**
 * @param {HTMLElement} body
 * @param {import('./activity.js').ActivityActions} actions
 */
export function createToolDetail(body, { loadTool, files }) {
  const parts = h('div', { class: 'tool-parts' })
  const note = h('p', { class: 'tool-note', role: 'status' })
  const more = h('button', { class: 'small tool-more', type: 'button', hidden: true })
  body.append(parts, note, more)
  /** The call and its state that are drawn or on their way. */
  let drawn = ''
  let whole = false
  /** @type {ToolEvent | undefined} */
  let current
  /** What a press of the button does. */
  let retries = false

  more.addEventListener('click', () => {
    if (!retries) whole = !whole
    void load()
  })

  return {
    /** @param {ToolEvent} call */
    show(call) {
      const next = `${call.callId} ${call.state}`
      if (drawn === next) return
      drawn = next
      current = call
      void load()
    },
  }

  async function load() {
    const call = current
    if (call === undefined) return
    const asked = drawn
    const asksWhole = whole
    body.setAttribute('aria-busy', 'true')
    more.disabled = true
    if (parts.childElementCount === 0) setText(note, 'Loading')
    try {
      const view = await loadTool(call, asksWhole)
      if (asked === drawn && asksWhole === whole) draw(call, view)
    } catch {
      setText(note, 'This could not be loaded.')
      offer('Try again', true)
    } finally {
      body.removeAttribute('aria-busy')
      more.disabled = false
    }
  }

  /** @param {ToolEvent} call @param {WireToolView | null} view */
  function draw(call, view) {
    const shown = view?.parts ?? lineOf(call)
    parts.replaceChildren(...shown.map((part) => renderPart(part, { files, at: call.startedAt })))
    parts.classList.toggle('whole', whole)
    setText(note, noteOf(call, view))
    more.hidden = true
    if (view?.isCut === true && !whole) offer('Show all', false)
    if (whole) offer('Show less', false)
  }

  /** @param {string} label @param {boolean} again */
  function offer(label, again) {
    retries = again
    more.textContent = label
    more.hidden = false
  }
}

/** What the row says, whole. @param {ToolEvent} call @returns {WireToolView['parts']} */
function lineOf({ label, summary }) {
  const fields = [
    { name: 'For', value: label },
    { name: 'Result', value: summary },
  ].filter(({ value }) => value !== '')
  return fields.length === 0 ? [] : [{ kind: 'fields', fields }]
}

/** @param {ToolEvent} call @param {WireToolView | null} view */
function noteOf({ state }, view) {
  if (view === null) return state === 'running' ? '' : 'No more is kept of this step.'
  return view.parts.length === 0 && state !== 'running' ? 'There is no output.' : ''
}
