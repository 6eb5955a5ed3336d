/**
 * Adds the earlier messages of a thread, and the files of its first message, to the first message of the bot's session in it
 * (contract §3.15).
 */
import { type Attachment, linkAbortSignal, type MessageEvent } from '#sdk'
import type { ApiCall } from '../connection/api.ts'
import { parseAttachments } from './attachments.ts'
import type { NormalizeContext } from './context.ts'
import { isUserMessage, messageText } from './message.ts'
import { type JsonRecord, recordsAt, textAt, tsAt } from './payload.ts'

export interface ThreadContextDeps {
  readonly call: ApiCall
  readonly normalizeContext: NormalizeContext
  readonly signal: AbortSignal
}

const maxMessages = 30
const maxChars = 8_000
/** The limit of one message. */
const maxLineChars = 4_000
const maxRootFiles = 4
/** Slack expects the acknowledgement of the mention within three seconds. */
const readTimeoutMs = 1_500

/** Returns the event unchanged when the thread cannot be read. Never rejects. */
export async function withThreadContext(event: MessageEvent, deps: ThreadContextDeps): Promise<MessageEvent> {
  const { chatId, threadId } = event.source
  const { messageId } = event
  if (threadId === undefined || messageId === undefined || threadId === messageId) return event
  if (event.messageType === 'command' || deps.normalizeContext.hasJoinedThread(chatId, threadId)) return event
  const earlier = await readThread(deps, chatId, threadId, messageId)
  if (earlier.length === 0) return event
  const lines = newestThatFit(earlier.map((message) => toContextLine(message, deps.normalizeContext)))
  const content = `Said in this thread before:\n${lines.join('\n')}`
  const attachments: readonly Attachment[] = [...(event.attachments ?? []), ...rootFiles(earlier, threadId)]
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
  const limit = linkAbortSignal(signal)
  const timer = setTimeout(limit.abort, readTimeoutMs)
  try {
    const args = { channel, ts: threadTs, latest: before, limit: maxMessages }
    const result = await call('conversations.replies', args, limit.signal)
    if (!result.ok) return []
    return recordsAt(result.data, 'messages').filter(
      (message) => isUserMessage(message) && Number(tsAt(message)) < Number(before),
    )
  } finally {
    clearTimeout(timer)
    limit.release()
  }
}

/** Whole messages only, because a truncated one could be attributed to another author. */
function newestThatFit(lines: readonly string[]): string[] {
  const kept: string[] = []
  let remaining = maxChars
  for (const line of lines.toReversed()) {
    remaining -= line.length + 1
    if (remaining < 0) break
    kept.unshift(line)
  }
  return kept
}

/** Indents the lines of a text, so that a message cannot imitate the line of another author. */
function toContextLine(message: JsonRecord, context: NormalizeContext): string {
  const userId = textAt(message, 'user') ?? textAt(message, 'bot_id') ?? 'unknown user'
  const name = context.nameOf(userId) ?? textAt(message, 'username') ?? userId
  const text = messageText(message, context)
  const files = parseAttachments(message).map(({ kind, fileName = 'no name' }) => {
    return `[${kind === 'photo' ? 'image' : kind}: ${toSingleLine(fileName)}]`
  })
  const own = text
    .slice(0, maxLineChars)
    .toWellFormed()
    .replace(/\r\n?|[\n\v\f\u0085\u2028\u2029]/g, '\n    ')
  return [`[${toSingleLine(name)}]`, own, ...files].filter((part) => part !== '').join(' ')
}

function rootFiles(earlier: readonly JsonRecord[], threadTs: string): Attachment[] {
  const root = earlier.find((message) => tsAt(message) === threadTs)
  if (root === undefined) return []
  return parseAttachments(root)
    .filter(({ ref }) => ref !== undefined)
    .slice(0, maxRootFiles)
}

function toSingleLine(name: string): string {
  return name.replace(/[\r\n[\]]+/g, ' ').trim()
}
