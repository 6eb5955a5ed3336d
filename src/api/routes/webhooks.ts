/**
 * `/api/webhooks`: the routes on which events of services arrive, their last deliveries, and a test.
 */
import { HermesError } from '../../lib/errors.ts'
import { defineRoutes } from '../route.ts'
import type { ApiServices } from '../services.ts'
import { deliveriesResponse, testBody, testResponse, webhooksResponse } from '../shapes/webhooks.ts'

const load = () => import('../../flows/platform/webhook-routes.ts')
const route = defineRoutes('Webhooks')
const maxDeliveries = 20

export const listWebhooks = route('GET', '/api/webhooks', {
  summary: 'Lists the routes of webhooks, with what is wrong with them.',
  response: webhooksResponse,
  async handle({ home, platformSettings, lifecycle, redact }) {
    const [{ describeRoutes }, { webhookSection }] = await Promise.all([import('../handlers/webhooks.ts'), load()])
    return {
      is_enabled: webhookSection(platformSettings)['enabled'] === true,
      url: `${lifecycle.status().url}/webhooks/`,
      routes: await describeRoutes(home, platformSettings, redact),
    }
  },
})

export const listWebhookDeliveries = route('GET', '/api/webhooks/{name}/deliveries', {
  summary: 'The last events of a route, the newest first.',
  response: deliveriesResponse,
  async handle(services, { params: { name } }) {
    await findRoute(services, name)
    const { listRecentDeliveries } = await import('../../inbox/recent-deliveries.ts')
    const recent = await services.store.run(() => listRecentDeliveries('webhook', name, maxDeliveries))
    return {
      deliveries: recent.map(({ id, receivedAt, state, seq }) => ({ id, received_at: receivedAt, state, seq })),
    }
  },
})

export const testWebhook = route('POST', '/api/webhooks/test', {
  summary: 'Sends a signed event to a route, as the service would.',
  body: testBody,
  response: testResponse,
  async handle(services, { body: { name, payload } }) {
    const { lifecycle, platformSettings, redact } = services
    const [{ findRouteProblems, sendTestEvent }, { route: settings }] = await Promise.all([
      load(),
      findRoute(services, name),
    ])
    const text = payload === undefined ? undefined : JSON.stringify(payload)
    const answer = await sendTestEvent(lifecycle.status().url, name, settings, text)
    const problems = answer.status < 300 ? [] : await findRouteProblems(platformSettings, name, settings)
    return { status: answer.status, answer: redact(answer.text), problems: problems.map((problem) => redact(problem)) }
  },
})

/** Rejects `http/not-found`. */
async function findRoute({ home, platformSettings }: ApiServices, name: string) {
  const { readWebhookRoutes } = await load()
  const known = readWebhookRoutes(home, platformSettings).get(name)
  if (known === undefined) throw new HermesError('http/not-found', `There is no route ${JSON.stringify(name)}.`)
  return known
}
