/**
 * The live part of the opened conversations: one client of the console platform each, whose events go into the store. A
 * conversation that is left stays connected, so its answer is there on return.
 */

import type { ApiAccess } from '../../api/client.ts'
import { describeError } from '../../lib/describe-error.ts'
import { messageOf } from '../../lib/errors.ts'
import { sleep } from '../../lib/timers.ts'
import { type ChatClient, createChatClient } from '../chat/chat-client.ts'
import type { Store } from './store.ts'
import { findConversations, readEntries, type StoredConversation } from './stored-conversations.ts'

export interface LiveConversationsOptions extends ApiAccess {
  readonly store: Store
  /** The toolsets of new conversations. */
  readonly toolsets?: readonly string[] | undefined
  readonly checkpoints: boolean
  /** Aborts when the interface is closed. */
  readonly signal: AbortSignal
}

export interface LiveConversations {
  /** Connects a conversation and reads what was said in it. Does nothing for one that is open. */
  open(chat: string, isNew: boolean): void
  client(chat: string): ChatClient
  /** Never rejects: what fails is an entry of the conversation. */
  send(chat: string, text: string, files?: readonly string[]): Promise<void>
  /** Answers a question. Never rejects. */
  press(chat: string, button: string, message: string): Promise<void>
  /** Stops the turn. Never rejects. */
  stop(chat: string): Promise<void>
}

/** The maximum time that a stop waits for the gateway. */
const stopTimeoutMs = 5_000
const retryMs = 2_000
/** Commands after which the chat holds other messages. */
const replacing = /^\/(?:resume|undo|branch|new|reset|retry)\b/

export function createLiveConversations(options: LiveConversationsOptions): LiveConversations {
  const { store, signal, ...connection } = options
  const clients = new Map<string, ChatClient>()
  /** Messages without a result, by chat. */
  const open = new Map<string, Set<number>>()

  return {
    open(chat, isNew) {
      if (clients.has(chat)) return
      void readEvents(chat)
      if (!isNew) void readHistory(chat)
    },
    client,
    async send(chat, text, files = []) {
      store.dispatch(chat, { type: 'sent', text })
      const seq = await deliver(chat, text, files)
      if (seq === undefined) return
      const seqs = open.get(chat) ?? new Set()
      open.set(chat, seqs.add(seq))
      try {
        const result = await client(chat).waitForResult(seq, signal)
        store.dispatch(chat, { type: 'result', result })
      } catch (error) {
        if (!signal.aborted) store.dispatch(chat, { type: 'lost-result', reason: describeError(error) })
      } finally {
        seqs.delete(seq)
      }
      await readDescription(chat, replacing.test(text))
    },
    async press(chat, button, message) {
      try {
        const { status, text } = await client(chat).press(button, message, signal)
        store.dispatch(chat, { type: 'answered', button, text, isTaken: status !== 'refused' })
      } catch (error) {
        if (!signal.aborted) store.dispatch(chat, { type: 'error', text: describeError(error) })
      }
    },
    async stop(chat) {
      store.dispatch(chat, { type: 'stopping' })
      try {
        await client(chat).stop([...(open.get(chat) ?? [])].at(-1), AbortSignal.timeout(stopTimeoutMs))
      } catch (error) {
        store.dispatch(chat, { type: 'error', text: `The turn may still be running: ${messageOf(error)}` })
      }
    },
  }

  function client(chat: string): ChatClient {
    const known = clients.get(chat)
    if (known !== undefined) return known
    const created = createChatClient({ ...connection, chat })
    clients.set(chat, created)
    return created
  }

  async function deliver(chat: string, text: string, files: readonly string[]): Promise<number | undefined> {
    try {
      const seq = await client(chat).send(text, signal, false, files)
      store.dispatch(chat, { type: 'accepted', text })
      return seq
    } catch (error) {
      if (!signal.aborted) store.dispatch(chat, { type: 'not-sent', text, reason: describeError(error) })
      return undefined
    }
  }

  /** The client itself waits for a gateway that is away. A gateway that refuses is asked again, because it may be starting. */
  async function readEvents(chat: string): Promise<void> {
    for (let reported = ''; !signal.aborted; ) {
      try {
        for await (const event of client(chat).events(signal)) store.dispatch(chat, { type: 'chat', event })
      } catch (error) {
        const text = describeError(error)
        if (!signal.aborted && text !== reported) store.dispatch(chat, { type: 'error', text })
        reported = text
      }
      store.dispatch(chat, { type: 'chat', event: { type: 'lost' } })
      await sleep(retryMs, signal)
    }
  }

  async function readHistory(chat: string): Promise<void> {
    try {
      const [stored] = await findConversations(connection, { chat }, signal)
      if (stored !== undefined) describe(chat, stored)
      const entries = stored === undefined ? [] : await readEntries(connection, stored.id, signal)
      store.dispatch(chat, { type: 'history', entries })
    } catch (error) {
      if (!signal.aborted) store.dispatch(chat, { type: 'history-failed', reason: describeError(error) })
    }
  }

  /** The gateway names a conversation after its first turn. This is only shown, so a failure is left to the next turn. */
  async function readDescription(chat: string, isReplaced: boolean): Promise<void> {
    try {
      const [stored] = await findConversations(connection, { chat }, signal)
      if (stored !== undefined) describe(chat, stored)
      if (!isReplaced) return
      const entries = stored === undefined ? [] : await readEntries(connection, stored.id, signal)
      store.dispatch(chat, { type: 'replaced', entries })
    } catch (error) {
      if (isReplaced && !signal.aborted) store.dispatch(chat, { type: 'error', text: describeError(error) })
    }
  }

  function describe(chat: string, { about, spent }: StoredConversation): void {
    store.dispatch(chat, { type: 'described', title: about, spent })
  }
}
