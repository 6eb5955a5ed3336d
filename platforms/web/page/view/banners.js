/**
 * Shows warnings, and the next step of a first run: the gateway is degraded, no model is configured, or no chat yet.
 */
import { byId, h } from '../dom.js'
import { icon } from '../icons.js'

/** @typedef {import('../../protocol.ts').WireInfo} WireInfo */

/**
 * @param {import('../storage.js').Store} storage
 * @param {{ model: () => Promise<void>, chat: () => Promise<void> }} connect
 */
export function createBanners(storage, connect) {
  const root = byId('banners', HTMLElement)
  let shown = ''

  return {
    /** @param {WireInfo} info */
    update(info) {
      const isDemo = info.provider === 'demo'
      const demo = isDemo && storage.get('demo-hint') !== 'closed'
      if (isDemo) storage.set('next-step', 'chat')
      else storage.remove('demo-hint')
      const chat = !isDemo && storage.get('next-step') === 'chat'
      const next = JSON.stringify([demo, chat, info.degraded])
      if (next === shown) return
      shown = next
      root.replaceChildren()
      if (info.degraded.length > 0) root.append(degradedBanner(info.degraded))
      if (demo) root.append(demoBanner())
      if (chat) root.append(chatBanner())
    },
  }

  function demoBanner() {
    const connectOne = createLink('Connect one', connect.model)
    const text = [h('strong', {}, 'Demonstration.'), ' No model is connected yet. ', connectOne]
    return hintBanner('Demonstration', text, () => storage.set('demo-hint', 'closed'))
  }

  /** After the model of a first run. */
  function chatBanner() {
    const forget = () => storage.remove('next-step')
    const text = [h('strong', {}, 'The model is connected.'), ' Do you want to write from your phone, too? ']
    const link = createLink('Connect a chat', () => {
      banner.remove()
      forget()
      return connect.chat()
    })
    const banner = hintBanner('Next step', [...text, link], forget)
    return banner
  }
}

/** @param {string} label @param {() => Promise<void>} act */
function createLink(label, act) {
  const link = h('button', { class: 'link', type: 'button' }, label)
  link.addEventListener('click', () => void act())
  return link
}

/** @param {string} label @param {readonly (Node | string)[]} text @param {() => void} onClose */
function hintBanner(label, text, onClose) {
  const close = h('button', { class: 'small', type: 'button', 'aria-label': 'Close this hint' }, icon('cross'))
  const body = h('div', { class: 'banner-body' }, h('div', { class: 'banner-text' }, ...text), close)
  const banner = h('aside', { class: 'banner', 'aria-label': label }, body)
  close.addEventListener('click', () => {
    onClose()
    banner.remove()
  })
  return banner
}

/** @param {readonly string[]} reasons */
function degradedBanner(reasons) {
  const [first = '', ...others] = reasons
  const text = others.length === 0 ? [` ${first}`] : [h('ul', {}, ...reasons.map((reason) => h('li', {}, reason)))]
  return h(
    'aside',
    { class: 'banner', 'data-kind': 'degraded', 'aria-label': 'Limits' },
    h(
      'div',
      { class: 'banner-body' },
      h('div', { class: 'banner-text' }, h('strong', {}, 'Hermes has a problem.'), ...text),
    ),
  )
}
