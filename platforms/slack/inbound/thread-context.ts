/**
 * Adds the earlier messages of a thread, and the files of its first message, to the first message of the bot's session in it
 * (contract §3.15).
 */
import { type Attachment, type EarlierMessage, formatEarlierMessages, linkAbortSignal, type MessageEvent } from '#sdk'
import type { SlackAccount } from '../account.ts'
import { parseAttachments } from './attachments.ts'
import type { NormalizeContext } from './context.ts'
import { isUserMessage, messageText } from './message.ts'
import { type JsonRecord, recordsAt, textAt, tsAt } from './payload.ts'

const maxMessages = 30
const maxRootFiles = 4
/** Slack expects the acknowledgement of the mention within three seconds. */
const readTimeoutMs = 1_500

/** Returns the event unchanged when the thread cannot be read. Never rejects. */
export async function withThreadContext(
  event: MessageEvent,
  account: Pick<SlackAccount, 'call' | 'stopping'>,
  normalizeContext: NormalizeContext,
): Promise<MessageEvent> {
  const { chatId, threadId } = event.source
  const { messageId } = event
  if (threadId === undefined || messageId === undefined || threadId === messageId) return event
  if (event.messageType === 'command' || normalizeContext.hasJoinedThread(chatId, threadId)) return event
  const earlier = await readThread(account, chatId, threadId, messageId)
  if (earlier.length === 0) return event
  const lines = formatEarlierMessages(earlier.map((message) => toEarlierMessage(message, normalizeContext)))
  const content = `Said in this thread before:\n${lines.join('\n')}`
  const attachments: readonly Attachment[] = [...(event.attachments ?? []), ...rootFiles(earlier, threadId)]
  return {
    ...event,
    ...(lines.length === 0 ? {} : { seed: { messages: [{ role: 'user', content }] } }),
    ...(attachments.length === 0 ? {} : { attachments }),
  }
}

async function readThread(
  { call, stopping }: Pick<SlackAccount, 'call' | 'stopping'>,
  channel: string,
  threadTs: string,
  before: string,
): Promise<JsonRecord[]> {
  const limit = linkAbortSignal(stopping.signal)
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

function toEarlierMessage(message: JsonRecord, context: NormalizeContext): EarlierMessage {
  const userId = textAt(message, 'user') ?? textAt(message, 'bot_id') ?? 'unknown user'
  return {
    author: context.nameOf(userId) ?? textAt(message, 'username') ?? userId,
    text: messageText(message, context),
    attachments: parseAttachments(message),
  }
}

function rootFiles(earlier: readonly JsonRecord[], threadTs: string): Attachment[] {
  const root = earlier.find((message) => tsAt(message) === threadTs)
  if (root === undefined) return []
  return parseAttachments(root)
    .filter(({ ref }) => ref !== undefined)
    .slice(0, maxRootFiles)
}
