/**
 * The platform under test of the platform contract: the adapter, and capabilities that act on the platform's side. The
 * contract skips the promises whose capabilities are missing.
 */
import type { Target } from '../../../src/message/source.ts'
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import type { RecordingContext } from '../recording-context.ts'

/** A chat or thread between a user and the agent. */
export interface TestConversation {
  readonly target: Target
  /**
   * Sends a message of the user. Resolves with true if the event was acknowledged, with false if an error was returned.
   * The same `id` delivers the same event again.
   */
  say(text: string, id: string): Promise<boolean>
  /** Resolves as soon as a message of the bot has exactly this text. */
  seen(text: string): Promise<void>
}

/** An adapter that is not connected, and its platform. */
export interface PlatformUnderTest extends TestConversation, UserActions, FaultInjection {
  readonly adapter: PlatformAdapter
  readonly gateway: RecordingContext
  /** Opens the chat, for platforms that show messages only in an open chat. Called after `connect`. */
  openChat?(): Promise<void>
  /** Closes everything. The adapter may still be connected. */
  close(): Promise<void>

  /** Creates another adapter for the same account, as the next start of the daemon does. It is not connected. */
  createAnother?(): PlatformAdapter
  /** A thread (topic, forum post) of the same platform. */
  readonly thread?: TestConversation
  /** Tokens and passwords of the options. They must not appear in any output. */
  readonly secrets?: readonly string[]
  /** Number of received calls that show something to users. */
  sentCalls?(): number
}

/** What `platformContract` accepts: capabilities may have their names of 0.1. */
export interface DeprecatedCapabilities {
  /** @deprecated Use `createAnother`. Removed in 0.3.0. */
  again?: PlatformUnderTest['createAnother']
  /** @deprecated Use `makeUnreachable`. Removed in 0.3.0. */
  breakDown?: PlatformUnderTest['makeUnreachable']
  /** @deprecated Use `dropResponse`. Removed in 0.3.0. */
  loseAnswer?: PlatformUnderTest['dropResponse']
}

/** Replaces deprecated names by the current ones. */
export function withCurrentNames(platform: PlatformUnderTest & DeprecatedCapabilities): PlatformUnderTest {
  const { again, breakDown, loseAnswer } = platform
  return {
    ...platform,
    ...(again === undefined ? {} : { createAnother: again }),
    ...(breakDown === undefined ? {} : { makeUnreachable: breakDown }),
    ...(loseAnswer === undefined ? {} : { dropResponse: loseAnswer }),
  }
}

/** A file that a user sends. */
export interface UserFile {
  readonly kind: 'photo' | 'voice' | 'document'
  readonly fileName: string
  readonly mimeType: string
  readonly bytes: Uint8Array
}

/** What users do and see besides text messages. */
export interface UserActions {
  /** Sends a message of another user of the chat. Resolves like `say`. */
  sayAsStranger?(text: string, id: string): Promise<boolean>
  /** The author edits the message with this id. Resolves like `say`. */
  edit?(id: string, text: string): Promise<boolean>
  /** The author deletes that message. Resolves like `say`. */
  remove?(id: string): Promise<boolean>
  /** The author adds a reaction to that message. Resolves like `say`. */
  react?(id: string, emoji: string): Promise<boolean>
  /** The user sends a file. Resolves like `say`. */
  attach?(file: UserFile, id: string): Promise<boolean>
  /** The user of `say` presses a button. Resolves with the notification that the user sees, '' if none. */
  press?(buttonId: string, messageId: string): Promise<string>
  /** The labels of the buttons shown under a message of the bot. */
  buttonsSeen?(messageId: string): readonly string[]
  /**
   * Resolves with the bytes or the URL of a file with this name, as soon as it is shown. If the platform shows no names, it
   * resolves with the newest file.
   */
  fileSeen?(fileName: string): Promise<Uint8Array | string>
  /** The bytes of files that are shown together, as an album or in one message; a list for each group, oldest first. */
  albumsShown?(): readonly (readonly Uint8Array[])[]
  /** Resolves as soon as a message of the bot matches. */
  noticeSeen?(text: RegExp): Promise<void>
}

/** Faults on the platform's side. A fault for the next call waits until that call comes. */
export interface FaultInjection {
  /** Makes the platform unreachable. */
  makeUnreachable?(): void
  /**
   * Closes the connection and refuses new ones until `restore`. Users can still write. Leave it out if the platform calls a
   * webhook, because then there is no connection.
   */
  interrupt?(): void | Promise<void>
  restore?(): void | Promise<void>
  /** Delivers a message of the bot's own account, as platforms echo them. Resolves when it was delivered. */
  sayAsSelf?(text: string): Promise<unknown>
  /** Answers the next send with a rate limit and this wait time (whole seconds). */
  rateLimit?(ms: number): void
  /** Rejects the token from now on. */
  refuseToken?(): void
  /** Removes the chat: it was left, blocked or deleted. */
  loseChat?(): void
  /** Shows the next message, but loses the response. */
  dropResponse?(): void
  /** A user or administrator removes a message of the bot. */
  deleteOwnMessage?(messageId: string): void | Promise<void>
  /** Answers the next edit with "message is not modified". */
  answerNotModified?(): void
}
