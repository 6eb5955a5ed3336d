/**
 * `GET /api/webhooks`: the routes without their secrets.
 */
import { findRouteProblems, readWebhookRoutes } from '../../flows/platform/webhook-routes.ts'
import { asString } from '../../lib/json.ts'
import type { Redactor } from '../../lib/redact.ts'
import type { ApiServices } from '../services.ts'

export async function describeRoutes(
  home: ApiServices['home'],
  settings: ApiServices['platformSettings'],
  redact: Redactor,
) {
  const textsOf = (value: unknown) =>
    [value ?? []].flat().flatMap((item) => (asString(item) === '' ? [] : [redact(asString(item))]))
  return await Promise.all(
    [...readWebhookRoutes(home, settings)].map(async ([name, { source, route }]) => ({
      name,
      source,
      description: redact(asString(route['description'])),
      events: textsOf(route['events']),
      deliver: textsOf(route['deliver'] ?? 'log'),
      cron_job: redact(asString(route['cron_job'])),
      problems: (await findRouteProblems(settings, name, route)).map((problem) => redact(problem)),
    })),
  )
}
