/**
 * The shapes of `/api/people`.
 */
import { z } from 'zod'
import { cursor, limit, nextCursor, time } from './pages.ts'

export const peopleQuery = z.strictObject({
  of: z.enum(['named', 'seen']).default('named').describe('Whom the configuration or a pairing names, or who wrote.'),
  limit,
  cursor: cursor.optional(),
})
export type PeopleQuery = z.output<typeof peopleQuery>

export const personShape = z.object({
  platform: z.string(),
  user_id: z.string().describe('`*` for everybody, `role:…` for who holds a role of the platform.'),
  user_name: z.string().nullable(),
  role: z.enum(['owner', 'member', 'guest']),
  is_allowed: z.boolean(),
  reason: z.string().describe('Why the person has access, or has none.'),
  conversations: z.int().nullable(),
  last_at: time.nullable(),
})

/** The people of `named` come whole, without a next page. */
export const peopleResponse = z.object({ people: z.array(personShape), next_cursor: nextCursor })
export type ApiPeople = z.output<typeof peopleResponse>
