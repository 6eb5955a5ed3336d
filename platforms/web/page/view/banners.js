/**
 * Shows warnings: the gateway is degraded, or no model is configured.
 */
import { byId, h } from '../dom.js'
import { icon } from '../icons.js'

/** @typedef {import('../../protocol.ts').WireInfo} WireInfo */

/** @param {import('../storage.js').Store} storage */
export function createBanners(storage) {
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
    const details = h(
      'details',
      {},
      h(
        'summary',
        {},
        h('strong', {}, 'Demonstration.'),
        ' No model is connected yet. ',
        h('u', {}, 'How to connect one'),
      ),
      h(
        'ol',
        {},
        h(
          'li',
          {},
          'Open ',
          h('code', {}, 'config.yaml'),
          ' in the home of Hermes (',
          h('code', {}, '~/.hermes'),
          ').',
        ),
        h(
          'li',
          {},
          'Configure a model: ',
          h('code', {}, 'provider: openai'),
          ' and ',
          h('code', {}, 'model: <its name>'),
          '. ',
          h('code', {}, 'anthropic'),
          ' works too, and ',
          h('code', {}, 'base_url'),
          ' reaches any compatible server.',
        ),
        h(
          'li',
          {},
          'Add the key to ',
          h('code', {}, '.env'),
          ' beside it: ',
          h('code', {}, 'OPENAI_API_KEY=…'),
          ' or ',
          h('code', {}, 'ANTHROPIC_API_KEY=…'),
          '. Then begin a new conversation.',
        ),
      ),
    )
    const banner = h(
      'aside',
      { class: 'banner', 'aria-label': 'Demonstration' },
      h('div', { class: 'banner-body' }, details, close),
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
