/**
 * The messages of the users on all platforms, each with its number, its time and the delay of its answer.
 */
import type { SentMessage } from '../../crash/chat-server.ts'
import { answeredToken, textOf, tokenOf, type UserMessage } from '../delivery-counts.ts'
import { allChats, type TestPlatform } from './test-platform.ts'

export interface TrackedMessage extends UserMessage {
  readonly platform: string
  /** Monotonic clock, ms. */
  readonly at: number
  /** Whether no other message of its chat was pending. */
  readonly alone: boolean
  /** From the message to its final answer, ms. */
  tookMs: number | undefined
  /** Resolves at the answer, or when the message became a dead letter. */
  readonly answered: Promise<void>
}

export type MessageKind = Exclude<UserMessage['kind'], 'command' | 'effect'>

export interface MessageLog {
  /** All messages, oldest first. */
  readonly messages: readonly TrackedMessage[]
  send(testPlatform: TestPlatform, chat: string, kind: MessageKind): TrackedMessage
  /** Two messages of which the second arrives first. */
  sendReordered(testPlatform: TestPlatform, chat: string): readonly [TrackedMessage, TrackedMessage]
  /** These messages became dead letters, and their users were notified. They are not pending any longer. */
  dropDeadLetters(texts: readonly string[]): void
  /** Messages without an answer. */
  pending(platform?: string): readonly TrackedMessage[]
  close(): void
}

/** The interval at which the chats are read. */
const pollMs = 4
/** The number of newest messages that are read; sometimes all are read. */
const newest = 8
const pollsPerFullRead = 200

export function createMessageLog(testPlatforms: readonly TestPlatform[]): MessageLog {
  const messages: TrackedMessage[] = []
  /** Messages with an answer: they do not change any more. */
  const read = new Set<string>()
  const pending = new Map<string, { readonly one: TrackedMessage; readonly resolve: () => void }>()
  const chats = testPlatforms.flatMap((testPlatform) =>
    allChats(testPlatform.chats).map((chat) => ({ testPlatform, chat, pendingCount: 0, messageCount: 0 })),
  )
  const chatOf = (chat: string) => {
    const entry = chats.find((one) => one.chat === chat)
    if (entry === undefined) throw new Error(`there is no chat ${chat}`)
    return entry
  }
  let polls = 0
  const timer = setInterval(readChats, pollMs)

  function readChats(): void {
    polls += 1
    const last = polls % pollsPerFullRead === 0 ? undefined : newest
    for (const { testPlatform, chat, pendingCount } of chats) {
      if (pendingCount > 0) for (const message of testPlatform.sentMessages(chat, last)) recordAnswer(message)
    }
  }

  function recordAnswer({ id, text, draft }: SentMessage): void {
    const token = draft || read.has(id) ? undefined : answeredToken(text)
    if (token === undefined) return
    read.add(id)
    const found = pending.get(token)
    if (found === undefined) return
    pending.delete(token)
    chatOf(found.one.chat).pendingCount -= 1
    found.one.tookMs = performance.now() - found.one.at
    found.resolve()
  }

  /** Assigns the next number of the chat. The caller sends the message. */
  function register(testPlatform: TestPlatform, chat: string, kind: MessageKind): TrackedMessage {
    const entry = chatOf(chat)
    entry.messageCount += 1
    const { promise: answered, resolve } = Promise.withResolvers<void>()
    const { platform } = testPlatform
    const one: TrackedMessage = {
      platform,
      chat,
      kind,
      number: entry.messageCount,
      at: performance.now(),
      alone: entry.pendingCount === 0,
      tookMs: undefined,
      answered,
    }
    entry.pendingCount += 1
    messages.push(one)
    pending.set(tokenOf(one), { one, resolve })
    return one
  }

  return {
    messages,
    send(testPlatform, chat, kind) {
      const one = register(testPlatform, chat, kind)
      testPlatform.say(chat, textOf(one))
      return one
    },
    sendReordered(testPlatform, chat) {
      const first = register(testPlatform, chat, 'plain')
      const second = register(testPlatform, chat, 'plain')
      testPlatform.sayReordered(chat, textOf(first), textOf(second))
      return [first, second]
    },
    dropDeadLetters(texts) {
      for (const [token, { one, resolve }] of pending) {
        if (!texts.includes(textOf(one))) continue
        pending.delete(token)
        chatOf(one.chat).pendingCount -= 1
        resolve()
      }
    },
    pending: (platform) =>
      [...pending.values()].flatMap(({ one }) => (platform === undefined || one.platform === platform ? one : [])),
    close: () => clearInterval(timer),
  }
}
