/**
 * The models of conversations, for commands and platforms. Their code is loaded where a conversation may have a model of its own.
 */
import type { CurrentModel, ModelPlace, ModelServices } from '../commands/model.ts'
import type { AgentServices } from '../flows/tools/agent-services.ts'
import { lazy } from '../lib/lazy.ts'
import { readSessionSettings } from '../sessions/session-state.ts'
import type { AppContext } from './context.ts'

export interface ModelAccess {
  /** For `/model`. */
  services(): Promise<ModelServices>
  /** The model that answers in a conversation. */
  modelOf(place: ModelPlace): Promise<Pick<CurrentModel, 'model' | 'provider' | 'contextLength'>>
}

export function composeModelAccess(
  { options, store, accountDirectory, settings }: AppContext,
  agentServices: AgentServices,
  withhold: (text: string) => string,
): ModelAccess {
  const services = lazy(async () => {
    const { createModelServices } = await import('../flows/commands/model-commands.ts')
    return createModelServices({ store, models: agentServices, home: options.home, settings, withhold })
  })
  return {
    services,
    async modelOf({ sessionKey, source }) {
      const chosen = await store.run(() => readSessionSettings(sessionKey))
      const isConfigured = chosen.model === undefined && accountDirectory.policyOf(source).models === undefined
      if (isConfigured) return { ...agentServices.describe(), contextLength: settings().context_length }
      return await (await services()).current({ sessionKey, source })
    },
  }
}
