/**
 * A mention in the middle of a thread that the bot has not read (contract §3.15): what was said before comes along, as
 * words of the people who said it, and the pictures of its first message.
 */
import type { Attachment, MessageEvent } from '#sdk'
import type { View } from './incoming.ts'
import { readFiles } from './incoming-files.ts'
import { readText } from './incoming-text.ts'
import { isSpoken } from './normalize-message.ts'
import { type Fields, listIn, textIn, tsIn } from './payload.ts'
import type { SlackCall } from './web.ts'

export interface ThreadStartDeps {
  readonly call: SlackCall
  readonly view: View
  readonly signal: AbortSignal
}

const maxMessages = 30
const maxChars = 8_000
/** Of one message. */
const maxLineChars = 4_000
const maxPictures = 4
/** Slack wants to hear within three seconds that the mention has arrived. */
const patienceMs = 1_500

/** The event with what was said before it; as it is where that cannot be read. Never rejects. */
export async function withEarlier(event: MessageEvent, deps: ThreadStartDeps): Promise<MessageEvent> {
  const { chatId, threadId, chatType } = event.source
  const { messageId } = event
  if (chatType === 'dm' || threadId === undefined || messageId === undefined || threadId === messageId) return event
  if (event.messageType === 'command' || deps.view.participates(chatId, threadId)) return event
  const earlier = await readThread(deps, chatId, threadId, messageId)
  if (earlier.length === 0) return event
  const lines = newest(earlier.map((message) => lineOf(message, deps.view)))
  const content = `Said in this thread before:\n${lines.join('\n')}`
  const pictures = rootPictures(earlier, threadId)
  const attachments: readonly Attachment[] = [...(event.attachments ?? []), ...pictures]
  return {
    ...event,
    seed: { messages: [{ role: 'user', content }] },
    ...(attachments.length === 0 ? {} : { attachments }),
  }
}

async function readThread(
  { call, signal }: ThreadStartDeps,
  channel: string,
  threadTs: string,
  before: string,
): Promise<Fields[]> {
  const limit = new AbortController()
  const end = () => limit.abort()
  const timer = setTimeout(end, patienceMs)
  signal.addEventListener('abort', end, { once: true })
  try {
    const args = { channel, ts: threadTs, latest: before, limit: maxMessages }
    const answer = await call('conversations.replies', args, limit.signal)
    if (!answer.ok) return []
    return listIn(answer.data, 'messages').filter(
      (message) => isSpoken(message) && Number(tsIn(message)) < Number(before),
    )
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
}

/** The last ones that fit, each whole: half of one could be taken for the words of somebody else. */
function newest(lines: readonly string[]): string[] {
  const kept: string[] = []
  let room = maxChars
  for (const line of lines.toReversed()) {
    room -= line.length + 1
    if (room < 0) break
    kept.unshift(line)
  }
  return kept
}

/** Names and words come from people: only a line of ours begins at the margin with somebody's name. */
function lineOf(message: Fields, view: View): string {
  const userId = textIn(message, 'user') ?? textIn(message, 'bot_id') ?? 'somebody'
  const name = view.nameOf(userId) ?? textIn(message, 'username') ?? userId
  const text = readText(textIn(message, 'text') ?? '', { botUserId: view.identity.botUserId, nameOf: view.nameOf })
  const files = readFiles(message).map(({ kind, fileName = 'no name' }) => {
    return `[${kind === 'photo' ? 'image' : kind}: ${plain(fileName)}]`
  })
  const own = text
    .slice(0, maxLineChars)
    .toWellFormed()
    .replace(/\r\n?|[\n\v\f\u0085\u2028\u2029]/g, '\n    ')
  return [`[${plain(name)}]`, own, ...files].filter((part) => part !== '').join(' ')
}

function rootPictures(earlier: readonly Fields[], threadTs: string): Attachment[] {
  const root = earlier.find((message) => tsIn(message) === threadTs)
  if (root === undefined) return []
  return readFiles(root)
    .filter(({ kind, ref }) => kind === 'photo' && ref !== undefined)
    .slice(0, maxPictures)
}

function plain(name: string): string {
  return name.replace(/[\r\n[\]]+/g, ' ').trim()
}
