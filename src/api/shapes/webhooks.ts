/**
 * The shapes of `/api/webhooks`. Secrets of routes are not part of them.
 */
import { z } from 'zod'

export const webhooksResponse = z.object({
  is_enabled: z.boolean().describe('False: platforms.webhook is off, and no event is received.'),
  url: z.string().describe('The address to which the name of a route is added.'),
  routes: z.array(
    z.object({
      name: z.string(),
      source: z.string(),
      description: z.string(),
      events: z.array(z.string()).describe('Empty: all.'),
      deliver: z.array(z.string()),
      cron_job: z.string(),
      problems: z.array(z.string()),
    }),
  ),
})

export const deliveriesResponse = z.object({
  deliveries: z.array(
    z.object({
      id: z.string(),
      received_at: z.number().describe('ms since 1970'),
      state: z.string(),
      seq: z.int().nullable().describe('The number of its message, for `GET /api/trace/{subject}`.'),
    }),
  ),
})

export const testBody = z.strictObject({
  name: z.string().min(1).max(64),
  payload: z.unknown().optional().describe('Without it: a sample.'),
})
export const testResponse = z.object({
  status: z.int(),
  answer: z.string(),
  problems: z.array(z.string()).describe('Why the route was not accepted, as far as it is known.'),
})
