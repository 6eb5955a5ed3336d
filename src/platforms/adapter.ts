/**
 * The contract of a platform adapter: three required methods, everything else is optional.
 * Each optional member documents what the gateway does without it.
 */
import type { Attachment } from '../message/event.ts'
import type {
  AlbumResult,
  OutboundAlbum,
  OutboundAttachment,
  OutboundMessage,
  SendResult,
} from '../message/outbound.ts'
import type { SessionSource, Target } from '../message/source.ts'
import type { TurnStatus } from '../message/turn-result.ts'
import type { CommandEntry, PlatformContext } from './context.ts'

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
  /** Whether someone would see a draft in this chat now. Without it always. Must be fast and not throw. */
  readonly showsDrafts?: ((target: Target) => boolean) | undefined
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
  readonly server?: string | undefined
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
  | { readonly kind: 'turn-started'; readonly turnId: string; readonly messageId?: string | undefined }
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
      readonly messageId?: string | undefined
    }

/** One result of `diagnose`, for `hermes doctor`. */
export interface DiagnosticResult {
  readonly state: 'ok' | 'note' | 'problem'
  /** For the owner; contains no secret. */
  readonly text: string
  /** The next step; always present for a problem. */
  readonly advice?: string | undefined
  /** The page on which the next step is done. */
  readonly link?: string | undefined
}

/** How people reach a bot. */
export interface Invitation {
  /** The name of the bot, as people know it: `@my_bot`. */
  readonly name: string
  /** The page that opens a chat with it, or adds it to a server or workspace. */
  readonly url: string
  /** What to do there, in one or two sentences. */
  readonly advice: string
}

/** The default export of `platforms/<name>/adapter.ts`. */
export interface PlatformModule<Options = Readonly<Record<string, unknown>>> {
  createAdapter(context: PlatformContext<Options>): PlatformAdapter
  /**
   * Checks whether an account can work: its token, its permissions, other clients that use it. For `hermes doctor`; changes
   * nothing on the platform. Without it, doctor only reports whether the account is configured.
   */
  diagnose?(account: DiagnosticContext<Options>, signal: AbortSignal): Promise<readonly DiagnosticResult[]>
  /**
   * How people reach the bot of an account, for those who connect it. Called once `diagnose` has found no problem; changes nothing
   * on the platform, and may throw. Without it they find the bot themselves.
   */
  invite?(account: DiagnosticContext<Options>, signal: AbortSignal): Promise<Invitation>
  /** The settings of an app that a person pastes into the pages of the platform, as JSON. For `hermes platforms manifest`. */
  appManifest?(commands: readonly CommandEntry[]): unknown
}

export interface DiagnosticContext<Options = Readonly<Record<string, unknown>>> {
  readonly account: string
  readonly options: Options
  /** The URL of the running gateway, if any. */
  readonly gatewayUrl?: string | undefined
}

/** Types the default export of a platform. */
export function definePlatform(module: PlatformModule): PlatformModule {
  return module
}
