/**
 * The contract of a platform adapter: three required methods, everything else is optional.
 * Each optional member documents what the gateway does without it.
 */
import type { LogFields, Logger } from '../lib/log.ts'
import type { AcceptResult, ReadCursor } from '../message/accept-result.ts'
import type { ButtonPress, MessageChange } from '../message/change.ts'
import type { Attachment, MessageEvent } from '../message/event.ts'
import type { EventKey } from '../message/ids.ts'
import type {
  AlbumResult,
  Button,
  OutboundAlbum,
  OutboundAttachment,
  OutboundMessage,
  SendResult,
} from '../message/outbound.ts'
import type { SessionSource, Target } from '../message/source.ts'
import type { ToolCallSummary, ToolView } from '../message/tool-view.ts'
import type { ImagePart } from '../message/transcript.ts'
import type { TurnResult, TurnStatus } from '../message/turn-result.ts'
import type { PlatformAutomation } from './automation.ts'

export interface PlatformAdapter {
  /**
   * Starts to receive. Resolves once messages can arrive. May throw: the supervisor retries with increasing delays.
   * Aborting the signal cancels the attempt; `disconnect` follows.
   */
  connect(signal: AbortSignal): Promise<void>
  /** Stops receiving and releases all resources. May be called twice, and before `connect` has ended. Must not throw. */
  disconnect(): Promise<void>
  /** Sends one message that fits the limits. Errors of the platform are returned as a `SendResult`, never thrown. */
  send(message: OutboundMessage, signal: AbortSignal): Promise<SendResult>

  /** What fits into one message. Without it: 4,000 UTF-16 units. */
  readonly limits?: MessageLimits | undefined
  /**
   * Replaces the text of a message that the bot sent. Without it replies are sent once they are complete, not streamed.
   * `final` marks the last edit. An edit is idempotent: repeating it must be harmless.
   * Returns `rejected` for a message that no longer exists; the outbox then sends a new one.
   */
  edit?(messageId: string, message: OutboundMessage, final: boolean, signal: AbortSignal): Promise<SendResult>
  /** Removes a message that the bot sent. Without it an abandoned draft stays in the chat. */
  remove?(target: Target, messageId: string, signal: AbortSignal): Promise<SendResult>
  /**
   * Shows that the agent is working; called every few seconds. Without it nothing is shown. A `rate-limited` result
   * slows down the chat; other failures are ignored.
   */
  typing?(target: Target, signal: AbortSignal): Promise<SendResult>
  /** Attachments can be sent. Without it the outbox sends a line of text with the file name. */
  readonly sendsAttachments?: boolean | undefined
  /** Several files of a reply can be sent together; needs `sendsAttachments`. Without it `send` is called for each file. */
  readonly albums?: AlbumSupport
  /** Buttons can be sent. Without it users answer with commands, which the text lists. */
  readonly showsButtons?: boolean | undefined
  /**
   * Resolves the address of an attachment that was received with a `ref`. The gateway downloads it, never from a private
   * address unless the origin is `trusted`; headers are sent to the first origin only. May throw: the message is then
   * processed without the file. Without it attachments need a `url`.
   */
  locate?(attachment: Attachment, signal: AbortSignal): Promise<AttachmentAddress>
  /**
   * Which of these roles of the platform (`user_roles` of plugin.yaml) the sender holds where the message was written.
   * Called for a message of a person whose role depends on it, at most once in five minutes. May throw, and has two
   * seconds: the person then gets the lower role. Without it no one holds such a role.
   */
  heldRoles?(source: SessionSource, names: readonly string[], signal: AbortSignal): Promise<readonly string[]>
  /**
   * The chats of this account whose name is `name` or resembles it; `name` begins with `#` or `@`. It may return other chats,
   * too, and then a person who misspelt a name is told a similar one. May throw, and has ten seconds. Without it people name
   * chats by id.
   */
  findChats?(name: string, signal: AbortSignal): Promise<readonly FoundChat[]>
  /**
   * `PlatformMenu.commands` has changed while the adapter is connected: updates the native menu in the background. Returns at
   * once. Without it the menu changes when the adapter connects again.
   */
  commandsChanged?(): void
  /** Shows the activity of the agent (tools). Without it tools run silently. */
  activity?(target: Target, activity: TurnActivity): void
  /**
   * Determines whether a message arrived although the response to its request was lost. Without it, or for 'unknown', the
   * outbox delivers the message once more with a visible label.
   */
  resolveUnknown?(
    message: OutboundMessage,
    signal: AbortSignal,
  ): Promise<{ sent: true; messageId?: string | undefined } | { sent: false } | 'unknown'>
  /** Delay between two edits of a draft, ms. Without it `streaming.edit_interval` of the configuration. */
  readonly draftIntervalMs?: number | undefined
  /** The adapter marks a draft itself. Without it the outbox appends `streaming.cursor` to each draft. */
  readonly drawsCursor?: boolean | undefined
  /** A draft can only grow: text that was shown stays. A text that a plugin may still replace is not shown. */
  readonly appendsDrafts?: boolean | undefined
  /** Shows a text while it is written, without a message. Without it a message is edited. */
  readonly nativeDrafts?: NativeDrafts
  /** A message may be sent twice without a label, for example to a page that reads the stored history. */
  readonly idempotentSends?: boolean | undefined
}

