/**
 * `/api/setup`: what the page and `hermes setup` need to connect a chat.
 */
import { defineRoutes } from '../route.ts'
import type { ApiServices } from '../services.ts'
import * as shapes from '../shapes/setup.ts'

const load = () => import('../../flows/platform/connect-platform.ts')
const route = defineRoutes('Setup')

export const offerPlatforms = route('GET', '/api/setup/platforms', {
  summary: 'Which platforms a bot can be connected on.',
  response: shapes.platformsResponse,
  async handle(services) {
    const { offerPlatforms } = await load()
    const offers = offerPlatforms(services.platformSettings)
    return {
      platforms: offers.map(({ isSet, ...offer }) => ({ ...offer, is_set: isSet, ...stateOf(services, offer.name) })),
    }
  },
})

export const describePlatform = route('GET', '/api/setup/platforms/{platform}', {
  summary: 'What a platform needs.',
  response: shapes.platformResponse,
  async handle(services, { params: { platform } }) {
    const { describeForm } = await load()
    const { name, label, description, isSet, fields, steps, asksForAccess } = await describeForm(
      services.platformSettings,
      platform,
    )
    return {
      ...{ name, label, description, steps, is_set: isSet, asks_for_access: asksForAccess, ...stateOf(services, name) },
      fields: fields.map(({ key, label, description, secret, isSet }) => ({
        ...{ key, label, description, secret, is_set: isSet },
      })),
    }
  },
})

export const tryPlatform = route('POST', '/api/setup/platforms/{platform}/try', {
  summary: 'Asks the platform whether a bot would work, and stores nothing.',
  body: shapes.valuesBody,
  response: shapes.triedPlatformResponse,
  async handle({ platformSettings, lifecycle }, { params: { platform }, body: { values } }) {
    const { tryPlatform } = await load()
    return await tryPlatform(platformSettings, { platform, values }, lifecycle.status().url)
  },
})

export const connectPlatform = route('POST', '/api/setup/platforms/{platform}/connect', {
  summary: 'Stores what was entered in .env and config.yaml. The gateway connects at once.',
  body: shapes.valuesBody,
  response: shapes.connectedPlatformResponse,
  async handle({ platformSettings, home, lifecycle }, { params: { platform }, body: { values } }) {
    const { storePlatform } = await load()
    storePlatform(platformSettings, home, { platform, values })
    await lifecycle.reloadConfig()
    return { name: platform }
  },
})

function stateOf({ lifecycle, redact }: ApiServices, name: string) {
  const { state, reason } = lifecycle.status().platforms[name] ?? { state: 'disabled' }
  return { state, reason: reason && redact(reason) }
}
