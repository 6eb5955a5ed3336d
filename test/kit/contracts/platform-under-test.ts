/**
 * What the platform contract needs of a platform: the adapter, and hands and eyes on its other side. Each optional hand
 * says which promises are skipped without it.
 */
import type { Target } from '../../../src/message/source.ts'
import type { PlatformAdapter } from '../../../src/platforms/adapter.ts'
import type { RecordingContext } from '../recording-context.ts'

/** A place where a person talks with the agent. */
export interface TestConversation {
  readonly target: Target
  /**
   * The person writes. Resolves true when the platform was told "got it", false when it was told that something is wrong.
   * The same `id` is the same event, delivered again.
   */
  say(text: string, id: string): Promise<boolean>
  /** Resolves when the people there see exactly this text in a message of ours, now or later. */
  seen(text: string): Promise<void>
}

/** One adapter that has not connected yet, and its platform. */
export interface PlatformUnderTest extends TestConversation, UserActions, FaultInjection {
  readonly adapter: PlatformAdapter
  readonly gateway: RecordingContext
  /** Somebody opens the chat, where it shows nothing before; called after `connect`. */
  openChat?(): Promise<void>
  /** Takes everything down; the adapter may still be connected. */
  close(): Promise<void>

  /** One more adapter for the same account, as in the next life of the daemon; not connected. Without it: no second life. */
  createAnother?(): PlatformAdapter
  /** A thread (topic, forum post) of the same platform. Without it: no threads. */
  readonly thread?: TestConversation
  /** Tokens and passwords of the options: they must never be shown. Without it: nothing is looked for. */
  readonly secrets?: readonly string[]
  /** How many calls that would show something to people have reached the platform. Without it: silence is not counted. */
  sentCalls?(): number
}

/** A file that a person sends. */
export interface UserFile {
  readonly kind: 'photo' | 'voice' | 'document'
  readonly fileName: string
  readonly mimeType: string
  readonly bytes: Uint8Array
}

/** What people do and see beside plain messages. */
export interface UserActions {
  /** Somebody else writes in the same chat; resolves as `say`. */
  sayAsStranger?(text: string, id: string): Promise<boolean>
  /** The writer changes the message that was said under this id; resolves as `say`. */
  edit?(id: string, text: string): Promise<boolean>
  /** The writer takes that message back; resolves as `say`. */
  remove?(id: string): Promise<boolean>
  /** The writer puts this emoji on that message; resolves as `say`. */
  react?(id: string, emoji: string): Promise<boolean>
  /** The writer sends a file; resolves as `say`. */
  attach?(file: UserFile, id: string): Promise<boolean>
  /** The writer of `say` presses a button of a message of ours. Resolves with what the person is told, '' for nothing. */
  press?(buttonId: string, messageId: string): Promise<string>
  /** The labels of the buttons that people see on a message of ours. */
  buttonsSeen?(messageId: string): readonly string[]
  /**
   * Resolves when the people see a file of ours by this name: its bytes, or the address they see instead. Where the platform
   * shows no names, with the newest file.
   */
  fileSeen?(fileName: string): Promise<Uint8Array | string>
  /** Resolves when the people see a message of ours that holds such a text. Without it nobody looks for explanations. */
  noticeSeen?(text: RegExp): Promise<void>
}

/** What goes wrong on the platform's side. What was said to go wrong stays so until it happened, unless it says otherwise. */
export interface FaultInjection {
  /** Makes the platform unreachable, where there is one. */
  makeUnreachable?(): void
  /**
   * Cuts the connection and refuses new ones until `restore`; people go on writing meanwhile. Without it the platform is
   * one that calls us, and has no connection to lose.
   */
  interrupt?(): void | Promise<void>
  restore?(): void | Promise<void>
  /** A message of the bot's own account comes in, as platforms echo them. Resolves when it was delivered. */
  sayAsSelf?(text: string): Promise<unknown>
  /** The next send is answered "too many", with this wait (whole seconds). */
  rateLimit?(ms: number): void
  /** From now on the token is wrong. */
  refuseToken?(): void
  /** From now on the chat is gone: left, blocked, deleted. */
  loseChat?(): void
  /** The next send is shown to the people, and its answer is lost. */
  dropResponse?(): void
  /** Somebody removes a message of ours. */
  deleteOwnMessage?(messageId: string): void | Promise<void>
  /** The next edit is answered: it reads like this already. */
  answerNotModified?(): void
}
