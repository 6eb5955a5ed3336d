/**
 * The contract of a platform: three required methods, everything else optional.
 * Each optional member says what the gateway does without it.
 */
import type { Logger } from '../lib/log.ts'
import type { MessageEvent } from '../message/event.ts'
import type { EventKey } from '../message/ids.ts'
import type { OutboundMessage, SendResult } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'

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
  /** Shows that the agent is at work; called every few seconds. Without it nothing is shown. */
  typing?(target: Target, signal: AbortSignal): Promise<void>
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
  /** Parts of a reply may be repeated for free and never need a label (a page that reads the stored history). */
  readonly idempotentSends?: boolean
}

export interface MessageLimits {
  readonly maxChars: number
  /** How `maxChars` counts. */
  readonly unit: 'utf16' | 'codepoints' | 'bytes'
}

/** What a turn is doing right now, for platforms that show it live. Nothing here is stored. */
export type TurnActivity =
  | { readonly kind: 'turn-started'; readonly turnId: string }
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
  | { readonly kind: 'turn-ended'; readonly turnId: string; readonly status: TurnStatus }

export type TurnStatus = 'done' | 'failed' | 'stopped'

/** What became of an event once its turn or command has ended. */
export interface TurnOutcome {
  readonly status: TurnStatus
  /** The reply, or the notice that explains a failure. */
  readonly text: string
  readonly sessionId: string
  readonly model: string
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number }
  /** Only with `failed`: the code of the error catalogue. */
  readonly errorCode?: string
}

export type Accepted =
  | { readonly status: 'accepted'; readonly seq: number }
  /** The key is known already: the platform sent the event twice. Acknowledge it. */
  | { readonly status: 'duplicate'; readonly seq: number }
  /** The sender may not talk to the agent. Acknowledge it and say nothing, or `reason` where the platform is private. */
  | { readonly status: 'refused'; readonly reason: string }

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
  accept(event: MessageEvent, keys: readonly [EventKey, ...EventKey[]]): Promise<Accepted>
  /** Waits until the turn or command of an accepted event has ended. Rejects when the signal aborts. */
  outcome(seq: number, signal: AbortSignal): Promise<TurnOutcome>
  /** Asks the turn that works on this event to stop. A no-op when it has ended. */
  stop(seq: number): Promise<void>
  /** The stored lines of a chat, oldest first. */
  history(chatId: string, query: HistoryQuery): Promise<ChatEntry[]>
  /** Serves HTTP under `/<prefix>`; see `HttpRoute`. */
  route(route: HttpRoute): void
  /** Reports health between connects: `connected` again, or what is wrong. */
  health(state: 'connected' | 'degraded', reason?: string): void
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
}

/** Types the default export of a platform. */
export function definePlatform(module: PlatformModule): PlatformModule {
  return module
}
