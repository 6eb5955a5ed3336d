/**
 * Shows warnings: the gateway is degraded, or no model is configured.
 */
import { byId, h } from '../dom.js'
import { icon } from '../icons.js'

/** @typedef {import('../../protocol.ts').WireInfo} WireInfo */

/**
 * @param {import('../storage.js').Store} storage
 * @param {() => Promise<void>} onConnect
 */
export function createBanners(storage, onConnect) {
  const root = byId('banners', HTMLElement)
  let shown = ''

  return {
    /** @param {WireInfo} info */
    update(info) {
      const demo = info.provider === 'demo' && storage.get('demo-hint') !== 'closed'
      if (info.provider !== 'demo') storage.remove('demo-hint')
      const next = JSON.stringify([demo, info.degraded])
      if (next === shown) return
      shown = next
      root.replaceChildren()
      if (info.degraded.length > 0) root.append(degradedBanner(info.degraded))
      if (demo) root.append(demoBanner())
    },
  }

  function demoBanner() {
    const close = h('button', { class: 'small', type: 'button', 'aria-label': 'Close this hint' }, icon('cross'))
    const connect = h('button', { class: 'link', type: 'button' }, 'Connect one')
    connect.addEventListener('click', () => void onConnect())
    const text = h(
      'div',
      { class: 'banner-text' },
      h('strong', {}, 'Demonstration.'),
      ' No model is connected yet. ',
      connect,
    )
    const banner = h(
      'aside',
      { class: 'banner', 'aria-label': 'Demonstration' },
      h('div', { class: 'banner-body' }, text, close),
    )
    close.addEventListener('click', () => {
      storage.set('demo-hint', 'closed')
      banner.remove()
    })
    return banner
  }
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
