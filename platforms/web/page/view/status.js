/**
 * The connection status in the bar, with details about the gateway.
 */
import { addressOfView } from '../address.js'
import { byId, h, setText } from '../dom.js'

/** @typedef {import('../connection.js').ConnectionState} ConnectionState */
/** @typedef {import('../../protocol.ts').WireInfo} WireInfo */

/** @param {{ api: import('../api.js').Api, onForget: () => void }} options */
export function createStatus({ api, onForget }) {
  const button = byId('status', HTMLButtonElement)
  const text = byId('status-text', HTMLElement)
  const facts = byId('facts', HTMLElement)
  /** @type {WireInfo | null} */
  let info = null
  /** That of the conversation. @type {Pick<WireInfo, 'model' | 'provider'> | null} */
  let own = null
  /** @type {ConnectionState} */
  let state = 'connecting'
  let reason = ''

  byId('forget', HTMLButtonElement).addEventListener('click', onForget)
  const dialogs = {
    'connect-open': async () => (await import('./connect.js')).showConnect(api),
    'connect-chat-open': async () => (await import('./connect-chat.js')).openConnectChat(api),
    'people-open': () => location.assign(addressOfView('people')),
  }
  for (const [id, open] of Object.entries(dialogs))
    byId(id, HTMLButtonElement).addEventListener('click', () => {
      byId('about', HTMLElement).hidePopover()
      void open()
    })

  return {
    /** @param {WireInfo} next */
    setInfo(next) {
      info = next
      show()
    },
    /** @param {Pick<WireInfo, 'model' | 'provider'>} next */
    setModel({ model, provider }) {
      own = model === info?.model && provider === info.provider ? null : { model, provider }
      show()
    },
    /** @param {ConnectionState} next @param {string} why */
    setState(next, why) {
      // A short first attempt is not announced.
      if (next === 'connecting' && state === 'waiting') return
      state = next
      reason = why
      show()
    },
  }

  function show() {
    button.dataset['state'] = state
    const shown = state === 'open' ? nameOf(own ?? info) : stateLabel(state)
    setText(text, shown)
    // The name begins with the visible text, so that it can be activated by voice.
    const more = state === 'open' ? `${stateLabel(state)}. ` : ''
    button.setAttribute('aria-label', `${shown}. ${more}About this gateway`)
    const rows = [
      ['Gateway', reason === '' ? stateLabel(state) : reason],
      ['Model', (own ?? info)?.model],
      ['Provider', (own ?? info)?.provider],
      ['Version', info?.version],
    ]
    facts.replaceChildren(
      ...rows.flatMap(([name, value]) => (value ? [h('dt', {}, name ?? ''), h('dd', {}, value)] : [])),
    )
  }
}

/** What answers. @param {Pick<WireInfo, 'model' | 'provider'> | null} info */
function nameOf(info) {
  return info?.provider === 'demo' ? 'Demonstration' : info?.model || 'Connected'
}

/** @param {ConnectionState} state */
function stateLabel(state) {
  if (state === 'open') return 'Connected'
  return state === 'waiting' ? 'Reconnecting' : 'Connecting'
}
