/**
 * The shapes of `/api/spend`.
 */
import { z } from 'zod'
import { spendKeys } from '../../sessions/spend.ts'

export const spendQuery = z.strictObject({
  by: z.enum(spendKeys).default('model'),
  days: z.coerce.number().pipe(z.int().min(1).max(366)).default(30).meta({
    type: 'integer',
    minimum: 1,
    maximum: 366,
    description: 'How many days, today included.',
  }),
})
export type SpendQuery = z.output<typeof spendQuery>

const amounts = {
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost: z.number().describe('US dollars, of the tokens whose price is known.'),
}

export const spendResponse = z.object({
  days: z.array(z.string()).describe('Of the time zone of the gateway, the oldest first, also those without a call.'),
  total: z.object(amounts),
  entries: z
    .array(
      z.object({
        name: z.string().describe('A model, a platform, or a person as `<platform>:<user id>`.'),
        ...amounts,
        tokens_by_day: z.array(z.int()),
        cost_by_day: z.array(z.number()),
      }),
    )
    .describe('The most expensive first, at most 500.'),
  left_out: z.int().describe('How many entries are not listed; the total has them.'),
})
export type ApiSpend = z.output<typeof spendResponse>
