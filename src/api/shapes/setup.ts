/**
 * The shapes of `/api/setup`.
 */
import { z } from 'zod'

const offer = {
  name: z.string(),
  label: z.string().describe('For people.'),
  description: z.string(),
  is_set: z.boolean().describe('Everything that it needs is configured.'),
  state: z.string().describe('`connected`, `connecting`, `failed` or `disabled`.'),
  reason: z.string().optional().describe('Why it is not connected.'),
}

export const platformsResponse = z.object({ platforms: z.array(z.object(offer)) })

export const platformResponse = z.object({
  ...offer,
  fields: z
    .array(
      z.object({
        key: z.string(),
        label: z.string().describe('For people.'),
        description: z.string(),
        secret: z.boolean(),
        is_set: z.boolean().describe('It has a value, which is never shown.'),
      }),
    )
    .describe('What is to be entered.'),
  steps: z
    .array(z.object({ text: z.string(), url: z.string().optional() }))
    .describe('What is done first on the pages of the platform.'),
  asks_for_access: z.boolean().describe('A person without access gets a code, and is listed by `GET /api/pairing`.'),
})

/** A variable would be replaced in config.yaml. */
const value = z
  .string()
  .trim()
  .min(1)
  .max(20_000)
  .regex(/^(?!.*\$\{)[^\p{Cc}]+$/u, 'a value is one line without variables')

export const valuesBody = z.strictObject({
  values: z
    .record(z.string(), value)
    .default({})
    .describe('By the key of the field. What is left out keeps its value.'),
})

export const triedPlatformResponse = z.object({
  checks: z.array(
    z.object({
      state: z.enum(['ok', 'note', 'problem']),
      text: z.string(),
      advice: z.string().optional(),
      link: z.string().optional().describe('The page on which the advice is followed.'),
    }),
  ),
  invitation: z
    .object({ name: z.string(), url: z.string(), advice: z.string() })
    .optional()
    .describe('How people reach the bot. Absent while a check has a problem.'),
})

export const connectedPlatformResponse = z.object({ name: z.string() })
