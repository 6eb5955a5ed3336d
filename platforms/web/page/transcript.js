/**
 * Shows a stored conversation of any platform for reading, and continues it in a chat of the page.
 */
import { addressOfChat, createId } from './address.js'
import { byId, setText } from './dom.js'
import { createFiles } from './files.js'
import { itemOf, withTool } from './items.js'
import { createAttempts } from './view/attempts.js'
import { copyOnClick } from './view/copy-button.js'
import { createLog } from './view/log.js'

/** @typedef {import('../protocol.ts').WireMessage} WireMessage */

/**
 * @param {object} options
 * @param {import('./api.js').Api} options.api
 * @param {string} options.id of the session
 */
export async function openTranscript({ api, id }) {
  const now = () => Date.now()
  const attempt = createAttempts(byId('trouble', HTMLElement))
  const older = byId('older', HTMLButtonElement)
  const log = createLog({
    list: byId('log', HTMLElement),
    now,
    actions: {
      files: createFiles({ fetchFile: (path) => api.attachment(path), localFile: async () => undefined, now }),
      loadTool: async () => null,
      // Nothing in a stored conversation can be sent again or answered.
      onRetry: nothing,
      onDiscard: nothing,
      onPress: async () => ({ status: 'stale', text: '' }),
      onWrite: nothing,
    },
  })
  /** The newest first. @type {WireMessage[]} */
  const messages = []
  /** @type {string | undefined} */
  let cursor

  copyOnClick(byId('log', HTMLElement))
  byId('app', HTMLElement).hidden = false
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
    const page = await api.messages(id, cursor)
    cursor = page.next_cursor ?? undefined
    messages.push(...(await Promise.all(page.messages.map(whole))))
    log.render(itemsOf(messages.toReversed(), id))
    older.hidden = cursor === undefined
  }

  /** @param {WireMessage} message */
  async function whole(message) {
    return message.truncated ? await api.message(id, message.id) : message
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

/** @param {readonly WireMessage[]} messages the oldest first @param {string} session */
function itemsOf(messages, session) {
  /** @type {readonly import('./items.js').Item[]} */
  let items = []
  for (const { id, role, text, tool_calls, attachments, turn_id, created_at } of messages) {
    const at = Date.parse(created_at)
    const turnId = turn_id ?? ''
    const files = attachments.map(({ kind, file_name, mime_type, bytes }, index) => ({
      kind,
      fileName: file_name,
      mimeType: mime_type ?? undefined,
      bytes: bytes ?? undefined,
      path: `${encodeURIComponent(session)}/messages/${id}/attachments/${index}`,
    }))
    const from = role === 'user' ? /** @type {const} */ ('user') : /** @type {const} */ ('agent')
    if (text !== '' || files.length > 0)
      items = [...items, itemOf({ id, from, kind: 'message', text, at, turnId, files })]
    for (const call of tool_calls)
      items = withTool(
        items,
        {
          type: 'tool',
          turnId,
          callId: call.id,
          tool: call.name,
          label: call.label,
          summary: call.summary,
          state: call.state === null || call.state === 'interrupted' ? 'done' : call.state,
          startedAt: at,
          endedAt: at,
        },
        false,
      )
  }
  return items
}

function nothing() {
  return undefined
}
