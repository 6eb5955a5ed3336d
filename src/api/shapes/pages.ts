/**
 * What the shapes of the JSON API share. Names are in snake case, ids are strings, times are in ISO 8601, and lists are the newest first
 * unless the list says otherwise.
 */
import { z } from 'zod'

const maxPageSize = 200
const defaultPageSize = 50

export const time = z.iso.datetime().describe('ISO 8601, UTC')

/** The limit in a query string, in which every value is a text. */
export const limit = z.coerce
  .number()
  .pipe(z.int().min(1).max(maxPageSize))
  .default(defaultPageSize)
  .meta({ type: 'integer', minimum: 1, maximum: maxPageSize, description: 'How many entries a page has at most.' })
export const cursor = z.string().min(1).max(1_000)
export const flag = z.enum(['true', 'false']).transform((text) => text === 'true')

export const nextCursor = cursor
  .nullable()
  .describe('For the next page: the same request with this as `cursor`. Null at the end.')

/** The chat of a conversation. The members are null where nothing is known any more. */
export const chat = {
  platform: z.string(),
  account: z.string().nullable(),
  chat_id: z.string().nullable(),
  chat_type: z.string().nullable(),
  chat_name: z.string().nullable().describe('As people named it.'),
  thread_id: z.string().nullable(),
}
