/**
 * Views for messages of the user, replies of the agent and notices of the gateway.
 */
import { h, setText } from '../dom.js'
import { icon } from '../icons.js'
import { createProse } from '../prose.js'
import { clockTime } from '../time.js'
import { copyText } from './copy-button.js'
import { createFilesView } from './files.js'

/** @typedef {import('../items.js').UserItem} UserItem */
/** @typedef {import('../items.js').AgentItem} AgentItem */
/**
 * A view keeps its node and updates it.
 *
 * @template Shown
 * @typedef {{ node: HTMLElement, update: (item: Shown) => void }} View
 */

/** @type {Record<import('../items.js').SendState, string>} */
const sendStates = {
  sending: 'Sending…',
  waiting: 'Will be sent when the gateway can be reached',
  queued: 'Received, waiting its turn',
  sent: '',
  failed: 'Not sent.',
}

/**
 * @param {{ onRetry: (key: string) => void, onDiscard: (key: string) => void, files: import('../files.js').Files }} actions
 * @returns {View<UserItem>}
 */
export function createUserView({ onRetry, onDiscard, files }) {
  const time = h('time')
  const slip = h('div', { class: 'slip', dir: 'auto' })
  const state = h('div', { class: 'sending' })
  const place = h('div', { class: 'files' })
  const sent = createFilesView(place, { files })
  const node = h('li', { class: 'entry user' }, h('h2', { class: 'who' }, 'You ', time), place, slip, state)

  return {
    node,
    update(item) {
      showTime(time, item.at)
      setText(slip, item.text)
      slip.hidden = item.text === ''
      sent.update(item.files, item.at)
      if (node.dataset['state'] === item.state && state.title === item.problem) return
      node.dataset['state'] = item.state
      state.title = item.problem
      state.hidden = item.state === 'sent'
      state.replaceChildren(
        h('span', item.state === 'failed' ? { role: 'alert' } : {}, item.problem || sendStates[item.state]),
      )
      if (item.state === 'failed') state.append(button('Try again', () => onRetry(item.key)))
      if (item.state === 'failed') state.append(button('Discard', () => onDiscard(item.key)))
    },
  }
}

/** @param {{ files: import('../files.js').Files }} options @returns {View<AgentItem>} */
export function createAgentView({ files }) {
  let text = ''
  const time = h('time')
  const body = h('div', { class: 'prose', dir: 'auto' })
  const copy = h('button', { class: 'small', type: 'button' }, icon('copy'), h('span', {}, 'Copy'))
  copy.addEventListener('click', () => void copyText(copy, text, body))
  const tools = h('div', { class: 'entry-tools' }, copy)
  const place = h('div', { class: 'files' })
  const sent = createFilesView(place, { files })
  const node = h('li', { class: 'entry agent' }, h('h2', { class: 'who' }, 'Hermes ', time), place, body, tools)
  const prose = createProse(body)

  return {
    node,
    update(item) {
      text = item.text
      showTime(time, item.at)
      node.classList.toggle('live', item.live)
      tools.hidden = item.live || item.text === ''
      sent.update(item.files, item.at)
      prose.update(item.text, !item.live)
    },
  }
}

/** @returns {View<AgentItem>} */
export function createNoticeView() {
  const body = h('div', { class: 'prose', dir: 'auto' })
  const node = h('li', { class: 'entry notice' }, h('h2', { class: 'unseen' }, 'Notice'), body)
  const prose = createProse(body)
  return { node, update: (item) => prose.update(item.text, true) }
}

/** @param {HTMLTimeElement} time @param {number} at */
function showTime(time, at) {
  time.dateTime = new Date(at).toISOString()
  setText(time, clockTime(at))
}

/** @param {string} label @param {() => void} act */
function button(label, act) {
  const element = h('button', { type: 'button' }, label)
  element.addEventListener('click', act)
  return element
}
