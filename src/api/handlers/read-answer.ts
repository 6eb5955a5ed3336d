/**
 * What the thread that reads sessions answers.
 */
import { z } from 'zod'
import { messageShape, sessionShape, trajectoryResponse } from '../shapes/sessions.ts'

/** `hasMore`: entries follow in the direction of the request. */
export const readAnswer = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('sessions'),
    sessions: z.array(z.object({ entry: sessionShape, position: z.object({ at: z.number(), id: z.string() }) })),
    hasMore: z.boolean(),
  }),
  z.object({
    kind: z.literal('messages'),
    messages: z.array(z.object({ entry: messageShape, position: z.object({ ord: z.number(), id: z.number() }) })),
    hasMore: z.boolean(),
  }),
  z.object({ kind: z.literal('session'), session: sessionShape }),
  z.object({ kind: z.literal('message'), message: messageShape }),
  z.object({
    kind: z.literal('file'),
    stored: z.union([z.object({ path: z.string() }), z.object({ picture: z.string() })]).nullable(),
  }),
  z.object({ kind: z.literal('trajectory'), trajectory: trajectoryResponse }),
  z.object({ kind: z.literal('absent'), what: z.enum(['session', 'message']) }),
])
/** A file that the gateway keeps: its path, or its name among the pictures. */
export type StoredFile = NonNullable<Extract<ReadAnswer, { readonly kind: 'file' }>['stored']>
export type ReadAnswer = z.output<typeof readAnswer>
