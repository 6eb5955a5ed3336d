/**
 * Stored messages of a session as items of the conversation.
 */
import { itemOf, withTool } from './items.js'

/** @typedef {import('../protocol.ts').WireMessage} WireMessage */

/**
 * A page of messages with their whole texts, the newest first.
 *
 * @param {Pick<import('./api.js').Api, 'messages' | 'message'>} api
 * @param {string} session
 * @param {string | undefined} cursor
 */
export async function readStored(api, session, cursor) {
  const page = await api.messages(session, cursor)
  const whole = (/** @type {WireMessage} */ message) => (message.truncated ? api.message(session, message.id) : message)
  return { messages: await Promise.all(page.messages.map(whole)), cursor: page.next_cursor ?? undefined }
}

/** @param {readonly WireMessage[]} messages the oldest first @param {string} session */
export function storedItems(messages, session) {
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
      items = [...items, { ...itemOf({ id, from, kind: 'message', text, at, turnId, files }), session }]
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
