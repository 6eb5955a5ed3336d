/**
 * The shapes of `GET /api/events`: they parse the request and describe the response in the OpenAPI document.
 */
import { z } from 'zod'
import { type ApiEventType, apiEventTypes, isApiEventType } from './api-event.ts'

const maxWaitSeconds = 300
const maxLimit = 500

const cursor = z
  .string()
  .regex(/^\d{1,16}$/, 'expected a cursor of an earlier response')
  .transform(Number)
  .refine(Number.isSafeInteger, 'expected a cursor of an earlier response')

export const eventCursor = cursor

/** An empty text counts as absent. */
const absent = z.literal('').transform(() => undefined)

export const eventsQuery = z.object({
  cursor: z
    .union([absent, cursor])
    .optional()
    .describe('`next_cursor` of the last response; without it only what happens from now on; `0`: from the oldest.'),
  wait: z
    .string()
    .regex(/^\d+(?:\.\d+)?$/, `expected seconds from 0 to ${maxWaitSeconds}`)
    .transform(Number)
    .refine((seconds) => seconds <= maxWaitSeconds, `expected seconds from 0 to ${maxWaitSeconds}`)
    .default(0)
    .describe(`Seconds to wait for an event, at most ${maxWaitSeconds}.`),
  types: z.string().default('').transform(toTypes).describe('Only these types, with commas between them.'),
  session: z.union([absent, z.string()]).optional().describe('Only this session: its key or its id.'),
  limit: z
    .string()
    .regex(/^\d{1,4}$/, `expected a whole number from 1 to ${maxLimit}`)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= maxLimit, `expected a whole number from 1 to ${maxLimit}`)
    .default(200)
    .describe(`At most so many events, 1 to ${maxLimit}.`),
})

function toTypes(text: string, context: z.core.$RefinementCtx<string>): ReadonlySet<ApiEventType> {
  const types = new Set<ApiEventType>()
  for (const name of text.split(',').map((part) => part.trim())) {
    if (name === '') continue
    if (isApiEventType(name)) types.add(name)
    else context.addIssue({ code: 'custom', message: `expected some of ${apiEventTypes.join(', ')}` })
  }
  return types
}

export const eventsPage = z.object({
  events: z.array(
    z
      .looseObject({
        cursor: z.string(),
        type: z.enum(apiEventTypes),
        at: z.string().describe('ISO 8601'),
        platform: z.string().optional(),
        session_key: z.string().optional(),
        session_id: z.string().optional(),
      })
      .describe('Each type has further members, see docs/reference/http.md.'),
  ),
  next_cursor: z.string(),
  missed: z.boolean().describe('Events before the first one may be lost.'),
})
