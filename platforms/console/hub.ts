/**
 * Sends events to the terminals of a chat, one JSON object per line. A terminal that reconnects first receives the missed
 * entries of the history.
 */
import type { Button, ChatEntry, PlatformContext, TurnActivity } from '#sdk'

interface TerminalText {
  readonly text: string
  readonly turnId?: string | undefined
}

export type TerminalEvent =
  /** The terminal is up to date. `cursor` is where it continues after a lost connection. */
  | { readonly type: 'ready'; readonly cursor: string }
  /** A message that was sent while the terminal was disconnected, and a question that is still open. */
  | ({ readonly type: 'missed'; readonly id: string; readonly kind: ChatEntry['kind'] } & TerminalText & QuestionFields)
  /** The complete text of a reply in progress. */
  | ({ readonly type: 'draft'; readonly id: string } & TerminalText)
  | ({ readonly type: 'message'; readonly id: string; readonly kind: ChatEntry['kind'] } & TerminalText &
      QuestionFields)
  /** The question with this button has a result, which ends its text. */
  | { readonly type: 'settled'; readonly button: string; readonly text: string }
  | { readonly type: 'activity'; readonly activity: TurnActivity }

interface QuestionFields {
  /** Its buttons, while it is open. `press` takes their ids. */
  readonly buttons?: readonly Button[]
}

type Terminal = ReadableStreamDefaultController<Uint8Array>

const maxTerminalsPerChat = 8
/** The buffer of a terminal. A terminal that exceeds it must reconnect and catch up. */
const maxBufferedBytes = 4_194_304
const maxMissed = 200
/** Entries that are searched for open questions when a terminal is opened. */
const maxRecent = 50

const isFromAgent = ({ from }: ChatEntry) => from === 'agent'

export function createHub({ chats: stored, log }: Pick<PlatformContext, 'chats' | 'log'>) {
  const chats = new Map<string, Set<Terminal>>()
  const encoder = new TextEncoder()
  return { listen, publish }

  /** Opens the stream of a terminal until the signal aborts. With `after` (a cursor) it starts with the missed entries. */
  function listen(chat: string, after: string | null, signal: AbortSignal): ReadableStream<Uint8Array> {
    const [oldest] = chats.get(chat) ?? []
    if (oldest !== undefined && chats.get(chat)?.size === maxTerminalsPerChat) end(chat, oldest)
    const cancelled = new AbortController()
    const start = (terminal: Terminal) => {
      chats.set(chat, (chats.get(chat) ?? new Set()).add(terminal))
      cancelled.signal.addEventListener('abort', () => remove(chat, terminal), { once: true })
      signal.addEventListener('abort', () => end(chat, terminal), { once: true })
      void catchUp(chat, terminal, after)
    }
    const limit = { highWaterMark: maxBufferedBytes, size: (chunk?: Uint8Array) => chunk?.byteLength ?? 0 }
    return new ReadableStream<Uint8Array>({ start, cancel: () => cancelled.abort() }, limit)
  }

  function publish(chat: string, event: TerminalEvent): void {
    for (const terminal of chats.get(chat) ?? []) sendTo(chat, terminal, event)
  }

  /** The terminal already receives live events, so these may precede the missed entries. */
  async function catchUp(chat: string, terminal: Terminal, after: string | null): Promise<void> {
    try {
      const query = after === null ? { limit: maxRecent } : { limit: maxMissed, ...(after === '' ? {} : { after }) }
      const entries = await stored.history(chat, query)
      const isMissed = ({ question }: ChatEntry) => (after === null ? question?.state === 'open' : true)
      for (const { id, kind, text, turnId, question } of entries.filter(isFromAgent).filter(isMissed)) {
        const buttons = question?.state === 'open' ? { buttons: question.buttons } : {}
        sendTo(chat, terminal, { type: 'missed', id, kind, text, turnId, ...buttons })
      }
      sendTo(chat, terminal, { type: 'ready', cursor: entries.at(-1)?.id ?? after ?? '' })
    } catch (error) {
      log.warn({ event: 'console.history_failed', err: error }, 'history of a terminal chat could not be read')
      end(chat, terminal)
    }
  }

  function sendTo(chat: string, terminal: Terminal, event: TerminalEvent): void {
    if (!chats.get(chat)?.has(terminal)) return
    if ((terminal.desiredSize ?? 0) > 0) terminal.enqueue(encoder.encode(`${JSON.stringify(event)}\n`))
    // A lost draft is replaced by the next one. A lost message is not.
    else if (event.type !== 'draft' && event.type !== 'activity') end(chat, terminal)
  }

  function end(chat: string, terminal: Terminal): void {
    if (remove(chat, terminal)) terminal.close()
  }

  /** `false` when the terminal was removed before. A closed stream must not be closed again. */
  function remove(chat: string, terminal: Terminal): boolean {
    const terminals = chats.get(chat)
    const known = terminals?.delete(terminal) ?? false
    if (terminals?.size === 0) chats.delete(chat)
    return known
  }
}
