/**
 * The shape of `/api/trace`.
 */
import { z } from 'zod'
import { stepKinds } from '../../flows/trace/trace.ts'
import { endings } from '../../message/ending.ts'

const millis = z.number().describe('ms since 1970')

export const traceResponse = z.object({
  message: z.object({
    seq: z.int().describe('The number of the message in the inbox.'),
    platform: z.string(),
    account: z.string(),
    chatId: z.string(),
    userId: z.string(),
    sessionKey: z.string(),
  }),
  turn: z
    .object({ id: z.string(), sessionId: z.string(), model: z.string(), provider: z.string(), state: z.string() })
    .nullable(),
  ending: z.enum(endings),
  reason: z.string().describe('Why it has ended so, or why it has not ended.'),
  steps: z
    .array(
      z.object({
        kind: z.enum(stepKinds),
        name: z.string().describe('The tool, the model, the kind of question; empty where the kind says all.'),
        at: millis,
        ms: z.number().nullable().describe('Duration; null for a moment, and for a step that goes on.'),
        result: z.string().describe('`ok`, `failed`, `open` for a step that goes on, or the stored state.'),
        detail: z.string().describe('One sentence for people, or empty.'),
      }),
    )
    .describe('In the order of their times.'),
})
