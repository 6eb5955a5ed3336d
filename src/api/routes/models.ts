/**
 * `/api/models`: what the page needs to connect a model.
 */
import type { z } from 'zod'
import type { ChosenConnection } from '../../flows/models/connect-model.ts'
import { defineRoutes } from '../route.ts'
import {
  connectBody,
  connectedResponse,
  listBody,
  listResponse,
  offersResponse,
  triedResponse,
} from '../shapes/models.ts'

const load = () => import('../../flows/models/connect-model.ts')
const route = defineRoutes('Models')

export const offerModels = route('GET', '/api/models', {
  summary: 'Which providers and servers of this machine can be connected.',
  response: offersResponse,
  async handle({ agent: { models } }) {
    const { offerProviders } = await load()
    const offers = await offerProviders(models)
    return {
      current: models.describe(),
      providers: offers.map(({ name, label, isReady, isLocal }) => ({
        name,
        label,
        is_ready: isReady,
        is_local: isLocal,
      })),
    }
  },
})

export const listProviderModels = route('POST', '/api/models/list', {
  summary: 'Lists the models of a provider.',
  body: listBody,
  response: listResponse,
  async handle({ agent }, { body }) {
    const { listConnectionModels } = await load()
    return { models: [...(await listConnectionModels(agent.models, toConnection({ ...body, model: '' })))] }
  },
})

export const tryModel = route('POST', '/api/models/try', {
  summary: 'Asks a model one question, and stores nothing.',
  body: connectBody,
  response: triedResponse,
  async handle({ agent, redact }, { body, signal }) {
    const { tryConnection } = await load()
    return { answer: redact(await tryConnection(agent.models, toConnection(body), signal)) }
  },
})

export const connectModel = route('POST', '/api/models/connect', {
  summary: 'Stores the model and its key in config.yaml and .env, for the next message on.',
  body: connectBody,
  response: connectedResponse,
  async handle({ agent, home, lifecycle }, { body }) {
    const { storeConnection } = await load()
    const stored = await storeConnection(agent.models, home, toConnection(body))
    await lifecycle.reloadConfig()
    return stored
  },
})

function toConnection({ provider, model, key, base_url }: z.output<typeof connectBody>): ChosenConnection {
  return { provider, model, key, baseUrl: base_url }
}
