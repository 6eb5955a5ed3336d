/**
 * The terminals that watch a chat. What happens goes to them at once, one line of JSON each; a terminal that was away
 * gets what it missed from the stored history.
 */
import type { ChatEntry, PlatformContext, TurnActivity } from '#sdk'

interface TerminalText {
  readonly text: string
  readonly turnId?: string
}

export type TerminalEvent =
  /** Listening. `cursor` is the place to go on from after a lost connection. */
  | { readonly type: 'ready'; readonly cursor: string }
  /** Said while the terminal was away. */
  | ({ readonly type: 'missed'; readonly kind: ChatEntry['kind'] } & TerminalText)
  /** The whole text of a reply that still grows. */
  | ({ readonly type: 'draft'; readonly id: string } & TerminalText)
  | ({ readonly type: 'message'; readonly id: string; readonly kind: ChatEntry['kind'] } & TerminalText)
  | { readonly type: 'activity'; readonly activity: TurnActivity }

type Terminal = ReadableStreamDefaultController<Uint8Array>

const maxTerminalsPerChat = 8
/** What a terminal that does not read may leave lying: beyond it, it has to come back and catch up. */
const maxBufferedBytes = 4_194_304
const maxMissed = 200

export function createHub({ history, log }: Pick<PlatformContext, 'history' | 'log'>) {
  const chats = new Map<string, Set<Terminal>>()
  const encoder = new TextEncoder()
  return { listen, publish }

  /** Lines for one terminal until the signal aborts. With `after` (a cursor) it begins with what was missed. */
  function listen(chat: string, after: string | null, signal: AbortSignal): ReadableStream<Uint8Array> {
    const [oldest] = chats.get(chat) ?? []
    if (oldest !== undefined && chats.get(chat)?.size === maxTerminalsPerChat) end(chat, oldest)
    const gone = new AbortController()
    const start = (terminal: Terminal) => {
      chats.set(chat, (chats.get(chat) ?? new Set()).add(terminal))
      gone.signal.addEventListener('abort', () => leave(chat, terminal), { once: true })
      signal.addEventListener('abort', () => end(chat, terminal), { once: true })
      void catchUp(chat, terminal, after)
    }
    const limit = { highWaterMark: maxBufferedBytes, size: (chunk?: Uint8Array) => chunk?.byteLength ?? 0 }
    return new ReadableStream<Uint8Array>({ start, cancel: () => gone.abort() }, limit)
  }

  function publish(chat: string, event: TerminalEvent): void {
    for (const terminal of chats.get(chat) ?? []) tell(chat, terminal, event)
  }

  /** The terminal listens already: what is said meanwhile may come before what it missed, but is not lost. */
  async function catchUp(chat: string, terminal: Terminal, after: string | null): Promise<void> {
    try {
      const query = after === null ? { limit: 1 } : { limit: maxMissed, ...(after === '' ? {} : { after }) }
      const entries = await history(chat, query)
      for (const { from, kind, text, turnId } of after === null ? [] : entries) {
        const said = turnId === undefined ? { text } : { text, turnId }
        if (from === 'agent') tell(chat, terminal, { type: 'missed', kind, ...said })
      }
      tell(chat, terminal, { type: 'ready', cursor: entries.at(-1)?.id ?? after ?? '' })
    } catch (error) {
      log.warn({ error }, 'the history of a terminal chat could not be read')
      end(chat, terminal)
    }
  }

  function tell(chat: string, terminal: Terminal, event: TerminalEvent): void {
    if (!chats.get(chat)?.has(terminal)) return
    if ((terminal.desiredSize ?? 0) > 0) terminal.enqueue(encoder.encode(`${JSON.stringify(event)}\n`))
    // The next draft says it all; a message may not be left out.
    else if (event.type === 'message' || event.type === 'missed') end(chat, terminal)
  }

  function end(chat: string, terminal: Terminal): void {
    if (leave(chat, terminal)) terminal.close()
  }

  /** False when it has left before: a stream that is closed must not be closed again. */
  function leave(chat: string, terminal: Terminal): boolean {
    const terminals = chats.get(chat)
    const known = terminals?.delete(terminal) ?? false
    if (terminals?.size === 0) chats.delete(chat)
    return known
  }
}
