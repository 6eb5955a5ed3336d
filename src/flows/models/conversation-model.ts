/**
 * The model of a conversation that is not simply the configured one (contract §3.14): chosen there with `/model`, or configured for
 * its chat or its platform, in this order. Loaded with the first such conversation.
 */

import type { ChosenModel } from '../../agent/models/chosen-model.ts'
import type { ProviderSettings } from '../../agent/models/create-provider.ts'
import { findServer, resolveProvider } from '../../agent/models/resolve-provider.ts'
import { knownWindow } from '../../agent/models/windows.ts'
import { isHermesError } from '../../lib/errors.ts'
import { asRecord, parseJson } from '../../lib/json.ts'
import type { SessionSource } from '../../message/source.ts'
import type { AccountPolicy } from '../../platforms/accounts.ts'
import type { SessionSettings } from '../../sessions/session-state.ts'
import type { ModelMaker } from './other-model.ts'

/** What `/model` has stored: no secrets, and no address. */
export interface ModelChoice {
  readonly provider: string
  readonly model: string
  /** The window in tokens, as the provider reported it. */
  readonly contextLength?: number | undefined
}

/** Undefined for a value that is none. */
export function parseModelChoice(text: string | undefined): ModelChoice | undefined {
  if (text === undefined) return undefined
  const { provider, model, context_length: contextLength } = asRecord(parseJson(text))
  if (typeof provider !== 'string' || typeof model !== 'string') return undefined
  return { provider, model, ...(typeof contextLength === 'number' ? { contextLength } : {}) }
}

export function formatModelChoice({ provider, model, contextLength }: ModelChoice): string {
  return JSON.stringify({ provider, model, context_length: contextLength })
}

/** Where the model of a conversation is named. */
export type ModelOrigin = 'conversation' | 'chat' | 'platform' | 'configuration'

interface Level {
  readonly origin: ModelOrigin
  readonly provider?: string | undefined
  readonly model?: string | undefined
  readonly contextLength?: number | undefined
}

/** A conversation, or the turn in it. */
export interface ConversationFacts {
  readonly source: SessionSource
  readonly settings: SessionSettings
}

export interface ConversationModel {
  /** Undefined: the configured model answers. */
  readonly chosen: ChosenModel | undefined
  readonly origin: ModelOrigin
  readonly settings: ProviderSettings
  /** What was named first and cannot be used. `problem` says why. */
  readonly unusable?: { readonly provider: string; readonly model: string; readonly problem: Error } | undefined
}

/** Never rejects `config/…` for a model other than the configured one: the next level is used instead. */
export async function resolveConversationModel(
  { selection, create }: ModelMaker,
  models: AccountPolicy['models'],
  { source, settings }: ConversationFacts,
): Promise<ConversationModel> {
  const main = selection()
  const levels = modelLevels(settings, source, models)
  let unusable: ConversationModel['unusable']
  for (const [index, level] of levels.entries()) {
    const settings = levels.slice(index).reduceRight(selectionAt, main)
    try {
      const created = await create(settings)
      const isMain = settings.model === main.model && created.provider.baseUrl === resolveProvider(main)?.baseUrl
      const contextLength = isMain ? undefined : (level.contextLength ?? windowOf(settings))
      return { chosen: { ...created, contextLength }, origin: level.origin, settings: settings, unusable }
    } catch (error) {
      if (!isHermesError(error)) throw error
      unusable ??= { provider: settings.provider ?? '', model: settings.model, problem: error }
    }
  }
  return { chosen: undefined, origin: 'configuration', settings: main, unusable }
}

/** The most specific one first. */
function modelLevels(settings: SessionSettings, source: SessionSource, models: AccountPolicy['models']): Level[] {
  const chosen = parseModelChoice(settings.model)
  const ids = [source.threadId, source.chatId, source.parentChatId]
  const id = ids.find((id) => id !== undefined && Object.hasOwn(models?.channels ?? {}, id))
  const chat = id === undefined ? undefined : models?.channels[id]
  const levels: Level[] = [
    { origin: 'conversation', ...chosen },
    { origin: 'chat', provider: chat?.provider, model: chat?.model },
    { origin: 'platform', provider: models?.provider, model: models?.model },
  ]
  return levels.filter(({ provider, model }) => provider !== undefined || model !== undefined)
}

/** The settings of the next level, with what a level names. Address, key and API belong to their provider. */
export function selectionAt(
  next: ProviderSettings,
  { provider, model }: Pick<Level, 'provider' | 'model'>,
): ProviderSettings {
  if (provider === undefined) return { ...next, model: model ?? next.model }
  const other = { ...next, provider, baseUrl: '', apiKey: '', apiMode: undefined }
  const name = resolveProvider(other)?.name
  if (name !== undefined && name === resolveProvider(next)?.name) return { ...next, model: model ?? next.model }
  return { ...other, model: model ?? findServer(next.providers, provider)?.server.model ?? next.model }
}

/** Undefined when only the server knows. A local server often uses less than the model could. */
export function windowOf(settings: ProviderSettings): number | undefined {
  const choice = resolveProvider(settings)
  if (choice === undefined) return undefined
  const server = findServer(settings.providers, choice.name)?.server
  const configured = server?.models?.[settings.model]?.context_length ?? server?.context_length
  return configured ?? (choice.isOfficial ? knownWindow(settings.model) : undefined)
}
