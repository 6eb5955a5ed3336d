/**
 * What people choose for a conversation (`/reasoning`, `/personality`, `/verbose`, `/footer`, `/voice`), and what the commands need
 * for it.
 */
import type { ToolProgressMode } from '../message/conversation-choices.ts'
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'

type Chosen = Readonly<Partial<Record<string, string>>>

export interface ConversationChoices {
  /** What people have chosen for this conversation. */
  chosen(key: SessionKey): Promise<Chosen>
  /** Stores a choice; null removes it. */
  change(key: SessionKey, name: ConversationChoice, value: string | null): Promise<void>
  /** What the configuration offers. */
  configured(): ConfiguredChoices
  /** What a conversation shows of a turn, with what people have chosen for it. */
  display(source: SessionSource, chosen: Chosen): ConversationDisplay
  /** The services that hear and speak in a chat. */
  voices(source: SessionSource): Promise<Voices>
}

export type ConversationChoice =
  | 'reasoning_effort'
  | 'show_reasoning'
  | 'personality'
  | 'tool_progress'
  | 'footer'
  | 'voice'

export interface ConfiguredChoices {
  /** The entries of `personalities`. */
  readonly personalities: readonly { readonly name: string; readonly description: string }[]
  /** The configured one, or a file of the home. */
  readonly personality: string
  readonly reasoningEffort: string | undefined
  readonly provider: string
  /** Whether the provider may tell what the model thought. */
  readonly givesThinking: boolean
}

export interface ConversationDisplay {
  /** Whether messages and lines about a turn are shown. Pages and terminals show the turn themselves. */
  readonly showsProgress: boolean
  readonly toolProgress: ToolProgressMode
  /** `display.tool_progress_command` */
  readonly permitsVerbose: boolean
  /** Whether what the model thought is shown above its answer. */
  readonly showsThinking: boolean
  readonly hasFooter: boolean
}

export interface Voices {
  /** `voice.auto_tts` */
  readonly isDefault: boolean
  /** Why voice messages are not transcribed, in a few words; '' if they are. */
  readonly listens: string
  /** Why answers are not spoken; '' if they can be. */
  readonly speaks: string
  /** Whether the platform takes files now. */
  readonly sendsVoices: boolean
}
