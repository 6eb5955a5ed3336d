/**
 * What `/model` needs of the gateway. Loaded with the command.
 */
import type { SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'

/** The model that answers in a conversation. */
export interface CurrentModel {
  readonly model: string
  readonly provider: string
  /** Where it is named. */
  readonly origin: 'conversation' | 'chat' | 'platform' | 'configuration'
  /** The window in tokens. */
  readonly contextLength: number
  /** What was named first and cannot be used, and why. */
  readonly unusable?: { readonly model: string; readonly provider: string; readonly reason: string } | undefined
}

export interface ListedProvider {
  readonly provider: string
  readonly label: string
  readonly models: readonly { readonly id: string; readonly contextLength?: number }[]
  /** Why the provider gave no list. */
  readonly failure?: string | undefined
}

export type ModelChange =
  /** `isUnchecked`: the provider has no list, so it may not have the model. */
  | { readonly kind: 'changed'; readonly now: CurrentModel; readonly isUnchecked: boolean }
  | { readonly kind: 'unknown-provider'; readonly provider: string; readonly closest: string | null }
  | { readonly kind: 'unknown-model'; readonly provider: string; readonly models: readonly string[] }
  | { readonly kind: 'ambiguous'; readonly models: readonly string[] }
  | { readonly kind: 'unusable'; readonly provider: string; readonly reason: string }

export interface ModelRequest {
  /** `provider:model`, `model` or `provider`. */
  readonly words: string
  readonly provider: string | undefined
  /** The choice holds for all conversations that have no model of their own: it is written into config.yaml. */
  readonly isGlobal: boolean
}

export interface ModelServices {
  current(conversation: ModelConversation): Promise<CurrentModel>
  /** All providers with a key or an address, or one of them; undefined when there is no such provider. */
  list(conversation: ModelConversation, provider?: string): Promise<readonly ListedProvider[] | undefined>
  /** From the next turn on. Rejects `config/…` when config.yaml cannot be changed, and `store/…`. */
  choose(conversation: ModelConversation, request: ModelRequest): Promise<ModelChange>
  /** The next level names the model again. */
  reset(conversation: ModelConversation): Promise<CurrentModel>
  /** Takes known secrets out of a text, as replies do. */
  withhold(text: string): string
}

export interface ModelConversation {
  readonly sessionKey: SessionKey
  readonly source: SessionSource
}