/**
 * Drafts of the platform: each update replaces the shown text, and a draft vanishes by itself, at the latest when the reply is
 * sent. Its functions must not depend on `this`.
 */
export interface NativeDrafts {
  /** Whether drafts can be shown here. Must be fast and not throw. */
  isSupported(target: Target): boolean
  /** Between two updates, ms. */
  readonly intervalMs: number
  /**
   * Shows or replaces a draft. All updates of a text have the same `draftId`, an integer from 1 to 2^31 - 1. Errors of the
   * platform are returned, never thrown. After `rejected` the text is streamed by edits of a message.
   */
  show(draftId: number, message: OutboundMessage, signal: AbortSignal): Promise<SendResult>
}

/** A chat that the bot can write to. */
export interface FoundChat {
  readonly chatId: string
  /** Without `#` and `@`. */
  readonly name: string
  /** The server or workspace, where several may have a chat of the same name. */
  readonly place?: string | undefined
}

/** Sends several files as one album or one message. Its functions must not depend on `this`. */
export interface AlbumSupport {
  /** The most files of one album, from 2 to 100. */
  readonly maxFiles: number
  /**
   * Consecutive files of a reply with the same group are sent together. `undefined` for a file that is always sent alone.
   * Must be fast and not throw.
   */
  groupOf(file: GroupableFile): string | undefined
  /**
   * Sends all files or none. Errors of the platform are returned, never thrown. After `rejected` the outbox calls `send`
   * for each file, so that one bad file does not prevent the others; return it also for a file that cannot be read.
   */
  send(album: OutboundAlbum, signal: AbortSignal): Promise<AlbumResult>
  /**
   * Resolves like `PlatformAdapter.resolveUnknown`. The album has the `deliveryId` of the call in question, and those
   * of its files whose delivery is still open. Without it, or for 'unknown', the album is delivered once more with a
   * visible label.
   */
  resolveUnknown?(album: OutboundAlbum, signal: AbortSignal): Promise<AlbumLookup>
}

/** `messageIds`: as in `AlbumResult`; leave them out when the album has fewer files than were sent. */
export type AlbumLookup =
  | { readonly sent: true; readonly messageIds?: readonly string[] | undefined }
  | { readonly sent: false }
  | 'unknown'

/** What is known of a file before it is opened. */
export interface GroupableFile extends Pick<OutboundAttachment, 'kind' | 'fileName' | 'mimeType'> {
  readonly source: { readonly kind: 'file' | 'url' }
}

export interface AttachmentAddress {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** An origin that the operator has configured (`http://127.0.0.1:8081`). It may be in a private network. */
  readonly trusted?: string | undefined
  /** The content type of the response when the credentials are rejected, for example `text/html`. */
  readonly refusedType?: string
}

export interface MessageLimits {
  readonly maxChars: number
  /** How `maxChars` counts. */
  readonly unit: 'utf16' | 'codepoints' | 'bytes'
  /**
   * Whether a Markdown text within `maxChars` fits into one message, for platforms with further limits. Called for each
   * part of a reply, which is split smaller until all parts fit. Must be fast and not throw. Without it only the
   * length counts.
   */
  fits?(markdown: string): boolean
}

