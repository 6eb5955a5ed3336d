/**
 * A mention in the middle of a thread that the bot has not read (contract §3.15): what was said before comes along, as
 * words of the people who said it, and the pictures of its first message.
 */
import type { Attachment, MessageEvent } from '#sdk'
import type { ApiCall } from '../connection/api.ts'
import { parseAttachments } from './attachments.ts'
import type { NormalizeContext } from './context.ts'
import { isUserMessage } from './message.ts'
import { type JsonRecord, recordsAt, textAt, tsAt } from './payload.ts'
import { toPlainText } from './text.ts'

export interface ThreadContextDeps {
  readonly call: ApiCall
  readonly normalizeContext: NormalizeContext
  readonly signal: AbortSignal
}

const maxMessages = 30
const maxChars = 8_000
/** Of one message. */
const maxLineChars = 4_000
const maxImages = 4
/** Slack wants to hear within three seconds that the mention has arrived. */
const readTimeoutMs = 1_500

/** The event with what was said before it; as it is where that cannot be read. Never rejects. */
export async function withThreadContext(event: MessageEvent, deps: ThreadContextDeps): Promise<MessageEvent> {
  const { chatId, threadId, chatType } = event.source
  const { messageId } = event
  if (chatType === 'dm' || threadId === undefined || messageId === undefined || threadId === messageId) return event
  if (event.messageType === 'command' || deps.normalizeContext.hasJoinedThread(chatId, threadId)) return event
  const earlier = await readThread(deps, chatId, threadId, messageId)
  if (earlier.length === 0) return event
  const lines = newestThatFit(earlier.map((message) => toContextLine(message, deps.normalizeContext)))
  const content = `Said in this thread before:\n${lines.join('\n')}`
  const pictures = rootImages(earlier, threadId)
  const attachments: readonly Attachment[] = [...(event.attachments ?? []), ...pictures]
  return {
    ...event,
    seed: { messages: [{ role: 'user', content }] },
    ...(attachments.length === 0 ? {} : { attachments }),
  }
}

async function readThread(
  { call, signal }: ThreadContextDeps,
  channel: string,
  threadTs: string,
  before: string,
): Promise<JsonRecord[]> {
  const limit = new AbortController()
  const end = () => limit.abort()
  const timer = setTimeout(end, readTimeoutMs)
  signal.addEventListener('abort', end, { once: true })
  try {
    const args = { channel, ts: threadTs, latest: before, limit: maxMessages }
    const answer = await call('conversations.replies', args, limit.signal)
    if (!answer.ok) return []
    return recordsAt(answer.data, 'messages').filter(
      (message) => isUserMessage(message) && Number(tsAt(message)) < Number(before),
    )
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
}

/** The last ones that fit, each whole: half of one could be taken for the words of somebody else. */
function newestThatFit(lines: readonly string[]): string[] {
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
function toContextLine(message: JsonRecord, view: NormalizeContext): string {
  const userId = textAt(message, 'user') ?? textAt(message, 'bot_id') ?? 'somebody'
  const name = view.userNameOf(userId) ?? textAt(message, 'username') ?? userId
  const text = toPlainText(textAt(message, 'text') ?? '', {
    botUserId: view.identity.botUserId,
    nameOf: view.userNameOf,
  })
  const files = parseAttachments(message).map(({ kind, fileName = 'no name' }) => {
    return `[${kind === 'photo' ? 'image' : kind}: ${toSingleLine(fileName)}]`
  })
  const own = text
    .slice(0, maxLineChars)
    .toWellFormed()
    .replace(/\r\n?|[\n\v\f\u0085\u2028\u2029]/g, '\n    ')
  return [`[${toSingleLine(name)}]`, own, ...files].filter((part) => part !== '').join(' ')
}

function rootImages(earlier: readonly JsonRecord[], threadTs: string): Attachment[] {
  const root = earlier.find((message) => tsAt(message) === threadTs)
  if (root === undefined) return []
  return parseAttachments(root)
    .filter(({ kind, ref }) => kind === 'photo' && ref !== undefined)
    .slice(0, maxImages)
}

function toSingleLine(name: string): string {
  return name.replace(/[\r\n[\]]+/g, ' ').trim()
}
