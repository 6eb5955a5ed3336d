/**
 * A conversation as Markdown.
 */

/**
 * @param {Pick<import('./api.js').Api, 'messages' | 'message'>} api
 * @param {import('../protocol.ts').WireSession} session
 */
export async function exportMarkdown(api, session) {
  /** @type {string[]} */
  const parts = []
  /** @type {string | undefined} */
  let cursor
  do {
    const page = await api.messages(session.id, cursor)
    for (const message of page.messages)
      parts.push(formatMessage(message.truncated ? await api.message(session.id, message.id) : message))
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  const text = [`# ${session.title || session.about}`, ...parts.reverse()].filter((part) => part !== '').join('\n\n')
  return new Blob([`${text}\n`], { type: 'text/markdown' })
}

/** @param {import('../protocol.ts').WireMessage} message */
function formatMessage({ role, text, tool_calls, attachments, created_at }) {
  const files = attachments.map(({ file_name }) => `- ${file_name}`)
  const calls = tool_calls.map(
    ({ name, label, summary }) => `- \`${name}\` ${[label, summary].filter(Boolean).join(': ')}`,
  )
  const said = [text, [...files, ...calls].join('\n')].filter((part) => part !== '')
  const who = role === 'user' ? 'You' : 'Hermes'
  return said.length === 0 ? '' : [`## ${who}, ${created_at.slice(0, 16).replace('T', ' ')} UTC`, ...said].join('\n\n')
}
