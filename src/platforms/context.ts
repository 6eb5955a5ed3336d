/**
 * The gateway's side of the contract of an adapter: who the account is, and a port for each part of the gateway.
 */
import type { LogFields, Logger } from '../lib/log.ts'
import type { AcceptResult, ReadCursor } from '../message/accept-result.ts'
import type { ButtonPress, MessageChange } from '../message/change.ts'
import type { Attachment, MessageEvent } from '../message/event.ts'
import type { EventKey } from '../message/ids.ts'
import type { Button, SendResult } from '../message/outbound.ts'
import type { SessionSource, Target } from '../message/source.ts'
import type { ToolCallSummary, ToolView } from '../message/tool-view.ts'
import type { ImagePart } from '../message/transcript.ts'
import type { TurnResult } from '../message/turn-result.ts'
import type { PlatformAutomation } from './automation.ts'
import type { HttpRoute } from './http-route.ts'

/**
 * The gateway's side of the contract, passed to each adapter: who the account is, how messages come in, and a port for each part of
 * the gateway that an adapter may use. No function depends on `this`.
 */
export interface PlatformContext<Options = Readonly<Record<string, unknown>>> {
  readonly platform: string
  readonly account: string
  /** The account's section of the configuration, validated against plugin.yaml. */
  readonly options: Options
  readonly log: Logger<LogFields>
  readonly home: string
  readonly clock: () => number
  /**
   * Stores an event. Resolves after it is on disk: only then may the event be acknowledged to the platform.
   * The first of `keys` identifies the event; further keys are aliases for deduplication.
   * Throws when nothing was stored. After `inbox/too-large` acknowledge the event all the same and notify the user. After any
   * other error (disk full, starting, stopping) do not acknowledge it, so that the platform delivers it again.
   */
  accept(event: MessageEvent, keys: readonly [EventKey, ...EventKey[]], cursor?: ReadCursor): Promise<AcceptResult>
  /**
   * For a message that waits for earlier ones of its chat: a command that ends or answers something (`/stop`, `/approve`,
   * `/deny`) is stored after one second, unless `inOrder` has settled. `accept` it in order all the same; it is then a
   * duplicate. Runs in the background.
   */
  acceptIfDelayed(event: MessageEvent, keys: readonly [EventKey, ...EventKey[]], inOrder: Promise<unknown>): void
  /**
   * Stores a change of an earlier message. Resolves after it is on disk and throws like `accept`. The account's setting
   * `edits` decides about an edit: ignore, amend or rerun. After `refused` (also for a message that was never accepted)
   * acknowledge it and reply nothing. `keys` identify the change, not the message.
   */
  change(change: MessageChange, keys: readonly [EventKey, ...EventKey[]]): Promise<AcceptResult>
  /** Serves HTTP under `/<prefix>`; see `HttpRoute`. */
  route(route: HttpRoute): void
  /**
   * Runs another API call of the adapter (a reaction, a deletion) under the rate limiter of this chat and account. Waits for
   * a permit; rejects when the signal aborts. A `rate-limited` result is recorded, not retried. Must not be called within
   * `send`, `edit`, `remove` or `typing`: these hold the permit of the chat, so the call would wait for itself.
   */
  rateLimited(
    target: Target,
    signal: AbortSignal,
    call: (signal: AbortSignal) => Promise<SendResult>,
  ): Promise<SendResult>
  /** What the adapter reports about its connection. */
  readonly connection: PlatformConnection
  /** How far this account has read. */
  readonly catchUp: PlatformCatchUp
  /** The turns of accepted events. */
  readonly turns: PlatformTurns
  /** What was said and done in a chat. */
  readonly chats: PlatformChats
  /** The questions that turns wait for. */
  readonly questions: PlatformQuestions
  /** The slash commands. */
  readonly menu: PlatformMenu
  /** The files of messages. */
  readonly files: PlatformFiles
  /** What the adapter has to remember over a restart. */
  readonly records: PlatformRecords
  /** The gateway as a whole. */
  readonly gateway: PlatformGateway
}

export interface PlatformConnection {
  /** Reports health while connected: `connected` again, or `degraded` with a reason. */
  health(state: 'connected' | 'degraded', reason?: string): void
  /** Reports that data arrived: an event, a poll response, a heartbeat. Health derives `receiving` from it. */
  received(): void
  /** Reports that the platform has rejected the account permanently. It is stopped until its configuration changes. */
  refused(reason: string): void
}

