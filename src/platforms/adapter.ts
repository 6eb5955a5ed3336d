/**
 * The contract of a platform: three required methods, everything else optional.
 * Each optional member says what the gateway does without it.
 */
import type { Logger } from '../lib/log.ts'
import type { AcceptResult, ReadCursor } from '../message/accept-result.ts'
import type { ButtonPress, MessageChange } from '../message/change.ts'
import type { Attachment, MessageEvent } from '../message/event.ts'
import type { EventKey } from '../message/ids.ts'
import type { OutboundMessage, SendResult } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { TurnResult, TurnStatus } from '../message/turn-result.ts'

export interface PlatformAdapter {
  /**
   * Begins to receive. Resolves once messages can flow. May throw: the supervisor tries again with growing pauses.
   * Aborting the signal means "give up connecting"; `disconnect` follows.
   */
  connect(signal: AbortSignal): Promise<void>
  /** Stops receiving and frees everything. May be called twice, and before `connect` has ended. Must not throw. */
  disconnect(): Promise<void>
  /** Sends one message that fits the limits. Never throws for what the platform says: that is a `SendResult`. */
  send(message: OutboundMessage, signal: AbortSignal): Promise<SendResult>

  /** What fits into one message. Without it: 4,000 UTF-16 units. */
  readonly limits?: MessageLimits
  /**
   * Replaces the text of a message of ours. Without it replies are not streamed, only sent when they are done.
   * `final` marks the last edit. An edit is idempotent: repeating it must be harmless.
   * A message that no longer exists answers `rejected`; the outbox then sends it anew.
   */
  edit?(messageId: string, message: OutboundMessage, final: boolean, signal: AbortSignal): Promise<SendResult>
  /** Removes a message of ours. Without it an abandoned draft stays as it is. */
  remove?(target: Target, messageId: string, signal: AbortSignal): Promise<SendResult>
  /**
   * Shows that the agent is at work; called every few seconds. Without it nothing is shown. A result that says
   * `rate-limited` counts against the budget of the chat; other failures are ignored.
   */
  typing?(target: Target, signal: AbortSignal): Promise<SendResult>
  /** Attachments may be sent. Without it the outbox sends a line of text that names the file. */
  readonly sendsAttachments?: boolean
  /** Buttons may be sent. Without it people answer with commands, which the text then names. */
  readonly showsButtons?: boolean
  /**
   * Where the bytes of an attachment lie that came in with a `ref`. The gateway fetches them: never from a private
   * address, unless it is of the origin that `trusted` names; headers go to the first origin only. May throw: the
   * message is answered without the file. Without it attachments need a `url`.
   */
  locate?(attachment: Attachment, signal: AbortSignal): Promise<AttachmentAddress>
  /** Shows what the agent does (tools). Without it tools run silently. */
  activity?(target: Target, activity: TurnActivity): void
  /**
   * Finds out whether a send whose answer was lost did arrive. Without it, or for 'unknown', the outbox delivers
   * once more with a visible label.
   */
  resolveUnknown?(
    message: OutboundMessage,
    signal: AbortSignal,
  ): Promise<{ sent: true; messageId?: string } | { sent: false } | 'unknown'>
  /** Pause between two edits of a draft, ms. Without it the `streaming.edit_interval` of the config. */
  readonly draftIntervalMs?: number
  /** The adapter marks a growing reply itself. Without it the outbox appends `streaming.cursor` to each draft. */
  readonly drawsCursor?: boolean
  /** Parts of a reply may be repeated for free and never need a label (a page that reads the stored history). */
  readonly idempotentSends?: boolean
}

export interface AttachmentAddress {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  /** An origin the operator has configured (`http://127.0.0.1:8081`): it may lie in a private network. */
  readonly trusted?: string
  /** What arrives there where the file should be when the credentials are not accepted, for example `text/html`. */
  readonly refusedType?: string
}

export interface MessageLimits {
  readonly maxChars: number
  /** How `maxChars` counts. */
  readonly unit: 'utf16' | 'codepoints' | 'bytes'
}

/** What a turn is doing right now, for platforms that show it live. Nothing here is stored. */
export type TurnActivity =
  | { readonly kind: 'turn-started'; readonly turnId: string; readonly messageId?: string }
  | {
      readonly kind: 'tool-started'
      readonly turnId: string
      readonly callId: string
      readonly tool: string
      readonly label: string
    }
  | {
      readonly kind: 'tool-ended'
      readonly turnId: string
      readonly callId: string
      readonly tool: string
      readonly ok: boolean
      readonly summary: string
    }
  | {
      readonly kind: 'turn-ended'
      readonly turnId: string
      readonly status: TurnStatus
      /** The message the turn answers. */
      readonly messageId?: string
    }

/** A slash command, for platforms that list commands natively. */
export interface CommandEntry {
  readonly name: string
  readonly description: string
  /** For example `[name]`; '' when it takes none. */
  readonly argsHint: string
}

/** What the person who pressed a button is told at once. */
export interface PressResult {
  /** `stale`: it was answered before, or has expired. `refused`: this person may not. */
  readonly status: 'taken' | 'stale' | 'refused'
  /** One short line of plain text. */
  readonly text: string
}

/** What one look at a platform found, for `hermes doctor`. */
export interface DiagnosticResult {
  readonly state: 'ok' | 'note' | 'problem'
  /** In plain words, without a secret. */
  readonly text: string
  /** What to do about it; a problem has it always. */
  readonly advice?: string
}

