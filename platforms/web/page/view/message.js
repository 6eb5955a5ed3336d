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
 * @typedef {object} MessageActions
 * @property {(key: string) => void} onRetry
 * @property {(key: string) => void} onDiscard
 * @property {(item: UserItem | AgentItem, button: HTMLElement) => Promise<void>} onMenu
 * @property {(() => void) | undefined} onAgain answers the last message again
 * @property {import('../files.js').Files} files
 */
/**
 * @param {MessageActions} actions
 * @returns {View<UserItem>}
 */
export function createUserView({ onRetry, onDiscard, onMenu, files }) {
  const time = h('time')
  const slip = h('div', { class: 'slip', dir: 'auto' })
  const state = h('div', { class: 'sending' })
  const place = h('div', { class: 'files' })
  const sent = createFilesView(place, { files })
  /** @type {UserItem | undefined} */
  let current
  const menu = menuButton((button) => current !== undefined && onMenu(current, button))
  const line = h('div', { class: 'slip-line' }, slip, menu)
  const node = h('li', { class: 'entry user' }, h('h2', { class: 'who' }, 'You ', time), place, line, state)

  return {
    node,
    update(item) {
      current = item
      showTime(time, item.at)
      setText(slip, item.text)
      slip.hidden = item.text === ''
      menu.hidden = item.entryId === undefined
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

/** @param {Pick<MessageActions, 'files' | 'onMenu' | 'onAgain'>} actions @returns {View<AgentItem>} */
export function createAgentView({ files, onMenu, onAgain }) {
  /** @type {AgentItem | undefined} */
  let current
  const time = h('time')
  const body = h('div', { class: 'prose', dir: 'auto' })
  const copy = h('button', { class: 'small', type: 'button' }, icon('copy'), h('span', {}, 'Copy'))
  copy.addEventListener('click', () => void copyText(copy, current?.text ?? '', body))
  const again = h('button', { class: 'small again', type: 'button' }, icon('again'), 'Again')
  again.addEventListener('click', () => onAgain?.())
  const menu = menuButton((button) => current !== undefined && onMenu(current, button))
  const tools = h('div', { class: 'entry-tools' }, copy, ...(onAgain === undefined ? [] : [again]), menu)
  const place = h('div', { class: 'files' })
  const sent = createFilesView(place, { files })
  const node = h('li', { class: 'entry agent' }, h('h2', { class: 'who' }, 'Hermes ', time), place, body, tools)
  const prose = createProse(body)

  return {
    node,
    update(item) {
      current = item
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

/** @param {(button: HTMLElement) => unknown} open */
function menuButton(open) {
  const element = h(
    'button',
    {
      class: 'small',
      type: 'button',
      'aria-haspopup': 'menu',
      'aria-expanded': 'false',
      'aria-label': 'More about this message',
    },
    icon('more'),
  )
  element.addEventListener('click', () => void open(element))
  return element
}

/** @param {string} label @param {() => void} act */
function button(label, act) {
  const element = h('button', { type: 'button' }, label)
  element.addEventListener('click', act)
  return element
}