export interface PlatformCatchUp {
  /** The read cursors of this account, by chat or thread. After an outage the adapter fetches newer messages. */
  cursors(): Promise<ReadonlyMap<string, string>>
  /** How many missed messages of one chat or thread are fetched (`catch_up.max`). The newest count; report an excess there. */
  limit(): number
}

export interface PlatformTurns {
  /** Waits until the turn or command of an accepted event has ended. Rejects when the signal aborts. */
  waitForResult(seq: number, signal: AbortSignal): Promise<TurnResult>
  /** The result of an accepted event so far: `undefined` until its turn has ended, null when the gateway has it no longer. */
  findResult(seq: number): Promise<TurnResult | null | undefined>
  /** Asks the turn that works on this event to stop. A no-op when it has ended. */
  stop(seq: number): Promise<void>
}

export interface PlatformChats {
  /** The stored messages of a chat, oldest first. */
  history(chatId: string, query: HistoryQuery): Promise<ChatEntry[]>
  /** What the agent did in the turns of a chat. */
  readonly toolCalls: ChatToolCalls
}

export interface PlatformMenu {
  /** The slash commands for users, in display order. */
  commands(): readonly CommandEntry[]
  /** Resolves when plugins that are still loading have registered their commands. Await it before a menu of `commands()` is published. */
  complete(): Promise<void>
}

/** A slash command, for platforms with a native command list. */
export interface CommandEntry {
  readonly name: string
  readonly description: string
  /** For example `[name]`; '' when it takes none. */
  readonly argsHint: string
  /** Other names of the command, which are typed only. */
  readonly aliases?: readonly string[] | undefined
  /** The only arguments that it takes, for platforms whose menus list them. Absent when it takes any text. */
  readonly choices?: readonly string[] | undefined
}

export interface PlatformGateway {
  /** What a page may show of the daemon. */
  info(): GatewayInfo
  /** The model that answers in a conversation. It may have one of its own. */
  modelOf(source: SessionSource): Promise<Pick<GatewayInfo, 'model' | 'provider'>>
  /** What the adapter may cause besides messages. Its code is loaded with the first call. */
  automation(): Promise<PlatformAutomation>
}

export interface GatewayInfo {
  readonly version: string
  readonly model: string
  readonly provider: string
  /** Reasons why the daemon runs degraded; empty when all is well. */
  readonly degraded: readonly string[]
}

/** One message of a chat as the platform showed it, of a user or of the agent. */
export interface ChatEntry {
  /** Grows with time; unique within the chat. */
  readonly id: string
  readonly from: 'user' | 'agent'
  readonly kind: 'message' | 'notice'
  readonly text: string
  /** ms since 1970. */
  readonly at: number
  /** The turn that it belongs to, if any. */
  readonly turnId?: string | undefined
  /** The message id that the adapter passed to `accept`. */
  readonly messageId?: string | undefined
  /** A question with buttons, or its result: a later entry with the same `id`, which replaces it. */
  readonly question?: ChatQuestion | undefined
  /** The files of the message, in order. */
  readonly files?: readonly ChatFile[]
}

/** A file of a message in the history of a chat. */
export interface ChatFile {
  readonly kind: Attachment['kind'] | 'image' | 'animation'
  /** '' when the sender gave none. */
  readonly fileName: string
  readonly mimeType?: string | undefined
  readonly bytes?: number | undefined
  /** For `PlatformFiles.open`, of a file that a user sent. Absent when the gateway does not have it. */
  readonly name?: string
  /** The `deliveryId` that `send` received with a file of the agent. */
  readonly deliveryId?: string
  /** The caption of a file of the agent, or ''. */
  readonly caption?: string
}

/** A question of the gateway, as it is now. */
export interface ChatQuestion {
  readonly id: string
  /** `accepted`: a choice other than a refusal. `unanswered`: it has expired, or its turn has ended. */
  readonly state: 'open' | 'accepted' | 'refused' | 'unanswered'
  /** For `PlatformQuestions.press`; empty unless it is open. */
  readonly buttons: readonly Button[]
}

/** Selects messages of a chat: the first `limit` after an entry, the last `limit` before one, or the newest. */
export interface HistoryQuery {
  readonly after?: string | undefined
  readonly before?: string | undefined
  readonly limit: number
}

