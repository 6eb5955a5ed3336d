/**
 * What a chat has taken over from another conversation: a link to it, and its messages above those of the chat.
 */
import { byId, setText } from './dom.js'
import { readStored, storedItems } from './stored-items.js'

/** @typedef {import('../protocol.ts').WireSession} WireSession */

/**
 * @param {object} options
 * @param {Pick<import('./api.js').Api, 'conversation' | 'messages' | 'message'>} options.api
 * @param {() => void} options.onChange
 */
export function createContinued({ api, onChange }) {
  /** @type {WireSession | undefined} */
  let copy
  /** The newest first. @type {import('../protocol.ts').WireMessage[]} */
  const messages = []
  /** @type {string | undefined} */
  let cursor
  let isComplete = false
  let known = ''
  /** @type {Promise<void> | undefined} */
  let loading

  const continued = {
    /** @type {readonly import('./items.js').Item[]} */
    items: [],
    more: () => copy !== undefined && !isComplete,
    /** The session of the chat is known. @param {WireSession} session */
    async setSession(session) {
      if (copy !== undefined || session.parent_id === null || session.id === known) return
      known = session.id
      // The copy stays when the conversation is deleted.
      const parent = await api.conversation(session.parent_id).catch(() => undefined)
      if (parent?.platform === session.platform && parent.chat_id === session.chat_id) return
      copy = session
      onChange()
      if (parent === undefined) return
      const link = byId('continues-link', HTMLAnchorElement)
      link.href = `/?${new URLSearchParams({ session: parent.id })}`
      setText(link, parent.title || parent.about)
      byId('continues', HTMLElement).hidden = false
    },
    /** Reads the next earlier page of what was copied. */
    load() {
      loading ??= read().finally(() => {
        loading = undefined
      })
      return loading
    },
  }
  return continued

  async function read() {
    const session = copy
    if (session === undefined || isComplete) return
    const began = Date.parse(session.created_at)
    const before = messages.length
    while (messages.length === before && !isComplete) {
      const page = await readStored(api, session.id, cursor)
      cursor = page.cursor
      isComplete = cursor === undefined
      messages.push(...page.messages.filter(({ created_at }) => Date.parse(created_at) < began))
    }
    continued.items = storedItems(messages.toReversed(), session.id)
    onChange()
  }
}