/** The current activity of a turn, for platforms that show it live. It is not stored. */
export type TurnActivity =
  | { readonly kind: 'turn-started'; readonly turnId: string; readonly messageId?: string }
  | {
      readonly kind: 'tool-started'
      readonly turnId: string
      readonly callId: string
      readonly tool: string
      /** One line without secrets. */
      readonly label: string
    }
  | {
      readonly kind: 'tool-ended'
      readonly turnId: string
      readonly callId: string
      readonly tool: string
      readonly ok: boolean
      /** One line without secrets. */
      readonly summary: string
    }
  | {
      readonly kind: 'turn-ended'
      readonly turnId: string
      readonly status: TurnStatus
      /** The message that the turn answers. */
      readonly messageId?: string
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

/** The immediate response to a pressed button. */
export interface PressResult {
  /** `stale`: the question was answered before, or has expired. `refused`: this user may not answer it. */
  readonly status: 'taken' | 'stale' | 'refused'
  /** One short line of plain text. */
  readonly text: string
}

/** One result of `diagnose`, for `hermes doctor`. */
export interface DiagnosticResult {
  readonly state: 'ok' | 'note' | 'problem'
  /** For the owner; contains no secret. */
  readonly text: string
  /** The next step; always present for a problem. */
  readonly advice?: string
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
  readonly question?: ChatQuestion
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

export interface PlatformGateway {
  /** What a page may show of the daemon. */
  info(): GatewayInfo
  /** The model that answers in a conversation. It may have one of its own. */
  modelOf(source: SessionSource): Promise<Pick<GatewayInfo, 'model' | 'provider'>>
  /** What the adapter may cause besides messages. Its code is loaded with the first call. */
  automation(): Promise<PlatformAutomation>
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
  readonly subject?: { readonly command: string; readonly description: string; readonly patternKeys: readonly string[] }
  /** ms since 1970. */
  readonly expiresAt: number
}

export interface QuestionAnswer {
  /** Who answers, and the chat of the question. */
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

export interface GatewayInfo {
  readonly version: string
  readonly model: string
  readonly provider: string
  /** Reasons why the daemon runs degraded; empty when all is well. */
  readonly degraded: readonly string[]
}

/** An HTTP route of a platform, with the web standard types `Request` and `Response`. */
export interface HttpRoute {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** An exact path, one with variable segments (`/v1/runs/{run_id}`), or one ending in `/*`. */
  readonly path: string
  /**
   * `token`: only with the gateway's bearer token. `public`: for pages without secrets.
   * `own`: the adapter verifies the platform's signature (webhooks).
   */
  readonly access: 'token' | 'public' | 'own'
  /** May throw: the server responds with 500 and logs the error. `request.signal` aborts when the client disconnects. */
  handle(request: Request): Promise<Response> | Response
  /** For `GET /api/openapi.json`; a route without it is not a public API. Called with the first request for the document. */
  describe?(): Promise<readonly RouteDescription[]>
}

/** What a route takes and returns, for the OpenAPI document. */
export interface RouteDescription {
  readonly method: HttpRoute['method']
  /** With the names of its variable parts: `/v1/runs/{run_id}`. */
  readonly path: string
  readonly access: HttpRoute['access']
  /** One sentence. */
  readonly summary: string
  /** The group in which it is shown. */
  readonly tag: string
  /** The schema of an object: one property for each parameter of the query string. */
  readonly query?: JsonSchema
  readonly body?: JsonSchema
  /** Default: `application/json`. */
  readonly bodyType?: string
  /** By status; those of errors are added. */
  readonly responses: Readonly<Record<number, ResponseDescription>>
}

export interface ResponseDescription {
  readonly description: string
  readonly schema?: JsonSchema
  /** Default: `application/json`. */
  readonly contentType?: string
  /** Whether it also comes as a stream of server-sent events. */
  readonly events?: boolean
}

/** JSON Schema, draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** The default export of `platforms/<name>/adapter.ts`. */
export interface PlatformModule<Options = Readonly<Record<string, unknown>>> {
  createAdapter(context: PlatformContext<Options>): PlatformAdapter
  /**
   * Checks whether an account can work: its token, its permissions, other clients that use it. For `hermes doctor`; changes
   * nothing on the platform. Without it, doctor only reports whether the account is configured.
   */
  diagnose?(account: DiagnosticContext<Options>, signal: AbortSignal): Promise<readonly DiagnosticResult[]>
  /** The settings of an app that a person pastes into the pages of the platform, as JSON. For `hermes platforms manifest`. */
  appManifest?(commands: readonly CommandEntry[]): unknown
}

export interface DiagnosticContext<Options = Readonly<Record<string, unknown>>> {
  readonly account: string
  readonly options: Options
  /** The URL of the running gateway, if any. */
  readonly gatewayUrl?: string
}

/** Types the default export of a platform. */
export function definePlatform(module: PlatformModule): PlatformModule {
  return module
}