/** The tool calls of turns. A call is told only of the chat whose message its turn works on. Both reject `store/…`. */
export interface ChatToolCalls {
  /** The ended calls of these turns, at most 500, in the order of their start. Calls of other chats are left out. */
  list(chatId: string, turnIds: readonly string[]): Promise<readonly ToolCallSummary[]>
  /**
   * What one call did; without `whole` about as much as a screen shows. Undefined for calls of other chats, and for those of scripts
   * and of sub-agents, which are not stored.
   */
  view(
    chatId: string,
    call: { readonly turnId: string; readonly callId: string },
    options: { readonly whole: boolean },
  ): Promise<ToolView | undefined>
}

/** The questions of this account alone. All reject `store/...`. */
export interface PlatformQuestions {
  /**
   * Stores the press of a button. Resolves when the choice is on disk; show the result to the user within the platform's
   * time limit. The gateway edits the message itself. Throws when nothing was stored.
   */
  press(press: ButtonPress): Promise<PressResult>
  /** The open questions of a chat, the oldest first. */
  list(chatId: string): Promise<readonly OpenQuestion[]>
  /** Stores an answer as the press of a button does. Rejects as `press`. */
  answer(answer: QuestionAnswer): Promise<PressResult>
}

/** The immediate response to a pressed button. */
export interface PressResult {
  /** `stale`: the question was answered before, or has expired. `refused`: this user may not answer it. */
  readonly status: 'taken' | 'stale' | 'refused'
  /** One short line of plain text. */
  readonly text: string
}

export interface OpenQuestion {
  readonly id: string
  /** `clarify`: a question of the agent, which may be answered in own words. */
  readonly kind: 'approval' | 'clarify'
  /** The number of the event whose turn waits. */
  readonly seq: number
  /** Markdown without secrets. */
  readonly text: string
  readonly choices: readonly { readonly answer: string; readonly label: string }[]
  /** The subject of an approval. The command is without secrets. */
  readonly subject?:
    | { readonly command: string; readonly description: string; readonly patternKeys: readonly string[] }
    | undefined
  /** ms since 1970. */
  readonly expiresAt: number
}

export interface QuestionAnswer {
  /** The person who answers, and the chat of the question. */
  readonly source: SessionSource
  readonly id: string
  /** The answer to an approval is one of its choices. Without it `text` answers a question of the agent. */
  readonly answer?: string
  /** The answer in own words, or the reason of a refusal; at most 4,000 characters count. */
  readonly text?: string
}

/**
 * JSON values by key, of this account alone. A value that was not written for `sessions.retention.days` is removed. All methods
 * resolve after the change is on disk and reject `store/...`.
 */
export interface PlatformRecords {
  get(key: string): Promise<unknown>
  put(key: string, value: unknown): Promise<void>
  /** Stores the value unless the key has one. Returns the value that the key has now. */
  insert(key: string, value: unknown): Promise<unknown>
  remove(key: string): Promise<void>
  /** The values of keys that begin with `prefix`, by key from the highest one below `before`. */
  list(options: {
    readonly prefix: string
    readonly before?: string
    readonly limit: number
  }): Promise<readonly { readonly key: string; readonly value: unknown }[]>
}

/** The files of messages, which the gateway keeps under `$HERMES_HOME/media`. */
export interface PlatformFiles {
  /**
   * The attachment of a complete upload (`POST /api/uploads`). May be called again for the same upload.
   * Throws `media/upload-gone` or `store/full`.
   */
  upload(id: string): Promise<Attachment>
  /** Stores a file. Throws `media/too-large`, `media/not-fetched`, `store/full`, or the error of the content. */
  store(source: FileSource, about: FileToStore): Promise<Attachment>
  /**
   * Stores a picture that models can look at. Throws `media/picture-too-large`, `media/picture-refused`, `media/not-fetched`,
   * `store/full`, or the error of the content.
   */
  picture(source: FileSource): Promise<{ readonly image: ImagePart; readonly path: string }>
  /** Opens a file by its path below the directory, as in `ChatFile.name`. `undefined` when there is none. */
  open(name: string): Promise<OpenedFile | undefined>
}

/** The content, or an address that others have chosen: nothing is downloaded from a private network. */
export type FileSource = AsyncIterable<Uint8Array> | { readonly url: string; readonly signal: AbortSignal }

export interface FileToStore {
  readonly fileName?: string
  /** What the sender says; the content decides. */
  readonly mimeType?: string
  /** Default: a name after the content, so that the same file is stored once. An existing file of this name is replaced. */
  readonly name?: { readonly folder: string; readonly name: string }
}

export interface OpenedFile {
  /** By the content. */
  readonly mimeType: string
  readonly bytes: number
  readonly content: AsyncIterable<Uint8Array>
  /** Call it when the content is not read to its end. May be called twice. */
  close(): void
}