/** One line of a chat as the platform showed it: what people wrote, what was answered. */
export interface ChatEntry {
  /** Grows with time; unique within the chat. */
  readonly id: string
  readonly from: 'user' | 'agent'
  readonly kind: 'message' | 'notice'
  readonly text: string
  /** ms since 1970. */
  readonly at: number
  /** The turn it belongs to, where there is one. */
  readonly turnId?: string
  /** What the adapter called the message when it handed it in. */
  readonly messageId?: string
}

/** Which lines of a chat: the first `limit` after an entry, the last `limit` before one, or the newest. */
export interface HistoryQuery {
  readonly after?: string
  readonly before?: string
  readonly limit: number
}

/** What the gateway gives an adapter. */
export interface PlatformContext<Options = Readonly<Record<string, unknown>>> {
  readonly platform: string
  readonly account: string
  /** The account's section of the config, checked against the plugin.yaml. */
  readonly options: Options
  readonly log: Logger
  readonly home: string
  readonly clock: () => number
  /**
   * Hands an event in. Resolves after it is on disk: only then may the platform be told "got it".
   * `keys` are the event's names, the first is its own, further ones are aliases for deduplication.
   * Throws when nothing was stored. After `inbox/too-large` acknowledge it all the same and tell the person: it will never
   * fit. After anything else (disk full, starting, stopping) do not acknowledge: the platform delivers again.
   */
  accept(event: MessageEvent, keys: readonly [EventKey, ...EventKey[]], mark?: ReadCursor): Promise<AcceptResult>
  /**
   * Hands in what happened to an earlier message. Resolves after it is on disk, like `accept`, and throws like it. What
   * becomes of an edit is the account's setting `edits`: ignore, amend or rerun. After `refused` (also for a message that
   * was never accepted) acknowledge it and say nothing. `keys` are names of the change, never those of the message.
   */
  change(change: MessageChange, keys: readonly [EventKey, ...EventKey[]]): Promise<AcceptResult>
  /**
   * Somebody pressed a button. Resolves when the choice is on disk; tell the person the answer within the platform's
   * limit. The message itself is edited by whoever asked. Throws when nothing was stored.
   */
  press(press: ButtonPress): Promise<PressResult>
  /** How far this account has read, by place: what `accept` was given last. After an outage the adapter fetches what came since. */
  cursors(): Promise<ReadonlyMap<string, string>>
  /** The slash commands that people may use, in the order they are shown. */
  commands(): readonly CommandEntry[]
  /**
   * Runs a call of the adapter's own (a reaction, a deletion) within the rate budget that the outbox keeps for this chat
   * and account. Waits for its turn; rejects when the signal aborts. A `rate-limited` result is remembered, not retried.
   * Never from within `send`, `edit`, `remove` or `typing`: the chat is theirs meanwhile, and the call would wait for itself.
   */
  rateLimited(
    target: Target,
    signal: AbortSignal,
    call: (signal: AbortSignal) => Promise<SendResult>,
  ): Promise<SendResult>
  /** Waits until the turn or command of an accepted event has ended. Rejects when the signal aborts. */
  waitForResult(seq: number, signal: AbortSignal): Promise<TurnResult>
  /** Asks the turn that works on this event to stop. A no-op when it has ended. */
  stop(seq: number): Promise<void>
  /** The stored lines of a chat, oldest first. */
  history(chatId: string, query: HistoryQuery): Promise<ChatEntry[]>
  /** Serves HTTP under `/<prefix>`; see `HttpRoute`. */
  route(route: HttpRoute): void
  /** Reports health between connects: `connected` again, or what is wrong. */
  health(state: 'connected' | 'degraded', reason?: string): void
  /** The platform has refused the account for good, in the middle of its life: it is ended until its config changes. */
  refused(reason: string): void
  /** Something came in from the platform just now: an event, an answered poll, a heartbeat. Health says `receiving` by it. */
  received(): void
  /** Daemon facts a page may show. */
  info(): GatewayInfo
}

export interface GatewayInfo {
  readonly version: string
  readonly model: string
  readonly provider: string
  /** Reasons why the daemon runs degraded; empty when all is well. */
  readonly degraded: readonly string[]
}

/** An HTTP address of a platform, in the shapes of the web standard (`Request`, `Response`). */
export interface HttpRoute {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** An exact path, or one ending in `/*`. */
  readonly path: string
  /**
   * `token`: only with the gateway's bearer token. `public`: for pages without secrets.
   * `own`: the platform checks its own signature (webhooks).
   */
  readonly access: 'token' | 'public' | 'own'
  /** May throw: the server answers 500 and logs it. `request.signal` aborts when the client hangs up. */
  handle(request: Request): Promise<Response> | Response
}

/** The default export of `platforms/<name>/adapter.ts`. */
export interface PlatformModule<Options = Readonly<Record<string, unknown>>> {
  createAdapter(context: PlatformContext<Options>): PlatformAdapter
  /**
   * Looks whether an account can work: its token, its rights, what else uses it. For `hermes doctor`; changes nothing at
   * the platform. Without it doctor says only whether the account is configured.
   */
  diagnose?(account: DiagnosticContext<Options>, signal: AbortSignal): Promise<readonly DiagnosticResult[]>
}

export interface DiagnosticContext<Options = Readonly<Record<string, unknown>>> {
  readonly account: string
  readonly options: Options
  /** The address of the running gateway, when one runs. */
  readonly gatewayUrl?: string
}

/** Types the default export of a platform. */
export function definePlatform(module: PlatformModule): PlatformModule {
  return module
}
