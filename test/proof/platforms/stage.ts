/**
 * One chat product on its local server, as the proof of the platforms sees it: people write, the bot's messages stand
 * there, and things go wrong on demand. One file beside this one for each product.
 */
import type { SentMessage } from '../../crash/chat-server.ts'
import type { FaultResponse, Faults } from '../../kit/servers/faults.ts'

export interface Stage {
  readonly platform: string
  /** Its section of config.yaml. */
  readonly config: Readonly<Record<string, unknown>>
  readonly chats: StageChats
  readonly faults: Faults
  /** Which calls a fault of a kind concerns. */
  readonly calls: {
    /** Those that show a message anew. */
    readonly send: RegExp
    readonly edit: RegExp
    /** Those that a limit of the rate meets: what an answer is shown with. */
    readonly counted: RegExp
  }
  readonly answers: { readonly broken: FaultResponse; readonly unauthorised: FaultResponse }
  /** Its "too many" says whether a chat or the whole account is meant. */
  readonly tellsScope: boolean
  /** An answer of so many characters does not fit into one message. */
  readonly longChars: number
  /** The vendor's own name of a chat, as its calls carry it. */
  nameOf(chat: string): string
  /** A person writes. Returns at once. */
  say(chat: string, text: string): void
  /** What was said last in this chat comes once more. */
  repeat(chat: string): void
  /** Two are written; the second of them, `first`, arrives before the other. */
  sayReordered(chat: string, first: string, second: string): void
  /** From now on the bot may not write there; the returned function ends it. */
  lose(chat: string): () => void
  /** The messages of the bot in a chat, oldest first; with `last` only so many of the newest. */
  shown(chat: string, last?: number): readonly SentMessage[]
  /** What can befall this product alone. */
  readonly own: readonly StageTrouble[]
  close(): Promise<void>
}

/** Made-up names, one letter and a number; no two stages share one. */
export interface StageChats {
  /** Where somebody looks whether the bot answers again. */
  readonly probe: string
  /** The chat that goes away. */
  readonly lost: string
  /** Where people write all the time. */
  readonly busy: readonly string[]
}

/** Something that befalls the server. */
export interface StageTrouble {
  readonly name: string
  readonly lastsMs: number
  /** Begins; resolves with what ends it. */
  begin(): Promise<() => void | Promise<void>>
}

export function chatsOf(letter: string): StageChats {
  return { probe: `${letter}1`, lost: `${letter}2`, busy: [`${letter}3`, `${letter}4`, `${letter}5`] }
}

export function allChats({ probe, lost, busy }: StageChats): readonly string[] {
  return [probe, lost, ...busy]
}

/** Those that fit among the newest, oldest first; `last` at most. */
export function newestOf<T>(all: readonly T[], fits: (one: T) => boolean, last = Number.POSITIVE_INFINITY): T[] {
  const found: T[] = []
  for (let at = all.length - 1; at >= 0 && found.length < last; at -= 1) {
    const one = all[at]
    if (one !== undefined && fits(one)) found.push(one)
  }
  return found.reverse()
}

/** What stands at the end of a reply that is still being written. */
export const draftCursor = '▉'
