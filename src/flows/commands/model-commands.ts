/**
 * The services of `/model`. Loaded with the command, and with `/status` where a conversation may have a model of its own.
 */

import type { CurrentModel, ListedProvider, ModelConversation, ModelServices } from '../../commands/model.ts'
import { lazy } from '../../lib/cache.ts'
import { messageOf } from '../../lib/errors.ts'
import { changeSessionSetting, readSessionSettings } from '../../sessions/session-state.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { AgentModels } from '../models/agent-models.ts'
import { type ConversationModel, formatModelChoice } from '../models/conversation-model.ts'
import type { FoundModel, ProviderModels } from '../models/model-directory.ts'

interface ModelGateway extends Pick<Runtime, 'store' | 'home'> {
  readonly settings: () => { readonly context_length: number }
}

export function createModelServices(
  gateway: ModelGateway,
  models: Pick<AgentModels, 'conversationModel' | 'selection' | 'describe' | 'withKey'>,
  withhold: (text: string) => string,
): ModelServices {
  const { store, home } = gateway

  const openDirectory = lazy(() =>
    import('../models/model-directory.ts').then(({ createModelDirectory }) => createModelDirectory(models)),
  )

  async function resolve({ sessionKey, source }: ModelConversation): Promise<ConversationModel> {
    const settings = await store.run(() => readSessionSettings(sessionKey))
    return await models.conversationModel({ source, settings })
  }

  const current = async (conversation: ModelConversation) => toCurrent(gateway, models, await resolve(conversation))

  async function changeGlobally({ provider, model, contextLength }: Extract<FoundModel, { kind: 'found' }>) {
    const { editModel } = await import('../models/edit-model.ts')
    editModel(home, models.selection(), { provider, model, contextLength })
  }

  return {
    current,
    withhold,
    async list(conversation, provider) {
      const { list, providers } = await openDirectory()
      if (provider !== undefined) {
        const models = await list(provider)
        return models === undefined ? undefined : [toListed(models)]
      }
      const { settings } = await resolve(conversation)
      const all = await Promise.all((await providers(settings)).map(list))
      return all.flatMap((models) => (models === undefined ? [] : [toListed(models)]))
    },
    async choose(conversation, { words, provider, isGlobal }) {
      const { settings } = await resolve(conversation)
      const result = await (await openDirectory()).find(words, provider, settings)
      if (result.kind === 'unusable')
        return { kind: 'unusable', provider: result.provider, reason: messageOf(result.problem) }
      if (result.kind !== 'found') return result
      if (isGlobal) await changeGlobally(result)
      const choice = isGlobal ? null : formatModelChoice(result)
      await store.run(() => changeSessionSetting(conversation.sessionKey, 'model', choice))
      const now: CurrentModel = isGlobal ? toGlobal(gateway, result) : await current(conversation)
      return { kind: 'changed', now, isUnchecked: result.isUnchecked === true }
    },
    async reset(conversation) {
      await store.run(() => changeSessionSetting(conversation.sessionKey, 'model', null))
      return await current(conversation)
    },
  }
}

/** The file is read again in a moment. */
function toGlobal(
  { settings }: ModelGateway,
  { provider, model, contextLength }: Extract<FoundModel, { kind: 'found' }>,
) {
  return {
    model,
    provider,
    origin: 'configuration',
    contextLength: contextLength ?? settings().context_length,
  } as const
}

function toCurrent(
  { settings }: ModelGateway,
  models: Pick<AgentModels, 'describe'>,
  model: ConversationModel,
): CurrentModel {
  const { chosen, origin, unusable } = model
  return {
    ...(chosen === undefined ? models.describe() : { model: chosen.model, provider: chosen.provider.name }),
    origin,
    contextLength: chosen?.contextLength ?? settings().context_length,
    unusable: unusable && {
      model: unusable.model,
      provider: unusable.provider,
      reason: messageOf(unusable.problem),
    },
  }
}

function toListed({ provider, label, models, failure }: ProviderModels): ListedProvider {
  return { provider, label, models, failure: failure && messageOf(failure) }
}
