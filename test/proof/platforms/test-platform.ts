/**
 * One chat platform on its local server, as the proof uses it: users write, the messages of the bot can be read, and
 * faults can be injected. Each platform has a file in this directory.
 */
import type { SentMessage } from '../../crash/chat-server.ts'
import type { FaultResponse, Faults } from '../../kit/servers/faults.ts'

export interface TestPlatform {
  readonly platform: string
  /** Its section of config.yaml. */
  readonly config: Readonly<Record<string, unknown>>
  readonly chats: TestChats
  readonly faults: Faults
  /** The calls that each kind of fault affects. */
  readonly calls: {
    /** The calls that show a new message. */
    readonly send: RegExp
    readonly edit: RegExp
    /** The calls to which a rate limit applies: those that show an answer. */
    readonly counted: RegExp
  }
  readonly responses: { readonly broken: FaultResponse; readonly unauthorised: FaultResponse }
  /** Whether a rate limit response states that it applies to the whole account. */
  readonly reportsScope: boolean
  /** Whether the platform can be asked for a message whose response was lost, so that no draft stays unfinished. */
  readonly findsDrafts: boolean
  /** An answer of this length does not fit into one message. */
  readonly longChars: number
  /** The vendor id of a chat, as its API calls contain it. */
  vendorIdOf(chat: string): string
  /** A user writes a message. Returns at once. */
  say(chat: string, text: string): void
  /** Delivers the last message of this chat again. */
  repeat(chat: string): void
  /** Writes two messages of which the second, `first`, arrives before the other. */
  sayReordered(chat: string, first: string, second: string): void
  /** From now on the bot cannot write in this chat. The returned function ends this. */
  revokeAccess(chat: string): () => void
  /** The messages of the bot in a chat, oldest first; with `last` only this number of the newest ones. */
  sentMessages(chat: string, last?: number): readonly SentMessage[]
  /** Faults that only this platform has. */
  readonly ownFaults: readonly PlatformFault[]
  close(): Promise<void>
}

/** Invented names of one letter and one digit. No two platforms share a name. */
export interface TestChats {
  /** The chat whose answers show that the bot works again. */
  readonly probe: string
  /** The chat to which the bot loses access. */
  readonly lost: string
  /** The chats in which users write all the time. */
  readonly busy: readonly string[]
}

/** A fault of the server. */
export interface PlatformFault {
  readonly name: string
  readonly durationMs: number
  /** Starts the fault and resolves with a function that ends it. */
  start(): Promise<() => void | Promise<void>>
}

export function chatsOf(letter: string): TestChats {
  return { probe: `${letter}1`, lost: `${letter}2`, busy: [`${letter}3`, `${letter}4`, `${letter}5`] }
}

export function allChats({ probe, lost, busy }: TestChats): readonly string[] {
  return [probe, lost, ...busy]
}

/** The newest matching items, oldest first, at most `last`. */
export function newestOf<T>(all: readonly T[], fits: (one: T) => boolean, last = Number.POSITIVE_INFINITY): T[] {
  const found: T[] = []
  for (let at = all.length - 1; at >= 0 && found.length < last; at -= 1) {
    const one = all[at]
    if (one !== undefined && fits(one)) found.push(one)
  }
  return found.reverse()
}

/** The end of the text of an unfinished draft. */
export const draftCursor = '▉'
