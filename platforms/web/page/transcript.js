/**
 * Shows a stored conversation of any platform for reading, and continues it in a chat of the page.
 */
import { addressOfChat, createId } from './address.js'
import { byId, setText } from './dom.js'
import { createFiles } from './files.js'
import { readStored, storedItems } from './stored-items.js'
import { createAttempts } from './view/attempts.js'
import { copyOnClick } from './view/copy-button.js'
import { createLog } from './view/log.js'

/** @typedef {import('../protocol.ts').WireMessage} WireMessage */

/**
 * @param {object} options
 * @param {import('./api.js').Api} options.api
 * @param {string} options.id of the session
 * @param {import('./storage.js').Store} options.storage
 */
export async function openTranscript({ api, id, storage }) {
  const now = () => Date.now()
  const attempt = createAttempts(byId('trouble', HTMLElement))
  const older = byId('older', HTMLButtonElement)
  const files = createFiles({ fetchFile: (path) => api.attachment(path), localFile: async () => undefined, now })
  const log = createLog({
    list: byId('log', HTMLElement),
    now,
    actions: {
      files,
      loadTool: async () => null,
      // Nothing in a stored conversation can be sent again or answered.
      onRetry: nothing,
      onDiscard: nothing,
      onPress: async () => ({ status: 'stale', text: '' }),
      onWrite: nothing,
      onAgain: undefined,
      async onMenu(item, button) {
        const { showMessageMenu } = await import('./view/message-menu.js')
        await showMessageMenu({ api, files, storage, attempt, writing: undefined }, item, button)
      },
    },
  })
  /** The newest first. @type {WireMessage[]} */
  const messages = []
  /** @type {string | undefined} */
  let cursor

  copyOnClick(byId('log', HTMLElement))
  byId('composer', HTMLElement).hidden = true
  byId('status', HTMLElement).hidden = true
  older.addEventListener('click', async () => {
    older.disabled = true
    await attempt(showPage, 'Earlier messages could not be loaded.')
    older.disabled = false
  })
  await attempt(async () => {
    const session = await api.conversation(id)
    document.title = session.title || session.about || 'Hermes'
    showReading(session)
    await showPage()
  }, 'The conversation could not be loaded.')
  const viewport = byId('scroller', HTMLElement)
  viewport.scrollTop = viewport.scrollHeight

  async function showPage() {
    const page = await readStored(api, id, cursor)
    cursor = page.cursor
    messages.push(...page.messages)
    log.render(storedItems(messages.toReversed(), id))
    older.hidden = cursor === undefined
  }

  /** @param {import('../protocol.ts').WireSession} session */
  function showReading(session) {
    const bar = byId('reading', HTMLElement)
    const where = session.platform === 'web' ? 'an earlier conversation' : `a conversation on ${session.platform}`
    setText(byId('reading-text', HTMLElement), `You are reading ${where}.`)
    bar.hidden = false
    const button = byId('reading-continue', HTMLButtonElement)
    button.addEventListener('click', async () => {
      button.disabled = true
      const done = await attempt(continueHere, 'The conversation cannot be continued here.')
      button.disabled = done
    })
  }

  /** The chat has a copy, so that the conversation itself goes on where it is. */
  async function continueHere() {
    const chat = createId()
    await api.continueIn(id, chat)
    location.assign(addressOfChat(chat))
  }
}

function nothing() {
  return undefined
}
